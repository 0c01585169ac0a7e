"""Figure 3 (bottom) and the share of E2 in other readings of how linear models are drawn, with Eq 4 as printed."""

from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ..experiment import Run
from ..scoring import Row, in_reading
from . import e2, fig3_linear
from .measures import panels, safety, summary
from .settings import OTHER_DRAWS


class OtherDraws(NamedTuple):
    """The runs of Figure 3 by draw, and those of the share of E2."""

    figure: dict[str, fig3_linear.LinearRuns]
    share: e2.SafeArmRuns


def data(run: Run) -> OtherDraws:
    return OtherDraws({draw: fig3_linear.play(run, draw) for draw in OTHER_DRAWS}, e2.play(run, OTHER_DRAWS))


def score(runs: OtherDraws) -> list[Row]:
    """The rows of Figure 3 and of E2, for either draw; the bounds of Theorem 1, which hold in any world, over both."""
    rows = []
    for draw, one in runs.figure.items():
        rows += in_reading(draw, fig3_linear.score_draw(draw, one) + safety(one.result, "LinUCB", f" ({draw})"))
        rows += in_reading(draw, e2.score(runs.share._replace(results={draw: runs.share.results[draw]})))
    return rows + fig3_linear.theorem_1(runs.figure)


def tables(runs: OtherDraws) -> dict[str, pd.DataFrame]:
    return {draw: summary(one.result, one.models, "CLUCB", one.picked) for draw, one in runs.figure.items()}


def plot(runs: OtherDraws) -> dict[str, Figure]:
    return {
        draw: panels(one.result, one.models, one.picked, "regret", title="cumulative pseudo-regret") for draw, one in runs.figure.items()
    }


def notes(runs: OtherDraws) -> str:
    return fig3_linear.sizes(next(iter(runs.figure.values()))) + (
        " “spread”: unit vectors with means uniform on [0, 1]; “ball”: uniform in the unit ball, given a mean >= 0."
    )
