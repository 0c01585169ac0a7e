"""Does the confidence bound hold? max |error| / beta over whole runs: error counts could not tell a radius that is too small."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..._jit import jit
from ...engine.runner import prepare
from ...policies.identification.lingape import LinGapE
from ...reports import style
from ...verbs import Context, play, recommend, select, stopped, update
from ..experiment import Claim, Outcome, Run
from .settings import GAP, SETTINGS, THETA_BOUND, near_parallel


@jit
def audited(policy, state, problem, most, worst, noise_rng, policy_rng):
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
    """What was seen in each run."""

    ratios: np.ndarray  # (runs,) the largest |error| / beta
    rounds: np.ndarray  # (runs,)
    wrong: np.ndarray  # (runs,) whether the arm named at the end is worse than the best by more than epsilon


def audit(problem: Any, policy: Any, runs: int, most: int, seed: int) -> Audit:
    """Runs up to the stop, or `most` rounds."""
    ratios, rounds, wrong = np.zeros(runs), np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=np.bool_)
    for r in range(runs):
        start = prepare(policy, problem, seed, r, None)
        state, rounds[r] = audited(start.policy, start.state, start.problem, most, ratios[r : r + 1], start.streams[1], start.streams[2])
        wrong[r] = problem.means[recommend(policy, state)] < problem.best - policy.epsilon
    return Audit(ratios, rounds, wrong)


def coverage(run: Run) -> Outcome:
    """|error| / beta on Figure 1's problem with d = 5 and epsilon = half the gap, every round up to the stop, and the answers."""
    runs = run.at(smoke=10, laptop=200, paper=1000)
    most = run.at(smoke=2_000, laptop=10**8, paper=10**8)
    policy = LinGapE(epsilon=GAP / 2, theta_bound=THETA_BOUND, **SETTINGS)
    found = audit(near_parallel(5), policy, runs, most, run.seed)
    failed, wrong = float((found.ratios >= 1.0).mean()), float(found.wrong.mean())
    plot, (axes,) = style.figure()
    axes.hist(found.ratios, bins=np.linspace(0, 1.1, 45).tolist(), color=style.colour(0))
    axes.axvline(1.0, color="black", lw=1)
    axes.set_xlabel("largest |error| / β of a run")
    axes.set_ylabel("runs")
    claims = [
        Claim(
            "coverage", "the confidence bound holds at all rounds with probability ≥ 1 − δ (Proposition 2 and Lemma 3)", "≥ 0.95",
            1 - failed, binomial_error(failed, runs), "share of runs whose largest |error| / β stays below 1 is at least 0.95",
            "reproduced" if failed <= 0.05 else "not reproduced", "" if failed <= 0.05 else "the radius is too small",
        ),
        Claim(
            "coverage", "the arm named is worse than the best by more than ε with probability ≤ δ (Theorem 1)", "≤ 0.05",
            wrong, binomial_error(wrong, runs), "share of wrong answers is at most 0.05",
            "reproduced" if wrong <= 0.05 else "not reproduced", "" if wrong <= 0.05 else "the runs were cut short",
        ),
    ]  # fmt: skip
    table = pd.DataFrame({
        "runs": [runs], "rounds at most": [most], "mean rounds": [found.rounds.mean()], "wrong answers": [found.wrong.sum()],
        "mean ratio": [found.ratios.mean()], "largest ratio": [found.ratios.max()],
    })  # fmt: skip
    return Outcome(claims, tables={"ratios": table}, plots={"ratios": plot})


def binomial_error(share: float, runs: int) -> float:
    """Standard error of a share."""
    return float(np.sqrt(share * (1 - share) / runs))
