"""Policies, one algorithm a file: every module of the families' folders is imported, and what it
enters into the registry stands here."""

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from ..core import registry
from ..core.policy import REGISTRY, Policy, Problem

for _module in sorted(
    info.name for info in pkgutil.walk_packages(__path__, f"{__name__}.") if not info.ispkg
):
    importlib.import_module(_module)
globals().update(
    {name: item for name, item in REGISTRY.items() if item.__module__.startswith(f"{__name__}.")}
)

if TYPE_CHECKING:  # which finds them in `__init__.pyi` of the package

    def __getattr__(name: str) -> Any: ...


def examples(problem: Problem | None = None) -> dict[str, Policy]:
    """One ready instance of every policy of this package, by its repr: what the contract tests run.

    problem: for policies that know the truth, which have none without it.
    """
    return registry.examples(__name__, problem)
