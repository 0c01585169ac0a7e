"""A live experiment: a session, and what the log adds to it. `apply` takes in one event; live and in a replay it is the same function."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..numerics.states import copied
from ..policies.conservative._holdings import holdings, ledger_of
from ..serving.session import Session
from ..verbs import Context
from .errors import Refused, invalid
from .log import START, Event, sealed
from .requests import DecisionRequest
from .rollout import Rollout
from .spec import ArmSpec, ExperimentSpec, features_of, made_session

MICROSECONDS = 1_000_000
STATUSES = {"paused": "paused", "resumed": "running", "archived": "archived"}  # what each event leaves an experiment in
WATCH = 20  # decisions after which the rules of the rollout look again


class Waiting(NamedTuple):
    """An open decision. deadline: microseconds since 1970, None: it waits for ever. deferred: it was not activated yet."""

    deadline: int | None
    deferred: bool
    seq: int


class Experiment:
    """One experiment in memory. Events are made by `decide` and `record`, which also apply them; the caller brings them to disk.

    Memory grows with open decisions only. Not thread-safe: one writer at a time.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.spec: ExperimentSpec
        self.session: Session
        self.rollout: Rollout
        self.status = "new"  # then "running", "paused" or "archived"
        self.masked: set[str] = set()
        self.open: OrderedDict[str, Waiting] = OrderedDict()  # the first to end first: windows are equally long, time does not go back
        self.seq, self.digest, self.time = 0, START, 0
        self.disagreed = 0  # decisions of a replay whose arm this machine would not have drawn
        self.told: dict[str, Any] = {}  # body of the last decision that was made here
        self._drawn: str | None = None  # the decision that the session has made already
        self._numbers: dict[str, int] = {}

    # Events ---------------------------------------------------------------------------------------------------------------

    def record(self, kind: str, now: int, body: dict[str, Any], key: str | None = None, subject: str | None = None) -> Event:
        """Make the next event and apply it. The clock may jump back, the log's time does not."""
        event = sealed(self.name, self.digest, self.seq + 1, kind, max(now, self.time), key, subject, body)
        self.apply(event, body)
        return event

    def apply(self, event: Event, body: dict[str, Any] | None = None) -> None:
        """Take in an event of the log."""
        APPLY[event.kind](self, event, event.body if body is None else body)
        self.seq, self.digest, self.time = event.seq, event.digest, event.time

    def decide(self, id: str, asked: DecisionRequest, now: int) -> Event:
        """Draw an arm for a decision that is not known yet. Raises Refused with nothing changed."""
        self.check_running()
        plain = asked.asked()
        try:
            context, eligible, names = self.round(plain)
            held = self.holdings() if self.watched else None
            if self.rollout.mode == "full":
                made, beside, why = self.session.decide(context, eligible, id, names), None, ""
            else:
                made, beside, why = self.rollout.decide(self, context, eligible, id, names)
        except ValueError as error:
            raise invalid(error) from None
        self._drawn = id
        single = isinstance(made.arm, int)
        body = {
            "arm": made.arm if single else made.arm.tolist(),
            "name": made.name if single else list(made.name),
            "propensity": made.propensity if single else np.asarray(made.propensity).tolist(),
            "propensity_se": made.propensity_se if single else np.asarray(made.propensity_se).tolist(),
            "reason": why or made.reason,
            "version": self.session.rounds,
            "deadline": self.deadline(now),
        }
        if beside is not None:
            body["rollout"] = beside
        if held is not None:
            body["budget"] = held["budget_bound"]
        if plain:
            body["asked"] = plain
        self.told = body
        return self.record("decided", now, body, id, asked.subject)

    @property
    def watched(self) -> bool:
        """Whether the next decision notes the bound of the budget; the rules look right behind it."""
        return self.session.decided % WATCH == 0

    def holdings(self) -> dict[str, Any] | None:
        """The lower bound of the budget and what it rests on; None where the policy keeps none."""
        return None if ledger_of(self.session.state) is None else holdings(self.session.policy, copied(self.session.state))

    def check_alive(self) -> None:
        """Refuse to change what is archived."""
        if self.status == "archived":
            raise Refused(409, f"experiment = {self.name!r} is archived; it can only be read.", "experiment")

    def check_running(self) -> None:
        """Refuse what only a running experiment does."""
        if self.status != "running":
            remedy = "resume it first" if self.status == "paused" else "it cannot be resumed"
            raise Refused(409, f"experiment = {self.name!r} is {self.status}; {remedy}.", "experiment")

    def deadline(self, now: int) -> int | None:
        """When the window of a decision of now closes, in microseconds since 1970."""
        return None if self.spec.window is None else max(now, self.time) + int(self.spec.window * MICROSECONDS)

    def round(self, asked: dict[str, Any]) -> tuple[Context | None, np.ndarray | None, list[str] | None]:
        """What a request says of its round, in the session's words: context, mask, names of candidates."""
        if not asked:
            return None, None, None
        features, names, numbers = asked.get("context"), None, self._numbers
        count, missing = len(numbers), None
        if self.session.catalogue:
            if isinstance(features, dict):
                names, features = list(features), list(features.values())
                numbers = {name: k for k, name in enumerate(names)}
            count = 0 if features is None else len(features)
        elif isinstance(features, dict):
            for name in features:
                self.number("context", name)
            missing = np.array([name not in features for name in numbers])
            empty = [0.0] * len(next(iter(features.values())))
            features = [features.get(name, empty) for name in numbers]
        mask = None
        if "eligible" in asked:
            mask = np.zeros(count, dtype=np.bool_)
            mask[[self.number("eligible", name, numbers) for name in asked["eligible"]]] = True
        for name in asked.get("excluded", ()):
            mask = np.ones(count, dtype=np.bool_) if mask is None else mask
            mask[self.number("excluded", name, numbers)] = False
        if missing is not None and missing.any():
            mask = ~missing if mask is None else mask & ~missing
        if mask is not None and not mask.any():
            raise Refused(422, "eligible has no arm left; name one that is neither excluded nor without features.", "eligible")
        context = None
        if features is not None or "baseline" in asked or "baseline_mean" in asked:
            baseline = self.number("baseline", asked["baseline"], numbers) if "baseline" in asked else None
            context = Context(features, None, baseline, asked.get("baseline_mean"))
        return context, mask, names

    def number(self, field: str, arm: str, numbers: dict[str, int] | None = None) -> int:
        """The number of an arm, or of a decision's candidate."""
        known = self._numbers if numbers is None else numbers
        if arm not in known:
            raise Refused(422, f"{field} = {arm!r} is not the id of an arm of experiment {self.name!r}.", field)
        return known[arm]

    def due(self, now: int) -> str | None:
        """The open decision whose window closed first, if any has."""
        id = next(iter(self.open), None)
        deadline = None if id is None else self.open[id].deadline
        return id if deadline is not None and deadline <= now else None

    def close_due(self, now: int) -> Event | None:
        """The event that closes the decision whose window closed first; None where none has."""
        id = self.due(now)
        if id is None:
            return None
        if self.open[id].deferred:
            return self.record("cancelled", now, {"why": "it was not activated before its window closed"}, id)
        return self.record("expired", now, {"reward": self.spec.default_reward}, id)

    def arms(self) -> Iterator[dict[str, Any]]:
        """Every arm with its status."""
        retired = set(self.session.retired)
        for name in self._numbers:
            yield {"id": name, "status": "masked" if name in self.masked else "retired" if name in retired else "active"}

    def summary(self) -> dict[str, Any]:
        """What it is and how far it has come."""
        return {
            "name": self.name,
            "status": self.status,
            "mode": self.rollout.mode,
            "spec": self.spec.plain(),
            "arms": list(self.arms()),
            "decisions": self.session.decided,
            "rewards": self.session.rounds,
            "open": len(self.open),
            "seq": self.seq,
            "digest": self.digest.hex(),
        }

    # What each event does --------------------------------------------------------------------------------------------------

    def _created(self, event: Event, body: dict[str, Any]) -> None:
        self.spec = ExperimentSpec.model_validate(body["spec"])
        self.session = made_session(self.spec)
        self.rollout = Rollout(self.spec)
        self.renumber()
        self.status = "running"

    def renumber(self) -> None:
        """Arms by name, after their list has changed."""
        self._numbers = {name: k for k, name in enumerate(self.session.names or ())}

    def _arms_added(self, event: Event, body: dict[str, Any]) -> None:
        arms = [ArmSpec.model_validate(arm) for arm in body["arms"]]
        self.session.add_arms([arm.id for arm in arms], features_of(arms))
        self.renumber()

    def _arm_changed(self, event: Event, body: dict[str, Any]) -> None:
        arm, status = body["arm"], body["status"]
        (self.session.restore if status == "active" else self.session.retire)(arm)
        (self.masked.add if status == "masked" else self.masked.discard)(arm)

    def _status(self, event: Event, body: dict[str, Any]) -> None:
        self.status = STATUSES[event.kind]

    def _decided(self, event: Event, body: dict[str, Any]) -> None:
        id, asked = str(event.key), body.get("asked", {})
        if self._drawn != id:
            if "erased" in asked:
                raise ValueError(f"event {event.seq} was erased; only a snapshot behind it can be replayed.")
            context, eligible, names = self.round(asked)
            chances = [np.array(chance) if isinstance(chance, list) else chance for chance in (body["propensity"], body["propensity_se"])]
            beside = body.get("rollout")
            agreed = beside is None or self.rollout.coin_agrees(self, context, eligible, body)
            wanted = None if beside is None else beside["wanted"]
            agreed = self.session.follow(body["arm"], id, context, eligible, names, chances[0], chances[1], wanted) and agreed
            self.disagreed += not agreed
        self.rollout.opened(id, body)
        self._drawn = None
        self.session.forget_round()
        self.open[id] = Waiting(body["deadline"], asked.get("deferred", False), event.seq)

    def _activated(self, event: Event, body: dict[str, Any]) -> None:
        id = str(event.key)
        self.open[id] = Waiting(body["deadline"], False, self.open[id].seq)
        self.open.move_to_end(id)

    def _cancelled(self, event: Event, body: dict[str, Any]) -> None:
        self.session.cancel(str(event.key))
        self._ended(str(event.key), None)

    def _rewarded(self, event: Event, body: dict[str, Any]) -> None:
        id = str(event.key)
        self.session.reward(id, body["value"])
        if not self.session.is_open(id):
            self._ended(id, body["value"])

    def _expired(self, event: Event, body: dict[str, Any]) -> None:
        id = str(event.key)
        if body["reward"] is None:
            self.session.close(id)
        else:
            self.session.expire(ids=[id])
        self._ended(id, body["reward"])

    def _closed(self, event: Event, body: dict[str, Any]) -> None:
        self.session.close(str(event.key))
        self._ended(str(event.key), None)

    def _ended(self, id: str, reward: Any) -> None:
        """A decision is no longer open. reward: what came of it, None where nothing was learned."""
        self.rollout.ended(id, reward)
        del self.open[id]

    def _mode_changed(self, event: Event, body: dict[str, Any]) -> None:
        self.rollout.change(body)

    def _nothing(self, event: Event, body: dict[str, Any]) -> None:
        """It is only told: a reward that came too late, what was erased."""


Step = Callable[[Experiment, Event, dict[str, Any]], None]
APPLY: dict[str, Step] = {
    "created": Experiment._created,
    "arms added": Experiment._arms_added,
    "arm changed": Experiment._arm_changed,
    "paused": Experiment._status,
    "resumed": Experiment._status,
    "archived": Experiment._status,
    "decided": Experiment._decided,
    "activated": Experiment._activated,
    "cancelled": Experiment._cancelled,
    "rewarded": Experiment._rewarded,
    "expired": Experiment._expired,
    "closed": Experiment._closed,
    "mode changed": Experiment._mode_changed,
    "late": Experiment._nothing,
    "erased": Experiment._nothing,
}
