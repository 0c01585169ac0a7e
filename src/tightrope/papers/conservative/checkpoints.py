"""The constraint verified at checkpoints only: Figure 4."""

from functools import partial

import numpy as np
import pandas as pd

from ...numerics.statistics import standard_error
from ...reports import style
from ..experiment import Claim, Outcome, Run
from .measures import final, safety
from .settings import ALPHA, bernoulli_models, budget_monitor, named, unconstrained, variant

RANK = 4
SIGMA = 1.0


def fig4(run: Run) -> Outcome:
    """Regret of CUCB2T relative to UCB as a function of T."""
    horizon = run.at(smoke=2000, laptop=20_000, paper=20_000)
    count, runs = run.at(smoke=2, laptop=40, paper=70), run.at(smoke=2, laptop=10, paper=40)
    lengths = np.unique(np.round(np.geomspace(1, horizon, run.at(smoke=4, laptop=15, paper=15))).astype(int)).tolist()
    chosen = {
        f"T = {T}": named(partial(variant, "CUCB2T", RANK, sigma=SIGMA, checkpoint=T), f"CUCB2T of rank {RANK}, T = {T}") for T in lengths
    }
    chosen["UCB"] = named(partial(unconstrained, "CUCB", RANK, sigma=SIGMA), f"UCB beside rank {RANK}")
    monitors = {f"T = {T}": budget_monitor(RANK, ALPHA, T) for T in lengths} | {"UCB": budget_monitor(RANK)}
    result = run.simulate(
        "fig4",
        bernoulli_models(count, run.seed),
        chosen,
        horizon=horizon,
        replications=count * runs,
        checkpoints=[horizon],
        monitor=monitors,
    )
    free = final(result, "UCB")
    extra = [final(result, f"T = {T}") - free for T in lengths]
    mean, se = np.array([x.mean() for x in extra]), np.array([float(standard_error(x)) for x in extra])
    first, last = extra[0], extra[-1]
    drop = float((last - first).mean())
    drop_se = float(standard_error(last - first))
    left = abs(mean[-1]) / free.mean()
    claims = [
        Claim(
            "fig4",
            "the difference to UCB decreases as T grows: last minus first T",
            "below 0",
            drop,
            drop_se,
            "below 0 by 4 s.e.",
            "reproduced" if drop < -4 * drop_se else "partly" if drop < 0 else "not reproduced",
        ),
        Claim(
            "fig4",
            "even for T = n CUCB2T and UCB differ a little (share of UCB's regret)",
            "small, not 0",
            float(left),
            float(se[-1] / free.mean()),
            "at most 10 % of UCB's regret; partly at most 25 %",
            "reproduced" if left <= 0.1 else "partly" if left <= 0.25 else "not reproduced",
        ),
        *safety("fig4", result, ("UCB",)),
    ]
    fig, (ax,) = style.figure()
    ax.errorbar(lengths, mean, yerr=2 * se, color=style.colour(0), marker="o", capsize=3)
    ax.axhline(0.0, color=style.INK, linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xlabel("rounds between checkpoints T", color=style.INK)
    ax.set_ylabel("regret of CUCB2T - regret of UCB", color=style.INK)
    table = pd.DataFrame({"T": lengths, "regret minus UCB's": mean, "s.e.": se})
    notes = f"{count} models, {runs} runs each, n = {horizon}; the paper draws this relation and gives no numbers."
    return Outcome(claims, {"fig4": result}, {"difference": table}, {"fig4": fig}, notes)
