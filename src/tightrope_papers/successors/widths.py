"""Jun, Kim 2024: a width that is from the data and has a proof, beside the one of the theorem that
only knows a bound on the noise."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Result, policies
from tightrope.extend import PROBLEM, Arguments, Monitor, jit, monitor, stream
from tightrope.numerics.posterior import unit_rows
from tightrope.plots.figures import regret_figure
from tightrope.problems import Linear

from ..experiment import Run, unit_vector
from ..scoring import OURS, Estimate, Rows, below, estimate, paired_mean, rare, row_of

DELTA = 0.2  # of the experiments that the paper's code runs
TOLD, LOSAN, KNOWS, DEFAULT = "OFUL", "LOSAN", "OFUL, told the noise", "LinUCB, default"
NOISES = (1.0, 0.3, 0.1, 0.01)  # that there is; all but KNOWS are told at most 1
SIZES = {5: (50, 2000), 32: (128, 1000)}  # dimension: arms, rounds
DELTAS = (0.05, 0.2)
COVERED_ROUNDS = 300


class WidthRuns(NamedTuple):
    """Runs by dimension and noise, and those that look whether theta leaves the set, by delta."""

    regret: dict[tuple[int, float], Result]
    sets: dict[float, Result]


@monitor
class WatchSet(Monitor):
    """Monitor: whether theta was outside LOSAN's set in any round, and at the end what its width
    and that of the theorem are made of."""

    def begin(self, arms, n_checkpoints):
        return LosanTally(*(np.zeros(1) for _ in LosanTally._fields))

    @jit
    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        model, theta, away = state.model, problem.theta, 0.0
        for i in range(theta.shape[0]):
            away += policy.lam * (theta[i] - model.theta[i]) ** 2
        for k in range(model.pulls.shape[0]):
            error = 0.0
            for i in range(theta.shape[0]):
                error += model.features[k, i] * (theta[i] - model.theta[i])
            away += model.pulls[k] * error * error
        known = policy.lam * policy.theta_bound**2
        known += 2.0 * policy.noise**2 * math.log(1.0 / policy.delta)
        # OFUL has no losses, and is not asked for them
        tally.losan[0] = known + getattr(state, "losses", model.log_det)[0]
        tally.outside[0] = max(tally.outside[0], 1.0 if away > tally.losan[0] else 0.0)
        root = math.sqrt(2.0 * math.log(1.0 / policy.delta) + model.log_det[0])
        tally.oful[0] = (policy.noise * root + math.sqrt(policy.lam) * policy.theta_bound) ** 2


class LosanTally(NamedTuple):
    """Each (1,)."""

    outside: np.ndarray  # 0 or 1
    losan: np.ndarray  # squared width
    oful: np.ndarray


def worlds(run: Run, d: int, arms: int, noise: float, number: int) -> list[Linear]:
    """Unit arms and a unit theta, drawn afresh for every replication."""
    rngs = [stream(run.seed, i, PROBLEM) for i in range(number)]
    return [Linear(unit_rows(rng, arms, d), unit_vector(rng, d), noise=noise) for rng in rngs]


def line_up(noise: float) -> Arguments:
    determinant: Arguments = {"radius": "determinant", "delta": DELTA}
    return {
        TOLD: policies.OFUL(noise=1.0, **determinant),
        LOSAN: policies.LOSAN(noise=1.0, delta=DELTA),
        KNOWS: policies.OFUL(noise=noise, **determinant),
        DEFAULT: policies.LinUCB(),
    }


def data(run: Run) -> WidthRuns:
    number = run.at(smoke=5, laptop=40, paper=200)
    regret = {
        (d, noise): run.simulate(
            f"widths-{d}-{noise:g}",
            worlds(run, d, arms, noise, number),
            line_up(noise),
            horizon=rounds,
            replications=number,
            monitor=WatchSet(),
        )
        for d, (arms, rounds) in SIZES.items()
        for noise in run.at(smoke=(0.1,), laptop=NOISES, paper=NOISES)
    }
    trials = run.at(smoke=200, laptop=1000, paper=10_000)
    kept = worlds(run, 5, SIZES[5][0], 1.0, trials)
    sets = {
        delta: run.simulate(
            f"widths-sets-{delta:g}",
            kept,
            {LOSAN: policies.LOSAN(noise=1.0, delta=delta)},
            horizon=COVERED_ROUNDS,
            replications=trials,
            monitor=WatchSet(),
        )
        for delta in DELTAS
    }
    return WidthRuns(regret, sets)


def score(runs: WidthRuns) -> Rows:
    for (d, noise), result in runs.regret.items():
        final = {name: curve[:, -1] for name, curve in result.regret.items()}
        where = f"d = {d}, noise {noise:g} where at most 1 is told"
        for rival, key in ((TOLD, "losan-regret"), (KNOWS, OURS)):
            gap = paired_mean(final[LOSAN], final[rival])
            yield row_of(
                OURS if noise == 1.0 else key,
                f"{LOSAN} below {rival}: {where}",
                "below",
                f"{final[LOSAN].mean():.1f} against {final[rival].mean():.1f}",
                below(gap),
                se=gap.se,
            )
    for noise in dict.fromkeys(noise for _, noise in runs.regret if noise < 1.0):
        small, large = (width_gain(runs.regret[d, noise]) for d in SIZES)
        apart = Estimate(large.value - small.value, math.hypot(large.se, small.se))
        yield row_of(
            "losan-width",
            f"squared width of {LOSAN} by that of {TOLD}, noise {noise:g}: smaller at d = 32 than "
            "at d = 5",
            "below",
            f"{large.value:.3f} against {small.value:.3f}",
            below(apart),
            se=apart.se,
        )
    for delta, result in runs.sets.items():
        outside = result.watched[LOSAN]["outside"].ravel()
        yield row_of(
            "losan-holds",
            f"runs in which theta is ever outside the set, delta = {delta:g}, noise as large as "
            "told",
            f"at most {delta:g}",
            f"{outside.mean():.3f} of {outside.size:,}",
            rare(int(outside.sum()), outside.size, delta),
        )


def width_gain(result: Result) -> Estimate:
    """LOSAN's squared width by OFUL's at the end, each after its own rounds."""
    watched = result.watched
    return estimate(watched[LOSAN]["losan"].ravel() / watched[TOLD]["oful"].ravel())


def tables(runs: WidthRuns) -> dict[str, pd.DataFrame]:
    rows = [
        {"d": d, "noise": noise, "policy": row.policy, "regret": row.mean, "se": row.se}
        for (d, noise), result in runs.regret.items()
        for row in result.summary()
    ]
    return {"regret": pd.DataFrame(rows)}


def plot(runs: WidthRuns) -> dict[str, Figure]:
    return {
        f"d-{d}": regret_figure(
            runs.regret[d, 0.1], title=f"d = {d}: noise 0.1, told at most 1", paired=True
        )
        for d in SIZES
    }


notes = (
    "Every replication is a world of its own, unit arms and a unit theta; delta = 0.2, as in the "
    "paper's code. Not in the paper: OFUL that is told the noise, and LinUCB's default, which has "
    "no proof."
)
