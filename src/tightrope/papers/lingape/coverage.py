"""Does the confidence bound hold? max |error| / beta over whole runs: error counts could not tell a radius that is too small."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..._jit import jit
from ...engine.runner import prepare
from ...numerics.gaps import LEADER, MISSING
from ...policies.identification.lingape import RADIUS, LinGapE
from ...verbs import Context, play, select, stopped, update
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
        if state.model.numbers[MISSING] == 0.0:
            i = int(state.model.numbers[LEADER])
            for k in range(state.model.mean.shape[0]):
                beta = state.decision[RADIUS] * np.sqrt(state.model.gap_square[k])
                if k != i and beta > 0.0:
                    error = state.model.mean[i] - state.model.mean[k] - problem.means[i] + problem.means[k]
                    worst[0] = max(worst[0], abs(error) / beta)
    return state, rounds


def largest_ratios(problem: Any, policy: Any, runs: int, most: int, seed: int) -> np.ndarray:
    """The largest |error| / beta of each run: (runs,)."""
    found = np.zeros(runs)
    for r in range(runs):
        start = prepare(policy, problem, seed, r, None)
        audited(start.policy, start.state, start.problem, most, found[r : r + 1], start.streams[1], start.streams[2])
    return found


def coverage(run: Run) -> Outcome:
    """|error| / beta on Figure 1's problem with d = 5, every round up to the stop or a cap."""
    runs = run.at(smoke=10, laptop=200, paper=1000)
    most = run.at(smoke=2_000, laptop=100_000, paper=10**7)
    policy = LinGapE(epsilon=GAP / 2, theta_bound=THETA_BOUND, **SETTINGS)
    found = largest_ratios(near_parallel(5), policy, runs, most, run.seed)
    failed = float((found >= 1.0).mean())
    plot = Figure(figsize=(6, 3.5), layout="constrained")
    axes = plot.subplots()
    axes.hist(found, bins=np.linspace(0, 1.1, 45).tolist())
    axes.axvline(1.0, color="black", lw=1)
    axes.set_xlabel("largest |error| / β of a run")
    axes.set_ylabel("runs")
    claim = Claim(
        "coverage", "the confidence bound holds at all rounds with probability ≥ 1 − δ (Proposition 2 and Lemma 3)", "≥ 0.95", 1 - failed,
        float(np.sqrt(failed * (1 - failed) / runs)), "share of runs whose largest |error| / β stays below 1 is at least 0.95",
        "reproduced" if failed <= 0.05 else "not reproduced", "" if failed <= 0.05 else "the radius is too small",
    )  # fmt: skip
    table = pd.DataFrame({"runs": [runs], "rounds at most": [most], "mean": [found.mean()], "largest": [found.max()]})
    return Outcome([claim], tables={"ratios": table}, plots={"ratios": plot})
