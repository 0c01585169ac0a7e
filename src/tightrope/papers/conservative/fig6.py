"""Figure 6: budgets on Bernoulli arms, to the end and at the beginning, of the runs of Figure 3 (top)."""

from matplotlib.figure import Figure

from ..scoring import Row
from . import fig3_mab
from .measures import budget_panels, budgets, parallel

data = fig3_mab.data


def score(runs: fig3_mab.BernoulliRuns) -> list[Row]:
    return [*budgets(runs.result, "UCB"), parallel(runs.result)]


def plot(runs: fig3_mab.BernoulliRuns) -> dict[str, Figure]:
    return budget_panels(runs.result, runs.models, runs.picked, "UCB", fig3_mab.DRAWN_POLICIES)
