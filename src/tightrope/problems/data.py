"""Problems built from real ratings. The data stay where the user has them; nothing is shipped."""

import gzip
import io
import math
import os
import pathlib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from ..core import checks
from ..core.registry import recipe
from ..core.types import Arguments
from .structured import Linear, Promotions

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = [
    "DataNotFound",
    "OpenBandit",
    "find",
    "jester",
    "movielens",
    "movielens_ratings",
    "movielens_stars",
    "open_bandit",
    "yahoo",
]

# Where data files are looked for: the argument, $TIGHTROPE_DATA, ./data, the user's cache, and at
# last the network.


CACHE = "tightrope-data"


class DataNotFound(FileNotFoundError):
    """The data set is not on this machine and could not be downloaded."""


def folders(data: str | os.PathLike[str] | None = None) -> list[pathlib.Path]:
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", CACHE)
    named = (data, os.environ.get("TIGHTROPE_DATA") or None, "data", cache)
    return [pathlib.Path(folder).expanduser() for folder in named if folder is not None]


def find(names: Sequence[str], data: str | os.PathLike[str] | None = None) -> pathlib.Path | None:
    """First existing file of several names in the folders where data are looked for.

    Parameters
    ----------
    names : sequence of str
        Paths such as "jester/jester1.npz".
    data : str or Path
        A folder to look in first, or the file itself. Then $TIGHTROPE_DATA, ./data and the user's
        cache.

    Returns
    -------
    Path or None
    """
    if data is not None and pathlib.Path(data).is_file():
        return pathlib.Path(data)
    for folder in folders(data):
        for name in names:
            for candidate in (folder / name, folder / pathlib.Path(name).name):
                if candidate.is_file():
                    return candidate
    return None


def download(
    title: str, url: str, sha256: str, data: str | os.PathLike[str] | None, remedy: str
) -> pathlib.Path:
    """Fetch a file into the cache, checked against its hash. Raises `DataNotFound` with the
    remedy."""
    import pooch

    try:
        return pathlib.Path(
            pooch.retrieve(
                url,
                known_hash=f"sha256:{sha256}",
                path=folders()[-1],
                fname=url.rsplit("/", 1)[-1],
                downloader=pooch.HTTPDownloader(progressbar=False, timeout=20),
            )
        )
    except (OSError, ValueError) as error:
        searched = ", ".join(str(folder) for folder in folders(data))
        raise DataNotFound(
            f"{title} is not in {searched} and could not be downloaded ({type(error).__name__}); "
            f"{remedy}"
        ) from None


# Reading MovieLens ratings from the user's own copy, in the formats GroupLens has published.


RELEASES = ("ml-32m", "ml-25m", "ml-20m", "ml-10M100K", "ml-10m", "ml-1m", "ml-100k")
FILES = ("ratings.csv", "ratings.dat", "u.data")
RATING_NAMES = (
    *(f"{release}/{file}" for release in RELEASES for file in FILES),
    *(f"{release}.zip" for release in RELEASES),
    "movielens/ml100k_stars.npz",
    "movielens/ml1m_implicit.npz",
)


def movielens_ratings(
    path: str | os.PathLike[str] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Users, movies and ratings of MovieLens, one entry per rating, numbered as in the file.

    Parameters
    ----------
    path : str or Path
        A ratings.csv (20M, 25M, 32M), ratings.dat (1M, 10M), u.data (100k), a release's zip, or an
        npz with arrays user, movie and rating; or a folder to look in first. Default:
        $TIGHTROPE_DATA, ./data, the user's cache, the largest release first.

    Returns
    -------
    (n,) arrays of int, int and float

    Raises
    ------
    DataNotFound
        Where there is none.
    ValueError
        Where a file is not one of these.
    """
    file = ratings_file(path)
    try:
        users, movies, ratings = _read_ratings(file)
    except (ValueError, KeyError, IndexError, StopIteration, zipfile.BadZipFile) as error:
        raise ValueError(
            f"path = {str(file)!r} does not hold MovieLens ratings ({type(error).__name__}: "
            f"{error})."
        ) from None
    if not np.isfinite(ratings).all():
        raise ValueError(f"path = {str(file)!r} has a rating that is not a finite number.")
    return users, movies, ratings


def ratings_file(path: str | os.PathLike[str] | None = None) -> pathlib.Path:
    missing = path is not None and not pathlib.Path(path).exists()
    file = None if missing else find(RATING_NAMES, path)
    if file is None:
        searched = ", ".join(map(str, folders(path)))
        raise DataNotFound(
            f"MovieLens is not in {searched}; put a release there "
            "(grouplens.org/datasets/movielens), or set TIGHTROPE_DATA."
        )
    return file


def _read_ratings(path: pathlib.Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return (
                file["user"].astype(np.int64),
                file["movie"].astype(np.int64),
                file["rating"].astype(np.float64),
            )
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            inside = next(name for name in archive.namelist() if name.rsplit("/", 1)[-1] in FILES)
            with archive.open(inside) as stream:
                return _table(stream, inside.rsplit("/", 1)[-1])
    return _table(path, path.name)


def _table(
    source: IO[bytes] | pathlib.Path, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    import pandas as pd

    options: Arguments = (
        {"sep": ",", "header": 0} if name.endswith(".csv") else {"sep": "\t", "header": None}
    )
    if name.endswith(
        ".dat"
    ):  # user::movie::rating::time; single colons are read as separators of empty columns
        options = {"sep": ":", "header": None, "usecols": [0, 2, 4]}
    columns_read: Arguments = {"usecols": [0, 1, 2]}
    table: Any = pd.read_csv(source, **columns_read | options)
    columns = [table.iloc[:, i].to_numpy() for i in range(3)]
    return columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2].astype(np.float64)


# Jester as a cold-start problem: which of 40 jokes does a new user like best?


JESTER_NAMES = ("jester/jester1.npz", "jester/jester-data-1.zip", "jester/jester-data-1.csv")
URL = (
    "https://github.com/negi-soumya/eigentaste/raw/0877aa8b2b16531cc806a77bae606ad2b8ee5122/"
    "jester-data-1.zip"
)
SHA256 = "4adf783a1e03bd3be063315cb6e0a064fe63e983fd289d01b8e401a8e6c41e5f"
JOKES = 40
MISSING_RATING = 99.0


@recipe("jester")
def jester(
    users: int = 100,
    *,
    rank: int = 35,
    noise: float = 0.1,
    seed: int = 0,
    data: str | os.PathLike[str] | None = None,
    means: str = "inside",
) -> list[Linear]:
    """One `Linear` problem per new user of Jester: 40 jokes with (40, rank) features, means in [0,
    1], Gaussian noise.

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
        A folder or file to look in first; then $TIGHTROPE_DATA, ./data, the user's cache, a
        download.
    means : "inside" or "filled"
        How means come to lie in [0, 1]. "inside", the default: only users are drawn for whom they
        do, and all share features of norm <= 1. "filled": any user; theta is the user's row of left
        singular vectors, and the features, which take the singular values, are moved and scaled for
        each user so that the worst joke has mean 0 and the best 1.

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
    path = find(JESTER_NAMES, data) or download(
        "Jester (file 1)",
        URL,
        SHA256,
        data,
        "put jester1.npz or jester-data-1.zip there, or set TIGHTROPE_DATA to its folder.",
    )
    features, thetas = (
        _factorise_jester(path, rank) if means == "inside" else _users_and_jokes(path, rank)
    )
    users = checks.integer("users", users, least=1, most=thetas.shape[0])
    draw = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(JOKES,)))
    chosen = draw.choice(thetas.shape[0], size=users, replace=False)
    if means == "inside":
        return [Linear(features, thetas[user], noise=noise) for user in chosen]
    return [Linear(_filled(features, thetas[user]), thetas[user], noise=noise) for user in chosen]


def dense_ratings(path: str | os.PathLike[str]) -> np.ndarray:
    """(19181, 40) ratings in [-10, 10] of the users who rated all of the most rated jokes."""
    ratings = _read_jester(pathlib.Path(path))
    most_rated = np.sort(np.argsort(-np.isfinite(ratings).sum(axis=0), kind="stable")[:JOKES])
    block = ratings[:, most_rated]
    return block[np.isfinite(block).all(axis=1)]


def _read_jester(path: pathlib.Path) -> np.ndarray:
    """(24983, 100) ratings, NaN where there is none, from npz or the original comma-separated
    table."""
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return np.round(file["ratings"].astype(np.float64), 2)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            inside = next((name for name in archive.namelist() if name.endswith(".csv")), None)
            if inside is None:
                raise ValueError(
                    f"{path} holds no .csv file; pass Jester's first file as csv or npz."
                )
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
    return np.ascontiguousarray(right[:rank].T * singular[:rank]), np.ascontiguousarray(
        left[:, :rank]
    )


@lru_cache(maxsize=4)
def _factorise_jester(path: pathlib.Path, rank: int) -> tuple[np.ndarray, np.ndarray]:
    scaled = (dense_ratings(path) + 10.0) / 20.0
    left, singular, right = np.linalg.svd(scaled, full_matrices=False)
    features, thetas = np.ascontiguousarray(right[:rank].T), left[:, :rank] * singular[:rank]
    means = thetas @ features.T
    return features, thetas[((means >= 0.0) & (means <= 1.0)).all(axis=1)]


# MovieLens as a promotion problem: which users should hear of which film?


RATERS = (
    1400 / 138_493,
    2800 / 138_493,
)  # share of the users who rated a promoted film, as in the paper's ML-20M
SCALINGS = ("factor", "raw", "unit")


class MovieLens(NamedTuple):
    """Users and their answers to the promotions; give both to `problems.Promotions`."""

    features: np.ndarray  # (U, rank + 1), the constant last
    rewards: np.ndarray  # (U, M) ratings of the held-out films, 0: unrated
    films: np.ndarray  # (M,) their numbers in the data
    users: np.ndarray  # (U,) numbers of the users in the data


def movielens(
    path: str | os.PathLike[str] | None = None,
    *,
    promotions: int = 10,
    rank: int = 50,
    power: float = 1.0,
    scaling: str = "factor",
    raters: tuple[int, int] | None = None,
    seed: int = 0,
) -> MovieLens:
    """Features of all users and their ratings of held-out films.

    The paper says neither the power nor the scaling, and both matter.

    Parameters
    ----------
    path : str or Path
        A file of any MovieLens release, or a folder to look in; default where data sets are kept.
    promotions : int >= 1
        M, how many films to hold out, at random, among those rated by raters[0] to raters[1] users.
        Default 10.
    rank : int >= 1
        Of the decomposition U S V'; user features are U S^power and a constant 1. Default 50.
    power : float in [0, 1]
        Default 1. Below 1 coordinates are multiplied by one number, so that their mean squared norm
        is 1, the constant's, however many users there are.
    scaling : "factor", "raw" or "unit"
        "factor", the default, divides all features by the largest norm, "raw" leaves them, "unit"
        gives every user norm 1.
    raters : (int, int)
        Default the paper's 1,400 to 2,800 of 138,493, in proportion to the users at hand.
    seed : int >= 0
        Of the draw of films, default 0.

    Returns
    -------
    MovieLens
        A named tuple with features, rewards, films and users; give the first two to
        `problems.Promotions`.

    Raises
    ------
    DataNotFound
        Where there are no data.
    """
    from scipy.sparse import csr_matrix  # here, because its import takes long and few need it

    users, films, ratings = _read_movielens(os.fspath(ratings_file(path)))
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
        raise ValueError(
            f"raters = ({low:g}, {high:g}) fits {fitting.size} films, but promotions = {M} are "
            "needed; widen it."
        )
    promoted = np.sort(
        np.random.default_rng(np.random.SeedSequence(seed)).choice(fitting, M, replace=False)
    )
    matrix = csr_matrix((ratings, (rows, columns)), shape=(names.size, titles.size))
    coordinates = left_coordinates(matrix[:, np.setdiff1d(np.arange(titles.size), promoted)], rank)
    if weight < 1.0:
        coordinates *= np.linalg.norm(coordinates, axis=0) ** (
            weight - 1.0
        )  # the columns' norms are the singular values
        coordinates /= math.sqrt(float((coordinates**2).sum(axis=1).mean()))
    features = np.column_stack([coordinates, np.ones(names.size)])
    norms = np.linalg.norm(features, axis=1)
    if how != "raw":
        features /= norms.max() if how == "factor" else norms[:, None]
    return MovieLens(features, matrix[:, promoted].toarray(), titles[promoted], names)


@recipe("movielens")
def movielens_promotions(
    k: int,
    promotions: int = 10,
    rank: int = 50,
    scaling: Literal["factor", "raw", "unit"] = "factor",
    raters: tuple[int, int] | None = None,
    shown: int | None = None,
    seed: int = 0,
    data: str | None = None,
) -> Promotions:
    """Promotions to k users each, with the features and ratings of `movielens`: what a spec may ask
    for."""
    movies = movielens(
        data, promotions=promotions, rank=rank, scaling=scaling, raters=raters, seed=seed
    )
    return Promotions(movies.features, movies.rewards, k, shown=shown)


def left_coordinates(matrix: "csr_matrix", rank: int) -> np.ndarray:
    """(U, rank) coordinates U S of the rows, largest singular value first; the same for every
    run."""
    from scipy.sparse.linalg import svds

    left, singular, _ = svds(matrix.astype(np.float64), k=rank, v0=np.ones(min(matrix.shape)))
    order = np.argsort(-singular)
    coordinates = left[:, order] * singular[order]
    return coordinates * np.where(
        coordinates[np.abs(coordinates).argmax(axis=0), np.arange(rank)] < 0, -1.0, 1.0
    )


@lru_cache(maxsize=2)
def _read_movielens(path: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    users, films, ratings = movielens_ratings(path)
    return np.asarray(users), np.asarray(films), np.asarray(ratings, dtype=np.float64)


# MovieLens stars as a cold-start problem: which of the most rated films does a new user like best?


LOWEST, HIGHEST = 1.0, 5.0
TOLERANCE = 1e-9  # by how much rounding may carry a mean out of [0, 1]


@recipe("movielens-stars")
def movielens_stars(
    users: int = 40,
    *,
    films: int = 50,
    rank: int = 10,
    least: float = 0.5,
    noise: float = 0.25,
    seed: int = 0,
    data: str | os.PathLike[str] | None = None,
) -> list[Linear]:
    """One `Linear` problem per user of MovieLens: the most rated films with (films, rank) features,
    means in [0, 1], Gaussian noise.

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
    features, thetas = _factorise_stars(os.fspath(ratings_file(data)), films, rank, least)
    users = checks.integer("users", users, least=1, most=thetas.shape[0])
    chosen = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(films,))).choice(
        thetas.shape[0], size=users, replace=False
    )
    return [Linear(features, thetas[user], noise=noise) for user in chosen]


def popular(data: str, films: int) -> np.ndarray:
    """(users, films) stars of the most rated films, NaN where there is none."""
    user, film, stars = movielens_ratings(data)
    if np.ptp(stars) == 0.0:
        raise ValueError(
            f"data = {data!r} has no stars, every rating is {stars[0]:g}; pass a release with "
            "ratings from 1 to 5."
        )
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
def _factorise_stars(
    data: str, films: int, rank: int, least: float
) -> tuple[np.ndarray, np.ndarray]:
    table = (popular(data, films) - LOWEST) / (HIGHEST - LOWEST)
    means = np.nanmean(table, axis=0)
    table = table[np.isfinite(table).mean(axis=1) >= least]
    if table.shape[0] < rank:
        raise ValueError(
            f"least = {least:g} leaves {table.shape[0]} users, but rank = {rank} needs as many; "
            "lower one of them."
        )
    left, singular, right = np.linalg.svd(
        np.where(np.isnan(table), means, table), full_matrices=False
    )
    features, thetas = np.ascontiguousarray(right[:rank].T), left[:, :rank] * singular[:rank]
    values = thetas @ features.T
    return features, thetas[((values >= -TOLERANCE) & (values <= 1.0 + TOLERANCE)).all(axis=1)]


# Yahoo! Front Page R6A as a linear problem, for users who have the log (Webscope agreement; it
# cannot be downloaded here).


YAHOO_NAMES = (
    "yahoo/ydata-fp-td-clicks-v1_0.20090501.gz",
    "yahoo/ydata-fp-td-clicks-v1_0.20090501",
    "yahoo/r6a.gz",
    "yahoo/r6a.txt",
)
SIDE = 6
CANDIDATES = 10_000  # visits kept to draw arms from
TRIES = 10_000


@recipe("yahoo")
def yahoo(
    arms: int = 20,
    *,
    least_gap: float = 0.01,
    lam: float = 0.01,
    seed: int = 0,
    limit: int | None = None,
    data: str | os.PathLike[str] | None = None,
) -> Linear:
    """A `Linear` problem with rewards of +1 and -1 whose arms and theta come from the log of
    Yahoo's front page.

    Parameters
    ----------
    arms : int >= 2
        K, drawn among the visits until the best arm leads by least_gap and all means lie in [-1,
        1]. Default 20.
    least_gap : float >= 0
        Lead of the best arm in units of reward, default 0.01.
    lam : float > 0
        Ridge parameter of the regression, default 0.01.
    seed : int >= 0
        Of the draw of arms, default 0.
    limit : int >= 1
        Read only so many visits; default all.
    data : str or Path
        The log or its folder; then $TIGHTROPE_DATA, ./data and the user's cache.

    Returns
    -------
    Linear

    Raises
    ------
    DataNotFound
        Where there is no log.
    ValueError
        Where no such arms are found.
    """
    count = checks.integer("arms", arms, least=2)
    least = checks.real("least_gap", least_gap, least=0)
    ridge = checks.real("lam", lam, above=0)
    most = None if limit is None else checks.integer("limit", limit, least=1)
    path = find(YAHOO_NAMES, data)
    if path is None:
        searched = ", ".join(str(folder) for folder in folders(data))
        raise DataNotFound(
            f"Yahoo! R6A is not in {searched}; ask Yahoo! Webscope for it and set TIGHTROPE_DATA "
            "to its folder."
        )
    draw = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SIDE,)))
    A, b = ridge * np.eye(SIDE * SIDE), np.zeros(SIDE * SIDE)
    kept: list[np.ndarray] = []
    for n, (x, clicked) in enumerate(visits(path)):
        if n == most:
            break
        A += np.outer(x, x)
        b += x if clicked else -x
        if len(kept) < CANDIDATES:
            kept.append(x)
        elif (place := int(draw.integers(0, n + 1))) < CANDIDATES:
            kept[place] = x
    if len(kept) < count:
        raise ValueError(
            f"{path} has {len(kept)} complete visits, but arms = {count} needs at least as many."
        )
    theta, candidates = np.linalg.solve(A, b), np.unique(np.array(kept), axis=0)
    for _ in range(TRIES):
        if len(candidates) < count:
            break
        X = candidates[draw.choice(len(candidates), size=count, replace=False)]
        means = np.sort(X @ theta)
        if np.abs(means).max() <= 1.0 and means[-1] - means[-2] >= least:
            return Linear(X, theta, rewards="sign")
    raise ValueError(
        f"least_gap = {least:g} is wider than what {TRIES} draws of {count} distinct arms from "
        f"{path} offer; lower it."
    )


def visits(path: str | os.PathLike[str]) -> Iterator[tuple[np.ndarray, bool]]:
    """(features (36,), clicked) of every visit whose user and shown article have all six
    features."""
    source = pathlib.Path(path)
    with gzip.open(source, "rt") if source.suffix == ".gz" else source.open() as lines:
        for line in lines:
            head, *parts = line.split("|")
            fields = head.split()
            if len(fields) != 3:
                continue
            described = {tokens[0]: tokens[1:] for part in parts if (tokens := part.split())}
            user, article = _vector(described.get("user")), _vector(described.get(fields[1]))
            if user is not None and article is not None:
                yield np.kron(article, user), fields[2] == "1"


def _vector(tokens: list[str] | None) -> np.ndarray | None:
    if tokens is None or len(tokens) != SIDE:
        return None
    vector = np.zeros(SIDE)
    for token in tokens:
        place, _, value = token.partition(":")
        vector[int(place) - 1] = float(value)
    return vector


# Open Bandit: fashion items shown in three positions, by a uniform policy and by Bernoulli Thompson
# sampling, with their propensities.


CAMPAIGNS = ("all", "men", "women")
BEHAVIOURS = ("random", "bts")
ARCHIVES = ("obd/obd.zip", "open_bandit/open_bandit_dataset.zip", "open_bandit_dataset.zip")
FOLDERS = ("obd", "open_bandit", "open_bandit_dataset", ".")
POSITIONS = 3
SITE = "research.zozo.com/data.html"


class OpenBandit(NamedTuple):
    """Impressions of one campaign under one policy, in the order of time.

    Attributes
    ----------
    log : dict of str to (n,) array
        Columns for `tr.logs.from_frame(found.log, slot="slot", time="time", arms=found.arms)`: arm
        (item), reward (1: click), propensity (of the item in its position), slot (position, 0 to 2)
        and time.
    arms : int
        K, the items.
    users : (n, p) array
        Features of the user, one column of 0 and 1 for every value that occurs.
    affinity : (n, K) array
        Of the user and every item.
    items : (K, q) array
        Features of the items: the numeric one, and a column for every value of the others.
    shares : (3, K) array in [0, 1]
        Share of the impressions in a position that showed an item: the policy's probabilities,
        averaged over time.
    """

    log: dict[str, np.ndarray]
    arms: int
    users: np.ndarray
    affinity: np.ndarray
    items: np.ndarray
    shares: np.ndarray


def open_bandit(
    campaign: Literal["all", "men", "women"],
    behaviour: Literal["random", "bts"],
    data: str | os.PathLike[str] | None = None,
) -> OpenBandit:
    """Impressions of a campaign of the Open Bandit data under a policy.

    Parameters
    ----------
    campaign : "all", "men" or "women"
        Which campaign.
    behaviour : "random" or "bts"
        The policy that served it: uniform, or Bernoulli Thompson sampling.
    data : str or Path
        The zip, the folder with random/ and bts/, or a folder to look in first; then
        $TIGHTROPE_DATA, ./data and the user's cache.

    Returns
    -------
    OpenBandit

    Raises
    ------
    DataNotFound
        Where there are no data.
    ValueError
        Where files are not in the published form.
    """
    checks.choice("campaign", campaign, CAMPAIGNS)
    checks.choice("behaviour", behaviour, BEHAVIOURS)
    opened = _opener(f"{behaviour}/{campaign}", data)
    try:
        with opened("item_context.csv") as stream:
            items = _items(stream)
        with opened(f"{campaign}.csv") as stream:
            return _impressions(stream, items)
    except (KeyError, ValueError, StopIteration, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{behaviour}/{campaign} does not hold the Open Bandit Dataset "
            f"({type(error).__name__}: {error})."
        ) from None


def _opener(inside: str, data: str | os.PathLike[str] | None) -> Callable[[str], IO[bytes]]:
    for base in folders(data):
        for name in FOLDERS:
            folder = base / name / inside
            if folder.is_dir():
                return lambda file, folder=folder: open(folder / file, "rb")  # type: ignore[misc]
    archive = find(ARCHIVES, data)
    if archive is None:
        searched = ", ".join(map(str, folders(data)))
        raise DataNotFound(
            f"The Open Bandit Dataset is not in {searched}; put its zip or folder there ({SITE}), "
            "or set TIGHTROPE_DATA."
        )

    def read(file: str) -> IO[bytes]:
        with zipfile.ZipFile(archive) as opened:
            ending = f"{inside}/{file}"
            entry = next(
                (
                    name
                    for name in opened.namelist()
                    if name == ending or name.endswith(f"/{ending}")
                ),
                None,
            )
            if entry is None:
                raise ValueError(f"{pathlib.Path(archive).name} has no {ending}")
            return io.BytesIO(opened.read(entry))

    return read


def _items(stream: IO[bytes]) -> np.ndarray:
    import pandas as pd

    table = pd.read_csv(stream, index_col=0).sort_values("item_id")
    if table["item_id"].tolist() != list(range(len(table))):
        raise ValueError("item_id must run from 0")
    parts = [table[["item_feature_0"]].to_numpy(dtype=np.float64)]
    return np.concatenate(
        [*parts, *(_one_hot(table[f"item_feature_{j}"].to_numpy()) for j in (1, 2, 3))], axis=1
    )


def _impressions(stream: IO[bytes], items: np.ndarray) -> OpenBandit:
    import pandas as pd

    table = pd.read_csv(stream, index_col=0)
    table = table.iloc[
        np.argsort(
            pd.to_datetime(table["timestamp"], utc=True, format="ISO8601").to_numpy(), kind="stable"
        )
    ]
    K, n = items.shape[0], len(table)
    arm, slot = (
        table["item_id"].to_numpy(dtype=np.int64),
        table["position"].to_numpy(dtype=np.int64) - 1,
    )
    if n == 0 or arm.min() < 0 or arm.max() >= K or slot.min() < 0 or slot.max() >= POSITIONS:
        raise ValueError(f"items must be from 0 to {K - 1} and positions from 1 to {POSITIONS}")
    times = (
        pd.to_datetime(table["timestamp"], utc=True, format="ISO8601")
        .dt.tz_localize(None)
        .to_numpy()
    )
    log = {
        "arm": arm,
        "reward": table["click"].to_numpy(dtype=np.float64),
        "propensity": table["propensity_score"].to_numpy(dtype=np.float64),
        "slot": slot,
        "time": cast(np.ndarray, times),
    }
    users = np.concatenate(
        [_one_hot(table[f"user_feature_{j}"].to_numpy()) for j in range(4)], axis=1
    )
    affinity = table[[f"user-item_affinity_{k}" for k in range(K)]].to_numpy(dtype=np.float64)
    shown = np.zeros((POSITIONS, K))
    np.add.at(shown, (slot, arm), 1.0)
    return OpenBandit(
        log, K, users, affinity, items, shown / np.maximum(shown.sum(axis=1, keepdims=True), 1.0)
    )


def _one_hot(values: np.ndarray) -> np.ndarray:
    """A column of 0 and 1 for every value, in alphabetical order."""
    labels, codes = np.unique(values.astype(np.str_), return_inverse=True)
    return np.eye(labels.size)[codes]
