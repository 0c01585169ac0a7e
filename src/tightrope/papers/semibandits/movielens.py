"""Sending films as promotions to MovieLens users: the runs of Table I, part of which Figure 4 draws."""

import functools
import pathlib
from typing import NamedTuple

import numpy as np

from ...core.policy import Policy
from ...problems import Promotions
from ...problems.data import DataNotFound, find
from ...problems.data.movielens import MovieLens, movielens
from ...simulation.monitors import SetValue
from ..experiment import Run
from .settings import GRID, NAMES, best, grid

READINGS = {"U": 0.0, "U sqrt(S)": 0.5, "U S": 1.0}  # of the users' features: powers of the singular values
PAPERS_READING = "U"  # as which the paper is read: its Figure 3 says that many users are almost orthogonal
PAPERS_DATA = ("ml-20m",)
ROUNDS, PROMOTIONS, USERS_PER_K = 20, 10, 100
SIZES = (50, 100, 150, 200)  # k
LARGE_FILES = tuple(f"{name}/ratings.{kind}" for name in ("ml-20m", "ml-25m", "ml-32m", "ml-10M100K", "ml-10m") for kind in ("csv", "dat"))
MIDDLE_FILES = ("ml-1m/ratings.dat", "movielens/ml1m_implicit.npz")
SMALL_FILES = ("ml-100k/u.data", "movielens/ml100k_stars.npz")
FRESH_SEED = 1000  # of the first trial on which nothing was tuned
NOTES = (
    "Cumulative reward of 20 rounds. At paper scale every algorithm plays its best setting over the trials themselves, as in the "
    "paper; at smaller scales the setting is chosen on other trials at the first k, CombLinUCB with c = 1. Where a file tells only "
    "who rated what, a reward is 1 or 0. A round shows 100 k users, but no more than there are."
)


class MovieLensRelease(NamedTuple):
    """A data set at hand and the values of k it has users for."""

    name: str
    path: pathlib.Path
    ks: tuple[int, ...]
    trials: int  # for the reading that claims are judged with; twice as many at paper scale
    others: int  # for the other readings; 0: as many, and below paper scale they are left out


def sources(run: Run) -> list[MovieLensRelease]:
    """The largest release at hand (10M or more), or else ML-1M and ML-100k; at smoke scale ML-100k alone."""
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
        raise DataNotFound("MovieLens is not on this machine; set TIGHTROPE_DATA to a folder with ml-100k, ml-1m or a larger release.")
    return releases


@functools.lru_cache(maxsize=2)  # the trials and those for tuning, which all k and all algorithms share
def trial_data(path: pathlib.Path, reading: str, trials: range) -> list[MovieLens]:
    return [movielens(path, promotions=PROMOTIONS, power=READINGS[reading], seed=trial) for trial in trials]


def readings(run: Run) -> tuple[str, ...]:
    every = tuple(READINGS)
    return run.at(smoke=every[:1], laptop=every, paper=every)


def sizes(run: Run, source: MovieLensRelease, reading: str) -> tuple[int, ...]:
    """The values of k to play; below paper scale, with other readings than the one that claims are judged with, only a cheap first k."""
    if run.scale == "paper" or reading == PAPERS_READING:
        return source.ks
    return source.ks[:1] if source.others else ()


def curves(run: Run, source: MovieLensRelease, k: int, reading: str, settings: list[Policy], trials: range, label: str) -> np.ndarray:
    """(settings, trials, rounds) cumulative reward."""
    worlds = [
        Promotions(data.features, data.rewards, k=k, shown=min(USERS_PER_K * k, data.features.shape[0]))
        for data in trial_data(source.path, reading, trials)
    ]
    rows = []
    for number, setting in enumerate(settings):  # one at a time: a result counts the pulls of every user and film
        result = run.simulate(
            f"{source.name}-{reading}-{k}/{label.replace(' ', '-')}-{number}", worlds, {label: setting}, horizon=ROUNDS,
            replications=len(trials), checkpoints=np.arange(1, ROUNDS + 1), monitor=SetValue(),
        )  # fmt: skip
        rows.append(result.watched[label]["value"])
    return np.stack(rows)


def tuned_rewards(run: Run, source: MovieLensRelease, k: int, reading: str, name: str, fresh: int = 0) -> np.ndarray:
    """(trials, rounds) cumulative reward of an algorithm's best setting (see NOTES). fresh: at paper scale on so many other trials."""
    settings = grid(name, run.at(smoke=GRID[1:3], laptop=GRID, paper=GRID), c=run.at(smoke=(1.0,), laptop=(1.0,), paper=None))
    own = source.trials if reading == PAPERS_READING else source.others
    trials = range(run.at(smoke=2, laptop=own, paper=2 * (own or source.trials)))
    if run.scale == "paper":
        every = curves(run, source, k, reading, settings, trials, name)
        chosen = best(every[:, :, -1])
        others = range(FRESH_SEED, FRESH_SEED + fresh)
        return curves(run, source, k, reading, [settings[chosen]], others, f"{name} fresh")[0] if fresh else every[chosen]
    others = range(100, 100 + run.at(smoke=1, laptop=2 if reading == PAPERS_READING else 1, paper=0))
    tuning = curves(run, source, source.ks[0], reading, settings, others, f"{name} grid")
    return curves(run, source, k, reading, [settings[best(tuning[:, :, -1])]], trials, f"{name} best")[0]


def all_tuned_rewards(run: Run, source: MovieLensRelease, k: int, reading: str, fresh: int = 0) -> dict[str, np.ndarray]:
    return {name: tuned_rewards(run, source, k, reading, name, fresh) for name in NAMES}
