"""Figure 2: samples needed with canonical arms, where XY-static is almost optimal among static
designs."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Context, LinGapE
from tightrope.extend import (
    NOISE,
    POLICY,
    Arguments,
    describe,
    init,
    jit,
    play,
    recommend,
    select,
    stopped,
    stream,
    update,
)
from tightrope.plots import style

from ..experiment import Run
from ..scoring import (
    OURS,
    Estimate,
    Judgement,
    Row,
    Rows,
    at_most,
    below,
    everywhere_above,
    judged,
    near,
    ratio,
    row_of,
    share,
)
from .settings import (
    DELTA,
    GAP,
    HALF,
    RATIO,
    SETTINGS,
    STATIC,
    THETA_BOUND,
    ZERO,
    Runs,
    adaptive,
    canonical,
    factor,
    lead,
    lines,
    lowest,
    near_parallel,
    no_errors,
    not_told,
    others_err,
    samples,
    table as sample_table,
    told_a_bound,
)

Cases = dict[str, dict[float, Runs]]  # bound on theta -> gap -> all methods
ALIKE_SHARE = 0.1  # of the sample number: "very little impact"


def data(run: Run) -> Cases:
    gaps = run.at(
        smoke=(0.3, 0.5), laptop=(0.1, 0.2, 0.3, 0.4, 0.5), paper=(0.1, 0.2, 0.3, 0.4, 0.5)
    )
    times = run.at(smoke=1, laptop=5, paper=1)
    others = {gap: not_told(run, f"fig2-{gap:g}", canonical(gap), 10**9) for gap in gaps}
    return {
        "2": {
            gap: told_a_bound(run, f"fig2-{gap:g}", canonical(gap), gap, THETA_BOUND, times)
            | others[gap]
            for gap in gaps
        },
        "gap": {
            gap: told_a_bound(run, f"fig2-tight-{gap:g}", canonical(gap), gap, gap, times)
            | others[gap]
            for gap in gaps
        },
    }


def score(cases_by_bound: Cases) -> Rows:
    everywhere = [(runs, 0) for cases in cases_by_bound.values() for runs in cases.values()]
    for label, cases in cases_by_bound.items():
        yield from [
            first(label, cases),
            *grows(label, cases),
            *quits(label, cases),
            rules_alike(label, cases),
        ]
    yield from adaptive(cases_by_bound["2"], "canonical", "gaps", "gap ")
    yield no_errors(everywhere)
    yield others_err([(runs, 0) for runs in cases_by_bound["2"].values()])


def first(label: str, cases: dict[float, Runs]) -> Row:
    gap, least = lowest({gap: factor(runs, STATIC, ZERO) for gap, runs in cases.items()})
    return row_of(
        "canonical-first",
        f"θ bound {label}: {ZERO} needs fewer samples than XY-static at every gap",
        "fewer",
        f"XY-static needs at least {least.value:.2f} times as many (gap {gap:g})",
        everywhere_above([lead(runs, STATIC, ZERO) for runs in cases.values()]),
        se=least.se,
    )


def grows(label: str, cases: dict[float, Runs]) -> list[Row]:
    """The lead at every gap against that at the next larger one: in samples, and (ours) as a
    factor."""
    gaps = sorted(cases)
    leads = {gap: lead(cases[gap], STATIC, ZERO) for gap in gaps}
    factors = {gap: factor(cases[gap], STATIC, ZERO) for gap in gaps}

    def rises(estimates: dict[float, Estimate]) -> Judgement:
        return everywhere_above(
            [
                Estimate(
                    estimates[low].value - estimates[high].value,
                    float(np.hypot(estimates[low].se, estimates[high].se)),
                )
                for low, high in pairwise(gaps)
            ]
        )

    text = (
        f"θ bound {label}: the lead of {ZERO} over XY-static grows at every step to a smaller gap"
    )
    return [
        row_of(
            "canonical-grows",
            f"{text}, in samples",
            "increases",
            ", ".join(f"{leads[gap].value:,.0f}" for gap in gaps),
            rises(leads),
        ),
        row_of(
            OURS,
            f"{text}, as a factor",
            "–",
            ", ".join(f"{factors[gap].value:.2f}" for gap in gaps) + " times",
            rises(factors),
            remark="Both numbers grow like 1 / gap², so that their difference does; the factor "
            "stays where it is.",
        ),
    ]


def quits(label: str, cases: dict[float, Runs]) -> list[Row]:
    pulled = {gap: runs[ZERO]["pulls"] for gap, runs in cases.items()}
    shares = {
        gap: samples(pulls[:, 1:].min(axis=1) * pulls.shape[1] / pulls.sum(axis=1))
        for gap, pulls in pulled.items()
    }
    gap, largest = max(shares.items(), key=lambda item: item[1].value)
    key = "canonical-quits"
    return [
        row_of(
            key,
            f"θ bound {label}: pulls of the sub-optimal arm that LinGapE pulls least, over a "
            "fifth of all, largest over gaps",
            "quits pulling",
            f"{largest.value:.2f}, gap {gap:g}",
            below(largest, 0.8),
            se=largest.se,
        ),
        judged(
            key,
            f"θ bound {label}: XY-static, most over fewest pulls of an arm",
            "uniformly",
            max(
                float((runs[STATIC]["pulls"].max(axis=1) / runs[STATIC]["pulls"].min(axis=1)).max())
                for runs in cases.values()
            ),
            at_most,
            1.1,
        ),
    ]


def rules_alike(label: str, cases: dict[float, Runs]) -> Row:
    factors = [factor(runs, RATIO, HALF) for runs in cases.values()]
    return judged(
        "rules-alike",
        f"canonical arms, θ bound {label}: samples by ratio over samples by the greedy rule, mean "
        "over gaps",
        "very little impact",
        Estimate(
            float(np.mean([one.value for one in factors])),
            float(np.hypot.reduce([one.se for one in factors])) / len(factors),
        ),
        near,
        1.0,
        ALIKE_SHARE,
    )


def tables(cases_by_bound: Cases) -> dict[str, pd.DataFrame]:
    return {
        f"theta_bound = {label}": sample_table(cases, "gap")
        for label, cases in cases_by_bound.items()
    }


def plot(cases_by_bound: Cases) -> dict[str, Figure]:
    return {
        f"samples-{label}": lines(sample_table(cases, "gap"), "gap", f"gap (theta_bound = {label})")
        for label, cases in cases_by_bound.items()
    }


notes = "The paper's bound on θ is lost; 2, as in Figure 1, and the gap itself are shown."


# Does the confidence bound hold? max |error| / beta over whole runs: error counts could not tell a
# radius that is too small.


RULES = ("greedy", "ratio")


@jit
def audit_run(policy, state, problem, most, worst, noise_rng, policy_rng):
    """Play until the stop or `most` rounds; worst[0] <- max over rounds and arms k of |error of the
    gap leader - k| / beta."""
    rounds = 0
    while rounds < most and not stopped(policy, state):
        context = Context(None, None, None, None)
        arm = select(policy, state, context, policy_rng)
        state = update(policy, state, context, arm, play(problem, context, arm, noise_rng))
        rounds += 1
        if state.model.progress[0]["unpulled"] == 0.0:
            i = state.answer[0]["leader"]
            for k in range(state.model.mean.shape[0]):
                beta = state.answer[0]["radius"] * np.sqrt(state.model.gap_square[k])
                if k != i and beta > 0.0:
                    error = (
                        state.model.mean[i]
                        - state.model.mean[k]
                        - problem.means[i]
                        + problem.means[k]
                    )
                    worst[0] = max(worst[0], abs(error) / beta)
    return state, rounds


class Audit(NamedTuple):
    ratios: np.ndarray  # (runs,) the largest |error| / beta
    rounds: np.ndarray  # (runs,)
    wrong: (
        np.ndarray
    )  # (runs,) whether the arm named at the end is worse than the best by more than epsilon


def audit(problem: Any, policy: LinGapE, runs: int, most: int, seed: int) -> Audit:
    ratios, rounds, wrong = (
        np.zeros(runs),
        np.zeros(runs, dtype=np.int64),
        np.zeros(runs, dtype=np.bool_),
    )
    for r in range(runs):
        state = init(policy, describe(problem))
        state, rounds[r] = audit_run(
            policy,
            state,
            problem,
            most,
            ratios[r : r + 1],
            stream(seed, r, NOISE),
            stream(seed, r, POLICY),
        )
        wrong[r] = problem.means[recommend(policy, state)] < problem.best - policy.epsilon
    return Audit(ratios, rounds, wrong)


class CoverageAudits(NamedTuple):
    audits: dict[str, Audit]
    most: int


def coverage_data(run: Run) -> CoverageAudits:
    """LinGapE on Figure 1's problem with d = 5 and epsilon = half the gap, by both rules, every
    round up to the stop."""
    runs, most = run.at(smoke=(10, 2_000), laptop=(200, 10**8), paper=(1000, 10**8))
    own: list[Arguments] = [
        SETTINGS | {"epsilon": GAP / 2, "theta_bound": THETA_BOUND, "rule": rule} for rule in RULES
    ]
    policies = {rule: LinGapE(**parameters) for rule, parameters in zip(RULES, own, strict=True)}
    return CoverageAudits(
        {
            rule: audit(near_parallel(5), policy, runs, most, run.seed)
            for rule, policy in policies.items()
        },
        most,
    )


def coverage_score(runs: CoverageAudits) -> Rows:
    for rule, audit in runs.audits.items():
        replications = audit.ratios.size
        failed, wrong = (
            share(int((audit.ratios >= 1.0).sum()), replications),
            share(int(audit.wrong.sum()), replications),
        )
        coverage = Estimate(1 - failed.value, failed.se)
        yield from [
            row_of(
                "lemma-3",
                f"{rule} rule: the confidence bounds hold at all rounds with probability ≥ 1 − δ",
                "≥ 0.95",
                coverage,
                at_most(failed.value, DELTA),
                remark="The share of runs that leave the bound is judged.",
            ),
            row_of(
                "theorem-1",
                f"{rule} rule: the arm named is worse than the best by more than ε with "
                "probability ≤ δ",
                "≤ 0.05",
                wrong,
                at_most(wrong.value, DELTA),
                remark=f"Runs are cut after {runs.most:,} rounds.",
            ),
        ]
    greedy, by_ratio = (runs.audits[rule].rounds for rule in RULES)
    rule_ratio = ratio(by_ratio, greedy)
    yield row_of(
        "rules-alike",
        "near-parallel arms, d = 5: samples by ratio over samples by the greedy rule",
        "very little impact",
        f"{rule_ratio.value:.3f}: {by_ratio.mean():,.0f} over {greedy.mean():,.0f}",
        near(rule_ratio, 1.0, ALIKE_SHARE),
        se=rule_ratio.se,
    )


def coverage_tables(runs: CoverageAudits) -> dict[str, pd.DataFrame]:
    return {
        "ratios": pd.DataFrame(
            [
                {
                    "rule": rule,
                    "runs": ratios.size,
                    "rounds at most": runs.most,
                    "mean rounds": rounds.mean(),
                    "wrong answers": wrong.sum(),
                    "mean ratio": ratios.mean(),
                    "largest ratio": ratios.max(),
                }
                for rule, (ratios, rounds, wrong) in runs.audits.items()
            ]
        )
    }


def coverage_plot(runs: CoverageAudits) -> dict[str, Figure]:
    figure, (axes,) = style.figure()
    for number, (rule, audit) in enumerate(runs.audits.items()):
        axes.hist(
            audit.ratios,
            bins=np.linspace(0, 1.1, 45).tolist(),
            color=style.colour(number),
            alpha=0.6,
            label=f"{rule} rule",
        )
    axes.axvline(1.0, color="black", lw=1)
    axes.set(xlabel="largest |error| / β of a run", ylabel="runs")
    style.legend(axes)
    return {"ratios": figure}
