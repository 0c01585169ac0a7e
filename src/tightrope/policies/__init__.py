"""Policies, one algorithm a file. A file added to a family's folder is found by itself."""

import importlib
import pkgutil
from inspect import signature
from types import ModuleType
from typing import Any

from ..parameters import REGISTRY


def _discover() -> list[ModuleType]:
    return [importlib.import_module(found.name) for found in pkgutil.walk_packages(__path__, __name__ + ".")]


_modules = _discover()
globals().update(REGISTRY)


def examples(problem: Any = None) -> dict[str, Any]:
    """One ready instance of every policy, by its repr: what the contract tests and the benchmark run.

    problem: for policies that know the truth, whose `example` takes a problem; they have none without it.
    """
    found = [module.example for module in _modules if hasattr(module, "example")]
    made = [example(problem) if "problem" in signature(example).parameters else example() for example in found]
    return {repr(instance): instance for instances in made for instance in instances}
