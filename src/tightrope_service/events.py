"""The events of an experiment: one record for each kind.

The log keeps the `body` of a record as JSON, beside its kind and the id of the decision that it is
about; `read` makes the record of them. Fields that have their defaults are left out. Nobody changes
a record once it is made; the classes are not frozen because a replay makes a million of them.
"""

import heapq
import math
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import msgspec
import numpy as np
from msgspec import Struct, field

from tightrope.extend import Context

from . import JsonObject
from .errors import Refused
from .spec import ExperimentSpec, Mode, completed

# of one arm, of the arms of a set by id, or of several metrics by name
Reward = float | dict[str, float]


class Event(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Something that happened. Subclasses are the kinds; their fields are the keys of the body
    where they do not say otherwise."""

    kind: ClassVar[str]

    @property
    def body(self) -> JsonObject:
        """The fields that the log keeps, beside the decision's id."""
        body: JsonObject = msgspec.to_builtins(self)
        body.pop("decision", None)
        return body

    @classmethod
    def read(cls, body: JsonObject, decision: str | None) -> Self:
        """Raises ValueError where the body has other fields."""
        return msgspec.convert(body if decision is None else body | {"decision": decision}, cls)


class DecisionEvent(Event):
    decision: str


# Experiment and arms ------------------------------------------------------------------------------


class Created(Event):
    """The experiment began. spec: as `ExperimentSpec.plain` gives it. defaults: what is taken for
    each field that it leaves out. policy: with every parameter, its guarantee and its floor."""

    kind = "created"
    spec: JsonObject
    defaults: JsonObject
    policy: JsonObject

    @property
    def completed(self) -> ExperimentSpec:
        return ExperimentSpec.model_validate(completed(self.spec, self.defaults))


class Paused(Event):
    kind = "paused"


class Resumed(Event):
    kind = "resumed"


class Archived(Event):
    kind = "archived"


class ArmsAdded(Event):
    """New arms. arms: `ArmSpec` of each, as JSON-ready data."""

    kind = "arms added"
    arms: list[JsonObject]


class ArmChanged(Event):
    """An arm is played, or not. status: "active", "masked" or "retired"."""

    kind = "arm changed"
    arm: str
    status: str


class ModeChanged(Event):
    """Another mode of the rollout. share: of the policy's choices in mode capped. sent_back: rules
    now wait for a command. by: "rule" or "command". why: a sentence. before: the mode until now."""

    kind = "mode changed"
    mode: Mode
    share: float
    sent_back: bool = field(name="held")
    by: str
    why: str
    before: Mode


class Erased(Event):
    """A subject's data was blanked. events: pairs of a number of an event and the SHA-256 of its
    body now. rounds: numbers of the events whose round is gone, so that no replay passes them.
    longest: norm of the features that are gone, which certificates go on to count."""

    kind = "erased"
    events: list[list[Any]]
    rounds: list[int]
    longest: float


# Decisions ----------------------------------------------------------------------------------------


class RolloutChoice(Struct, omit_defaults=True):
    """The rollout's part of a decision in a mode other than full.

    wanted: the number of the arm that the policy chose. policy_chance, baseline_chance: with which
    the policy, and production, would play the arm that was played. reachable: whether this mode
    could have played the wanted arm. policy_served: whether it was the policy's choice that was
    played. In mode apprentice, which compares nothing, all of these are None.
    """

    mode: Mode
    wanted: int
    policy_chance: float | None = field(default=None, name="own")
    baseline_chance: float | None = field(default=None, name="usual")
    reachable: bool | None = field(default=None, name="seen")
    policy_served: bool | None = field(default=None, name="policys")


class Decided(DecisionEvent):
    """An arm, or a set of arms, was chosen.

    arm: its number, or a list of them. name: its id, or a list. propensity, propensity_se: one
    number, or one for each arm of a set.
    policy_version: rewards that the policy had learned. deadline: when the window closes, in
    microseconds since 1970; None: never.
    rollout: in a mode other than full. budget: the lower bound of the budget with this decision, by
    metric where there are several, in every WATCH-th one and wherever it is lower than ever before.
    asked: the request without its id and without defaults, {} for one that says nothing; after an
    erasure what is left of it. made:
    when it was made by the clock, in microseconds since 1970, where the clock is behind the log's
    time; else None. without_baseline: the round's baseline could not be played. draws: that the
    propensity was sampled by; None: it is exact.
    """

    kind = "decided"
    arm: int | list[int]
    name: Any
    propensity: Any
    propensity_se: Any
    reason: str
    policy_version: int = field(name="version")
    deadline: int | None
    rollout: RolloutChoice | None = None
    budget: float | dict[str, float] | None = None
    asked: JsonObject = {}
    made: int | None = None
    without_baseline: bool = False
    draws: int | None = None

    @property
    def subject(self) -> str | None:
        return self.asked.get("subject")

    @property
    def deferred(self) -> bool:
        return "deferred" in self.asked


class Activated(DecisionEvent):
    """A deferred decision counts from now on. deadline: of its window, which begins now."""

    kind = "activated"
    deadline: int | None


class Cancelled(DecisionEvent):
    """It was never shown. why: a sentence; None: a client said so."""

    kind = "cancelled"
    why: str | None = None


class RewardEvent(DecisionEvent):
    """A reward came. reward_id: the client's id of the reward. given: what the client said, where
    that was outside the experiment's range and was clipped to it; None: the same as value."""

    value: Reward
    reward_id: str | None = None
    given: Reward | None = None

    @property
    def said(self) -> Reward:
        return self.value if self.given is None else self.given


class Rewarded(RewardEvent):
    """Its reward, or a part of it, was learned."""

    kind = "rewarded"


class Added(DecisionEvent):
    """A part of its reward came, where rewards are summed; the sum is learned when its window
    closes. value: that the client said. total: the sum so far, within the experiment's range."""

    kind = "added"
    value: float
    reward_id: str
    total: float


class Late(RewardEvent):
    """A reward that came after the window had closed: logged, not learned. arm: that was played;
    None: a set."""

    kind = "late"
    arm: str | None = None


class Expired(DecisionEvent):
    """Its window closed. reward: what is taken for the rewards that are missing; None: it teaches
    nothing."""

    kind = "expired"
    reward: Reward | None


class Closed(DecisionEvent):
    """It takes no reward any more. why: a sentence."""

    kind = "closed"
    why: str


TYPES: dict[str, type[Event]] = {
    each.kind: each
    for each in (
        Created,
        ArmsAdded,
        ArmChanged,
        Paused,
        Resumed,
        Archived,
        Decided,
        Activated,
        Cancelled,
        Added,
        Rewarded,
        Expired,
        Closed,
        Late,
        Erased,
        ModeChanged,
    )
}


STEPS = {each: "_on_" + kind.replace(" ", "_") for kind, each in TYPES.items()}  # names of methods
STATUSES: dict[type[Event], str] = {
    Created: "running",
    Paused: "paused",
    Resumed: "running",
    Archived: "archived",
}


class Fold:
    """What follows from events, taken in one by one. A kind for which a subclass has no method
    changes nothing of it."""

    def __init__(self) -> None:
        self.seq, self.time = 0, 0  # of the last event
        self.status = "new"  # then "running", "paused" or "archived"

    def step(self, event: Event, seq: int, time: int) -> None:
        kind = type(event)
        method = getattr(self, STEPS[kind], None)
        if method is not None:
            method(event, time)
        self.status = STATUSES.get(kind, self.status)
        self.seq, self.time = seq, time


# Open decisions, and which of them end by the clock: the first to be made is the first to end,
# whatever the clock did meanwhile.


SLACK = 1000  # deadlines of ended decisions that are kept at least


class OpenDecision(NamedTuple):
    """A decision that waits for its reward. deadline: microseconds since 1970; None: it waits for
    ever. deferred: it was not activated yet.
    seq: of the event that made it. shown: when it counts as shown, so that it cannot be cancelled
    any more; None: when it is activated, or its window closes."""

    deadline: int | None
    deferred: bool
    seq: int
    shown: int | None


class OpenDecisions(OrderedDict[str, OpenDecision]):
    """Open decisions by id, in the order in which their windows began.

    Deadlines are by the wall clock, windows are equally long, and real time does not go back. So
    when a window has closed, all that began before it have closed too, also those whose deadlines a
    clock that was ahead has put into the future.
    """

    def __init__(self) -> None:
        super().__init__()
        self._deadlines: list[tuple[int, str]] = []  # a heap; also of decisions that have ended

    def begin(self, id: str, decision: OpenDecision) -> None:
        self[id] = decision
        self.move_to_end(id)
        if decision.deadline is not None:
            if len(self._deadlines) > 2 * len(self) + SLACK:
                self._deadlines = [
                    (one.deadline, each) for each, one in self.items() if one.deadline is not None
                ]
                heapq.heapify(self._deadlines)
            else:
                heapq.heappush(self._deadlines, (decision.deadline, id))

    def first_due(self, now: int) -> str | None:
        """The decision whose window began first, if the window of any has closed."""
        heap = self._deadlines
        while heap and heap[0][0] <= now:
            deadline, id = heap[0]
            if id in self and self[id].deadline == deadline:
                return next(iter(self))
            heapq.heappop(heap)
        return None


# One round as the session sees it: what a request says of features, candidates, eligible arms and
# the round's baseline.


class Round(NamedTuple):
    """context: features, a row for every arm or one for all, and the round's baseline, if the
    request has any. eligible: (K,) bool; None: all arms. names: ids of candidates, where every
    decision brings its own."""

    context: Context | None
    eligible: np.ndarray | None
    names: list[str] | None


EMPTY = Round(None, None, None)  # of a request that says nothing


def read_round(
    question: JsonObject, arms: Mapping[str, int], catalogue: bool, experiment: str
) -> Round:
    """The round of a request. arms: numbers by id. catalogue: every decision brings its own
    candidates. Raises Refused."""
    features, names, missing = question.get("context"), None, None
    numbers, count = arms, len(arms)
    if catalogue:
        if is_one_row(features):
            raise Refused(
                422,
                f"context is one row, but every decision of experiment {experiment!r} brings its "
                "own candidates; send a row for each of them, by id: {id: [..], ..}.",
                "context",
            )
        if isinstance(features, dict):
            names, features = list(features), list(features.values())
            numbers = {name: k for k, name in enumerate(names)}
        count = 0 if features is None else len(features)
    elif isinstance(features, dict):
        for name in features:
            arm_number("context", name, numbers, experiment)
        missing = np.array([name not in features for name in numbers])
        zeros = [0.0] * len(next(iter(features.values())))
        features = [features.get(name, zeros) for name in numbers]
    eligible = None
    if "eligible" in question:
        eligible = np.zeros(count, dtype=np.bool_)
        eligible[
            [arm_number("eligible", name, numbers, experiment) for name in question["eligible"]]
        ] = True
    for name in question.get("excluded", ()):
        eligible = np.ones(count, dtype=np.bool_) if eligible is None else eligible
        eligible[arm_number("excluded", name, numbers, experiment)] = False
    if missing is not None and missing.any():
        eligible = ~missing if eligible is None else eligible & ~missing
    if eligible is not None and not eligible.any():
        raise Refused(
            422,
            "eligible has no arm left; name one that is neither excluded nor without features.",
            "eligible",
        )
    context = None
    if features is not None or "baseline" in question or "baseline_mean" in question:
        context = Context(
            features,  # type: ignore[arg-type]
            None,
            arm_number("baseline", question["baseline"], numbers, experiment)
            if "baseline" in question
            else None,
            question.get("baseline_mean"),
        )
    return Round(context, eligible, names)


def baselines_of(question: JsonObject, baseline: str | list[str] | None) -> tuple[str, ...]:
    """The arms of a round's baseline: those that it says itself, else the experiment's; none where
    there is none."""
    named = question.get("baseline", baseline)
    return () if named is None else (named,) if isinstance(named, str) else tuple(named)


def lacks_baseline(
    question: JsonObject, baseline: str | list[str] | None, retired: Collection[str]
) -> bool:
    """Whether a part of the round's baseline could not be played. retired: arms that nothing plays
    for now."""
    eligible, excluded = question.get("eligible"), question.get("excluded", ())
    context = question.get("context")
    rows = context if isinstance(context, dict) else {}  # by the id of their arm, or one by name
    by_id = isinstance(next(iter(rows.values()), None), list | dict)
    return any(
        arm in retired
        or arm in excluded
        or (eligible is not None and arm not in eligible)
        or (by_id and arm not in rows)
        for arm in baselines_of(question, baseline)
    )


def longest_row(context: Any) -> float:
    rows = (
        context.values()
        if isinstance(context, dict)
        else [context]
        if is_one_row(context)
        else context
    )
    return max((math.hypot(*row) for row in rows), default=0.0)


def is_one_row(features: object) -> bool:
    return isinstance(features, list) and not isinstance(features[0], list)


def arm_number(field: str, arm: str, numbers: Mapping[str, int], experiment: str) -> int:
    """The number of an arm, or of a decision's candidate. field: of the request, for the sentence
    of the refusal."""
    if arm not in numbers:
        raise Refused(
            422, f"{field} = {arm!r} is not the id of an arm of experiment {experiment!r}.", field
        )
    return numbers[arm]
