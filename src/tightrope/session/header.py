"""The header of a session file as types: what is missing, unknown or of another type is refused in one sentence."""

import itertools
from abc import abstractmethod
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from .ids import BRANCH, DIGEST, MOST_BRANCH

LEAST_DRAWS, MOST_DRAWS = 10, 10**8  # behind a probability
Count = Annotated[int, Field(ge=0, le=2**62)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Error = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Digest = Annotated[str, Field(pattern=f"^{DIGEST}$")]
Share = Annotated[float, Field(ge=0, le=1)]
How = Literal["rewarded", "expired", "closed"]


class HeaderModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ArmsData(HeaderModel):
    number: Annotated[int, Field(ge=1, le=2**48)]
    dimension: Annotated[int, Field(ge=0, le=2**32)]
    horizon: Annotated[int, Field(ge=1)] | None
    blocks: Annotated[int, Field(ge=1, le=2**32)]
    common: bool


class Columns(HeaderModel):
    """A list for each field of many things, of one length; None where one of OPTIONAL says nothing of any of them."""

    OPTIONAL: ClassVar[tuple[str, ...]]

    @model_validator(mode="after")
    def _of_one_length(self) -> Self:
        wrong = [name for name, value in self if isinstance(value, list) and len(value) != self.size()]
        if wrong:
            raise ValueError(f"{wrong[0]} is not as long as the other columns")
        empty = [name for name, value in self if isinstance(value, list) and name in self.OPTIONAL and value.count(None) == len(value)]
        if empty:
            raise ValueError(f"{empty[0]} says nothing of any of them and must be null")
        return self

    @abstractmethod
    def size(self) -> int:
        """How many things."""

    def of(self, column: list[Any] | None) -> Iterable[Any]:
        return itertools.repeat(None, self.size()) if column is None else column


class RoundColumns(Columns):
    """Contexts of rounds; their arrays stand in the file's `rounds.features` and `rounds.eligible`."""

    OPTIONAL = ("rows", "mask", "baseline", "baseline_mean", "segment")
    number: Count
    rows: list[Count | None] | None
    mask: list[Count | None] | None
    baseline: list[Count | None] | None
    baseline_mean: list[Number | None] | None
    segment: list[Count | None] | None = None  # files from before segments have none

    def size(self) -> int:
        return self.number

    def entries(self) -> Iterable[tuple[int | None, int | None, int | None, float | None, int | None]]:
        return zip(*map(self.of, (self.rows, self.mask, self.baseline, self.baseline_mean, self.segment)), strict=True)


class DecisionColumns(Columns):
    """Decisions and their rewards. name: None where arms have the session's names. reason: its place among the file's."""

    OPTIONAL = ("propensity", "propensity_se", "draws", "time", "answers", "shown", "waiting", "held", "ended")
    id: list[str | int]
    arm: list[Count | list[Count]]
    name: list[str | Count | list[str | Count]] | None
    propensity: list[Share | list[Share] | None] | None
    propensity_se: list[Error | list[Error] | None] | None
    draws: list[Annotated[int, Field(ge=1)] | None] | None
    reason: list[Count]
    round: list[Annotated[int, Field(ge=1)]]
    time: list[Number | None] | None
    answers: list[Number | list[tuple[Count, Number]] | None] | None

    def size(self) -> int:
        return len(self.id)

    def entries(self) -> Iterable[tuple[Any, ...]]:
        columns = self.name, self.propensity, self.propensity_se, self.draws, self.reason, self.round, self.time, self.answers
        return zip(self.id, self.arm, *map(self.of, columns), strict=True)


class OpenColumns(DecisionColumns):
    context: list[Count]
    shown: list[tuple[Count | None, Count | None] | None] | None
    waiting: list[list[Count] | None] | None
    held: list[Annotated[list[list[Count]], Field(min_length=1)] | None] | None
    ended: list[How | None] | None


class ClosedColumns(DecisionColumns):
    how: list[How]


class BookData(HeaderModel):
    """All decisions of a session. last: the id of the last one, if it is open. selected: whether `select` made it."""

    rounds: RoundColumns
    reasons: list[str]
    open: OpenColumns
    closed: ClosedColumns
    last: str | int | None
    selected: bool


class BaseData(HeaderModel):
    """The state that a fork began with; its arrays begin with `base.`."""

    known: list[Digest]
    rounds: Annotated[int, Field(ge=1, le=2**62)]


class PastData(HeaderModel):
    known: list[Digest]
    branch: Annotated[str, Field(max_length=MOST_BRANCH, pattern=f"^{BRANCH}$")]
    forks: Count
    base: BaseData | None


class Header(HeaderModel):
    policy: dict[str, object]
    arms: ArmsData
    oracle: dict[str, object] | str | None
    changing: bool
    rounds: Count
    seed: Annotated[int, Field(ge=0)]
    rng: dict[str, object]
    format: Literal[5]
    catalogue: bool
    several: bool
    equal: Annotated[int, Field(ge=-1, le=2**62)]
    names: list[str] | None
    window: Count | Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+s$")] | None  # in rounds, or a time
    default_reward: Number | None
    apply: Literal["on arrival", "in order"]
    after_stop: Literal["winner", "explore"]
    measured: bool = True  # written where it is False
    draws: Annotated[int, Field(ge=LEAST_DRAWS, le=MOST_DRAWS)] | None = None  # written where it is given
    encoder: dict[str, object] | str | None = None  # written where there is one
    past: PastData | None = None  # written where there is one
    version: str  # of the package that wrote the file
    decided: Count
    played: Count
    audit: dict[str, object]
    selected: Count | None  # the arm of the last decision, where it is open and only counted
    book: BookData


def checked_header(text: str) -> Header:
    try:
        return Header.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"the file's {'.'.join(map(str, first['loc']))} cannot be read: {first['msg']}.") from None
