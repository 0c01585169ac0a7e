"""Reading MovieLens ratings from the user's own copy, in the formats GroupLens has published."""

import os
import pathlib
import zipfile
from typing import IO, Any

import numpy as np

from ...core.types import Arguments
from .find import DataNotFound, find, folders

RELEASES = ("ml-32m", "ml-25m", "ml-20m", "ml-10M100K", "ml-10m", "ml-1m", "ml-100k")
FILES = ("ratings.csv", "ratings.dat", "u.data")
NAMES = (
    *(f"{release}/{file}" for release in RELEASES for file in FILES),
    *(f"{release}.zip" for release in RELEASES),
    "movielens/ml100k_stars.npz",
    "movielens/ml1m_implicit.npz",
)


def movielens_ratings(path: str | os.PathLike[str] | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Users, movies and ratings of MovieLens, one entry per rating, numbered as in the file.

    Parameters
    ----------
    path : str or Path
        A ratings.csv (20M, 25M, 32M), ratings.dat (1M, 10M), u.data (100k), a release's zip, or an npz with arrays user, movie and rating;
        or a folder to look in first. Default: $TIGHTROPE_DATA, ./data, the user's cache, the largest release first.

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
        users, movies, ratings = _read(file)
    except (ValueError, KeyError, IndexError, StopIteration, zipfile.BadZipFile) as error:
        raise ValueError(f"path = {str(file)!r} does not hold MovieLens ratings ({type(error).__name__}: {error}).") from None
    if not np.isfinite(ratings).all():
        raise ValueError(f"path = {str(file)!r} has a rating that is not a finite number.")
    return users, movies, ratings


def ratings_file(path: str | os.PathLike[str] | None = None) -> pathlib.Path:
    """The file that `movielens_ratings` reads. Raises `DataNotFound` where there is none."""
    file = find(NAMES, path)
    if path is not None and not pathlib.Path(path).exists():
        file = None
    if file is None:
        searched = ", ".join(map(str, folders(path)))
        raise DataNotFound(
            f"MovieLens is not in {searched}; put a release there (grouplens.org/datasets/movielens), or set TIGHTROPE_DATA."
        )
    return file


def _read(path: pathlib.Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return file["user"].astype(np.int64), file["movie"].astype(np.int64), file["rating"].astype(np.float64)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            inside = next(name for name in archive.namelist() if name.rsplit("/", 1)[-1] in FILES)
            with archive.open(inside) as stream:
                return _table(stream, inside.rsplit("/", 1)[-1])
    return _table(path, path.name)


def _table(source: IO[bytes] | pathlib.Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first three columns, in the format that the file's ending says."""
    import pandas as pd

    options: Arguments = {"sep": ",", "header": 0} if name.endswith(".csv") else {"sep": "\t", "header": None}
    if name.endswith(".dat"):  # user::movie::rating::time; single colons are read as separators of empty columns
        options = {"sep": ":", "header": None, "usecols": [0, 2, 4]}
    columns_read: Arguments = {"usecols": [0, 1, 2]}
    table: Any = pd.read_csv(source, **columns_read | options)
    columns = [table.iloc[:, i].to_numpy() for i in range(3)]
    return columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2].astype(np.float64)
