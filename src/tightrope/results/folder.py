"""Folders of results: long tables as frames and Parquet files, and a header with their checksums."""

import hashlib
import io
import json
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..core import files
from ..core.types import JsonObject

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
HEADER = "result.json"
TABLES = ("regret.parquet", "answers.parquet", "pulls.parquet", "watched.npz")
GROUP = 2**17  # rows of a table that are in memory together
Columns = Mapping[str, Mapping[str, np.ndarray]]  # column -> policy -> array whose first axis is the replication


def problems(settings: JsonObject) -> int:
    """The number of problems that replications go round; 1 where the settings do not say."""
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


def parquet_bytes(columns: Columns, inner: tuple[str, np.ndarray | None] | None = None) -> bytes:
    """The long table as a Parquet file has it, in row groups of some replications of a policy each, so that no more of it is in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = next(iter(columns.values()))
    names, file, writer = list(first), io.BytesIO(), None
    for place, (name, whole) in enumerate(first.items()):
        step = max(1, GROUP * len(whole) // max(whole.size, 1))
        for begin in range(0, len(whole), step):
            part = {key: {name: arrays[name][begin : begin + step]} for key, arrays in columns.items()}
            codes, table = long_table(part, inner)
            policy = pa.DictionaryArray.from_arrays(pa.array(codes + np.int32(place)), pa.array(names))
            rows = pa.table({"policy": policy} | table | {"replication": table["replication"] + begin})
            writer = writer or pq.ParquetWriter(file, rows.schema, compression="zstd")
            writer.write_table(rows)
    if writer is not None:
        writer.close()
    return file.getvalue()


def read_table(path: pathlib.Path, names: list[str], columns: list[str]) -> dict[str, dict[str, np.ndarray]]:
    import pyarrow.parquet as pq

    parts: dict[str, dict[str, list[np.ndarray]]] = {key: {name: [] for name in names} for key in columns}
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):  # each of one policy, so that no more of the table is in memory
            rows = file.read_row_group(group, columns=["policy", *columns])
            name = rows["policy"][0].as_py()
            for key in columns:
                parts[key][name].append(rows[key].to_numpy())
    return {key: {name: np.concatenate(arrays) for name, arrays in each.items()} for key, each in parts.items()}


def write(folder: pathlib.Path, kind: str, header: dict[str, object], tables: Mapping[str, bytes]) -> None:
    """The tables by file name in place of all that are there, and result.json with their checksums.

    result.json is written last and removed before a table changes, so a folder with it is whole; where two write at once the
    checksums tell.
    """
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in tables.items()}
    if any(_checksum(folder / name) != sums.get(name) for name in TABLES):
        remove_header(folder)
        for name in TABLES:
            if name in tables:
                files.write_bytes(folder / name, tables[name])
            else:
                (folder / name).unlink(missing_ok=True)
    files.write_json(folder / HEADER, {"format": FORMAT, "kind": kind} | header | {"files": sums})


def remove_header(folder: pathlib.Path) -> None:
    """Say that a folder holds no finished result any more."""
    (folder / HEADER).unlink(missing_ok=True)


def check(folder: pathlib.Path, header: JsonObject) -> None:
    """Raise ValueError where a table is not the one that result.json was written with."""
    wrong = [name for name in TABLES if _checksum(folder / name) != header["files"].get(name)]
    if wrong:
        raise ValueError(
            f"{folder / wrong[0]} is not the file that {HEADER} was written with: a save was cut short, two ran at once, or it was "
            "changed; run the same call again, which finds what has finished, or save the result again."
        )


def _checksum(path: pathlib.Path) -> str | None:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def read_header(folder: pathlib.Path) -> JsonObject:
    if not (folder / HEADER).exists():
        holds = f"path = {str(folder)!r} holds "
        if (folder / "plan.json").exists():
            raise FileNotFoundError(f"{holds}a run that has not finished; run the same call again, which goes on from its chunks.")
        raise FileNotFoundError(f"{holds}no {HEADER}; pass a folder that a result was saved to, or save it again where that was cut short.")
    try:
        header: JsonObject = json.loads((folder / HEADER).read_text())
    except ValueError:
        raise ValueError(f"{folder / HEADER} is damaged; make the result again.") from None
    if header.get("format") != FORMAT:
        raise ValueError(f"{folder / HEADER} has format {header.get('format')}, but this version reads {FORMAT}.")
    return header
