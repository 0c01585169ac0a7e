"""Share of rounds in which a safe arm other than the UCB arm and the baseline is played (event E2) in the first 5,000 rounds."""

from typing import NamedTuple

import numpy as np

from tightrope.results.results import Result

from ..experiment import Run
from ..scoring import OURS, Row, estimate, gain, in_reading, row_of
from .measures import even_checkpoints
from .settings import DRAW, LINEAR, budget_monitor, linear_models, told_baseline

RANK = 3
FORMS: dict[str, dict[str, str]] = {"default": {}, "literal": {"clip": "paper"}, "sub-Gaussian": {"martingale": "subgaussian"}}
SELECTION_ALONE = "CLUCB-S"
PAPER_SHARE, PAPER_ERROR = 38.7, 9.0  # per cent


class SafeArmRuns(NamedTuple):
    """The runs of every draw and how many models they go round."""

    results: dict[str, Result]
    models: int


def play(run: Run, draws: tuple[str, ...]) -> SafeArmRuns:
    """Three forms of CLUCB2 with the 3rd best arm as baseline."""
    models, runs = run.at(smoke=(2, 2), laptop=(70, 4), paper=(70, 40))
    horizon = run.at(smoke=500, laptop=5000, paper=5000)
    results = {}
    for draw in draws:
        common = LINEAR | ({"norms": "own"} if draw == DRAW else {})
        players = {label: told_baseline("CLUCB2", RANK, **common, **more) for label, more in FORMS.items()}
        if draw == DRAW:
            players[SELECTION_ALONE] = told_baseline("CLUCB", RANK, **common, selection="constrained", clip="joint")
        results[draw] = run.simulate(
            f"e2-{draw}", linear_models(models, run.seed, draw), players, horizon=horizon, replications=models * runs,
            checkpoints=even_checkpoints(horizon), monitor=budget_monitor(RANK),
        )  # fmt: skip
    return SafeArmRuns(results, models)


def data(run: Run) -> SafeArmRuns:
    return play(run, (DRAW,))


def score(runs: SafeArmRuns) -> list[Row]:
    """The share of such rounds, averaged over models: of CLUCB2, the algorithm that the event is defined for."""
    rows = []
    for draw, result in runs.results.items():
        horizon = int(result.rounds[-1])
        for label in result.policies:
            by_run = 100 * result.watched[label]["events"][:, -1, 1] / horizon
            ours = estimate(np.array([by_run[m :: runs.models].mean() for m in range(runs.models)]))
            text = f"share of E2 rounds in the first {horizon}, 3rd best arm as baseline ({draw}, {label})"
            remark = "The share depends on how features are drawn, which the paper leaves open."
            key = "e2-share" if label in ("default", SELECTION_ALONE) else OURS
            row = row_of(key, text, f"{PAPER_SHARE:g} % ± {PAPER_ERROR:g} %", ours, gain(ours, PAPER_SHARE, PAPER_ERROR), remark=remark)
            rows += in_reading("E2 of CLUCB-S", [row]) if label == SELECTION_ALONE else [row]
    return rows
