"""Figure 5: Jester, a new user, with checkpoints, for both scalings of the factors. Figure 8 draws the same runs."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ... import problems
from ...engine.results import Result
from ...registry import Policy
from ...reports.curves import regret_figure
from ..experiment import Run
from ..scoring import Row
from .measures import even_checkpoints, final, lower, reduction, relative, summary
from .settings import Instance, budget_monitor, named, unconstrained, variant

RANK = 10
ALPHA = 0.01
SHARES = (5, 10, 12)
# A factorisation fixes features and users only up to scale, and with lambda = 0.5 the scale decides how much is regularised.
SCALINGS = ("unit users", "unit features")


class Data(NamedTuple):
    """The runs of one scaling and how many users they go round."""

    result: Result
    users: int


def cold_start(run: Run, users: int, scaling: str) -> list[problems.Linear]:
    """One problem per user; "unit users": ||theta|| <= 1, "unit features": ||x|| <= 1."""
    drawn = problems.data.jester(users, rank=35, noise=0.1, seed=run.seed, data=run.data)
    longest = max(float(np.linalg.norm(p.theta)) for p in drawn) if scaling == "unit users" else 1.0
    return [problems.Linear(p.features * longest, p.theta / longest, noise=0.1) for p in drawn]


def play(run: Run, scaling: str) -> Data:
    """LinUCB, CLUCB, CLUCB2 and CLUCB2T with T = 5, 10, 12 % of n."""
    users, runs = run.at(smoke=(2, 1), laptop=(50, 1), paper=(100, 5))
    horizon = run.at(smoke=1000, laptop=10**5, paper=10**5)
    drawn = cold_start(run, users, scaling)
    common = {
        "sigma": 0.1, "lam": 0.5, "alpha": ALPHA,
        "theta_bound": max(float(np.linalg.norm(p.theta)) for p in drawn),
        "arm_bound": float(np.linalg.norm(drawn[0].features, axis=1).max()),
    }  # fmt: skip

    def told(label: str, make: Callable[..., Policy], preset: str, **more: object) -> Callable[[Instance], Policy]:
        return named(partial(make, preset, RANK, **common, **more), f"{label} of rank {RANK} with {common | more}")

    chosen = {
        "LinUCB": told("LinUCB", unconstrained, "CLUCB"),
        "CLUCB": told("CLUCB", variant, "CLUCB"),
        "CLUCB2": told("CLUCB2", variant, "CLUCB2"),
        "CLUCB2, literal": told("CLUCB2, literal", variant, "CLUCB2", clip="paper"),
    }
    monitors = {name: budget_monitor(RANK, ALPHA) for name in chosen}
    for share in SHARES:
        name, T = f"CLUCB2T {share} %", share * horizon // 100
        chosen[name] = told(name, variant, "CLUCB2T", checkpoint=T)
        monitors[name] = budget_monitor(RANK, ALPHA, T)
    result = run.simulate(
        f"jester-{scaling.replace(' ', '-')}", drawn, chosen, horizon=horizon, replications=users * runs,
        checkpoints=even_checkpoints(horizon), monitor=monitors,
    )  # fmt: skip
    return Data(result, users)


def data(run: Run) -> dict[str, Data]:
    """The runs of both scalings."""
    return {scaling: play(run, scaling) for scaling in SCALINGS}


def score(found: dict[str, Data]) -> list[Row]:
    """Regret, averaged over users."""
    claims = []
    for scaling, (result, _) in found.items():
        why = (
            f"Factors scaled to {scaling}; the paper gives neither their scale nor the bound of ||theta||. Each period grants its "
            "leeway at once: it goes to arms with wide intervals, the baseline repays it; CLUCB2 plays safe good arms meanwhile."
        )

        def order(text: str, better: str, worse: str, result: Result = result, scaling: str = scaling, why: str = why) -> Row:
            return lower(f"{text} ({scaling})", "lower", final(result, better), final(result, worse), remark=why)

        half = f"CLUCB2's regret is less than half of CLUCB's ({scaling})"
        claims.append(reduction(half, 50, relative(result, "CLUCB2", "CLUCB"), remark=why))
        claims.append(order("CLUCB2 performs best, better than CLUCB", "CLUCB2", "CLUCB"))
        for share in SHARES:
            claims.append(order(f"CLUCB2T with T = {share} % of n is closer to LinUCB than CLUCB2", f"CLUCB2T {share} %", "CLUCB2"))
        for less, more in ((5, 10), (10, 12)):
            text = f"sparser checkpoints come closer: T = {more} % below {less} %"
            claims.append(order(text, f"CLUCB2T {more} %", f"CLUCB2T {less} %"))
    return claims


def tables(found: dict[str, Data]) -> dict[str, pd.DataFrame]:
    """Every policy at the horizon."""
    return {scaling: summary(one.result, one.users, "CLUCB", {}) for scaling, one in found.items()}


def plot(found: dict[str, Data]) -> dict[str, Figure]:
    """Mean regret by round."""
    return {scaling: regret_figure(one.result, title=scaling) for scaling, one in found.items()}


def notes(found: dict[str, Data]) -> str:
    """Sizes and settings."""
    result, users = next(iter(found.values()))
    return (
        f"{users} users drawn from those of 19,181 whose rank-35 means lie in [0, 1], {result.replications // users} runs each, "
        f"n = {result.rounds[-1]}, noise 0.1, lambda 0.5, alpha = delta = 0.01, baseline: the user's 10th best of 40 jokes."
    )
