"""Features by name: the columns that a spec describes, and the rows of raw values that decisions bring.

A service fits nothing, so a spec says how its columns become numbers, and the log's first event keeps that in full. A decision's event
keeps the raw values as they were sent. So a replay computes the same features to the bit, and an erasure takes the values with the round.
"""

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeGuard

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, PlainSerializer, Tag, model_validator

from ...core.types import JsonObject
from ...logs.encoding import (
    MOST_BUCKETS,
    MOST_LEVELS,
    CategoryColumn,
    Column,
    Encoder,
    FittedEncoder,
    HashedColumn,
    Kind,
    NumberColumn,
    TimeColumn,
)
from .errors import Refused
from .strict import Number, Strict, pair

BUCKETS = 32  # of a hashed column whose spec does not say it
MOST_FEATURES = 10_000
WHOLE = 2**63  # size below which whole numbers are taken
TIME = "such as 2026-01-31T12:00:00Z"

ColumnName = Annotated[str, Field(min_length=1, max_length=1000)]


# What a spec says ----------------------------------------------------------------------------------------------------------


class NumberFeature(Strict):
    """A number: by its usual range, or by mean and deviation; else it is taken as it is."""

    kind: Literal["number"]
    range: Annotated[tuple[Number, Number], BeforeValidator(pair)] | None = Field(
        None, description="Usual lowest and highest value, which become -1 and 1. Others are taken too."
    )
    mean: Number | None = Field(None, description="Becomes 0.")
    deviation: Annotated[Number, Field(gt=0)] | None = Field(None, description="Standard deviation, which becomes 1.")
    gaps: bool = Field(True, description="A second feature that is 1 where the value is missing.")

    @model_validator(mode="after")
    def one_scale(self) -> "NumberFeature":
        if self.range is not None and (self.mean is not None or self.deviation is not None):
            raise ValueError("features has a number with range and with mean or deviation; give one of both.")
        if self.range is not None and not self.range[0] < self.range[1]:
            raise ValueError(f"features has a number with range = {list(self.range)}; give its usual lowest and highest value.")
        if self.range is not None and not 0.0 < (self.range[1] - self.range[0]) / 2.0 < math.inf:
            raise ValueError(f"features has a number with range = {list(self.range)}, whose width has no float; give another one.")
        return self

    def column(self) -> NumberColumn:
        if self.range is None:
            return NumberColumn(mean=self.mean or 0.0, deviation=self.deviation or 1.0, gaps=self.gaps)
        low, high = self.range
        return NumberColumn(mean=low / 2.0 + high / 2.0, deviation=(high - low) / 2.0, gaps=self.gaps)


class CategoryFeature(Strict):
    """A category: a feature for each of its levels and one for all others; without levels it is hashed."""

    kind: Literal["category"]
    levels: Annotated[list[str | bool | int], Field(min_length=1, max_length=MOST_LEVELS)] | None = Field(
        None, description="Values that have a feature of their own, as decisions send them."
    )
    gaps: bool = Field(True, description="A feature that is 1 where the value is missing.")

    def column(self) -> CategoryColumn | HashedColumn:
        if self.levels is None:
            return HashedColumn(buckets=BUCKETS)
        levels = tuple(str(level) for level in self.levels)
        twice = next((level for k, level in enumerate(levels) if level in levels[:k]), None) if len({*levels}) < len(levels) else None
        if twice is not None:
            raise ValueError(f"features has a category with the level {twice!r} twice; say each level once.")
        return CategoryColumn(levels=levels, gaps=self.gaps)


class HashedFeature(Strict):
    """A vocabulary without an end, such as cities: 1 or -1 in one of so many features, by the hash of the value."""

    kind: Literal["hashed"]
    buckets: Annotated[int, Field(ge=1, le=MOST_BUCKETS)] = Field(BUCKETS, description="Number of features.")

    def column(self) -> HashedColumn:
        return HashedColumn(buckets=self.buckets)


class TimeFeature(Strict):
    """A time: the time of day and the day of the week as points on circles, in UTC where it has a zone."""

    kind: Literal["time"]

    def column(self) -> TimeColumn:
        return TimeColumn()


FEATURES: dict[str, type[NumberFeature] | type[CategoryFeature] | type[HashedFeature] | type[TimeFeature]] = {
    "number": NumberFeature, "category": CategoryFeature, "hashed": HashedFeature, "time": TimeFeature,
}  # fmt: skip


def _tag(value: object) -> str | None:
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    if isinstance(value, str):
        return "word"
    return kind if kind in FEATURES else None


Feature = Annotated[
    Annotated[Kind, Tag("word")]
    | Annotated[NumberFeature, Tag("number")]
    | Annotated[CategoryFeature, Tag("category")]
    | Annotated[HashedFeature, Tag("hashed")]
    | Annotated[TimeFeature, Tag("time")],
    Discriminator(
        _tag, custom_error_type="kind", custom_error_message='Input should be "number", "category", "hashed" or "time", or have it as kind'
    ),
]


def _whole(value: object) -> str:
    """Whether a spec describes columns by hand, or has what an encoder learned."""
    fitted = isinstance(value, FittedEncoder) or (isinstance(value, Mapping) and type(value.get("format")) is int)
    return "encoder" if fitted else "columns"


def _read(value: object) -> object:
    return FittedEncoder.read(value) if isinstance(value, Mapping) and _whole(value) == "encoder" else value


def _fitted(value: "FittedEncoder | JsonObject") -> FittedEncoder:
    """The encoder of what a spec says. Raises ValueError where it makes too many features."""
    if not isinstance(value, FittedEncoder):
        columns: dict[str, Column] = {
            name: (FEATURES[one].model_validate({"kind": one}) if isinstance(one, str) else one).column() for name, one in value.items()
        }
        value = FittedEncoder(columns=columns, crossings=(), intercept=False)
    if value.dimension > MOST_FEATURES:
        raise ValueError(
            f"features makes {value.dimension:,} numbers of a row, but at most {MOST_FEATURES:,} are taken; use fewer levels or buckets."
        )
    return value


Features = Annotated[
    Annotated[
        Annotated[dict[ColumnName, Feature], Field(min_length=1, max_length=MOST_FEATURES), Tag("columns")]
        | Annotated[FittedEncoder, Tag("encoder")],
        Discriminator(_whole),
    ],
    BeforeValidator(_read),
    AfterValidator(_fitted),
    PlainSerializer(lambda fitted: fitted.model_dump(mode="json")),  # in full: a later version may have other defaults
]


# What decisions say --------------------------------------------------------------------------------------------------------


def _plain(value: object) -> object:
    if isinstance(value, list | dict):
        raise ValueError("context has a list or an object where one value belongs; send text, a number, true, false or null.")
    if isinstance(value, int) and abs(value) >= WHOLE:
        raise ValueError("context has a whole number of more than 64 bits, which not every program keeps; send it as text.")
    return value


Value = Annotated[bool | int | Number | Annotated[str, Field(max_length=10_000)] | None, BeforeValidator(_plain)]
RawRow = Annotated[dict[ColumnName, Value], Field(min_length=1, max_length=MOST_FEATURES)]

Numbers = list[float] | list[list[float]] | dict[str, list[float]]  # of a round: a row for all arms, one for each, or by id


class FeatureReader:
    """Raw values as numbers, by the encoder of an experiment."""

    def __init__(self, fitted: FittedEncoder, experiment: str) -> None:
        self.encoder = Encoder.from_dict(fitted.model_dump(mode="json"))
        self.kinds: dict[str, Kind] = {name: column.kind for name, column in fitted.columns.items()}
        self.experiment = experiment

    def numbers(self, context: object) -> Numbers:
        """A context of raw rows as the same of rows of numbers: one for all arms, one for each, or by id. Raises Refused. O(n d)."""
        if is_raw_row(context):
            return self._encoded([context], [""])[0]
        if isinstance(context, dict) and is_raw_row(next(iter(context.values()))):
            return dict(zip(context, self._encoded([*context.values()], [f".{id}" for id in context]), strict=True))
        if isinstance(context, list) and is_raw_row(context[0]):
            return self._encoded(context, [f".{k}" for k in range(len(context))])
        names = ", ".join([*self.kinds][:10])
        message = f"context holds numbers, but experiment {self.experiment!r} has features by name ({names}); send values by name."
        raise Refused(422, message, "context")

    def _encoded(self, rows: Sequence[RawRow], places: Sequence[str]) -> list[list[float]]:
        for row, place in zip(rows, places, strict=True):
            unknown = next((name for name in row if name not in self.kinds), None)
            if unknown is not None:
                names = ", ".join([*self.kinds][:10])
                raise Refused(
                    422,
                    f"context{place} has {unknown!r}, which is no feature of {self.experiment!r}; it has {names}.",
                    "context",
                )
        table = {name: self._column(name, kind, rows, places) for name, kind in self.kinds.items()}
        with np.errstate(over="ignore"):  # what has no float the session refuses
            numbers: list[list[float]] = self.encoder.transform(table).tolist()
        return numbers

    def _column(self, name: str, kind: Kind, rows: Sequence[RawRow], places: Sequence[str]) -> np.ndarray:
        values = [row.get(name) for row in rows]
        if kind == "number":
            self._refuse(name, [isinstance(value, str) for value in values], places, "must be a number, or null where it is missing")
            return np.array([np.nan if value is None else float(value) for value in values])
        if kind == "time":
            moments = [None if value is None else moment_of(value) for value in values]
            bad = [value is not None and moment is None for value, moment in zip(values, moments, strict=True)]
            self._refuse(name, bad, places, f"must be a time as text, {TIME}, or null where it is missing")
            return np.array(moments, dtype="datetime64[us]")
        column = np.empty(len(values), dtype=object)
        column[:] = values
        return column

    def _refuse(self, name: str, bad: Sequence[bool], places: Sequence[str], must: str) -> None:
        if any(bad):
            field = f"context{places[bad.index(True)]}.{name}"
            raise Refused(422, f"{field} {must}, in experiment {self.experiment!r}.", field)


def is_raw_row(row: object) -> TypeGuard[RawRow]:
    return isinstance(row, dict) and not isinstance(next(iter(row.values())), list | dict)


def moment_of(value: Any) -> datetime.datetime | None:
    """A time from text, in UTC where it has a zone; None where it is none."""
    try:
        moment = datetime.datetime.fromisoformat(value)
        return moment if moment.tzinfo is None else moment.astimezone(datetime.UTC).replace(tzinfo=None)
    except (TypeError, ValueError, OverflowError):
        return None


def numbers_of(reader: FeatureReader | None, context: Any, experiment: str) -> Numbers | None:
    """The context of a request in numbers. reader: of an experiment whose spec has features. Raises Refused."""
    if context is None:
        return None
    if reader is not None:
        return reader.numbers(context)
    first = next(iter(context.values())) if isinstance(context, dict) else context[0]
    if is_raw_row(context) or isinstance(first, dict):
        message = f"context has values by name, but experiment {experiment!r} has no features; send numbers, or create one with features."
        raise Refused(422, message, "context")
    return context
