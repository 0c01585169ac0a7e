"""Which arm leads, how sure that is, and how many decisions it will take to know: from the history of the log alone."""

import math
from collections.abc import Callable
from typing import NamedTuple

from .history import ArmHistory, History, Point
from .times import MICROSECONDS

LEAST_REWARDS = 30  # of each of two arms, before a forecast of their difference is made
FARTHEST = 1e12  # decisions; a forecast beyond it is that it will not be known
ERRORS = 2.0  # standard errors by which the lead may be larger or smaller in a forecast

ASSUMING = "if which arms may be played does not depend on what they would earn"  # where requests left arms out

Bounds = dict[str, tuple[float, float]]  # by arm, of its mean reward


class BoundedDifference(NamedTuple):
    """One mean reward less another. low, high: its bounds."""

    value: float
    low: float
    high: float


class Forecast(NamedTuple):
    """Decisions until it is known which arm is best, where the lead stays as it is and arms are played as lately. low, high: for leads
    ERRORS standard errors larger and smaller. seconds: that the decisions take, at their rate of late; None: nothing is known of it.
    why: why there is no forecast; then the rest is infinite."""

    decisions: float
    low: float
    high: float
    seconds: float | None
    why: str = ""


class Lead(NamedTuple):
    """The arm with the highest mean reward of those that are played. best: no other arm's bounds reach its own. best_if_alike: nor would
    they if open decisions were like the others."""

    arm: str
    next: str
    best: bool
    best_if_alike: bool


def mean_of(arm: ArmHistory) -> float:
    return arm.total / arm.rewards


def played_arms(history: History) -> dict[str, ArmHistory]:
    return {id: arm for id, arm in history.arms.items() if id not in history.unplayed}


def lead_of(history: History, bounds: Bounds) -> Lead | None:
    """The arm that leads; None where fewer than two arms have rewards. bounds: of the history's arms."""
    played = played_arms(history)
    ranking = sorted((id for id, arm in played.items() if arm.rewards), key=lambda id: -mean_of(played[id]))
    if len(ranking) < 2:
        return None
    leader, second = ranking[:2]
    others = [id for id in played if id != leader]
    alike = bounds_if_alike(history)
    return Lead(
        leader, second, all(bounds[leader][0] > bounds[id][1] for id in others), all(alike[leader][0] > alike[id][1] for id in others)
    )


def bounds_if_alike(history: History) -> Bounds:
    """Bounds of every arm's mean if open decisions were like the others: for what will be known, and not for what is."""
    return dict(zip(history.arms, history.intervals(alike=True) or (), strict=True))


def winner(history: History, bounds: Bounds) -> str | None:
    """The arm that is known to be the best of those that are played; None where that is not known yet, or means, masks or delays
    contradict it. bounds: of the history's arms."""
    leader = lead_of(history, bounds)
    if leader is None or not leader.best or history.observed.drift() is not None or history.telling_masks() is not None:
        return None
    return None if history.open and history.observed.telling_delays() is not None else leader.arm


def against_baseline(history: History, bounds: Bounds, arm: str) -> BoundedDifference | None:
    """An arm's mean reward less the baseline's, known or learned; None where there is no other arm that is the baseline, or no reward."""
    spec = history.spec
    baseline = None if spec is None else spec.baseline
    if spec is None or not isinstance(baseline, str) or baseline == arm or not history.arms[arm].rewards:
        return None
    if spec.baseline_mean is not None:
        low, high = bounds[arm]
        baseline_mean = spec.baseline_mean
        return BoundedDifference(mean_of(history.arms[arm]) - baseline_mean, low - baseline_mean, high - baseline_mean)
    return difference(history, bounds, arm, baseline)


def difference(history: History, bounds: Bounds, arm: str, other: str) -> BoundedDifference | None:
    """The mean reward of one arm less that of another; None where one of both has none."""
    one, two = history.arms[arm], history.arms[other]
    if not one.rewards or not two.rewards:
        return None
    return BoundedDifference(mean_of(one) - mean_of(two), bounds[arm][0] - bounds[other][1], bounds[arm][1] - bounds[other][0])


def earned_more(history: History, bounds: Bounds) -> BoundedDifference | None:
    """All rewards so far less what the baseline would be expected to have earned in the same decisions, with bounds on the expected
    difference: luck is no gain. None where there is no baseline or nothing is known of it."""
    spec, n = history.spec, history.rewards
    if spec is None or not n or not isinstance(spec.baseline, str):
        return None
    least, most = history.mean_interval()
    if spec.baseline_mean is not None:
        baseline_mean = spec.baseline_mean
        return BoundedDifference(history.total - n * baseline_mean, n * (least - baseline_mean), n * (most - baseline_mean))
    arm, (below, above) = history.arms[spec.baseline], bounds[spec.baseline]
    if not arm.rewards:
        return None
    return BoundedDifference(history.total - n * mean_of(arm), n * (least - above), n * (most - below))


# Forecast ------------------------------------------------------------------------------------------------------------------


def forecast(history: History, bounds: Bounds, leader: str) -> Forecast:
    """When the bounds of all other arms will be below the leader's. bounds: if open decisions are like the others."""
    few, half = next((id for id, arm in played_arms(history).items() if arm.rewards < LEAST_REWARDS), None), recent(history)
    if few is not None:
        return never(f"{few} has fewer than {LEAST_REWARDS} rewards")
    if half is None:
        return never("there are too few decisions")
    rates, seconds = half
    times = [needed(history, bounds, leader, other, rates) for other in played_arms(history) if other != leader]
    expected, low, high = (max(column) for column in zip(*times, strict=True))
    if math.isinf(expected):
        return never("the arms behind it are too close to it, or hardly played any more")
    return Forecast(expected, low, high, None if seconds is None else expected * seconds)


def never(why: str) -> Forecast:
    return Forecast(math.inf, math.inf, math.inf, None, why)


def recent(history: History) -> tuple[dict[str, float], float | None] | None:
    """Of the later half of the decisions: rewards of each arm per decision, and seconds per decision. None: there are too few."""
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
    plays = [now - (first.plays[k] if k < len(first.plays) else 0) for k, now in enumerate(last.plays)]
    seconds = (last.time - first.time) / MICROSECONDS / decisions
    return {id: came * count / decisions for id, count in zip(history.arms, plays, strict=True)}, seconds or None


def needed(history: History, bounds: Bounds, leader: str, other: str, rates: dict[str, float]) -> tuple[float, float, float]:
    """Decisions until the bounds of two arms are apart: expected, and for larger and smaller leads."""
    one, two = history.arms[leader], history.arms[other]
    if not one.rewards or not two.rewards:
        return math.inf, math.inf, math.inf
    lead = mean_of(one) - mean_of(two)
    margin = ERRORS * math.sqrt(variance(history, one) / one.rewards + variance(history, two) / two.rewards)
    below, above = mean_of(one) - bounds[leader][0], bounds[other][1] - mean_of(two)

    def gap(decisions: float) -> float:
        """The widths that are between both, after so many more decisions: they fall with the square root of the rewards."""
        grown = [1.0 + rates[id] * decisions / arm.rewards for id, arm in ((leader, one), (other, two))]
        return below / math.sqrt(grown[0]) + above / math.sqrt(grown[1])

    return first_below(gap, lead), first_below(gap, lead + margin), first_below(gap, lead - margin)


def first_below(gap: Callable[[float], float], lead: float) -> float:
    """The first number of decisions at which a falling gap is below a lead; infinite where it never is."""
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
