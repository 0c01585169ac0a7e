"""The spec that creates an experiment, checked field by field, and the session that it
describes."""

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeGuard

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    model_validator,
)

from tightrope import Encoder, Promise, Session
from tightrope.core import checks
from tightrope.core.registry import find
from tightrope.extend import (
    Arms as ArmsOfPolicy,
    JsonObject,
    Oracle,
    Policy,
    accepts,
    build_oracle,
    policy_from_spec,
    reward_range,
)
from tightrope.logs.encoding import (
    MOST_BUCKETS,
    MOST_LEVELS,
    CategoryColumn,
    Column,
    FittedEncoder,
    HashedColumn,
    Kind,
    NumberColumn,
    TimeColumn,
)
from tightrope.session.codec import state_bytes

from .errors import Addressable, Number, Refused, Strict, pair

# Features by name: the columns that a spec describes, and the rows of raw values that decisions
# bring.


BUCKETS = 32  # of a hashed column whose spec does not say it
MOST_FEATURES = 10_000
WHOLE = 2**63  # size below which whole numbers are taken
TIME = "such as 2026-01-31T12:00:00Z"

ColumnName = Annotated[str, Field(min_length=1, max_length=1000)]


# What a spec says ---------------------------------------------------------------------------------


class NumberFeature(Strict):
    """A number: by its usual range, or by mean and deviation; else it is taken as it is."""

    kind: Literal["number"]
    range: Annotated[tuple[Number, Number], BeforeValidator(pair)] | None = Field(
        None,
        description="Usual lowest and highest value, which become -1 and 1. Others are taken too.",
    )
    mean: Number | None = Field(None, description="Becomes 0.")
    deviation: Annotated[Number, Field(gt=0)] | None = Field(
        None, description="Standard deviation, which becomes 1."
    )
    gaps: bool = Field(True, description="A second feature that is 1 where the value is missing.")

    @model_validator(mode="after")
    def one_scale(self) -> "NumberFeature":
        if self.range is not None and (self.mean is not None or self.deviation is not None):
            raise ValueError(
                "features has a number with range and with mean or deviation; give one of both."
            )
        if self.range is not None and not self.range[0] < self.range[1]:
            raise ValueError(
                f"features has a number with range = {list(self.range)}; give its usual lowest "
                "and highest value."
            )
        if self.range is not None and not 0.0 < (self.range[1] - self.range[0]) / 2.0 < math.inf:
            raise ValueError(
                f"features has a number with range = {list(self.range)}, whose width has no "
                "float; give another one."
            )
        return self

    def column(self) -> NumberColumn:
        if self.range is None:
            return NumberColumn(
                mean=self.mean or 0.0, deviation=self.deviation or 1.0, gaps=self.gaps
            )
        low, high = self.range
        return NumberColumn(
            mean=low / 2.0 + high / 2.0, deviation=(high - low) / 2.0, gaps=self.gaps
        )


class CategoryFeature(Strict):
    """A category: a feature for each of its levels and one for all others; without levels it is
    hashed."""

    kind: Literal["category"]
    levels: (
        Annotated[list[str | bool | int], Field(min_length=1, max_length=MOST_LEVELS)] | None
    ) = Field(None, description="Values that have a feature of their own, as decisions send them.")
    gaps: bool = Field(True, description="A feature that is 1 where the value is missing.")

    def column(self) -> CategoryColumn | HashedColumn:
        if self.levels is None:
            return HashedColumn(buckets=BUCKETS)
        levels = tuple(str(level) for level in self.levels)
        twice = (
            next((level for k, level in enumerate(levels) if level in levels[:k]), None)
            if len({*levels}) < len(levels)
            else None
        )
        if twice is not None:
            raise ValueError(
                f"features has a category with the level {twice!r} twice; say each level once."
            )
        return CategoryColumn(levels=levels, gaps=self.gaps)


class HashedFeature(Strict):
    """A vocabulary without an end, such as cities: 1 or -1 in one of so many features, by the hash
    of the value."""

    kind: Literal["hashed"]
    buckets: Annotated[int, Field(ge=1, le=MOST_BUCKETS)] = Field(
        BUCKETS, description="Number of features."
    )

    def column(self) -> HashedColumn:
        return HashedColumn(buckets=self.buckets)


class TimeFeature(Strict):
    """A time: the time of day and the day of the week as points on circles, in UTC where it has a
    zone."""

    kind: Literal["time"]

    def column(self) -> TimeColumn:
        return TimeColumn()


FEATURES: dict[
    str, type[NumberFeature] | type[CategoryFeature] | type[HashedFeature] | type[TimeFeature]
] = {
    "number": NumberFeature,
    "category": CategoryFeature,
    "hashed": HashedFeature,
    "time": TimeFeature,
}


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
        _tag,
        custom_error_type="kind",
        custom_error_message='Input should be "number", "category", "hashed" or '
        '"time", '
        "or have "
        "it as kind",
    ),
]


def _whole(value: object) -> str:
    """Whether a spec describes columns by hand, or has what an encoder learned."""
    fitted = isinstance(value, FittedEncoder) or (
        isinstance(value, Mapping) and type(value.get("format")) is int
    )
    return "encoder" if fitted else "columns"


def _read(value: object) -> object:
    return (
        FittedEncoder.read(value)
        if isinstance(value, Mapping) and _whole(value) == "encoder"
        else value
    )


def _fitted(value: "FittedEncoder | JsonObject") -> FittedEncoder:
    """The encoder of what a spec says. Raises ValueError where it makes too many features."""
    if not isinstance(value, FittedEncoder):
        columns: dict[str, Column] = {
            name: (
                FEATURES[one].model_validate({"kind": one}) if isinstance(one, str) else one
            ).column()
            for name, one in value.items()
        }
        value = FittedEncoder(columns=columns, crossings=(), intercept=False)
    if value.dimension > MOST_FEATURES:
        raise ValueError(
            f"features makes {value.dimension:,} numbers of a row, but at most {MOST_FEATURES:,} "
            "are taken; use fewer levels or buckets."
        )
    return value


Features = Annotated[
    Annotated[
        Annotated[
            dict[ColumnName, Feature], Field(min_length=1, max_length=MOST_FEATURES), Tag("columns")
        ]
        | Annotated[FittedEncoder, Tag("encoder")],
        Discriminator(_whole),
    ],
    BeforeValidator(_read),
    AfterValidator(_fitted),
    PlainSerializer(
        lambda fitted: fitted.dump()
    ),  # in full: a later version may have other defaults
]


# What decisions say -------------------------------------------------------------------------------


def _plain(value: object) -> object:
    if isinstance(value, list | dict):
        raise ValueError(
            "context has a list or an object where one value belongs; send text, a number, true, "
            "false or null."
        )
    if isinstance(value, int) and abs(value) >= WHOLE:
        raise ValueError(
            "context has a whole number of more than 64 bits, which not every program keeps; send "
            "it as text."
        )
    return value


Value = Annotated[
    bool | int | Number | Annotated[str, Field(max_length=10_000)] | None, BeforeValidator(_plain)
]
RawRow = Annotated[dict[ColumnName, Value], Field(min_length=1, max_length=MOST_FEATURES)]

Numbers = (
    list[float] | list[list[float]] | dict[str, list[float]]
)  # of a round: a row for all arms, one for each, or by id


class FeatureReader:
    def __init__(self, fitted: FittedEncoder, experiment: str) -> None:
        self.encoder = Encoder.from_dict(fitted.dump())
        self.kinds: dict[str, Kind] = {name: column.kind for name, column in fitted.columns.items()}
        self.experiment = experiment

    def numbers(self, context: object) -> Numbers:
        """A context of raw rows as the same of rows of numbers: one for all arms, one for each, or
        by id. Raises Refused. O(n d)."""
        if is_raw_row(context):
            return self._encoded([context], [""])[0]
        if isinstance(context, dict) and is_raw_row(next(iter(context.values()))):
            return dict(
                zip(
                    context,
                    self._encoded([*context.values()], [f".{id}" for id in context]),
                    strict=True,
                )
            )
        if isinstance(context, list) and is_raw_row(context[0]):
            return self._encoded(context, [f".{k}" for k in range(len(context))])
        names = ", ".join([*self.kinds][:10])
        raise Refused(
            422,
            f"context holds numbers, but experiment {self.experiment!r} has features by name "
            f"({names}); send values by name.",
            "context",
        )

    def _encoded(self, rows: Sequence[RawRow], places: Sequence[str]) -> list[list[float]]:
        for row, place in zip(rows, places, strict=True):
            unknown = next((name for name in row if name not in self.kinds), None)
            if unknown is not None:
                names = ", ".join([*self.kinds][:10])
                raise Refused(
                    422,
                    f"context{place} has {unknown!r}, which is no feature of {self.experiment!r}; "
                    f"it has {names}.",
                    "context",
                )
        table = {name: self._column(name, kind, rows, places) for name, kind in self.kinds.items()}
        with np.errstate(over="ignore"):  # what has no float the session refuses
            numbers: list[list[float]] = self.encoder.transform(table).tolist()
        return numbers

    def _column(
        self, name: str, kind: Kind, rows: Sequence[RawRow], places: Sequence[str]
    ) -> np.ndarray:
        values = [row.get(name) for row in rows]
        if kind == "number":
            self._refuse(
                name,
                [isinstance(value, str) for value in values],
                places,
                "must be a number, or null where it is missing",
            )
            return np.array([np.nan if value is None else float(value) for value in values])
        if kind == "time":
            moments = [None if value is None else moment_of(value) for value in values]
            bad = [
                value is not None and moment is None
                for value, moment in zip(values, moments, strict=True)
            ]
            self._refuse(
                name, bad, places, f"must be a time as text, {TIME}, or null where it is missing"
            )
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
        return (
            moment
            if moment.tzinfo is None
            else moment.astimezone(datetime.UTC).replace(tzinfo=None)
        )
    except (TypeError, ValueError, OverflowError):
        return None


def numbers_of(reader: FeatureReader | None, context: Any, experiment: str) -> Numbers | None:
    if context is None:
        return None
    if reader is not None:
        return reader.numbers(context)
    first = next(iter(context.values())) if isinstance(context, dict) else context[0]
    if is_raw_row(context) or isinstance(first, dict):
        raise Refused(
            422,
            f"context has values by name, but experiment {experiment!r} has no features; send "
            "numbers, or create one with features.",
            "context",
        )
    return context


Name = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="Letters, digits, dots, dashes; at most 100.",
    ),
]
ArmId = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        pattern=r"^[^\x00/]+$",
        description="What your own systems call the arm.",
    ),
]
Row = Annotated[list[Number], Field(min_length=1, max_length=10_000)]

LEAST, GREATEST = (
    1e-100,
    1e100,
    # size of a reward that is not 0: sums, squares and products of rewards stay finite and can be
    # saved
)
MOST_BYTES = 256e6  # of a policy's state
MODERATE = f"give 0 or a number whose size is between {LEAST:g} and {GREATEST:g}"


def seconds(value: object) -> object:
    """Seconds from a number, or from text such as "90s", "15m", "12h", "7d", "2w"."""
    return checks.seconds_of(value) if isinstance(value, str) else value


def _distinct(arms: "list[ArmSpec]") -> "list[ArmSpec]":
    ids = [arm.id for arm in arms]
    if len(set(ids)) < len(ids):
        twice = next(id for k, id in enumerate(ids) if id in ids[:k])
        raise ValueError(f"arms has {twice!r} twice; every arm needs an id of its own.")
    return arms


class ArmSpec(Strict):
    """One arm: its id and what the policy knows of it."""

    id: Annotated[ArmId, Addressable]
    features: Row | None = Field(
        default=None, description="(d,) numbers, for policies that learn from features."
    )
    point: Number | Row | None = Field(
        default=None, description="Its position, for Lipschitz policies."
    )


Arms = Annotated[list[ArmSpec], Field(min_length=1, max_length=100_000), AfterValidator(_distinct)]
Window = Annotated[float, BeforeValidator(seconds), Field(gt=0, le=checks.LONGEST_TIME)]


Mode = Literal["apprentice", "shadow", "capped", "full"]
OTHER = "other"  # the value of a segment that is missing, or not in the spec
MOST_VALUES = 100  # of all segments of a spec together


def _distinct_values(values: list[str]) -> list[str]:
    twice = next((one for k, one in enumerate(values) if one in values[:k] or one == OTHER), None)
    if twice is not None:
        why = (
            f"which is there already for every value that is not listed; leave {OTHER!r} out"
            if twice == OTHER
            else "twice; say it once"
        )
        raise ValueError(f"segments has {twice!r}, {why}.")
    return values


SegmentValue = Annotated[str, Field(min_length=1, max_length=50, pattern=r"^[^\x00]+$")]
SegmentName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,49}$")]
SegmentValues = Annotated[
    list[SegmentValue],
    Field(min_length=1, max_length=MOST_VALUES),
    AfterValidator(_distinct_values),
]
Segments = Annotated[dict[SegmentName, SegmentValues], Field(min_length=1, max_length=5)]


Share = Annotated[float, Field(gt=0, lt=1)]
Chance = Annotated[float, Field(gt=0, le=1)]


def _increasing(value: tuple[float, float]) -> tuple[float, float]:
    if not value[0] < value[1]:
        raise ValueError(
            f"rewards = {list(value)} must be the lowest and the highest reward, such as [0, 1]."
        )
    return value


RewardRange = Annotated[tuple[Number, Number], BeforeValidator(pair), AfterValidator(_increasing)]


MetricName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,49}$")]
Metrics = Annotated[dict[MetricName, RewardRange], Field(min_length=1, max_length=20)]
MeansByValue = dict[SegmentValue, Number]
REWARD = ""  # in place of a metric's name, where the reward is the only one


class PromiseSpec(Strict):
    """A bound that the sum of a metric's expected values keeps: exactly one of alpha, ceiling and
    floor."""

    metric: MetricName | None = Field(
        default=None, description="A name in metrics; null: the first, or the reward."
    )
    alpha: Number | None = Field(
        default=None,
        description="Share of the baseline's sum that may be lost; with at_most: added.",
    )
    ceiling: Number | None = Field(
        default=None, description="The most a decision may have on average."
    )
    floor: Number | None = Field(
        default=None, description="The least a decision must have on average."
    )
    at_most: bool = Field(default=False, description="Whether alpha bounds the sum from above.")
    by: SegmentName | None = Field(
        default=None,
        description="A name in segments: the promise is kept in each of its values by itself, "
        "other too, in place of once for all decisions together.",
    )
    share: Number = Field(default=1.0, description="Its part of delta, in proportion.")

    @property
    def promise(self) -> Promise:
        given = self.model_dump(exclude={"by"})
        return Promise(**given, segment=None if self.by is None else "each")

    @property
    def bounds_above(self) -> bool:
        return self.at_most or self.ceiling is not None

    @model_validator(mode="after")
    def is_one(self) -> "PromiseSpec":
        _ = self.promise  # raises ValueError
        return self

    def clause(self, objective: str) -> str:
        whose = (
            "of all decisions so far"
            if self.by is None
            else f"of the decisions so far in every {self.by} by itself, and in other together,"
        )
        there, metric = "" if self.by is None else " there", self.metric or objective or "reward"
        side = "most" if self.bounds_above else "least"
        if self.alpha is None:
            level = self.ceiling if self.floor is None else self.floor
            return f"the expected {metric} {whose} is at {side} {level:g} a decision{there}"
        times = 1 + self.alpha if self.at_most else 1 - self.alpha
        had = "had" if objective else "earned"
        return (
            f"the expected {metric} {whose} is at {side} {times:.6g} times what the baseline alone "
            f"would have {had}{there}"
        )


class Promotion(Strict):
    """When a mode gives way to the next: all of it must hold. after: rewards that the mode has
    seen. better: the policy is surely better than the baseline, by the anytime-valid bounds of the
    certificate."""

    after: Annotated[int, Field(ge=1, le=2**53)] | None = None
    better: bool = False

    @model_validator(mode="after")
    def something(self) -> "Promotion":
        if self.after is None and not self.better:
            raise ValueError(
                "promote has a rule that asks for nothing; give after (a number of rewards), "
                "better = true, or both."
            )
        return self


class RolloutSpec(Strict):
    """How the policy takes over from the baseline."""

    mode: Mode = Field("apprentice", description="Where it begins.")
    share: Share = Field(0.1, description="Of the decisions that are the policy's in mode capped.")
    production: Annotated[dict[ArmId, Chance], Field(min_length=1, max_length=100_000)] | None = (
        Field(
            None,
            description="Probabilities of arms in production, where it is not one arm. Shadow can "
            "then say what the policy earns.",
        )
    )
    promote: dict[Literal["apprentice", "shadow", "capped"], Promotion] = Field(
        default_factory=dict,
        description="Rules, by the mode that they end; without one a mode ends by command.",
    )
    error: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.05,
        description="Chance that any promotion of the experiment by `better` is of a policy that "
        "is not better.",
    )
    least_budget: Number | dict[MetricName, Number] | None = Field(
        None,
        description="Back to the baseline when the lower bound of the budget falls below it "
        "(policies with alpha), or that of any promise; by metric where there are several. "
        "null: -1, or minus the width of the range of rewards where that is more, which leaves "
        "room for the reward that has just come, as a policy that explores at the limit has a "
        "bound of about 0; and never where the mean of the baseline is learned from features that "
        "every round brings, whose bound moves by more than that with every round, or where the "
        "promise is kept at checkpoints (checkpoint, min_gap), between which the bound may be "
        "below any number.",
    )
    rewards: RewardRange = Field(
        (0.0, 1.0), description="Lowest and highest reward that there can be."
    )

    @model_validator(mode="after")
    def sound(self) -> "RolloutSpec":
        if self.production is not None and not math.isclose(
            sum(self.production.values()), 1.0, abs_tol=1e-9
        ):
            raise ValueError(
                f"production adds up to {sum(self.production.values()):.10g}; its probabilities "
                "must add up to 1."
            )
        return self


class Unit(Strict):
    """What a reward is worth to people, for the board."""

    name: Annotated[str, Field(min_length=1, max_length=20, description='Such as "EUR".')]
    factor: Annotated[Number, Field(gt=0)] = Field(
        1.0,
        description="Units that a reward of 1 is worth: 100, where rewards are 0.12 for 12 EUR.",
    )


class StickySpec(Strict):
    """How long a subject keeps its arm, and what the reward of its one decision is."""

    lasts: Window = Field(
        description='Seconds, or text such as "30d", for which a subject gets '
        "the same "
        "decision "
        "again."
    )
    reward: Literal["first", "sum"] = Field(
        "first",
        description="The decision's reward: the first that comes, or the sum of all that come "
        "before its window closes, learned then. Rewards that are summed need a reward_id each, "
        "so that a retry does not count twice.",
    )


class ExperimentSpec(Strict):
    """An experiment: a policy, its arms, and how long it waits for rewards."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "checkout-price",
                    "policy": {"policy": "BetaThompson"},
                    "arms": [{"id": "9.90"}, {"id": "11.90"}, {"id": "12.90"}],
                    "baseline": "9.90",
                    "baseline_mean": 0.12,
                    "alpha": 0.05,
                    "window": "7d",
                    "default_reward": 0.0,
                    "seed": 1,
                },
                {
                    "name": "banner",
                    "policy": "LinUCB",
                    "arms": [{"id": "sale"}, {"id": "news"}],
                    "features": {
                        "country": {"kind": "category", "levels": ["de", "fr"]},
                        "age": {"kind": "number", "range": [18, 80]},
                    },
                },
            ]
        }
    )

    name: Name
    policy: str | JsonObject = Field(
        description='"UCB", or {"policy": "UCB", "alpha": 0.5}: a name that '
        "`tightrope "
        "policies` "
        "lists."
    )
    arms: Arms | None = Field(
        default=None,
        description="Without arms every decision brings its own candidates with their features.",
    )
    dimension: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        default=None, description="d, where every decision brings (d,) features of each arm."
    )
    features: Features | None = Field(
        default=None,
        description="In place of dimension, where decisions bring rows of values by name: a kind "
        "for each column, {country: category, age: number}, with levels, range and so on; or what "
        "tr.Encoder.to_dict returned. Stored as an encoder in full.",
    )
    oracle: JsonObject | None = Field(
        default=None, description='Sets of arms: {"oracle": "TopK", "k": 5}.'
    )
    horizon: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        default=None, description="Expected number of decisions, for widths that use it."
    )
    baseline: ArmId | list[ArmId] | None = Field(
        default=None, description="The arm (or set) in production today."
    )
    baseline_mean: Number | dict[MetricName, Number | MeansByValue] | None = Field(
        default=None,
        description="Its mean reward, where it is known; with metrics by their names, each a "
        "number, or one for each value of the segment that promises are by, and for other.",
    )
    alpha: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None,
        description="Share of the baseline's reward that may be lost: the policy is kept by Safe "
        "(unless it keeps a budget itself).",
    )
    metrics: Metrics | None = Field(
        default=None,
        description="Lowest and highest value of each number that a decision is rewarded with, "
        "{revenue: [0, 500], conversion: [0, 1]}, for promises; the policy learns the first.",
    )
    promises: Annotated[list[PromiseSpec], Field(min_length=1, max_length=100)] | None = Field(
        default=None,
        description="In place of alpha, what is promised, all of it at once with probability "
        "1 - delta.",
    )
    guarantee: JsonObject = Field(
        default_factory=dict, description="More parameters of Safe, such as delta, open, arm_bound."
    )
    floor: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="Least probability of every eligible arm (Explore)."
    )
    window: Window | None = Field(
        604_800.0,
        description='Seconds, or text such as "7d", that a decision waits '
        "for its "
        "reward; null: "
        "for ever.",
    )
    default_reward: Number | dict[MetricName, Number] | None = Field(
        default=None,
        description="Taken when the window closes, by metric where there are several; null: the "
        "decision is closed and teaches nothing.",
    )
    rewards: RewardRange | None = Field(
        default=None,
        description="Lowest and highest reward of an arm; others are refused. null: that of the "
        "rollout, [0, 1] where the policy keeps a budget, else any.",
    )
    unit: Unit | None = Field(
        default=None,
        description='The unit in which the board shows rewards, {"name": "EUR", "factor": 100}; '
        "answers and the log keep rewards as they come.",
    )
    outside: Literal["refuse", "clip"] = Field(
        default="refuse",
        description="What becomes of a reward outside the range: refused, or clipped to it and "
        "counted.",
    )
    cancel_within: Window | None = Field(
        default=60.0,
        description="Seconds (or text) after a decision within which it may be cancelled; null: "
        "until its window closes. A deferred one may be cancelled until it is activated.",
    )
    sticky: StickySpec | None = Field(
        default=None,
        description="A subject keeps its arm: a decision with a subject that was decided for "
        "within this time is that decision again, with its id. null: every decision is drawn.",
    )
    segments: Segments | None = Field(
        default=None,
        description="Results by segment: up to five names, each with the values that are told "
        "apart, {country: [de, fr], device: [phone]}. Decisions say theirs; all other values are "
        "counted as other. The policy does not see them.",
    )
    promise_by: SegmentName | None = Field(
        default=None,
        description="A name in segments: the promise of alpha is kept in each of its values by "
        "itself, other too, in place of one for all decisions together. The policy is one for all.",
    )
    baseline_means: MeansByValue | None = Field(
        default=None,
        description="In place of baseline_mean, where there is promise_by: what the baseline is "
        "known to earn in each of its values, and in other.",
    )
    apply: Literal["on arrival", "in order"] = "on arrival"
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    rollout: RolloutSpec | None = Field(
        None,
        description="Begin beside the baseline; null: the policy decides from the first round on.",
    )

    @property
    def encoder(self) -> FittedEncoder | None:
        """How values by name become numbers: what the validation of `features` leaves there."""
        assert self.features is None or isinstance(self.features, FittedEncoder)
        return self.features

    @property
    def factor(self) -> float:
        return self.unit.factor if self.unit else 1.0

    @property
    def row_length(self) -> int | None:
        return self.dimension if self.encoder is None else self.encoder.dimension

    def reader(self) -> FeatureReader | None:
        """The reader that makes numbers of a decision's values; None where decisions bring numbers,
        or nothing."""
        return None if self.encoder is None else FeatureReader(self.encoder, self.name)

    def in_numbers(self) -> "ExperimentSpec":
        """The same where decisions bring numbers in place of values by name: it has the same state
        and the same kernels."""
        return self.model_copy(update={"features": None, "dimension": self.row_length})

    def plain(self) -> JsonObject:
        """JSON-ready data without the fields that have their defaults; two specs are the same if
        these are."""
        return self.model_dump(mode="json", exclude_defaults=True) | {"window": self.window}

    def said(self) -> JsonObject:
        return self.model_dump(mode="json", exclude_unset=True)

    def defaults(self) -> JsonObject:
        shown_only = {"unit"}  # which decides nothing, so that it needs no default in a log
        return _left_out(self.model_dump(mode="json", exclude=shown_only), self.plain())

    @property
    def described_policy(self) -> JsonObject:
        return {"policy": self.policy} if isinstance(self.policy, str) else dict(self.policy)

    @property
    def has_promise(self) -> bool:
        return self.alpha is not None or self.promises is not None or self.keeps_budget

    @property
    def kept(self) -> list[PromiseSpec]:
        if self.promises is None and self.alpha is not None and not self.keeps_budget:
            return [PromiseSpec(alpha=self.alpha, by=self.promise_by)]
        return self.promises or []

    @property
    def by(self) -> str | None:
        """The segment that promises are by; None: all are about all decisions together."""
        return next((one.by for one in self.promises or () if one.by), self.promise_by)

    @property
    def values(self) -> list[str] | None:
        """The values of the segment that promises are by, in the order of their ledgers."""
        by = self.by
        return None if by is None else [*(self.segments or {}).get(by, ()), OTHER]

    @property
    def names(self) -> list[str]:
        return [REWARD] if self.metrics is None else [*self.metrics]

    def about(self, metric: str) -> "ExperimentSpec":
        """The experiment as if this metric were its only reward, with what was said of it."""
        if self.metrics is None:
            return self
        mean, default = (
            given.get(metric) if isinstance(given, dict) else None
            for given in (self.baseline_mean, self.default_reward)
        )
        by_value = isinstance(mean, dict)
        return self.model_copy(
            update={
                "metrics": None,
                "rewards": self.metrics[metric],
                "default_reward": default,
                "baseline_mean": None if by_value else mean,
                "baseline_means": mean if by_value else None,
                "unit": self.unit if metric == self.names[0] else None,
            }
        )

    @property
    def known_mean(self) -> float | None:
        """Of the baseline, where the reward is the only metric and one mean is known."""
        assert not isinstance(self.baseline_mean, dict)
        return self.baseline_mean

    @property
    def known_means(self) -> list[float] | None:
        mean, by_value, values = self.known_mean, self.baseline_means, self.values or [OTHER]
        if by_value is not None:
            return [by_value[value] for value in values]
        return None if mean is None else [mean] * len(values)

    @property
    def default(self) -> float | None:
        assert not isinstance(self.default_reward, dict)
        return self.default_reward

    @property
    def baseline_is_comparable(self) -> bool:
        """Whether the baseline is one arm with one mean, as far as the spec says."""
        return (
            isinstance(self.baseline, str)
            and self.arms is not None
            and self.row_length is None
            and self.oracle is None
        )

    @property
    def keeps_budget(self) -> bool:
        """Whether the policy keeps a budget by itself, without Safe."""
        described = self.described_policy
        return "policy" in described and {"baseline", "alpha"} <= {
            *find(described["policy"]).FIELDS
        }

    @property
    def rounds_have_baselines(self) -> bool:
        """Whether a request may say what its round's baseline is: the spec names none, and
        something is measured against it."""
        if self.baseline is not None or (
            self.rollout is not None and self.rollout.production is not None
        ):
            return False
        return self.has_promise or self.rollout is not None or self.arms is None

    @property
    def least_budgets(self) -> dict[str, float]:
        """By metric, the bound of a budget below which the baseline comes back; -inf: never."""
        said = None if self.rollout is None else self.rollout.least_budget
        given = said if isinstance(said, dict) else {} if said is None else {self.names[0]: said}
        return {name: given.get(name, self.about(name)._usual_least()) for name in self.names}

    def _usual_least(self) -> float:
        parameters = self.guarantee | self.described_policy
        if (
            parameters.get("checkpoint", 1) != 1 or parameters.get("min_gap", 0) != 0
        ):  # between checkpoints it may be below any number
            return -math.inf
        low, high = self.reward_range or (0.0, 1.0)
        room = max(high - low, 1.0)  # for the reward that has just come
        return -room if self.known_means or self.row_length is None else -math.inf

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """Lowest and highest reward of an arm, or value of the metric that is learned; None: any
        reward is taken."""
        if self.metrics is not None:
            return self.metrics[self.names[0]]
        if self.rewards is not None or self.rollout is not None:
            return (
                self.rewards
                if self.rollout is None or self.rewards is not None
                else self.rollout.rewards
            )
        return (0.0, 1.0) if self.has_promise else None


def _left_out(whole: JsonObject, part: JsonObject) -> JsonObject:
    fields = {name: item for name, item in whole.items() if name not in part}
    inside = {
        name: _left_out(item, part[name])
        for name, item in whole.items()
        if isinstance(item, dict) and isinstance(part.get(name), dict)
    }
    return fields | {name: item for name, item in inside.items() if item}


def completed(plain: JsonObject, defaults: JsonObject) -> JsonObject:
    """The fields that `plain` gave, with the defaults that `defaults` gave for the rest."""
    return (
        defaults
        | plain
        | {
            name: completed(plain[name], defaults[name])
            for name in (
                {
                    name
                    for name, item in plain.items()
                    if isinstance(item, dict) and isinstance(defaults.get(name), dict)
                }
            )
        }
    )


def made_policy(spec: ExperimentSpec) -> Policy:
    try:
        return _made_policy(spec)
    except TypeError as error:  # an unknown parameter
        raise ValueError(str(error)) from None


def _made_policy(spec: ExperimentSpec) -> Policy:
    numbers = {} if spec.arms is None else {arm.id: k for k, arm in enumerate(spec.arms)}
    parameters: JsonObject = {}
    if spec.baseline is not None:
        ids = [spec.baseline] if isinstance(spec.baseline, str) else spec.baseline
        missing = next((one for one in ids if one not in numbers), None)
        if missing is not None:
            raise ValueError(f"baseline = {missing!r} is not the id of an arm.")
        parameters["baseline"] = (
            numbers[spec.baseline]
            if isinstance(spec.baseline, str)
            else [numbers[one] for one in spec.baseline]
        )
    known = {
        name: means[0] if len(set(means)) == 1 else means
        for name in spec.names
        if (means := spec.about(name).known_means) is not None
    }
    if known:
        parameters["baseline_mean"] = known if spec.metrics else known[REWARD]
    if spec.metrics is None and spec.has_promise:
        parameters["rewards"] = spec.reward_range
    if spec.keeps_budget:
        if spec.floor is not None:
            raise ValueError(
                "floor was given, but this policy keeps a budget that a floor would break; name "
                "the policy that it should guard."
            )
        return policy_from_spec(
            (parameters | ({} if spec.alpha is None else {"alpha": spec.alpha}) | spec.guarantee)
            | spec.described_policy
        )
    policy = policy_from_spec(spec.described_policy)
    if spec.floor is not None:
        policy = find("Explore")(policy, floor=spec.floor)
    if not spec.kept:
        if spec.guarantee:
            raise ValueError(
                "guarantee was given without alpha; say which share of the baseline's reward may "
                "be lost, such as alpha = 0.05."
            )
        return policy
    promised: dict[str, Any] = {"alpha": spec.alpha}
    if spec.promises is not None or spec.by is not None:
        promised = {"promises": [one.promise for one in spec.kept]}
        promised |= {"segments": len(spec.values or [OTHER]), "metrics": spec.metrics}
    return find("Safe")(policy, **(parameters | promised | spec.guarantee))


def check_baseline(spec: ExperimentSpec) -> None:
    for where, parameters in (
        ("policy", {} if isinstance(spec.policy, str) else spec.policy),
        ("guarantee", spec.guarantee),
    ):
        field = next(
            (name for name in ("baseline", "baseline_mean") if parameters.get(name) is not None),
            None,
        )
        if field is not None:
            remedy = "an arm's id, or those of a set" if field == "baseline" else "a number"
            raise ValueError(
                f"{where}.{field} = {checks.show(parameters[field])} is inside {where}, where a "
                f"rollout does not find it; give it as {field} ({remedy}) of the experiment "
                "itself, beside policy."
            )


def check_alpha(spec: ExperimentSpec) -> None:
    if spec.alpha is not None and spec.keeps_budget and "alpha" in spec.described_policy:
        alpha = checks.show(spec.described_policy["alpha"])
        raise ValueError(
            f"policy.alpha = {alpha} was given beside alpha = {spec.alpha:g}; give one of them, "
            "alpha."
        )
    if "alpha" in spec.guarantee:
        alpha = checks.show(spec.guarantee["alpha"])
        raise ValueError(
            f"guarantee.alpha = {alpha} is inside guarantee; give it as alpha of the experiment "
            "itself."
        )


def check_promises(spec: ExperimentSpec) -> None:
    promises = spec.promises
    if spec.metrics is not None and promises is None:
        raise ValueError(
            "metrics was given without promises, which alone are about several; give promises, or "
            "leave it out."
        )
    told = {"baseline_mean": spec.baseline_mean, "default_reward": spec.default_reward}
    least = None if spec.rollout is None else spec.rollout.least_budget
    for field, value in (told | {"rollout.least_budget": least}).items():
        named = value if isinstance(value, dict) else {}
        wrong = [name for name in named if name not in (spec.metrics or ())]
        if wrong:
            raise ValueError(f"{field} has {wrong[0]!r}, which is not in metrics.")
        if spec.metrics is not None and isinstance(value, float | int) and field in told:
            raise ValueError(
                f"{field} = {value:g} does not say of which metric; give it by name, as "
                f"{{{spec.names[0]!r}: {value:g}}}."
            )
    if promises is None:
        return
    for one, why in (
        ("alpha", spec.alpha is not None),
        ("promise_by", spec.promise_by is not None),
        ("rewards", spec.metrics is not None and spec.rewards is not None),
    ):
        if why:
            instead = "metrics" if one == "rewards" else "promises"
            raise ValueError(f"{one} was given beside {instead}, which says it too; leave it out.")
    if spec.keeps_budget or spec.oracle is not None:
        what = "a policy that keeps a budget itself" if spec.keeps_budget else "sets of arms"
        raise ValueError(
            f"promises was given, but this experiment has {what}; give a policy that plays single "
            "arms and keeps no budget."
        )
    others = {one.by for one in promises} - {None, spec.by}
    if others:
        raise ValueError(
            f"promises are by {spec.by!r} and by {others.pop()!r}; all that are by a segment must "
            "be by the same."
        )
    if not isinstance(spec.baseline, str):
        raise ValueError(
            "promises need one arm that is the baseline in all rounds; give its id as baseline."
        )
    if spec.sticky is not None and spec.metrics is not None and spec.sticky.reward == "sum":
        raise ValueError(
            "sticky.reward = 'sum' was given beside metrics, which are not summed; leave it out."
        )


def check_rewards(spec: ExperimentSpec) -> None:
    if (
        spec.rewards is not None
        and spec.rollout is not None
        and spec.rollout.rewards not in (spec.rewards, (0.0, 1.0))
    ):
        raise ValueError(
            f"rollout.rewards = {list(spec.rollout.rewards)} was given beside rewards = "
            f"{list(spec.rewards)}; give one of them."
        )
    if spec.outside == "clip" and spec.reward_range is None:
        raise ValueError("outside = 'clip' has no range to clip to; give rewards, such as [0, 1].")
    for field, value in (
        ("default_reward", spec.default),
        *(("rewards", end) for end in spec.reward_range or ()),
    ):
        if value and not LEAST <= abs(value) <= GREATEST:
            raise ValueError(
                f"{field} = {value:g} has a size that sums of rewards cannot hold; {MODERATE}."
            )
    low, high = spec.reward_range or (-math.inf, math.inf)
    if spec.default is not None and not low <= spec.default <= high:
        raise ValueError(
            f"default_reward = {spec.default:g} is outside rewards = [{low:g}, {high:g}]; "
            "give one within it."
        )


def check_segments(spec: ExperimentSpec) -> None:
    if spec.segments is None:
        return
    if spec.arms is None:
        raise ValueError(
            "segments was given, but every decision of this experiment brings its own candidates, "
            "which are not counted."
        )
    count = sum(len(values) for values in spec.segments.values())
    if count > MOST_VALUES:
        raise ValueError(
            f"segments has {count} values, but {MOST_VALUES} are the most of all segments "
            "together; leave rare ones out."
        )


def check_by(spec: ExperimentSpec) -> None:
    by, values = spec.by, spec.values
    field = "promise_by" if spec.promises is None else "by"
    if by is None or values is None:
        if any(spec.about(name).baseline_means is not None for name in spec.names):
            raise ValueError(
                "baseline_means was given without promise_by; name the segment of these values, "
                "or give baseline_mean, a number."
            )
        return
    if by not in (spec.segments or {}):
        raise ValueError(
            f"{field} = {by!r} is not in segments; give its values there, as segments = "
            f"{{{by!r}: [..]}}."
        )
    if not spec.kept:
        raise ValueError(
            "promise_by keeps a promise by Safe; give alpha of the experiment itself, and a "
            "policy that keeps no budget."
        )
    if spec.oracle is not None:
        raise ValueError(
            "promise_by was given, but this experiment plays sets of arms, whose promise is one "
            "for all segments."
        )
    if not isinstance(spec.baseline, str):
        raise ValueError(
            f"{field} needs one arm that is the baseline in all rounds; give its id as baseline."
        )
    if spec.baseline_means is not None and spec.baseline_mean is not None:
        raise ValueError(
            f"baseline_mean = {checks.show(spec.baseline_mean)} was given beside baseline_means; "
            "give one of them."
        )
    for name in spec.names:
        one, where = (
            spec.about(name),
            "baseline_means" if spec.metrics is None else f"baseline_mean[{name!r}]",
        )
        given = one.baseline_means
        if spec.row_length is not None and one.baseline_mean is None and given is None:
            raise ValueError(
                f"{field} needs what the baseline earns where decisions bring features; give "
                f"{where}, a number for each value of {by}, or baseline_mean."
            )
        wrong = [] if given is None else [*(set(values) ^ set(given))]
        if wrong:
            raise ValueError(
                f"{where} must have the values {', '.join(values)}, each once; {min(wrong)!r} is "
                "missing or is none of them."
            )


def check_sticky(spec: ExperimentSpec) -> None:
    if spec.sticky is None:
        return
    if spec.arms is None or spec.oracle is not None or spec.rounds_have_baselines:
        what = (
            "sets of arms"
            if spec.oracle is not None
            else "candidates of every decision's own"
            if spec.arms is None
            else ("rounds with baselines of their own")
        )
        raise ValueError(
            f"sticky was given, but this experiment has {what}; a subject keeps one arm of those "
            "in arms."
        )
    if spec.sticky.reward != "sum":
        return
    if spec.window is None:
        raise ValueError(
            "sticky.reward = 'sum' needs a window: the sum of a decision is learned when its "
            "window closes."
        )
    policy, (least, most) = made_policy(spec), spec.reward_range or (-GREATEST, GREATEST)
    low, high = reward_range(policy)
    if least < low or most > high:  # nobody could be told that a sum is refused
        raise ValueError(
            f"sticky.reward = 'sum' learns sums in [{least:g}, {most:g}], but "
            f"{type(policy).__name__} takes rewards in [{low:g}, {high:g}]; give rewards within "
            "that, or a policy that takes any, such as GaussianThompson."
        )


def check_features(spec: ExperimentSpec) -> None:
    if spec.features is None:
        return
    if spec.dimension is not None:
        raise ValueError(
            f"dimension = {spec.dimension} was given beside features, which say how many numbers "
            "a row has; leave it out."
        )
    described = next(
        (arm.id for arm in spec.arms or () if arm.features is not None or arm.point is not None),
        None,
    )
    if described is not None:
        raise ValueError(
            f"features was given, but arms has numbers for {described!r} that stay; leave one of "
            "both out."
        )


def check_size(spec: ExperimentSpec, policy: Policy, arms: int, one_row: bool = False) -> None:
    """Raise ValueError where features make a state that is too large to decide with while others
    wait. arms: how many there are, or will be. one_row: all arms are shown one row, so that there
    may be a regression for each of them."""
    rows = [arm.features for arm in spec.arms or () if arm.features is not None]
    d = spec.row_length or max((len(row) for row in rows), default=0)
    if not d or not {"features", "contexts", "sets"} & {*accepts(policy)}:
        return
    size = 8.0 * (3 * d * d + 2 * arms * d)
    if (
        3 * arms * d * d + arms * arms > MOST_BYTES / 32
    ):  # a regression for each arm, or an array of all pairs, may be too much
        fixed = np.zeros((1, d)) if rows else None  # only whether there are any is asked
        policy_arms = ArmsOfPolicy(
            arms,
            features=fixed,
            dimension=d,
            horizon=spec.horizon,
            oracle=made_oracle(spec),
            common=one_row,
        )
        size = max(size, state_bytes(policy, policy_arms) or 0.0)
    steps = max(4 * d * d + 2 * arms * d, size / 16)
    if size > MOST_BYTES:
        field = (
            "context"
            if one_row
            else "features"
            if spec.features
            else "dimension"
            if spec.dimension
            else "arms"
        )
        what = f"{arms} arms with {d} features each" if one_row or rows or arms > d else f"{d}"
        raise ValueError(
            f"{field} = {what} takes about {size / 1e9:.2g} GB and {steps / 1e9:.2g} s a "
            f"decision, but at most {MOST_BYTES / 1e9:.2g} GB are taken; use fewer features, such "
            "as the first 100 principal components, or fewer arms."
        )


def made_oracle(spec: ExperimentSpec) -> Oracle | None:
    if spec.oracle is None:
        return None
    if spec.oracle.get("oracle") == "Promotions":
        raise ValueError(
            "oracle = 'Promotions' plays pairs of users and promotions, which have no ids; use "
            "TopK, Partition or Knapsack."
        )
    return build_oracle(
        {name: value for name, value in spec.oracle.items() if not isinstance(value, list)},
        {
            f"oracle.{name}": np.asarray(value)
            for name, value in spec.oracle.items()
            if isinstance(value, list)
        },
    )


def check_rollout(spec: ExperimentSpec) -> None:
    rollout = spec.rollout
    if rollout is None:
        return
    if spec.oracle is not None:
        raise ValueError(
            "rollout was given, but this experiment plays sets of arms; only single arms are "
            "rolled out beside a baseline."
        )
    if rollout.production is None:
        if spec.arms is not None and not isinstance(spec.baseline, str):
            raise ValueError(
                "rollout needs what is in production: give baseline (an arm's id) or "
                "rollout.production (probabilities)."
            )
        return
    ids = {arm.id for arm in spec.arms or ()}
    missing = next((arm for arm in rollout.production if arm not in ids), None)
    if missing is not None:
        raise ValueError(f"rollout.production has {missing!r}, which is not the id of an arm.")


def check_spec(spec: ExperimentSpec) -> None:
    """Raise ValueError where a new experiment cannot be what its spec says. What began before is
    not asked again."""
    check_baseline(spec)
    check_alpha(spec)
    check_promises(spec)
    for metric in spec.names:
        check_rewards(spec.about(metric))
    check_rollout(spec)
    check_features(spec)
    check_segments(spec)
    check_by(spec)
    check_sticky(spec)
    check_size(spec, made_policy(spec), len(spec.arms or ()))


def made_session(spec: ExperimentSpec, policy: Policy | None = None) -> Session:
    described: JsonObject = {"arms": None, "dimension": spec.row_length}
    names = None
    if spec.arms is not None:
        names = [arm.id for arm in spec.arms]
        rows, points = [arm.features for arm in spec.arms], [arm.point for arm in spec.arms]
        if any(row is not None for row in rows):
            described["arms"] = features_of(spec.arms)
        elif any(point is not None for point in points):
            if any(point is None for point in points):
                raise ValueError("points are missing: some arms have a point and some have none.")
            described = {"points": points}
        else:
            described["arms"] = len(names)
    return Session(
        made_policy(spec) if policy is None else policy,
        **described,
        oracle=made_oracle(spec),
        horizon=spec.horizon,
        seed=spec.seed,
        names=names,
        default_reward=spec.default_reward,
        apply=spec.apply,
    )


def features_of(arms: list[ArmSpec]) -> np.ndarray | None:
    """(n, d) features of arms; None where none has any. Raises ValueError where they differ."""
    rows = [arm.features for arm in arms]
    vectors = [row for row in rows if row is not None]
    if not vectors:
        return None
    if len({len(row) for row in vectors}) > 1 or len(vectors) < len(rows):
        raise ValueError(
            "features are missing or of different lengths: give every arm as many numbers as the "
            "others."
        )
    return np.array(vectors, dtype=np.float64)
