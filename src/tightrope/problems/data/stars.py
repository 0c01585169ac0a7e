"""MovieLens stars as a cold-start problem: which of the most rated films does a new user like best?

The most rated films are the arms, the users those who rated enough of them. Ratings r become (r - 1) / 4, an unrated film gets
its mean; a factorisation at a given rank gives films' features (right singular vectors) and users' theta (coordinates). Users
whose means leave [0, 1] are not drawn. The counterpart of `jester`; Yang & Toni 2020 name the data, not the construction.
Source of the data: Harper and Konstan 2015.
"""

import os
from functools import lru_cache

import numpy as np

from ...core import checks
from ...core.registry import recipe
from ..linear import Linear
from .ratings import movielens_ratings, ratings_file

LOWEST, HIGHEST = 1.0, 5.0
TOLERANCE = 1e-9  # by how much rounding may carry a mean out of [0, 1]


@recipe("movielens-stars")
def movielens_stars(
    users: int = 40, *, films: int = 50, rank: int = 10, least: float = 0.5, noise: float = 0.25, seed: int = 0,
    data: str | os.PathLike[str] | None = None,
) -> list[Linear]:  # fmt: skip
    """One `Linear` problem per user of MovieLens: the most rated films with (films, rank) features, means in [0, 1], Gaussian noise.

    Parameters
    ----------
    users : int >= 1
        How many, drawn without replacement. Default 40.
    films : int >= 1
        K, the arms. Default 50.
    rank : int >= 1
        Of the factorisation, default 10.
    least : float in (0, 1]
        Share of the films that a user must have rated, default 0.5.
    noise : float >= 0
        Standard deviation of a reward, default 0.25, which is one star.
    seed : int >= 0
        Of the draw of users, default 0.
    data : str or Path
        A file of any MovieLens release with stars, or a folder to look in.

    Returns
    -------
    list of Linear

    Raises
    ------
    DataNotFound
        Where there are no data.
    """
    films = checks.integer("films", films, least=1)
    rank = checks.integer("rank", rank, least=1, most=films)
    least = checks.real("least", least, above=0, most=1)
    features, thetas = _factorise(os.fspath(ratings_file(data)), films, rank, least)
    users = checks.integer("users", users, least=1, most=thetas.shape[0])
    chosen = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(films,))).choice(thetas.shape[0], size=users, replace=False)
    return [Linear(features, thetas[user], noise=noise) for user in chosen]


def popular(data: str, films: int) -> np.ndarray:
    """(users, films) stars of the most rated films, NaN where there is none."""
    user, film, stars = movielens_ratings(data)
    if np.ptp(stars) == 0.0:
        raise ValueError(f"data = {data!r} has no stars, every rating is {stars[0]:g}; pass a release with ratings from 1 to 5.")
    titles, columns, counts = np.unique(film, return_inverse=True, return_counts=True)
    if titles.size < films:
        raise ValueError(f"films = {films} is more than the {titles.size} in the data.")
    top = np.sort(np.argsort(-counts, kind="stable")[:films])
    place = np.full(titles.size, -1)
    place[top] = np.arange(films)
    names, rows = np.unique(user, return_inverse=True)
    table = np.full((names.size, films), np.nan)
    kept = place[columns] >= 0
    table[rows[kept], place[columns[kept]]] = stars[kept]
    return table


@lru_cache(maxsize=4)
def _factorise(data: str, films: int, rank: int, least: float) -> tuple[np.ndarray, np.ndarray]:
    table = (popular(data, films) - LOWEST) / (HIGHEST - LOWEST)
    means = np.nanmean(table, axis=0)
    table = table[np.isfinite(table).mean(axis=1) >= least]
    if table.shape[0] < rank:
        raise ValueError(f"least = {least:g} leaves {table.shape[0]} users, but rank = {rank} needs as many; lower one of them.")
    left, singular, right = np.linalg.svd(np.where(np.isnan(table), means, table), full_matrices=False)
    features, thetas = np.ascontiguousarray(right[:rank].T), left[:, :rank] * singular[:rank]
    values = thetas @ features.T
    return features, thetas[((values >= -TOLERANCE) & (values <= 1.0 + TOLERANCE)).all(axis=1)]
