"""Figure 3, top: Bernoulli arms, regret of the conservative algorithms and their ablations. Figures 1 and 6 draw the same runs."""

from functools import partial
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ...engine.results import Result
from ..experiment import Run
from ..scoring import Row, every, judged
from .measures import even_checkpoints, final, gains, lower, panels, picked, reduction, relative, safety, summary
from .settings import SIGMA, bernoulli_models, budget_monitor, line_up, named, variant

RANK = 4


class Data(NamedTuple):
    """The runs, how many models they go round, and which of them the paper would show."""

    result: Result
    models: int
    picked: dict[str, int]


def data(run: Run) -> Data:
    """All algorithms on the same models."""
    models, runs = run.at(smoke=(2, 2), laptop=(20, 4), paper=(70, 40))
    horizon = run.at(smoke=3000, laptop=10**6, paper=10**6)
    chosen = line_up("CUCB", "CUCB2", RANK, "UCB", sigma=SIGMA)
    literal = partial(variant, "CUCB", RANK, sigma=SIGMA, baseline_index="ucb")
    chosen["CUCB, UCB index"] = named(literal, f"CUCB of rank {RANK} with its own UCB")
    result = run.simulate(
        "fig3-mab", bernoulli_models(models, run.seed), chosen, horizon=horizon, replications=models * runs,
        checkpoints=even_checkpoints(horizon), monitor=budget_monitor(RANK),
    )  # fmt: skip
    return Data(result, models, picked(result, "CUCB2", "CUCB", models))


def score(found: Data) -> list[Row]:
    """What each improvement gains, alone and together."""
    result, models, worst = found.result, found.models, found.picked["worst"]
    few = "The worst of other models, with other runs; the paper gives no width for MAB arms and no noise scale (sigma = 1 here)."
    better = [gain > 0 for gain in gains(result, "CUCB2", "CUCB", models)]

    def on_worst(text: str, name: str, paper: float) -> Row:
        return reduction(f"{text} CUCB's regret, worst model", paper, relative(result, name, "CUCB", worst, models), remark=few)

    def order(first: str, second: str, text: str) -> Row:
        return lower(f"{first} {text} {second}", "lower", final(result, first), final(result, second), remark=few)

    return [
        on_worst("the martingale bound alone (CUCB-M) lowers", "CUCB-M", 43),
        on_worst("constrained selection alone (CUCB-S) lowers", "CUCB-S", 12),
        on_worst("both (CUCB2) lower", "CUCB2", 51),
        reduction("both (CUCB2) lower CUCB's regret, average model", 51, relative(result, "CUCB2", "CUCB"), remark=few),
        order("CUCB-S", "CUCB-L", "is more effective than"),
        order("CUCB-Or", "CUCB2", "is lower than"),
        judged("CUCB2 is better than CUCB on every model", "every model", f"{sum(better) / models:.0%} of models", every(better)),
        *safety(result, "UCB"),
    ]


def tables(found: Data) -> dict[str, pd.DataFrame]:
    """Every policy at the horizon."""
    return {"policies": summary(found.result, found.models, "CUCB", found.picked)}


def plot(found: Data) -> dict[str, Figure]:
    """Regret of the worst, average and best model."""
    return {"regret": panels(found.result, found.models, found.picked, "regret", title="cumulative pseudo-regret")}


def notes(found: Data) -> str:
    """Sizes and settings."""
    result, models = found.result, found.models
    return (
        f"{models} models, {result.replications // models} runs each, n = {result.rounds[-1]}, K = 10, baseline: 4th best arm, "
        f"alpha 0.05, delta 0.01, sigma {SIGMA:g}. UCB is the same index without the constraint. “CUCB, UCB index” gives the baseline its "
        "own UCB in the two-step argmax, as Kazerouni et al. do; the other variants use its known mean, as Wu et al. do."
    )
