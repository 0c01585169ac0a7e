"""How a paper's claims are judged: estimates from replications, rules from numbers to a verdict with a reason, and the claims themselves.

A rule is a pure function. It returns a `Judgement`: the verdict, the rule in words, and, where the claim is not reproduced, what the
numbers say instead. Estimates carry a standard error; a difference counts when it is larger than MARGIN of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..numerics.statistics import standard_error

Verdict = Literal["reproduced", "partly", "not reproduced"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
MARGIN = 4.0  # standard errors


class Estimate(NamedTuple):
    """A number and its standard error."""

    value: float
    se: float


def estimate(values: ArrayLike) -> Estimate:
    """Mean over replications; the standard error of a single one is infinite."""
    x = np.asarray(values, dtype=np.float64)
    return Estimate(float(x.mean()), float(standard_error(x)))


def paired(first: np.ndarray, second: np.ndarray) -> Estimate:
    """Mean of first - second, replication by replication."""
    return estimate(first - second)


def ratio(above: np.ndarray, below: np.ndarray) -> Estimate:
    """mean(above) / mean(below) of paired replications, standard error by the delta method."""
    value = float(above.mean() / below.mean())
    return Estimate(value, float(standard_error(above - value * below)) / abs(float(below.mean())))


def quotient(above: Estimate, below: Estimate) -> Estimate:
    """above / below of independent estimates, standard error by the delta method."""
    value = above.value / below.value
    return Estimate(value, value * math.hypot(above.se / above.value, below.se / below.value))


def share(count: int, total: int) -> Estimate:
    """count / total with the standard error of a binomial share."""
    value = count / total
    return Estimate(value, math.sqrt(value * (1 - value) / total))


class Judgement(NamedTuple):
    """What a rule found. test: the rule in words. reason: what the numbers say where the verdict is not "reproduced", else empty."""

    verdict: Verdict
    test: str
    reason: str = ""


def _judged(full: bool, partial: bool, test: str, reason: str) -> Judgement:
    if full:
        return Judgement("reproduced", test)
    return Judgement("partly" if partial else "not reproduced", test, reason)


def _apart(gap: float, se: float) -> str:
    """A difference in standard errors, in words."""
    return f"{gap:.3g}, {abs(gap) / se:.1f} standard errors" if 0 < se < math.inf else f"{gap:.3g}, standard error {se:.3g}"


def below(found: Estimate, bound: float = 0.0, margin: float = MARGIN) -> Judgement:
    """Reproduced: below the bound by `margin` standard errors. Partly: below it."""
    gap = found.value - bound
    test = f"below {bound:g} by {margin:g} standard errors; partly if below"
    return _judged(gap < -margin * found.se, gap < 0, test, f"The distance to {bound:g} is {_apart(gap, found.se)}.")


def above(found: Estimate, bound: float = 0.0, margin: float = MARGIN) -> Judgement:
    """Reproduced: above the bound by `margin` standard errors. Partly: above it."""
    gap = found.value - bound
    test = f"above {bound:g} by {margin:g} standard errors; partly if above"
    return _judged(gap > margin * found.se, gap > 0, test, f"The distance to {bound:g} is {_apart(gap, found.se)}.")


def near(found: Estimate, target: float, relative: float, margin: float = MARGIN) -> Judgement:
    """Reproduced: within `relative` of the target. Partly: at most `margin` standard errors outside."""
    outside = abs(found.value - target) - relative * abs(target)
    test = f"within {relative:.0%} of {target:.4g}; partly if at most {margin:g} standard errors outside"
    reason = f"It is {found.value / target - 1:+.0%} off, outside by {_apart(outside, found.se)}." if target else ""
    return _judged(outside <= 0, math.isfinite(found.se) and outside <= margin * found.se, test, reason)


def gain(found: Estimate, target: float, tolerance: float, slack: float = MARGIN, margin: float = MARGIN) -> Judgement:
    """Reproduced: within `tolerance` of the target, or within `slack` standard errors of it. Partly: above 0 by `margin` of them."""
    off = found.value - target
    allowed = max(tolerance, slack * found.se) if slack else tolerance
    either = f" or {slack:g} standard errors" if slack else ""
    test = f"within {tolerance:.3g}{either} of {target:g}; partly if above 0 by {margin:g} standard errors"
    reason = f"It differs from {target:g} by {off:+.3g}; the distance to 0 is {_apart(found.value, found.se)}."
    return _judged(abs(off) <= allowed, found.value > margin * found.se, test, reason)


def at_most(value: float, bound: float, partly: float | None = None) -> Judgement:
    """Reproduced: value <= bound. Partly: value <= `partly`."""
    test = f"at most {bound:g}" + ("" if partly is None else f"; partly if at most {partly:g}")
    return _judged(value <= bound, partly is not None and value <= partly, test, f"{value:.3g} is above {bound:g}.")


def at_least(value: float, bound: float, partly: float | None = None) -> Judgement:
    """Reproduced: value >= bound. Partly: value >= `partly`."""
    test = f"at least {bound:g}" + ("" if partly is None else f"; partly if at least {partly:g}")
    return _judged(value >= bound, partly is not None and value >= partly, test, f"{value:.3g} is below {bound:g}.")


def between(value: float, low: float, high: float) -> Judgement:
    """Reproduced: low <= value <= high. Partly: above 0."""
    return _judged(low <= value <= high, value > 0, f"from {low:g} to {high:g}; partly if above 0", f"{value:.3g} is outside.")


def never(count: int, total: int) -> Judgement:
    """Reproduced: none of them."""
    return _judged(count == 0, False, "none at all", f"{count} of {total}.")


def every(holds: Sequence[bool]) -> Judgement:
    """Reproduced: it holds in all cases. Partly: in some."""
    count = sum(bool(one) for one in holds)
    return _judged(count == len(holds), count > 0, "in all cases; partly if in some", f"It holds in {count} of {len(holds)} cases.")


def most(count: int, total: int) -> Judgement:
    """Reproduced: more than half of them. Partly: some."""
    return _judged(2 * count > total, count > 0, "in more than half of the cases; partly if in some", f"{count} of {total}.")


def everywhere_above(found: Sequence[Estimate], margin: float = MARGIN) -> Judgement:
    """Reproduced: every estimate is above 0 by `margin` standard errors. Partly: one of them is."""
    holds = [one.value > margin * one.se for one in found]
    test = f"above 0 by {margin:g} standard errors at every place; partly if at some"
    return _judged(all(holds), any(holds), test, f"It holds at {sum(holds)} of {len(holds)} places.")


def both_signs(found: Sequence[Estimate], margin: float = MARGIN) -> Judgement:
    """Reproduced: some estimates are below 0 and some above, each by `margin` standard errors."""
    negative = sum(one.value < -margin * one.se for one in found)
    positive = sum(one.value > margin * one.se for one in found)
    test = f"below 0 somewhere and above 0 somewhere else, each by {margin:g} standard errors"
    return _judged(negative > 0 and positive > 0, False, test, f"Below at {negative}, above at {positive} of {len(found)} places.")


def ahead(difference: Estimate, relative: float, least: float, margin: float = MARGIN) -> Judgement:
    """Reproduced: above 0 by `margin` standard errors, and `relative` (its share of the rival's mean) is at least `least`.

    Partly: above 0 by that margin.
    """
    sure = difference.value > margin * difference.se
    test = f"above 0 by {margin:g} standard errors and at least {least:.0%}; partly if above 0 by {margin:g} standard errors"
    reason = f"It is {relative:+.1%}; the distance to 0 is {_apart(difference.value, difference.se)}."
    return _judged(sure and relative >= least, sure, test, reason)


@dataclass(frozen=True)
class Claim:
    """One statement of a paper beside what we measured.

    claim: the statement. paper: the paper's number, as printed. ours and se: ours and its standard error. test, verdict, reason: of
    the rule, see `Judgement`. remark: what the paper leaves open that the number depends on. figure: filled in when the figure is run.
    """

    claim: str
    paper: str | float
    ours: str | float
    se: float | None
    test: str
    verdict: Verdict
    reason: str = ""
    remark: str = ""
    figure: str = ""

    def __post_init__(self) -> None:
        checks.choice("verdict", self.verdict, VERDICTS)


def judged(claim: str, paper: str | float, ours: Estimate | str | float, judgement: Judgement, *, se: float | None = None,
           remark: str = "") -> Claim:  # fmt: skip
    """A claim with the judgement of a rule. se: of an `ours` that is text."""
    value, error = ours if isinstance(ours, Estimate) else (ours, se)
    return Claim(claim, paper, value, error, judgement.test, judgement.verdict, judgement.reason, remark)
