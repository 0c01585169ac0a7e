"""Libraries that only an extra installs: imported where they are used, and missed in a sentence."""

import importlib
import re
from types import ModuleType


class MissingExtra(ImportError):
    """A library that a function needs is not installed."""


def required(module: str, extra: str, purpose: str) -> ModuleType:
    """A module of an extra. Raises MissingExtra, with the command that installs it, where it cannot
    be imported."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{purpose} needs {module.partition('.')[0]} ({error}); pip install "
            f"'tightrope[{extra}]'."
        ) from error


# Lengths of time as people write them: 90s, 15m, 12h, 7d, 2w.


UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
LONGEST = 10 * 365 * 86_400  # seconds


def seconds_of(text: str) -> float:
    """Seconds of a length of time. Raises ValueError for other text."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smhdw])", text)
    if match is None:
        raise ValueError(
            f'{text[:40]!r} is not a time; write seconds or text such as "90s", "15m", "12h", "7d".'
        )
    return float(match.group(1)) * UNITS[match.group(2)]
