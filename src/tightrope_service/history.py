"""The fold of an experiment's log for readers: curves, arms, delays, segments, last decisions.

It runs beside the writer and reads new events only. Its memory grows with the open decisions, not
with the log."""

import bisect
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple, replace

from tightrope.extend import ConfidenceSequence, bounds_of
from tightrope.policies.conservative.ledger import SLOPES, sum_bound

from . import JsonObject, events
from .errors import MICROSECONDS, Refused
from .events import baselines_of, lacks_baseline, longest_row
from .spec import OTHER, ExperimentSpec, FeatureReader, Numbers, numbers_of

# Tests of a promise's assumptions on the log: do means stay, do delays depend on rewards, which
# decisions were cancelled, and so on.


OBSERVATION_ERROR = 0.01  # of each kind of comparison
DELAYS = (
    1,
    10,
    60,
    600,
    3600,
    21_600,
    86_400,
    604_800,
)  # seconds, upper ends of the histogram's bars but the last
BARS = ("<1s", "10s", "1m", "10m", "1h", "6h", "1d", "7d", ">7d")
FIRST_PERIOD = 6  # the first period has 2^6 decisions, each of the others as many as all before
MOST_ARMS = 1000  # that are compared with each other
MOST_MASKS = 64  # of an arm, that are


class Apart(NamedTuple):
    """Two groups whose bounds do not meet: the one with more, and the one with less."""

    more: str
    more_least: float
    less: str
    less_most: float


def apart(groups: dict[str, ConfidenceSequence], error: float) -> Apart | None:
    """Two groups that surely differ, of groups that should be alike. error: of all of them
    together."""
    filled = {name: one for name, one in groups.items() if one.rounds}
    if len(filled) < 2:
        return None
    bounds = dict(zip(filled, bounds_of(list(filled.values()), error / len(filled)), strict=True))
    more, less = (
        max(bounds, key=lambda name: bounds[name][0]),
        min(bounds, key=lambda name: bounds[name][1]),
    )
    if bounds[more][0] <= bounds[less][1]:
        return None
    return Apart(more, bounds[more][0], less, bounds[less][1])


def at_worst(sequence: ConfidenceSequence, missing: int) -> ConfidenceSequence:
    """The sequence with rewards that are missing, each counted as 0 for the lower and as 1 for the
    upper bound."""
    if missing <= 0:
        return sequence
    filled = ConfidenceSequence(sequence.alpha, k=0.0, state=sequence.state)
    filled.update(np.zeros(missing), np.zeros(missing))
    return filled


def bar_of(microseconds: int) -> int:
    return bisect.bisect_right(DELAYS, microseconds / MICROSECONDS)


def period_of(decision: int) -> int:
    """The period of the n-th decision: 0 for the first 64, 1 for the next 64, 2 for the next 128,
    and so on."""
    return max((decision - 1).bit_length() - FIRST_PERIOD, 0)


class ArmObservations:
    """Observations of one arm. All rewards are scaled to [0, 1]."""

    __slots__ = (
        "by_delay",
        "by_mask",
        "by_period",
        "cancelled",
        "differences",
        "late",
        "open",
        "open_by_mask",
        "unpaired",
    )

    def __init__(self) -> None:
        self.by_delay: dict[int, ConfidenceSequence] = {}  # rewards by how long they took
        self.by_period: dict[int, ConfidenceSequence] = {}  # rewards by when they were decided
        self.by_mask: dict[
            str, ConfidenceSequence
        ] = {}  # rewards by the arms that were left out, in words
        self.open_by_mask: dict[str, int] = {}  # its decisions of each that have no reward
        self.differences = ConfidenceSequence(
            OBSERVATION_ERROR, k=0.0
        )  # squared, of two rewards each: their mean is twice the variance
        self.unpaired: float | None = None  # the first of the next two
        self.cancelled = ConfidenceSequence(
            OBSERVATION_ERROR, k=0.0
        )  # 1 for a cancelled decision, 0 for another
        self.late = ConfidenceSequence(
            OBSERVATION_ERROR, k=0.0
        )  # rewards that came when the default reward had been taken for them
        self.open: dict[int, int] = {}  # its decisions of each period that wait for a reward


class Observations:
    """Observations of one experiment, or of its decisions of one segment. error: of each kind of
    comparison."""

    def __init__(self, error: float = OBSERVATION_ERROR) -> None:
        self.error = error
        self.arms: dict[str, ArmObservations] = {}
        self.lowest, self.highest = math.inf, -math.inf  # reward
        self.clipped = 0  # rewards that were outside the range
        self.without_reward = 0  # decisions that ended without one, nor a default one
        self.without_baseline = 0  # rounds in which the baseline was not eligible
        self.limited = (
            0  # decisions for which arms were left out, or of which it is not known any more
        )
        self.longest = 0.0  # norm of features
        self.delays = [0] * len(BARS)
        self.cancel_delays = [0] * len(BARS)

    def add_arms(self, arms: Iterable[str]) -> None:
        self.arms.update((arm, ArmObservations()) for arm in arms)

    def add_decision(
        self, number: int, arms: Sequence[str], context: Numbers | None, mask: str | None = ""
    ) -> None:
        """Count the n-th decision. arms: that were played. context: numbers; None: it brought none.
        mask: arms that were left out, in words; None: it is not known."""
        period = period_of(number)
        self.limited += mask != ""
        for arm in arms:
            observations = self.arms.get(arm)
            if observations is not None:
                observations.open[period] = observations.open.get(period, 0) + 1
                if mask is not None and (
                    mask in observations.open_by_mask or len(observations.open_by_mask) < MOST_MASKS
                ):
                    observations.open_by_mask[mask] = observations.open_by_mask.get(mask, 0) + 1
        if context:
            self.longest = max(self.longest, longest_row(context))

    def add_late_reward(self, arm: str | None, scaled: float) -> None:
        """Count a reward that came after the default reward was taken for it."""
        if arm in self.arms:
            self.arms[arm].late.add(scaled, 1.0 - scaled)

    def add_reward(
        self,
        arm: str,
        value: float,
        scaled: float,
        number: int,
        bar: int | None,
        mask: str | None = "",
    ) -> None:
        """Count a reward of an arm, of the n-th decision. bar: of its delay; None: a default
        reward. mask: see `add_decision`."""
        self.lowest, self.highest = min(self.lowest, value), max(self.highest, value)
        observations = self.arms.get(arm)
        if observations is None:
            return
        if observations.unpaired is None:
            observations.unpaired = scaled
        else:
            square = (scaled - observations.unpaired) ** 2
            observations.differences.add(square, 1.0 - square)
            observations.unpaired = None
        groups: list[tuple[dict[Any, ConfidenceSequence], int | str]] = [
            (observations.by_period, period_of(number))
        ]
        if mask in observations.open_by_mask:
            observations.open_by_mask[mask] -= 1
            groups.append((observations.by_mask, mask))
        if bar is not None:
            groups.append((observations.by_delay, bar))
        for group, key in groups:
            if key not in group:
                group[key] = ConfidenceSequence(OBSERVATION_ERROR, k=0.0)
            group[key].add(scaled, 1.0 - scaled)

    def end_decision(
        self, number: int, arms: Sequence[str], cancelled: bool = False, mask: str | None = ""
    ) -> None:
        """Close the n-th decision. arms: that were played. mask: see `add_decision`."""
        period = period_of(number)
        for arm in arms:
            if arm in self.arms:
                self.arms[arm].open[period] -= 1
                if cancelled and mask in self.arms[arm].open_by_mask:
                    self.arms[arm].open_by_mask[mask] -= 1
                self.arms[arm].cancelled.add(float(cancelled), float(not cancelled))

    # What follows from it -------------------------------------------------------------------------

    def mean_bounds(self) -> dict[str, tuple[float, float]]:
        """By arm, bounds on its mean reward that hold at all times and for all arms at once.

        What comes first may be what comes quickly. So they are of periods without open decisions,
        and of all periods with every open decision counted as whatever is worst; the narrower end
        of both holds. The mean of an earlier part of a period is known when its next reward comes,
        so that the sums of several sequences are those of one.
        """
        sequences: dict[str, list[ConfidenceSequence]] = {}
        for arm, observations in self.arms.items():
            if not observations.by_period:
                continue
            ended = [
                one.state
                for period, one in observations.by_period.items()
                if not observations.open.get(period)
            ]
            settled = ConfidenceSequence(
                OBSERVATION_ERROR, k=0.0, state=np.sum(ended, axis=0) if ended else None
            )
            every = ConfidenceSequence(
                OBSERVATION_ERROR,
                k=0.0,
                state=np.sum([one.state for one in observations.by_period.values()], axis=0),
            )
            sequences[arm] = [settled, at_worst(every, sum(observations.open.values()))]
        error = self.error / max(2 * len(sequences), 1)
        pairs = iter(bounds_of([one for both in sequences.values() for one in both], error))
        bounds = {arm: (next(pairs), next(pairs)) for arm in sequences}
        return {
            arm: (max(first[0], second[0]), min(first[1], second[1]))
            for arm, (first, second) in bounds.items()
        }

    def drift(self) -> tuple[str, Apart] | None:
        """An arm whose mean reward has changed, and the periods. A decision that is open counts as
        whatever is worst."""
        return self._first_apart(
            lambda arm: {
                f"{64 << j if j else 1}": at_worst(one, arm.open.get(j, 0))
                for j, one in arm.by_period.items()
            }
        )

    def telling_masks(self) -> tuple[str, Apart] | None:
        """An arm whose mean reward differs by which arms were left out, and those. A decision
        without a reward counts as whatever is worst."""
        return self._first_apart(
            lambda arm: {
                mask: at_worst(one, arm.open_by_mask[mask]) for mask, one in arm.by_mask.items()
            }
        )

    def telling_delays(self) -> tuple[str, Apart] | None:
        """An arm whose rewards differ by how long they took, and the delays."""
        return self._first_apart(lambda arm: {BARS[bar]: one for bar, one in arm.by_delay.items()})

    def _first_apart(
        self, groups: Callable[[ArmObservations], dict[str, ConfidenceSequence]]
    ) -> tuple[str, Apart] | None:
        for name, arm in self.arms.items():
            contrast = apart(groups(arm), self.error / min(len(self.arms), MOST_ARMS))
            if contrast is not None:
                return name, contrast
        return None

    def least_variance(self) -> dict[str, float]:
        """By arm, what the variance of its scaled rewards surely is at least, where its mean does
        not change."""
        arms = {
            arm: observations.differences
            for arm, observations in self.arms.items()
            if observations.differences.rounds
        }
        bounds = bounds_of(list(arms.values()), self.error / max(len(arms), 1))
        return {arm: least / 2.0 for arm, (least, _) in zip(arms, bounds, strict=True)}

    def uneven_cancellation(self) -> Apart | None:
        return apart(
            {arm: observations.cancelled for arm, observations in self.arms.items()}, self.error
        )

    def late_cancellation(self) -> bool:
        """Whether most cancellations come after most rewards, so that they may depend on what the
        reward was."""
        counts = np.array([self.cancel_delays, self.delays])
        cancelled, rewards = counts.sum(axis=1)
        if cancelled < 10 or rewards < 10:
            return False
        middles = [np.searchsorted(np.cumsum(row), row.sum() / 2) for row in counts]
        return bool(middles[0] > middles[1])


# The budget where requests leave arms out, of which none knows why.


SHARE = 0.1  # of delta, with which the bounds of this file may fail
# that have a mean of their own; the baseline of all others is taken to earn the most that there can
# be
MOST_REPORTED_MASKS = 256
REST = ""  # in place of the arms of a mask behind those
ALL = ""  # in place of a segment, where a promise is about all rounds

Mask = tuple[str, ...]  # the segment that promises are by, then ids of the arms that were left out


def left_out(question: JsonObject, arms: Collection[str]) -> list[str]:
    eligible, excluded = question.get("eligible"), question.get("excluded", ())
    if eligible is None and not excluded:  # as in nearly every request: no look at every arm
        return []
    return sorted(
        arm for arm in arms if arm in excluded or (eligible is not None and arm not in eligible)
    )


class RoundSums(Struct):
    """Sums over rounds of the baseline, or of other arms. total: of the rewards that came, in [0,
    1]."""

    decided: int = 0
    rewarded: int = 0
    total: float = 0.0

    def add(self, decided: int, rewarded: int, total: float) -> None:
        self.decided += decided
        self.rewarded += rewarded
        self.total += total

    def lower(self, level: float, more: int = 0) -> float:
        """Lower bound of the sum of their means. more: rounds without a reward."""
        return float(
            sum_bound(self.total, float(max(self.decided + more, 1)), level, SLOPES.size // 2)[0]
        )

    def upper(self, level: float, more: int = 0) -> float:
        decided = self.decided + more
        if not decided:
            return 0.0
        missed = sum_bound(self.rewarded - self.total, float(decided), level, SLOPES.size // 2)[0]
        return decided - float(missed)

    def upper_mean(self, level: float) -> float:
        return self.upper(level) / self.decided if self.decided else 1.0


class MaskRounds(NamedTuple):
    """The rounds with one mask, or of one promise, by the arm that was played."""

    baseline: RoundSums
    others: RoundSums


class NextRound(NamedTuple):
    mask: Mask
    baseline: bool


class MaskedBudget:
    """The rounds of an experiment by their masks, for one promise about z, which is the metric or
    minus it. by: the segment that it is by, if any. told: what `holdings` reports of it. Changed by
    events only."""

    def __init__(
        self, spec: ExperimentSpec, by: str | None, told: JsonObject, delta: float
    ) -> None:
        self.baseline, self.by, self.failure = str(spec.baseline), by, SHARE * delta
        self.sense = told["sense"]
        self.kappa, self.omega, self.share = told["line"]
        ends = sorted(self.sense * end for end in spec.reward_range or (0.0, 1.0))
        self.low, self.span = ends[0], ends[1] - ends[0]
        values = spec.values or [OTHER]
        self.sums = {  # by what the promise is about
            value: MaskRounds(RoundSums(), RoundSums()) for value in (values if self.by else [ALL])
        }
        means = spec.known_means
        self.means = {} if means is None else dict(zip(values, means, strict=True))
        self.level = math.log(4.0 * len(self.sums) * SLOPES.size / self.failure)  # of L
        self.masks: dict[Mask, MaskRounds] = {}
        self.upper: dict[Mask, float] = {}  # of the baseline's mean, in [0, 1], the least so far
        self.open: dict[
            str, tuple[Mask, bool]
        ] = {}  # decisions without a reward, and whether they play the baseline

    def listed(self, mask: Mask) -> Mask:
        return (
            mask if mask in self.masks or len(self.masks) < MOST_REPORTED_MASKS else (mask[0], REST)
        )

    def about(self, mask: Mask) -> str:
        return ALL if self.by is None else mask[0]

    # Events ---------------------------------------------------------------------------------------

    def decide(self, decision: str, arm: str, mask: Mask) -> None:
        mask = self.listed(mask)
        if mask not in self.masks:
            self.masks[mask], self.upper[mask] = (
                MaskRounds(RoundSums(), RoundSums()),
                self.upper_at_first(mask),
            )
        self.open[decision] = mask, arm == self.baseline
        self._count(*self.open[decision], 1, 0, 0.0)

    def end(self, decision: str, reward: float | None, cancelled: bool = False) -> None:
        if decision not in self.open:
            return
        mask, baseline = self.open.pop(decision)
        if cancelled:
            self._count(mask, baseline, -1, 0, 0.0)
        elif reward is not None:
            scaled = (self.sense * reward - self.low) / self.span
            self._count(mask, baseline, 0, 1, min(max(scaled, 0.0), 1.0))

    def _count(self, mask: Mask, baseline: bool, decided: int, rewarded: int, total: float) -> None:
        for one in (self.masks[mask], self.sums[self.about(mask)]):
            (one.baseline if baseline else one.others).add(decided, rewarded, total)
        if baseline and mask[-1] != REST:
            place = [*self.masks].index(mask) + 1
            level = math.log(2.0 * place * (place + 1) * SLOPES.size / self.failure)
            self.upper[mask] = min(self.upper[mask], self.masks[mask].baseline.upper_mean(level))

    # What follows from it -------------------------------------------------------------------------

    def upper_at_first(self, mask: Mask) -> float:
        """Upper bound of the baseline's mean before anything is known of a mask. Where it is left
        out itself, which breaks the promise, nothing will be, and what was told of it is taken."""
        if not self.means or self.baseline not in mask:
            return 1.0
        return (self.sense * self.means[mask[0]] - self.low) / self.span

    def used(self, about: str, more: NextRound | None = None) -> bool:
        """Whether the policy's own ledger does not do for these rounds: they had more than one mask
        in a segment, or a mean that was told of all rounds is taken for that of a mask."""
        masks = [mask for mask in self._masks(more) if self.about(mask) == about]
        return len(masks) > len({mask[0] for mask in masks}) or (
            bool(self.means) and any(len(mask) > 1 for mask in masks)
        )

    def _masks(self, more: NextRound | None) -> set[Mask]:
        return {*self.masks} if more is None else {*self.masks, self.listed(more.mask)}

    def bound(self, about: str, more: NextRound | None = None) -> float:
        """Lower bound of the budget of these rounds. more: one more of them, which has earned the
        least."""
        own, others = self.sums[about].baseline, self.sums[about].others
        extra = int(more is not None and not more.baseline)
        earned = self.low * (others.decided + extra) + self.span * others.lower(self.level, extra)
        extra = int(more is not None and more.baseline)
        rounds = own.decided + extra
        own_sum = own.lower(self.level, extra) if self.share > 0.0 else own.upper(self.level, extra)
        earned += self.share * (self.low * rounds + self.span * own_sum)
        charged = [
            one.others.decided * (self.low + self.span * self.upper[mask])
            for mask, one in self.masks.items()
            if self.about(mask) == about
        ]
        if more is not None and not more.baseline:
            mask = self.listed(more.mask)
            upper = self.upper[mask] if mask in self.upper else self.upper_at_first(mask)
            charged.append(self.low + self.span * upper)
        rounds = own.decided + others.decided + int(more is not None)
        return earned - self.kappa * math.fsum(charged) - self.omega * rounds

    def allows(self, mask: Mask) -> bool:
        more, about = NextRound(mask, False), self.about(mask)
        return not self.used(about, more) or self.bound(about, more) >= 0.0

    def corrected(self, report: JsonObject, more: NextRound | None = None) -> JsonObject:
        """What a policy says of a promise, of which its own ledger knows no masks, with them. more:
        a round that the ledger has."""
        if not any(self.used(about, more) for about in self.sums):
            return report
        each = []
        for about, bound in zip(
            self.sums, report.get("segments", [report["budget_bound"]]), strict=True
        ):
            last = more if more is not None and self.about(more.mask) == about else None
            each.append(min(bound, self.bound(about, last)) if self.used(about, last) else bound)
        return (
            report
            | ({"segments": each} if "segments" in report else {})
            | {"budget_bound": min(each), "failure": report["failure"] + self.failure}
        )

    # Snapshots ------------------------------------------------------------------------------------

    def pack(self) -> JsonObject:
        return {
            "masks": [
                [[*mask], self.upper[mask], astuple(one.baseline), astuple(one.others)]
                for mask, one in self.masks.items()
            ],
            "sums": [[astuple(one.baseline), astuple(one.others)] for one in self.sums.values()],
            "open": [[id, [*mask], baseline] for id, (mask, baseline) in self.open.items()],
        }

    def unpack(self, packed: JsonObject) -> None:
        for mask, upper, own, others in packed["masks"]:
            self.masks[tuple(mask)] = MaskRounds(RoundSums(*own), RoundSums(*others))
            self.upper[tuple(mask)] = upper
        for about, (own, others) in zip(self.sums, packed["sums"], strict=True):
            self.sums[about] = MaskRounds(RoundSums(*own), RoundSums(*others))
        self.open = {id: (tuple(mask), baseline) for id, mask, baseline in packed["open"]}


POINTS = 240  # of a curve at most; every second is dropped when there are more
LAST = 12  # decisions shown
ERROR = 0.05  # of all intervals of one kind together
OPEN_AT_WORST = (
    "an open decision counts as whatever is worst, one that ended without a reward is taken to be "
    "like the others"
)
NOTHING_KNOWN = ConfidenceSequence(ERROR, k=0.0)


class Point(NamedTuple):
    """The state of things after so many decisions. total: of all rewards. baseline_decisions: those
    that were production's or played the baseline. budget: its lower bound. plays: by arm. regret:
    an upper bound."""

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
    """An open decision. time: when it was made or activated. arms: that were played. left: those
    whose rewards are missing. number: it is the n-th decision. others: whether its round's baseline
    was not what was played. mean: what that baseline earns, where it is known.
    segments: its values by name. mask: ids of the arms that its request left out, in words; None:
    they were erased."""

    time: int
    arms: tuple[str, ...]
    left: tuple[str, ...]
    number: int
    others: bool
    mean: float | None
    segments: Mapping[str, str]
    mask: str | None


class ArmHistory:
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
        return self.weights * self.weights / self.squared_weights if self.squared_weights else 0.0


class SegmentHistory:
    """Counts of the decisions of one segment. arms: those that were played, by id."""

    def __init__(self) -> None:
        self.decisions = self.open = self.cancelled = self.rewards = 0
        self.arms: dict[str, ArmHistory] = {}


def of_metric(event: events.Event, metric: str) -> events.Event | None:
    """What an event says of one of several metrics; None: nothing."""
    if isinstance(event, events.Rewarded | events.Late) and isinstance(event.value, dict):
        if metric not in event.value:
            return None
        value, given = event.value[metric], event.said
        given = given[metric] if isinstance(given, dict) else given
        return replace(event, value=value, given=None if given == value else given)
    if isinstance(event, events.Expired) and isinstance(event.reward, dict):
        return replace(event, reward=event.reward.get(metric))
    if isinstance(event, events.Decided) and isinstance(event.budget, dict):
        return replace(event, budget=event.budget.get(metric))
    return event


class History(events.Fold):
    """The history of an experiment whose decisions have one reward; of several metrics, of the one
    that is learned, with that of each of the others as if it were the only one. metric: its name;
    None: the first."""

    def __init__(self, metric: str | None = None) -> None:
        super().__init__()
        self.metric = metric
        self.others: dict[str, History] = {}
        self.spec: ExperimentSpec  # as if the metric were the only one
        self.reader: FeatureReader | None = None
        self.arms: dict[str, ArmHistory] = {}  # by id, in the spec's order
        self.segments: dict[
            str, dict[str, SegmentHistory]
        ] = {}  # by name and value, in the spec's order
        self.mean = ConfidenceSequence(
            2.0 * ERROR, k=0.0
        )  # of all rewards, scaled to [0, 1]; each side by itself with ERROR
        self.decisions = self.baseline_decisions = self.late = self.expired = 0
        self.rewarded = self.defaulted = (
            0  # decisions that ended with a reward that came, and with the default reward
        )
        self.first: int | None = None  # time of the first decision
        self.cancelled = 0
        self.cancelled_others = 0  # in which the baseline was not played
        self.cancelled_means = (
            0.0  # what the baselines of cancelled decisions of other arms earn, where it is known
        )
        self.cancelled_unknown = (
            0  # cancelled decisions of other arms whose baseline's mean is not known
        )
        self.unplayed: set[str] = set()  # arms that are masked or retired
        self.total, self.outside = (
            0.0,
            0,
        )  # of all rewards; how many were outside the declared range
        self.budget: float | None = None
        self.lowest_budget: float | None = None
        self.modes: list[JsonObject] = []
        self.points: list[Point] = []
        self.stride = 1
        self.open: dict[str, OpenLine] = {}
        self.observed = Observations()
        self.parts: dict[
            str, Observations
        ] = {}  # the same by the value of the segment that promises are by, if any
        self.last: deque[DecisionLine] = deque(maxlen=LAST)
        self.outcomes: dict[str, str] = {}  # of the last decisions, in words

    def take(self, event: events.Event, seq: int, time: int) -> None:
        """Go on with the next event. Raises ValueError where one is missing."""
        if seq != self.seq + 1:
            raise ValueError(
                f"event {self.seq + 1} is missing; restore the database from a backup."
            )
        self.step(event, seq, time)

    def step(self, event: events.Event, seq: int, time: int) -> None:
        for one in self.others.values():
            one.step(event, seq, time)
        told = of_metric(event, self.metric) if self.metric else event
        if told is None:
            self.seq, self.time = seq, time
        else:
            super().step(told, seq, time)

    def about(self, metric: str | None) -> "History":
        return self.others.get(metric or "", self)

    # Events ---------------------------------------------------------------------------------------

    def _on_created(self, event: events.Created, time: int) -> None:
        whole = event.completed
        if self.metric is None:
            self.metric, *others = whole.names
            self.others = {name: History(name) for name in others}
            for one in self.others.values():
                one.step(event, self.seq + 1, time)
        self.spec = whole.about(self.metric)
        self.reader = self.spec.reader()
        self.segments = {
            name: {value: SegmentHistory() for value in (*values, OTHER)}
            for name, values in (self.spec.segments or {}).items()
        }
        promised = self.spec.values or []
        self.parts = {value: Observations(OBSERVATION_ERROR / len(promised)) for value in promised}
        mode = "full" if self.spec.rollout is None else self.spec.rollout.mode
        self._add_arms([arm.id for arm in self.spec.arms or ()])
        self.modes.append(
            {"event": 1, "time": time, "decisions": 0, "mode": mode, "by": "spec", "why": ""}
        )

    def _on_arms_added(self, event: events.ArmsAdded, time: int) -> None:
        self._add_arms([arm["id"] for arm in event.arms])

    def _add_arms(self, added: list[str]) -> None:
        self.arms.update((id, ArmHistory()) for id in added)
        for observed in (self.observed, *self.parts.values()):
            observed.add_arms(added)

    def _on_arm_changed(self, event: events.ArmChanged, time: int) -> None:
        (self.unplayed.discard if event.status == "active" else self.unplayed.add)(event.arm)

    def _on_mode_changed(self, event: events.ModeChanged, time: int) -> None:
        self.modes.append(
            {
                "event": self.seq + 1,
                "time": time,
                "decisions": self.decisions,
                "mode": event.mode,
                "share": event.share,
                "by": event.by,
                "why": event.why,
                "held": event.sent_back,
            }
        )

    def _on_decided(self, event: events.Decided, time: int) -> None:
        several = isinstance(event.name, list)
        names = tuple(str(name) for name in (event.name if several else (event.name,)))
        chances = event.propensity if several else (event.propensity,)
        for name, chance in zip(names, chances, strict=True):
            if name in self.arms:  # not where every decision brings its own candidates
                self.arms[name].play(chance)
        self.decisions += 1
        self.first = time if self.first is None else self.first
        baseline = self.spec.baseline
        productions = event.rollout is not None and not event.rollout.policy_served
        self.baseline_decisions += productions or (
            isinstance(baseline, str) and names == (baseline,)
        )
        if isinstance(event.budget, float):
            self.budget = event.budget
            lowest = self.lowest_budget
            self.lowest_budget = event.budget if lowest is None else min(event.budget, lowest)
        means, by = self.spec.baseline_means, self.spec.by
        known_mean = self.spec.known_mean
        if means is not None and by is not None:
            known_mean = means[event.asked["segments"][by]]
        mean = event.asked.get("baseline_mean", known_mean)
        others = names != baselines_of(event.asked, baseline)
        mask = None if "erased" in event.asked else ", ".join(left_out(event.asked, self.arms))
        self.open[event.decision] = OpenLine(
            time, names, names, self.decisions, others, mean, event.asked.get("segments", {}), mask
        )
        for segment in self._segments_of(self.open[event.decision]):
            segment.decisions += 1
            segment.open += 1
            for name, chance in zip(names, chances, strict=True):
                segment.arms.setdefault(name, ArmHistory()).play(chance)
        context = numbers_of(self.reader, event.asked.get("context"), self.spec.name)
        for observed in self._observers(self.open[event.decision]):
            observed.add_decision(self.decisions, names, context, mask)
        self.observed.without_baseline += event.without_baseline or lacks_baseline(
            event.asked, baseline, self.unplayed
        )
        if len(self.last) == LAST:
            self.outcomes.pop(self.last[0].id, None)
        self.last.append(
            DecisionLine(event.decision, time, names, min(chances, default=1.0), event.reason)
        )
        self.outcomes[event.decision] = "open"
        if self.decisions % self.stride == 0:
            self.points.append(self.point(time))
            if len(self.points) > POINTS:
                self.stride *= 2
                self.points = [one for one in self.points if one.decisions % self.stride == 0]

    def _segments_of(self, line: OpenLine) -> Iterator[SegmentHistory]:
        return (self.segments[name][value] for name, value in line.segments.items())

    def _observers(self, line: OpenLine) -> list[Observations]:
        by = self.spec.by
        return [self.observed] if by is None else [self.observed, self.parts[line.segments[by]]]

    def point(self, time: int) -> Point:
        return Point(
            self.decisions,
            time,
            self.rewards,
            self.total,
            self.baseline_decisions,
            self.budget,
            tuple(arm.plays for arm in self.arms.values()),
            self.regret(),
        )

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
        self._end(
            event.decision,
            "reward " + (f"{sum(value.values()):g}" if isinstance(value, dict) else f"{value:g}"),
        )

    def _reward(self, arm: str, value: float, line: OpenLine, bar: int | None) -> None:
        low, high = self.reward_range
        self.total += value
        scaled = (value - low) / (high - low)
        if not 0.0 <= scaled <= 1.0:
            self.outside += 1
            scaled = min(
                max(scaled, 0.0), 1.0
            )  # no bound is shown any more, and squares of such numbers may have no float
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
        line, reward = self.open[event.decision], event.reward
        assert not isinstance(reward, dict)  # see `of_metric`
        if reward is None:
            self.observed.without_reward += 1
        else:
            self.defaulted += 1
            for name in line.left:
                self._reward(name, reward, line, None)
            self.open[event.decision] = line._replace(left=())
        self._end(
            event.decision,
            "window closed" + ("" if reward is None else f", {reward:g} taken"),
        )

    def _on_closed(self, event: events.Closed, time: int) -> None:
        self.observed.without_reward += event.decision in self.open
        self._end(event.decision, "closed without a reward")

    def _on_cancelled(self, event: events.Cancelled, time: int) -> None:
        self.cancelled += 1
        line = self.open.get(event.decision)
        if line is not None:
            if line.others:
                self.cancelled_others += 1
                self.cancelled_means += line.mean or 0.0
                self.cancelled_unknown += line.mean is None
            for observed in self._observers(line):
                observed.cancel_delays[bar_of(time - line.time)] += 1
        self._end(event.decision, "cancelled", True)

    def _on_late(self, event: events.Late, time: int) -> None:
        self.late += 1
        low, high = self.reward_range
        for arm, value in (
            event.value.items() if isinstance(event.value, dict) else ((event.arm, event.value),)
        ):
            self.observed.add_late_reward(arm, min(max((value - low) / (high - low), 0.0), 1.0))

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

    # What follows from it -------------------------------------------------------------------------

    @property
    def rewards(self) -> int:
        return self.mean.rounds

    @property
    def unrewarded(self) -> int:
        return self.decisions - self.rewarded - self.defaulted - self.cancelled - len(self.open)

    @property
    def reward_range(self) -> tuple[float, float]:
        return self.spec.reward_range or (0.0, 1.0)

    def in_units(self, least: float, most: float) -> tuple[float, float]:
        low, high = self.reward_range  # of which both are shares
        return low + (high - low) * least, low + (high - low) * most

    @property
    def comparable(self) -> bool:
        """Whether the mean reward of an arm is the same in every round, as far as the spec says, so
        that intervals of arms make sense."""
        spec = self.spec
        return (
            spec.arms is not None
            and spec.row_length is None
            and spec.oracle is None
            and not self.outside
        )

    @property
    def alike(self) -> dict[str, Observations]:
        """Observations of decisions in which an arm has one mean, by what a sentence about them
        ends with."""
        by = self.spec.by
        return {f" in {by} {value}": observed for value, observed in self.parts.items()} or {
            "": self.observed
        }

    def telling_masks(self) -> tuple[str, str, Apart] | None:
        """An arm that earns something else where other arms are left out, in what, and how much, so
        that arms are not to be compared."""
        if self.comparable and self.observed.limited:
            for where, observed in self.alike.items():
                contrast = observed.telling_masks()
                if contrast is not None:
                    return contrast[0], where, contrast[1]
        return None

    def intervals(self, alike: bool = False) -> list[tuple[float, float]] | None:
        """Bounds on each arm's mean that hold at all times and for all arms at once; None where
        arms have no one mean. alike: open decisions are taken to be like the others, which they
        need not be."""
        return (
            self.intervals_of([*self.arms.values()], alike)
            if self.comparable and self.arms
            else None
        )

    def intervals_of(
        self, cells: Sequence[ArmHistory | None], alike: bool = False
    ) -> list[tuple[float, float]]:
        """Bounds on the mean reward of each cell, of an arm or of an arm in a segment, that hold at
        all times and for all cells at once, of which nothing need be known yet. What comes first
        may be what comes quickly, so open decisions count as whatever is worst."""
        return [
            self.in_units(*shares)
            for shares in bounds_of(
                [
                    NOTHING_KNOWN if one is None else at_worst(one.mean, 0 if alike else one.open)
                    for one in cells
                ],
                ERROR / max(len(cells), 1),
            )
        ]

    def mean_interval(self) -> tuple[float, float]:
        """Bounds on the mean reward of a decision, each side by itself; open decisions count as
        whatever is worst."""
        return self.in_units(
            *at_worst(self.mean, sum(len(line.left) for line in self.open.values())).bounds
        )

    def regret(self) -> float | None:
        """An upper bound of what the best of the arms that are played would have earned more in as
        many rounds as have their reward."""
        intervals = self.intervals()
        if not intervals or not self.rewards:
            return None
        played = [
            bounds
            for id, bounds in zip(self.arms, intervals, strict=True)
            if id not in self.unplayed
        ] or intervals
        return float(
            self.rewards * max(max(upper for _, upper in played) - self.mean_interval()[0], 0.0)
        )

    def curve(self) -> list[Point]:
        former = [point for point in self.points if point.decisions < self.decisions]
        return [*former, self.point(self.time)] if self.decisions else []


# Segments: results by country, device or whatever a spec names, from the history of the log.


INTERVALS = (
    "All intervals hold at all times, for all arms and segments at once, with probability "
    f"{100 * (1 - ERROR):g} %; {OPEN_AT_WORST}. Where those of two arms overlap, the one that "
    "leads in a segment may lead by chance: of many segments some always do. The policy is one "
    "for all segments."
)


def note_of(spec: ExperimentSpec) -> str:
    if not spec.has_promise:
        return INTERVALS
    if spec.by is None:
        return f"{INTERVALS} Its promise is about all decisions together, not about each segment."
    return f"{INTERVALS} It keeps a promise in every {spec.by} by itself, and in other."


def segment_values(
    segments: dict[str, list[str]], texts: dict[str, str] | None, experiment: str
) -> dict[str, str]:
    """The value of every segment of a decision: what the request says where the spec knows it, else
    "other". Refused where the request names a segment that there is not."""
    said = texts or {}
    unknown = next((name for name in said if name not in segments), None)
    if unknown is not None:
        raise Refused(
            422,
            f"segments has {unknown!r}, which experiment {experiment!r} does not have; it has "
            f"{', '.join(segments)}.",
            "segments",
        )
    return {
        name: said[name] if said.get(name) in values else OTHER for name, values in segments.items()
    }


def promised_bounds(standing: JsonObject, history: History) -> list[JsonObject]:
    """The lower bound of each budget, where the values of a segment have a promise each. standing:
    see `commands.describe_standing`."""
    name, values = history.spec.by, history.spec.values or []
    return [
        {"segment": name, "value": value, "bound": bound}
        | ({"metric": promise.metric} if promise.metric else {})
        for promise, told in zip(history.spec.kept, told_by(standing["holdings"]), strict=False)
        for value, bound in zip(values, told.get("segments", ()), strict=False)
    ]


def told_by(holdings: JsonObject | None) -> list[JsonObject]:
    return [] if holdings is None else holdings.get("promises", [holdings])


def segment_report(history: History) -> JsonObject:
    """Counts of every segment, and of every arm in each of them with its mean, interval and
    difference from the baseline."""
    counts = [
        {
            "segment": name,
            "value": value,
            "decisions": segment.decisions,
            "rewards": segment.rewards,
            "open": segment.open,
            "cancelled": segment.cancelled,
        }
        for name, values in history.segments.items()
        for value, segment in values.items()
    ]
    cells = {
        (name, value, id): segment.arms.get(id)
        for name, values in history.segments.items()
        for value, segment in values.items()
        for id in history.arms
    }
    bounds = {
        place: pair
        for (place, arm), pair in zip(
            cells.items(), history.intervals_of([*cells.values()]), strict=True
        )
        if history.comparable and arm is not None and arm.rewards
    }
    compared, baseline = history.telling_masks() is None, str(history.spec.baseline)
    rows = []
    for place, arm in cells.items():
        if arm is None:
            continue
        name, value, id = place
        pair, base_place, lift = bounds.get(place), (name, value, baseline), None
        base, base_pair = cells.get(base_place), bounds.get(base_place)
        if compared and id != baseline and base is not None and pair and base_pair:
            gap = mean_of(arm) - mean_of(base)
            lift = {"value": gap, "low": pair[0] - base_pair[1], "high": pair[1] - base_pair[0]}
        rows.append(
            {
                "segment": name,
                "value": value,
                "arm": id,
                "decisions": arm.plays,
                "rewards": arm.rewards,
                "mean": mean_of(arm) if arm.rewards else None,
                "low": pair and pair[0],
                "high": pair and pair[1],
                "lift": lift,
            }
        )
    return {"error": ERROR, "note": note_of(history.spec), "segments": counts, "arms": rows}


# Which arm leads, how sure that is, and how many decisions it will take to know: from the history
# of the log alone.


LEAST_REWARDS = 30  # of each of two arms, before a forecast of their difference is made
FARTHEST = 1e12  # decisions; a forecast beyond it is that it will not be known
ERRORS = 2.0  # standard errors by which the lead may be larger or smaller in a forecast

# where requests left arms out
ASSUMING = "if which arms may be played does not depend on what they would earn"

Bounds = dict[str, tuple[float, float]]  # by arm, of its mean reward


class BoundedDifference(NamedTuple):
    value: float
    low: float
    high: float


class Forecast(NamedTuple):
    """Decisions until it is known which arm is best, where the lead stays as it is and arms are
    played as lately. low, high: for leads ERRORS standard errors larger and smaller. seconds: that
    the decisions take, at their rate of late; None: nothing is known of it.
    why: why there is no forecast; then the rest is infinite."""

    decisions: float
    low: float
    high: float
    seconds: float | None
    why: str = ""


class Lead(NamedTuple):
    """The arm with the highest mean reward of those that are played. best: no other arm's bounds
    reach its own. best_if_alike: nor would they if open decisions were like the others."""

    arm: str
    next: str
    best: bool
    best_if_alike: bool


def mean_of(arm: ArmHistory) -> float:
    return arm.total / arm.rewards


def played_arms(history: History) -> dict[str, ArmHistory]:
    return {id: arm for id, arm in history.arms.items() if id not in history.unplayed}


def lead_of(history: History, bounds: Bounds) -> Lead | None:
    played = played_arms(history)
    ranking = sorted(
        (id for id, arm in played.items() if arm.rewards), key=lambda id: -mean_of(played[id])
    )
    if len(ranking) < 2:
        return None
    leader, second = ranking[:2]
    others = [id for id in played if id != leader]
    alike = bounds_if_alike(history)
    return Lead(
        leader,
        second,
        all(bounds[leader][0] > bounds[id][1] for id in others),
        all(alike[leader][0] > alike[id][1] for id in others),
    )


def bounds_if_alike(history: History) -> Bounds:
    """Bounds of every arm's mean if open decisions were like the others: for what will be known,
    and not for what is."""
    return dict(zip(history.arms, history.intervals(alike=True) or (), strict=True))


def winner(history: History, bounds: Bounds) -> str | None:
    """The arm that is known to be the best of those that are played; None where that is not known
    yet, or means, masks or delays contradict it. bounds: of the history's arms."""
    leader = lead_of(history, bounds)
    if (
        leader is None
        or not leader.best
        or history.observed.drift() is not None
        or history.telling_masks() is not None
    ):
        return None
    return None if history.open and history.observed.telling_delays() is not None else leader.arm


def against_baseline(history: History, bounds: Bounds, arm: str) -> BoundedDifference | None:
    """An arm's mean reward less the baseline's, known or learned; None where there is no other arm
    that is the baseline, or no reward."""
    spec = history.spec
    baseline = spec.baseline
    if not isinstance(baseline, str) or baseline == arm or not history.arms[arm].rewards:
        return None
    known = spec.known_mean
    if known is not None:
        low, high = bounds[arm]
        return BoundedDifference(mean_of(history.arms[arm]) - known, low - known, high - known)
    return difference(history, bounds, arm, baseline)


def difference(history: History, bounds: Bounds, arm: str, other: str) -> BoundedDifference | None:
    one, two = history.arms[arm], history.arms[other]
    if not one.rewards or not two.rewards:
        return None
    return BoundedDifference(
        mean_of(one) - mean_of(two),
        bounds[arm][0] - bounds[other][1],
        bounds[arm][1] - bounds[other][0],
    )


def earned_more(history: History, bounds: Bounds) -> BoundedDifference | None:
    """All rewards so far less what the baseline would be expected to have earned in the same
    decisions, with bounds on the expected difference: luck is no gain. None where there is no
    baseline or nothing is known of it."""
    spec, n = history.spec, history.rewards
    if not n or not isinstance(spec.baseline, str):
        return None
    least, most = history.mean_interval()
    arm, (below, above) = history.arms[spec.baseline], bounds[spec.baseline]
    if spec.known_mean is not None:
        mean = below = above = spec.known_mean
    elif arm.rewards:
        mean = mean_of(arm)
    else:
        return None
    return BoundedDifference(history.total - n * mean, n * (least - above), n * (most - below))


# Forecast -----------------------------------------------------------------------------------------


def forecast(history: History, bounds: Bounds, leader: str) -> Forecast:
    """When the bounds of all other arms will be below the leader's. bounds: if open decisions are
    like the others."""
    few, half = (
        next((id for id, arm in played_arms(history).items() if arm.rewards < LEAST_REWARDS), None),
        recent(history),
    )
    if few is not None:
        return never(f"{few} has fewer than {LEAST_REWARDS} rewards")
    if half is None:
        return never("there are too few decisions")
    rates, seconds = half
    times = [
        needed(history, bounds, leader, other, rates)
        for other in played_arms(history)
        if other != leader
    ]
    expected, low, high = (max(column) for column in zip(*times, strict=True))
    if math.isinf(expected):
        return never("the arms behind it are too close to it, or hardly played any more")
    return Forecast(expected, low, high, None if seconds is None else expected * seconds)


def never(why: str) -> Forecast:
    return Forecast(math.inf, math.inf, math.inf, None, why)


def recent(history: History) -> tuple[dict[str, float], float | None] | None:
    """Of the later half of the decisions: rewards of each arm per decision, and seconds per
    decision. None: there are too few."""
    points = history.curve()
    if len(points) < 4:
        return None
    last: Point = points[-1]
    first = next(point for point in points if 2 * point.decisions >= last.decisions)
    decisions = last.decisions - first.decisions
    ended = history.decisions - len(history.open)
    if not decisions or not ended:
        return None
    came = min(history.rewards / ended, 1.0)  # the share of decisions that bring a reward
    plays = [
        now - (first.plays[k] if k < len(first.plays) else 0) for k, now in enumerate(last.plays)
    ]
    seconds = (last.time - first.time) / MICROSECONDS / decisions
    return {
        id: came * count / decisions for id, count in zip(history.arms, plays, strict=True)
    }, seconds or None


def needed(
    history: History, bounds: Bounds, leader: str, other: str, rates: dict[str, float]
) -> tuple[float, float, float]:
    """Decisions until the bounds of two arms are apart: expected, and for larger and smaller
    leads."""
    one, two = history.arms[leader], history.arms[other]
    if not one.rewards or not two.rewards:
        return math.inf, math.inf, math.inf
    lead = mean_of(one) - mean_of(two)
    margin = ERRORS * math.sqrt(
        variance(history, one) / one.rewards + variance(history, two) / two.rewards
    )
    below, above = mean_of(one) - bounds[leader][0], bounds[other][1] - mean_of(two)

    def gap(decisions: float) -> float:
        """The widths that are between both, after so many more decisions: they fall with the square
        root of the rewards."""
        grown = [
            1.0 + rates[id] * decisions / arm.rewards for id, arm in ((leader, one), (other, two))
        ]
        return below / math.sqrt(grown[0]) + above / math.sqrt(grown[1])

    return first_below(gap, lead), first_below(gap, lead + margin), first_below(gap, lead - margin)


def first_below(gap: Callable[[float], float], lead: float) -> float:
    """The first number of decisions at which a falling gap is below a lead; infinite where it never
    is."""
    if gap(0.0) < lead:
        return 0.0
    if gap(FARTHEST) >= lead:
        return math.inf
    low, high = 0.0, FARTHEST
    while high - low > 1.0 + 1e-6 * high:
        middle = (low + high) / 2.0
        low, high = (low, middle) if gap(middle) < lead else (middle, high)
    return high


def variance(history: History, arm: ArmHistory) -> float:
    low, high = history.reward_range
    return (high - low) ** 2 * arm.mean.state[0][2] / arm.rewards
