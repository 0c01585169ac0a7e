"""Policies, one algorithm a file. A file added to a family's folder is found by itself."""

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from ..parameters import REGISTRY


def _discover() -> list[ModuleType]:
    return [importlib.import_module(found.name) for found in pkgutil.walk_packages(__path__, __name__ + ".")]


_modules = _discover()
globals().update(REGISTRY)


def examples() -> dict[str, Any]:
    """One ready instance of every policy, by its repr: what the contract tests and the benchmark run."""
    return {repr(instance): instance for module in _modules for instance in getattr(module, "example", list)()}
