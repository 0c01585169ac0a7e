"""The paper's algorithms with its grids, and how the best of a grid is chosen."""

import functools
import itertools
import math
import pathlib
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from tightrope import oracles, policies
from tightrope.extend import Monitor, Policy, SetValue, integer, monitor
from tightrope.problems import Promotions, SemiBandit
from tightrope.problems.data import DataNotFound, MovieLens, find, movielens

from ..experiment import Run, generator, unit_vector

GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
ARM_WISE = ("PC2UCB", "arm-wise TS")
BASELINES = ("greedy", "CombLinUCB", "CombLinTS", "C2UCB", "round-wise TS")
PAIRS = {
    "PC2UCB": "C2UCB",
    "arm-wise TS": "round-wise TS",
}  # what each arm-wise algorithm is without the technique
NAMES = ("greedy", "CombLinUCB", "CombLinTS", "C2UCB", "PC2UCB", "round-wise TS", "arm-wise TS")


def grid(
    name: str,
    values: tuple[float, ...],
    ties: Literal["index", "random"] = "index",
    c: tuple[float, ...] | None = None,
) -> list[Policy]:
    """All settings of one algorithm that differ. c: CombLinUCB's third grid, default the same
    values."""
    p = policies
    pairs = list(itertools.product(values, values))
    grids: dict[str, Callable[[], list[Policy]]] = {
        "greedy": lambda: [p.CombGreedy(lam=a, ties=ties) for a in values],
        "CombLinUCB": lambda: differing_settings(
            [
                p.CombLinUCB(prior_scale=a**0.5, noise=b**0.5, c=width, ties=ties)
                for a, b in pairs
                for width in (values if c is None else c)
            ]
        ),
        "CombLinTS": lambda: [
            p.CombLinTS(prior_scale=a**0.5, noise=b**0.5, ties=ties) for a, b in pairs
        ],
        "C2UCB": lambda: [p.C2UCB(lam=a, alpha=b, ties=ties) for a, b in pairs],
        "PC2UCB": lambda: [p.PC2UCB(lam=a, alpha=b, ties=ties) for a, b in pairs],
        "round-wise TS": lambda: [p.CombTS(lam=a, v=b, ties=ties) for a, b in pairs],
        "arm-wise TS": lambda: [
            p.CombTS(lam=a, v=b, randomization="arm", ties=ties) for a, b in pairs
        ],
    }
    return grids[name]()


def differing_settings(settings: list[policies.CombLinUCB]) -> list[Policy]:
    """Those without the ones that choose as an earlier one does: they are C2UCB with lam = noise^2
    / prior_scale^2 and alpha = c noise."""
    distinct: dict[tuple[float, float], Policy] = {}
    for setting in settings:
        decades = (
            math.log10(setting.noise / setting.prior_scale),
            math.log10(setting.c * setting.noise),
        )
        distinct.setdefault((round(decades[0], 6), round(decades[1], 6)), setting)
    return list(distinct.values())


def best(values: np.ndarray) -> int:
    """Row of (settings, trials) with the largest mean: the paper's choice."""
    return int(values.mean(axis=1).argmax())


def share_of(first: np.ndarray, second: np.ndarray) -> float:
    return float((first - second).mean() / second.mean())


# Ten clusters of equal arms, and a monitor of the clusters that sets are chosen from.


DIMENSION = 11
CLUSTERS = DIMENSION - 1


def clustered_world(
    angle: float,
    *,
    seed: int,
    arms: int = 2000,
    k: int = 100,
    jitter: float = 0.0,
    tiers: bool = False,
) -> SemiBandit:
    """Clusters (cos a, 0, .., sin a at place i, .., 0), i = 2..11, of arms / 10 arms each; rewards
    -1 or 1 with mean theta'x.

    theta: uniform on the unit sphere, drawn from seed. jitter: standard deviation of noise on every
    feature, which leaves no ties. tiers: cluster j has norm 1 - 0.001 j, so that clusters are never
    tied. Norms stay at or below 1.
    """
    rng = generator(seed, 2)
    theta = unit_vector(rng, DIMENSION)
    cluster = np.arange(arms) // (arms // CLUSTERS)
    features = np.zeros((arms, DIMENSION))
    features[:, 0] = np.cos(angle)
    features[np.arange(arms), 1 + cluster] = np.sin(angle)
    if tiers:
        features *= (1 - 0.001 * cluster)[:, None]
    if jitter:
        features += jitter * rng.standard_normal(features.shape)
        features /= max(1.0, float(np.linalg.norm(features, axis=1).max()))
    return SemiBandit(features, theta, oracles.TopK(k), rewards="sign")


@monitor
class Clusters(Monitor):
    """Records of each checkpoint's round from how many clusters of equal size its set is and how
    many of its arms are of the best one.

    watched[name] holds clusters and best, (replications, n).
    """

    size: int = integer(least=1)  # arms of a cluster

    def begin(self, arms, n_checkpoints):
        return Tally(np.zeros(n_checkpoints), np.zeros(n_checkpoints))

    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        if checkpoint >= 0:
            best = int(np.argmax(problem.means)) // self.size
            tally.clusters[checkpoint] = np.unique(action // self.size).size
            tally.best[checkpoint] = (action // self.size == best).sum()


class Tally(NamedTuple):
    clusters: np.ndarray  # (n,)
    best: np.ndarray  # (n,)


# Sending films as promotions to MovieLens users: the runs of Table I, part of which Figure 4 draws.


READINGS = {
    "U": 0.0,
    "U sqrt(S)": 0.5,
    "U S": 1.0,
}  # of the users' features: powers of the singular values
PAPERS_READING = (
    "U"  # as which the paper is read: its Figure 3 says that many users are almost orthogonal
)
PAPERS_DATA = ("ml-20m",)
ROUNDS, PROMOTIONS, USERS_PER_K = 20, 10, 100
SIZES = (50, 100, 150, 200)  # k
LARGE_FILES = tuple(
    f"{name}/ratings.{kind}"
    for name in ("ml-20m", "ml-25m", "ml-32m", "ml-10M100K", "ml-10m")
    for kind in ("csv", "dat")
)
MIDDLE_FILES = ("ml-1m/ratings.dat", "movielens/ml1m_implicit.npz")
SMALL_FILES = ("ml-100k/u.data", "movielens/ml100k_stars.npz")
FRESH_SEED = 1000  # of the first trial on which nothing was tuned
NOTES = (
    "Cumulative reward of 20 rounds. At paper scale every algorithm plays its best setting over "
    "the trials themselves, as in the paper; at smaller scales the setting is chosen on other "
    "trials at the first k, CombLinUCB with c = 1. Where a file tells only who rated what, a "
    "reward is 1 or 0. A round shows 100 k users, but no more than there are."
)


class MovieLensRelease(NamedTuple):
    name: str
    path: pathlib.Path
    ks: tuple[int, ...]
    trials: int  # for the reading that claims are judged with; twice as many at paper scale
    others: int  # for the other readings; 0: as many, and below paper scale they are left out


def sources(run: Run) -> list[MovieLensRelease]:
    """The largest release at hand (10M or more), or else ML-1M and ML-100k; at smoke scale ML-100k
    alone."""
    small = MovieLensRelease("ML-100k", find(SMALL_FILES, run.data) or pathlib.Path(), (9,), 40, 20)
    large, middle = find(LARGE_FILES, run.data), find(MIDDLE_FILES, run.data)
    releases = []
    if large is not None:
        releases = [MovieLensRelease(large.parent.name, large, SIZES, 10, 0)]
    elif middle is not None:
        releases = [MovieLensRelease("ML-1M", middle, SIZES, 10, 0)]
    if small.path.is_file():
        releases = [small] if run.scale == "smoke" else [*releases, small]
    if not releases:
        raise DataNotFound(
            "MovieLens is not on this machine; set TIGHTROPE_DATA to a folder with ml-100k, ml-1m "
            "or a larger release."
        )
    return releases


@functools.lru_cache(
    maxsize=2
)  # the trials and those for tuning, which all k and all algorithms share
def trial_data(path: pathlib.Path, reading: str, trials: range) -> list[MovieLens]:
    return [
        movielens(path, promotions=PROMOTIONS, power=READINGS[reading], seed=trial)
        for trial in trials
    ]


def readings(run: Run) -> tuple[str, ...]:
    every = tuple(READINGS)
    return run.at(smoke=every[:1], laptop=every, paper=every)


def sizes(run: Run, source: MovieLensRelease, reading: str) -> tuple[int, ...]:
    """The values of k to play; below paper scale, with other readings than the one that claims are
    judged with, only a cheap first k."""
    if run.scale == "paper" or reading == PAPERS_READING:
        return source.ks
    return source.ks[:1] if source.others else ()


def curves(
    run: Run,
    source: MovieLensRelease,
    k: int,
    reading: str,
    settings: list[Policy],
    trials: range,
    label: str,
) -> np.ndarray:
    """(settings, trials, rounds) cumulative reward."""
    worlds = [
        Promotions(
            data.features, data.rewards, k=k, shown=min(USERS_PER_K * k, data.features.shape[0])
        )
        for data in trial_data(source.path, reading, trials)
    ]
    rows = []
    for number, setting in enumerate(
        settings
    ):  # one at a time: a result counts the pulls of every user and film
        result = run.simulate(
            f"{source.name}-{reading}-{k}/{label.replace(' ', '-')}-{number}",
            worlds,
            {label: setting},
            horizon=ROUNDS,
            replications=len(trials),
            checkpoints=np.arange(1, ROUNDS + 1),
            monitor=SetValue(),
        )
        rows.append(result.watched[label]["value"])
    return np.stack(rows)


def tuned_rewards(
    run: Run, source: MovieLensRelease, k: int, reading: str, name: str, fresh: int = 0
) -> np.ndarray:
    """(trials, rounds) cumulative reward of an algorithm's best setting (see NOTES). fresh: at
    paper scale on so many other trials."""
    settings = grid(
        name,
        run.at(smoke=GRID[1:3], laptop=GRID, paper=GRID),
        c=run.at(smoke=(1.0,), laptop=(1.0,), paper=None),
    )
    own = source.trials if reading == PAPERS_READING else source.others
    trials = range(run.at(smoke=2, laptop=own, paper=2 * (own or source.trials)))
    if run.scale == "paper":
        every = curves(run, source, k, reading, settings, trials, name)
        chosen = best(every[:, :, -1])
        others = range(FRESH_SEED, FRESH_SEED + fresh)
        return (
            curves(run, source, k, reading, [settings[chosen]], others, f"{name} fresh")[0]
            if fresh
            else every[chosen]
        )
    others = range(
        100, 100 + run.at(smoke=1, laptop=2 if reading == PAPERS_READING else 1, paper=0)
    )
    tuning = curves(run, source, source.ks[0], reading, settings, others, f"{name} grid")
    return curves(
        run, source, k, reading, [settings[best(tuning[:, :, -1])]], trials, f"{name} best"
    )[0]


def all_tuned_rewards(
    run: Run, source: MovieLensRelease, k: int, reading: str, fresh: int = 0
) -> dict[str, np.ndarray]:
    return {name: tuned_rewards(run, source, k, reading, name, fresh) for name in NAMES}
