"""Figures 1 to 3 once more: LinGapE beside rules that came later, on the problems of the paper. No
claim of the paper is judged."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import RAGE, FrankWolfeSampling, LinGame, LinGapE, XYAdaptive
from tightrope.extend import Arguments
from tightrope.plots import style
from tightrope.problems import Linear

from ..experiment import Run, palette
from ..scoring import OURS, Row
from .settings import (
    ADAPTIVE,
    DELTA,
    ELIMINATION,
    LAM,
    THETA_BOUND,
    ZERO,
    Runs,
    at_least_times,
    at_most_rounds,
    canonical,
    factor,
    near_parallel,
    others_err,
    samples,
    user_article,
)
from .shortcuts import adaptive_by_phase, rage_by_phase

GAME, CLIMB = "LinGame", "FrankWolfeSampling"
PANELS = {"near-parallel": "dimension d", "canonical": "gap", "user-article": "number of arms"}


class LaterRuleCase(NamedTuple):
    panel: str
    x: float  # its place on the horizontal axis
    best: int
    runs: Runs


def later_data(run: Run) -> list[LaterRuleCase]:
    dimensions, gaps, sizes = run.at(
        smoke=((5,), (0.5,), (10,)),
        laptop=((2, 5), (0.1, 0.3, 0.5), (10, 20)),
        paper=(tuple(range(2, 11)), (0.1, 0.2, 0.3, 0.4, 0.5), (10, 20, 30, 40)),
    )
    near = [play(run, "near-parallel", d, near_parallel(d), THETA_BOUND) for d in dimensions]
    plain = [play(run, "canonical", gap, canonical(gap), THETA_BOUND) for gap in gaps]
    users = [user_article(K, run.seed) for K in sizes]
    return [
        *near,
        *plain,
        *(
            play(run, "user-article", K, problem, 1.0)
            for K, problem in zip(sizes, users, strict=True)
        ),
    ]


def play(run: Run, panel: str, x: float, problem: Linear, bound: float) -> LaterRuleCase:
    count = run.at(smoke=2, laptop=8, paper=100)
    theta_bound = max(bound, float((problem.theta @ problem.theta) ** 0.5))
    common: Arguments = {"delta": DELTA, "noise": problem.noise if problem.rewards == 0 else 1.0}
    parameters: Arguments = {"lam": LAM, "theta_bound": theta_bound} | common
    rules = {
        ZERO: LinGapE(**parameters),
        GAME: LinGame(**parameters),
        CLIMB: FrankWolfeSampling(**parameters),
    }
    identification = run.identify(
        f"later-{panel}-{x:g}", problem, rules, replications=count, max_rounds=at_most_rounds(run)
    )
    runs: Runs = {
        name: {key: getattr(identification, key)[name] for key in ("rounds", "arm")}
        for name in rules
    }
    exact = run.at(smoke=500, laptop=5_000, paper=20_000)
    runs[ADAPTIVE] = adaptive_by_phase(problem, XYAdaptive(**common), count, run.seed, exact)
    runs[ELIMINATION] = rage_by_phase(problem, RAGE(**common), count, run.seed)
    return LaterRuleCase(panel, x, int(problem.means.argmax()), runs)


def later_score(cases: list[LaterRuleCase]) -> list[Row]:
    rows = [
        at_least_times(
            OURS,
            f"{case.panel}, {PANELS[case.panel]} {case.x:g}: {name} / {ZERO}",
            "–",
            factor(case.runs, name, ZERO),
            1.0,
        )
        for case in cases
        for name in (GAME, CLIMB)
    ]
    return [*rows, others_err([(case.runs, case.best) for case in cases])]


def later_tables(cases: list[LaterRuleCase]) -> dict[str, pd.DataFrame]:
    return {
        "samples": pd.DataFrame(
            [
                {
                    "problem": case.panel,
                    "x": case.x,
                    "method": name,
                    "samples": samples(item["rounds"]).value,
                    "s.e.": samples(item["rounds"]).se,
                    "wrong": int((item["arm"] != case.best).sum()),
                    "runs": item["rounds"].size,
                }
                for case in cases
                for name, item in case.runs.items()
            ]
        )
    }


def later_plot(cases: list[LaterRuleCase]) -> dict[str, Figure]:
    table, looks = later_tables(cases)["samples"], palette("lingape")
    figure, axes = style.figure(len(PANELS), height=3.8)
    for panel, (family, label) in zip(axes, PANELS.items(), strict=True):
        here = table[table["problem"] == family]
        values = sorted(here["x"].unique())
        methods = list(here.groupby("method", sort=False))
        for number, (name, part) in enumerate(methods):
            places = np.arange(len(part)) + 0.6 * (
                (number + 0.5) / len(methods) - 0.5
            )  # side by side: bars of errors are seen
            colour = looks.colour(str(name))
            panel.errorbar(
                places,
                part["samples"],
                yerr=part["s.e."],
                label=name,
                color=colour,
                marker="o",
                ms=4,
                ls="none",
            )
        panel.set_xticks(range(len(values)), [f"{x:g}" for x in values])
        panel.grid(False, axis="x")
        panel.set(yscale="log", xlabel=label)
        panel.set_title(f"{family} arms", fontsize=10, loc="left", color=style.INK)
    axes[0].set_ylabel("samples until the stop")
    style.legend(axes[0])
    return {"samples": figure}


later_notes = (
    f"δ = {DELTA:g}, ε = 0, λ = {LAM:g} and LinGapE's stop for LinGapE, LinGame and "
    "FrankWolfeSampling, so that they differ in what they sample only; bound on θ 2 with "
    "near-parallel and canonical arms, max(1, ‖θ‖) with the stand-in for user-article features. "
    "XY-adaptive and RAGE know no such bound and are played phase by phase."
)
