"""Jester as a cold-start problem: which of 40 jokes does a new user like best?

19,181 users rated all of the 40 most rated jokes of Jester's first file. Their ratings r in [-10, 10], scaled to (r + 10) / 20,
are factorised at a given rank; the right singular vectors are the jokes' features, a user's coordinates are theta. Rounding to
rank 35 carries some users' means out of [0, 1]; "mean rewards in [0, 1]" is kept by drawing only users for whom it does not
(four in five), or, for every user, by moving and scaling the features until the means fill it. Source: Garcelon et al. 2020, Jester
experiment; Goldberg et al. 2001 for the data.
"""

import os
import pathlib
import zipfile
from functools import lru_cache

import numpy as np

from ...core import checks
from ...core.registry import recipe
from ..linear import Linear
from .find import download, find

NAMES = ("jester/jester1.npz", "jester/jester-data-1.zip", "jester/jester-data-1.csv")
URL = "https://github.com/negi-soumya/eigentaste/raw/0877aa8b2b16531cc806a77bae606ad2b8ee5122/jester-data-1.zip"
SHA256 = "4adf783a1e03bd3be063315cb6e0a064fe63e983fd289d01b8e401a8e6c41e5f"
JOKES = 40
MISSING_RATING = 99.0


@recipe("jester")
def jester(
    users: int = 100, *, rank: int = 35, noise: float = 0.1, seed: int = 0, data: str | os.PathLike[str] | None = None,
    means: str = "inside",
) -> list[Linear]:  # fmt: skip
    """One `Linear` problem per new user of Jester: 40 jokes with (40, rank) features, means in [0, 1], Gaussian noise.

    Parameters
    ----------
    users : int >= 1
        How many, drawn without replacement. Default 100.
    rank : int in 1..40
        Of the factorisation, default 35.
    noise : float >= 0
        Standard deviation of a reward, default 0.1.
    seed : int >= 0
        Of the draw of users, default 0.
    data : str or Path
        A folder or file to look in first; then $TIGHTROPE_DATA, ./data, the user's cache, a download.
    means : "inside" or "filled"
        How means come to lie in [0, 1]. "inside", the default: only users are drawn for whom they do, and all share features of norm <= 1.
        "filled": any user; theta is the user's row of left singular vectors, and the features, which take the singular values, are moved
        and scaled for each user so that the worst joke has mean 0 and the best 1.

    Returns
    -------
    list of Linear

    Raises
    ------
    DataNotFound
        Where there are no data.
    """
    rank = checks.integer("rank", rank, least=1, most=JOKES)
    checks.choice("means", means, ("inside", "filled"))
    path = find(NAMES, data) or download(
        "Jester (file 1)", URL, SHA256, data, "put jester1.npz or jester-data-1.zip there, or set TIGHTROPE_DATA to its folder."
    )
    features, thetas = _factorise(path, rank) if means == "inside" else _users_and_jokes(path, rank)
    users = checks.integer("users", users, least=1, most=thetas.shape[0])
    draw = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(JOKES,)))
    chosen = draw.choice(thetas.shape[0], size=users, replace=False)
    if means == "inside":
        return [Linear(features, thetas[user], noise=noise) for user in chosen]
    return [Linear(_filled(features, thetas[user]), thetas[user], noise=noise) for user in chosen]


def dense_ratings(path: str | os.PathLike[str]) -> np.ndarray:
    """(19181, 40) ratings in [-10, 10] of the users who rated all of the most rated jokes."""
    ratings = _read(pathlib.Path(path))
    most_rated = np.sort(np.argsort(-np.isfinite(ratings).sum(axis=0), kind="stable")[:JOKES])
    block = ratings[:, most_rated]
    return block[np.isfinite(block).all(axis=1)]


def _read(path: pathlib.Path) -> np.ndarray:
    """(24983, 100) ratings, NaN where there is none, from npz or the original comma-separated table."""
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return np.round(file["ratings"].astype(np.float64), 2)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            inside = next((name for name in archive.namelist() if name.endswith(".csv")), None)
            if inside is None:
                raise ValueError(f"{path} holds no .csv file; pass Jester's first file as csv or npz.")
            with archive.open(inside) as file:
                table = np.loadtxt(file, delimiter=",")
    else:
        table = np.loadtxt(path, delimiter=",")
    ratings = table[:, 1:]  # the first column is the number of ratings
    return np.where(ratings == MISSING_RATING, np.nan, ratings)


def _filled(features: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The features moved by the worst joke's and divided by the range of the means."""
    means = features @ theta
    return np.asarray((features - features[means.argmin()]) / (means.max() - means.min()))


@lru_cache(maxsize=4)
def _users_and_jokes(path: pathlib.Path, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """(40, rank) jokes with the singular values, (19181, rank) users without."""
    left, singular, right = np.linalg.svd((dense_ratings(path) + 10.0) / 20.0, full_matrices=False)
    return np.ascontiguousarray(right[:rank].T * singular[:rank]), np.ascontiguousarray(left[:, :rank])


@lru_cache(maxsize=4)
def _factorise(path: pathlib.Path, rank: int) -> tuple[np.ndarray, np.ndarray]:
    scaled = (dense_ratings(path) + 10.0) / 20.0
    left, singular, right = np.linalg.svd(scaled, full_matrices=False)
    features, thetas = np.ascontiguousarray(right[:rank].T), left[:, :rank] * singular[:rank]
    means = thetas @ features.T
    return features, thetas[((means >= 0.0) & (means <= 1.0)).all(axis=1)]
