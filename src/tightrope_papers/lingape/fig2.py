"""Figure 2: samples needed with canonical arms, where XY-static is almost optimal among static designs."""

from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..experiment import Run
from ..scoring import OURS, Estimate, Judgement, Row, at_most, below, everywhere_above, near, row_of
from .comparison import (
    HALF,
    RATIO,
    STATIC,
    ZERO,
    Runs,
    adaptive,
    factor,
    lead,
    lines,
    lowest,
    no_errors,
    not_told,
    others_err,
    samples,
    told_a_bound,
)
from .comparison import table as sample_table
from .settings import THETA_BOUND, canonical

Cases = dict[str, dict[float, Runs]]  # bound on theta -> gap -> all methods
ALIKE_SHARE = 0.1  # of the sample number: "very little impact"


def data(run: Run) -> Cases:
    """All methods at every gap, told both readings of the bound on theta."""
    gaps = run.at(smoke=(0.3, 0.5), laptop=(0.1, 0.2, 0.3, 0.4, 0.5), paper=(0.1, 0.2, 0.3, 0.4, 0.5))
    times = run.at(smoke=1, laptop=5, paper=1)
    others = {gap: not_told(run, f"fig2-{gap:g}", canonical(gap), 10**9) for gap in gaps}
    return {
        "2": {gap: told_a_bound(run, f"fig2-{gap:g}", canonical(gap), gap, THETA_BOUND, times) | others[gap] for gap in gaps},
        "gap": {gap: told_a_bound(run, f"fig2-tight-{gap:g}", canonical(gap), gap, gap, times) | others[gap] for gap in gaps},
    }


def score(cases_by_bound: Cases) -> list[Row]:
    """LinGapE against XY-static at every gap, its lead as the gap falls, which arms it quits, both rules, XY-adaptive."""
    everywhere = [(runs, 0) for cases in cases_by_bound.values() for runs in cases.values()]
    rows: list[Row] = []
    for label, cases in cases_by_bound.items():
        rows += [first(label, cases), *grows(label, cases), *quits(label, cases), rules_alike(label, cases)]
    return [
        *rows,
        *adaptive(cases_by_bound["2"], "canonical", "gaps", "gap "),
        no_errors(everywhere),
        others_err([(runs, 0) for runs in cases_by_bound["2"].values()]),
    ]


def first(label: str, cases: dict[float, Runs]) -> Row:
    gap, least = lowest({gap: factor(runs, STATIC, ZERO) for gap, runs in cases.items()})
    text = f"θ bound {label}: {ZERO} needs fewer samples than XY-static at every gap"
    return row_of("canonical-first", text, "fewer", f"XY-static needs at least {least.value:.2f} times as many (gap {gap:g})",
                  everywhere_above([lead(runs, STATIC, ZERO) for runs in cases.values()]), se=least.se)  # fmt: skip


def grows(label: str, cases: dict[float, Runs]) -> list[Row]:
    """The lead at every gap against that at the next larger one: in samples, and (ours) as a factor."""
    gaps = sorted(cases)
    leads = {gap: lead(cases[gap], STATIC, ZERO) for gap in gaps}
    factors = {gap: factor(cases[gap], STATIC, ZERO) for gap in gaps}

    def rises(estimates: dict[float, Estimate]) -> Judgement:
        return everywhere_above(
            [
                Estimate(estimates[low].value - estimates[high].value, float(np.hypot(estimates[low].se, estimates[high].se)))
                for low, high in pairwise(gaps)
            ]
        )

    text = f"θ bound {label}: the lead of {ZERO} over XY-static grows at every step to a smaller gap"
    remark = "Both numbers grow like 1 / gap², so that their difference does; the factor stays where it is."
    return [
        row_of("canonical-grows", f"{text}, in samples", "increases", ", ".join(f"{leads[gap].value:,.0f}" for gap in gaps), rises(leads)),
        row_of(OURS, f"{text}, as a factor", "–", ", ".join(f"{factors[gap].value:.2f}" for gap in gaps) + " times", rises(factors),
               remark=remark),
    ]  # fmt: skip


def quits(label: str, cases: dict[float, Runs]) -> list[Row]:
    """In each run, the sub-optimal arm that LinGapE pulls least gets less than its fifth; XY-static's arms are pulled alike."""
    shares = {gap: _least_share(runs[ZERO]["pulls"]) for gap, runs in cases.items()}
    gap, largest = max(shares.items(), key=lambda item: item[1].value)
    uneven = max(float((runs[STATIC]["pulls"].max(axis=1) / runs[STATIC]["pulls"].min(axis=1)).max()) for runs in cases.values())
    key = "canonical-quits"
    return [
        row_of(key, f"θ bound {label}: pulls of the sub-optimal arm that LinGapE pulls least, over a fifth of all, largest over gaps",
               "quits pulling", f"{largest.value:.2f}, gap {gap:g}", below(largest, 0.8), se=largest.se),
        row_of(key, f"θ bound {label}: XY-static, most over fewest pulls of an arm", "uniformly", uneven, at_most(uneven, 1.1)),
    ]  # fmt: skip


def _least_share(pulls: np.ndarray) -> Estimate:
    return samples(pulls[:, 1:].min(axis=1) * pulls.shape[1] / pulls.sum(axis=1))


def rules_alike(label: str, cases: dict[float, Runs]) -> Row:
    """Samples of the ratio rule over those of the greedy rule, mean over gaps."""
    factors = [factor(runs, RATIO, HALF) for runs in cases.values()]
    mean = Estimate(float(np.mean([one.value for one in factors])), float(np.hypot.reduce([one.se for one in factors])) / len(factors))
    text = f"canonical arms, θ bound {label}: samples by ratio over samples by the greedy rule, mean over gaps"
    return row_of("rules-alike", text, "very little impact", mean, near(mean, 1.0, ALIKE_SHARE))


def tables(cases_by_bound: Cases) -> dict[str, pd.DataFrame]:
    return {f"theta_bound = {label}": sample_table(cases, "gap") for label, cases in cases_by_bound.items()}


def plot(cases_by_bound: Cases) -> dict[str, Figure]:
    return {
        f"samples-{label}": lines(sample_table(cases, "gap"), "gap", f"gap (theta_bound = {label})")
        for label, cases in cases_by_bound.items()
    }


def notes(_: Cases) -> str:
    return "The paper's bound on θ is lost; 2, as in Figure 1, and the gap itself are shown."
