"""Figure 3: samples needed with user-article features: the Yahoo! log for those who have it, else a stand-in."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...policies.identification.lingape import LinGapE
from ...problems.data import DataNotFound, yahoo
from ...problems.linear import Linear
from ..experiment import Run
from ..scoring import Row, judged, near
from .comparison import HALF, STATIC, ZERO, Runs, factor, lines, no_errors, without_rewards
from .comparison import table as sample_table
from .settings import NOISE, SETTINGS, user_article


class Data(NamedTuple):
    """The methods and the best arm by number of arms, and where the features come from."""

    runs: dict[int, Runs]
    best: dict[int, int]
    source: str


def data(run: Run) -> Data:
    """LinGapE with both values of ε, XY-static and uniform sampling."""
    found = Data({}, {}, "Yahoo! R6A")
    for K in run.at(smoke=(10,), laptop=(10, 20, 30, 40), paper=(10, 20, 30, 40)):
        try:
            problem = yahoo(K, least_gap=0.05, seed=run.seed, data=run.data)
        except DataNotFound:
            problem, found = user_article(K, run.seed), found._replace(source="a stand-in (Yahoo! R6A is not on this machine)")
        found.runs[K], found.best[K] = play(run, problem, K), int(np.argmax(problem.means))
    return found


def play(run: Run, problem: Linear, K: int) -> Runs:
    """The methods on one problem."""
    count, top = run.at(smoke=2, laptop=10, paper=10), np.sort(problem.means)
    policy = LinGapE(theta_bound=max(float(np.linalg.norm(problem.theta)), 1e-9), **(SETTINGS | {"noise": NOISE}))
    chosen = {ZERO: policy, HALF: policy._replace(epsilon=float(top[-1] - top[-2]) / 2)}
    result = run.identify(f"fig3-{K}", problem, chosen, replications=count, max_rounds=run.at(smoke=10**6, laptop=10**7, paper=10**8))
    runs = {name: {"rounds": result.rounds[name], "arm": result.arm[name]} for name in chosen}
    exact = run.at(smoke=5_000, laptop=20_000, paper=10**6)
    return runs | without_rewards(run, problem, NOISE, policy.theta_bound, exact, count)


def score(found: Data) -> list[Row]:
    """The factor over XY-static at every number of arms."""
    claims = []
    for K, runs in found.runs.items():
        ours = factor(runs, STATIC, ZERO)
        text = f"{K} arms: LinGapE (ε = 0) needs roughly five times fewer samples than XY-static"
        claims.append(judged(text, "about 5", ours, near(ours, 5.0, 0.5), remark="Other features and another θ than the paper's."))
    return [*claims, no_errors([(runs, found.best[K]) for K, runs in found.runs.items()])]


def tables(found: Data) -> dict[str, pd.DataFrame]:
    """Samples by number of arms and method."""
    return {"samples": sample_table(found.runs, "arms", found.best)}


def plot(found: Data) -> dict[str, Figure]:
    """Samples against the number of arms."""
    return {"samples": lines(sample_table(found.runs, "arms", found.best), "arms", "number of arms")}


def notes(found: Data) -> str:
    """Data and settings."""
    return f"Data: {found.source}. 36 features, rewards ±1, λ = 1, δ = 0.05, θ bound = ‖θ‖, R = 1; XY-static without a ridge parameter."
