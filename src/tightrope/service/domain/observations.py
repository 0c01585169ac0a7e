"""Tests of a promise's assumptions on the log: do means stay, do delays depend on rewards, which decisions were cancelled, and so on.

Every comparison is of bounds that hold at all times at once: two that do not meet contradict what was assumed, and a promise that is kept
as it was assumed is contradicted in one of a hundred experiments at most. Memory grows with arms, not with the log.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...evaluation.estimators import ConfidenceSequence, bounds_of
from .features import Numbers
from .rounds import longest_row
from .times import MICROSECONDS

ERROR = 0.01  # of each kind of comparison
DELAYS = (1, 10, 60, 600, 3600, 21_600, 86_400, 604_800)  # seconds, upper ends of the histogram's bars but the last
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
    """Two groups that surely differ, of groups that should be alike. error: of all of them together."""
    filled = {name: one for name, one in groups.items() if one.rounds}
    if len(filled) < 2:
        return None
    bounds = dict(zip(filled, bounds_of(list(filled.values()), error / len(filled)), strict=True))
    more, less = max(bounds, key=lambda name: bounds[name][0]), min(bounds, key=lambda name: bounds[name][1])
    if bounds[more][0] <= bounds[less][1]:
        return None
    return Apart(more, bounds[more][0], less, bounds[less][1])


def at_worst(sequence: ConfidenceSequence, missing: int) -> ConfidenceSequence:
    """The sequence with rewards that are missing, each counted as 0 for the lower and as 1 for the upper bound."""
    if missing <= 0:
        return sequence
    filled = ConfidenceSequence(sequence.alpha, k=0.0, state=sequence.state)
    filled.update(np.zeros(missing), np.zeros(missing))
    return filled


def bar_of(microseconds: int) -> int:
    seconds = microseconds / MICROSECONDS
    return next((k for k, end in enumerate(DELAYS) if seconds < end), len(DELAYS))


def period_of(decision: int) -> int:
    """The period of the n-th decision: 0 for the first 64, 1 for the next 64, 2 for the next 128, and so on."""
    return max((decision - 1).bit_length() - FIRST_PERIOD, 0)


class ArmObservations:
    """Observations of one arm. All rewards are scaled to [0, 1]."""

    __slots__ = ("by_delay", "by_mask", "by_period", "cancelled", "differences", "late", "open", "open_by_mask", "unpaired")

    def __init__(self) -> None:
        self.by_delay: dict[int, ConfidenceSequence] = {}  # rewards by how long they took
        self.by_period: dict[int, ConfidenceSequence] = {}  # rewards by when they were decided
        self.by_mask: dict[str, ConfidenceSequence] = {}  # rewards by the arms that were left out, in words
        self.open_by_mask: dict[str, int] = {}  # its decisions of each that have no reward
        self.differences = ConfidenceSequence(ERROR, k=0.0)  # squared, of two rewards each: their mean is twice the variance
        self.unpaired: float | None = None  # the first of the next two
        self.cancelled = ConfidenceSequence(ERROR, k=0.0)  # 1 for a cancelled decision, 0 for another
        self.late = ConfidenceSequence(ERROR, k=0.0)  # rewards that came when the default reward had been taken for them
        self.open: dict[int, int] = {}  # its decisions of each period that wait for a reward


class Observations:
    """Observations of one experiment, or of its decisions of one segment. error: of each kind of comparison."""

    def __init__(self, error: float = ERROR) -> None:
        self.error = error
        self.arms: dict[str, ArmObservations] = {}
        self.lowest, self.highest = math.inf, -math.inf  # reward
        self.clipped = 0  # rewards that were outside the range
        self.without_reward = 0  # decisions that ended without one, nor a default one
        self.without_baseline = 0  # rounds in which the baseline was not eligible
        self.limited = 0  # decisions for which arms were left out, or of which it is not known any more
        self.longest = 0.0  # norm of features
        self.delays = [0] * len(BARS)
        self.cancel_delays = [0] * len(BARS)

    def add_arms(self, arms: Iterable[str]) -> None:
        self.arms.update((arm, ArmObservations()) for arm in arms)

    def add_decision(self, number: int, arms: Sequence[str], context: Numbers | None, mask: str | None = "") -> None:
        """Count the n-th decision. arms: that were played. context: numbers; None: it brought none. mask: arms that were left out, in
        words; None: it is not known."""
        period = period_of(number)
        self.limited += mask != ""
        for arm in arms:
            observations = self.arms.get(arm)
            if observations is not None:
                observations.open[period] = observations.open.get(period, 0) + 1
                if mask is not None and (mask in observations.open_by_mask or len(observations.open_by_mask) < MOST_MASKS):
                    observations.open_by_mask[mask] = observations.open_by_mask.get(mask, 0) + 1
        if context:
            self.longest = max(self.longest, longest_row(context))

    def add_late_reward(self, arm: str | None, scaled: float) -> None:
        """Count a reward that came after the default reward was taken for it."""
        if arm in self.arms:
            self.arms[arm].late.add(scaled, 1.0 - scaled)

    def add_reward(self, arm: str, value: float, scaled: float, number: int, bar: int | None, mask: str | None = "") -> None:
        """Count a reward of an arm, of the n-th decision. bar: of its delay; None: a default reward. mask: see `add_decision`."""
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
        groups: list[tuple[dict[Any, ConfidenceSequence], int | str]] = [(observations.by_period, period_of(number))]
        if mask in observations.open_by_mask:
            observations.open_by_mask[mask] -= 1
            groups.append((observations.by_mask, mask))
        if bar is not None:
            groups.append((observations.by_delay, bar))
        for group, key in groups:
            if key not in group:
                group[key] = ConfidenceSequence(ERROR, k=0.0)
            group[key].add(scaled, 1.0 - scaled)

    def end_decision(self, number: int, arms: Sequence[str], cancelled: bool = False, mask: str | None = "") -> None:
        """Close the n-th decision. arms: that were played. mask: see `add_decision`."""
        period = period_of(number)
        for arm in arms:
            if arm in self.arms:
                self.arms[arm].open[period] -= 1
                if cancelled and mask in self.arms[arm].open_by_mask:
                    self.arms[arm].open_by_mask[mask] -= 1
                self.arms[arm].cancelled.add(float(cancelled), float(not cancelled))

    # What follows from it -------------------------------------------------------------------------------------------------

    def mean_bounds(self) -> dict[str, tuple[float, float]]:
        """By arm, bounds on its mean reward that hold at all times and for all arms at once.

        What comes first may be what comes quickly. So they are of periods without open decisions, and of all periods with every open
        decision counted as whatever is worst; the narrower end of both holds. The mean of an earlier part of a period is known when its
        next reward comes, so that the sums of several sequences are those of one.
        """
        sequences: dict[str, list[ConfidenceSequence]] = {}
        for arm, observations in self.arms.items():
            if not observations.by_period:
                continue
            ended = [one.state for period, one in observations.by_period.items() if not observations.open.get(period)]
            settled = ConfidenceSequence(ERROR, k=0.0, state=np.sum(ended, axis=0) if ended else None)
            every = ConfidenceSequence(ERROR, k=0.0, state=np.sum([one.state for one in observations.by_period.values()], axis=0))
            sequences[arm] = [settled, at_worst(every, sum(observations.open.values()))]
        error = self.error / max(2 * len(sequences), 1)
        pairs = iter(bounds_of([one for both in sequences.values() for one in both], error))
        bounds = {arm: (next(pairs), next(pairs)) for arm in sequences}
        return {arm: (max(first[0], second[0]), min(first[1], second[1])) for arm, (first, second) in bounds.items()}

    def drift(self) -> tuple[str, Apart] | None:
        """An arm whose mean reward has changed, and the periods. A decision that is open counts as whatever is worst."""
        several = {arm: observations for arm, observations in self.arms.items() if len(observations.by_period) > 1}
        for arm, observations in several.items():
            periods = {f"{64 << j if j else 1}": at_worst(one, observations.open.get(j, 0)) for j, one in observations.by_period.items()}
            contrast = apart(periods, self.error / min(len(self.arms), MOST_ARMS))
            if contrast is not None:
                return arm, contrast
        return None

    def telling_masks(self) -> tuple[str, Apart] | None:
        """An arm whose mean reward differs by which arms were left out, and those. A decision without a reward counts as whatever is
        worst."""
        several = {arm: observations for arm, observations in self.arms.items() if len(observations.by_mask) > 1}
        for arm, observations in several.items():
            masks = {mask: at_worst(one, observations.open_by_mask[mask]) for mask, one in observations.by_mask.items()}
            contrast = apart(masks, self.error / min(len(self.arms), MOST_ARMS))
            if contrast is not None:
                return arm, contrast
        return None

    def telling_delays(self) -> tuple[str, Apart] | None:
        """An arm whose rewards differ by how long they took, and the delays."""
        several = {arm: observations for arm, observations in self.arms.items() if len(observations.by_delay) > 1}
        for arm, observations in several.items():
            contrast = apart({BARS[bar]: one for bar, one in observations.by_delay.items()}, self.error / min(len(self.arms), MOST_ARMS))
            if contrast is not None:
                return arm, contrast
        return None

    def least_variance(self) -> dict[str, float]:
        """By arm, what the variance of its scaled rewards surely is at least, where its mean does not change."""
        arms = {arm: observations.differences for arm, observations in self.arms.items() if observations.differences.rounds}
        bounds = bounds_of(list(arms.values()), self.error / max(len(arms), 1))
        return {arm: least / 2.0 for arm, (least, _) in zip(arms, bounds, strict=True)}

    def uneven_cancellation(self) -> Apart | None:
        """Two arms of which surely different shares are cancelled."""
        return apart({arm: observations.cancelled for arm, observations in self.arms.items()}, self.error)

    def late_cancellation(self) -> bool:
        """Whether most cancellations come after most rewards, so that they may depend on what the reward was."""
        cancelled, rewards = sum(self.cancel_delays), sum(self.delays)
        if cancelled < 10 or rewards < 10:
            return False
        return median_bar(self.cancel_delays) > median_bar(self.delays)


def median_bar(counts: Sequence[int]) -> int:
    total, half = 0, sum(counts) / 2
    for bar, count in enumerate(counts):
        total += count
        if total >= half:
            return bar
    return len(counts) - 1
