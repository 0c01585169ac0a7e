"""Worlds that change: restarts by a change-point test (Besson, Kaufmann, Maillard, Seznec 2022) and
weights that hold against an adversary (Zimmert, Seldin 2021)."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Result, policies
from tightrope.extend import Monitor, jit, monitor
from tightrope.plots.figures import regret_figure
from tightrope.problems import Bernoulli, Drifting

from ..experiment import Run
from ..scoring import OURS, Rows, below, paired_mean, rare, ratio, row_of

EPISODES = {  # means of three arms in five episodes of a thousand rounds, a row an arm
    "problem 1": [[0.9, 0.9, 0.1, 0.1, 0.1], [0.5, 0.2, 0.2, 0.7, 0.7], [0.3, 0.3, 0.3, 0.3, 0.5]],
    "problem 2": [[0.9, 0.7, 0.5, 0.3, 0.1], [0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.5, 0.6, 0.7, 0.8]],
    "nothing changes": [[0.5], [0.4], [0.4]],
}
EVERY, EPISODES_END = 1000, 5000
LOCAL, GLOBAL, PLAIN = "GLR, its arm", "GLR, all arms", "KL-UCB"
RV, IW, THOMPSON, UCB = "Tsallis-INF", "Tsallis-INF, plain", "Thompson sampling", "UCB1"
K, GAP, ROUNDS, GROWTH = 8, 0.125, 10_000, 1.6
DELTA = 0.05


class ChangingRuns(NamedTuple):
    episodes: dict[str, Result]
    fixed: Result
    adversary: Result
    alarms: Result


class RestartTally(NamedTuple):
    restarts: np.ndarray  # (1,) of all arms


@monitor
class WatchRestarts(Monitor):
    """Monitor: how often a GLRRestart has restarted."""

    def begin(self, arms, n_checkpoints):
        return RestartTally(np.zeros(1))

    @jit
    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        tally.restarts[0] = 0.0
        for k in range(state.restarts.shape[0]):
            tally.restarts[0] += state.restarts[k]


def adversary() -> Drifting:
    """The best mean and the others jump between (1, 1 - gap) and (gap, 0), in phases whose lengths
    grow by 1.6."""
    high, low = np.full(K, 1.0 - GAP), np.zeros(K)
    high[0], low[0] = 1.0, GAP
    phases: list[np.ndarray] = []
    while sum(map(len, phases)) < ROUNDS:
        length = int(GROWTH ** len(phases))
        phases.append(np.tile(low if len(phases) % 2 else high, (length, 1)))
    return Drifting(path=np.concatenate(phases)[:ROUNDS], every=1)


def data(run: Run) -> ChangingRuns:
    p, number = policies, run.at(smoke=4, laptop=100, paper=1000)
    rivals = {
        LOCAL: p.GLRRestart(),
        GLOBAL: p.GLRRestart(scope="all"),
        PLAIN: p.KLUCB(),
        "Thompson that forgets": p.BetaThompson(forget=0.995),
        RV: p.TsallisINF(),
    }
    episodes = {
        name: run.simulate(
            f"changing-{name.replace(' ', '-')}",
            Drifting(path=np.array(means).T, every=EVERY),
            rivals,
            horizon=EPISODES_END,
            replications=number,
        )
        for name, means in EPISODES.items()
    }
    lasting = np.full(K, 0.5 - GAP / 2)
    lasting[0] += GAP
    both = {
        RV: p.TsallisINF(),
        IW: p.TsallisINF(variant="iw"),
        THOMPSON: p.BetaThompson(),
        UCB: p.UCB(sigma=1.0, alpha=2.0),
    }
    fixed, adverse = (
        run.simulate(
            f"changing-{name}",
            problem,
            both,
            horizon=ROUNDS,
            replications=run.at(smoke=4, laptop=60, paper=1000),
            checkpoints=[ROUNDS // 4, ROUNDS // 2, ROUNDS],
        )
        for name, problem in (("fixed", Bernoulli(lasting)), ("adversary", adversary()))
    )
    alarms = run.simulate(
        "changing-alarms",
        Bernoulli([0.5]),
        {LOCAL: p.GLRRestart(delta=DELTA, omega=0.0, test_every=1, split_every=1)},
        horizon=2000,
        replications=run.at(smoke=50, laptop=1000, paper=10_000),
        monitor=WatchRestarts(),
    )
    return ChangingRuns(episodes, fixed, adverse, alarms)


def score(runs: ChangingRuns) -> Rows:
    for name, result in runs.episodes.items():
        final = {policy: curve[:, -1] for policy, curve in result.regret.items()}
        for ours in (LOCAL, GLOBAL):
            gap = paired_mean(final[ours], final[PLAIN])
            yield row_of(
                "glr-below-klucb" if name.startswith("problem") else OURS,
                f"{ours} below {PLAIN}: {name}",
                "below",
                f"{final[ours].mean():.0f} against {final[PLAIN].mean():.0f}",
                below(gap),
                se=gap.se,
            )
    false = int((runs.alarms.watched[LOCAL]["restarts"] > 0).sum())
    total = runs.alarms.replications
    yield row_of(
        "glr-false-alarm",
        f"false alarms within 2,000 rewards of one arm, delta = {DELTA:g}",
        f"at most {DELTA:g}",
        f"{false} of {total:,}",
        rare(false, total, DELTA),
    )
    for name, result in (("fixed means", runs.fixed), ("the adversary", runs.adversary)):
        curve = result.regret[RV]
        grown = ratio(curve[:, -1], curve[:, 0])
        yield row_of(
            "tsallis-logarithmic",
            f"regret of {RV} after {ROUNDS:,} rounds by that after a quarter: {name}",
            "below 2, which is a root's growth",
            grown,
            below(grown, 2.0),
        )
    for rival in (THOMPSON, UCB):
        gap = paired_mean(runs.adversary.regret[RV][:, -1], runs.adversary.regret[rival][:, -1])
        mean = runs.adversary.regret[RV][:, -1].mean()
        yield row_of(
            "tsallis-adversary",
            f"{RV} below {rival}: the adversary",
            "below",
            f"{mean:.0f} against {runs.adversary.regret[rival][:, -1].mean():.0f}",
            below(gap),
            se=gap.se,
        )


def tables(runs: ChangingRuns) -> dict[str, pd.DataFrame]:
    cases = runs.episodes | {"fixed means": runs.fixed, "the adversary": runs.adversary}
    rows = [
        {
            "world": name,
            "policy": row.policy,
            "regret": row.mean,
            "se": row.se,
            "median": row.median,
            "worst": row.worst,
        }
        for name, result in cases.items()
        for row in result.summary()
    ]
    return {"regret": pd.DataFrame(rows)}


def plot(runs: ChangingRuns) -> dict[str, Figure]:
    return {
        name.replace(" ", "-"): regret_figure(result, title=name.capitalize(), paired=True)
        for name, result in runs.episodes.items()
    }


notes = (
    "Rewards of 0 and 1. GLR tests every tenth reward of an arm and splits at every fifth; delta "
    "and omega are those of an unknown number of changes. Tails are long: the table has medians "
    "and worst runs."
)
