"""MovieLens as a promotion problem: which users should hear of which film?

Some films are held out as promotions; users' features are a truncated singular value decomposition of all other ratings, with a
constant. A promotion's reward is the user's rating of the film, 0 where there is none.
Source: Takemura & Ito 2019, section VII-A2; Harper and Konstan 2015 for the data.
"""

import math
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ...core import checks
from ...core.registry import recipe
from ..promotions import Promotions
from .ratings import movielens_ratings, ratings_file

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

RATERS = (1400 / 138_493, 2800 / 138_493)  # share of the users who rated a promoted film, as in the paper's ML-20M
SCALINGS = ("factor", "raw", "unit")


class MovieLens(NamedTuple):
    """Users and their answers to the promotions; give both to `problems.Promotions`."""

    features: np.ndarray  # (U, rank + 1), the constant last
    rewards: np.ndarray  # (U, M) ratings of the held-out films, 0: unrated
    films: np.ndarray  # (M,) their numbers in the data
    users: np.ndarray  # (U,) numbers of the users in the data


def movielens(
    path: str | os.PathLike[str] | None = None, *, promotions: int = 10, rank: int = 50, power: float = 1.0, scaling: str = "factor",
    raters: tuple[int, int] | None = None, seed: int = 0,
) -> MovieLens:  # fmt: skip
    """Features of all users and their ratings of held-out films.

    The paper says neither the power nor the scaling, and both matter.

    Parameters
    ----------
    path : str or Path
        A file of any MovieLens release, or a folder to look in; default where data sets are kept.
    promotions : int >= 1
        M, how many films to hold out, at random, among those rated by raters[0] to raters[1] users. Default 10.
    rank : int >= 1
        Of the decomposition U S V'; user features are U S^power and a constant 1. Default 50.
    power : float in [0, 1]
        Default 1. Below 1 coordinates are multiplied by one number, so that their mean squared norm is 1, the constant's, however many
        users there are.
    scaling : "factor", "raw" or "unit"
        "factor", the default, divides all features by the largest norm, "raw" leaves them, "unit" gives every user norm 1.
    raters : (int, int)
        Default the paper's 1,400 to 2,800 of 138,493, in proportion to the users at hand.
    seed : int >= 0
        Of the draw of films, default 0.

    Returns
    -------
    MovieLens
        A named tuple with features, rewards, films and users; give the first two to `problems.Promotions`.

    Raises
    ------
    DataNotFound
        Where there are no data.
    """
    from scipy.sparse import csr_matrix  # here, because its import takes long and few need it

    users, films, ratings = _read(os.fspath(ratings_file(path)))
    names, rows = np.unique(users, return_inverse=True)
    titles, columns = np.unique(films, return_inverse=True)
    M = checks.integer("promotions", promotions, least=1, most=titles.size - 1)
    rank = checks.integer("rank", rank, least=1, most=min(names.size, titles.size - M) - 1)
    weight = checks.real("power", power, least=0.0, most=1.0)
    how = SCALINGS[checks.choice("scaling", scaling, SCALINGS)]
    low, high = (RATERS[0] * names.size, RATERS[1] * names.size) if raters is None else raters
    counts = np.bincount(columns)
    fitting = np.flatnonzero((counts >= low) & (counts <= high))
    if fitting.size < M:
        raise ValueError(f"raters = ({low:g}, {high:g}) fits {fitting.size} films, but promotions = {M} are needed; widen it.")
    promoted = np.sort(np.random.default_rng(np.random.SeedSequence(seed)).choice(fitting, M, replace=False))
    matrix = csr_matrix((ratings, (rows, columns)), shape=(names.size, titles.size))
    rewards = matrix[:, promoted].toarray()
    coordinates = left_coordinates(matrix[:, np.setdiff1d(np.arange(titles.size), promoted)], rank)
    if weight < 1.0:
        coordinates *= np.linalg.norm(coordinates, axis=0) ** (weight - 1.0)  # the columns' norms are the singular values
        coordinates /= math.sqrt(float((coordinates**2).sum(axis=1).mean()))
    features = np.column_stack([coordinates, np.ones(names.size)])
    norms = np.linalg.norm(features, axis=1)
    if how != "raw":
        features /= norms.max() if how == "factor" else norms[:, None]
    return MovieLens(features, rewards, titles[promoted], names)


@recipe("movielens")
def movielens_promotions(
    k: int, promotions: int = 10, rank: int = 50, scaling: Literal["factor", "raw", "unit"] = "factor",
    raters: tuple[int, int] | None = None, shown: int | None = None, seed: int = 0, data: str | None = None,
) -> Promotions:  # fmt: skip
    """Promotions to k users each, with the features and ratings of `movielens`: what a spec may ask for."""
    movies = movielens(data, promotions=promotions, rank=rank, scaling=scaling, raters=raters, seed=seed)
    return Promotions(movies.features, movies.rewards, k, shown=shown)


def left_coordinates(matrix: "csr_matrix", rank: int) -> np.ndarray:
    """(U, rank) coordinates U S of the rows, largest singular value first; the same for every run."""
    from scipy.sparse.linalg import svds

    left, singular, _ = svds(matrix.astype(np.float64), k=rank, v0=np.ones(min(matrix.shape)))
    order = np.argsort(-singular)
    coordinates = left[:, order] * singular[order]
    return coordinates * np.where(coordinates[np.abs(coordinates).argmax(axis=0), np.arange(rank)] < 0, -1.0, 1.0)


@lru_cache(maxsize=2)
def _read(path: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    users, films, ratings = movielens_ratings(path)
    return np.asarray(users), np.asarray(films), np.asarray(ratings, dtype=np.float64)
