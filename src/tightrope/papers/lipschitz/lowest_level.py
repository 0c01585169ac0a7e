"""The discrete instances and the slope in another reading: f(n) = ln n, which lets single runs follow a wrong leader."""

from dataclasses import replace
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ..experiment import Run
from ..scoring import Row, in_reading
from . import discrete, slope

READING = "f(n) = ln n"


class LowestRuns(NamedTuple):
    """The runs of both figures without a term in ln ln n."""

    discrete: discrete.DiscreteRuns
    slope: slope.SlopeRuns


def data(run: Run) -> LowestRuns:
    own = replace(run, out=run.out / "runs" / "lowest-level")  # the figures themselves keep runs of the same labels
    sizes = run.at(smoke=(17,), laptop=(17,), paper=(17, 46))  # what is not counted takes less of a laptop's time
    return LowestRuns(discrete.data(own, lambda _: 0.0, sizes), slope.data(own, 0.0))


def score(runs: LowestRuns) -> list[Row]:
    return in_reading(READING, [*discrete.score(runs.discrete), *slope.score(runs.slope)])


def tables(runs: LowestRuns) -> dict[str, pd.DataFrame]:
    return discrete.tables(runs.discrete) | slope.tables(runs.slope)


def plot(runs: LowestRuns) -> dict[str, Figure]:
    return discrete.plot(runs.discrete) | slope.plot(runs.slope)


def notes(runs: LowestRuns) -> str:
    return f"{discrete.notes(runs.discrete)} Slope: {slope.notes(runs.slope)}"
