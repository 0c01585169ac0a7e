"""The register of a paper's claims: every distinct statement that its experiments or theorems make, once.

`papers/X/claims.py` lists them in the order of the paper as CLAIMS. A figure judges rows that refer to a claim by its key; a report
counts claims, not rows: the worst row decides.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from .scoring import NOT_JUDGED, OURS, Row

Kind = Literal["value", "inequality", "order", "shape", "guarantee"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    key: its name here, such as "mab-cucb2-half". where: section, figure, table or theorem. words: the paper's, shortened, between
    quotation marks where they are its own. number: as printed, "" where there is none. kind: "value" (a number), "inequality" (at
    least, less than), "order" (this below that), "shape" (of a curve), "guarantee" (a theorem or a probability). not_shown: why no
    program can show it; "" for those that one can.
    """

    key: str
    where: str
    words: str
    number: str
    kind: Kind
    not_shown: str = ""


def register_claims(claims: Iterable[Claim]) -> dict[str, Claim]:
    """Claims by key; a key that is used twice is refused."""
    found: dict[str, Claim] = {}
    for claim in claims:
        if claim.key in found:
            raise ValueError(f"key = {claim.key!r} stands for two claims; give each its own.")
        found[claim.key] = claim
    return found


NOT_SHOWN = "no program can show it"
WORST_FIRST = ("not reproduced", "undecided", "partly", "reproduced")


class ClaimStanding(NamedTuple):
    """A claim as its rows judge it: its worst verdict, NOT_SHOWN, or NOT_JUDGED where no row refers to it."""

    claim: Claim
    verdict: str
    rows: list[Row]


def standings(claims: Mapping[str, Claim], rows: Iterable[Row]) -> list[ClaimStanding]:
    """Every claim of the register with its rows, in the order of the paper; a row of an unknown claim is refused."""
    found: dict[str, list[Row]] = {key: [] for key in claims}
    for row in rows:
        if row.key == OURS:
            continue
        if row.key not in found:
            raise ValueError(f"key = {row.key!r} of the row {row.text!r} is no claim of the paper; add it to claims.py or use OURS.")
        found[row.key].append(row)
    return [ClaimStanding(claim, _verdict(claim, found[key]), found[key]) for key, claim in claims.items()]


def _verdict(claim: Claim, rows: list[Row]) -> str:
    seen = {row.verdict for row in rows}
    return next((verdict for verdict in WORST_FIRST if verdict in seen), NOT_SHOWN if claim.not_shown else NOT_JUDGED)


def counts(found: Iterable[ClaimStanding]) -> dict[str, int]:
    """How many claims have each verdict, "judged" and "all" included."""
    by_verdict = Counter(one.verdict for one in found)
    judged = sum(by_verdict[verdict] for verdict in WORST_FIRST)
    names = (*reversed(WORST_FIRST), NOT_JUDGED, NOT_SHOWN)
    return {"all": sum(by_verdict.values()), "judged": judged} | {name: by_verdict[name] for name in names}
