"""Refusals of the service, strict fields, times."""

import functools
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from . import JsonObject

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    410: "gone",
    413: "too_large",
    422: "invalid",
    429: "too_many_requests",
    431: "too_large",
    500: "internal",
    503: "unavailable",
}

_ARGUMENT = re.compile(r"([a-z_][a-z0-9_]*(?:\[[^\]]*\]|\.[a-z0-9_]+)*) (?:= |is |has |was )")
_ARM = re.compile(r"\barm (\d{1,9})\b")


class Refused(Exception):
    """A request that gets no answer, and why. retry_after: seconds after which the same request may
    succeed. address: where it would succeed now, if that is known."""

    def __init__(
        self,
        status: int,
        message: str,
        field: str | None = None,
        retry_after: float | None = None,
        address: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field
        self.retry_after, self.address = retry_after, address

    def body(self) -> JsonObject:
        return {
            "error": {
                "code": CODES.get(self.status, "error"),
                "message": self.message,
                "field": self.field,
            }
        }


def invalid(error: ValueError, names: Sequence[str] = ()) -> Refused:
    """The library's sentence as an answer; the argument it begins with is the field. names: of arms
    by number, where it speaks of them."""
    message = with_names(str(error), names)
    match = _ARGUMENT.match(message)
    return Refused(422, message, match.group(1) if match else None)


def about_one_row(message: str, one_row: bool, experiment: str) -> str:
    """The library's sentence on arms that a round does not tell apart, in terms of the client.
    one_row: whether one was sent for all."""
    if not one_row:
        return (
            "context has the same row for every arm, as in the decisions before, so that nothing "
            "tells the arms apart. If it is the customer's, create a new experiment and send it "
            "as one row, [..] instead of [[..], ..], from its first decision on: every arm then "
            "has a regression of its own."
        )
    if "this session has one regression" in message:
        return (
            f"context is one row for all arms, but experiment {experiment!r} began with a row for "
            "every arm and has one regression for all of them; send a row for every arm, or "
            "create a new experiment and send one row from its first decision on."
        )
    return (
        f"context is one row for all arms, but the policy of experiment "
        f"{experiment!r} "
        f"has one "
        f"regression for all "
        f"of them, so that nothing "
        "tells them apart; send a row for every arm, or create an "
        "experiment with a "
        "policy that "
        "has one for each, "
        'such as {"policy": '
        '"LinUCB", "shared": false}.'
    )


def with_names(message: str, names: Sequence[str]) -> str:
    """The library's sentence with arms as clients call them. names: of the arms by number."""

    def named(match: re.Match[str]) -> str:
        number = int(match.group(1))
        return f"arm {names[number]!r}" if number < len(names) else match.group()

    return _ARM.sub(named, message)


def not_valid(errors: "Sequence[ErrorDetails]") -> Refused:
    """The first thing that pydantic finds wrong, in one sentence, without what was sent: that may
    be personal."""
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"]) or "the request"
    text = str(first["msg"]).removeprefix("Value error, ")
    return Refused(422, text if first["type"] == "value_error" else f"{where}: {text}.", where)


def unknown_experiment(name: str) -> Refused:
    return Refused(
        404,
        f"experiment = {name!r} does not exist; create it with POST /v1/experiments.",
        "experiment",
    )


# The common base of all models of requests and specs.


Number = Annotated[float, Field(allow_inf_nan=False)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def pair(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def in_address(value: str) -> str:
    """An id that an address can name. Raises ValueError otherwise."""
    if value in (".", ".."):
        raise ValueError(
            f"id = {value!r} cannot stand in an address: clients fold it away; choose another, "
            "such as 'dot'."
        )
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
            raise RepeatedName(
                f"{twice[:100]!r} stands twice in one object of the JSON, so that either could be "
                "meant; give it once."
            )
        return item

    return json.loads(text, object_pairs_hook=checked)


# Times are whole microseconds since 1970 (UTC); clients read them as text.


MICROSECONDS = 1_000_000  # of a second


def timestamp(microseconds: int | None) -> str | None:
    if microseconds is None:
        return None
    whole, part = divmod(microseconds, MICROSECONDS)
    return f"{_second(whole)}.{part:06d}Z"


def microseconds(time: datetime) -> int:
    """A time with its zone as whole microseconds since 1970."""
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@functools.lru_cache(maxsize=64)
def _second(whole: int) -> str:
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}"
