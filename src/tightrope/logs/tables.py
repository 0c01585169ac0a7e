"""One reader of tables: named columns in memory or in files, a part at a time, as arrays; errors
name the first bad rows.

In memory: tables of pandas, polars (LazyFrames too), pyarrow and DuckDB, readers of record batches,
dicts of arrays, CSV files. In files, which are read a part at a time: Parquet, a file or a folder
of them, and every `pyarrow.dataset`.
"""

import contextlib
import datetime
import decimal
import os
import pathlib
import re
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.dataset as ds

PARQUET, CSV = (".parquet", ".pq"), (".csv",)
OTHER_FILES = {
    b"<": "a web page (HTML) or XML",
    b"{": "JSON",
    b"[": "JSON",
    b"PK": "an Excel file or another zip",
    b"\x1f\x8b": "compressed by gzip",
    b"PAR1": "a Parquet file",
}
UTC_ENDS = re.compile(r"\s*(UTC|GMT)\s*$")
ROWS_NAMED = 3  # bad rows named in a refusal
BATCH = 65_536  # rows of a batch at most


class NamedColumns(Protocol):
    """A table in memory: of pandas, polars or pyarrow, or a dict of arrays."""

    def __getitem__(self, name: str, /) -> object:
        """A column."""


Path: TypeAlias = str | os.PathLike[str]
Frame: TypeAlias = NamedColumns | Path  # what is read as a table
Columns: TypeAlias = (
    str | Sequence[str] | np.ndarray
)  # a column of arrays, columns side by side, or the numbers themselves


# Bad rows -----------------------------------------------------------------------------------------


class BadRows:
    """The rows of a table that cannot be used, and why.

    Parameters
    ----------
    count : int
        Rows of the table, or of the part of it that is looked at.
    left_out : (count,) bool, optional
        Rows that are not used, so that nothing in them is wrong.
    """

    def __init__(self, count: int, left_out: np.ndarray | None = None) -> None:
        self.wrong = np.zeros(count, dtype=np.bool_)
        self.used = np.ones(count, dtype=np.bool_) if left_out is None else ~left_out
        self._reasons: dict[int, str] = {}

    def note(self, wrong: np.ndarray, reason: Callable[[int], str]) -> None:
        """Rows that are wrong for the same reason, which is said of row i by reason(i); the first
        reason of a row is the one named."""
        if not wrong.any():
            return
        new = wrong & self.used & ~self.wrong
        for i in np.flatnonzero(new)[:ROWS_NAMED].tolist():
            self._reasons[i] = reason(i)
        self.wrong |= new

    def refuse(self, rows: np.ndarray | None = None, consequence: str = "") -> None:
        """Raise ValueError with the number of bad rows and the first of them, if there are any.
        rows: their numbers in the whole table."""
        if not self._reasons:
            return
        count, shown = int(np.count_nonzero(self.wrong)), sorted(self._reasons)[:ROWS_NAMED]
        named = "; ".join(
            f"row {i if rows is None else rows[i]}: {self._reasons[i]}" for i in shown
        )
        more = f"; and {count - len(shown)} more" if count > len(shown) else ""
        total = f"{count} bad row{'s' if count > 1 else ''} of {self.wrong.size}"
        raise ValueError(f"frame has {total}{consequence}: {named}{more}.")


def entry(values: np.ndarray, i: int) -> str:
    return checks.show(values[i : i + 1].tolist()[0])


# Columns as arrays --------------------------------------------------------------------------------


def is_missing(values: np.ndarray) -> np.ndarray:
    """(n,) where a column has no entry: None, NaN, or what pandas and Arrow write for it."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=np.bool_)
    import pandas as pd

    return np.asarray(pd.isna(values), dtype=np.bool_)


def as_numbers(values: np.ndarray) -> np.ndarray:
    """A column as float64; NaN where there is no number."""
    if values.dtype.kind in "biuf":
        return np.require(
            values, np.float64, ["C", "W"]
        )  # tables of Arrow cannot be written, which is another type to compiled code
    numbers = np.full(values.shape, np.nan)
    if values.dtype.kind == "O":
        for i, value in enumerate(values.tolist()):
            with contextlib.suppress(Exception):  # whatever is no number stays NaN
                numbers[i] = np.nan if isinstance(value, (str, bytes)) else float(value)
    return numbers


def column_of(values: np.ndarray, argument: str, count: int | None = None) -> np.ndarray:
    """A column with one entry for each row. Raises ValueError for arrays of any other shape."""
    if values.ndim != 1 or values.size == 0:
        raise ValueError(
            f"{argument} has shape {values.shape}, but must be a column with at least one row."
        )
    if count is not None and values.size != count:
        raise ValueError(
            f"{argument} has shape {values.shape}, but must have one entry for each of the "
            f"{count} rows."
        )
    return values


def numbers(values: np.ndarray, name: str, bad: BadRows) -> np.ndarray:
    """A column of finite numbers as (n,) float64; rows with anything else are bad."""
    floats = as_numbers(column_of(values, f"column {checks.show(name)}", bad.wrong.size))
    bad.note(~np.isfinite(floats), lambda i: f"{name} = {entry(values, i)} is not a finite number")
    return floats


def rewards(values: np.ndarray, name: str) -> tuple[np.ndarray, BadRows]:
    """A column of rewards as (n,) float64, NaN where the row has none, and the bad rows: those with
    something else than a number."""
    missing = is_missing(column_of(values, f"reward = {checks.show(name)}"))
    floats, bad = as_numbers(values), BadRows(values.size, missing)
    bad.note(~np.isfinite(floats), lambda i: f"{name} = {entry(values, i)} is not a finite number")
    return np.where(missing, np.nan, floats), bad


def whole_numbers(values: np.ndarray, name: str, bad: BadRows) -> np.ndarray:
    """A column of whole numbers as (n,) int64; rows with anything else are bad."""
    column_of(values, f"column {checks.show(name)}", bad.wrong.size)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    floats = as_numbers(values)
    whole = np.isfinite(floats) & (floats == np.floor(floats)) & (np.abs(floats) < 2.0**53)
    bad.note(~whole, lambda i: f"{name} = {entry(values, i)} is not a whole number")
    return np.where(whole, floats, -1.0).astype(np.int64)


def times(values: np.ndarray, name: str, bad: BadRows) -> np.ndarray:
    """A column of times, (n,): numbers as they are, dates and text such as 2026-01-31T12:00:00 as
    datetime64 in UTC."""
    column_of(values, f"column {checks.show(name)}", bad.wrong.size)
    import pandas as pd

    moments = pd.Series(values).infer_objects().to_numpy() if values.dtype == object else values
    if moments.dtype.kind not in "biufM":
        missing = is_missing(values)
        try:
            entries = np.where(missing, np.array(None), values).tolist()
            column = pd.Series(
                [UTC_ENDS.sub("Z", each) if isinstance(each, str) else each for each in entries],
                dtype=object,
            )
            moments = np.asarray(
                pd.to_datetime(column, utc=True, format="ISO8601").dt.tz_localize(None).to_numpy()
            )
        except (ValueError, TypeError):
            raise ValueError(
                f"time = {checks.show(name)} holds neither numbers nor times such as 2026-01-31 "
                "12:00:00."
            ) from None
    bad.note(is_missing(moments), lambda i: f"{name} = {entry(values, i)} is no time")
    return moments


def labels(values: np.ndarray, name: str, bad: BadRows) -> tuple[np.ndarray, list[int | str]]:
    """A column of whole numbers and names as (n,) places in the list of its distinct labels; -1 in
    bad rows, with anything else."""
    column_of(values, f"column {checks.show(name)}", bad.wrong.size)
    if values.dtype.kind not in "iufOUST":  # truths, times and durations: names as written
        import pandas as pd

        texts = pd.Series(values).astype(str).to_numpy(dtype=object)
        values = np.where(is_missing(values), np.array(None), texts)
    places, known = _factorize(
        values if values.dtype.kind in "iuf" else np.asarray(values, dtype=object)
    )
    bad.note(
        places < 0,
        lambda i: (
            f"{name} = {entry(values, i)} is no arm; an arm is a whole number or a name (write "
            "prices as text)"
        ),
    )
    return places, known


def _factorize(values: np.ndarray) -> tuple[np.ndarray, list[int | str]]:
    import pandas as pd

    try:
        codes, objects = pd.factorize(values)
    except TypeError:  # lists and dicts cannot be compared
        comparable = [
            value if isinstance(value, (str, int, float, np.number)) else None
            for value in values.tolist()
        ]
        codes, objects = pd.factorize(np.array(comparable, dtype=object))
    known: dict[int | str, int] = {}
    places = [
        -1 if (one := label(each)) is None else known.setdefault(one, len(known))
        for each in objects
    ]
    return np.array([*places, -1], dtype=np.int64)[codes], list(
        known
    )  # what is missing has code -1


def label(value: object) -> int | str | None:
    if isinstance(value, str):
        return str(value) or None
    if isinstance(value, (datetime.date, decimal.Decimal, uuid.UUID)):
        return str(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
        return None
    whole = isinstance(value, (int, np.integer)) or (np.abs(value) < 2**53 and value == int(value))
    return int(value) if whole else None


def matrix(batch: "TableBatch", argument: str, columns: Columns, bad: BadRows) -> np.ndarray:
    """Numbers of every row, (n, d) or (n, K, d), float64: columns side by side, a column of arrays,
    or an array that is given."""
    n = bad.wrong.size
    if isinstance(columns, str):
        array = _stack_arrays(batch.column(columns), argument, bad)
    elif isinstance(columns, np.ndarray):
        array = checks.floats(argument, columns)
    else:
        each = [
            as_numbers(column_of(batch.column(name), f"{argument} {checks.show(name)}", n))
            for name in columns
        ]
        for name, values in zip(columns, each, strict=True):
            words = f"{argument} {name}"
            bad.note(
                ~np.isfinite(values),
                lambda i: (
                    f"{words} = "  # noqa: B023
                    f"{entry(batch.column(name), i)} is not a finite number"  # noqa: B023
                ),
            )
        array = np.stack(each, axis=1) if each else np.zeros((n, 0))
    if array.shape[:1] != (n,) or array.ndim < 2:
        raise ValueError(
            f"{argument} has shape {array.shape}, but must have {n} rows, one for each of the "
            "frame, and columns."
        )
    return np.require(array, np.float64, ["C", "W"])


def _stack_arrays(values: np.ndarray, argument: str, bad: BadRows) -> np.ndarray:
    if not values.ndim:
        raise ValueError(
            f"{argument} is {checks.show(values.item())}, but must be a column with a list of "
            "numbers in every row; of a sparse matrix put list(matrix.toarray()) there."
        )
    if values.dtype != object or not values.size:
        return checks.floats(argument, values)
    rows = [_nested_array(value) for value in values]
    shapes = [None if row is None else row.shape for row in rows]
    counts = {shape: shapes.count(shape) for shape in set(shapes) if shape}
    if not counts:
        raise ValueError(f"{argument} = {entry(values, 0)} in row 0 is not a list of numbers.")
    usual = max(counts, key=lambda shape: counts[shape])
    bad.note(
        np.array([shape != usual for shape in shapes]),
        lambda i: (
            f"{argument} is {entry(values, i)}, but must be numbers of shape {usual}, as in most "
            "rows"
        ),
    )
    return np.stack(
        [row if row is not None and row.shape == usual else np.zeros(usual) for row in rows]
    )


def _nested_array(value: object) -> np.ndarray | None:
    """Lists in lists as an array; None where they are no numbers of one shape."""
    try:
        if isinstance(value, np.ndarray) and value.dtype == object:
            value = [_nested_array(row) if np.ndim(row) else row for row in value]
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None


# Tables -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableBatch:
    """Consecutive rows of a table. first: number of the first one. source: their file, "" in
    memory. rows: how many; 0: not counted."""

    frame: NamedColumns
    first: int = 0
    source: str = ""
    rows: int = 0

    def column(self, name: str) -> np.ndarray:
        try:
            values: Any = self.frame[name]
        except Exception:
            names = column_names(self.frame)
            has = (
                f"it has {', '.join(names[:10])}"
                if names
                else "give a table with named columns or a dict of arrays"
            )
            raise ValueError(f"frame has no column {checks.show(name)}; {has}.") from None
        if type(values).__module__.startswith("pyarrow"):
            return array_of(values)
        if isinstance(values, np.ma.MaskedArray):  # a masked entry is a missing one
            hidden, shown = np.ma.getmaskarray(values), np.asarray(values)
            return np.where(hidden, np.array(None), shown.astype(object)) if hidden.any() else shown
        if hasattr(values, "to_numpy"):
            return np.asarray(values.to_numpy())
        try:
            array = np.asarray(values)
        except ValueError:  # lists of different lengths
            array = np.empty(len(values), dtype=object)
            array[:] = values
        return (
            array if array.dtype.kind not in "US" else np.asarray(values, dtype=object)
        )  # a list's numbers beside text stay numbers


def column_names(frame: object) -> list[str]:
    if isinstance(frame, Mapping):
        return [str(name) for name in frame]
    names = getattr(frame, "column_names", getattr(frame, "columns", ()))
    return [str(name) for name in names]


def numbers_of_table(frame: Any) -> np.ndarray:
    """All columns of a table side by side in their order, (n, d) float64, NaN where there is no
    number."""
    names = list(
        frame
        if isinstance(frame, Mapping)
        else getattr(frame, "column_names", None) or frame.columns
    )
    return (
        np.stack([as_numbers(TableBatch(frame).column(name)) for name in names], axis=1)
        if names
        else np.zeros((0, 0))
    )


def array_of(column: "pa.Array | pa.ChunkedArray") -> np.ndarray:
    """A column of Arrow as an array: lists of one length as a matrix, categories as what they stand
    for."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    kind = column.type
    if pa.types.is_dictionary(kind):
        return array_of(column.dictionary_decode())
    if not (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    ):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    lengths = (
        np.asarray(column.value_lengths()) if len(column) and not column.null_count else np.zeros(0)
    )
    if not lengths.size or (lengths != lengths[0]).any():
        return np.asarray(column.to_numpy(zero_copy_only=False))
    inner = array_of(column.flatten())
    return inner.reshape(len(column), int(lengths[0]), *inner.shape[1:])


@dataclass(frozen=True)
class InMemory:
    frame: NamedColumns

    @property
    def names(self) -> list[str]:
        return column_names(self.frame)

    def batches(self, columns: Sequence[str], size: int = BATCH) -> Iterator[TableBatch]:
        yield TableBatch(self.frame)


@dataclass(frozen=True)
class Piece:
    """Row groups of a file of a data set. fragment: None: the whole data set. groups: None: the
    whole file. first: its first row."""

    fragment: int | None
    groups: tuple[int, ...] | None
    first: int
    rows: int


@dataclass(frozen=True)
class InFiles:
    dataset: "ds.Dataset"
    name: str = "dataset"

    @property
    def names(self) -> list[str]:
        return list(self.dataset.schema.names)

    def check(self, columns: Sequence[str]) -> None:
        stored = [
            (getattr(file, "path", self.name), set(file.physical_schema.names))
            for file in self.fragments()
        ]
        somewhere = set().union(*(names for _, names in stored)) if stored else set()
        for name in columns:
            if name not in self.names:
                raise ValueError(
                    f"{self.name} has no column {checks.show(name)}; it has "
                    f"{', '.join(self.names[:10])}."
                )
            for path, names in stored:
                if name in somewhere and name not in names:
                    raise ValueError(
                        f"{path} has no column {checks.show(name)}, which other files have."
                    )

    def fragments(self) -> "list[ds.Fragment]":
        """Its files; none where the data set is filtered, whose files must not be looked at one by
        one."""
        try:
            return list(self.dataset.get_fragments())
        except ValueError:
            return []

    def pieces(self, least: int = 0, most: int | None = None) -> list[Piece]:
        """The table cut between row groups into pieces of at least `least` rows and, if most is
        given, of about a most-th of all rows.

        The cut depends on the files alone, so what is computed piece by piece depends on nothing
        else. A file is never joined to another.
        """
        files, sizes = self.fragments(), []
        if not files:
            rows = self.dataset.count_rows()
            return [Piece(None, None, 0, rows)] if rows else []
        for file in files:
            groups = getattr(file, "row_groups", None)
            sizes.append(
                [file.count_rows()] if groups is None else [group.num_rows for group in groups]
            )
        wanted = least if most is None else max(least, -(-sum(map(sum, sizes)) // most))
        cut = []
        for number, (file, counts) in enumerate(zip(files, sizes, strict=True)):
            whole = getattr(file, "row_groups", None) is None
            begin, first, rows = 0, 0, 0
            for group, count in enumerate(counts):
                rows += count
                if rows and (rows >= wanted or group == len(counts) - 1):
                    cut.append(
                        Piece(
                            number, None if whole else tuple(range(begin, group + 1)), first, rows
                        )
                    )
                    begin, first, rows = group + 1, first + rows, 0
        return cut

    def piece(
        self, piece: Piece, columns: Sequence[str], size: int = BATCH
    ) -> Iterator[TableBatch]:
        """The rows of a piece in batches of at most `size`, numbered as in its file."""
        import pyarrow as pa

        whole = self.dataset if piece.fragment is None else self.fragments()[piece.fragment]
        # One row group after the other: Arrow would fetch all that it is asked for at once.
        parts = (
            [whole]
            if piece.groups is None
            else [whole.subset(row_group_ids=[group]) for group in piece.groups]
        )
        options = {
            "batch_size": size,
            "batch_readahead": 1,
            "fragment_readahead": 0,
            "use_threads": False,
        }
        if piece.fragment is not None:
            options["schema"] = self.dataset.schema
        first, path = piece.first, getattr(whole, "path", "")
        for part in parts:
            for batch in part.to_batches(columns=list(dict.fromkeys(columns)), **options):
                if batch.num_rows:
                    yield TableBatch(pa.Table.from_batches([batch]), first, path, batch.num_rows)
                    first += batch.num_rows

    def numbers_of_a_row(self, columns: Sequence[str]) -> int:
        """Entries of a row, those of its lists one by one, judged by the first row."""
        lists = [
            name
            for name in columns
            if str(self.dataset.schema.field(name).type).startswith(
                ("list", "large_list", "fixed_size_list")
            )
        ]
        first = (
            self.dataset.head(1, columns=lists, use_threads=False).to_pylist() if lists else []
        )  # reads a row group
        return max(
            1,
            len(columns) + sum(len(value) - 1 for row in first for value in row.values() if value),
        )

    def batches(self, columns: Sequence[str], size: int = BATCH) -> Iterator[TableBatch]:
        """All rows in the order of the files, numbered from the first file's first row."""
        first = 0
        for piece in self.pieces():
            for batch in self.piece(piece, columns, size):
                yield TableBatch(batch.frame, first, batch.source, batch.rows)
                first += batch.rows


Table: TypeAlias = InMemory | InFiles


def open_table(
    source: "Frame | ds.Dataset", argument: str = "frame", arm: str | None = None
) -> Table:
    """The table that was given: in memory, or a path or a data set, whose rows are read when they
    are needed. arm: its column of names.

    Raises ValueError in a sentence for what is no table and for files that cannot be read.
    """
    if isinstance(source, (str, os.PathLike)):
        path = pathlib.Path(source)
        if not path.exists():
            raise ValueError(
                f"{argument} = {str(path)!r} does not exist; give a table, or the path of a CSV or "
                "Parquet file or of a folder of Parquet files."
            )
        is_csv = path.suffix.lower() in CSV
        return InMemory(read_csv(path, arm)) if is_csv else parquet(path, argument)
    if isinstance(source, Mapping):
        return InMemory(source)
    module = type(source).__module__
    if module.startswith("pyarrow") and hasattr(source, "get_fragments"):
        return InFiles(source, argument)
    if module.startswith("polars") and hasattr(source, "collect"):
        return InMemory(source.collect())
    if (
        hasattr(source, "__arrow_c_stream__")
        and not hasattr(source, "to_numpy")
        and not hasattr(source, "column_names")
    ):
        # relations of DuckDB, readers of record batches: the rows come once, so they are kept
        import pyarrow as pa

        return InMemory(pa.table(source))
    if not hasattr(source, "__getitem__") or isinstance(source, (list, tuple, bytes, np.ndarray)):
        raise ValueError(
            f"{argument} = {checks.show(source)} is no table: it has no column by name; give a "
            "table with named columns, a dict of arrays or the path of a file."
        )
    return InMemory(source)


def parquet(path: pathlib.Path, argument: str = "frame") -> InFiles:
    """A Parquet file, or all of a folder in the order of their names, folders below it included.
    Their columns may differ in type."""
    import pyarrow as pa
    from pyarrow import dataset as arrow

    files = [path]
    if path.is_dir():
        files = sorted(
            each for each in path.rglob("*") if each.suffix.lower() in PARQUET and each.is_file()
        )
        if not files:
            raise ValueError(
                f"{argument} = {str(path)!r} is a folder without files that end with "
                f"{' or '.join(PARQUET)}; for files of other formats give a pyarrow data set."
            )
    try:
        paths, options = (
            [str(file) for file in files],
            {"format": "parquet", "partitioning": "hive"},
        )
        data = arrow.dataset(paths, **options)
        schemas = [file.physical_schema for file in data.get_fragments()]  # reads every footer
        if any(not schema.equals(schemas[0]) for schema in schemas):
            data = arrow.dataset(
                paths,
                schema=pa.unify_schemas([data.schema, *schemas], promote_options="permissive"),
                **options,
            )
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:200]
        words = f"{path} is not a Parquet file that can be read ({reason})."
        raise ValueError(
            f"{words} Read other files into a frame, as with pandas.read_csv."
        ) from None
    return InFiles(data, str(path))


def read_csv(path: pathlib.Path, arm: str | None = None) -> "pd.DataFrame":
    """A CSV file in memory. Whole numbers with zeros in front are names, so that 001 and 1 stay
    two.

    arm: a column in which every text stands for itself, also NA, None and 9.90; whole numbers where
    all of it are.
    """
    import pandas as pd

    _refuse_other_files(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(path, index_col=False)
        whole = [name for name in frame if _is_whole(frame[name])]
        text = (
            pd.read_csv(path, index_col=False, dtype=dict.fromkeys(whole, str)) if whole else frame
        )
    except pd.errors.ParserWarning:
        raise ValueError(
            f"{path} has more fields in a row than names in its first line; name every column."
        ) from None
    except ValueError as error:  # what pandas raises for damaged files is one
        raise ValueError(
            f"{path} is not a CSV file that can be read ({' '.join(str(error).split())})."
        ) from None
    if arm in frame:
        words = pd.read_csv(path, index_col=False, usecols=[arm], dtype=str, keep_default_na=False)[
            arm
        ]
        numeric = words[words != ""].str.fullmatch(r"\s*-?(0|[1-9]\d*)(\.0*)?\s*").all()
        frame[arm] = pd.Series(
            [
                None if not word else int(word.partition(".")[0]) if numeric else word
                for word in words
            ],
            dtype=object,
        )
        whole = [name for name in whole if name != arm]
    for name in whole:
        if text[name].str.match(r"\s*0\d").any():
            frame[name] = text[name]
    return frame


def _refuse_other_files(path: pathlib.Path) -> None:
    with open(path, "rb") as file:
        line = file.readline(100_000).strip().removeprefix(b"\xef\xbb\xbf")
    kind = next((kind for begin, kind in OTHER_FILES.items() if line.startswith(begin)), None)
    if kind is not None:
        raise ValueError(
            f"{path} is {kind}, not a CSV file; save the table itself as CSV or Parquet."
        )
    for mark, name in ((b";", "semicolons"), (b"\t", "tabs"), (b"|", "vertical bars")):
        if mark in line and b"," not in line:
            raise ValueError(
                f"{path} has {name} between its columns, but a CSV file has commas; read it by "
                f"pandas.read_csv(path, sep={mark.decode()!r}), with decimal=',' where numbers "
                "have commas, and give the frame, or write that as CSV or Parquet."
            )


def _is_whole(column: "pd.Series[Any]") -> bool:
    return column.dtype.kind in "iu" or (
        column.dtype.kind == "f" and bool((column.dropna() % 1.0 == 0.0).all())
    )


def number_of_columns(columns: Columns | ArrayLike | None) -> int:
    """The number of columns side by side; 0: not declared."""
    if isinstance(columns, np.ndarray):
        return int(columns.shape[1]) if columns.ndim == 2 else 0
    return (
        0 if columns is None or isinstance(columns, str) else len(columns)  # type: ignore[arg-type]
    )
