"""A run folder: plan.json says what was run and on what, chunks/DIGEST.parquet holds what came out, one file a chunk.

A file appears under its name only when all of it is on disk, and its name says what is in it. So a run that was killed goes on
where it was, two runs may share a folder, and policies in another order or under other names find their chunks again.

Chunk files have a row per replication: policy (in words), replication, and a column per array, as a list where it has several entries.
"""

import hashlib
import json
import pathlib
import warnings
from typing import Any

import numpy as np

from .. import files
from . import provenance
from .digest import CODE
from .plan import Chunk, Plan, Rows

FORMAT = 1
KEY = b"tightrope"  # of our metadata in a Parquet file


class Store:
    """The chunks of a run folder."""

    def __init__(self, out: pathlib.Path) -> None:
        self.out, self.folder = out, out / "chunks"

    def path(self, chunk: Chunk) -> pathlib.Path:
        """Where a chunk lies."""
        return self.folder / f"{chunk.digest}.parquet"

    def read(self, chunk: Chunk, *, warn: bool = True) -> Rows | None:
        """A finished chunk; None where there is none, or where its file is damaged, with a RuntimeWarning that names it unless told."""
        try:
            data = self.path(chunk).read_bytes()
        except FileNotFoundError:
            return None
        try:
            return _unpacked(data, chunk)
        except Exception as error:
            reason = str(error) if isinstance(error, _Damaged) else type(error).__name__
            if warn:
                warnings.warn(f"{self.path(chunk)} is damaged ({reason}) and is computed again.", RuntimeWarning, stacklevel=2)
            return None

    def write(self, chunk: Chunk, rows: Rows, labels: list[str]) -> None:
        """Keep a finished chunk. labels: what was played, per replication."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns: dict[str, object] = {"policy": labels, "replication": np.arange(chunk.first, chunk.last)}
        for key, array in rows.items():
            flat = pa.array(np.ascontiguousarray(array).reshape(-1))
            columns[key] = pa.FixedSizeListArray.from_arrays(flat, array[0].size) if array.ndim > 1 else flat
        about = {
            "format": FORMAT, "chunk": chunk.digest, "checksum": _checksum(chunk, rows),
            "arrays": {key: [array.dtype.str, list(array.shape)] for key, array in rows.items()},
        }  # fmt: skip
        table = pa.table(columns).replace_schema_metadata({KEY: json.dumps(about)})
        with files.atomically(self.path(chunk)) as file:
            pq.write_table(table, file, compression="zstd")


class _Damaged(Exception):
    """What is wrong with a file."""


def _unpacked(data: bytes, chunk: Chunk) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(data))
    about = json.loads((table.schema.metadata or {})[KEY])
    if about["chunk"] != chunk.digest or about["format"] != FORMAT:
        raise _Damaged("it is another chunk")
    rows = {}
    for key, (dtype, shape) in about["arrays"].items():
        column = table[key].combine_chunks()
        flat = column if pa.types.is_primitive(column.type) else column.flatten()
        rows[key] = flat.to_numpy(zero_copy_only=False).astype(np.dtype(dtype), copy=False).reshape(shape)
    if _checksum(chunk, rows) != about["checksum"]:
        raise _Damaged("its checksum is wrong")
    return rows


def _checksum(chunk: Chunk, rows: Rows) -> str:
    found = hashlib.sha256(str(chunk.digest).encode())
    for key in sorted(rows):
        found.update(f"{key} {rows[key].dtype.str} {rows[key].shape}".encode())
        found.update(np.ascontiguousarray(rows[key]).tobytes())
    return found.hexdigest()


def opened(out: pathlib.Path, plan: Plan) -> Store:
    """The store of a run folder that is new, or holds this experiment; policies may have been added, named anew or moved.

    Raises ValueError where it holds another experiment: other seed, horizon or problem, or another policy of the same name.
    """
    record = out / "plan.json"
    if not record.exists() and (out / "parts" / "settings.json").exists():
        raise ValueError(
            f"out = {str(out)!r} holds a run of an earlier version, which cannot be taken up; choose another folder or remove it. "
            "Its result, if it was finished, can still be loaded."
        )
    experiment = json.loads(json.dumps({"kind": plan.experiment.kind} | plan.experiment.common() | {"code": CODE}, default=_plain))
    chunks = {str(chunk.digest): [chunk.name, chunk.first, chunk.last] for chunk in plan.chunks}
    wanted = {"format": FORMAT, "experiment": experiment, "contents": plan.contents, "chunks": chunks}
    if record.exists():
        found = read_plan(record)
        changed = [key for key in experiment if found["experiment"].get(key) != experiment[key]]
        for name, parts in plan.contents.items():
            before = found["contents"].get(name, parts)
            changed += [_PLURAL.get(part, part) for part in parts if before.get(part) != parts[part]]
        if changed:
            raise ValueError(
                f"out = {str(out)!r} holds a run with other {', '.join(dict.fromkeys(changed))}; choose another folder or remove it."
            )
        wanted = found | {"contents": found["contents"] | plan.contents, "chunks": found["chunks"] | chunks}
        if wanted == found:
            return Store(out)
    else:
        wanted["made"] = provenance.versions() | provenance.machine() | {"command": provenance.command()}
    files.write_json(record, wanted)
    return Store(out)


_PLURAL = {"policy": "policies"}


def read_plan(path: pathlib.Path) -> dict[str, Any]:
    """plan.json of a run folder. Raises ValueError where it is damaged."""
    try:
        found = json.loads(path.read_text())
        if found["format"] == FORMAT and isinstance(found["experiment"], dict) and isinstance(found["contents"], dict):
            return dict(found)
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{path} is damaged or of another version; choose another folder or remove it.")


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
