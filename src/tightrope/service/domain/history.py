"""The log at a glance: curves, arms, delays, the last decisions. Read from the events, off the writer's path, and kept up to
date by reading only what is new. Memory does not grow with the log but with open decisions."""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...core.types import JsonObject
from ...evaluation.estimators import ConfidenceSequence, bounds_of
from . import events
from .features import FeatureReader, numbers_of
from .masks import left_out
from .observations import ERROR as COMPARISON_ERROR
from .observations import Apart, Observations, at_worst, bar_of
from .rounds import baselines_of, lacks_baseline
from .spec import OTHER, ExperimentSpec

POINTS = 240  # of a curve at most; every second is dropped when there are more
LAST = 12  # decisions shown
ERROR = 0.05  # of all intervals of one kind together
OPEN_AT_WORST = "an open decision counts as whatever is worst, one that ended without a reward is taken to be like the others"
NOTHING_KNOWN = ConfidenceSequence(ERROR, k=0.0)


class Point(NamedTuple):
    """The state of things after so many decisions. total: of all rewards. baseline_decisions: those that were production's or played the
    baseline. budget: its lower bound. plays: by arm. regret: an upper bound."""

    decisions: int
    time: int
    rewards: int
    total: float
    baseline_decisions: int
    budget: float | None
    plays: tuple[int, ...]
    regret: float | None


class DecisionLine(NamedTuple):
    """A decision for people. time: microseconds since 1970."""

    id: str
    time: int
    arms: tuple[str, ...]
    propensity: float
    reason: str


class OpenLine(NamedTuple):
    """An open decision. time: when it was made or activated. arms: that were played. left: those whose rewards are missing. number: it is
    the n-th decision. others: whether its round's baseline was not what was played. mean: what that baseline earns, where it is known.
    segments: its values by name. mask: ids of the arms that its request left out, in words; None: they were erased."""

    time: int
    arms: tuple[str, ...]
    left: tuple[str, ...]
    number: int
    others: bool
    mean: float | None
    segments: Mapping[str, str]
    mask: str | None


class ArmHistory:
    """Plays, rewards and bounds of one arm."""

    def __init__(self) -> None:
        self.plays = self.rewards = self.open = 0  # open: plays that wait for a reward
        self.total = 0.0  # of its rewards
        self.weights = self.squared_weights = 0.0  # sums of 1 / propensity and of its square
        self.lowest, self.highest = math.inf, -math.inf  # reward
        self.mean = ConfidenceSequence(ERROR, k=0.0)  # of its rewards, scaled to [0, 1]

    def play(self, chance: float) -> None:
        self.plays += 1
        self.open += 1
        if chance:
            self.weights += 1.0 / chance
            self.squared_weights += 1.0 / (chance * chance)

    def reward(self, value: float, scaled: float) -> None:
        self.rewards += 1
        self.open -= 1
        self.total += value
        self.lowest, self.highest = min(self.lowest, value), max(self.highest, value)
        self.mean.add(scaled, 1.0 - scaled)

    @property
    def effective_sample_size(self) -> float:
        """Of its plays, weighted by 1 / propensity."""
        return self.weights * self.weights / self.squared_weights if self.squared_weights else 0.0


class SegmentHistory:
    """Counts of the decisions of one segment. arms: those that were played, by id."""

    def __init__(self) -> None:
        self.decisions = self.open = self.cancelled = self.rewards = 0
        self.arms: dict[str, ArmHistory] = {}


class History(events.Fold):
    """The history of one experiment up to event `seq`."""

    def __init__(self) -> None:
        super().__init__()
        self.spec: ExperimentSpec | None = None
        self.reader: FeatureReader | None = None
        self.arms: dict[str, ArmHistory] = {}  # by id, in the spec's order
        self.segments: dict[str, dict[str, SegmentHistory]] = {}  # by name and value, in the spec's order
        self.mean = ConfidenceSequence(2.0 * ERROR, k=0.0)  # of all rewards, scaled to [0, 1]; each side by itself with ERROR
        self.decisions = self.baseline_decisions = self.late = self.expired = 0
        self.rewarded = self.defaulted = 0  # decisions that ended with a reward that came, and with the default reward
        self.first: int | None = None  # time of the first decision
        self.cancelled = 0
        self.cancelled_means = 0.0  # what the baselines of cancelled decisions of other arms earn, where it is known
        self.cancelled_unknown = 0  # cancelled decisions of other arms whose baseline's mean is not known
        self.unplayed: set[str] = set()  # arms that are masked or retired
        self.total, self.outside = 0.0, 0  # of all rewards; how many were outside the declared range
        self.budget: float | None = None
        self.lowest_budget: float | None = None
        self.modes: list[JsonObject] = []
        self.points: list[Point] = []
        self.stride = 1
        self.open: dict[str, OpenLine] = {}
        self.observed = Observations()
        self.parts: dict[str, Observations] = {}  # the same by the value of the segment that promises are by, if any
        self.last: deque[DecisionLine] = deque(maxlen=LAST)
        self.outcomes: dict[str, str] = {}  # of the last decisions, in words

    def take(self, event: events.Event, seq: int, time: int) -> None:
        """Go on with the next event. Raises ValueError where one is missing."""
        if seq != self.seq + 1:
            raise ValueError(f"event {self.seq + 1} is missing; restore the database from a backup.")
        self.step(event, seq, time)

    # Events ---------------------------------------------------------------------------------------------------------------

    def _on_created(self, event: events.Created, time: int) -> None:
        self.status = "running"
        self.spec = event.completed
        self.reader = self.spec.reader()
        self.segments = {
            name: {value: SegmentHistory() for value in (*values, OTHER)} for name, values in (self.spec.segments or {}).items()
        }
        promised = self.spec.promised_values or []
        self.parts = {value: Observations(COMPARISON_ERROR / len(promised)) for value in promised}
        mode = "full" if self.spec.rollout is None else self.spec.rollout.mode
        self._add_arms(arm.id for arm in self.spec.arms or ())
        self.modes.append({"event": 1, "time": time, "decisions": 0, "mode": mode, "by": "spec", "why": ""})

    def _on_arms_added(self, event: events.ArmsAdded, time: int) -> None:
        self._add_arms(arm["id"] for arm in event.arms)

    def _add_arms(self, ids: Iterable[str]) -> None:
        added = list(ids)
        self.arms.update((id, ArmHistory()) for id in added)
        for observed in (self.observed, *self.parts.values()):
            observed.add_arms(added)

    def _on_arm_changed(self, event: events.ArmChanged, time: int) -> None:
        (self.unplayed.discard if event.status == "active" else self.unplayed.add)(event.arm)

    def _on_mode_changed(self, event: events.ModeChanged, time: int) -> None:
        change = {"mode": event.mode, "share": event.share, "by": event.by, "why": event.why, "held": event.sent_back}
        self.modes.append({"event": self.seq + 1, "time": time, "decisions": self.decisions} | change)

    def _on_decided(self, event: events.Decided, time: int) -> None:
        several = isinstance(event.name, list)
        names = tuple(str(name) for name in (event.name if several else (event.name,)))
        chances = event.propensity if several else (event.propensity,)
        for name, chance in zip(names, chances, strict=True):
            if name in self.arms:  # not where every decision brings its own candidates
                self.arms[name].play(chance)
        self.decisions += 1
        self.first = time if self.first is None else self.first
        baseline = None if self.spec is None else self.spec.baseline
        productions = event.rollout is not None and not event.rollout.policy_served
        self.baseline_decisions += productions or (isinstance(baseline, str) and names == (baseline,))
        self._note_budget(event.budget)
        mean = event.asked.get("baseline_mean", self._baseline_mean(event))
        others = names != baselines_of(event.asked, baseline)
        mask = None if "erased" in event.asked else ", ".join(left_out(event.asked, self.arms))
        self.open[event.decision] = OpenLine(time, names, names, self.decisions, others, mean, event.asked.get("segments", {}), mask)
        for segment in self._segments_of(self.open[event.decision]):
            segment.decisions += 1
            segment.open += 1
            for name, chance in zip(names, chances, strict=True):
                segment.arms.setdefault(name, ArmHistory()).play(chance)
        context = None if self.spec is None else numbers_of(self.reader, event.asked.get("context"), self.spec.name)
        for observed in self._observers(self.open[event.decision]):
            observed.add_decision(self.decisions, names, context, mask)
        self.observed.without_baseline += event.without_baseline or lacks_baseline(event.asked, baseline, self.unplayed)
        if len(self.last) == LAST:
            self.outcomes.pop(self.last[0].id, None)
        self.last.append(DecisionLine(event.decision, time, names, min(chances, default=1.0), event.reason))
        self.outcomes[event.decision] = "open"
        if self.decisions % self.stride == 0:
            self._keep_point(time)

    def _segments_of(self, line: OpenLine) -> Iterator[SegmentHistory]:
        return (self.segments[name][value] for name, value in line.segments.items())

    def _observers(self, line: OpenLine) -> list[Observations]:
        by = None if self.spec is None else self.spec.promise_by
        return [self.observed] if by is None else [self.observed, self.parts[line.segments[by]]]

    def _keep_point(self, time: int) -> None:
        self.points.append(self.point(time))
        if len(self.points) > POINTS:
            self.stride *= 2
            self.points = [point for point in self.points if point.decisions % self.stride == 0]

    def point(self, time: int) -> Point:
        plays = tuple(arm.plays for arm in self.arms.values())
        return Point(self.decisions, time, self.rewards, self.total, self.baseline_decisions, self.budget, plays, self.regret())

    def _on_activated(self, event: events.Activated, time: int) -> None:
        if event.decision in self.open:
            self.open[event.decision] = self.open[event.decision]._replace(time=time)

    def _on_rewarded(self, event: events.Rewarded, time: int) -> None:
        if event.decision not in self.open:
            return
        line, value = self.open[event.decision], event.value
        bar = bar_of(time - line.time)
        for observed in self._observers(line):
            observed.delays[bar] += 1
        self.observed.clipped += event.given is not None
        if isinstance(value, dict):
            for name, number in value.items():
                self._reward(name, number, line, bar)
            left = tuple(name for name in line.left if name not in value)
            self.open[event.decision] = line._replace(left=left)
            if left:
                return
        else:
            self._reward(line.arms[0], value, line, bar)
            self.open[event.decision] = line._replace(left=())
        self.rewarded += 1
        self._end(event.decision, "reward " + (f"{sum(value.values()):g}" if isinstance(value, dict) else f"{value:g}"))

    def _reward(self, arm: str, value: float, line: OpenLine, bar: int | None) -> None:
        low, high = self.reward_range
        self.total += value
        scaled = (value - low) / (high - low)
        if not 0.0 <= scaled <= 1.0:
            self.outside += 1
            scaled = min(max(scaled, 0.0), 1.0)  # no bound is shown any more, and squares of such numbers may have no float
        self.mean.add(scaled, 1.0 - scaled)
        for observed in self._observers(line):
            observed.add_reward(arm, value, scaled, line.number, bar, line.mask)
        for segment in self._segments_of(line):
            segment.rewards += 1
            segment.arms[arm].reward(value, scaled)
        if arm in self.arms:
            self.arms[arm].reward(value, scaled)

    def _on_expired(self, event: events.Expired, time: int) -> None:
        if event.decision not in self.open:
            return
        self.expired += 1
        line = self.open[event.decision]
        if event.reward is None:
            self.observed.without_reward += 1
        else:
            self.defaulted += 1
            for name in line.left:
                self._reward(name, event.reward, line, None)
            self.open[event.decision] = line._replace(left=())
        self._end(event.decision, "window closed" + ("" if event.reward is None else f", {event.reward:g} taken"))

    def _on_closed(self, event: events.Closed, time: int) -> None:
        self.observed.without_reward += event.decision in self.open
        self._end(event.decision, "closed without a reward")

    def _on_cancelled(self, event: events.Cancelled, time: int) -> None:
        self.cancelled += 1
        line = self.open.get(event.decision)
        if line is not None:
            if line.others:
                self.cancelled_means += line.mean or 0.0
                self.cancelled_unknown += line.mean is None
            for observed in self._observers(line):
                observed.cancel_delays[bar_of(time - line.time)] += 1
        self._end(event.decision, "cancelled", True)

    def _on_late(self, event: events.Late, time: int) -> None:
        self.late += 1
        low, high = self.reward_range
        for arm, value in event.value.items() if isinstance(event.value, dict) else ((event.arm, event.value),):
            self.observed.add_late_reward(arm, min(max((value - low) / (high - low), 0.0), 1.0))

    def _baseline_mean(self, event: events.Decided) -> float | None:
        """The baseline's mean reward in a decision's round, by the spec."""
        if self.spec is None or self.spec.baseline_means is None:
            return None if self.spec is None else self.spec.baseline_mean
        return self.spec.baseline_means[event.asked["segments"][self.spec.promise_by]]

    def _note_budget(self, bound: float | None) -> None:
        if bound is not None:
            self.budget = bound
            self.lowest_budget = bound if self.lowest_budget is None else min(self.lowest_budget, bound)

    def _on_erased(self, event: events.Erased, time: int) -> None:
        self.observed.longest = max(self.observed.longest, event.longest)

    def _end(self, decision: str, outcome: str, cancelled: bool = False) -> None:
        line = self.open.pop(decision, None)
        if line is not None:
            for observed in self._observers(line):
                observed.end_decision(line.number, line.arms, cancelled, line.mask)
            places = [self.arms]
            for segment in self._segments_of(line):
                segment.open -= 1
                segment.cancelled += cancelled
                places.append(segment.arms)
            for arms in places:
                for name in line.left:
                    if name in arms:
                        arms[name].open -= 1
        if decision in self.outcomes:
            self.outcomes[decision] = outcome

    # What follows from it -------------------------------------------------------------------------------------------------

    @property
    def rewards(self) -> int:
        return self.mean.rounds

    @property
    def unrewarded(self) -> int:
        return self.decisions - self.rewarded - self.defaulted - self.cancelled - len(self.open)

    @property
    def reward_range(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.spec is None else self.spec.reward_range or (0.0, 1.0)

    def in_units(self, least: float, most: float) -> tuple[float, float]:
        low, high = self.reward_range  # of which both are shares
        return low + (high - low) * least, low + (high - low) * most

    @property
    def comparable(self) -> bool:
        """Whether the mean reward of an arm is the same in every round, as far as the spec says, so that intervals of arms make sense."""
        spec = self.spec
        return spec is not None and spec.arms is not None and spec.row_length is None and spec.oracle is None and not self.outside

    @property
    def alike(self) -> dict[str, Observations]:
        """Observations of decisions in which an arm has one mean, by what a sentence about them ends with."""
        by = None if self.spec is None else self.spec.promise_by
        return {f" in {by} {value}": observed for value, observed in self.parts.items()} or {"": self.observed}

    def telling_masks(self) -> tuple[str, str, Apart] | None:
        """An arm that earns something else where other arms are left out, in what, and how much, so that arms are not to be compared."""
        if self.comparable and self.observed.limited:
            for where, observed in self.alike.items():
                contrast = observed.telling_masks()
                if contrast is not None:
                    return contrast[0], where, contrast[1]
        return None

    def intervals(self, alike: bool = False) -> list[tuple[float, float]] | None:
        """Bounds on each arm's mean that hold at all times and for all arms at once; None where arms have no one mean. alike: open
        decisions are taken to be like the others, which they need not be."""
        return self.intervals_of([*self.arms.values()], alike) if self.comparable and self.arms else None

    def intervals_of(self, cells: Sequence[ArmHistory | None], alike: bool = False) -> list[tuple[float, float]]:
        """Bounds on the mean reward of each cell, of an arm or of an arm in a segment, that hold at all times and for all cells at once, of
        which nothing need be known yet. What comes first may be what comes quickly, so open decisions count as whatever is worst."""
        sequences = [NOTHING_KNOWN if one is None else at_worst(one.mean, 0 if alike else one.open) for one in cells]
        return [self.in_units(*shares) for shares in bounds_of(sequences, ERROR / max(len(cells), 1))]

    def mean_interval(self) -> tuple[float, float]:
        """Bounds on the mean reward of a decision, each side by itself; open decisions count as whatever is worst."""
        return self.in_units(*at_worst(self.mean, sum(len(line.left) for line in self.open.values())).bounds)

    def regret(self) -> float | None:
        """An upper bound of what the best of the arms that are played would have earned more in as many rounds as have their reward."""
        intervals = self.intervals()
        if not intervals or not self.rewards:
            return None
        played = [bounds for id, bounds in zip(self.arms, intervals, strict=True) if id not in self.unplayed] or intervals
        return float(self.rewards * max(max(upper for _, upper in played) - self.mean_interval()[0], 0.0))

    def curve(self) -> list[Point]:
        if self.points and self.points[-1].decisions == self.decisions:
            return [*self.points[:-1], self.point(self.time)]
        return [*self.points, self.point(self.time)] if self.decisions else []
