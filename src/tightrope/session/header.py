"""The header of a session file as types: what is missing, unknown or of another type is refused in one sentence."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .past import BRANCH, MARK, MOST_BRANCH, RECENT

LEAST_DRAWS, MOST_DRAWS = 10, 10**8  # behind a probability
Count = Annotated[int, Field(ge=0, le=2**62)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Error = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Mark = Annotated[str, Field(pattern=f"^{MARK}$")]
Share = Annotated[float, Field(ge=0, le=1)]


class Strict(BaseModel):
    """Known entries only, no conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ArmsData(Strict):
    """The sizes of `Arms`."""

    number: Annotated[int, Field(ge=1, le=2**48)]
    dimension: Annotated[int, Field(ge=0, le=2**32)]
    horizon: Annotated[int, Field(ge=1)] | None
    blocks: Annotated[int, Field(ge=1, le=2**32)]
    common: bool


class RoundData(Strict):
    """What a round showed; its arrays stand in the file's `rounds.features` and `rounds.eligible`."""

    rows: Count | None
    mask: Count | None
    baseline: Count | None
    baseline_mean: Number | None


class DecisionData(Strict):
    """A decision and its rewards."""

    id: str | int
    arm: Count | list[Count]
    name: str | Count | list[str | Count]
    propensity: Share | list[Share] | None
    propensity_se: Error | list[Error] | None
    draws: Annotated[int, Field(ge=1)] | None = None  # written where the propensity was sampled
    reason: str
    round: Annotated[int, Field(ge=1)]
    answers: Number | list[tuple[Count, Number]] | None


class OpenData(DecisionData):
    """A decision that waits."""

    context: Count
    shown: tuple[Count | None, Count | None]
    waiting: list[Count] | None
    held: list[list[Count]]
    ended: Literal["rewarded", "expired", "closed"] | None


class ClosedData(DecisionData):
    """A decision that is remembered."""

    how: Literal["rewarded", "expired", "closed"]


class BaseData(Strict):
    """What a fork began with; its arrays begin with `base.`."""

    mark: Mark
    marks: list[Mark]
    rounds: Annotated[int, Field(ge=1, le=2**62)]


class PastData(Strict):
    """Which rewards of the session others may have too."""

    kept: list[Mark]
    recent: Annotated[list[Mark], Field(max_length=RECENT)]
    branch: Annotated[str, Field(max_length=MOST_BRANCH, pattern=f"^{BRANCH}$")]
    forks: Count
    base: BaseData | None


class Header(Strict):
    """The header of a session file."""

    policy: dict[str, object]
    arms: ArmsData
    oracle: dict[str, object] | str | None
    changing: bool
    rounds: Count
    seed: Annotated[int, Field(ge=0)]
    rng: dict[str, object]
    format: Literal[3]
    catalogue: bool
    several: bool
    equal: Annotated[int, Field(ge=-1, le=2**62)]
    names: list[str] | None
    window: Count | None
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
    contexts: list[RoundData]
    open: list[OpenData]
    closed: list[ClosedData]
    counts: list[tuple[Count, Count]]  # (arm, open decisions of it that are only counted)
    unnamed: list[str | int]  # ids of open decisions that `select` made
    last: str | int | None  # the id of the last decision, if it is open


def checked_header(text: str) -> Header:
    """The header of a file."""
    try:
        return Header.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"the file's {'.'.join(map(str, first['loc']))} cannot be read: {first['msg']}.") from None
