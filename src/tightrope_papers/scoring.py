"""Judgements of a paper's claims: estimates from replications, rules from numbers to a verdict with
a reason, the rows themselves, and the register of claims that they decide.

A rule is a pure function. It returns a `Judgement`: the verdict, the rule in words, and, where the
claim is not reproduced, what the numbers say instead. Estimates carry a standard error; a
difference counts when it is larger than MARGIN of them, and where errors are too wide to tell the
verdict is "undecided".
"""

import functools
import math
import pathlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeVar, get_args

import numpy as np
import yaml
from numpy.typing import ArrayLike
from scipy import special

from tightrope.core import checks
from tightrope.extend import JsonObject, standard_error

Verdict = Literal["reproduced", "partly", "not reproduced", "undecided"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
NOT_JUDGED: Final = (
    "not judged"  # of a claim that no row refers to, and of a row at a scale that says nothing
)
MARGIN = 4.0  # standard errors
ONE_RUN = "one run, which decides nothing"
# share of two numbers below which their difference is rounding, which differs between processors
ROUNDING = 1e-9
# How a rule says that nothing speaks against what is "partly" so; elsewhere it means that it holds
# in some cases only, or has the right direction and another size.
EVERY_PLACE = "at every place; partly if at some and nowhere below by them"


class Estimate(NamedTuple):
    value: float
    se: float


def estimate(values: ArrayLike) -> Estimate:
    """Mean over replications; the standard error of a single one is infinite."""
    x = np.asarray(values, dtype=np.float64)
    return Estimate(float(x.mean()), float(standard_error(x)))


def paired_mean(first: np.ndarray, second: np.ndarray) -> Estimate:
    """Mean of first - second, replication by replication; differences that are rounding are 0."""
    gap = np.asarray(first - second, dtype=np.float64)
    return estimate(
        np.where(np.abs(gap) <= ROUNDING * np.maximum(np.abs(first), np.abs(second)), 0.0, gap)
    )


def ratio(above: np.ndarray, below: np.ndarray) -> Estimate:
    """mean(above) / mean(below) of paired replications, standard error by the delta method."""
    value = float(above.mean() / below.mean())
    return Estimate(value, float(standard_error(above - value * below)) / abs(float(below.mean())))


def quotient(above: Estimate, below: Estimate) -> Estimate:
    """above / below of independent estimates, standard error by the delta method."""
    value = above.value / below.value
    return Estimate(value, math.hypot(above.se, value * below.se) / abs(below.value))


def share(count: int, total: int) -> Estimate:
    value = count / total
    return Estimate(value, math.sqrt(value * (1 - value) / total))


class Judgement(NamedTuple):
    """The answer of a rule. test: the rule in words. reason: what the numbers say where the verdict
    is not "reproduced", else empty."""

    verdict: Verdict
    test: str
    reason: str = ""


def _judgement(
    full: bool, partial: bool, test: str, reason: str, *, open_: bool = False
) -> Judgement:
    """open_: the numbers do not say; it counts where the claim is not reproduced in full."""
    if full:
        return Judgement("reproduced", test)
    return Judgement(
        "undecided" if open_ else "partly" if partial else "not reproduced", test, reason
    )


def ours_in_words(row: "Row") -> str:
    ours = row.ours if isinstance(row.ours, str) else f"{row.ours:.4g}"
    return (
        ours
        if row.se is None
        else f"{ours} ({ONE_RUN})"
        if row.se == math.inf
        else f"{ours} ± {row.se:.2g}"
    )


def _apart(gap: float, se: float) -> str:
    known = ROUNDING * abs(gap) < se < math.inf
    return (
        f"{gap:.3g}, {abs(gap) / se:.1f} standard errors"
        if known
        else f"{gap:.3g}, standard error {se:.2g}"
    )


def below(estimate: Estimate, bound: float = 0.0, *, partly: float | None = None) -> Judgement:
    return _beyond("below", -1.0, estimate, bound, partly)


def above(estimate: Estimate, bound: float = 0.0, *, partly: float | None = None) -> Judgement:
    return _beyond("above", 1.0, estimate, bound, partly)


def _beyond(
    side: str, sign: float, estimate: Estimate, bound: float, partly: float | None
) -> Judgement:
    """Reproduced: on this side of the bound by `margin` standard errors. Undecided: no further from
    it than that. Partly: beyond `partly` by them."""
    gap = estimate.value - bound
    test = (
        f"{side} {bound:g} by {MARGIN:g} standard errors; undecided if no further from it than that"
    )
    weaker = partly is not None and sign * (estimate.value - partly) > MARGIN * estimate.se
    if partly is not None:
        test += f"; partly if {side} {partly:g} by them"
    sure = abs(gap) > MARGIN * estimate.se or (gap == 0.0 == estimate.se)
    return _judgement(
        sure and sign * gap > 0,
        weaker,
        test,
        f"The distance to {bound:g} is {_apart(gap, estimate.se)}.",
        open_=not sure,
    )


def near(estimate: Estimate, target: float, relative: float) -> Judgement:
    """`within` a share of the target. Partly: within twice that."""
    band = relative * abs(target)
    return within(
        estimate,
        target,
        band,
        partly=abs(estimate.value - target) <= 2 * band,
        words=f"within {2 * relative:.0%} of it",
    )


def gain(estimate: Estimate, target: float, tolerance: float) -> Judgement:
    """`within` a tolerance of the target. Partly: above 0 by `margin` standard errors."""
    return within(
        estimate,
        target,
        tolerance,
        partly=estimate.value > MARGIN * estimate.se,
        words=f"above 0 by {MARGIN:g} standard errors",
    )


def within(
    estimate: Estimate,
    target: float,
    band: float,
    *,
    partly: bool = False,
    words: str = "",
) -> Judgement:
    """Reproduced: within the band, which is at least `margin` standard errors wide to either side.

    Undecided: the band is narrower than that, and the target not further away than both together.
    """
    off = estimate.value - target
    wide = not MARGIN * estimate.se <= band
    reached = not abs(off) > band + MARGIN * estimate.se
    return _judgement(
        not wide and abs(off) <= band,
        partly,
        f"within {band:.3g} of {target:.4g}, with {MARGIN:g} standard errors below that; else "
        f"undecided if they reach it{f'; partly if {words}' if words else ''}",
        f"It differs from {target:.4g} by {off:+.3g}; {MARGIN:g} standard errors are "
        f"{MARGIN * estimate.se:.3g}.",
        open_=wide and reached,
    )


def agree(difference: Estimate, size: float) -> Judgement:
    """Two measurements of the same thing, of about this size, differ by at most `margin` standard
    errors of their difference.

    Undecided: they do, but so would nothing and twice the size, because the standard errors are
    that wide.
    """
    known = math.isfinite(difference.se) and math.isfinite(difference.value)
    within = known and abs(difference.value) <= MARGIN * difference.se
    blind = not known or MARGIN * difference.se > abs(size)
    return _judgement(
        within and not blind,
        False,
        f"the difference is within {MARGIN:g} joint standard errors; undecided if these exceed "
        f"{abs(size):.3g}, the number itself",
        f"The difference is {_apart(difference.value, difference.se)}.",
        open_=blind and (within or not known),
    )


def at_most(value: float, bound: float, partly: float | None = None) -> Judgement:
    test = f"at most {bound:g}" + ("" if partly is None else f"; partly if at most {partly:g}")
    return _judgement(
        value <= bound,
        partly is not None and value <= partly,
        test,
        f"{value:.3g} is above {bound:g}.",
    )


def at_least(value: float, bound: float, partly: float | None = None) -> Judgement:
    test = f"at least {bound:g}" + ("" if partly is None else f"; partly if at least {partly:g}")
    return _judgement(
        value >= bound,
        partly is not None and value >= partly,
        test,
        f"{value:.3g} is below {bound:g}.",
    )


def never(count: int, total: int) -> Judgement:
    return _judgement(count == 0, False, "none at all", f"{count} of {total}.")


def every(holds: Sequence[bool]) -> Judgement:
    """Reproduced: it holds in all cases. Partly: in some. Undecided: there are none."""
    count, none = sum(bool(one) for one in holds), len(holds) == 0
    return _judgement(
        not none and count == len(holds),
        count > 0,
        "in all cases; partly if in some; undecided if there are none",
        f"It holds in {count} of {len(holds)} cases.",
        open_=none,
    )


def rare(count: int, total: int, bound: float, confidence: float = 0.99) -> Judgement:
    """Reproduced: the upper limit (Clopper-Pearson) of the probability is at most `bound`.
    Undecided: only the lower one is."""
    upper = (
        1.0 if count == total else float(special.betaincinv(count + 1, total - count, confidence))
    )
    lower = (
        0.0 if count == 0 else float(special.betaincinv(count, total - count + 1, 1 - confidence))
    )
    return _judgement(
        upper <= bound,
        False,
        f"the upper {confidence:.0%} limit of the probability is at most {bound:g}; undecided if "
        "only the lower limit is",
        f"{count} of {total}: between {lower:.3g} and {upper:.3g}.",
        open_=lower <= bound,
    )


def falls(steps: Sequence[Estimate], whole: Estimate) -> Judgement:
    """A curve that falls. steps: its paired differences from place to place; whole: of the last
    place and the first.

    Reproduced: the whole is below 0 by `margin` standard errors and no step is above 0 by them.
    Partly: the whole alone is below 0.
    Undecided: the whole is no further from 0 than that.
    """
    rising = [place for place, step in enumerate(steps, start=1) if step.value > MARGIN * step.se]
    sure = abs(whole.value) > MARGIN * whole.se
    where = f"Steps up by them: {', '.join(map(str, rising)) or 'none'} of {len(steps)}"
    return _judgement(
        sure and whole.value < 0 and not rising,
        sure and whole.value < 0,
        f"last below first by {MARGIN:g} standard errors, and no step up by them; partly if only "
        "the first; undecided if neither is clear",
        f"{where}; last minus first is {_apart(whole.value, whole.se)}.",
        open_=not sure,
    )


def most(count: int, total: int) -> Judgement:
    return _judgement(
        2 * count > total,
        count > 0,
        "in more than half of the cases; partly if in some",
        f"{count} of {total}.",
    )


def everywhere_above(estimates: Sequence[Estimate]) -> Judgement:
    """Reproduced: every estimate is above 0 by `margin` standard errors. Partly: one is, none
    below. Undecided: none is either.

    Partly leaves a claim undecided: no place speaks against it.
    """
    over = sum(one.value > MARGIN * one.se for one in estimates)
    under = sum(one.value < -MARGIN * one.se for one in estimates)
    return _judgement(
        over == len(estimates),
        over > 0 and under == 0,
        f"above 0 by {MARGIN:g} standard errors {EVERY_PLACE}; undecided if nowhere either",
        f"It is above at {over} and below at {under} of {len(estimates)} places.",
        open_=over == under == 0,
    )


def among_draws(
    draws: ArrayLike, target: float, noise: float, *, at_least: bool = False, tail: float = 0.05
) -> Judgement:
    """A number that is an extreme of random worlds, beside its distribution over draws of them.

    draws: one value for each. noise: the standard error of such a value, infinite where there is
    one run of a world. Reproduced: the target is between their `tail` and 1 - `tail` quantiles
    (at_least, for "more than": not above the upper one). Undecided: it is, but so would be 0, no
    effect at all, or the range is no wider than `MARGIN` times the noise, which then may have made
    it.
    """
    x = np.asarray(draws, dtype=np.float64)
    low, high = (float(q) for q in np.quantile(x, (tail, 1 - tail)))
    inside = target <= high and (at_least or target >= low)
    blind = low == high or low <= 0.0 <= high or high - low <= MARGIN * noise
    side = "not above" if at_least else "within"
    where = f"{side} the {tail:.0%} to {1 - tail:.0%} range over draws of worlds"
    return _judgement(
        inside and not blind,
        False,
        f"{target:g} is {where}; undecided if 0 is in it as well, or noise as wide",
        f"The range is {low:.3g} to {high:.3g}.",
        open_=inside,
    )


def in_most_draws(gaps: ArrayLike, noise: float, *, tail: float = 0.05) -> Judgement:
    """An order on an extreme of random worlds, over draws of them.

    gaps: what should be below 0, one for each draw. noise: the standard error of such a value,
    infinite where there is one run of a world.
    Reproduced: below 0 in at least a share 1 - `tail` of the draws. Partly: in at least `tail` of
    them. Undecided: where the noise may have made that range.
    """
    x = np.asarray(gaps, dtype=np.float64)
    share = float((x < 0).mean())
    low, high = (float(q) for q in np.quantile(x, (tail, 1 - tail)))
    blind = (
        low <= MARGIN * noise
        if share < tail
        else high >= -MARGIN * noise
        if share > 1 - tail
        else high - low <= MARGIN * noise
    )
    return _judgement(
        share >= 1 - tail and not blind,
        share >= tail,
        "below 0 in at least 95% of the draws of worlds; partly if in at least 5%; undecided if "
        "noise as wide would do it",
        f"It is in {share:.0%} of the draws.",
        open_=blind,
    )


def both_signs(estimates: Sequence[Estimate]) -> Judgement:
    """Reproduced: some estimates are below 0 and some above, each by `margin` standard errors.
    Undecided: neither."""
    negative = sum(one.value < -MARGIN * one.se for one in estimates)
    positive = sum(one.value > MARGIN * one.se for one in estimates)
    return _judgement(
        negative > 0 and positive > 0,
        False,
        f"below 0 somewhere and above 0 somewhere else, each by {MARGIN:g} standard errors; "
        "undecided if nowhere either",
        f"Below at {negative}, above at {positive} of {len(estimates)} places.",
        open_=negative == positive == 0,
    )


def ahead(difference: Estimate, relative: float, least: float) -> Judgement:
    """Reproduced: above 0 by `margin` standard errors, and `relative` (its share of the rival's
    mean) is at least `least`.

    Partly: above 0 by that margin. Undecided: no further from 0 than that.
    """
    sure = difference.value > MARGIN * difference.se
    return _judgement(
        sure and relative >= least,
        sure,
        f"above 0 by {MARGIN:g} standard errors and at least {least:.0%}; partly if above 0 by "
        "them; undecided if no further from 0",
        f"It is {relative:+.1%}; the distance to 0 is {_apart(difference.value, difference.se)}.",
        open_=not abs(difference.value) > MARGIN * difference.se,
    )


OURS = ""  # the key of an expectation that is not the paper's


@dataclass(frozen=True)
class Row:
    """One comparison of a paper's words with what we measured; several rows may judge one claim.

    key: of the claim in the paper's register, or OURS. text: what is compared. paper: the paper's
    number, as printed. ours and se: ours and its standard error. test, verdict, reason: of the
    rule, see `Judgement`. remark: what the paper leaves open that the number depends on. figure:
    filled in when the figure is run. reading: which reading of the paper, by its name in
    `X/claims.yaml`; "" is the figure's own. Only rows of the primary reading count.
    """

    key: str
    text: str
    paper: str | float
    ours: str | float
    se: float | None
    test: str
    verdict: Verdict | Literal["not judged"]
    reason: str = ""
    remark: str = ""
    figure: str = ""
    reading: str = ""

    def __post_init__(self) -> None:
        checks.choice("verdict", self.verdict, (*VERDICTS, NOT_JUDGED))


Rows = Iterator[Row]


def row_of(
    key: str,
    text: str,
    paper: str | float,
    ours: Estimate | str | float,
    judgement: Judgement,
    *,
    se: float | None = None,
    remark: str = "",
) -> Row:
    value, error = ours if isinstance(ours, Estimate) else (ours, se)
    return Row(
        key, text, paper, value, error, judgement.test, judgement.verdict, judgement.reason, remark
    )


def judged(
    key: str,
    text: str,
    paper: str | float,
    ours: Estimate | float,
    rule: Callable[..., Judgement],
    *limits: float,
    remark: str = "",
    **more: float,
) -> Row:
    return row_of(key, text, paper, ours, rule(ours, *limits, **more), remark=remark)


def in_reading(name: str, rows: Iterable[Row]) -> list[Row]:
    return [replace(row, reading=name) for row in rows]


# What a row could not tell from the claim: how wrong the paper could be and still be called right.


NUMBER = r"(-?\d[\d.e+-]*)"
PASSES: tuple[tuple[str, Callable[..., str]], ...] = (
    (
        rf"(?:below|above) {NUMBER} by \S+ standard errors and at least (\S+);",
        lambda bound, least: f"a lead of {least} or more",
    ),
    (
        rf"(?:below|above) {NUMBER} by \S+ standard errors;",
        lambda bound: f"a number on the wrong side of {bound}: less than once in 30,000 studies",
    ),
    (r"further than", lambda: "equality: less than once in 15,000 studies"),
    (
        rf"within {NUMBER} of {NUMBER}, ",
        lambda band, target: (
            f"a number between {float(target) - float(band):.4g} and "
            f"{float(target) + float(band):.4g}"
        ),
    ),
    (rf"at most {NUMBER}", lambda bound: f"a number up to {bound}"),
    (rf"at least {NUMBER}", lambda bound: f"a number from {bound} on"),
    (r"none at all", lambda: "a chance of 5 in as many cases as were counted: once in 150 studies"),
    (r"in all cases", lambda: "no case that fails"),
    (
        rf"the upper \S+ limit of the probability is at most {NUMBER};",
        lambda bound: f"a probability up to {bound}",
    ),
    (
        r"the difference is within (\S+) joint standard errors; .* exceed (\S+), the number itself",
        lambda margin, size: f"another number, up to {margin} joint standard errors away ({size})",
    ),
    (r"in more than half", lambda: "up to half of the cases that fail"),
    (r"above \S+ by \S+ standard errors at every place", lambda: "no place where it fails"),
    (
        rf"{NUMBER} is (?:within|not above) the",
        lambda target: "any number in the range over draws of worlds",
    ),
    (
        r"below \S+ in at least (\S+) of",
        lambda share: f"failures outside of {share} of the draws",
    ),
    (
        r"last below first",
        lambda: "a curve that falls in one step only, if no other rises by four standard errors",
    ),
    (r"below \S+ somewhere", lambda: "no curve of one sign"),
)


def what_passes(row: Row) -> str:
    """What could be true instead while this row is reproduced as it was."""
    for pattern, words in PASSES:
        if found := re.match(pattern, row.test):
            return words(*found.groups())
    raise ValueError(f"test = {row.test!r} is the text of no rule; add it to PASSES.")


# The register of a paper's claims: every distinct statement that its experiments or theorems make,
# once. `X/claims.yaml` lists them in the order of the paper, and as readings what its figures take
# for granted where the paper leaves something open. A figure judges rows that refer to a claim by
# its key; a report counts claims, not rows: the worst row decides, of those in the figure's primary
# reading. Rows in other readings, and rows of ours, are shown and never count.


T = TypeVar("T")
Kind = Literal["value", "inequality", "order", "shape", "guarantee"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    key: its name here, such as "mab-cucb2-half". where: section, figure, table or theorem. words:
    the paper's, shortened, between quotation marks where they are its own. number: as printed, ""
    where there is none. kind: "value" (a number), "inequality" (at least, less than), "order" (this
    below that), "shape" (of a curve), "guarantee" (a theorem or a probability). not_shown: why no
    program can show it; data: which data it needs that nobody may share or that are not at hand, so
    that rows on others are only shown;
    asymptotic: why no finite horizon can judge it; depends: on which setting that is not printed
    its number hangs; each "" for the others. core_hours: of one core that would decide it, where
    runs are what is missing; price: which runs these are. settings: what its rows vary, where they
    are one comparison in several settings and not its parts. consistent: why its rows can hardly
    fail, where they are consistent with it and show little more. allows: other readings that the
    text leaves open: it is contradicted once it fails in these, too.
    """

    key: str
    where: str
    words: str
    number: str
    kind: Kind
    not_shown: str = ""
    data: str = ""
    asymptotic: str = ""
    depends: str = ""
    core_hours: float | None = None
    price: str = ""
    settings: str = ""
    consistent: str = ""
    allows: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks.choice("kind", self.kind, KINDS)


class Reading(NamedTuple):
    """The primary reading of some figures of a paper that leave something open.

    name, words: what it is. figures: that are played in it; claims: of these, those that it is
    about, none for all. source: where it comes from: the paper's text, its authors' code, a paper
    it cites, or a search. tried: how many readings were tried before, this one included.
    """

    name: str
    words: str
    figures: tuple[str, ...]
    source: str
    tried: int
    claims: tuple[str, ...] = ()


def register_claims(claims: Iterable[Claim]) -> dict[str, Claim]:
    """Claims by key; a key that is used twice is refused."""
    register: dict[str, Claim] = {}
    for claim in claims:
        if claim.key in register:
            raise ValueError(f"key = {claim.key!r} stands for two claims; give each its own.")
        register[claim.key] = claim
    return register


class Register(NamedTuple):
    claims: dict[str, Claim]
    readings: tuple[Reading, ...]


@functools.cache
def read_register(path: pathlib.Path) -> Register:
    def entry(kind: Callable[..., T], record: JsonObject) -> T:
        if unknown := sorted(record.keys() - kind.__annotations__.keys()):
            raise ValueError(
                f"{path}: {unknown[0]!r} is none of {', '.join(kind.__annotations__)}."
            )
        return kind(**record)

    content = {"readings": []} | yaml.safe_load(path.read_text(encoding="utf-8"))
    content = {
        name: [
            {key: tuple(value) if isinstance(value, list) else value for key, value in one.items()}
            for one in part
        ]
        if isinstance(part, list)
        else part
        for name, part in content.items()
    }
    claims = register_claims(entry(Claim, {"number": ""} | one) for one in content["claims"])
    readings = tuple(entry(Reading, one) for one in content["readings"])
    return entry(Register, content | {"claims": claims, "readings": readings})


REPRODUCED, IN_READING, DEPENDS, UNDECIDED, CONTRADICTED = (
    "reproduced",
    "reproduced in a named reading",
    "depends on the setting",
    "undecided",
    "contradicted",
)
JUDGED = (REPRODUCED, IN_READING, DEPENDS, UNDECIDED, CONTRADICTED)
NO_DATA, ASYMPTOTIC, NOT_SHOWN = (
    "data not at hand",
    "asymptotic, not judged at finite horizons",
    "no program can show it",
)
STANDINGS = (*JUDGED, NO_DATA, ASYMPTOTIC, NOT_JUDGED, NOT_SHOWN)


class ClaimStanding(NamedTuple):
    """A claim, one of STANDINGS, all its rows, and why it stands there where it is not simply
    reproduced."""

    claim: Claim
    verdict: str
    rows: list[Row]
    why: str = ""


def standings(
    claims: Mapping[str, Claim], rows: Iterable[Row], readings: Sequence[Reading] = ()
) -> list[ClaimStanding]:
    by_claim: dict[str, list[Row]] = {key: [] for key in claims}
    for row in rows:
        if row.key == OURS:
            continue
        if row.key not in by_claim:
            raise ValueError(
                f"key = {row.key!r} of the row {row.text!r} is no claim of the paper; add it to "
                "claims.yaml or use OURS."
            )
        by_claim[row.key].append(row)
    stood = []
    for key, claim in claims.items():
        named = {
            figure: reading
            for reading in readings
            if not reading.claims or key in reading.claims
            for figure in reading.figures
        }
        verdict, why = stand(claim, by_claim[key], named)
        stood.append(ClaimStanding(claim, verdict, by_claim[key], why))
    return stood


def stand(claim: Claim, rows: list[Row], named: Mapping[str, Reading]) -> tuple[str, str]:
    """The standing of a claim, and its reason. named: the primary reading of every figure that has
    one."""
    for reason, standing in (
        (claim.not_shown, NOT_SHOWN),
        (claim.data, NO_DATA),
        (claim.asymptotic, ASYMPTOTIC),
    ):
        if reason:
            return standing, reason
    counted = [row for row in rows if not row.reading and row.verdict != NOT_JUDGED]
    if not counted:
        return NOT_JUDGED, ""
    if claim.depends:
        return DEPENDS, claim.depends
    verdicts = [(row, verdict_of(row)) for row in counted]
    failing, in_some, open_ = (
        [row for row, one in verdicts if one == wanted]
        for wanted in (CONTRADICTED, DEPENDS, UNDECIDED)
    )
    others: dict[str, list[Row]] = {}
    for row in rows:
        if row.reading and row.verdict != NOT_JUDGED:
            others.setdefault(row.reading, []).append(row)
    holding = [
        name for name, own in others.items() if all(row.verdict == "reproduced" for row in own)
    ]
    if failing and claim.settings and (good := sum(one == REPRODUCED for _, one in verdicts)):
        return (
            DEPENDS,
            f"Of {len(counted)} comparisons over {claim.settings}: it holds in {good}, fails in "
            f"{len(failing)}, {len(open_)} undecided. {said(failing[0])}",
        )
    unplayed = [name for name in claim.allows if name not in others]
    if failing and not holding and unplayed:
        return (
            UNDECIDED,
            f"The reading “{unplayed[0]}”, which the text allows, was not played. "
            f"{said(failing[0])}",
        )
    if failing and not holding:
        return CONTRADICTED, said(failing[0])
    if failing:
        return DEPENDS, f"It holds in the reading “{holding[0]}”. {said(failing[0])}"
    if open_:
        cost = (
            ""
            if claim.core_hours is None
            else f" Core-hours that would decide it: {claim.core_hours:g} ({claim.price})."
        )
        return UNDECIDED, said(open_[0]) + cost
    if in_some:
        where = f"It holds in the reading “{holding[0]}”. " if holding else ""
        return DEPENDS, where + said(in_some[0])
    used = {named[row.figure].name: named[row.figure] for row in counted if row.figure in named}
    why = [f"Consistent with it: {claim.consistent}."] if claim.consistent else []
    if not used or (others and len(holding) == len(others)):
        return REPRODUCED, "".join(why)
    why += [f"“{one.name}” ({one.source}; {one.tried} readings tried)." for one in used.values()]
    return IN_READING, " ".join(why)


def verdict_of(row: Row) -> str:
    partly = UNDECIDED if EVERY_PLACE in row.test else DEPENDS
    return {"partly": partly, "not reproduced": CONTRADICTED}.get(row.verdict, row.verdict)


def said(row: Row) -> str:
    return f"{row.text}: {row.reason}"


def counts(claims: Iterable[ClaimStanding]) -> dict[str, int]:
    number = Counter(one.verdict for one in claims)
    return {"all": sum(number.values()), "judged": sum(number[one] for one in JUDGED)} | {
        one: number[one] for one in STANDINGS
    }
