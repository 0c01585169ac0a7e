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


def play(run: Run) -> Result:
    """LinUCB, CLUCB, CLUCB2 and CLUCB2T with T = 5, 10, 12 % of n on 100 users, 5 runs each."""
    users, runs, horizon = (
        run.at(smoke=2, laptop=50, paper=100),
        run.at(smoke=1, laptop=1, paper=5),
        run.at(smoke=1000, laptop=10**5, paper=10**5),
    )
    cold_start = problems.data.jester(users, rank=35, noise=0.1, seed=run.seed, data=run.data)
    common = {"sigma": 0.1, "lam": 0.5, "alpha": ALPHA, "theta_bound": max(float(np.linalg.norm(p.theta)) for p in cold_start)}

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
        "jester", cold_start, chosen, horizon=horizon, replications=users * runs, checkpoints=even_checkpoints(horizon), monitor=monitors
    )


def fig5(run: Run) -> Outcome:
    """Regret, averaged over users."""
    result = play(run)
    models = run.at(smoke=2, laptop=50, paper=100)
    why = "The paper gives neither the bound of ||theta|| nor the scaling of the factors; ours is the longest drawn user's."
    claims = [
        reduction(
            "fig5", "CLUCB2's regret is less than half of CLUCB's", 50, ratio(final(result, "CLUCB2"), final(result, "CLUCB")), reason=why
        ),
        lower("fig5", "CLUCB2 performs best, better than CLUCB", "lower", final(result, "CLUCB2"), final(result, "CLUCB"), reason=why),
        *(
            lower(
                "fig5",
                f"CLUCB2T with T = {share} % of n is closer to LinUCB than CLUCB2",
                "lower",
                final(result, f"CLUCB2T {share} %"),
                final(result, "CLUCB2"),
                reason=why,
            )
            for share in SHARES
        ),
        *(
            lower(
                "fig5",
                f"sparser checkpoints come closer: T = {more} % below {less} %",
                "lower",
                final(result, f"CLUCB2T {more} %"),
                final(result, f"CLUCB2T {less} %"),
                reason=why,
            )
            for less, more in ((5, 10), (10, 12))
        ),
    ]
    notes = (
        f"{models} users drawn from those of 19,181 whose rank-35 means lie in [0, 1], {result.replications // models} runs each, "
        f"n = {result.rounds[-1]}, noise 0.1, lambda 0.5, alpha = delta = 0.01, baseline: the user's 10th best of 40 jokes."
    )
    return Outcome(claims, {"fig5": result}, {"policies": summary(result, models, "CLUCB", {})}, {"fig5": regret_figure(result)}, notes)


def fig8(run: Run) -> Outcome:
    """Budgets of the same runs: at the beginning, and to the end."""
    result = play(run)
    fig, axes = style.figure(2)
    for ax, last in zip(axes, (int(result.rounds[-1]) // 5, int(result.rounds[-1])), strict=True):
        columns = slice(0, max(2, int(np.searchsorted(result.rounds, last, side="right"))))
        draw_bands(ax, result.rounds[columns], {name: result.watched[name]["budget"][:, columns] for name in result.policies})
        ax.axhline(0.0, color=style.INK, linewidth=0.8)
        ax.set_xlabel("round", color=style.INK)
    axes[0].set_ylabel("true budget", color=style.INK)
    axes[1].legend(frameon=False, fontsize=9)
    return Outcome(safety("fig8", result, ("LinUCB",)), {"fig8": result}, {}, {"fig8": fig})
