"""How often a safe arm other than the UCB arm and the baseline is played (event E2) in the first 5,000 rounds."""

from typing import NamedTuple

import numpy as np

from ...results.results import Result
from ..experiment import Run
from ..scoring import OURS, Row, estimate, gain, row_of
from .measures import even_checkpoints
from .settings import DRAWS, LINEAR, budget_monitor, linear_models, told_baseline

RANK = 3
FORMS: dict[str, dict[str, str]] = {"default": {}, "literal": {"clip": "paper"}, "sub-Gaussian": {"martingale": "subgaussian"}}
PAPER_SHARE, PAPER_ERROR = 38.7, 9.0  # per cent


class SafeArmRuns(NamedTuple):
    """The runs of every draw and how many models they go round."""

    results: dict[str, Result]
    models: int


def data(run: Run) -> SafeArmRuns:
    """Three forms of CLUCB2 with the 3rd best arm as baseline, for both draws of features."""
    models, runs = run.at(smoke=(2, 2), laptop=(70, 4), paper=(70, 40))
    horizon = run.at(smoke=500, laptop=5000, paper=5000)
    chosen = {label: told_baseline("CLUCB2", RANK, **LINEAR, **more) for label, more in FORMS.items()}
    results = {
        draw: run.simulate(
            f"e2-{draw}", linear_models(models, run.seed, draw), chosen, horizon=horizon, replications=models * runs,
            checkpoints=even_checkpoints(horizon), monitor=budget_monitor(RANK),
        )
        for draw in DRAWS
    }  # fmt: skip
    return SafeArmRuns(results, models)


def score(found: SafeArmRuns) -> list[Row]:
    """The share of such rounds, averaged over models."""
    rows = []
    for draw, result in found.results.items():
        horizon = int(result.rounds[-1])
        for label in FORMS:
            by_run = 100 * result.watched[label]["events"][:, -1, 1] / horizon
            ours = estimate(np.array([by_run[m :: found.models].mean() for m in range(found.models)]))
            text = f"share of E2 rounds in the first {horizon}, 3rd best arm as baseline ({draw}, {label})"
            remark = "The share depends on how features are drawn, which the paper leaves open."
            key = OURS if label == "sub-Gaussian" else "e2-share"
            rows.append(
                row_of(key, text, f"{PAPER_SHARE:g} % ± {PAPER_ERROR:g} %", ours, gain(ours, PAPER_SHARE, PAPER_ERROR), remark=remark)
            )
    return rows
