"""The header of a session file as types: what is missing, unknown or of another type is refused in one sentence."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Count = Annotated[int, Field(ge=0, le=2**62)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Error = Annotated[float, Field(ge=0, allow_inf_nan=False)]
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


class Old(Strict):
    """Format 1."""

    format: Literal[1]
    policy: dict[str, Any]
    arms: ArmsData
    oracle: dict[str, Any] | str | None
    changing: bool
    baseline: tuple[Count | None, Number | None]
    rounds: Count
    seed: Annotated[int, Field(ge=0)]
    rng: dict[str, Any]


class Header(Strict):
    """Format 2, to which format 1 is completed."""

    format: Literal[1, 2]
    policy: dict[str, Any]
    arms: ArmsData
    oracle: dict[str, Any] | str | None
    catalogue: bool = False
    changing: bool
    several: bool = False
    names: list[str] | None = None
    window: Count | None = None
    default_reward: Number | None = None
    apply: Literal["on arrival", "in order"] = "on arrival"
    rounds: Count
    decided: Count = 0
    seed: Annotated[int, Field(ge=0)]
    rng: dict[str, Any]
    audit: dict[str, Any] | None = None
    contexts: list[RoundData] = []
    open: list[OpenData] = []
    closed: list[ClosedData] = []
    baseline: tuple[Count | None, Number | None] = (None, None)


def checked_header(text: str, version: int) -> Header:
    """The header of a file of either format."""
    try:
        if version == 1:
            return Header.model_validate(Old.model_validate_json(text).model_dump())
        return Header.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"the file's {'.'.join(map(str, first['loc']))} cannot be read: {first['msg']}.") from None
