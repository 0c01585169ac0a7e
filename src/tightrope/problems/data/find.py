"""Where data files are looked for: the argument, $TIGHTROPE_DATA, ./data, the user's cache, and at last the network."""

import os
import pathlib
from collections.abc import Sequence

CACHE = "tightrope-data"


class DataNotFound(FileNotFoundError):
    """The data set is not on this machine and could not be downloaded."""


def folders(data: str | os.PathLike[str] | None = None) -> list[pathlib.Path]:
    named = [data] if data is not None else []
    environment = [os.environ["TIGHTROPE_DATA"]] if os.environ.get("TIGHTROPE_DATA") else []
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return [pathlib.Path(folder).expanduser() for folder in (*named, *environment, "data", pathlib.Path(cache) / CACHE)]


def find(names: Sequence[str], data: str | os.PathLike[str] | None = None) -> pathlib.Path | None:
    """First existing file of several names in the folders where data are looked for.

    Parameters
    ----------
    names : sequence of str
        Paths such as "jester/jester1.npz".
    data : str or Path
        A folder to look in first, or the file itself. Then $TIGHTROPE_DATA, ./data and the user's cache.

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


def download(title: str, url: str, sha256: str, data: str | os.PathLike[str] | None, remedy: str) -> pathlib.Path:
    """Fetch a file into the cache, checked against its hash. Raises `DataNotFound` with the remedy."""
    import pooch

    target = folders()[-1]
    fetch = pooch.HTTPDownloader(progressbar=False, timeout=20)
    try:
        return pathlib.Path(pooch.retrieve(url, known_hash=f"sha256:{sha256}", path=target, fname=url.rsplit("/", 1)[-1], downloader=fetch))
    except (OSError, ValueError) as error:
        searched = ", ".join(str(folder) for folder in folders(data))
        raise DataNotFound(f"{title} is not in {searched} and could not be downloaded ({type(error).__name__}); {remedy}") from None
