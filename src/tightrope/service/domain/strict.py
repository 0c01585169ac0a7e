"""The common base of all models of requests and specs."""

import json
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Number = Annotated[float, Field(allow_inf_nan=False)]


class Strict(BaseModel):
    """Known fields only, finite numbers only."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def pair(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def in_address(value: str) -> str:
    """An id that an address can name. Raises ValueError otherwise."""
    if value in (".", ".."):
        raise ValueError(f"id = {value!r} cannot stand in an address: clients fold it away; choose another, such as 'dot'.")
    return value


Addressable = AfterValidator(in_address)


class RepeatedName(ValueError):
    """An object of JSON with two equal names, of which readers take one or the other."""


def once_each(text: str | bytes) -> object:
    """JSON whose objects have every name once; else RepeatedName."""

    def checked(pairs: list[tuple[str, object]]) -> dict[str, object]:
        item = dict(pairs)
        if len(item) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise RepeatedName(f"{twice[:100]!r} stands twice in one object of the JSON, so that either could be meant; give it once.")
        return item

    return json.loads(text, object_pairs_hook=checked)
