"""What results of every kind share: long tables for frames and files, summaries with paired differences, folders on disk."""

import json
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import files
from ..numerics.statistics import standard_error

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
Columns = Mapping[str, Mapping[str, np.ndarray]]  # column -> policy -> array whose first axis is the replication


@dataclass(frozen=True)
class Row:
    """One policy's line of a summary of what its runs cost: regret, or rounds."""

    policy: str
    mean: float
    se: float
    median: float
    worst: float
    difference: float  # mean paired difference to the best policy
    difference_se: float


def compared(cost: Mapping[str, np.ndarray]) -> list[Row]:
    """A row for every policy, lowest mean first, with paired differences against that one. cost[name]: (replications,)."""
    best = min(cost, key=lambda name: float(cost[name].mean()))
    rows = [
        Row(name, float(x.mean()), float(standard_error(x)), float(np.median(x)), float(x.max()),
            float((x - cost[best]).mean()), float(standard_error(x - cost[best])) if name != best else 0.0)
        for name, x in cost.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: row.mean)


def problems(settings: Mapping[str, Any]) -> int:
    """How many problems replications go round; 1 where a result of an earlier version does not say."""
    return int((settings.get("problem") or {}).get("count", 1))


def long_table(columns: Columns, inner: tuple[str, np.ndarray | None] | None = None) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Place of the policy of every row, and the columns: replication, the inner axis, values.

    inner: name and values of the second axis of the arrays, None: 0, 1, ..; without it they have one axis.
    """
    first = next(iter(columns.values()))
    sizes = [array.size for array in first.values()]
    codes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    each = [(array.shape[0], array.size // array.shape[0]) for array in first.values()]
    table = {"replication": np.concatenate([np.repeat(np.arange(replications), n) for replications, n in each])}
    if inner is not None:
        table[inner[0]] = np.concatenate([np.tile(np.arange(n) if inner[1] is None else inner[1], r) for r, n in each])
    return codes, table | {key: np.concatenate([array.reshape(-1) for array in arrays.values()]) for key, arrays in columns.items()}


def frame(columns: Columns, inner: tuple[str, np.ndarray | None] | None = None) -> "pd.DataFrame":
    """The long table as a pandas DataFrame with the column policy in front."""
    import pandas as pd

    codes, table = long_table(columns, inner)
    names = np.array(list(next(iter(columns.values()))), dtype=object)
    return pd.DataFrame({"policy": names[codes]} | table)


def write_table(path: pathlib.Path, columns: Columns, inner: tuple[str, np.ndarray | None] | None = None) -> None:
    """The long table as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    codes, table = long_table(columns, inner)
    policy = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(next(iter(columns.values())))))
    with files.atomically(path) as file:
        pq.write_table(pa.table({"policy": policy} | table), file, compression="zstd")


def read_table(path: pathlib.Path, names: list[str], columns: list[str]) -> dict[str, dict[str, np.ndarray]]:
    """Columns of a long table by policy, each flat."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    code = table["policy"].combine_chunks()
    indices, labels = np.asarray(code.indices), code.dictionary.to_pylist()
    return {key: {name: table[key].to_numpy()[indices == labels.index(name)] for name in names} for key in columns}


def write_header(folder: pathlib.Path, kind: str, header: dict[str, object]) -> None:
    """result.json, written last: a folder with it is whole."""
    files.write_json(folder / "result.json", {"format": FORMAT, "kind": kind} | header)


def read_header(folder: pathlib.Path) -> dict[str, Any]:
    """result.json of a folder; folders without a kind hold a simulation."""
    if not (folder / "result.json").exists():
        raise FileNotFoundError(f"path = {str(folder)!r} holds no result.json; pass a folder that a result was saved to.")
    try:
        header = json.loads((folder / "result.json").read_text())
    except ValueError:
        raise ValueError(f"{folder / 'result.json'} is damaged; make the result again.") from None
    if header.get("format") != FORMAT:
        raise ValueError(f"{folder / 'result.json'} has format {header.get('format')}, but this version reads {FORMAT}.")
    return {"kind": "simulation"} | header
