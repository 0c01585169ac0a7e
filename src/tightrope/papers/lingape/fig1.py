"""Figure 1: samples needed with near-parallel arms, d = 2 .. 10. Table 1 counts the pulls of the same runs at d = 5."""

from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ..experiment import Run
from ..scoring import Row
from .comparison import (
    ADAPTIVE,
    ELIMINATION,
    HALF,
    ORACLE,
    SQRT2,
    STATIC,
    UNIFORM,
    ZERO,
    Runs,
    everything,
    exact_rounds,
    lines,
    no_errors,
    times,
)
from .comparison import table as sample_table
from .settings import GAP, near_parallel

CLAIMS = (
    ("LinGapE (ε = 0) needs ten times fewer samples than XY-static", "> 10", STATIC, ZERO, 10),
    ("LinGapE (ε = gap/2) needs ten times fewer samples than XY-static", "> 10", STATIC, HALF, 10),
    ("XY-adaptive needs at least five times the samples of XY-static", "≥ 5", ADAPTIVE, STATIC, 5),
    ("LinGapE (ε = 0) beats XY-oracle, which knows θ", "about 6 (Table 1)", ORACLE, ZERO, 1),
    ("not in the paper: LinGapE (ε = 0) beats XY-static with the constant √2", "–", SQRT2, ZERO, 1),
    ("not in the paper: LinGapE (ε = 0) beats uniform sampling with the same stop", "–", UNIFORM, ZERO, 1),
    ("not in the paper: LinGapE (ε = 0) beats RAGE", "–", ELIMINATION, ZERO, 1),
)


class Data(NamedTuple):
    """All methods by dimension, and how long XY-static's sequence is exact."""

    runs: dict[int, Runs]
    exact: int


def play(run: Run, d: int) -> Runs:
    """All methods in one dimension."""
    return everything(run, f"fig1-{d}", near_parallel(d), GAP, exact_rounds(run))


def data(run: Run) -> Data:
    """All methods in every dimension."""
    dimensions = run.at(smoke=(5,), laptop=tuple(range(2, 11)), paper=tuple(range(2, 11)))
    return Data({d: play(run, d) for d in dimensions}, exact_rounds(run))


def score(found: Data) -> list[Row]:
    """Factors at d = 5, and wrong answers at all d."""
    five = found.runs[5]
    claims = [times(f"d = 5: {text}", paper, five, more, fewer, least) for text, paper, more, fewer, least in CLAIMS]
    return [*claims, no_errors([(runs, 0) for runs in found.runs.values()])]


def tables(found: Data) -> dict[str, pd.DataFrame]:
    """Samples by dimension and method."""
    return {"samples": sample_table(found.runs, "d")}


def plot(found: Data) -> dict[str, Figure]:
    """Samples against the dimension."""
    return {"samples": lines(sample_table(found.runs, "d"), "d", "dimension d")}


def notes(found: Data) -> str:
    """What the paper leaves open and how long runs are shortened."""
    return (
        "ε is not stated in the paper; Table 1 fits ε = half the smallest gap. XY-static's sequence sees no rewards, so all seeds run "
        f"along one, followed exactly for {found.exact:,} rounds, after which its shares stay; rewards enter as sums drawn at "
        "once. Not in the paper: the static bound with √2 (enough for sub-Gaussian noise), uniform sampling with LinGapE's stop, RAGE."
    )
