"""Figure 1: learning curves of beta and of the regret, and what the gradient asks for. Table 1:
beta by horizon and dimension."""

import functools
import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Result, policies as p
from tightrope.numerics.counts import horizon_radius
from tightrope.plots import style
from tightrope.plots.figures import draw_bands
from tightrope.problems import Linear

from ..experiment import Run
from ..scoring import (
    OURS,
    Estimate,
    Row,
    Rows,
    above,
    at_most,
    below,
    both_signs,
    estimate,
    every,
    judged,
    most as most_of,
    near,
    paired_mean,
    ratio,
    row_of,
)
from .comparison import (
    LARGE_ETA,
    OFFLINE_ETA,
    ONLINE_ETA,
    ONLINE_STEP,
    SIGMAS,
    STARTS,
    WatchBeta,
    synthetic,
    train,
)

D, NOISE = 10, SIGMAS["0.5"]
SETTLED_SHARE = 0.1
CALM_SHARE = 0.25  # of the regret per round at first: what "under control" leaves at most
BETAS = (0.25, 0.5, 1.0, 2.0, 3.0)
USUAL_START = 1.0  # the start that the other figures use
LARGE_ETA_POLICY = "online, large eta"
Curve = tuple[np.ndarray, np.ndarray]  # (instances, n) beta and regret


class LearningCurves(NamedTuple):
    """By start: offline training by trajectory, and online learning by checkpoint; the side
    experiments."""

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
        trained = [
            train(problem, horizon, trajectories, i, beta0=start)
            for i, problem in enumerate(problems)
        ]
        offline[start] = (
            equal_lengths([one.path for one in trained]),
            equal_lengths([one.regret for one in trained]),
        )
    soft = functools.partial(p.SoftUCB, online=True, step=ONLINE_STEP, noise=NOISE)
    policies = {online_from(start): soft(beta=start, eta=ONLINE_ETA) for start in STARTS}
    policies[LARGE_ETA_POLICY] = soft(eta=ONLINE_ETA * LARGE_ETA / OFFLINE_ETA)
    checkpoints = np.unique(np.linspace(1, horizon, min(horizon, 64)).astype(int))
    online = run.simulate(
        "fig1-online",
        problems,
        policies,
        horizon=horizon,
        replications=instances,
        checkpoints=checkpoints,
        monitor=WatchBeta(),
    )
    return LearningCurves(
        offline,
        online,
        gradient_of_reward(problems, horizon, run.at(smoke=2, laptop=5, paper=20)),
        [
            train(problem, horizon, trajectories, i, eta=LARGE_ETA).status
            for i, problem in enumerate(problems)
        ],
        np.array([problem.means.max() - problem.means.mean() for problem in problems]),
    )


def equal_lengths(rows: list[np.ndarray]) -> np.ndarray:
    """Curves of equal length; one that stopped early (diverged) stays at its last value."""
    longest = max(row.size for row in rows)
    return np.stack([np.pad(row, (0, longest - row.size), mode="edge") for row in rows])


def gradient_of_reward(problems: list[Linear], horizon: int, trajectories: int) -> pd.DataFrame:
    """g / T at fixed betas, without the widths (where the reward alone, eta = 0, would push beta)
    and with them; and the regret there."""
    rows = []
    for beta in BETAS:
        row = {"beta": beta}
        for label, eta in (("gradient", 0.0), ("with eta", OFFLINE_ETA)):
            trainings = [
                train(q, horizon, trajectories, i, eta=eta, step=0.0, beta0=beta)
                for i, q in enumerate(problems)
            ]
            slope, cost = (
                estimate([f.gradient.mean() for f in trainings]),
                estimate([f.regret.mean() for f in trainings]),
            )
            row |= {
                label: slope.value,
                f"{label} se": slope.se,
                "regret": cost.value,
                "regret se": cost.se,
            }
        rows.append(row)
    return pd.DataFrame(rows)


def score(curves: LearningCurves) -> list[Row]:
    beta, regret = curves.offline[USUAL_START]
    online, rounds = curves.online, curves.online.rounds
    learned = {start: online.watched[online_from(start)]["beta"] for start in STARTS}
    final = {start: online.regret[online_from(start)] for start in STARTS}
    return [
        drift("beta-converges", "beta settles offline", beta, "of the trajectories"),
        same_end(
            "beta offline", {start: tail(curve[0]) for start, curve in curves.offline.items()}
        ),
        drift("beta-converges", "beta settles online", learned[USUAL_START], "of the checkpoints"),
        same_end("beta online", {start: tail(curve) for start, curve in learned.items()}),
        drift(
            "regret-converges",
            "the regret of a trajectory settles offline",
            regret,
            "of the trajectories",
        ),
        same_end(
            "the regret of a trajectory offline",
            {s: tail(curve[1]) for s, curve in curves.offline.items()},
        ),
        rate(rounds, final[USUAL_START]),
        same_end("R_T online", {start: curve[:, -1] for start, curve in final.items()}),
        optimum(curves.gradients),
        *beginning_rows(rounds, final[USUAL_START], curves.uniform),
        divergence(curves.statuses),
        divergence_online(
            online.watched[LARGE_ETA_POLICY]["beta"],
            2 * horizon_radius(NOISE, 0.1, D, int(rounds[-1]), 1.0, 1.0),
        ),
    ]


def tail(curves: np.ndarray) -> np.ndarray:
    """(instances,) mean of the last sixth."""
    return np.asarray(curves[:, -max(1, curves.shape[1] // 6) :].mean(axis=1))


def same_end(what: str, ends: dict[float, np.ndarray]) -> Row:
    means = {start: float(values.mean()) for start, values in ends.items()}
    close = [
        abs(mean / means[USUAL_START] - 1) <= SETTLED_SHARE
        for start, mean in means.items()
        if start != USUAL_START
    ]
    ours = ", ".join(f"{mean:.3g} from {start:g}" for start, mean in means.items())
    return row_of(
        OURS,
        f"{what} ends at one place from every start of beta (within {SETTLED_SHARE:.0%} of that "
        f"from {USUAL_START:g})",
        "–",
        ours,
        every(close),
        remark="At a large start no arm is in L, gamma is 0, and only eta moves beta.",
    )


def beginning_rows(rounds: np.ndarray, curves: np.ndarray, uniform: np.ndarray) -> list[Row]:
    early = int(np.searchsorted(rounds, 16))
    late = int(np.searchsorted(rounds, 3 * rounds[-1] / 4))
    first = curves[:, early] / rounds[early]
    last = (curves[:, -1] - curves[:, late]) / (rounds[-1] - rounds[late])
    like, left = ratio(first, uniform), ratio(last, first)
    key = "online-starts-uniformly"
    return [
        row_of(
            key,
            f"regret per round over the first {rounds[early]} rounds, as a multiple of uniform "
            "play",
            "uniform",
            like,
            near(like, 1.0, 0.1),
        ),
        row_of(
            key,
            "regret per round in the last quarter, as a share of that at first",
            "under control",
            left,
            below(left, CALM_SHARE, partly=1.0),
        ),
    ]


def drift(key: str, text: str, curves: np.ndarray, unit: str) -> Row:
    n = max(1, curves.shape[1] // 6)
    late, before = curves[:, -n:].mean(axis=1), curves[:, -2 * n : -n].mean(axis=1)
    change = estimate((late - before) / before.mean())
    ours, text = (
        f"{change.value:+.1%} ± {change.se:.1%}",
        f"{text} (drift between the last two sixths {unit})",
    )
    return row_of(key, text, "converges", ours, at_most(abs(change.value), SETTLED_SHARE))


def rate(rounds: np.ndarray, curves: np.ndarray) -> Row:
    """Whether the regret per round of the last quarter is below that of the first."""
    quarter = int(np.searchsorted(rounds, rounds[-1] / 4))
    late = int(np.searchsorted(rounds, 3 * rounds[-1] / 4))
    first = curves[:, quarter] / rounds[quarter]
    last = (curves[:, -1] - curves[:, late]) / (rounds[-1] - rounds[late])
    return row_of(
        "regret-converges",
        "the regret settles online (regret per round of the last quarter minus the first)",
        "converges",
        f"{last.mean():.3g} a round at the end, {first.mean():.3g} at first",
        below(paired_mean(last, first)),
        remark="The first phase plays uniformly.",
    )


def optimum(table: pd.DataFrame) -> Row:
    """Whether the gradient of Eq 11 changes sign, so that ascent has a maximum."""
    slopes = list(zip(table["with eta"], table["with eta se"], strict=True))
    return row_of(
        "local-optimum",
        "the gradient of Eq 11 changes sign on a grid of betas",
        "converges to a local optimum",
        ", ".join(f"{g:.3g} at {b:g}" for b, (g, _) in zip(table["beta"], slopes, strict=True)),
        both_signs([Estimate(*slope) for slope in slopes]),
        remark="It is the optimum of reward and widths together, at a place that eta sets.",
    )


def divergence(statuses: list[str]) -> Row:
    count, total = sum(status.startswith("diverged") for status in statuses), len(statuses)
    return row_of(
        "large-eta-fails",
        f"with a large eta ({LARGE_ETA:g}) gradient ascent fails to converge",
        "fails",
        f"diverges in {count} of {total} instances",
        most_of(count, total),
    )


def divergence_online(beta: np.ndarray, most: float) -> Row:
    last, before = tail(beta), tail(beta[:, : -max(1, beta.shape[1] // 6)])
    count, total = int((beta[:, -1] > most).sum()), len(beta)
    drift = last.mean() / before.mean() - 1
    return row_of(
        "large-eta-fails",
        f"with an online eta as many times too large, beta ends above {most:.2f}, twice that of "
        "Eq 5, which counts as diverged",
        "fails",
        f"{count} of {total} instances; {last.mean():.3g} in the last sixth, {drift:+.0%} against "
        "the one before",
        most_of(count, total),
    )


def tables(curves: LearningCurves) -> dict[str, pd.DataFrame]:
    return {"gradient at fixed betas": curves.gradients}


def plot(curves: LearningCurves) -> dict[str, Figure]:
    online, rounds = curves.online, curves.online.rounds
    label = {start: f"from beta = {start:g}" for start in STARTS}
    learned = {label[start]: online.watched[online_from(start)]["beta"] for start in STARTS}
    regret = {label[start]: online.regret[online_from(start)] for start in STARTS}
    offline = [
        {label[start]: curve[part] for start, curve in curves.offline.items()} for part in (0, 1)
    ]
    return {
        "offline": side_by_side(offline[0], offline[1], "trajectory", "regret of the trajectory"),
        "online": side_by_side(learned, regret, "round", "cumulative regret", rounds),
    }


def side_by_side(
    betas: dict[str, np.ndarray],
    regrets: dict[str, np.ndarray],
    unit: str,
    label: str,
    rounds: np.ndarray | None = None,
) -> Figure:
    fig, axes = style.figure(2)
    for ax, curves, name in zip(axes, (betas, regrets), ("beta", label), strict=True):
        looks = style.Palette()
        for which, values in curves.items():
            x = np.arange(values.shape[1]) if rounds is None else rounds
            draw_bands(ax, x, {which: values}, palette=looks)
        ax.set(xlabel=unit, ylabel=name)
        ax.set_ylim(bottom=0)
    style.legend(axes[-1])
    return fig


notes = f"Means over instances, d = {D}, sigma = {NOISE:g}, bands of two standard errors."


# Table 1: the learned beta beside the theoretical one, by horizon and dimension; Appendix F: its
# learning curves.


Cell = tuple[int, int]  # d, T
PRINTED_BETAS: dict[Cell, tuple[float, float]] = {  # beta-hat, beta-tilde
    (5, 2**8): (0.5, 2.56),
    (5, 2**9): (0.6, 2.66),
    (5, 2**10): (0.9, 2.76),
    (10, 2**10): (1.1, 3.25),
    (15, 2**10): (1.2, 3.61),
}
TABLE1_NOISE = SIGMAS["sqrt(0.1)"]  # the one that gives the paper's beta-tilde
ETAS: dict[Cell, float] = {
    (5, 2**8): 0.002,
    (5, 2**9): 0.002,
    (5, 2**10): 0.003,
    (10, 2**10): 0.005,
    (15, 2**10): 0.006,
}
CLOSE_SHARE = 0.25
SPREAD = 0.1  # of beta-hat between instances, as a share of its mean: "highly data-dependent"
SECOND_SEED_STEP = 500_000  # added to the seed of a second training on the same instance
INSTANCES_TWICE = 80  # are trained a second time


class LearnedBetas(NamedTuple):
    """By cell: beta by trajectory, its ends after a second training on other noise, and the runs
    with the first ends."""

    paths: dict[Cell, np.ndarray]  # (instances, trajectories + 1)
    second_ends: dict[Cell, np.ndarray]  # (at most INSTANCES_TWICE,), of the cells with T = 2^10
    regrets: dict[Cell, np.ndarray]  # (instances, trajectories) of each trajectory
    results: dict[Cell, Result]


def theory(cell: Cell) -> float:
    d, T = cell
    return horizon_radius(TABLE1_NOISE, 0.1, d, T, 1.0, 1.0)


def table1_data(run: Run) -> LearnedBetas:
    instances, trajectories = run.at(smoke=(3, 6), laptop=(100, 30), paper=(300, 60))
    runs = LearnedBetas({}, {}, {}, {})
    for d, T in PRINTED_BETAS:
        problems = [synthetic(run.seed, i, d, TABLE1_NOISE) for i in range(instances)]
        trained = [train(q, T, trajectories, i, ETAS[d, T]) for i, q in enumerate(problems)]
        betas = {q.theta.tobytes(): one.beta for q, one in zip(problems, trained, strict=True)}
        runs.paths[d, T], runs.regrets[d, T] = (
            equal_lengths([one.path for one in trained]),
            equal_lengths([one.regret for one in trained]),
        )
        if T == 2**10:
            runs.second_ends[d, T] = np.array(
                [
                    train(q, T, trajectories, SECOND_SEED_STEP + i, ETAS[d, T]).beta
                    for i, q in enumerate(problems[:INSTANCES_TWICE])
                ]
            )
        runs.results[d, T] = run.simulate(
            f"table1-{d}-{T}",
            problems,
            {
                "SoftUCB": lambda q, b=betas: p.SoftUCB(beta=b[q.theta.tobytes()]),
                "LinUCB, same beta": lambda q, b=betas: p.LinUCB(beta=b[q.theta.tobytes()]),
                "LinUCB, Eq 5": p.LinUCB(width="theorem", noise=TABLE1_NOISE),
            },
            horizon=T,
            replications=instances,
        )
    return runs


def table1_score(runs: LearnedBetas) -> Rows:
    hats = {cell: path[:, -1] for cell, path in runs.paths.items()}
    yield from [theories()]
    for cell, values in hats.items():
        where, mean, tilde = f"d = {cell[0]}, T = {cell[1]}", estimate(values), theory(cell)
        paper, printed = PRINTED_BETAS[cell]
        yield row_of(
            "beta-below-theory",
            f"beta-hat < beta-tilde, {where}",
            f"{paper} < {printed}",
            f"{mean.value:.2f} < {tilde:.2f}",
            below(mean, tilde),
            se=mean.se,
        )
        remark = "Depends on eta and on the instance; neither is given."
        yield row_of(
            "table1-beta-hat",
            f"beta-hat, {where}",
            paper,
            mean,
            near(mean, paper, CLOSE_SHARE),
            remark=remark,
        )
        yield drift(
            "beta-converges",
            f"beta settles offline, {where}",
            runs.paths[cell],
            "of the trajectories",
        )
    for text, low, high, remark in (
        (
            "beta-hat grows with T (d = 5)",
            (5, 2**8),
            (5, 2**10),
            "Few trajectories leave beta near its start.",
        ),
        (
            "beta-hat grows with d (T = 1024)",
            (5, 2**10),
            (15, 2**10),
            "The paper tunes eta for each cell and does not give it.",
        ),
    ):
        growth = paired_mean(hats[high], hats[low])
        yield row_of(
            "table1-growth",
            text,
            f"{PRINTED_BETAS[low][0]} to {PRINTED_BETAS[high][0]}",
            f"{hats[low].mean():.2f} to {hats[high].mean():.2f}",
            above(growth),
            se=growth.se,
            remark=remark,
        )
    yield adapts({cell: (hats[cell][: ends.size], ends) for cell, ends in runs.second_ends.items()})


def theories() -> Row:
    """Beta-tilde of all cells, cut off after two digits as the print is."""
    ours = {cell: math.floor(100 * theory(cell)) / 100 for cell in PRINTED_BETAS}
    worst = max(abs(value - PRINTED_BETAS[cell][1]) for cell, value in ours.items())
    words = ", ".join(f"{value:.2f}" for value in ours.values())
    printed = ", ".join(f"{tilde:.2f}" for _, tilde in PRINTED_BETAS.values())
    return row_of(
        "table1-beta-tilde",
        "beta-tilde of Eq 5 in all cells, the largest difference judged",
        printed,
        words,
        at_most(round(worst, 9), 0.005),
    )


def adapts(ends: dict[Cell, tuple[np.ndarray, np.ndarray]]) -> Row:
    """Spread of beta-hat between instances that two trainings agree on, as a share of its mean;
    mean over cells."""
    each = [shared_spread(first, second) for first, second in ends.values()]
    return judged(
        "beta-adapts",
        "spread of beta-hat between instances, as far as two trainings share it, over its mean (T "
        "= 1024, mean over d)",
        "highly data-dependent",
        Estimate(
            float(np.mean([one.value for one in each])),
            math.hypot(*(one.se for one in each)) / len(each),
        ),
        above,
        SPREAD,
        partly=0.0,
    )


def shared_spread(first: np.ndarray, second: np.ndarray) -> Estimate:
    """sqrt(covariance over instances) / mean, standard error by the jackknife; the noise of
    training is in neither."""

    def of(a: np.ndarray, b: np.ndarray) -> float:
        covariance = float(np.mean((a - a.mean()) * (b - b.mean())))
        return math.copysign(math.sqrt(abs(covariance)), covariance) / float(
            (a.mean() + b.mean()) / 2
        )

    n = first.size
    left_out = np.array([of(np.delete(first, i), np.delete(second, i)) for i in range(n)])
    return Estimate(
        of(first, second), math.sqrt((n - 1) / n * float(((left_out - left_out.mean()) ** 2).sum()))
    )


def table1_tables(runs: LearnedBetas) -> dict[str, pd.DataFrame]:
    rows = []
    for (d, T), path in runs.paths.items():
        hats = path[:, -1]
        mean, (paper, printed) = estimate(hats), PRINTED_BETAS[d, T]
        row = {
            "d": d,
            "T": T,
            "beta-hat": mean.value,
            "se": mean.se,
            "median": float(np.median(hats)),
            "paper": paper,
            "beta-tilde": theory((d, T)),
            "paper's tilde": printed,
        }
        row["regret in training"] = float(runs.regrets[d, T].sum(axis=1).mean())
        rows.append(
            row
            | {
                f"regret {name}": float(curve[:, -1].mean())
                for name, curve in runs.results[d, T].regret.items()
            }
        )
    return {"beta": pd.DataFrame(rows)}


def table1_plot(runs: LearnedBetas) -> dict[str, Figure]:
    betas, regrets = (
        {f"d = {d}, T = {T}": values for (d, T), values in curves.items()}
        for curves in (runs.paths, runs.regrets)
    )
    figure = side_by_side(betas, regrets, "trajectory", "regret of the trajectory")
    return {"learning": figure}


table1_notes = (
    "Means over instances, sigma = sqrt(0.1), eta by cell "
    f"{', '.join(f'{eta:g}' for eta in ETAS.values())}, step 4 / (1 + n / 20). Table 1 is of one "
    "instance whose noise and eta are not given."
)
