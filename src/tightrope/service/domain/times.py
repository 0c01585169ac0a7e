"""Times are whole microseconds since 1970 (UTC); clients read them as text."""

import functools
from datetime import UTC, datetime

MICROSECONDS = 1_000_000  # of a second


def timestamp(microseconds: int | None) -> str | None:
    """A time as text."""
    if microseconds is None:
        return None
    whole, part = divmod(microseconds, MICROSECONDS)
    return f"{_second(whole)}.{part:06d}Z"


@functools.lru_cache(maxsize=64)
def _second(whole: int) -> str:
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}"
