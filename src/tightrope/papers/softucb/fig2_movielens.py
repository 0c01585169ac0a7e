"""Figure 2 c: cumulative regret on MovieLens, the 50 most rated films, one user an instance."""

from ...problems.data import movielens_stars
from ..experiment import Run
from . import comparison
from .comparison import RANK, RATINGS, STARS_NOISE

score, tables, plot = comparison.score, comparison.tables, comparison.plot


def data(run: Run) -> comparison.PolicyComparison:
    users, horizon, trajectories = run.at(smoke=(3, 128, 5), laptop=(40, 2048, 30), paper=(100, 2048, 60))
    problems = movielens_stars(users, films=50, rank=RANK, noise=STARS_NOISE, seed=run.seed, data=run.data)
    cases = {"MovieLens": [comparison.unit_arms(q) for q in problems]}
    return comparison.compare(run, "fig2-movielens", cases, horizon, trajectories)


def notes(runs: comparison.PolicyComparison) -> str:
    return comparison.notes(runs) + RATINGS
