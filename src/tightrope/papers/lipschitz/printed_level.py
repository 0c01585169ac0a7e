"""The discrete instances with f(n) = ln n + (3K + 1) ln ln n, as the paper prints it for the proof of OSLB; K = 17, where it is not yet
larger than all that 10^5 rounds can tell."""

from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from ..experiment import Run
from ..scoring import Row, in_reading
from . import discrete

READING = "f(n) as printed"


def data(run: Run) -> discrete.DiscreteRuns:
    """The data of `discrete` at the printed level, KL-UCB with the same f(n)."""
    return discrete.data(replace(run, out=run.out / "runs" / "printed-level"), lambda K: 3.0 * K + 1.0, sizes=(17,))


def score(runs: discrete.DiscreteRuns) -> list[Row]:
    return in_reading(READING, discrete.score(runs))


def tables(runs: discrete.DiscreteRuns) -> dict[str, pd.DataFrame]:
    return discrete.tables(runs)


def plot(runs: discrete.DiscreteRuns) -> dict[str, Figure]:
    return discrete.plot(runs)


def notes(runs: discrete.DiscreteRuns) -> str:
    return discrete.notes(runs)
