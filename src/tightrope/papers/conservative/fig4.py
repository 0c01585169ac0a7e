"""Figure 4: the constraint verified at checkpoints only, regret of CUCB2T relative to UCB as a function of T."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...engine.results import Result
from ...reports import style
from ..experiment import Run
from ..scoring import Row, Estimate, at_most, below, estimate, judged, paired
from .measures import final, safety
from .settings import ALPHA, SIGMA, bernoulli_models, budget_monitor, named, unconstrained, variant

RANK = 4


class Data(NamedTuple):
    """The runs, the values of T, and how many models they go round."""

    result: Result
    lengths: list[int]
    models: int

    def extra(self, T: int) -> np.ndarray:
        """Regret of CUCB2T minus UCB's, run by run."""
        return final(self.result, f"T = {T}") - final(self.result, "UCB")


def data(run: Run) -> Data:
    """CUCB2T for many T, and UCB."""
    horizon = run.at(smoke=2000, laptop=20_000, paper=20_000)
    models, runs = run.at(smoke=(2, 2), laptop=(40, 10), paper=(70, 40))
    lengths = np.unique(np.round(np.geomspace(1, horizon, run.at(smoke=4, laptop=15, paper=15))).astype(int)).tolist()
    chosen = {
        f"T = {T}": named(partial(variant, "CUCB2T", RANK, sigma=SIGMA, checkpoint=T), f"CUCB2T of rank {RANK}, T = {T}") for T in lengths
    }
    chosen["UCB"] = named(partial(unconstrained, "CUCB", RANK, sigma=SIGMA), f"UCB beside rank {RANK}")
    monitors = {f"T = {T}": budget_monitor(RANK, ALPHA, T) for T in lengths} | {"UCB": budget_monitor(RANK)}
    result = run.simulate(
        "fig4", bernoulli_models(models, run.seed), chosen, horizon=horizon, replications=models * runs, checkpoints=[horizon],
        monitor=monitors,
    )  # fmt: skip
    return Data(result, lengths, models)


def score(found: Data) -> list[Row]:
    """The difference falls with T, and is small at T = n."""
    first, last = found.extra(found.lengths[0]), found.extra(found.lengths[-1])
    drop, left, free = paired(last, first), estimate(last), final(found.result, "UCB").mean()
    rest = Estimate(float(abs(left.value) / free), float(left.se / free))
    text = "even for T = n CUCB2T and UCB differ a little (share of UCB's regret)"
    return [
        judged("the difference to UCB decreases as T grows: last minus first T", "below 0", drop, below(drop)),
        judged(text, "small, not 0", rest, at_most(rest.value, 0.1, partly=0.25)),
        *safety(found.result, "UCB"),
    ]


def tables(found: Data) -> dict[str, pd.DataFrame]:
    """The difference for every T."""
    rows = [{"T": T, "regret minus UCB's": e.value, "s.e.": e.se} for T in found.lengths for e in (estimate(found.extra(T)),)]
    return {"difference": pd.DataFrame(rows)}


def plot(found: Data) -> dict[str, Figure]:
    """The difference against T."""
    shown = [estimate(found.extra(T)) for T in found.lengths]
    fig, (ax,) = style.figure()
    ax.errorbar(found.lengths, [e.value for e in shown], yerr=[2 * e.se for e in shown], color=style.colour(0), marker="o", capsize=3)
    ax.axhline(0.0, color=style.INK, linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xlabel("rounds between checkpoints T", color=style.INK)
    ax.set_ylabel("regret of CUCB2T - regret of UCB", color=style.INK)
    return {"fig4": fig}


def notes(found: Data) -> str:
    """Sizes."""
    runs, horizon = found.result.replications // found.models, found.result.rounds[-1]
    return f"{found.models} models, {runs} runs each, n = {horizon}; the paper draws this relation and gives no numbers."
