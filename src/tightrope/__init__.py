"""Structured bandits: compiled in simulation, one decision at a time in production, with the guarantee visible."""

from typing import TYPE_CHECKING, Any

from . import problems
from .engine.results import Result, load
from .engine.runner import Interrupted
from .engine.simulate import simulate
from .parameters import REGISTRY
from . import policies  # noqa: I001  (registers every policy)

__version__ = "0.1.0"
__all__ = ["Interrupted", "Result", "load", "policies", "problems", "simulate", *REGISTRY]

if not TYPE_CHECKING:
    globals().update(REGISTRY)
else:

    def __getattr__(name: str) -> Any: ...
