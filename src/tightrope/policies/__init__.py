"""Policies, one algorithm a file. A file added to a family's folder is found by itself."""

from .. import registry
from ..registry import REGISTRY, Policy, Problem, import_all

__all__ = ["examples", *import_all(__path__, __name__, REGISTRY)]
globals().update(REGISTRY)


def examples(problem: Problem | None = None) -> dict[str, Policy]:
    """One ready instance of every policy of this package, by its repr: what the contract tests run.

    problem: for policies that know the truth, whose `example` takes a problem; they have none without it.
    """
    return registry.examples(__name__, problem)
