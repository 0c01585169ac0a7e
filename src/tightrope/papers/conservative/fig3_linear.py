"""Figure 3, bottom: linear rewards and fixed arms, for both readings of the draw of features. Figure 7 draws the same runs."""

from functools import partial
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ...engine.results import Result
from ..experiment import Run
from ..scoring import Row
from .measures import even_checkpoints, final, lower, panels, picked, reduction, relative, safety, summary
from .settings import DRAWS, LINEAR, budget_monitor, line_up, linear_models, named, variant

RANK = 6


class Data(NamedTuple):
    """The runs of one draw, how many models they go round, and which of them the paper would show."""

    result: Result
    models: int
    picked: dict[str, int]


def play(run: Run, draw: str) -> Data:
    """All algorithms of the figure, and the literal, sub-Gaussian and clipped forms."""
    models, runs = run.at(smoke=(2, 2), laptop=(70, 4), paper=(70, 40))
    horizon = run.at(smoke=600, laptop=20_000, paper=20_000)
    chosen = line_up("CLUCB", "CLUCB2", RANK, "LinUCB", **LINEAR)
    for label, more in {
        "CLUCB2, literal": {"clip": "paper"},
        "CLUCB2, sub-Gaussian": {"martingale": "subgaussian"},
    }.items():
        chosen[label] = named(partial(variant, "CLUCB2", RANK, **LINEAR, **more), f"{label} of rank {RANK} with {LINEAR}")
    clipped = {"selection": "constrained", "clip": "both"}
    chosen["CLUCB-S, clipped"] = named(partial(variant, "CLUCB", RANK, **LINEAR, **clipped), f"CLUCB-S, clipped, of rank {RANK}")
    result = run.simulate(
        f"fig3-linear-{draw}", linear_models(models, run.seed, draw), chosen, horizon=horizon, replications=models * runs,
        checkpoints=even_checkpoints(horizon), monitor=budget_monitor(RANK),
    )  # fmt: skip
    return Data(result, models, picked(result, "CLUCB2", "CLUCB", models))


def data(run: Run) -> dict[str, Data]:
    """The runs of both draws."""
    return {draw: play(run, draw) for draw in DRAWS}


def score(found: dict[str, Data]) -> list[Row]:
    """CLUCB2 and constrained selection against CLUCB, on the worst model and on average."""
    claims = []
    for draw, (result, models, chosen) in found.items():
        other = f"Draw “{draw}”; the paper does not say how features are drawn so that means lie in [0, 1]."
        joint = other + " Eq 4's joint minimum admits arms that point away from all that was played."
        for name, text, remark in (
            ("CLUCB2", "CLUCB2 lowers CLUCB's regret", other),
            ("CLUCB-S", "CLUCB-S lowers CLUCB's regret", joint),
            ("CLUCB-S, clipped", "CLUCB-S with clipped bounds", other),
        ):
            ours = relative(result, name, "CLUCB", chosen["worst"], models)
            claims.append(reduction(f"{text}, worst model ({draw})", 38, ours, remark=remark))
        text = f"CLUCB2 is better than CLUCB, average over models ({draw})"
        claims.append(lower(text, "lower", final(result, "CLUCB2"), final(result, "CLUCB"), remark=other))
        claims += safety(result, "LinUCB", f" ({draw})")
    return claims


def tables(found: dict[str, Data]) -> dict[str, pd.DataFrame]:
    """Every policy at the horizon."""
    return {draw: summary(one.result, one.models, "CLUCB", one.picked) for draw, one in found.items()}


def plot(found: dict[str, Data]) -> dict[str, Figure]:
    """Regret of the worst, average and best model."""
    return {draw: panels(*one, "regret", title="cumulative pseudo-regret") for draw, one in found.items()}


def notes(found: dict[str, Data]) -> str:
    """Sizes and settings."""
    result, models, _ = next(iter(found.values()))
    return (
        f"{models} models, {result.replications // models} runs each, n = {result.rounds[-1]}, K = 30, d = 100, noise 0.1, lambda 0.5, "
        "baseline: 6th best arm. “spread”: unit vectors with means uniform on [0, 1]; “ball”: uniform in the unit ball, given a mean "
        ">= 0. CLUCB2 clips both lower bounds at 0; “literal” clips the arm's only (Eq 7)."
    )
