"""Does the confidence bound hold? max |error| / beta over whole runs: error counts could not tell a radius that is too small."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope.compiled.kernels import jit
from tightrope.core.streams import NOISE, POLICY, stream
from tightrope.core.types import Arguments
from tightrope.core.verbs import Context, describe, init, play, recommend, select, stopped, update
from tightrope.plots import style
from tightrope.policies import LinGapE

from ..experiment import Run
from ..scoring import Estimate, Row, at_most, near, ratio, row_of, share
from .fig2 import ALIKE_SHARE
from .settings import DELTA, GAP, SETTINGS, THETA_BOUND, near_parallel

RULES = ("greedy", "ratio")


@jit
def audit_run(policy, state, problem, most, worst, noise_rng, policy_rng):
    """Play until the stop or `most` rounds; worst[0] <- max over rounds and arms k of |error of the gap leader - k| / beta."""
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
                    error = state.model.mean[i] - state.model.mean[k] - problem.means[i] + problem.means[k]
                    worst[0] = max(worst[0], abs(error) / beta)
    return state, rounds


class Audit(NamedTuple):
    """The observations of each run."""

    ratios: np.ndarray  # (runs,) the largest |error| / beta
    rounds: np.ndarray  # (runs,)
    wrong: np.ndarray  # (runs,) whether the arm named at the end is worse than the best by more than epsilon


def audit(problem: Any, policy: LinGapE, runs: int, most: int, seed: int) -> Audit:
    ratios, rounds, wrong = np.zeros(runs), np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=np.bool_)
    for r in range(runs):
        state = init(policy, describe(problem))
        state, rounds[r] = audit_run(policy, state, problem, most, ratios[r : r + 1], stream(seed, r, NOISE), stream(seed, r, POLICY))
        wrong[r] = problem.means[recommend(policy, state)] < problem.best - policy.epsilon
    return Audit(ratios, rounds, wrong)


class CoverageAudits(NamedTuple):
    """The audit of each rule, and the round at which runs were cut."""

    audits: dict[str, Audit]
    most: int


def data(run: Run) -> CoverageAudits:
    """LinGapE on Figure 1's problem with d = 5 and epsilon = half the gap, by both rules, every round up to the stop."""
    runs, most = run.at(smoke=(10, 2_000), laptop=(200, 10**8), paper=(1000, 10**8))
    own: list[Arguments] = [SETTINGS | {"epsilon": GAP / 2, "theta_bound": THETA_BOUND, "rule": rule} for rule in RULES]
    policies = {rule: LinGapE(**parameters) for rule, parameters in zip(RULES, own, strict=True)}
    return CoverageAudits({rule: audit(near_parallel(5), policy, runs, most, run.seed) for rule, policy in policies.items()}, most)


def score(runs: CoverageAudits) -> list[Row]:
    """Runs that leave the bound, wrong answers, and the ratio of the two rules' samples."""
    rows = []
    for rule, audit in runs.audits.items():
        replications = audit.ratios.size
        failed, wrong = share(int((audit.ratios >= 1.0).sum()), replications), share(int(audit.wrong.sum()), replications)
        coverage = Estimate(1 - failed.value, failed.se)
        rows += [
            row_of("lemma-3", f"{rule} rule: the confidence bounds hold at all rounds with probability ≥ 1 − δ", "≥ 0.95", coverage,
                   at_most(failed.value, DELTA), remark="The share of runs that leave the bound is judged."),
            row_of("theorem-1", f"{rule} rule: the arm named is worse than the best by more than ε with probability ≤ δ", "≤ 0.05", wrong,
                   at_most(wrong.value, DELTA), remark=f"Runs are cut after {runs.most:,} rounds."),
        ]  # fmt: skip
    greedy, by_ratio = (runs.audits[rule].rounds for rule in RULES)
    rule_ratio = ratio(by_ratio, greedy)
    ours = f"{rule_ratio.value:.3f}: {by_ratio.mean():,.0f} over {greedy.mean():,.0f}"
    text = "near-parallel arms, d = 5: samples by ratio over samples by the greedy rule"
    return [*rows, row_of("rules-alike", text, "very little impact", ours, near(rule_ratio, 1.0, ALIKE_SHARE), se=rule_ratio.se)]


def tables(runs: CoverageAudits) -> dict[str, pd.DataFrame]:
    return {"ratios": pd.DataFrame([
        {"rule": rule, "runs": ratios.size, "rounds at most": runs.most, "mean rounds": rounds.mean(), "wrong answers": wrong.sum(),
         "mean ratio": ratios.mean(), "largest ratio": ratios.max()}
        for rule, (ratios, rounds, wrong) in runs.audits.items()
    ])}  # fmt: skip


def plot(runs: CoverageAudits) -> dict[str, Figure]:
    figure, (axes,) = style.figure()
    for number, (rule, audit) in enumerate(runs.audits.items()):
        axes.hist(audit.ratios, bins=np.linspace(0, 1.1, 45).tolist(), color=style.colour(number), alpha=0.6, label=f"{rule} rule")
    axes.axvline(1.0, color="black", lw=1)
    axes.set_xlabel("largest |error| / β of a run")
    axes.set_ylabel("runs")
    style.legend(axes)
    return {"ratios": figure}
