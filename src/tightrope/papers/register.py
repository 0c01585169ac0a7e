"""The register of a paper's claims: every distinct statement that its experiments or theorems make, once.

`papers/X/claims.py` lists them in the order of the paper as CLAIMS. A figure judges rows that refer to a claim by its key; a report
counts claims, not rows: the worst row decides.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["value", "inequality", "order", "shape", "guarantee"]


@dataclass(frozen=True)
class Stated:
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


def registered(claims: Iterable[Stated]) -> dict[str, Stated]:
    """Claims by key; a key that is used twice is refused."""
    found: dict[str, Stated] = {}
    for claim in claims:
        if claim.key in found:
            raise ValueError(f"key = {claim.key!r} stands for two claims; give each its own.")
        found[claim.key] = claim
    return found
