"""Table 1: how often each arm is pulled at d = 5, in the runs of Figure 1; XY-static's sequence followed exactly to its end."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ..experiment import Run
from ..scoring import OURS, Estimate, Row, above, at_most, near, row_of
from . import fig1
from .beyond.shortcuts import fixed_sequence, static_pulls, static_stop
from .comparison import HALF, ORACLE, ORACLE_K, RATIO, STATIC, ZERO, Runs, samples
from .settings import DELTA, NOISE, near_parallel

PRINTED_PULLS = {  # d = 5
    STATIC: (1298590, 2546604, 2546666, 2546666, 2546666, 1273742),
    HALF: (2133, 428889, 19, 34, 33, 11),
    ORACLE_K: (13646, 2728606, 68, 68, 68, 1),
}
KEYS = {STATIC: "table-static", HALF: "table-lingape", ORACLE_K: "table-oracle"}
FOCUS_SHARE = 0.9  # of all pulls: "frequently"
EQUAL_RATIO = 2.1  # largest over smallest number of pulls of XY-static; the print has 2.0


class PullCounts(NamedTuple):
    """All methods at d = 5. replay: (6,) pulls of XY-static's exact sequence after as many rounds as are printed."""

    runs: Runs
    replay: np.ndarray


def data(run: Run) -> PullCounts:
    """All methods at d = 5, with XY-static's sequence followed exactly as far as it is needed."""
    runs, problem = fig1.play(run, 5), near_parallel(5)
    printed, exact = sum(PRINTED_PULLS[STATIC]), run.at(smoke=10_000, laptop=10**9, paper=10**9)
    sequence = static_pulls(problem.features, exact, run.seed)
    replay: list[np.ndarray] = []

    def pulls_after(n: int) -> np.ndarray:
        if n >= printed and not replay:
            replay.append(sequence(printed))
        return sequence(n)

    stops = {STATIC: static_stop(NOISE, DELTA)}
    runs |= fixed_sequence(problem, pulls_after, stops, run.at(smoke=2, laptop=20, paper=100), run.seed)
    return PullCounts(runs, replay[0] if replay else sequence(printed))


def score(counts: PullCounts) -> list[Row]:
    """Share of the arm that is played most, and the sum of all pulls; XY-static and XY-oracle arm by arm; who focuses."""
    rows = []
    for name, key in KEYS.items():
        pulls, printed = counts.runs[name]["pulls"], np.array(PRINTED_PULLS[name], dtype=float)
        share, paper = samples(pulls[:, 1] / pulls.sum(axis=1)), printed[1] / printed.sum()
        total = samples(pulls.sum(axis=1))
        remark = "The table is one example run, and its ε is not stated."
        rows.append(row_of(key, f"{name}: share of arm 2", round(paper, 4), share, near(share, paper, 0.15), remark=remark))
        close = 0.001 if name == ORACLE_K else 0.3
        rows.append(row_of(key, f"{name}: samples in all", printed.sum(), total, near(total, printed.sum(), close), remark=remark))
    return [*rows, replay_row(counts.replay), oracle_row(counts.runs[ORACLE_K]["pulls"][0]), *focus(counts.runs), wide_union(counts.runs)]


def replay_row(pulls: np.ndarray) -> Row:
    """XY-static's pulls of each arm after as many rounds as are printed."""
    printed = np.array(PRINTED_PULLS[STATIC], dtype=float)
    off = float(np.abs(pulls / printed - 1.0).max())
    text = f"XY-static, exact sequence of {printed.sum():,.0f} rounds: pulls of each arm, largest relative difference judged"
    return row_of("table-static", text, ", ".join(f"{n:.0f}" for n in printed), ", ".join(f"{n:.0f}" for n in pulls),
                  at_most(off, 0.05, 0.25), remark="The initial pulls and the rule for ties are not stated.")  # fmt: skip


def oracle_row(pulls: np.ndarray) -> Row:
    """XY-oracle's pulls of each arm; differences count as shares of all pulls."""
    printed = np.array(PRINTED_PULLS[ORACLE_K], dtype=float)
    off = float(np.abs(pulls - printed).max() / printed.sum())
    text = "XY-oracle, K in its bound: pulls of each arm, largest difference as a share of all pulls judged"
    return row_of("table-oracle", text, ", ".join(f"{n:.0f}" for n in printed), ", ".join(f"{n:.0f}" for n in pulls),
                  at_most(off, 0.001, 0.01))  # fmt: skip


def focus(runs: Runs) -> list[Row]:
    """LinGapE and XY-oracle pull arm 2 nearly always, XY-static all arms alike."""
    rows = []
    for name in (HALF, ORACLE_K):
        pulls = runs[name]["pulls"]
        share = samples(pulls[:, 1] / pulls.sum(axis=1))
        rows.append(row_of("table-focus", f"{name}: pulls of arm 2 among all", "frequently", share, above(share, FOCUS_SHARE)))
    pulls = runs[STATIC]["pulls"].mean(axis=0)
    ours = float(pulls.max() / pulls.min())
    return [*rows, row_of("table-focus", "XY-static: most over fewest pulls of an arm", "equally", ours, at_most(ours, EQUAL_RATIO))]


def wide_union(runs: Runs) -> Row:
    """XY-oracle with the K² of Proposition 1."""
    total = Estimate(float(runs[ORACLE]["rounds"].mean()), 0.0)
    printed = float(sum(PRINTED_PULLS[ORACLE_K]))
    return row_of(OURS, "XY-oracle with K² in its bound: samples in all", printed, total, near(total, printed, 0.001))


def tables(counts: PullCounts) -> dict[str, pd.DataFrame]:
    rows = []
    for name in (STATIC, HALF, RATIO, ZERO, ORACLE_K, ORACLE):
        mean = counts.runs[name]["pulls"].mean(axis=0)
        by_arm = {f"arm {k + 1}": round(float(value), 1) for k, value in enumerate(mean)}
        rows.append({"method": name} | by_arm | {"total": round(float(mean.sum()))})
    return {"pulls": pd.DataFrame(rows)}


def notes(_: PullCounts) -> str:
    return "Printed is one example; ours is the mean over runs. Arms are counted from 1 as in the paper."
