"""Times are whole microseconds since 1970 (UTC); clients read them as text."""

import functools
from datetime import UTC, datetime, timedelta

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
