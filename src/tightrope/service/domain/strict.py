"""The common base of all models of requests and specs."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Number = Annotated[float, Field(allow_inf_nan=False)]


class Strict(BaseModel):
    """Known fields only, finite numbers only."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def pair(value: object) -> object:
    """JSON has lists only."""
    return tuple(value) if isinstance(value, list) else value
