"""Figure 2 a, b: cumulative regret on synthetic data, d = 10 and 20, three levels of noise."""

from ..experiment import Run
from . import comparison
from .settings import SIGMAS, synthetic

score, tables, plot = comparison.score, comparison.tables, comparison.plot


def data(run: Run) -> comparison.PolicyComparison:
    instances, horizon, trajectories = run.at(smoke=(3, 128, 5), laptop=(40, 2048, 30), paper=(200, 2048, 60))
    cases = {
        f"d = {d}, sigma = {name}": [synthetic(run.seed, i, d, SIGMAS[name]) for i in range(instances)]
        for name in run.at(smoke=("0.5",), laptop=tuple(SIGMAS), paper=tuple(SIGMAS))
        for d in (10, 20)
    }
    return comparison.compare(run, "fig2-synthetic", cases, horizon, trajectories)


def notes(runs: comparison.PolicyComparison) -> str:
    return comparison.notes(runs) + " sigma is not stated in the paper: three values."
