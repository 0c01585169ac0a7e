"""Figure 1: learning curves of beta and of the regret, offline and online, and what the gradient itself asks for."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ... import policies as p
from ...engine.results import Result
from ...problems.linear import Linear
from ...reports import style
from ...reports.curves import draw_bands
from ..experiment import Run
from ..scoring import Row, Estimate, at_most, below, both_signs, estimate, judged, most, paired
from .settings import ONLINE_ETA, ONLINE_STEP, SIGMAS, WatchBeta, synthetic, train

D, NOISE = 10, SIGMAS["0.5"]
SETTLED = 0.1
BETAS = (0.25, 0.5, 1.0, 2.0, 3.0)
LARGE_ETA = 0.05
Curve = tuple[np.ndarray, np.ndarray]  # (instances, n) beta and regret


class Data(NamedTuple):
    """Offline training by trajectory, online learning by checkpoint, and the two side experiments."""

    offline: Curve
    online: Result
    gradients: pd.DataFrame  # of the reward alone, at fixed betas
    statuses: list[str]  # of training with LARGE_ETA


def data(run: Run) -> Data:
    """Offline: 30 trajectories (paper: no number); online: one. d = 10, sigma = 0.5."""
    instances = run.at(smoke=3, laptop=40, paper=40)
    horizon, trajectories = run.at(smoke=(128, 12), laptop=(1024, 30), paper=(1024, 60))
    problems = [synthetic(run.seed, i, D, NOISE) for i in range(instances)]
    trained = [train(problem, horizon, trajectories, i) for i, problem in enumerate(problems)]
    policy = p.REGISTRY["SoftUCB"](online=True, eta=ONLINE_ETA, step=ONLINE_STEP, noise=NOISE)
    checkpoints = np.unique(np.linspace(1, horizon, min(horizon, 64)).astype(int))
    online = run.simulate("fig1-online", problems, {"online": policy}, horizon=horizon, replications=instances, checkpoints=checkpoints,
                          monitor=WatchBeta())  # fmt: skip
    return Data(
        (ragged([one.path for one in trained]), ragged([one.regret for one in trained])),
        online,
        gradient_of_reward(problems, horizon, run.at(smoke=2, laptop=5, paper=20)),
        [train(problem, horizon, trajectories, i, eta=LARGE_ETA).status for i, problem in enumerate(problems)],
    )


def ragged(rows: list[np.ndarray]) -> np.ndarray:
    """Curves of equal length; one that stopped early (diverged) stays at its last value."""
    longest = max(row.size for row in rows)
    return np.stack([np.pad(row, (0, longest - row.size), mode="edge") for row in rows])


def gradient_of_reward(problems: list[Linear], horizon: int, trajectories: int) -> pd.DataFrame:
    """sum_t A_t / T at fixed betas: where the reward alone (eta = 0) would push beta, and the regret there."""
    rows = []
    for beta in BETAS:
        found = [train(q, horizon, trajectories, i, eta=0.0, step=0.0, beta0=beta) for i, q in enumerate(problems)]
        slope, cost = estimate([f.gradient.mean() for f in found]), estimate([f.regret.mean() for f in found])
        rows.append({"beta": beta, "gradient": slope.value, "gradient se": slope.se, "regret": cost.value, "regret se": cost.se})
    return pd.DataFrame(rows)


def score(found: Data) -> list[Row]:
    """Beta and regret settle, the gradient has an optimum, a large eta diverges."""
    beta, regret = found.offline
    return [
        drift("beta settles offline", beta, "of the trajectories"),
        drift("the regret of a trajectory settles offline", regret, "of the trajectories"),
        drift("beta settles online", found.online.watched["online"]["beta"], "of the checkpoints"),
        rate(found.online.rounds, found.online.regret["online"]),
        optimum(found.gradients),
        divergence(found.statuses),
    ]


def drift(text: str, curves: np.ndarray, unit: str) -> Row:
    """Do the last sixth and the one before have the same mean, up to SETTLED?"""
    n = max(1, curves.shape[1] // 6)
    late, before = curves[:, -n:].mean(axis=1), curves[:, -2 * n : -n].mean(axis=1)
    change = estimate((late - before) / before.mean())
    ours, text = f"{change.value:+.1%} ± {change.se:.1%}", f"{text} (drift between the last two sixths {unit})"
    return judged(text, "converges", ours, at_most(abs(change.value), SETTLED))


def rate(rounds: np.ndarray, curves: np.ndarray) -> Row:
    """Is the regret per round of the last quarter below that of the first?"""
    quarter = int(np.searchsorted(rounds, rounds[-1] / 4))
    late = int(np.searchsorted(rounds, 3 * rounds[-1] / 4))
    first = curves[:, quarter] / rounds[quarter]
    last = (curves[:, -1] - curves[:, late]) / (rounds[-1] - rounds[late])
    ours = f"{last.mean():.3g} a round at the end, {first.mean():.3g} at first"
    text = "the regret settles online (regret per round of the last quarter minus the first)"
    return judged(text, "converges", ours, below(paired(last, first)), remark="The first phase plays uniformly.")


def optimum(table: pd.DataFrame) -> Row:
    """Does the gradient of the reward change sign, so that ascent has a maximum to find?"""
    found = both_signs([Estimate(*pair) for pair in zip(table["gradient"], table["gradient se"], strict=True)])
    text = "gradient ascent on the reward has an optimum in beta (gradient of the reward alone, eta = 0, on a grid of betas)"
    ours = f"from {table['gradient'].min():.3g} to {table['gradient'].max():.3g}"
    remark = "The estimator ignores what playing an arm teaches: only eta keeps beta from falling, and so eta sets beta."
    return judged(text, "converges to a local optimum", ours, found, remark=remark)


def divergence(statuses: list[str]) -> Row:
    """How often does a large eta diverge?"""
    count, total = sum(status.startswith("diverged") for status in statuses), len(statuses)
    text = f"with a large eta ({LARGE_ETA:g}) gradient ascent fails to converge"
    return judged(text, "fails", f"diverges in {count} of {total} instances", most(count, total))


def tables(found: Data) -> dict[str, pd.DataFrame]:
    """The gradient at fixed betas."""
    return {"gradient of the reward alone": found.gradients}


def plot(found: Data) -> dict[str, Figure]:
    """Beta and regret by trajectory and by round."""
    beta, regret = found.offline
    online, rounds = found.online, found.online.rounds
    return {
        "offline": curves(beta, np.arange(beta.shape[1]), regret, np.arange(regret.shape[1]), "trajectory", "regret of the trajectory"),
        "online": curves(online.watched["online"]["beta"], rounds, online.regret["online"], rounds, "round", "cumulative regret"),
    }


def curves(beta: np.ndarray, x: np.ndarray, regret: np.ndarray, y: np.ndarray, unit: str, label: str) -> Figure:
    """Beta and regret side by side."""
    fig, (left, right) = style.figure(2)
    draw_bands(left, x, {"beta": beta})
    draw_bands(right, y, {label: regret})
    for ax, name in ((left, "beta"), (right, label)):
        ax.set_xlabel(unit)
        ax.set_ylabel(name)
        ax.set_ylim(bottom=0)
    return fig


def notes(found: Data) -> str:
    """Sizes."""
    instances, horizon = found.online.replications, found.online.rounds[-1]
    return f"Means over {instances} instances, d = {D}, sigma = {NOISE:g}, T = {horizon}, bands of two standard errors."
