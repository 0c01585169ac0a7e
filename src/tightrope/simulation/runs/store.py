"""A run folder: plan.json says what is run and on what, plan/policy-DIGEST.json what a name stands for, by digest of the name,
chunks/DIGEST.parquet what came out.

A file appears under its name only when all of it is on disk, and its name says what is in it. So a run that was killed goes on
where it was, several drivers may share a folder, and policies in another order or under other names find their chunks again.
Files of the plan are never changed: of two drivers that write the same one at once, the second finds the first one's.

Chunk files have a row per replication: policy (in words), replication, and a column per array, as a list where it has several entries.
"""

import hashlib
import json
import pathlib
import warnings

import numpy as np

from ...core import files
from ...core.types import JsonObject
from . import provenance
from .digest import CODE, digest
from .plan import Chunk, ChunkPlan, Rows

FORMAT = 1
KEY = b"tightrope"  # of our metadata in a Parquet file


class Store:
    """The chunks of a run folder."""

    def __init__(self, out: pathlib.Path) -> None:
        self.out, self.folder = out, out / "chunks"

    def path(self, chunk: Chunk) -> pathlib.Path:
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
    """A file is not what was written; its words say how."""


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
    checksum = hashlib.sha256(str(chunk.digest).encode())
    for key in sorted(rows):
        checksum.update(f"{key} {rows[key].dtype.str} {rows[key].shape}".encode())
        checksum.update(np.ascontiguousarray(rows[key]).tobytes())
    return checksum.hexdigest()


def open_store(out: pathlib.Path, plan: ChunkPlan) -> Store:
    """The store of a run folder that is new, or holds this experiment; policies may have been added, named anew or moved.

    Raises ValueError where it holds another experiment: other seed, horizon or problem, or another policy of the same name.
    """
    if out.exists() and not out.is_dir():
        raise ValueError(f"out = {str(out)!r} is a file; give the folder of a run, or one that is not there yet.")
    record = out / "plan.json"
    experiment = json.loads(json.dumps({"kind": plan.experiment.kind} | plan.experiment.common() | {"code": CODE}, default=_plain))
    if not record.exists():
        origin = provenance.versions() | provenance.machine() | {"command": provenance.command()}
        files.write_json(record, {"format": FORMAT, "experiment": experiment, "made": origin}, once=True)
    recorded = read_plan(record)
    changed = [key for key in experiment if recorded["experiment"].get(key) != experiment[key]]
    stored = _stored_contents(out, plan)
    _refuse(out, changed + _differences(plan, stored))
    for name in [name for name in plan.contents if name not in stored]:
        files.write_json(_policy(out, name), {"format": FORMAT, "name": name, "contents": plan.contents[name]}, once=True)
        stored[name] = _read(_policy(out, name), "contents")["contents"]
    _refuse(out, _differences(plan, stored))  # of another driver's that began at the same time
    store = Store(out)
    for folder in (out, store.folder, out / "plan"):
        files.remove_leftovers(folder)
    return store


def _policy(out: pathlib.Path, name: str) -> pathlib.Path:
    return out / "plan" / f"policy-{digest(name)}.json"


def _stored_contents(out: pathlib.Path, plan: ChunkPlan) -> dict[str, dict[str, str]]:
    """The content behind the plan's names in the folder so far."""
    paths = {name: _policy(out, name) for name in plan.contents}
    return {name: _read(path, "contents")["contents"] for name, path in paths.items() if path.exists()}


def _differences(plan: ChunkPlan, stored: dict[str, dict[str, str]]) -> list[str]:
    both = [(parts, stored[name]) for name, parts in plan.contents.items() if name in stored]
    return [_PLURAL.get(part, part) for parts, before in both for part in parts if before.get(part) != parts[part]]


_PLURAL = {"policy": "policies"}


def _refuse(out: pathlib.Path, changed: list[str]) -> None:
    if changed:
        raise ValueError(
            f"out = {str(out)!r} holds a run with other {', '.join(dict.fromkeys(changed))}; choose another folder or remove it."
        )


def read_plan(path: pathlib.Path) -> JsonObject:
    """plan.json of a run folder. Raises ValueError where it is damaged."""
    return _read(path, "experiment")


def _read(path: pathlib.Path, key: str) -> JsonObject:
    """A file of the plan with what it has under a key. Raises ValueError where it is damaged."""
    try:
        content = json.loads(path.read_text())
        if content["format"] == FORMAT and isinstance(content[key], dict):
            return dict(content)
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{path} is damaged or of another version; choose another folder or remove it.")


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
