r"""Promises about several metrics and segments at once, each kept by a ledger of its own.

A promise of sense s = 1, "at least", or -1, "at most", is about z = s x, x the metric's value:

    sum z(mu(a)) >= sum (kappa z(mu_b) + omega) over the rounds of the promise, at all times,

with kappa = 1 - s alpha, omega = 0 relative to the baseline, and kappa = 0, omega = s c for a
constant c a round. So `ledger` keeps it as it keeps the one of `Safe`: an open decision has earned
the lowest z, which is minus the metric's highest value for "at most". An arm is safe where every
promise that the round belongs to says so. All of them hold with probability 1 - sum delta_p, by the
union bound, and metrics of one decision may depend on each other in any way.

Where a promise is about one segment, arms have estimates by segment in all promises: which arms are
safe depends on the segment then, so that a mean over all of them would bound nothing.
"""

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ...compiled.kernels import lean, python_of, returns_views
from ...core import checks
from ...core.fields import Stored, opened
from ...core.verbs import Arms, Context, value_or
from .guarantee import ArmLedger, bound_round, longer_state, new_state
from .indices import Independent, TrivialLedger
from .ledger import (
    INDEPENDENT,
    Bounds,
    Ledger,
    Terms,
    part,
    premises_of,
    values_of,
)

METRIC, SENSE, SCOPE, LEDGER_OF, ROW, BY_SEGMENT, COUNTS = range(7)
ALL, EACH = -1, -2  # scopes beside that of one segment


@dataclass(frozen=True)
class Promise:
    """A bound that the sum of a metric's expected values keeps, from the first round on.

    Exactly one of alpha, ceiling and floor says which.

    Parameters
    ----------
    metric : str or None
        Its name; None: the objective, which is learned.
    alpha : float > 0
        Share of the baseline's sum that may be lost, below 1; with at_most: added.
    ceiling : float
        The most a round may have on average.
    floor : float
        The least a round must have on average.
    at_most : bool
        Whether alpha bounds the sum from above, default False.
    segment : int, "each" or None
        The segment whose rounds it is about, or each of them by itself; None: all rounds.
    share : float > 0
        Its part of delta in proportion, default 1.0.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.Promise("conversion", alpha=0.02)
    Promise('conversion', alpha=0.02)
    """

    metric: str | None = None
    alpha: float | None = None
    ceiling: float | None = None
    floor: float | None = None
    at_most: bool = False
    segment: int | str | None = None
    share: float = 1.0

    def __post_init__(self) -> None:
        levels = [name for name in ("alpha", "ceiling", "floor") if getattr(self, name) is not None]
        if len(levels) != 1:
            raise ValueError(
                f"a promise needs exactly one of alpha, ceiling and floor, but "
                f"{' and '.join(levels) or 'none'} was given; write Promise(alpha=0.05)."
            )
        if self.metric is not None and not isinstance(self.metric, str):
            raise ValueError(f"metric = {checks.show(self.metric)} is not a name; give text.")
        checks.flag("at_most", self.at_most)
        if self.alpha is not None:
            below = None if self.at_most else 1.0
            checks.real("alpha", self.alpha, above=0.0, below=below)
        elif self.at_most:
            raise ValueError(
                f"at_most was given with {levels[0]}, which says by its name whether it bounds "
                "from above; leave at_most out."
            )
        else:
            checks.real(levels[0], getattr(self, levels[0]))
        if self.segment is not None and self.segment != "each":
            checks.integer("segment", self.segment, least=0)
        checks.real("share", self.share, above=0.0)

    def __repr__(self) -> str:
        given = given_of(self)
        first = [repr(given.pop("metric"))] if "metric" in given else []
        return (
            f"Promise({', '.join(first + [f'{name}={value!r}' for name, value in given.items()])})"
        )

    def __str__(self) -> str:
        """As a part of a sentence: "conversion at least 98 % of the baseline's"."""
        what = self.metric or "reward"
        if self.alpha is not None:
            level = 100.0 * (1.0 + self.alpha if self.at_most else 1.0 - self.alpha)
            said = f"{what} at {'most' if self.at_most else 'least'} {level:g} % of the baseline's"
        else:
            least = self.ceiling is None
            said = f"{what} at {'least' if least else 'most'} "
            said += f"{self.floor if least else self.ceiling:g} a round on average"
        where = "each segment" if self.segment == "each" else f"segment {self.segment}"
        return said if self.segment is None else f"{said} in {where}"


def given_of(promise: Promise) -> Stored:
    return {
        item.name: getattr(promise, item.name)
        for item in fields(promise)
        if getattr(promise, item.name) != item.default
    }


def sense_of(promise: Promise) -> int:
    return -1 if promise.at_most or promise.ceiling is not None else 1


def line_of(promise: Promise) -> tuple[float, float, float]:
    """kappa, omega and 1 - kappa."""
    if promise.alpha is not None:
        share = sense_of(promise) * promise.alpha
        return 1.0 - share, 0.0, share
    level = promise.floor if promise.ceiling is None else promise.ceiling
    assert level is not None
    return 0.0, sense_of(promise) * level, 1.0


def promises_given(name: str, value: object) -> list[Stored]:
    if isinstance(value, np.ndarray):
        with contextlib.suppress(ValueError):  # bytes that are no JSON
            value = opened(value)
    items = [value] if isinstance(value, Promise | Mapping) else value
    if not isinstance(items, Sequence) or isinstance(items, str) or not items:
        raise ValueError(
            f"{name} = {checks.show(value)} is not a list of promises; give at least one, such as "
            "[Promise(alpha=0.05)]."
        )
    made = []
    for item in items:
        if not isinstance(item, Promise | Mapping):
            raise ValueError(
                f"{name} has {checks.show(item)}, which is not a promise; give Promise(alpha=0.05)."
            )
        made.append(item if isinstance(item, Promise) else Promise(**item))
    return [given_of(item) for item in made]


def metrics_given(name: str, value: object) -> dict[str, list[float]] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not value:
        raise ValueError(
            f"{name} = {checks.show(value)} is not a dict; give every metric's lowest and highest "
            "value, the objective first: {'revenue': (0, 500), 'conversion': (0, 1)}."
        )
    ranges: dict[str, list[float]] = {}
    for metric, ends in value.items():
        numbers = [float(end) for end in np.atleast_1d(np.asarray(ends, dtype=np.float64))]
        inside = (
            len(numbers) in (2, 3) and numbers[0] < numbers[1] and not any(map(math.isnan, numbers))
        )
        if not inside or (len(numbers) == 3 and not 0.0 <= numbers[2] < math.inf):
            raise ValueError(
                f"{name}[{metric!r}] = {checks.show(ends)} is not (lowest, highest) or (lowest, "
                "highest, sigma); give numbers such as (0, 1)."
            )
        ranges[str(metric)] = numbers
    return ranges


def means_given(name: str, value: object) -> Any:
    if value is None or isinstance(value, Mapping):
        return value and {
            str(metric): means_given(f"{name}[{metric!r}]", item) for metric, item in value.items()
        }
    numbers = checks.floats(name, value)
    if numbers.ndim > 1 or not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} = {checks.show(value)} is not a mean, nor one for each segment; give finite "
            "numbers."
        )
    return numbers.tolist()


# A function of its own, since compiled code cannot call the one that it is a part of.
whole: Any = python_of(bound_round)
bound_part = lean(FunctionType(whole.__code__, whole.__globals__, "bound_part"))


class Promises(NamedTuple):
    """What a decision under several promises rests on, as one ledger: the objective's bounds, and
    as total the least room that a promise leaves to an arm."""

    ledger: Ledger  # (1,) of which event, choice, slack and reference are used
    bounds: Bounds
    parts: ArmLedger  # stacked: the ledgers of all promises, and estimates by row

    @lean
    def bound_arms(self, policy, context):
        pass

    @lean
    def bound_totals(self, policy, context, baseline, mean, ahead):
        total, objective = self.bounds.total, True
        total[:] = math.inf
        for p in range(policy.places.shape[0]):
            place = policy.places[p]
            if asked(place, context):
                one = view(self, policy, context, p)
                bound_part(policy, one, round_of(policy, context, p))
                if objective and place[METRIC] == 0 and place[SENSE] > 0:
                    objective = False
                    self.ledger[0].reference = one.ledger[0].reference
                    for k in range(total.shape[0]):
                        self.bounds.lower[k] = one.bounds.lower[k]
                        self.bounds.upper[k] = one.bounds.upper[k]
                if place[COUNTS]:
                    slack = one.ledger[0].slack
                    for k in range(total.shape[0]):
                        total[k] = min(total[k], one.bounds.total[k] + slack)
        return 0.0


@lean
def asked(place, context):
    """Whether the round belongs to a promise."""
    return place[SCOPE] < 0 or place[SCOPE] == value_or(context.segment, 0)


@returns_views
def view(state, policy, context, p):
    """The ledger and the estimates that promise p has for the round."""
    place, s = policy.places[p], value_or(context.segment, 0)
    ledger = place[LEDGER_OF] + (s if place[SCOPE] == EACH else 0)
    return part(state.parts, ledger, place[ROW] + (s if place[BY_SEGMENT] else 0))


@returns_views
def round_of(policy, context, p):
    """The round as promise p counts it: with the known mean of its metric, NaN where it is
    learned."""
    place = policy.places[p]
    known = policy.known[place[METRIC], value_or(context.segment, 0)]
    mean = place[SENSE] * value_or(context.baseline_mean, known)
    return Context(context.features, context.eligible, context.baseline, mean, context.segment)


def stored_promises(stored: Stored) -> Stored:
    """What kernels read, `places` (one row for each promise), `known` (metrics, segments), the
    known means of the baseline, and `terms` (promises, 4), delta, kappa, omega and 1 - kappa.

    Refuses promises about metrics and segments that there are not, and ceilings that the baseline
    itself would break.
    """
    metrics, n = opened(stored["metrics"]), stored["segments"]
    names = list(metrics) if metrics else [None]
    promises = [Promise(**item) for item in opened(stored["promises"])]
    check_ends(metrics or {}, promises)
    known = known_means(opened(stored["baseline_mean"]), names, n)
    by_segment = any(promise.segment is not None for promise in promises)
    places, terms, ledgers, rows = [], [], 0, 0
    parts = sum(promise.share * (n if promise.segment == "each" else 1) for promise in promises)
    for promise in promises:
        m = metric_of(promise, names)
        scope, number = scope_of(promise, n), n if promise.segment == "each" else 1
        learns = by_segment and scope == ALL and n > 1
        check_level(promise, known[m] if scope < 0 else known[m, scope : scope + 1])
        if learns and np.isnan(known[m]).any():
            raise ValueError(
                f"baseline_mean of {promise.metric or 'the reward'} is missing, which a promise "
                "over all rounds needs beside one of a segment; give it for every segment."
            )
        places.append([m, sense_of(promise), scope, ledgers, rows, scope == EACH or learns, 1])
        terms.append([stored["delta"] * promise.share / parts, *line_of(promise)])
        ledgers, rows = ledgers + number, rows + (n if learns else number)
    if not any(place[METRIC] == 0 and place[SENSE] > 0 and place[SCOPE] < 0 for place in places):
        places.append([0, 1, ALL, ledgers, rows, by_segment, 0])  # for the objective's bounds only
        terms.append([stored["delta"], 1.0, 0.0, 0.0])
    return stored | {
        "places": np.array(places, dtype=np.int64),
        "terms": np.array(terms),
        "known": known,
    }


def check_ends(metrics: Mapping[str, Sequence[float]], promises: Sequence[Promise]) -> None:
    """Refuse metrics whose worst value for a promise is infinite."""
    for promise in promises:
        name = promise.metric or next(iter(metrics), "")
        low, high = metrics[name][:2] if name in metrics else (0.0, 0.0)
        if math.isinf(high if sense_of(promise) < 0 else low) or (math.isinf(high) and low < 0.0):
            raise ValueError(
                f"{name!r} has no {'upper' if sense_of(promise) < 0 else 'lower'} end, so an open "
                f"decision could cost anything; give metrics={{{name!r}: (least, most)}}."
            )


def metric_of(promise: Promise, names: list[str | None]) -> int:
    if promise.metric in (None, *names):
        return names.index(promise.metric or names[0])
    listed = ", ".join(str(name) for name in names if name) or "none"
    raise ValueError(
        f"metric = {promise.metric!r} is not in metrics, which are {listed}; give it there with "
        "its lowest and highest value."
    )


def scope_of(promise: Promise, n: int) -> int:
    if isinstance(promise.segment, str):
        return EACH
    if promise.segment is not None and promise.segment >= n:
        raise ValueError(f"segment = {promise.segment} is not a segment; they are 0 to {n - 1}.")
    return ALL if promise.segment is None else promise.segment


def check_level(promise: Promise, means: np.ndarray) -> None:
    """Refuse what the baseline itself would break. means: of the baseline in its segments."""
    kappa, omega, _ = line_of(promise)
    if kappa == 0.0 and np.isnan(means).any():
        raise ValueError(
            f"baseline_mean of {promise.metric or 'the reward'} is missing, which a ceiling or a "
            "floor needs; give what the baseline has on average."
        )
    worst = sense_of(promise) * means - kappa * sense_of(promise) * means - omega
    if (worst < 0.0).any():
        k = int(np.nanargmin(worst))
        raise ValueError(
            f"baseline has {means[k]:g} of {promise.metric or 'the reward'} on average, which "
            f"itself breaks the promise {promise}; move the bound, or take another baseline."
        )


def known_means(given: Any, names: list[str | None], n: int) -> np.ndarray:
    known = np.full((len(names), n), math.nan)
    for name, means in (given if isinstance(given, dict) else {names[0]: given}).items():
        if name not in names:
            raise ValueError(
                f"baseline_mean has {name!r}, which is not in metrics; they are "
                f"{', '.join(map(str, names))}."
            )
        if isinstance(means, list) and len(means) != n:
            raise ValueError(
                f"baseline_mean has {len(means)} entries, but segments = {n}; give one for each."
            )
        known[names.index(name)] = math.nan if means is None else means
    return known


def new_promises(policy: Any, arms: Arms) -> Promises:
    names = opened(policy.metrics) and tuple(opened(policy.metrics))
    if names and names != arms.metrics:
        told = "one reward" if arms.metrics is None else ", ".join(arms.metrics)
        raise ValueError(
            f"metrics are {', '.join(names)}, but what a decision is rewarded with here is {told}; "
            "name the same ones in this order."
        )
    parts, ledgers = [], []
    for p in range(len(policy.places)):
        one, count = new_part(policy, arms, p), rows_of(policy, p)
        parts += [one] * count
        ledgers += [one.ledger] * (policy.segments if policy.places[p, SCOPE] == EACH else 1)
    first = parts[0]
    joint = np.zeros(1, dtype=first.ledger.dtype).view(np.recarray)
    joint[:] = first.ledger
    bounds = Bounds(*(np.zeros(arms.number) for _ in Bounds._fields))
    ledger = np.concatenate(ledgers).view(np.recarray)
    return Promises(joint, bounds, stacked(parts)._replace(ledger=ledger))


def rows_of(policy: Any, p: int) -> int:
    return policy.segments if policy.places[p, BY_SEGMENT] else 1


def new_part(policy: Any, arms: Arms, p: int) -> ArmLedger:
    """The ledger of promise p and the estimates of one of its rows."""
    place, (delta, kappa, omega, share) = policy.places[p], policy.terms[p]
    low, high, sigma = values_of(policy, arms.rewards)
    if place[METRIC] > 0:
        low, high, *said = list(opened(policy.metrics).values())[place[METRIC]]
        sigma = said[0] if said else (high - low) / 2.0 if math.isfinite(high) else math.nan
    if place[SENSE] < 0:
        low, high = -high, -low
    known = policy.known[place[METRIC]]
    by_segment, fixed = (policy.places[:, BY_SEGMENT] > 0).any(), not np.isnan(known).any()
    shown = Arms(arms.number, rewards=arms.rewards) if by_segment else arms
    rows = rows_of(policy, p) if place[SCOPE] == ALL else 1
    dimension = shown.dimension if policy.model != INDEPENDENT else 0
    premises = premises_of(policy, (low, high), sigma, delta, fixed, dimension, arms.number * rows)
    premises = premises._replace(arm_delta=premises.arm_delta / rows)
    mean = floor = math.nan
    if fixed:
        mean = place[SENSE] * known[0]
        floor = mean if policy.segments == 1 else omega
    if place[METRIC] == 0 and 0.0 < kappa < 1.0 and not math.isnan(policy.baseline_floor):
        floor = policy.baseline_floor
    one = new_state(policy, shown, (premises, Terms(delta, kappa, omega, share, mean, floor)))
    if by_segment and arms.dimension and arms.features is None:
        assert isinstance(one, Independent)
        return TrivialLedger(one.ledger, one.bounds, one.open)
    return one


def longer_promises(policy: Any, state: Promises, arms: Arms) -> Promises:
    longer, row = [], 0
    for p in range(len(policy.places)):
        fresh = new_part(policy, arms, p)
        for _ in range(rows_of(policy, p)):
            longer.append(longer_state(policy, part(state.parts, 0, row), fresh, arms))
            row += 1
    bounds = Bounds(*(np.zeros(arms.number) for _ in Bounds._fields))
    return Promises(state.ledger, bounds, stacked(longer)._replace(ledger=state.parts.ledger))


def stacked(items: Sequence[Any]) -> Any:
    first = items[0]
    if isinstance(first, tuple):
        return type(first)(*(stacked(column) for column in zip(*items, strict=True)))
    return np.stack(items) if isinstance(first, np.ndarray) else first
