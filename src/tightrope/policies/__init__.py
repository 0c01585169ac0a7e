"""Policies, one algorithm a file. A file added to a family's folder is found by itself."""

from typing import Any

from .. import registry
from ..registry import REGISTRY, import_all

__all__ = ["examples", *import_all(__path__, __name__, REGISTRY)]
globals().update(REGISTRY)


def examples(problem: Any = None) -> dict[str, Any]:
    """One ready instance of every policy of this package, by its repr: what the contract tests run.

    problem: for policies that know the truth, whose `example` takes a problem; they have none without it.
    """
    return registry.examples(__name__, problem)
