"""Libraries that only an extra installs: imported where they are used, and missed in a sentence."""

import importlib
from types import ModuleType


class MissingExtra(ImportError):
    """A library that a function needs is not installed."""


def required(module: str, extra: str, purpose: str) -> ModuleType:
    """A module of an extra. Raises MissingExtra, with the command that installs it, where it cannot be imported."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"{purpose} needs {module.partition('.')[0]} ({error}); pip install 'tightrope[{extra}]'.") from error
