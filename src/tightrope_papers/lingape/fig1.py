"""Figure 1: samples needed with near-parallel arms, d = 2 .. 10. Table 1 counts the pulls of the same runs at d = 5."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..experiment import Run
from ..scoring import OURS, Row, above, everywhere_above, most, quotient, row_of
from .comparison import (
    ADAPTIVE,
    ADAPTIVE_ONE,
    ELIMINATION,
    HALF,
    ORACLE,
    ORACLE_K,
    SQRT2,
    STATIC,
    UNIFORM,
    ZERO,
    Runs,
    adaptive,
    all_methods,
    at_least_times,
    exact_rounds,
    factor,
    lead,
    lines,
    lowest,
    no_errors,
    others_err,
    samples,
)
from .comparison import table as sample_table
from .settings import GAP, near_parallel

NOT_THEIRS = (  # what else a user wants to know, at d = 5
    ("LinGapE (ε = 0) beats XY-static with the constant √2", SQRT2),
    ("LinGapE (ε = 0) beats uniform sampling with the same stop", UNIFORM),
    ("LinGapE (ε = 0) beats RAGE", ELIMINATION),
    ("LinGapE (ε = 0) beats XY-oracle with K² in its bound", ORACLE),
)


class NearParallelRuns(NamedTuple):
    """All methods by dimension, and how long XY-static's sequence is exact."""

    runs: dict[int, Runs]
    exact: int


def play(run: Run, d: int) -> Runs:
    return all_methods(run, f"fig1-{d}", near_parallel(d), GAP, exact_rounds(run))


def data(run: Run) -> NearParallelRuns:
    dimensions = run.at(smoke=(5,), laptop=tuple(range(2, 11)), paper=tuple(range(2, 11)))
    return NearParallelRuns({d: play(run, d) for d in dimensions}, exact_rounds(run))


def score(cases: NearParallelRuns) -> list[Row]:
    """Orders at all d, factors at d = 5 and where they are least, the phases of XY-adaptive, wrong answers."""
    five, everywhere = cases.runs[5], [(runs, 0) for runs in cases.runs.values()]
    return [
        *(at_least_times("ten-times", f"d = 5: XY-static / {name}", "10", factor(five, STATIC, name), 10.0,
                         remark="The factor depends on ε and on the constant of the static bound.") for name in (ZERO, HALF)),
        *(first(cases.runs, name) for name in (ZERO, HALF)),
        *adaptive(cases.runs, "near-parallel", "d", "d = "),
        *(oracle(cases.runs, name) for name in (ZERO, HALF)),
        *forgets(five),
        *(at_least_times(OURS, f"d = 5: {text}", "–", factor(five, rival, ZERO), 1.0) for text, rival in NOT_THEIRS),
        no_errors(everywhere),
        others_err(everywhere),
    ]  # fmt: skip


def first(cases: dict[int, Runs], name: str) -> Row:
    leads = [lead(runs, rival, name) for runs in cases.values() for rival in (STATIC, ADAPTIVE_ONE)]
    d, least = lowest({d: factor(runs, STATIC, name) for d, runs in cases.items()})
    text = f"{name}: fewer samples than XY-static and XY-adaptive at d = {min(cases)} to {max(cases)}"
    return row_of("near-parallel-first", text, "fewer", f"XY-static needs at least {least.value:.1f} times as many (d = {d})",
                  everywhere_above(leads), se=least.se)  # fmt: skip


def oracle(cases: dict[int, Runs], name: str) -> Row:
    leads = [lead(runs, ORACLE_K, name) for runs in cases.values()]
    d, least = lowest({d: factor(runs, ORACLE_K, name) for d, runs in cases.items()})
    text = f"{name}: fewer samples than XY-oracle at d = {min(cases)} to {max(cases)}"
    ours = f"XY-oracle needs at least {least.value:.1f} times as many (d = {d})"
    return row_of("beats-oracle", text, "about 6 (Table 1)", ours, everywhere_above(leads), se=least.se)


def forgets(runs: Runs) -> list[Row]:
    """XY-adaptive rules arms out, takes all back, and spends as much as XY-static on the last phase."""
    phases, K = runs[ADAPTIVE_ONE], 6
    down, back, total = int((phases["fewest"] == 2).sum()), int((phases["last_survivors"] == K).sum()), phases["fewest"].size
    last = quotient(samples(phases["last_rounds"]), samples(runs[STATIC]["rounds"]))
    key = "adaptive-forgets"
    return [
        row_of(key, "d = 5: some phase of XY-adaptive begins with two arms", "yes", f"{down} of {total} runs", most(down, total)),
        row_of(key, "d = 5: its last phase has all arms again", "yes", f"{back} of {total} runs", most(back, total)),
        row_of(key, "d = 5: its last phase over all of XY-static", "as many samples", last, above(last, 1.0),
               remark="A phase ends when the widest difference has shrunk to α = 0.1 of its last value, so that it can overshoot tenfold."),
    ]  # fmt: skip


def tables(cases: NearParallelRuns) -> dict[str, pd.DataFrame]:
    """Samples by dimension and method; the phases of XY-adaptive."""
    phases = [
        {"d": d, "method": name, "fewest survivors": float(np.mean(runs[name]["fewest"])),
         "survivors of the last phase": float(np.mean(runs[name]["last_survivors"])),
         "samples of the last phase": float(np.mean(runs[name]["last_rounds"]))}
        for d, runs in cases.runs.items() for name in (ADAPTIVE, ADAPTIVE_ONE)
    ]  # fmt: skip
    return {"samples": sample_table(cases.runs, "d"), "phases": pd.DataFrame(phases)}


def plot(cases: NearParallelRuns) -> dict[str, Figure]:
    return {"samples": lines(sample_table(cases.runs, "d"), "d", "dimension d")}


def notes(cases: NearParallelRuns) -> str:
    """Open points of the paper, and how long runs are shortened."""
    return (
        "ε is not stated in the paper; Table 1 fits ε = half the smallest gap. XY-static's sequence sees no rewards, so all seeds run "
        f"along one, followed exactly for {cases.exact:,} rounds, after which its shares stay; rewards enter as sums drawn at "
        "once. Not in the paper: the static bound with √2 (enough for sub-Gaussian noise), uniform sampling with LinGapE's stop, RAGE."
    )
