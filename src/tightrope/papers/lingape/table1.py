"""Table 1: how often each arm is pulled at d = 5, in the runs of Figure 1."""

import numpy as np
import pandas as pd

from ..experiment import Run
from ..scoring import Row, judged, near
from . import fig1
from .comparison import HALF, ORACLE, STATIC, ZERO, Runs, samples

PRINTED = {  # d = 5
    STATIC: (1298590, 2546604, 2546666, 2546666, 2546666, 1273742),
    HALF: (2133, 428889, 19, 34, 33, 11),
    ORACLE: (13646, 2728606, 68, 68, 68, 1),
}


def data(run: Run) -> Runs:
    """All methods at d = 5."""
    return fig1.play(run, 5)


def score(runs: Runs) -> list[Row]:
    """Share of the arm that is played most, and the sum of all pulls."""
    claims = []
    for name in (STATIC, HALF, ORACLE):
        pulls, printed = runs[name]["pulls"], np.array(PRINTED[name], dtype=float)
        share, paper = samples(pulls[:, 1] / pulls.sum(axis=1)), printed[1] / printed.sum()
        total = samples(pulls.sum(axis=1))
        ties, example = "Ties and the initial pulls are not stated.", "The table is one example run, and its ε is not stated."
        claims.append(judged(f"{name}: share of arm 1 (0-based)", round(paper, 4), share, near(share, paper, 0.15), remark=ties))
        claims.append(judged(f"{name}: samples in all", printed.sum(), total, near(total, printed.sum(), 0.3), remark=example))
    return claims


def tables(runs: Runs) -> dict[str, pd.DataFrame]:
    """Mean pulls of every arm."""
    rows = []
    for name in (STATIC, HALF, ZERO, ORACLE):
        mean = runs[name]["pulls"].mean(axis=0)
        counts = {f"arm {k}": round(float(value), 1) for k, value in enumerate(mean)}
        rows.append({"method": name} | counts | {"total": round(float(mean.sum()))})
    return {"pulls": pd.DataFrame(rows)}


def notes(_: Runs) -> str:
    """What is compared."""
    return "Printed is one example; ours is the mean over runs."
