"""Open Bandit: fashion items shown in three positions, by a uniform policy and by Bernoulli Thompson sampling, with their propensities.

The published layout: a folder BEHAVIOUR/CAMPAIGN ("random" or "bts"; "all", "men" or "women") with CAMPAIGN.csv, one impression a
row, and item_context.csv; as folders or in a zip. Source: Saito, Aihara, Matsutani, Narita 2021, "Open Bandit Dataset and Pipeline".
Thompson sampling learned while it logged, and the propensity of an impression is that of its item in its position at its time, so
the probabilities of the items that were not shown are not in the data. Their mean over time is: `shares`.
"""

import io
import os
import pathlib
import zipfile
from collections.abc import Callable
from typing import IO, Literal, NamedTuple, cast

import numpy as np

from ...core import checks
from .find import DataNotFound, find, folders

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
        Columns for `tr.logs.from_frame(found.log, slot="slot", time="time", arms=found.arms)`: arm (item), reward (1: click), propensity
        (of the item in its position), slot (position, 0 to 2) and time.
    arms : int
        K, the items.
    users : (n, p) array
        Features of the user, one column of 0 and 1 for every value that occurs.
    affinity : (n, K) array
        Of the user and every item.
    items : (K, q) array
        Features of the items: the numeric one, and a column for every value of the others.
    shares : (3, K) array in [0, 1]
        Share of the impressions in a position that showed an item: the policy's probabilities, averaged over time.
    """

    log: dict[str, np.ndarray]
    arms: int
    users: np.ndarray
    affinity: np.ndarray
    items: np.ndarray
    shares: np.ndarray


def open_bandit(
    campaign: Literal["all", "men", "women"], behaviour: Literal["random", "bts"], data: str | os.PathLike[str] | None = None
) -> OpenBandit:
    """Impressions of a campaign of the Open Bandit data under a policy.

    Parameters
    ----------
    campaign : "all", "men" or "women"
        Which campaign.
    behaviour : "random" or "bts"
        The policy that served it: uniform, or Bernoulli Thompson sampling.
    data : str or Path
        The zip, the folder with random/ and bts/, or a folder to look in first; then $TIGHTROPE_DATA, ./data and the user's cache.

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
        raise ValueError(f"{behaviour}/{campaign} does not hold the Open Bandit Dataset ({type(error).__name__}: {error}).") from None


def _opener(inside: str, data: str | os.PathLike[str] | None) -> Callable[[str], IO[bytes]]:
    for base in folders(data):
        for name in FOLDERS:
            folder = base / name / inside
            if folder.is_dir():
                return lambda file, folder=folder: open(folder / file, "rb")  # type: ignore[misc]
    archive = find(ARCHIVES, data)
    if archive is None:
        searched = ", ".join(map(str, folders(data)))
        raise DataNotFound(f"The Open Bandit Dataset is not in {searched}; put its zip or folder there ({SITE}), or set TIGHTROPE_DATA.")

    def read(file: str) -> IO[bytes]:
        with zipfile.ZipFile(archive) as opened:
            ending = f"{inside}/{file}"
            entry = next((name for name in opened.namelist() if name == ending or name.endswith(f"/{ending}")), None)
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
    return np.concatenate([*parts, *(_one_hot(table[f"item_feature_{j}"].to_numpy()) for j in (1, 2, 3))], axis=1)


def _impressions(stream: IO[bytes], items: np.ndarray) -> OpenBandit:
    import pandas as pd

    table = pd.read_csv(stream, index_col=0)
    table = table.iloc[np.argsort(pd.to_datetime(table["timestamp"], utc=True, format="ISO8601").to_numpy(), kind="stable")]
    K, n = items.shape[0], len(table)
    arm, slot = table["item_id"].to_numpy(dtype=np.int64), table["position"].to_numpy(dtype=np.int64) - 1
    if n == 0 or arm.min() < 0 or arm.max() >= K or slot.min() < 0 or slot.max() >= POSITIONS:
        raise ValueError(f"items must be from 0 to {K - 1} and positions from 1 to {POSITIONS}")
    times = pd.to_datetime(table["timestamp"], utc=True, format="ISO8601").dt.tz_localize(None).to_numpy()
    log = {
        "arm": arm,
        "reward": table["click"].to_numpy(dtype=np.float64),
        "propensity": table["propensity_score"].to_numpy(dtype=np.float64),
        "slot": slot,
        "time": cast(np.ndarray, times),
    }
    users = np.concatenate([_one_hot(table[f"user_feature_{j}"].to_numpy()) for j in range(4)], axis=1)
    affinity = table[[f"user-item_affinity_{k}" for k in range(K)]].to_numpy(dtype=np.float64)
    shown = np.zeros((POSITIONS, K))
    np.add.at(shown, (slot, arm), 1.0)
    return OpenBandit(log, K, users, affinity, items, shown / np.maximum(shown.sum(axis=1, keepdims=True), 1.0))


def _one_hot(values: np.ndarray) -> np.ndarray:
    """A column of 0 and 1 for every value, in alphabetical order."""
    labels, codes = np.unique(values.astype(np.str_), return_inverse=True)
    return np.eye(labels.size)[codes]
