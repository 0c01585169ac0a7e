"""Logs of decisions: one form, made from tables, files and sessions."""

from .dsjson import dsjson_rows, from_dsjson, to_dsjson
from .frame import from_frame
from .journal import from_journal
from .log import Log
from .obp import from_obp, to_obp
from .session import from_session

__all__ = ["Log", "dsjson_rows", "from_dsjson", "from_frame", "from_journal", "from_obp", "from_session", "to_dsjson", "to_obp"]


def __dir__() -> list[str]:
    return __all__
