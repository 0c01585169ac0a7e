"""Logs of decisions: one format that estimators read in chunks, made from tables, files and sessions.

A row is one arm that was played: its number, its reward, the probability with which the logger played it (its propensity, in its
slot where there are slots), and what the logger saw. Rows of the same round belong to one set of arms.
"""

import datetime
import json
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from .. import checks, files
from ..serving.arms import checked_names
from ..serving.learn import Table
from ..serving.learn import column as column_of
from ..serving.session import Session

__all__ = ["Log", "from_dsjson", "from_frame", "from_obp", "from_session", "to_dsjson", "to_obp"]

CHUNK = 65_536  # rows of a chunk at most
ENTRIES = 2**21  # numbers of a chunk's largest array at most
PARQUET = (".parquet", ".pq")
TOLERANCE = 1e-6  # by how much probabilities may miss what they must add up to

NO_PROPENSITY = (
    "Without the probability of what was played no other policy can be judged: log it (Session.decide gives it), or give a number where "
    "it never changed, such as propensity=1/K for arms drawn uniformly."
)

Columns = str | Sequence[str] | np.ndarray
Path = str | os.PathLike[str]


class Rows(NamedTuple):
    """Consecutive rows of a log."""

    arm: np.ndarray  # (m,) int64
    reward: np.ndarray  # (m,)
    propensity: np.ndarray  # (m,) of the played arm, in its slot
    features: np.ndarray | None = None  # (m, d) of the round, or (m, K, d) of its arms
    eligible: np.ndarray | None = None  # (m, K) bool
    probabilities: np.ndarray | None = None  # (m, K) the logger's, of all arms
    time: np.ndarray | None = None  # (m,) as it was given
    slot: np.ndarray | None = None  # (m,) int64
    round: np.ndarray | None = None  # (m,) int64; rows of a set have the same
    origin: np.ndarray | None = None  # (m,) int64, rows of the table they were given in; None: first, first + 1, ..
    first: int = 0  # row of the source at which the chunk begins

    def part(self, begin: int, end: int) -> "Rows":
        """Rows begin .. end - 1."""
        return self.mapped(lambda item: item[begin:end], self.first + begin)

    def mapped(self, change: Callable[[np.ndarray], np.ndarray], first: int = 0) -> "Rows":
        """Every array changed in the same way."""
        return Rows(*(None if item is None else change(item) for item in self[:-1]), first)  # type: ignore[arg-type, call-arg]

    @property
    def given(self) -> np.ndarray:
        """(m,) rows of the table they were given in."""
        return np.arange(self.first, self.first + self.arm.size) if self.origin is None else self.origin

    def of(self, table: np.ndarray) -> np.ndarray:
        """The entries of an array with an entry for each row of the table."""
        return table[self.first : self.first + self.arm.size] if self.origin is None else table[self.origin]


class Source(Protocol):
    """Where a log's rows come from; every call reads them anew."""

    def read(self, size: int, narrow: bool) -> Iterator[Rows]:
        """Chunks of about `size` rows, in order. narrow: without features."""


@dataclass(frozen=True, eq=False)
class Log:
    """A log, read in chunks as often as it is needed.

    source: its rows. arms: K. names: of the arms; None: they have numbers only. rewards: (lowest, highest) reward. floor: a
    probability that every eligible arm had in every round; None: unknown. arm_features: (K, d) where they never change. left_out:
    what the log does not hold, in words, with counts. n: rows. given: rows of the table it was made from, with those left out. rounds:
    of the n rows. size: arms of the largest set, 1 without sets. plays: (K,) rows of every arm. uniform: whether every eligible arm had
    the same probability. deterministic: whether all propensities are 1. constant: whether all are the same. known: whether it has the
    logger's probabilities of all arms.
    """

    source: Source
    arms: int
    names: tuple[str, ...] | None = None
    rewards: tuple[float, float] = (0.0, 1.0)
    floor: float | None = None
    arm_features: np.ndarray | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    n: int = 0
    given: int = 0
    rounds: int = 0
    size: int = 1
    plays: np.ndarray = field(default_factory=lambda: np.zeros(0))
    uniform: bool = False
    deterministic: bool = False
    constant: bool = False
    known: bool = False

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        sets = f", sets of up to {self.size}" if self.size > 1 else ""
        return f"Log({self.n:,} rows, {self.arms} arms{sets}, rewards in [{self.rewards[0]:g}, {self.rewards[1]:g}])"

    def chunks(self, size: int | None = None) -> Iterator[Rows]:
        """The rows in order, checked, a chunk at a time; the rows of a set are never apart. size: rows of a chunk, by default by K."""
        for part in self._parts(size, narrow=False):
            rows = _rewarded(part)
            if rows.arm.size:
                yield self._checked(rows)

    def _parts(self, size: int | None, narrow: bool) -> Iterator[Rows]:
        """Chunks of the source, cut between rounds, with the rows that have no reward."""
        wide = 1 if self.arm_features is None else self.arm_features.shape[1]
        rows = max(256, min(CHUNK, ENTRIES // (self.arms * wide))) if size is None else checks.integer("size", size, least=1)
        for part in _whole_sets(self.source.read(rows, narrow)):
            yield part.mapped(lambda item: np.require(item, requirements=["C", "W"]), part.first)

    def _checked(self, rows: Rows) -> Rows:
        """A chunk whose every row can be used. Raises ValueError naming the row."""
        arm, reward, h = rows.arm, rows.reward, rows.propensity
        low, high = self.rewards
        _refuse(rows, (arm < 0) | (arm >= self.arms), lambda i: f"arm = {arm[i]} is no arm from 0 to {self.arms - 1}")
        _refuse(rows, ~np.isfinite(reward), lambda i: f"reward = {reward[i]:g} is not a finite number")
        outside = f"is outside the declared range [{low:g}, {high:g}]; give from_frame(..., rewards=(lowest, highest))"
        _refuse(rows, (reward < low) | (reward > high), lambda i: f"reward = {reward[i]:g} {outside}")
        remedy = "it must be in (0, 1]: the probability with which the logger played this arm"
        _refuse(rows, ~((h > 0.0) & (h <= 1.0 + TOLERANCE)), lambda i: f"propensity = {h[i]:g}, but {remedy}")
        if self.floor is not None:
            floor = self.floor
            _refuse(rows, h < floor * (1.0 - TOLERANCE), lambda i: f"propensity = {h[i]:g} is below floor = {floor:g}; give the true floor")
        K, m = self.arms, arm.size
        features = rows.features
        if features is not None:
            if features.ndim not in (2, 3) or features.shape[0] != m or (features.ndim == 3 and features.shape[1] != K):
                raise ValueError(f"features has shape {features.shape}, but must be (n, d), or (n, {K}, d) for features of every arm.")
            finite = np.isfinite(features).reshape(m, -1).all(axis=1)
            _refuse(rows, ~finite, lambda i: "features are not all finite")
        if rows.eligible is not None:
            mask = _of_arms("eligible", rows.eligible, m, K)
            _refuse(rows, ~mask[np.arange(m), arm], lambda i: f"arm {arm[i]} was played, but is not eligible")
        if rows.probabilities is not None:
            H = _of_arms("probabilities", rows.probabilities, m, K)
            _refuse(rows, ~((H >= 0.0) & (H <= 1.0 + TOLERANCE)).all(axis=1), lambda i: "probabilities must all be in [0, 1]")
            if rows.round is None:
                _refuse(rows, np.abs(H.sum(axis=1) - 1.0) > TOLERANCE, lambda i: f"probabilities add up to {H[i].sum():g}, not to 1")
            apart = np.abs(H[np.arange(m), arm] - h) > TOLERANCE
            _refuse(rows, apart, lambda i: f"propensity = {h[i]:g} differs from the probability {H[i, arm[i]]:g} of the played arm")
        return rows


def _of_arms(name: str, values: np.ndarray, m: int, K: int) -> np.ndarray:
    if values.shape != (m, K):
        raise ValueError(f"{name} has shape {values.shape}, but must have a column for each of the {K} arms.")
    return values


def _refuse(rows: Rows, wrong: Any, words: Any) -> None:
    """Refuse a chunk for its first bad row, and say how many there are."""
    if wrong.any():
        i, many = int(np.argmax(wrong)), int(np.count_nonzero(wrong))
        more = f" ({many} such rows in this part of the log)" if many > 1 else ""
        raise ValueError(f"row {rows.given[i]}: {words(i)}{more}.")


def _rewarded(rows: Rows) -> Rows:
    """Without the rows that have no reward (NaN), of a set without the whole round."""
    missing = np.isnan(rows.reward)
    if not missing.any():
        return rows
    if rows.round is not None:
        missing = np.isin(rows.round, rows.round[missing])
    kept = np.flatnonzero(~missing)
    return rows._replace(origin=rows.given).mapped(lambda item: item[kept], rows.first)


def _whole_sets(parts: Iterable[Rows]) -> Iterator[Rows]:
    """Chunks cut between two rounds: the last round of a chunk, which may go on, waits for the next."""
    held: Rows | None = None
    for part in parts:
        if part.round is None:
            yield part
            continue
        joined = part if held is None else _joined(held, part)
        assert joined.round is not None
        last = int(np.argmax(joined.round == joined.round[-1]))  # rows of a round are consecutive
        if last:
            yield joined.part(0, last)
        held = joined.part(last, joined.arm.size)
    if held is not None:
        yield held


def _joined(a: Rows, b: Rows) -> Rows:
    pairs = zip(a[:-1], b[:-1], strict=True)
    return Rows(*(None if x is None else np.concatenate([x, y]) for x, y in pairs), a.first)  # type: ignore[arg-type, call-arg]


# Sources -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrays:
    """Rows in memory."""

    rows: Rows

    def read(self, size: int, narrow: bool) -> Iterator[Rows]:
        """Slices."""
        rows = self.rows._replace(features=None) if narrow else self.rows
        for begin in range(0, rows.arm.size, size):
            yield rows.part(begin, min(begin + size, rows.arm.size))


@dataclass(frozen=True)
class Fields:
    """Which columns of a table hold what."""

    arm: str
    reward: str
    propensity: str | float | None
    features: Columns | None
    probabilities: Columns | None
    eligible: Columns | None
    time: str | None
    slot: str | None
    round: str | None

    def names(self, narrow: bool) -> list[str]:
        """Columns that must be read."""
        found: list[str] = [self.arm, self.reward]
        for item in (self.propensity, self.probabilities, self.eligible, self.time, self.slot, self.round):
            found += [item] if isinstance(item, str) else list(item) if isinstance(item, (list, tuple)) else []
        if not narrow and self.features is not None:
            found += [self.features] if isinstance(self.features, str) else list(self.features)
        return list(dict.fromkeys(found))

    def rows(self, table: Table, numbers: "Numbers", first: int, narrow: bool) -> Rows:
        """The rows of a table or of a part of one."""
        arm = numbers.of(column_of(table, self.arm))
        n = arm.size
        H = block(table, "probabilities", self.probabilities, n)
        if isinstance(self.propensity, str):
            h = _propensities(table, self.propensity)
        elif self.propensity is not None:
            h = np.full(n, self.propensity)
        else:
            assert H is not None
            h = _of_arms("probabilities", H, n, numbers.count)[np.arange(n), np.clip(arm, 0, numbers.count - 1)]
        mask = block(table, "eligible", self.eligible, n)
        return Rows(
            arm,
            _rewards(table, self.reward),
            h,
            None if narrow else block(table, "features", self.features, n),
            None if mask is None else mask.astype(np.bool_),
            H,
            None if self.time is None else column_of(table, self.time),
            _whole(table, self.slot),
            _whole(table, self.round),
            first=first,
        )


class Numbers:
    """The numbers of arms that a column names."""

    def __init__(self, arms: object) -> None:
        self.names: tuple[str, ...] | None = None
        self.count = 0
        if arms is None:
            return
        if isinstance(arms, (list, tuple, np.ndarray)):
            self.names = checked_names("arms", [str(item) for item in arms])
            self.count = len(self.names)
        else:
            self.count = checks.integer("arms", arms, least=1)

    def learn(self, columns: Iterable[np.ndarray]) -> None:
        """Find the arms in the log itself: names in alphabetical order, or numbers from 0 to the largest."""
        texts: set[str] = set()
        for values in columns:
            if values.dtype.kind in "OUST":
                texts.update(map(str, np.unique(np.asarray(values, dtype=object)).tolist()))
            elif values.size:
                self.count = max(self.count, int(np.max(values)) + 1)
        if texts:
            self.names = tuple(sorted(texts))
            self.count = len(self.names)
        if self.count < 1:
            raise ValueError("frame has no rows; give at least one.")

    def of(self, values: np.ndarray) -> np.ndarray:
        """A column of numbers or names as numbers; -1 where there is no such arm."""
        if values.ndim != 1:
            raise ValueError(f"arm has shape {values.shape}, but must be a column.")
        if values.dtype.kind in "iu":
            return values.astype(np.int64)
        if values.dtype.kind == "f":
            whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 2**53)
            return np.where(whole, values, -1.0).astype(np.int64)
        if self.names is None or values.dtype.kind not in "OUST":
            raise ValueError(f"arm has type {values.dtype}, but must hold arm numbers, or names: give arms=[...] with all of them.")
        found, codes = np.unique(values.astype(np.str_), return_inverse=True)
        place = {name: k for k, name in enumerate(self.names)}
        unknown = [text for text in found.tolist() if text not in place]
        if unknown:
            raise ValueError(f"arm = {checks.show(unknown[0])} is not among arms = {checks.show(list(self.names))}.")
        return np.array([place[text] for text in found.tolist()], dtype=np.int64)[codes]


def _floats(table: Table, name: str) -> np.ndarray:
    return np.ascontiguousarray(checks.floats(name, column_of(table, name)), dtype=np.float64)


def _propensities(table: Table, name: str) -> np.ndarray:
    try:
        return _floats(table, name)
    except ValueError as error:
        raise ValueError(f"{error} {NO_PROPENSITY}") from None


def _rewards(table: Table, name: str) -> np.ndarray:
    """A column of rewards; NaN where there is none, in whatever way the table says so."""
    values = column_of(table, name)
    if values.dtype == object:
        import pandas as pd

        values = np.where(pd.isna(values), np.nan, values)
    return np.ascontiguousarray(checks.floats(name, values), dtype=np.float64)


def _whole(table: Table, name: str | None) -> np.ndarray | None:
    if name is None:
        return None
    values = column_of(table, name)
    if values.dtype.kind not in "iu":
        values = checks.floats(name, values)
        if not (values == np.floor(values)).all():
            raise ValueError(f"{name} must hold whole numbers.")
    return values.astype(np.int64)


def block(table: Table, argument: str, columns: Columns | None, n: int) -> np.ndarray | None:
    """Several columns side by side, a column of arrays, or the array itself, as float64."""
    if columns is None:
        return None
    if isinstance(columns, str):
        values = column_of(table, columns)
        if values.dtype == object and values.size:
            values = np.array([np.stack([*row]) if np.ndim(row) == 1 and row.dtype == object else row for row in map(np.asarray, values)])
        block = checks.floats(argument, values)
    elif isinstance(columns, np.ndarray):
        block = checks.floats(argument, columns)
    else:
        block = np.stack([checks.floats(f"{argument} {checks.show(name)}", column_of(table, name)) for name in columns], axis=1)
    if block.shape[:1] != (n,) or block.ndim < 2:
        raise ValueError(f"{argument} has shape {block.shape}, but must have {n} rows, one for each of the frame, and columns.")
    return np.ascontiguousarray(block, dtype=np.float64)


@dataclass(frozen=True)
class Parquet:
    """Rows of Parquet files, one after the other, read a batch at a time."""

    paths: list[pathlib.Path]
    fields: Fields
    numbers: Numbers

    def read(self, size: int, narrow: bool) -> Iterator[Rows]:
        """Batches; time must not fall."""
        first, latest = 0, None
        for path, table in self.tables(size, self.fields.names(narrow)):
            rows = self.fields.rows(table, self.numbers, first, narrow)
            if rows.time is not None and rows.time.size:
                if (latest is not None and rows.time[0] < latest) or (rows.time[1:] < rows.time[:-1]).any():
                    raise ValueError(f"{self.fields.time} falls in {path}; sort the log by it, or give a frame, which is sorted here.")
                latest = rows.time[-1]
            first += rows.arm.size
            yield rows

    def tables(self, size: int, names: list[str]) -> Iterator[tuple[pathlib.Path, Any]]:
        """Batches of columns as tables, each with its file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for path in self.paths:
            try:
                with pq.ParquetFile(path) as file:
                    missing = [name for name in names if name not in file.schema_arrow.names]
                    if missing:
                        told = f" {NO_PROPENSITY}" if missing[0] == self.fields.propensity else ""
                        has = ", ".join(file.schema_arrow.names[:10])
                        raise ValueError(f"{path} has no column {missing[0]!r}; it has {has}.{told}")
                    for group in range(file.num_row_groups):  # one at a time, or the whole file is fetched ahead into memory
                        for batch in file.iter_batches(batch_size=size, row_groups=[group], columns=names):
                            yield path, pa.Table.from_batches([batch])
            except pa.ArrowInvalid as error:
                words = f"{path} is not a Parquet file that can be read ({error})."
                raise ValueError(f"{words} Read other files into a frame, as with pandas.read_csv.") from None


def parquet_files(path: pathlib.Path) -> list[pathlib.Path]:
    """The file itself, or all Parquet files of a folder by name."""
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.rglob("*") if each.suffix.lower() in PARQUET and each.is_file())
    if not found:
        raise ValueError(f"frame = {str(path)!r} is a folder without files that end with {' or '.join(PARQUET)}.")
    return found


# Constructors ------------------------------------------------------------------------------------------------------------


def from_frame(
    frame: Table | Path, arm: str = "arm", reward: str = "reward", propensity: str | float | None = "propensity", *,
    features: Columns | None = None, arm_features: ArrayLike | None = None, probabilities: Columns | None = None,
    eligible: Columns | None = None, time: str | None = None, slot: str | None = None, round: str | None = None,
    arms: int | Sequence[object] | None = None, rewards: tuple[float, float] = (0.0, 1.0), floor: float | None = None,
) -> Log:  # fmt: skip
    """A log from a table: of pandas, polars or pyarrow, a dict of arrays, or the path of a Parquet file or of a folder of them (in the
    order of their names), which are read in batches.

    arm, reward, propensity: its columns; propensity is the probability with which the logger played this arm in this row (in its
    slot), or a number where it never changed, or None where `probabilities` are given. features: columns of the round's features,
    a column of arrays (d,) or (K, d), or an array (n, d) or (n, K, d). arm_features: (K, d) where arms have features that never
    change. probabilities: the logger's of all arms: K columns in the order of arms, a column of arrays, or an array (n, K).
    eligible: likewise, which arms could be played. time: a column; rows are taken in its order. slot: a column of whole numbers,
    the position in which the arm was shown. round: a column of whole numbers, the same for all arms of a set, whose rows follow each
    other and whose propensities are chances to be in the set. arms: K, or the names of all arms; default: those in the log, or as many
    as probabilities have columns. rewards: (lowest, highest) that a reward can be. floor: a probability that every eligible arm had at
    least in every round.

    Rows without a reward (null or NaN: decisions that are still open) are left out and counted (`Log.left_out`), of a set the whole
    round. A table has one row for each arm that was played: where a decision comes several times keep its last state, as with
    frame.drop_duplicates("id", keep="last").

    Raises ValueError naming the first bad row.
    """
    if propensity is None and probabilities is None:
        raise ValueError(f"propensity is missing. {NO_PROPENSITY}")
    if isinstance(propensity, (int, float)):
        propensity = checks.real("propensity", propensity, above=0, most=1)
    fields = Fields(arm, reward, propensity, _named(features), _named(probabilities), _named(eligible), time, slot, round)
    numbers = Numbers(arms)
    source: Source
    if isinstance(frame, (str, os.PathLike)):
        path = pathlib.Path(frame)
        if not path.exists():
            raise ValueError(f"frame = {str(path)!r} does not exist; give a table, or the path of a Parquet file or of a folder of them.")
        if any(isinstance(item, np.ndarray) for item in (features, probabilities, eligible)):
            raise ValueError("features, probabilities and eligible of a Parquet file must be names of its columns.")
        source = Parquet(parquet_files(path), fields, numbers)
        if arms is None:
            numbers.learn(column_of(table, arm) for _, table in source.tables(CHUNK, [arm]))
    else:
        if arms is None:
            numbers.learn([column_of(frame, arm)])
            if numbers.names is None:  # arms that were never played have columns too
                numbers.count = max(numbers.count, *map(_columns, (probabilities, eligible)), _arms_of(features), _rows(arm_features))
        rows = fields.rows(frame, numbers, 0, narrow=False)
        _same_length(rows)
        source = Arrays(_in_order(rows))
    return new_log(source, numbers.count, numbers.names, rewards=rewards, floor=floor, arm_features=arm_features)


def _columns(block: Columns | None) -> int:
    """How many arms a block (n, K) or a list of K columns has; 0: it does not say."""
    if isinstance(block, np.ndarray):
        return int(block.shape[1]) if block.ndim == 2 else 0
    return 0 if block is None or isinstance(block, str) else len(block)


def _arms_of(features: Columns | None) -> int:
    return int(features.shape[1]) if isinstance(features, np.ndarray) and features.ndim == 3 else 0


def _rows(matrix: ArrayLike | None) -> int:
    return 0 if matrix is None else len(np.atleast_1d(np.asarray(matrix)))


def _named(columns: Columns | None) -> Columns | None:
    return columns if columns is None or isinstance(columns, (str, np.ndarray)) else list(columns)


def _same_length(rows: Rows) -> None:
    for name, values in zip(Rows._fields, rows[:-1], strict=False):
        if values is not None and values.shape[0] != rows.arm.size:
            raise ValueError(f"{name} has {values.shape[0]} rows, but arm has {rows.arm.size}.")


def _in_order(rows: Rows) -> Rows:
    if rows.time is None or rows.time.size < 2 or not (rows.time[1:] < rows.time[:-1]).any():
        return rows
    order = np.argsort(rows.time, kind="stable")
    rows = rows._replace(origin=rows.given)
    return rows.mapped(lambda item: item[order])


def new_log(
    source: Source, arms: int, names: tuple[str, ...] | None = None, *, rewards: tuple[float, float] = (0.0, 1.0),
    floor: float | None = None, arm_features: ArrayLike | None = None, left_out: Mapping[str, int] | None = None,
) -> Log:  # fmt: skip
    """A log of these rows, read once: every row is checked and counted."""
    try:
        low, high = (checks.real("rewards", item) for item in rewards)
    except TypeError:
        raise ValueError(f"rewards = {checks.show(rewards)} is not a pair (lowest, highest).") from None
    if not low < high:
        raise ValueError(f"rewards = ({low:g}, {high:g}) must be a pair (lowest, highest) of different numbers.")
    least = None if floor is None else checks.real("floor", floor, above=0, most=1.0 / arms + TOLERANCE)
    X = None if arm_features is None else checks.matrix("arm_features", arm_features, shape=(arms, None))
    log = Log(source, arms, names, (low, high), least, X)
    n = given = rounds = 0
    size, smallest, largest = 1, 1.0, 0.0
    plays, even, known = np.zeros(arms), True, False
    for part in log._parts(None, narrow=True):
        given += part.arm.size
        rows = _rewarded(part)
        if not rows.arm.size:
            continue
        log._checked(rows)
        n += rows.arm.size
        plays += np.bincount(rows.arm, minlength=arms)
        smallest, largest = min(smallest, float(rows.propensity.min())), max(largest, float(rows.propensity.max()))
        if rows.round is None:
            rounds += rows.arm.size
        else:
            starts = np.flatnonzero(np.concatenate([[True], rows.round[1:] != rows.round[:-1]]))
            rounds += starts.size
            size = max(size, int(np.diff(np.append(starts, rows.arm.size)).max()))
            even = False
        count = arms if rows.eligible is None else rows.eligible.sum(axis=1)
        even = even and bool((np.abs(rows.propensity * count - 1.0) <= TOLERANCE).all())
        known = rows.probabilities is not None
    left = dict(left_out or {}) | ({"rows without a reward": given - n} if given > n else {})
    if n == 0:
        raise ValueError(f"none of the log's {given} rows has a reward; give at least one." if given else "the log has no rows.")
    if least is None and even and not known:
        least = smallest  # every arm has its equal share, so none has less than the one with most rivals
    facts = {"n": n, "given": given, "rounds": rounds, "size": size, "plays": plays, "uniform": even, "known": known}
    facts |= {"deterministic": smallest >= 1.0 - TOLERANCE and arms > 1, "constant": largest - smallest <= TOLERANCE}
    return Log(source, arms, names, (low, high), least, X, left, **facts)  # type: ignore[arg-type]


def from_obp(feedback: Mapping[str, Any], *, rewards: tuple[float, float] = (0.0, 1.0), floor: float | None = None) -> Log:
    """A log from the dict of the Open Bandit Pipeline: n_actions, action, reward, pscore, and position, context, pi_b where they are.

    position becomes the slot, context the features, pi_b[:, :, position] the logger's probabilities. rewards, floor: as in
    `from_frame`. Raises ValueError as that does.
    """
    missing = [name for name in ("action", "reward", "pscore") if feedback.get(name) is None]
    if missing:
        raise ValueError(f"feedback has no {missing[0]!r}; it needs action, reward and pscore.")
    action = np.asarray(feedback["action"])
    position = feedback.get("position")
    table: dict[str, Any] = {"arm": action, "reward": feedback["reward"], "propensity": feedback["pscore"]}
    probabilities = None
    if position is not None:
        table["slot"] = np.asarray(position)
    if feedback.get("pi_b") is not None:
        pi = checks.floats("pi_b", feedback["pi_b"])
        if pi.ndim == 3:
            place = np.zeros(pi.shape[0], dtype=np.int64) if position is None or pi.shape[2] == 1 else np.asarray(position, dtype=np.int64)
            pi = pi[np.arange(pi.shape[0]), :, place]
        probabilities = pi
    context = feedback.get("context")
    features = None if context is None else checks.floats("context", context)
    K = feedback.get("n_actions")
    slot = "slot" if position is not None else None
    arms = None if K is None else int(K)
    return from_frame(table, features=features, probabilities=probabilities, slot=slot, arms=arms, rewards=rewards, floor=floor)


def to_obp(log: Log) -> dict[str, Any]:
    """The log as the dict that the Open Bandit Pipeline reads; all rows in memory."""
    rows = whole(log)
    position = None if rows.slot is None else rows.slot
    pi = None if rows.probabilities is None else rows.probabilities[:, :, None]
    return {
        "n_rounds": rows.arm.size, "n_actions": log.arms, "action": rows.arm, "reward": rows.reward, "pscore": rows.propensity,
        "position": position, "context": rows.features, "action_context": log.arm_features, "pi_b": pi,
    }  # fmt: skip


def whole(log: Log) -> Rows:
    """All rows of a log in memory, from one reading."""
    parts = [part._replace(origin=part.given) for part in log.chunks()]
    joined = [None if item is None else np.concatenate([part[i] for part in parts]) for i, item in enumerate(parts[0][:-1])]
    return Rows(*joined, 0)  # type: ignore[arg-type, call-arg]


def from_dsjson(path: Path, *, arms: int | None = None, rewards: tuple[float, float] = (0.0, 1.0)) -> Log:
    """A log from a dsjson file of Vowpal Wabbit: one decision a line, actions from 1, costs, which become rewards -cost.

    Of an event that comes several times the last state counts; so does a reward that comes later in a line of its own. Decisions
    without a reward are left out and counted. The features of its namespaces are not read. rewards: as in `from_frame`.
    """
    events: dict[str, dict[str, Any]] = {}
    late: dict[str, float] = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                item = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{os.fspath(path)}, line {number}: not JSON ({error}).") from None
            if not isinstance(item, dict):
                raise ValueError(f"{os.fspath(path)}, line {number}: not a JSON object.")
            id = str(item.get("EventId", f"line {number}"))
            if "RewardValue" in item and "_label_Action" not in item:
                late[id] = checks.real(f"RewardValue in line {number}", item["RewardValue"])
                continue
            events[id] = _event(item, f"{os.fspath(path)}, line {number}")  # a dict keeps the place of an event's first state
    return _from_events(events, late, arms, rewards, path)


def _event(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    action, chance = item.get("_label_Action"), item.get("_label_probability")
    if action is None or chance is None:
        raise ValueError(f"{where}: _label_Action and _label_probability must be there.")
    arm = checks.integer(f"_label_Action ({where})", action, least=1) - 1
    if item.get("pdrop"):
        raise ValueError(f"{where}: pdrop = {item['pdrop']} says that the log was thinned, which is not read; give a log with all events.")
    cost = item.get("_label_cost")
    listed, chances = item.get("a"), item.get("p")
    if (listed is None) != (chances is None) or (listed is not None and chances is not None and len(listed) != len(chances)):
        raise ValueError(f"{where}: a and p must be lists of the same length.")
    return {
        "arm": arm, "cost": None if cost is None else checks.real(f"_label_cost ({where})", cost),
        "chance": checks.real(f"_label_probability ({where})", chance), "a": listed, "p": chances, "time": item.get("Timestamp"),
    }  # fmt: skip


def _from_events(
    events: Mapping[str, Mapping[str, Any]], late: Mapping[str, float], arms: int | None, rewards: tuple[float, float], path: Path
) -> Log:
    kept, waiting = [], 0
    for id, event in events.items():
        reward = late.get(id, None if event["cost"] is None else -event["cost"])
        if reward is None:
            waiting += 1
        else:
            kept.append((event, reward))
    if not kept:
        raise ValueError(f"{os.fspath(path)} has no decision with a reward.")
    K = max(max(event["arm"] + 1, *(event["a"] or [0])) for event, _ in kept)
    K = K if arms is None else checks.integer("arms", arms, least=K)
    n = len(kept)
    H = mask = None
    if all(event["a"] is not None for event, _ in kept):
        H, mask = np.zeros((n, K)), np.zeros((n, K), dtype=np.bool_)
        for i, (event, _) in enumerate(kept):
            places = np.asarray(event["a"], dtype=np.int64) - 1
            H[i, places], mask[i, places] = event["p"], True
    stamps = [event["time"] for event, _ in kept]
    time = None
    if all(isinstance(stamp, str) for stamp in stamps):
        time = _times(stamps, os.fspath(path))
    rows = Rows(
        np.array([event["arm"] for event, _ in kept], dtype=np.int64), np.array([reward for _, reward in kept], dtype=np.float64),
        np.array([event["chance"] for event, _ in kept], dtype=np.float64), None, mask if mask is not None and not mask.all() else None,
        H, time,
    )  # fmt: skip
    left = {"decisions without a reward": waiting} if waiting else {}
    return new_log(Arrays(_in_order(rows)), K, rewards=rewards, left_out=left)


def to_dsjson(log: Log, path: Path) -> pathlib.Path:
    """Write the log as dsjson: actions from 1, costs -reward, the logger's probabilities where they are known; whole or not at all."""
    target = pathlib.Path(path)
    if log.size > 1:
        raise ValueError("a log of sets has no form in dsjson; write it as a table.")
    with files.atomically(target) as file:
        for rows in log.chunks():
            for i in range(rows.arm.size):
                file.write((json.dumps(_line(rows, i)) + "\n").encode())
    return target


def _line(rows: Rows, i: int) -> dict[str, Any]:
    arm = int(rows.arm[i])
    others: list[int] = [arm]
    chances = [float(rows.propensity[i])]
    if rows.probabilities is not None:
        shown = range(rows.probabilities.shape[1]) if rows.eligible is None else np.flatnonzero(rows.eligible[i]).tolist()
        others += [k for k in shown if k != arm]
        chances += [float(rows.probabilities[i, k]) for k in others[1:]]
    line: dict[str, Any] = {
        "_label_cost": -float(rows.reward[i]), "_label_probability": chances[0], "_label_Action": arm + 1, "_labelIndex": arm,
        "EventId": str(rows.given[i]), "Version": "1",
    }  # fmt: skip
    if rows.time is not None:
        stamp = rows.time[i]
        line["Timestamp"] = _stamp(stamp)
    if rows.probabilities is not None:
        line |= {"a": [k + 1 for k in others], "p": chances}
    return line


def _stamp(time: object) -> str:
    """A time as text: seconds since 1970 or a time of any kind; text stays."""
    if isinstance(time, (int, float, np.number)):
        time = datetime.datetime.fromtimestamp(float(time), datetime.UTC)
    return str(time).replace(" ", "T").replace("+00:00", "Z")


def _times(stamps: list[str], where: str) -> np.ndarray:
    """Times from text, in UTC."""
    import pandas as pd

    try:
        found = pd.to_datetime(pd.Series(stamps), utc=True, format="ISO8601")
    except ValueError:
        raise ValueError(f"{where}: Timestamp must hold times such as 2026-01-31T12:00:00Z.") from None
    return np.asarray(found.dt.tz_localize(None).to_numpy())


def from_session(session: Session | Path, *, rewards: tuple[float, float] = (0.0, 1.0), floor: float | None = None) -> Log:
    """A log of the decisions that a session, or the file of a saved one, remembers with their rewards, in the order of its rounds.

    Left out and counted (`Log.left_out`): open decisions, those closed without a reward, those that `select` made, which asks for
    no propensity, and those of long ago: a session remembers the last 10,000 closed decisions, and lets their features and masks
    go. Keep a log of your own (a table) for more. rewards, floor: as in `from_frame`; the floor is that of Explore. Raises ValueError
    where nothing is left.
    """
    if not isinstance(session, Session):
        session = Session.load(pathlib.Path(session))
    if session.catalogue:
        raise ValueError("this session's arms are new candidates at every call, so its log has no arms to compare; keep a table.")
    arm: list[int] = []
    reward: list[float] = []
    chance: list[float] = []
    round: list[int] = []
    left = {"open decisions": len(session.open), "closed without a reward": 0, "made by select, without a propensity": 0}
    remembered = 0
    sets = session.arms.oracle is not None
    for decision, answers in sorted(session.answered(), key=lambda item: item[0].round):
        remembered += 1
        if np.isnan(decision.propensity).any():
            left["made by select, without a propensity"] += 1
        elif answers is None or (isinstance(answers, dict) and len(answers) < np.size(decision.arm)):
            left["closed without a reward"] += 1
        else:
            arms = np.atleast_1d(decision.arm).tolist()
            arm += arms
            chance += np.atleast_1d(decision.propensity).tolist()
            reward += [answers[k] for k in arms] if isinstance(answers, dict) else [answers]
            round += [decision.round] * len(arms)
    left["cancelled, or closed too long ago to be known"] = session.decided - remembered - len(session.open)
    left = {words: count for words, count in left.items() if count}
    if not arm:
        told = ", ".join(f"{count} {words}" for words, count in left.items()) or "no decisions"
        raise ValueError(f"this session has no decision with a reward and a propensity ({told}); make them with Session.decide.")
    rounds = np.array(round, dtype=np.int64)
    rows = Rows(
        np.array(arm, dtype=np.int64), np.array(reward), np.array(chance), time=rounds.astype(np.float64), round=rounds if sets else None
    )
    names = session.names
    X = session.arms.features
    return new_log(Arrays(rows), session.arms.number, names, rewards=rewards, floor=floor, arm_features=X, left_out=left)
