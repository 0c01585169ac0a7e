"""Logs of decisions: one form, made from tables, files and sessions."""

from .formats import (
    dsjson_rows,
    from_dsjson,
    from_journal,
    from_obp,
    from_session,
    to_dsjson,
    to_obp,
)
from .log import Log, from_frame

__all__ = [
    "Log",
    "dsjson_rows",
    "from_dsjson",
    "from_frame",
    "from_journal",
    "from_obp",
    "from_session",
    "to_dsjson",
    "to_obp",
]


def __dir__() -> list[str]:
    return __all__
