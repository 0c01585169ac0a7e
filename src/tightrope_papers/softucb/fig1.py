"""Figure 1: learning curves of beta and of the regret, offline and online, from several starts, and what the gradient asks for."""

import functools
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import policies as p
from tightrope.numerics.counts import horizon_radius
from tightrope.plots import style
from tightrope.plots.figures import draw_bands
from tightrope.problems.structured import Linear
from tightrope.results.results import Result

from ..experiment import Run
from ..scoring import OURS, Estimate, Row, at_most, below, both_signs, estimate, every, near, paired_mean, ratio, row_of
from ..scoring import most as most_of
from .settings import LARGE_ETA, OFFLINE_ETA, ONLINE_ETA, ONLINE_STEP, SIGMAS, STARTS, WatchBeta, synthetic, train

D, NOISE = 10, SIGMAS["0.5"]
SETTLED_SHARE = 0.1
CALM_SHARE = 0.25  # of the regret per round at first: what "under control" leaves at most
BETAS = (0.25, 0.5, 1.0, 2.0, 3.0)
USUAL_START = 1.0  # the start that the other figures use
LARGE_ETA_POLICY = "online, large eta"
Curve = tuple[np.ndarray, np.ndarray]  # (instances, n) beta and regret


class LearningCurves(NamedTuple):
    """By start: offline training by trajectory, and online learning by checkpoint; the side experiments."""

    offline: dict[float, Curve]
    online: Result  # policies by `online_from`, and LARGE_ETA_POLICY
    gradients: pd.DataFrame  # of the reward alone, at fixed betas
    statuses: list[str]  # of training with LARGE_ETA
    uniform: np.ndarray  # (instances,) regret of a round of uniform play


def online_from(start: float) -> str:
    return f"online, from {start:g}"


def data(run: Run) -> LearningCurves:
    """Offline: 30 trajectories (paper: no number); online: one. d = 10, sigma = 0.5."""
    instances = run.at(smoke=3, laptop=40, paper=40)
    horizon, trajectories = run.at(smoke=(128, 12), laptop=(1024, 30), paper=(1024, 60))
    problems = [synthetic(run.seed, i, D, NOISE) for i in range(instances)]
    offline = {}
    for start in STARTS:
        trained = [train(problem, horizon, trajectories, i, beta0=start) for i, problem in enumerate(problems)]
        offline[start] = equal_lengths([one.path for one in trained]), equal_lengths([one.regret for one in trained])
    soft = functools.partial(p.SoftUCB, online=True, step=ONLINE_STEP, noise=NOISE)
    policies = {online_from(start): soft(beta=start, eta=ONLINE_ETA) for start in STARTS}
    policies[LARGE_ETA_POLICY] = soft(eta=ONLINE_ETA * LARGE_ETA / OFFLINE_ETA)
    checkpoints = np.unique(np.linspace(1, horizon, min(horizon, 64)).astype(int))
    online = run.simulate("fig1-online", problems, policies, horizon=horizon, replications=instances, checkpoints=checkpoints,
                          monitor=WatchBeta())  # fmt: skip
    return LearningCurves(
        offline, online,
        gradient_of_reward(problems, horizon, run.at(smoke=2, laptop=5, paper=20)),
        [train(problem, horizon, trajectories, i, eta=LARGE_ETA).status for i, problem in enumerate(problems)],
        np.array([problem.means.max() - problem.means.mean() for problem in problems]),
    )  # fmt: skip


def equal_lengths(rows: list[np.ndarray]) -> np.ndarray:
    """Curves of equal length; one that stopped early (diverged) stays at its last value."""
    longest = max(row.size for row in rows)
    return np.stack([np.pad(row, (0, longest - row.size), mode="edge") for row in rows])


def gradient_of_reward(problems: list[Linear], horizon: int, trajectories: int) -> pd.DataFrame:
    """g / T at fixed betas, without the widths (where the reward alone, eta = 0, would push beta) and with them; and the regret there."""
    rows = []
    for beta in BETAS:
        row = {"beta": beta}
        for label, eta in (("gradient", 0.0), ("with eta", OFFLINE_ETA)):
            trainings = [train(q, horizon, trajectories, i, eta=eta, step=0.0, beta0=beta) for i, q in enumerate(problems)]
            slope, cost = estimate([f.gradient.mean() for f in trainings]), estimate([f.regret.mean() for f in trainings])
            row |= {label: slope.value, f"{label} se": slope.se, "regret": cost.value, "regret se": cost.se}
        rows.append(row)
    return pd.DataFrame(rows)


def score(curves: LearningCurves) -> list[Row]:
    """Beta and regret settle, at one place whatever the start; the gradient has an optimum; a large eta diverges."""
    beta, regret = curves.offline[USUAL_START]
    online, rounds = curves.online, curves.online.rounds
    learned = {start: online.watched[online_from(start)]["beta"] for start in STARTS}
    final = {start: online.regret[online_from(start)] for start in STARTS}
    return [
        drift("beta-converges", "beta settles offline", beta, "of the trajectories"),
        same_end("beta offline", {start: tail(curve[0]) for start, curve in curves.offline.items()}),
        drift("beta-converges", "beta settles online", learned[USUAL_START], "of the checkpoints"),
        same_end("beta online", {start: tail(curve) for start, curve in learned.items()}),
        drift("regret-converges", "the regret of a trajectory settles offline", regret, "of the trajectories"),
        same_end("the regret of a trajectory offline", {s: tail(curve[1]) for s, curve in curves.offline.items()}),
        rate(rounds, final[USUAL_START]),
        same_end("R_T online", {start: curve[:, -1] for start, curve in final.items()}),
        *optimum(curves.gradients),
        *beginning_rows(rounds, final[USUAL_START], curves.uniform),
        divergence(curves.statuses),
        divergence_online(online.watched[LARGE_ETA_POLICY]["beta"], 2 * horizon_radius(NOISE, 0.1, D, int(rounds[-1]), 1.0, 1.0)),
    ]


def tail(curves: np.ndarray) -> np.ndarray:
    """(instances,) mean of the last sixth."""
    return np.asarray(curves[:, -max(1, curves.shape[1] // 6) :].mean(axis=1))


def same_end(what: str, ends: dict[float, np.ndarray]) -> Row:
    """Whether the mean end from every other start is within SETTLED_SHARE of that from USUAL_START."""
    means = {start: float(values.mean()) for start, values in ends.items()}
    close = [abs(mean / means[USUAL_START] - 1) <= SETTLED_SHARE for start, mean in means.items() if start != USUAL_START]
    ours = ", ".join(f"{mean:.3g} from {start:g}" for start, mean in means.items())
    text = f"{what} ends at one place from every start of beta (within {SETTLED_SHARE:.0%} of that from {USUAL_START:g})"
    remark = "At a large start no arm is in L, gamma is 0, and only eta moves beta."
    return row_of(OURS, text, "–", ours, every(close), remark=remark)


def beginning_rows(rounds: np.ndarray, curves: np.ndarray, uniform: np.ndarray) -> list[Row]:
    """Online, the first rounds cost what uniform ones do, the last ones a fraction of it."""
    early = int(np.searchsorted(rounds, 16))
    late = int(np.searchsorted(rounds, 3 * rounds[-1] / 4))
    first = curves[:, early] / rounds[early]
    last = (curves[:, -1] - curves[:, late]) / (rounds[-1] - rounds[late])
    like, left = ratio(first, uniform), ratio(last, first)
    key = "online-starts-uniformly"
    return [
        row_of(key, f"regret per round over the first {rounds[early]} rounds, as a multiple of uniform play", "uniform", like,
               near(like, 1.0, 0.1)),
        row_of(key, "regret per round in the last quarter, as a share of that at first", "under control", left,
               below(left, CALM_SHARE, partly=1.0)),
    ]  # fmt: skip


def drift(key: str, text: str, curves: np.ndarray, unit: str) -> Row:
    """Whether the last sixth and the one before have the same mean, up to SETTLED_SHARE."""
    n = max(1, curves.shape[1] // 6)
    late, before = curves[:, -n:].mean(axis=1), curves[:, -2 * n : -n].mean(axis=1)
    change = estimate((late - before) / before.mean())
    ours, text = f"{change.value:+.1%} ± {change.se:.1%}", f"{text} (drift between the last two sixths {unit})"
    return row_of(key, text, "converges", ours, at_most(abs(change.value), SETTLED_SHARE))


def rate(rounds: np.ndarray, curves: np.ndarray) -> Row:
    """Whether the regret per round of the last quarter is below that of the first."""
    quarter = int(np.searchsorted(rounds, rounds[-1] / 4))
    late = int(np.searchsorted(rounds, 3 * rounds[-1] / 4))
    first = curves[:, quarter] / rounds[quarter]
    last = (curves[:, -1] - curves[:, late]) / (rounds[-1] - rounds[late])
    ours = f"{last.mean():.3g} a round at the end, {first.mean():.3g} at first"
    text = "the regret settles online (regret per round of the last quarter minus the first)"
    return row_of("regret-converges", text, "converges", ours, below(paired_mean(last, first)), remark="The first phase plays uniformly.")


def optimum(table: pd.DataFrame) -> list[Row]:
    """Whether the gradient changes sign, so that ascent has a maximum: that of Eq 11 with eta, and that of the reward alone."""

    def row(key: str, text: str, column: str, paper: str, remark: str) -> Row:
        judgement = both_signs([Estimate(*pair) for pair in zip(table[column], table[f"{column} se"], strict=True)])
        return row_of(key, text, paper, ", ".join(f"{g:.3g} at {b:g}" for b, g in zip(table["beta"], table[column], strict=True)),
                      judgement, remark=remark)  # fmt: skip

    return [
        row("local-optimum", "the gradient of Eq 11 changes sign on a grid of betas", "with eta", "converges to a local optimum",
            "It is the optimum of reward and widths together, at a place that eta sets."),
        row("beta-maximises-reward", "the gradient of the reward alone (eta = 0) changes sign on a grid of betas", "gradient",
            "maximises reward", "The estimator ignores what playing an arm teaches: only eta keeps beta from falling."),
    ]  # fmt: skip


def divergence(statuses: list[str]) -> Row:
    count, total = sum(status.startswith("diverged") for status in statuses), len(statuses)
    text = f"with a large eta ({LARGE_ETA:g}) gradient ascent fails to converge"
    return row_of("large-eta-fails", text, "fails", f"diverges in {count} of {total} instances", most_of(count, total))


def divergence_online(beta: np.ndarray, most: float) -> Row:
    """In how many instances does beta end above twice that of Eq 5, where offline training is cut off, too?"""
    last, before = tail(beta), tail(beta[:, : -max(1, beta.shape[1] // 6)])
    count, total = int((beta[:, -1] > most).sum()), len(beta)
    text = f"with an online eta as many times too large, beta ends above {most:.2f}, twice that of Eq 5, which counts as diverged"
    drift = last.mean() / before.mean() - 1
    ours = f"{count} of {total} instances; {last.mean():.3g} in the last sixth, {drift:+.0%} against the one before"
    return row_of("large-eta-fails", text, "fails", ours, most_of(count, total))


def tables(curves: LearningCurves) -> dict[str, pd.DataFrame]:
    return {"gradient at fixed betas": curves.gradients}


def plot(curves: LearningCurves) -> dict[str, Figure]:
    online, rounds = curves.online, curves.online.rounds
    label = {start: f"from beta = {start:g}" for start in STARTS}
    learned = {label[start]: online.watched[online_from(start)]["beta"] for start in STARTS}
    regret = {label[start]: online.regret[online_from(start)] for start in STARTS}
    offline = [{label[start]: curve[part] for start, curve in curves.offline.items()} for part in (0, 1)]
    return {
        "offline": side_by_side(offline[0], offline[1], "trajectory", "regret of the trajectory"),
        "online": side_by_side(learned, regret, "round", "cumulative regret", rounds),
    }


def side_by_side(
    betas: dict[str, np.ndarray], regrets: dict[str, np.ndarray], unit: str, label: str, rounds: np.ndarray | None = None
) -> Figure:
    """Curves of beta and of the regret; rounds: of both, else they are counted."""
    fig, axes = style.figure(2)
    for ax, curves, name in zip(axes, (betas, regrets), ("beta", label), strict=True):
        looks = style.Palette()
        for which, values in curves.items():
            x = np.arange(values.shape[1]) if rounds is None else rounds
            draw_bands(ax, x, {which: values}, palette=looks)
        ax.set_xlabel(unit)
        ax.set_ylabel(name)
        ax.set_ylim(bottom=0)
    style.legend(axes[-1])
    return fig


def notes(curves: LearningCurves) -> str:
    instances, horizon = curves.online.replications, curves.online.rounds[-1]
    return f"Means over {instances} instances, d = {D}, sigma = {NOISE:g}, T = {horizon}, bands of two standard errors."
