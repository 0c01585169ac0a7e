"""Figure 2 d: cumulative regret on Jester, 40 jokes, one user an instance."""

from ...problems.data import jester
from ..experiment import Run
from . import comparison
from .comparison import RANK, RATINGS, STARS_NOISE

score, tables, plot = comparison.score, comparison.tables, comparison.plot


def data(run: Run) -> comparison.PolicyComparison:
    users, horizon, trajectories = run.at(smoke=(3, 128, 5), laptop=(40, 2048, 30), paper=(100, 2048, 60))
    problems = jester(users, rank=RANK, noise=STARS_NOISE, seed=run.seed, data=run.data)
    return comparison.compare(run, "fig2-jester", {"Jester": [comparison.unit_arms(q) for q in problems]}, horizon, trajectories)


def notes(runs: comparison.PolicyComparison) -> str:
    return comparison.notes(runs) + RATINGS
