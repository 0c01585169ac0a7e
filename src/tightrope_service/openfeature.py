"""An OpenFeature provider: evaluating a flag is a decision, tracking an event is its reward. Needs
the extra `openfeature`."""

import copy
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from . import JsonObject, new_id, require

# Before what needs it, so that those without it read a sentence.
require(("openfeature", "httpx"), "openfeature")

from openfeature.evaluation_context import EvaluationContext  # noqa: E402
from openfeature.exception import (  # noqa: E402
    ErrorCode,
    GeneralError,
    OpenFeatureError,
    TypeMismatchError,
)
from openfeature.flag_evaluation import FlagResolutionDetails, Reason  # noqa: E402
from openfeature.provider import AbstractProvider, Metadata  # noqa: E402
from openfeature.track import TrackingEventDetails  # noqa: E402

from .client import Client, Rejected, RemoteDecision, Unavailable  # noqa: E402

T = TypeVar("T")
Whole = dict[str, str | float | list[str] | list[float]]  # a decision as the value of a flag
TRUTH = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
REMEMBERED = 100_000  # decisions that an event may still reward
TRACK_ATTEMPTS, TRACK_SECONDS = (
    2,
    1.0,
)  # the application waits while it tracks; seconds of one attempt
CODES = {404: ErrorCode.FLAG_NOT_FOUND, 422: ErrorCode.INVALID_CONTEXT}

logger = logging.getLogger(__name__)


class TightropeProvider(AbstractProvider):
    """Flags from experiments of a service.

    url, key: as for `tr.Client`. events: which experiment an event of `track` rewards, by its name,
    such as {"purchase": "checkout-price"}; without an entry, the experiment of the event's own
    name. A flag's key is an experiment's name, its variant the arm; numbers and truth values are
    read from the arm's id. The targeting key says whose decision an event rewards: the last one of
    that flag. Attributes of the evaluation context that are used: `context` (features), `eligible`,
    `excluded`, `decision_id`.
    """

    def __init__(
        self,
        url: str | Sequence[str],
        key: str,
        events: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.client, self.events = Client(url, key, **options), dict(events or {})
        self._last: OrderedDict[tuple[str, str], str] = (
            OrderedDict()
        )  # decision by experiment and targeting key
        self._lock = threading.Lock()

    def get_metadata(self) -> Metadata:
        """The provider's name."""
        return Metadata(name="tightrope")

    def shutdown(self) -> None:
        """Close the connections."""
        self.client.close()

    def resolve_boolean_details(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """A decision between arms such as "on" and "off"."""
        return self._resolve(flag_key, evaluation_context, lambda arm: TRUTH[arm.lower()])

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """A decision; its value is the arm's id."""
        return self._resolve(flag_key, evaluation_context, str)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """A decision between whole numbers."""
        return self._resolve(flag_key, evaluation_context, int)

    def resolve_float_details(
        self,
        flag_key: str,
        default_value: float,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[float]:
        """A decision between numbers, such as prices."""
        return self._resolve(flag_key, evaluation_context, float)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[object] | Mapping[str, object],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Whole]:
        """A decision as a whole: arm, propensity, reason, id."""
        decision = self._decide(flag_key, evaluation_context)
        value: Whole = {
            "arm": decision.arm,
            "id": decision.id,
            "propensity": decision.propensity,
            "reason": decision.reason,
        }
        return details(value, decision)

    def _resolve(
        self, flag: str, context: EvaluationContext | None, read: Callable[[str], T]
    ) -> FlagResolutionDetails[T]:
        decision = self._decide(flag, context)
        try:
            return details(read(str(decision.arm)), decision)
        except (ValueError, KeyError):
            raise TypeMismatchError(
                f"arm = {decision.arm!r} of {flag!r} is not of the type that was asked for."
            ) from None

    def _decide(self, flag: str, context: EvaluationContext | None) -> RemoteDecision:
        attributes: JsonObject = {} if context is None else dict(context.attributes)
        subject = None if context is None else context.targeting_key
        try:
            decision = self.client_for(flag).decide(
                attributes.get("context"),
                attributes.get("eligible"),
                attributes.get("decision_id"),
                excluded=attributes.get("excluded"),
                subject=subject,
            )
        except Rejected as error:
            raise OpenFeatureError(
                CODES.get(error.status, ErrorCode.GENERAL), str(error)
            ) from error
        except Unavailable as error:
            raise GeneralError(str(error)) from error
        if subject is not None:
            with self._lock:
                self._last[flag, subject] = decision.id
                self._last.move_to_end((flag, subject))
                while len(self._last) > REMEMBERED:
                    self._last.popitem(last=False)
        return decision

    def client_for(self, experiment: str) -> Client:
        """A client of an experiment, over the same connections."""
        client = copy.copy(self.client)
        client.experiment, client._arms = experiment, None
        return client

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """The reward of the last decision for the targeting key: the event's value, 1 where it has
        none. Where the experiment sums rewards, each event adds to it; with an attribute
        `reward_id` of the details, such as the order's, the same event counts once.

        Raises nothing: what the service refuses, such as a sale after the window, or does not
        answer within two short attempts, is a warning in the log of this module.
        """
        try:
            self._reward(tracking_event_name, evaluation_context, tracking_event_details)
        except Exception as error:
            logger.warning("event %r was not taken in: %s", tracking_event_name, error)

    def _reward(
        self,
        event: str,
        evaluation_context: EvaluationContext | None,
        tracked: TrackingEventDetails | None,
    ) -> None:
        if evaluation_context is None or not evaluation_context.targeting_key:
            raise ValueError(
                "evaluation_context has no targeting key; give the one of the evaluation, to find "
                "its decision."
            )
        experiment = self.events.get(event, event)
        with self._lock:
            id = self._last.get((experiment, evaluation_context.targeting_key))
        if id is None:
            return  # nobody decided anything for this subject here; there is nothing to reward
        value = None if tracked is None else tracked.value
        client = self.client_for(experiment)
        client.attempts, client.timeout = (
            min(client.attempts, TRACK_ATTEMPTS),
            min(client.timeout, TRACK_SECONDS),
        )
        reward, own = (
            1.0 if value is None else float(value),
            None if tracked is None else tracked.attributes.get("reward_id"),
        )
        try:
            client.reward(id, reward, None if own is None else str(own))
        except Rejected as error:
            if error.field != "reward_id" or own is not None:
                raise
            client.reward(
                id, reward, new_id()
            )  # rewards are summed, and each call of `track` is one


def details(value: T, decision: RemoteDecision) -> FlagResolutionDetails[T]:
    reason = Reason.TARGETING_MATCH if (decision.propensity == 1.0) else Reason.SPLIT
    facts: dict[str, bool | int | float | str] = {
        "decision_id": decision.id,
        "propensity": float(np.min(decision.propensity)),  # the least of a set
        "event": decision.event,
        "why": decision.reason,
    }
    return FlagResolutionDetails(
        value=value, variant=str(decision.arm), reason=reason, flag_metadata=facts
    )
