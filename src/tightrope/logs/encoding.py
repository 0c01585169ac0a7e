"""`Encoder`: features from rows as people have them, with categories, gaps, times and open
vocabularies.

A fitted encoder is a value: what it learned from a table (levels, means, deviations) stays as it
is, so that a row has the same features in training, in a simulation and in service, and a session's
file holds it as numbers and texts.
"""

import collections
import copy
import functools
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..core import checks
from ..core.types import JsonObject
from .tables import (
    BadRows,
    TableBatch,
    as_numbers,
    column_names,
    entry,
    is_missing,
    open_table,
    times,
)

Kind: TypeAlias = Literal["number", "category", "hashed", "time"]
KINDS: tuple[Kind, ...] = ("number", "category", "hashed", "time")
SMOOTH = ("number", "time")  # kinds that pass through Fourier features
MOST_LEVELS, MOST_BUCKETS, MOST_COLUMNS = 10_000, 2**20, 10_000
NOT_SMOOTH = (
    "fourier needs a column of numbers or times, and there is none; leave fourier out, or use "
    "cross for pairs of categories."
)
MOST_ROWS = 1000  # whose pairs say the scale
JOINED = " & "  # between the levels of a crossing
DAY, WEEK = 86_400.0, 604_800.0  # seconds
MONDAY = 4 * DAY  # the first one after 1970 began, on a Thursday

Name = Annotated[str, Field(min_length=1, max_length=1000)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Fitted(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NumberColumn(Fitted):
    """A number less its mean, in standard deviations; 0 where it is missing. gaps: beside it a
    column that is 1 there."""

    kind: Literal["number"] = "number"
    mean: Finite
    deviation: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    gaps: bool

    @classmethod
    def fit(cls, name: str, values: np.ndarray) -> Self:
        numbers, missing = _numbers(name, values)
        known = numbers[~missing]
        if known.size == 0:
            raise ValueError(
                f"column {name!r} has no number, so nothing can be learned of it; leave it out."
            )
        deviation = float(known.std())
        return cls(
            mean=float(known.mean()),
            deviation=deviation if deviation > 0.0 else 1.0,
            gaps=bool(missing.any()),
        )

    @property
    def size(self) -> int:
        return 1 + self.gaps

    def names(self, name: str) -> list[str]:
        return [name, f"{name} is missing"] if self.gaps else [name]

    def encode(self, name: str, values: np.ndarray) -> np.ndarray:
        numbers, missing = _numbers(name, values)
        scaled = np.where(missing, 0.0, (numbers - self.mean) / self.deviation)
        return (
            np.stack([scaled, missing.astype(np.float64)], axis=1) if self.gaps else scaled[:, None]
        )


class CategoryColumn(Fitted):
    """A column for each level, one for all others, and one for what is missing where that
    occurred."""

    kind: Literal["category"] = "category"
    levels: Annotated[tuple[str, ...], Field(max_length=MOST_LEVELS)]
    gaps: bool

    @classmethod
    def fit(cls, values: np.ndarray, most: int) -> Self:
        """The most frequent levels, ties in the order of the alphabet."""
        texts = _texts(values)
        counts = collections.Counter(text for text in texts if text is not None)
        chosen = sorted(counts, key=lambda level: (-counts[level], level))[:most]
        return cls(levels=tuple(sorted(chosen)), gaps=None in texts)

    @property
    def size(self) -> int:
        return len(self.levels) + 1 + self.gaps

    def names(self, name: str) -> list[str]:
        return [
            *(f"{name} = {level}" for level in self.levels),
            f"{name} is another",
            *([f"{name} is missing"] if self.gaps else []),
        ]

    def encode(self, name: str, values: np.ndarray) -> np.ndarray:
        another = len(self.levels)
        places = {level: k for k, level in enumerate(self.levels)}
        columns = [
            another + self.gaps if value is None else places.get(value, another)
            for value in _texts(values)
        ]
        encoded = np.zeros((len(values), another + 1 + self.gaps))
        encoded[np.arange(len(values)), columns] = 1.0
        return encoded


class HashedColumn(Fitted):
    """A vocabulary without an end: each value is 1 or -1 in one of so many columns, by its hash;
    nothing where it is missing."""

    kind: Literal["hashed"] = "hashed"
    buckets: Annotated[int, Field(ge=1, le=MOST_BUCKETS)]

    @property
    def size(self) -> int:
        return self.buckets

    def names(self, name: str) -> list[str]:
        return [f"{name}, hash {k}" for k in range(self.buckets)]

    def encode(self, name: str, values: np.ndarray) -> np.ndarray:
        encoded = np.zeros((len(values), self.buckets))
        for i, value in enumerate(_texts(values)):
            if value is not None:
                code = int.from_bytes(
                    hashlib.blake2b(f"{name}={value}".encode(), digest_size=8).digest(), "little"
                )
                encoded[i, (code >> 1) % self.buckets] = 1.0 if code & 1 else -1.0
        return encoded


class TimeColumn(Fitted):
    """The time of day and the day of the week as points on circles, in UTC or in the time of the
    rows; 0 where it is missing."""

    kind: Literal["time"] = "time"

    @property
    def size(self) -> int:
        return 4

    def names(self, name: str) -> list[str]:
        return [
            f"{name}, {what}"
            for what in ("sine of day", "cosine of day", "sine of week", "cosine of week")
        ]

    def encode(self, name: str, values: np.ndarray) -> np.ndarray:
        missing = is_missing(values)
        encoded = np.zeros((values.size, 4))
        if missing.all():
            return encoded
        present = BadRows(int((~missing).sum()))
        moments = times(values[~missing], name, present)
        present.refuse()
        if moments.dtype.kind != "M":
            raise ValueError(
                f"column {name!r} holds numbers, but must hold times, such as datetimes or text "
                "2026-01-31T12:00:00."
            )
        seconds = moments.astype("datetime64[us]").astype(np.int64) / 1e6
        day, week = (
            2 * math.pi * (seconds % DAY) / DAY,
            2 * math.pi * ((seconds - MONDAY) % WEEK) / WEEK,
        )
        angles = zip(
            day.tolist(), week.tolist(), strict=True
        )  # for math's functions: NumPy's last digits differ by processor
        encoded[~missing] = [
            [math.sin(a), math.cos(a), math.sin(b), math.cos(b)] for a, b in angles
        ]
        return encoded


Column = Annotated[
    NumberColumn | CategoryColumn | HashedColumn | TimeColumn, Field(discriminator="kind")
]


class FourierFeatures(Fitted):
    """sqrt(2 / D) cos(x W / scale + b), whose inner products are about exp(-|x - y|^2 / (2
    scale^2)) (Rahimi, Recht 2007). W is normal and b uniform, both drawn from the seed."""

    size: Annotated[int, Field(ge=1, le=MOST_COLUMNS)]
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    seed: Annotated[int, Field(ge=0, lt=2**32)]

    def names(self) -> list[str]:
        return [f"Fourier {k}" for k in range(self.size)]

    def encode(self, rows: np.ndarray) -> np.ndarray:
        frequencies, phases = _waves(self.seed, rows.shape[1], self.size)
        waves = np.tile(phases, (len(rows), 1))
        with np.errstate(over="ignore", invalid="ignore"):
            for column, frequency in zip(rows.T, frequencies, strict=True):
                # no product of matrices: its last digits differ by the number of rows
                waves += column[:, None] * (frequency / self.scale)
        waves[~np.isfinite(waves)] = 0.0
        for angles in waves:  # math's, as in TimeColumn
            angles[:] = [math.cos(angle) for angle in angles.tolist()]
        waves *= math.sqrt(2 / self.size)
        return waves


@functools.lru_cache(maxsize=8)
def _waves(seed: int, dimension: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(seed)  # for files: its draws stay the same in later NumPys
    return rng.standard_normal((dimension, size)), rng.uniform(0, 2 * math.pi, size)


def _typical_distance(rows: np.ndarray, seed: int) -> float:
    """The median distance of two rows that differ, among at most MOST_ROWS; 1 where none do."""
    from scipy.spatial.distance import pdist

    chosen = np.random.RandomState(seed).permutation(len(rows))[:MOST_ROWS]
    apart = pdist(rows[chosen])
    return float(np.median(apart[apart > 0.0])) if apart.any() else 1.0


class FittedEncoder(Fitted):
    format: Literal[1] = 1
    columns: Annotated[dict[Name, Column], Field(max_length=MOST_COLUMNS)]
    crossings: Annotated[
        tuple[tuple[Name, Name, CategoryColumn], ...], Field(max_length=MOST_COLUMNS)
    ]
    intercept: bool
    fourier: FourierFeatures | None = None

    @property
    def parts(self) -> list[tuple[str, Column]]:
        """What has columns of its own, and not those of the Fourier features, by name."""
        return [
            *((name, one) for name, one in self.columns.items() if not self.is_smooth(one)),
            *((f"{a}{JOINED}{b}", one) for a, b, one in self.crossings),
        ]

    def is_smooth(self, column: Column) -> bool:
        return self.fourier is not None and column.kind in SMOOTH

    @property
    def dimension(self) -> int:
        return (
            self.intercept
            + sum(one.size for _, one in self.parts)
            + (0 if self.fourier is None else self.fourier.size)
        )

    def dump(self) -> JsonObject:
        return self.model_dump(mode="json", exclude_none=True)

    @classmethod
    def read(cls, data: Mapping[str, object]) -> Self:
        try:
            fitted = cls.model_validate_json(json.dumps(data))
        except (ValidationError, TypeError, ValueError) as error:
            first: Any = (
                error.errors(include_url=False, include_input=False)[0]
                if isinstance(error, ValidationError)
                else {}
            )
            place, why = ".".join(map(str, first.get("loc", ()))) or "data", first.get("msg", error)
            raise ValueError(
                f"{place} of the encoder cannot be read: {why}; pass what Encoder.to_dict returned."
            ) from None
        crossed = (name for a, b, _ in fitted.crossings for name in (a, b))
        unknown = next(
            (name for name in crossed if not isinstance(fitted.columns.get(name), CategoryColumn)),
            None,
        )
        if fitted.fourier is not None and not any(map(fitted.is_smooth, fitted.columns.values())):
            raise ValueError(NOT_SMOOTH)
        if unknown is not None or not fitted.columns:
            raise ValueError(
                "columns of the encoder are missing."
                if unknown is None
                else f"the encoder crosses {unknown!r}, which is no category."
            )
        return fitted


class Leaves:
    """A column for each leaf of a forest that rows of the table reach, 1 / sqrt(trees) there, so
    that a row has length 1, or less where it reaches another one."""

    def __init__(self, forest: Any, rows: np.ndarray) -> None:
        taken = getattr(forest, "n_features_in_", rows.shape[1])
        named = callable(getattr(forest, "apply", None)) and hasattr(forest, "feature_names_in_")
        if taken != rows.shape[1] or named:
            what = "columns by name" if named else f"{taken} columns"
            raise ValueError(
                f"trees was fitted on {what}, but is given the {rows.shape[1]} features that these "
                "columns have without it; fit it on encoder.transform(table) of a fitted encoder "
                "with the same columns."
            )
        self.forest = forest
        self.reached = [np.unique(leaves) for leaves in self._leaves(rows).T]

    def _leaves(self, rows: np.ndarray) -> np.ndarray:
        if callable(getattr(self.forest, "apply", None)):
            leaves = self.forest.apply(rows)
        else:
            try:
                leaves = self.forest.predict(rows, pred_leaf=True)
            except TypeError as error:
                raise ValueError(
                    f"trees = {checks.show(self.forest)} has no leaves: {error}; pass a fitted "
                    "forest of scikit-learn or LightGBM."
                ) from None
        return np.asarray(leaves, dtype=np.int64).reshape(len(rows), -1)

    @property
    def size(self) -> int:
        return sum(reached.size for reached in self.reached)

    def names(self) -> list[str]:
        return [
            f"tree {k}, leaf {leaf}" for k, reached in enumerate(self.reached) for leaf in reached
        ]

    def encode(self, rows: np.ndarray) -> np.ndarray:
        leaves = self._leaves(rows)
        hit = [leaves[:, k, None] == reached for k, reached in enumerate(self.reached)]
        return np.concatenate(hit, axis=1) / math.sqrt(len(hit))


class Encoder:
    """Features from rows with categories, numbers with gaps, times and open vocabularies.

    `fit` learns from a table and returns a fitted encoder; `Session(policy, arms=...,
    encoder=fitted)` then takes rows where it would take features. Numbers are scaled to mean 0 and
    deviation 1 (0 where one is missing). Categories have a column for each level and one for all
    others.

    Parameters
    ----------
    columns : dict of name to kind, or list of names, optional
        Kinds: "number", "category", "hashed" (of an open vocabulary) and "time". Without kinds: by
        what the table holds. None: all of its columns.
    cross : sequence of pairs of names
        Two categories each, whose pairs of levels are levels of their own.
    levels : int from 1 to 10,000
        Most frequent levels of a category, or of a crossing, that have a column; all others share
        one.
    buckets : int from 1 to 1,048,576
        Columns of a "hashed" one.
    intercept : bool
        A first column of ones; policies whose width is from the data add one themselves.
    fourier : int from 1 to 10,000, optional
        So many random Fourier features (Rahimi, Recht 2007) in place of the numbers and times, so
        that a linear policy learns any smooth function of them.
    scale : float > 0, optional
        How far apart rows are that have little to do with each other, in the units of the scaled
        numbers. None: the median distance of two rows of the table.
    seed : int from 0 to 4,294,967,295
        Draws the Fourier features, and is kept with them: equal seeds are equal features, whatever
        a session's seed.
    trees : fitted forest, optional
        Of scikit-learn, with `apply`, or of LightGBM: the leaves that a row reaches in place of
        all features. It was fitted on what `transform` makes without it. A file does not hold it.

    Raises
    ------
    ValueError
        For a kind that is none, for crossings of columns that are no categories, and for Fourier
        features without a number or time.

    Examples
    --------
    >>> import tightrope as tr
    >>> fitted = tr.Encoder().fit({"country": ["de", "fr", "de"], "age": [20.0, 30.0, 40.0]})
    >>> fitted.names
    ('country = de', 'country = fr', 'country is another', 'age')
    >>> fitted.transform({"country": "it", "age": 30.0})
    array([0., 0., 1., 0.])
    """

    def __init__(
        self,
        columns: Mapping[str, Kind] | Sequence[str] | None = None,
        *,
        cross: Sequence[tuple[str, str]] = (),
        levels: int = 50,
        buckets: int = 32,
        intercept: bool = False,
        fourier: int | None = None,
        scale: float | None = None,
        seed: int = 0,
        trees: object = None,
    ) -> None:
        self._kinds = None if columns is None else _checked_kinds(columns)
        self._cross = _checked_pairs(cross)
        self._levels = checks.integer("levels", levels, least=1, most=MOST_LEVELS)
        self._buckets = checks.integer("buckets", buckets, least=1, most=MOST_BUCKETS)
        self._intercept = checks.flag("intercept", intercept)
        self._fourier = (
            None
            if fourier is None
            else checks.integer("fourier", fourier, least=1, most=MOST_COLUMNS)
        )
        if scale is not None and fourier is None:
            raise ValueError(
                f"scale = {checks.show(scale)} is that of Fourier features; say how many, such as "
                "fourier=256."
            )
        self._scale = None if scale is None else checks.real("scale", scale, above=0.0)
        self._seed = checks.integer("seed", seed, least=0, most=2**32 - 1)
        if trees is not None and fourier is not None:
            raise ValueError("trees and fourier each make all features; leave one out.")
        if trees is not None and not any(
            callable(getattr(trees, name, None)) for name in ("apply", "predict")
        ):
            raise ValueError(
                f"trees = {checks.show(trees)} has neither apply nor predict; pass a fitted forest "
                "of scikit-learn or LightGBM."
            )
        self._trees = trees
        self._leaves: Leaves | None = None
        self._fitted: FittedEncoder | None = None

    def fit(self, table: object) -> "Encoder":
        """Learn levels, means and deviations of a table's columns.

        Parameters
        ----------
        table : table or list of dict
            Of pandas, polars, pyarrow, DuckDB, a dict of columns, a CSV or Parquet file, or rows as
            dicts.

        Returns
        -------
        Encoder
            A fitted one; this one stays as it was.

        Raises
        ------
        ValueError
            For columns that are not there, and for entries that are not of their column's kind.
        """
        batch = _table_of(table)
        kinds = dict.fromkeys(column_names(batch.frame)) if self._kinds is None else self._kinds
        if not kinds:
            raise ValueError("table has no columns; give one with named columns, or rows as dicts.")
        columns: JsonObject = {}
        categories: dict[str, np.ndarray] = {}
        for name, kind in kinds.items():
            values = _column(batch, name)
            kind = kind or _kind_of(values)
            if kind == "number":
                columns[name] = NumberColumn.fit(name, values)
            elif kind == "category":
                categories[name] = values
                columns[name] = CategoryColumn.fit(values, self._levels)
            else:
                columns[name] = (
                    HashedColumn(buckets=self._buckets) if kind == "hashed" else TimeColumn()
                )
                if kind == "time":
                    columns[name].encode(name, values)  # raises where it holds no times
        crossings = []
        for a, b in self._cross:
            wrong = next((name for name in (a, b) if name not in categories), None)
            if wrong is not None:
                raise ValueError(
                    f"cross = ({a!r}, {b!r}), but {wrong!r} is no category among the columns; say "
                    f"columns={{{wrong!r}: 'category'}}."
                )
            crossings.append(
                (a, b, CategoryColumn.fit(_pair_levels(categories[a], categories[b]), self._levels))
            )
        fourier = None
        if self._fourier is not None:
            smooth = [
                columns[name].encode(name, _column(batch, name))
                for name in columns
                if columns[name].kind in SMOOTH
            ]
            if not smooth:
                raise ValueError(NOT_SMOOTH)
            scale = self._scale or _typical_distance(np.concatenate(smooth, axis=1), self._seed)
            fourier = FourierFeatures(size=self._fourier, scale=scale, seed=self._seed)
        fitted = self._with(
            FittedEncoder(
                columns=columns,
                crossings=tuple(crossings),
                intercept=self._intercept,
                fourier=fourier,
            )
        )
        if self._trees is not None:
            fitted._leaves = Leaves(self._trees, fitted._encoded(batch))
        return fitted

    def transform(self, rows: object) -> np.ndarray:
        """Features of a row, or of every row of a table.

        Parameters
        ----------
        rows : dict, list of dict, or table
            A row by column name, several, or a table as `fit` takes it. Other columns are not
            looked at. None and NaN are missing.

        Returns
        -------
        (d,) array of one row, (n, d) array of several

        Raises
        ------
        ValueError
            Where a column is not there or an entry is not of its kind, and for an encoder that was
            not fitted. Complexity: O(d) a row.
        """
        fitted = self._fitted_encoder()
        single = (  # by column name, and no table: its entries are single values
            isinstance(rows, Mapping)
            and bool(rows)
            and all(np.ndim(value) == 0 for value in rows.values())
        )
        features = self._encoded(_table_of([rows] if single else rows))
        if self._leaves is not None:
            features = self._leaves.encode(features)
        if fitted.intercept:
            features = np.insert(features, 0, 1.0, axis=1)
        return features[0] if single else features

    def _encoded(self, batch: TableBatch) -> np.ndarray:
        """All features but the column of ones and the leaves."""
        fitted = self._fitted_encoder()
        values = {name: _column(batch, name) for name in fitted.columns}
        parts: list[np.ndarray] = []
        smooth: list[np.ndarray] = []
        for name, column in fitted.columns.items():
            (smooth if fitted.is_smooth(column) else parts).append(
                column.encode(name, values[name])
            )
        for a, b, column in fitted.crossings:
            parts.append(column.encode("", _pair_levels(values[a], values[b])))
        if fitted.fourier is not None:
            parts.append(fitted.fourier.encode(np.concatenate(smooth, axis=1)))
        return np.concatenate(parts, axis=1)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the d features, in their order."""
        fitted = self._fitted_encoder()
        ones = ["1"] if fitted.intercept else []
        if self._leaves is not None:
            return (*ones, *self._leaves.names())
        own = [one for name, column in fitted.parts for one in column.names(name)]
        waves = [] if fitted.fourier is None else fitted.fourier.names()
        return (*ones, *own, *waves)

    @property
    def dimension(self) -> int:
        """d, the number of features."""
        fitted = self._fitted_encoder()
        return fitted.dimension if self._leaves is None else fitted.intercept + self._leaves.size

    @property
    def is_data(self) -> bool:
        """Whether a file can hold it, which it cannot where it has trees."""
        return self._trees is None

    def to_dict(self) -> JsonObject:
        """All that was learned, as JSON takes it.

        Returns
        -------
        dict

        Raises
        ------
        ValueError
            For an encoder that was not fitted, or that has trees.
        """
        if not self.is_data:
            raise ValueError(
                "this encoder has trees, which are no plain data; keep it with pickle, and pass it "
                "to Session.load again."
            )
        return self._fitted_encoder().dump()

    @classmethod
    def from_dict(cls, data: JsonObject) -> "Encoder":
        """The encoder whose `to_dict` this is.

        Parameters
        ----------
        data : dict
            What `to_dict` returned.

        Returns
        -------
        Encoder

        Raises
        ------
        ValueError
            For anything else.
        """
        return cls()._with(FittedEncoder.read(data))

    def _with(self, fitted: FittedEncoder) -> "Encoder":
        other = copy.copy(self)
        other._fitted = fitted
        return other

    def _fitted_encoder(self) -> FittedEncoder:
        if self._fitted is None:
            raise ValueError(
                "this encoder has learned nothing yet; use what encoder.fit(table) returns."
            )
        return self._fitted

    def __repr__(self) -> str:
        if self._fitted is None:
            return "<Encoder: not fitted yet>"
        kinds = ", ".join(
            f"{name} ({column.kind})" for name, column in self._fitted.columns.items()
        )
        return f"<Encoder: {kinds} -> {self.dimension} features>"


def _checked_kinds(columns: object) -> dict[str, Kind | None]:
    named = [columns] if isinstance(columns, str) else columns
    if not isinstance(named, Mapping | list | tuple):
        raise ValueError(
            f"columns = {checks.show(columns)} must be names, or a dict of name and kind."
        )
    kinds: dict[str, Kind | None] = {}
    for name in named:
        if not isinstance(name, str) or not name:
            raise ValueError(f"columns has {checks.show(name)}, but names of columns are texts.")
        kind = named[name] if isinstance(named, Mapping) else None
        kinds[name] = (
            None if kind is None else KINDS[checks.choice(f"columns[{name!r}]", kind, KINDS)]
        )
    return kinds


def _checked_pairs(cross: object) -> list[tuple[str, str]]:
    pairs: list[Any] = list(cross) if isinstance(cross, list | tuple) else [None]
    for pair in pairs:
        if (
            not isinstance(pair, list | tuple)
            or len(pair) != 2
            or not all(isinstance(name, str) for name in pair)
            or pair[0] == pair[1]
        ):
            raise ValueError(
                f"cross = {checks.show(cross)} must be pairs of two different columns, such as "
                "[('country', 'device')]."
            )
    return [(a, b) for a, b in pairs]


def _table_of(table: object) -> TableBatch:
    if isinstance(table, Sequence) and not isinstance(table, str):
        if not table or not all(isinstance(row, Mapping) for row in table):
            raise ValueError(
                f"rows = {checks.show(table)} are no rows; give dicts of column name and value, "
                "or a table."
            )
        return TableBatch(
            {
                name: [row[name] for row in table]
                for name in table[0]
                if all(name in row for row in table)
            }
        )
    if isinstance(table, Mapping):
        return TableBatch(table)
    opened = open_table(table, "table")
    pieces = list(opened.batches(opened.names))
    if len(pieces) == 1:
        return pieces[0]
    return TableBatch(
        {name: np.concatenate([piece.column(name) for piece in pieces]) for name in opened.names}
    )


def _column(batch: TableBatch, name: str) -> np.ndarray:
    values = batch.column(name)
    if values.ndim != 1:
        raise ValueError(
            f"column {name!r} has shape {values.shape}, but must hold one value a row."
        )
    return values


def _kind_of(values: np.ndarray) -> Kind:
    if values.dtype.kind in "biuf":
        return "number"
    if values.dtype.kind in "M":
        return "time"
    known = values[~is_missing(values)].tolist()
    if known and all(isinstance(value, int | float | np.number | np.bool_) for value in known):
        return "number"
    return "time" if known and all(hasattr(value, "isoformat") for value in known) else "category"


def _numbers(name: str, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    missing, numbers = is_missing(values), as_numbers(values)
    bad = BadRows(values.size, missing)
    bad.note(~np.isfinite(numbers), lambda i: f"{name} = {entry(values, i)} is not a finite number")
    bad.refuse()
    return numbers, missing


def _texts(values: np.ndarray) -> list[str | None]:
    whole = [
        int(value) if isinstance(value, float) and value.is_integer() else value
        for value in values.tolist()
    ]
    lost = is_missing(values).tolist()
    return [None if gone else str(value) for value, gone in zip(whole, lost, strict=True)]


def _pair_levels(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    levels = [
        None if a is None or b is None else f"{a}{JOINED}{b}"
        for a, b in zip(_texts(first), _texts(second), strict=True)
    ]
    return np.array(levels, dtype=object)
