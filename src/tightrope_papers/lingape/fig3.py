"""Figure 3: samples needed with user-article features: the Yahoo! log for those who have it, else a
stand-in."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import LinGapE, XYAdaptive
from tightrope.extend import Arguments
from tightrope.plots import style
from tightrope.problems import Linear
from tightrope.problems.data import DataNotFound, yahoo

from ..experiment import Run, palette
from ..scoring import Estimate, Row, above, estimate, judged, near, row_of
from .settings import (
    ADAPTIVE_ONE,
    DELTA,
    HALF,
    NOISE,
    SETTINGS,
    STATIC,
    ZERO,
    Runs,
    adaptive_by_phase,
    at_least_times,
    no_errors,
    static,
    uniform,
    user_article,
)

ADAPTIVE_SETTINGS: Arguments = {"delta": DELTA, "noise": NOISE, "first_width": 1.0}
GRID = 1.01  # rounds between two looks at XY-static's data: a stop is seen at most 1 % late


class UserArticleRuns(NamedTuple):
    """The methods and the best arm by number of arms and draw of arms and theta, and where the
    features come from."""

    runs: dict[tuple[int, int], Runs]
    best: dict[tuple[int, int], int]
    source: str


def data(run: Run) -> UserArticleRuns:
    cases = UserArticleRuns({}, {}, "Yahoo! R6A")
    sizes, draws = run.at(
        smoke=((10,), 2), laptop=((10, 20, 30, 40), 16), paper=((10, 20, 30, 40), 20)
    )
    for K in sizes:
        for draw in range(draws):
            try:
                problem = yahoo(K, least_gap=0.05, seed=run.seed + draw, data=run.data)
            except DataNotFound:
                problem = user_article(K, run.seed + draw)
                cases = cases._replace(source="a stand-in (Yahoo! R6A is not on this machine)")
            cases.runs[K, draw], cases.best[K, draw] = (
                play(run, problem, K, draw),
                int(np.argmax(problem.means)),
            )
            if sizes[0] == K:
                policy, exact = (
                    XYAdaptive(**ADAPTIVE_SETTINGS),
                    run.at(smoke=500, laptop=5_000, paper=20_000),
                )
                cases.runs[K, draw][ADAPTIVE_ONE] = adaptive_by_phase(
                    problem, policy, 2, run.seed, exact
                )
    return cases


def play(run: Run, problem: Linear, K: int, draw: int) -> Runs:
    count, top = run.at(smoke=2, laptop=2, paper=10), np.sort(problem.means)
    policy = LinGapE(
        theta_bound=max(float(np.linalg.norm(problem.theta)), 1e-9), **(SETTINGS | {"noise": NOISE})
    )
    players = {ZERO: policy, HALF: policy._replace(epsilon=float(top[-1] - top[-2]) / 2)}
    limit = run.at(smoke=10**6, laptop=10**7, paper=10**8)
    result = run.identify(
        f"fig3-{K}-{draw}", problem, players, replications=count, max_rounds=limit
    )
    runs = {name: {"rounds": result.rounds[name], "arm": result.arm[name]} for name in players}
    exact = run.at(smoke=1_000, laptop=5_000, paper=10**6)
    return (
        runs
        | static(run, problem, NOISE, exact, count, GRID)
        | uniform(run, problem, NOISE, policy.theta_bound, count, GRID)
    )


def factors(cases: UserArticleRuns, more: str, fewer: str) -> dict[int, np.ndarray]:
    """(draws,) ratio of mean sample numbers, by number of arms."""
    sizes: dict[int, list[float]] = {}
    for (K, _), runs in cases.runs.items():
        if more in runs and fewer in runs:
            sizes.setdefault(K, []).append(
                float(runs[more]["rounds"].mean() / runs[fewer]["rounds"].mean())
            )
    return {K: np.array(values) for K, values in sizes.items()}


def score(cases: UserArticleRuns) -> list[Row]:
    ratios = factors(cases, STATIC, ZERO)
    text = f"XY-static / {ZERO}, geometric mean over draws of {', '.join(map(str, ratios))} arms"
    rows = [
        judged(
            "yahoo-five-times",
            text,
            "about 5",
            geometric(np.exp(np.mean([np.log(values) for values in ratios.values()], axis=0))),
            near,
            5.0,
            0.5,
            remark="Other features and another θ than the paper's.",
        )
    ]
    if len(ratios) > 1:
        rows.append(growth(ratios))
    (K, worse), *_ = factors(cases, ADAPTIVE_ONE, STATIC).items()
    text = f"user-article features, {K} arms: {ADAPTIVE_ONE} / XY-static, geometric mean over draws"
    rows.append(at_least_times("adaptive-worse", text, "at least 5", geometric(worse), 5.0))
    return [*rows, no_errors([(runs, cases.best[case]) for case, runs in cases.runs.items()])]


def geometric(factors: np.ndarray) -> Estimate:
    """Geometric mean of ratios, which single draws do not rule; standard error by the delta
    method."""
    mean, error = estimate(np.log(factors))
    return Estimate(math.exp(mean), math.exp(mean) * error)


def growth(ratios: dict[int, np.ndarray]) -> Row:
    K = np.array(sorted(ratios), dtype=float)
    curves = np.log(np.stack([ratios[int(k)] for k in K], axis=1))
    slope = estimate(
        10.0
        * (curves - curves.mean(axis=1, keepdims=True))
        @ (K - K.mean())
        / ((K - K.mean()) ** 2).sum()
    )
    means = ", ".join(f"{value:.1f}" for value in np.exp(curves.mean(axis=0)))
    return row_of(
        "yahoo-grows",
        f"slope of ln(XY-static / {ZERO}) for ten arms more",
        "increases",
        f"{slope.value:.3g}; {means} times at {', '.join(f'{k:.0f}' for k in K)} arms",
        above(slope),
        se=slope.se,
        remark="Every draw has other arms and another θ.",
    )


def tables(cases: UserArticleRuns) -> dict[str, pd.DataFrame]:
    return {
        "samples": pd.DataFrame(
            [
                {
                    "arms": K,
                    "draw": draw,
                    "method": name,
                    "samples": float(item["rounds"].mean()),
                    "wrong": int((item["arm"] != cases.best[K, draw]).sum()),
                    "runs": item["rounds"].size,
                }
                for (K, draw), runs in cases.runs.items()
                for name, item in runs.items()
            ]
        )
    }


def plot(cases: UserArticleRuns) -> dict[str, Figure]:
    """Samples against the number of arms: every draw, and the geometric mean over draws."""
    table = tables(cases)["samples"]
    figure, (axes,) = style.figure()
    looks = palette("lingape")
    for name, part in table.groupby("method", sort=False):
        dashes = "-" if name in (ZERO, HALF) else "--"
        axes.scatter(part["arms"], part["samples"], color=looks.colour(str(name)), s=8, alpha=0.4)
        mean = part.groupby("arms")["samples"].agg(
            lambda values: float(np.exp(np.log(values).mean()))
        )
        axes.plot(
            mean.index,
            mean,
            label=name,
            color=looks.colour(str(name)),
            marker="o",
            ms=3,
            lw=1.4,
            ls=dashes,
        )
    axes.set(yscale="log", xlabel="number of arms", ylabel="samples until the stop")
    style.legend(axes)
    return {"samples": figure}


def notes(cases: UserArticleRuns) -> str:
    draws = len({draw for _, draw in cases.runs})
    return (
        f"Data: {cases.source}, {draws} draws of arms and θ. 36 features, rewards ±1, λ = 1, δ = "
        "0.05, θ bound = ‖θ‖, R = 1; XY-static without a ridge parameter. Dots are draws, lines "
        "their geometric means."
    )
