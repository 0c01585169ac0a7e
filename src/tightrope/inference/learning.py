"""`learn_from`: a session that has learned a log of any size, in pieces that workers learn and that are added up in order.

A part of the log is a run of row groups of one file, read in batches, so memory does not grow with the log. The cut depends on the files
alone and not on the workers, so neither does the result.
"""

import os
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..engine.orchestrator import carry_out
from ..engine.plan import Rows
from ..engine.progress import showing
from ..engine.runner import Interrupted, Progress, Slices, Stopped
from ..numerics.states import copied
from ..registry import Policy, label
from ..serving.codec import flatten
from ..serving.session import Session
from ..types import Oracle
from ..verbs import merge

PARQUET = (".parquet", ".pq")
MOST_PARTS = 64  # more would keep more states at once
LEAST_PART = 2**17  # rows
BATCH_CELLS = 2**20  # numbers of a batch: 8 MiB
MOST_BATCH = 2**16  # rows


@dataclass(frozen=True)
class Part:
    """Row groups of a fragment of the data set; None: all of a fragment that has none. first: the number in its file of the first row."""

    fragment: int
    groups: tuple[int, ...] | None
    first: int
    rows: int


def learn_from(
    dataset: Any,
    policy: Policy,
    arms: int | ArrayLike | None = None,
    *,
    action: str | None = "arm",
    reward: str = "reward",
    features: Sequence[str] | str | None = None,
    baseline: int | str | None = None,
    dimension: int | None = None,
    points: ArrayLike | None = None,
    distances: ArrayLike | None = None,
    oracle: Oracle | None = None,
    horizon: int | None = None,
    names: Sequence[str] | None = None,
    engine: str = "threads",
    address: str | None = None,
    workers: int | None = None,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> Session:
    """A session that has learned a whole log, which need not fit in memory.

    dataset: a Parquet file, a folder of them, or a `pyarrow.dataset` (any format). policy: one whose state is a sum, such as UCB or
    LinUCB. arms, dimension, points, distances, oracle, horizon, names, seed: as for `Session`. action, reward, features, baseline:
    columns of the log, as in `Session.learn`; features may also be one column of lists. engine, address, workers: as for `simulate`;
    the result depends on none of them. progress: as for `simulate`, in rows.

    Equals one session that learned the rows in order up to rounding: 1e-9 relative. Raises ValueError for policies that do not learn by
    sums and for logs with bad rows (with the file and the rows), `Interrupted` on Ctrl-C.
    """
    given = {
        "arms": arms, "dimension": dimension, "points": points, "distances": distances, "oracle": oracle, "horizon": horizon,
        "names": None if names is None else tuple(names), "seed": seed,
    }  # fmt: skip
    found = Session(policy, **given)  # type: ignore[arg-type]
    merge(policy, found.state, copied(found.state))  # refuses what cannot be added up before anything is read
    source = _opened(dataset)
    columns = {"arm": None if found.catalogue and found.arms.blocks == 1 else action, "reward": reward, "features": features,
               "baseline": baseline}  # fmt: skip
    _check_columns(source, columns)
    parts = _parts(source)
    if not parts:
        raise ValueError(f"dataset = {checks.show(dataset)} has no rows.")
    rows = sum(part.rows for part in parts)
    experiment = Learning(source, parts, policy, given, columns)
    with showing(progress, "learn_from", unit="rows") as advance:
        counted = None if advance is None else lambda done, total: advance(min(done, rows), rows)
        outcome = carry_out(experiment, len(parts), engine=engine, address=address, workers=workers, progress=counted)
    if not outcome.complete:
        raise Interrupted(None)
    for number in range(len(parts)):
        found.merge(_session_of(policy, given, outcome.rows[label(policy)].pop(number)))
    return found


@dataclass(frozen=True)
class Learning:
    """The experiment of `learn_from`: replication r learns part r."""

    source: Any
    parts: list[Part]
    policy: Policy
    given: dict[str, Any]
    columns: dict[str, Any]
    kind = "learning"
    period = 1

    @property
    def rounds(self) -> int:
        """Rows of a part, on average."""
        return -(-sum(part.rows for part in self.parts) // len(self.parts))

    def names(self) -> list[str]:
        """There is only one."""
        return [label(self.policy)]

    def common(self) -> dict[str, Any]:
        """What all parts share."""
        return {"columns": self.columns}

    def content(self, name: str, replication: int) -> dict[str, Any]:
        """What the numbers of a part depend on."""
        return {"policy": self.policy, "given": self.given, "part": self.parts[replication]}

    def label(self, name: str, replication: int) -> str:
        """The policy and its parameters."""
        return label(self.policy)

    def replicate(self, name: str, replication: int, slices: Slices) -> Rows:
        """The state that has learned a part, flat, and its number of rows."""
        session, part = Session(self.policy, **self.given), self.parts[replication]
        row = part.first
        for batch in _batches(self.source, part, self.columns):
            if slices.stopping():
                raise Stopped
            try:
                taken = session.learn(batch, **self.columns)
            except ValueError as error:
                where = getattr(_fragments(self.source)[part.fragment], "path", "the data set")
                raise ValueError(f"{where}, rows counted from {row}: {error}") from None
            slices.advance(taken)
            row += taken
        return flatten(session.state) | {"rounds": np.array(session.rounds)}


def _session_of(policy: Policy, given: dict[str, Any], rows: Rows) -> Session:
    """The session whose state was flattened."""
    session, rounds = Session(policy, **given), int(rows["rounds"])
    if rounds:
        session.adopt({key: value for key, value in rows.items() if key != "rounds"}, rounds)
    return session


def _opened(dataset: Any) -> Any:
    """A pyarrow data set."""
    from pyarrow import dataset as arrow

    if isinstance(dataset, arrow.Dataset):
        return dataset
    if not isinstance(dataset, str | os.PathLike):
        raise ValueError(f"dataset = {checks.show(dataset)} is not a path or a pyarrow data set; for a table in memory use Session.learn.")
    path = pathlib.Path(dataset)
    if not path.exists():
        raise ValueError(f"dataset = {str(path)!r} does not exist; give a Parquet file or a folder of them.")
    files = sorted(str(file) for file in path.rglob("*") if file.suffix in PARQUET) if path.is_dir() else [str(path)]
    if not files:
        raise ValueError(
            f"dataset = {str(path)!r} holds no files that end in {' or '.join(PARQUET)}; for other formats pass a pyarrow data set."
        )
    try:
        found = arrow.dataset(files, format="parquet", partitioning="hive")
        found.count_rows()  # reads every footer
    except (OSError, ValueError) as error:
        raise ValueError(f"dataset = {str(path)!r} cannot be read as Parquet: {' '.join(str(error).split())[:200]}") from None
    return found


def _listed(columns: dict[str, Any], known: Sequence[str]) -> list[str]:
    """The columns that are read; a baseline may be an arm instead."""
    features = columns["features"]
    wanted = [columns["arm"], columns["reward"], *([features] if isinstance(features, str) else features or [])]
    if isinstance(columns["baseline"], str) and columns["baseline"] in known:
        wanted.append(columns["baseline"])
    return [name for name in dict.fromkeys(wanted) if name is not None]


def _check_columns(source: Any, columns: dict[str, Any]) -> None:
    known = source.schema.names
    for name in _listed(columns, known):
        if name not in known:
            raise ValueError(f"dataset has no column {checks.show(name)}; it has {', '.join(known[:10])}.")


def _fragments(source: Any) -> list[Any]:
    return list(source.get_fragments())


def _parts(source: Any) -> list[Part]:
    """Runs of row groups of about a MOST_PARTS-th of all rows, in the order of the files."""
    sizes = []
    for fragment in _fragments(source):
        groups = getattr(fragment, "row_groups", None)
        sizes.append([fragment.count_rows()] if groups is None else [group.num_rows for group in groups])
    wanted = max(LEAST_PART, -(-sum(map(sum, sizes)) // MOST_PARTS))
    parts = []
    for number, (fragment, counts) in enumerate(zip(_fragments(source), sizes, strict=True)):
        whole = getattr(fragment, "row_groups", None) is None
        begin, first, rows = 0, 0, 0
        for group, count in enumerate(counts):
            rows += count
            if rows and (rows >= wanted or group == len(counts) - 1):
                parts.append(Part(number, None if whole else tuple(range(begin, group + 1)), first, rows))
                begin, first, rows = group + 1, first + rows, 0
    return parts


def _batches(source: Any, part: Part, columns: dict[str, Any]) -> Iterator[dict[str, np.ndarray]]:
    """The rows of a part as tables of arrays."""
    whole = _fragments(source)[part.fragment]
    # One row group after the other: Arrow would fetch all that it is asked for at once.
    pieces = [whole] if part.groups is None else [whole.subset(row_group_ids=[group]) for group in part.groups]
    wanted = _listed(columns, source.schema.names)
    width = len(wanted)
    if isinstance(columns["features"], str):
        first = next(iter(whole.head(1, columns=[columns["features"]])[columns["features"]].to_pylist()), None)
        width += len(first) if isinstance(first, list) else 0
    size = int(min(MOST_BATCH, max(BATCH_CELLS // width, 256)))
    options = {"batch_size": size, "batch_readahead": 1, "fragment_readahead": 0, "use_threads": False}
    for piece in pieces:
        for batch in piece.to_batches(schema=source.schema, columns=wanted, **options):
            if batch.num_rows:
                yield {name: _array(batch.column(name)) for name in wanted}


def _array(column: Any) -> np.ndarray:
    """A column as an array; lists of one length as a matrix."""
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    flat = column.flatten()
    if column.null_count or len(flat) % len(column):
        raise ValueError("features has missing lists or lists of different lengths; every row needs all its features.")
    lengths = np.asarray(column.value_lengths()) if not pa.types.is_fixed_size_list(kind) else np.array([kind.list_size])
    if (lengths != lengths[0]).any():
        raise ValueError("features has lists of different lengths; every row needs all its features.")
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(column), -1)
