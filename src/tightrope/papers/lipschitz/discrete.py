"""Discrete Lipschitz bandits (sections 3 to 5): four instances, K = 17 and 46, and what a wrong L costs."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...engine.results import Result
from ...registry import Policy
from ..experiment import Run
from ..scoring import Row, at_least, below, judged
from .settings import P, constant, growth, instance, order, panels, summary

FACTORS = {"0.25 L": 0.25, "0.5 L": 0.5, "L": 1.0, "1.5 L": 1.5, "2 L": 2.0, "4 L": 4.0, "L = inf": 1e6}
MAIN = ("CKL-UCB", "CKL-UCB, 2 L", "TrackCKLUCB", "OSLB", "KL-UCB", "UCB1")
SHOWN = ["CKL-UCB", "TrackCKLUCB", "OSLB", "KL-UCB", "UCB, sqrt(ln n / 2t)"]
BURN_IN = "At these horizons the program on noisy means refutes over-estimated arms through worse neighbours, and the leader starves."
TIGHT = "With tight L about K/4 of noise enters the best arm's sum on average, and f(n) = ln n does not cover it."


class Case(NamedTuple):
    """One instance: all policies, the main comparison with more runs, and C(theta)."""

    name: str
    K: int
    everyone: Result
    main: Result
    bound: float

    @property
    def label(self) -> str:
        """As tables and pictures name it."""
        return f"{self.name}, K = {self.K}"


class Data(NamedTuple):
    """All instances, and CKL-UCB told a wrong L on some of them (by name)."""

    cases: list[Case]
    wrong: dict[str, Result]


def line_up(L: float, K: int) -> dict[str, Policy]:
    """All policies of the figure for a given constant."""
    return {
        "CKL-UCB": P.CKLUCB(lipschitz=L),
        "CKL-UCB, plain": P.CKLUCB(lipschitz=L, forced=False),
        "CKL-UCB, theory f": P.CKLUCB(lipschitz=L, loglog="theory"),
        "CKL-UCB, 2 L": P.CKLUCB(lipschitz=2 * L),
        "CKL-UCB, loglog K/10": P.CKLUCB(lipschitz=L, loglog=K / 10),
        "TrackCKLUCB": P.TrackCKLUCB(lipschitz=L),
        "OSLB": P.OSLB(lipschitz=L),
        "KL-UCB": P.KLUCB(),
        "UCB1": P.UCB(),
        "UCB, sqrt(ln n / 2t)": P.UCB(alpha=0.5),
    }


def data(run: Run) -> Data:
    """Four instances for both K, and a wrong L at K = 17."""
    horizon, runs = run.at(smoke=(1500, 3), laptop=(100_000, 20), paper=(100_000, 100))
    many = run.at(smoke={17: 4}, laptop={17: 200, 46: 60}, paper={17: 400, 46: 400})  # K -> runs of the main comparison
    every = ("triangle", "steep", "quadratic", "two peaks")
    cases = []
    for K, more in many.items():
        for name in run.at(smoke=("steep",), laptop=every, paper=every):
            problem = instance(name, K)
            chosen = line_up(problem.lipschitz, K)
            everyone = run.simulate(f"discrete-{name}-{K}", problem, chosen, horizon=horizon, replications=runs)
            # Single runs far above the rest decide the mean, so the main comparison has more of them.
            main = run.simulate(f"main-{name}-{K}", problem, {key: chosen[key] for key in MAIN}, horizon=horizon, replications=more)
            cases.append(Case(name, K, everyone, main, constant(problem)))
    wrong = {}
    for name in run.at(smoke=("steep",), laptop=("triangle", "steep"), paper=every):
        problem = instance(name, 17)
        told = {label: P.CKLUCB(lipschitz=factor * problem.lipschitz) for label, factor in FACTORS.items()}
        wrong[name] = run.simulate(f"wrong-{name}", problem, told, horizon=horizon, replications=runs)
    return Data(cases, wrong)


def score(found: Data) -> list[Row]:
    """Orders and growth on every instance; linear regret with half of L."""
    claims = []
    for case in found.cases:
        label, tight = case.label, TIGHT if case.K == 46 else ""
        claims += [order(label, case.main, "CKL-UCB", worse, remark=tight) for worse in ("KL-UCB", "UCB1")]
        grown = growth(case.main, "CKL-UCB")
        text = f"{label}: CKL-UCB grows logarithmically, at a rate like C(theta) = {case.bound:.3g} (limit: twice that)"
        claims.append(judged(text, f"near {case.bound:.3g}", grown, below(grown, 2 * case.bound)))
        if case.K == 46:
            claims.append(order(label, case.main, "CKL-UCB, 2 L", "KL-UCB"))
        claims.append(order(label, case.main, "OSLB", "KL-UCB", remark=BURN_IN))
        claims.append(order(label, case.main, "TrackCKLUCB", "OSLB", paper="our extension"))
    for name, result in found.wrong.items():
        row = int(np.argmin(np.abs(result.rounds - result.rounds[-1] / 10)))
        curve = result.regret["0.5 L"]
        share = float(curve[:, -1].mean() / max(curve[:, row].mean(), 1e-12))
        text = f"{name}, K = 17: half the true L makes regret linear (R(T) / R(T/10))"
        claims.append(judged(text, "10", share, at_least(share, 5, partly=2.5)))
    return claims


def tables(found: Data) -> dict[str, pd.DataFrame]:
    """Regret of every policy on every instance."""
    shown = {}
    for case in found.cases:
        shown[case.label] = summary(case.everyone, case.bound)
        shown[f"{case.label}, {case.main.replications} runs"] = summary(case.main, case.bound)
    rows = []
    for name, result in found.wrong.items():
        table = summary(result)
        table.insert(0, "instance", name)
        rows.append(table)
    return shown | {"CKL-UCB told a wrong L": pd.concat(rows, ignore_index=True)}


def plot(found: Data) -> dict[str, Figure]:
    """Regret against ln T, a picture for every K."""
    sizes = dict.fromkeys(case.K for case in found.cases)
    return {f"regret-{K}": panels({case.label: case.everyone for case in found.cases if case.K == K}, SHOWN) for K in sizes}


def notes(found: Data) -> str:
    """Sizes."""
    first = found.cases[0].everyone
    many = {case.K: case.main.replications for case in found.cases}
    return (
        f"{first.replications} runs of {first.rounds[-1]} rounds, in the main comparison "
        f"{', '.join(f'{runs} at K = {K}' for K, runs in many.items())}. "
        "The paper's own experiments are missing from its text; the settings are ours."
    )
