"""The register of a paper's claims: every distinct statement that its experiments or theorems make,
once.

`X/claims.yaml` lists them in the order of the paper, and as readings what its figures take for
granted where the paper leaves something open. A figure judges rows that refer to a claim by its
key; a report counts claims, not rows: the worst row decides, of those in the figure's primary
reading. Rows in other readings, and rows of ours, are shown and never count.
"""

import functools
import pathlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar, get_args

import yaml

from tightrope.core import checks
from tightrope.extend import JsonObject

from .scoring import ALL_CASES, EVERY_PLACE, MOST_DRAWS, NOT_JUDGED, OURS, Row

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
    asymptotic: why no finite horizon can judge it; each "" for the others. core_hours: of one core
    that would decide it, where runs are what is missing; price: which runs these are. settings:
    what its rows vary, where they are one comparison in several settings and not its parts.
    """

    key: str
    where: str
    words: str
    number: str
    kind: Kind
    not_shown: str = ""
    data: str = ""
    asymptotic: str = ""
    core_hours: float | None = None
    price: str = ""
    settings: str = ""

    def __post_init__(self) -> None:
        checks.choice("kind", self.kind, KINDS)


class Reading(NamedTuple):
    """The primary reading of some figures of a paper that leave something open.

    name, words: what it is. figures: that are played in it. source: where it comes from: the
    paper's text, its authors' code, a paper it cites, or a search. tried: how many readings were
    tried before, this one included.
    """

    name: str
    words: str
    figures: tuple[str, ...]
    source: str
    tried: int


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
    claims = register_claims(entry(Claim, {"number": ""} | one) for one in content["claims"])
    readings = tuple(
        entry(Reading, one | {"figures": tuple(one["figures"])}) for one in content["readings"]
    )
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
    claims: Mapping[str, Claim], rows: Iterable[Row], readings: Iterable[Reading] = ()
) -> list[ClaimStanding]:
    """Every claim of the register with its rows, in the order of the paper; a row of an unknown
    claim is refused."""
    by_claim: dict[str, list[Row]] = {key: [] for key in claims}
    named = {figure: reading for reading in readings for figure in reading.figures}
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
            f"It holds in {good} of {len(counted)} comparisons over {claim.settings}. "
            f"{said(failing[0])}",
        )
    if failing and not holding:
        return CONTRADICTED, said(failing[0])
    if failing:
        return DEPENDS, f"It holds in the reading “{holding[0]}”. {said(failing[0])}"
    if open_:
        runs = f" ({claim.price})" if claim.price else ""
        cost = (
            ""
            if claim.core_hours is None
            else f" Core-hours that would decide it: {claim.core_hours:g}{runs}."
        )
        return UNDECIDED, said(open_[0]) + cost
    if in_some:
        return DEPENDS, said(in_some[0])
    used = {named[row.figure].name: named[row.figure] for row in counted if row.figure in named}
    if not used or (others and len(holding) == len(others)):
        return REPRODUCED, ""
    return IN_READING, " ".join(
        f"“{one.name}” ({one.source}; {one.tried} readings tried)." for one in used.values()
    )


def verdict_of(row: Row) -> str:
    if row.verdict == "partly":
        some = ALL_CASES in row.test or MOST_DRAWS in row.test
        return DEPENDS if some else UNDECIDED if EVERY_PLACE in row.test else CONTRADICTED
    return CONTRADICTED if row.verdict == "not reproduced" else row.verdict


def said(row: Row) -> str:
    return f"{row.text}: {row.reason}"


def counts(claims: Iterable[ClaimStanding]) -> dict[str, int]:
    number = Counter(one.verdict for one in claims)
    return {"all": sum(number.values()), "judged": sum(number[one] for one in JUDGED)} | {
        one: number[one] for one in STANDINGS
    }
