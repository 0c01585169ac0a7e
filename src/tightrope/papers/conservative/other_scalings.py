"""Figure 5 in other readings: users whose means lie in [0, 1], with factors scaled to unit users or to unit features."""

import pandas as pd
from matplotlib.figure import Figure

from ...plots.curves import regret_figure
from ..colours import palette
from ..experiment import Run
from ..scoring import Row, in_reading
from . import fig5
from .measures import summary

# A factorisation fixes features and users only up to scale, and with lambda = 0.5 the scale decides how much is regularised.
SCALINGS = ("unit users", "unit features")
Data = dict[str, fig5.JesterRuns]


def data(run: Run) -> Data:
    return {scaling: fig5.play(run, scaling) for scaling in SCALINGS}


def score(runs: Data) -> list[Row]:
    """The rows of Figure 5, for either scaling; the bounds of Theorem 2, which hold in any world, over both."""
    rows = [row for scaling, one in runs.items() for row in in_reading(scaling, fig5.score_scaling(scaling, one.result))]
    return rows + fig5.theorem_2(runs)


def tables(runs: Data) -> dict[str, pd.DataFrame]:
    return {scaling: summary(one.result, one.users, "CLUCB", {}) for scaling, one in runs.items()}


def plot(runs: Data) -> dict[str, Figure]:
    return {
        scaling: regret_figure(one.result, title=scaling, paired=True, palette=palette("conservative")) for scaling, one in runs.items()
    }


def notes(runs: Data) -> str:
    return fig5.sizes(next(iter(runs.values()))) + " Users are drawn from those of 19,181 whose rank-35 means lie in [0, 1]."
