"""Jester, a new user: Figures 5 and 8."""

from functools import partial
from typing import Any

import numpy as np

from ... import problems
from ...engine.results import Result
from ...reports import style
from ...reports.curves import draw_bands, regret_figure
from ..experiment import Outcome, Run
from .measures import even_checkpoints, final, lower, ratio, reduction, safety, summary
from .settings import budget_monitor, named, unconstrained, variant

RANK = 10
ALPHA = 0.01
SHARES = (5, 10, 12)
# A factorisation fixes features and users only up to scale, and with lambda = 0.5 the scale decides how much is regularised.
SCALINGS = ("unit users", "unit features")


def users(run: Run) -> int:
    """How many new users there are."""
    return run.at(smoke=2, laptop=50, paper=100)


def cold_start(run: Run, scaling: str) -> list[Any]:
    """One problem per user; "unit users": ||theta|| <= 1, "unit features": ||x|| <= 1."""
    drawn = problems.data.jester(users(run), rank=35, noise=0.1, seed=run.seed, data=run.data)
    longest = max(float(np.linalg.norm(p.theta)) for p in drawn) if scaling == "unit users" else 1.0
    return [problems.Linear(p.features * longest, p.theta / longest, noise=0.1) for p in drawn]


def play(run: Run, scaling: str) -> Result:
    """LinUCB, CLUCB, CLUCB2 and CLUCB2T with T = 5, 10, 12 % of n on 100 users, 5 runs each."""
    runs, horizon = run.at(smoke=1, laptop=1, paper=5), run.at(smoke=1000, laptop=10**5, paper=10**5)
    drawn = cold_start(run, scaling)
    common = {
        "sigma": 0.1, "lam": 0.5, "alpha": ALPHA,
        "theta_bound": max(float(np.linalg.norm(p.theta)) for p in drawn),
        "arm_bound": float(np.linalg.norm(drawn[0].features, axis=1).max()),
    }  # fmt: skip

    def told(label: str, make: Any, preset: str, **more: Any) -> Any:
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
    return run.simulate(
        f"jester-{scaling.replace(' ', '-')}", drawn, chosen, horizon=horizon, replications=users(run) * runs,
        checkpoints=even_checkpoints(horizon), monitor=monitors,
    )  # fmt: skip


def fig5(run: Run) -> Outcome:
    """Regret, averaged over users, for both scalings of the factors."""
    claims, results, tables, plots = [], {}, {}, {}
    for scaling in SCALINGS:
        result = play(run, scaling)
        regret = {name: final(result, name) for name in result.policies}
        why = (
            f"Factors scaled to {scaling}; the paper gives neither their scale nor the bound of ||theta||. Each period grants its "
            "leeway at once: it goes to arms with wide intervals, the baseline repays it; CLUCB2 plays safe good arms meanwhile."
        )
        order = partial(lower, "fig5", reason=why)
        text = f"CLUCB2's regret is less than half of CLUCB's ({scaling})"
        claims.append(reduction("fig5", text, 50, ratio(regret["CLUCB2"], regret["CLUCB"]), reason=why))
        claims.append(order(f"CLUCB2 performs best, better than CLUCB ({scaling})", "lower", regret["CLUCB2"], regret["CLUCB"]))
        for share in SHARES:
            text = f"CLUCB2T with T = {share} % of n is closer to LinUCB than CLUCB2 ({scaling})"
            claims.append(order(text, "lower", regret[f"CLUCB2T {share} %"], regret["CLUCB2"]))
        for less, more in ((5, 10), (10, 12)):
            text = f"sparser checkpoints come closer: T = {more} % below {less} % ({scaling})"
            claims.append(order(text, "lower", regret[f"CLUCB2T {more} %"], regret[f"CLUCB2T {less} %"]))
        results[scaling] = result
        tables[scaling] = summary(result, users(run), "CLUCB", {})
        plots[scaling] = regret_figure(result, title=scaling)
    notes = (
        f"{users(run)} users drawn from those of 19,181 whose rank-35 means lie in [0, 1], {result.replications // users(run)} runs each, "
        f"n = {result.rounds[-1]}, noise 0.1, lambda 0.5, alpha = delta = 0.01, baseline: the user's 10th best of 40 jokes."
    )
    return Outcome(claims, results, tables, plots, notes)


def fig8(run: Run) -> Outcome:
    """Budgets of the same runs: at the beginning, and to the end."""
    result = play(run, SCALINGS[0])
    fig, axes = style.figure(2)
    for ax, last in zip(axes, (int(result.rounds[-1]) // 5, int(result.rounds[-1])), strict=True):
        columns = slice(0, max(2, int(np.searchsorted(result.rounds, last, side="right"))))
        draw_bands(ax, result.rounds[columns], {name: result.watched[name]["budget"][:, columns] for name in result.policies})
        ax.axhline(0.0, color=style.INK, linewidth=0.8)
        ax.set_xlabel("round", color=style.INK)
    axes[0].set_ylabel("true budget", color=style.INK)
    style.legend(axes[1])
    return Outcome(safety("fig8", result, ("LinUCB",)), {"fig8": result}, {}, {"fig8": fig})
