"""Which policies, problems and problems of specs there are, by name. Classes enter themselves when their modules are imported."""

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .problem import Problem

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class ProblemRecipe:
    """A problem that a YAML file can ask for: what makes it, and its parameters with their types and defaults (`...`: required)."""

    kind: str
    make: "Callable[..., Problem | Sequence[Problem]]"
    parameters: Mapping[str, tuple[object, object]]


REGISTRY: dict[str, Any] = {}  # policy classes and presets, by name
PROBLEMS: dict[str, Any] = {}  # problem classes, by name
RECIPES: dict[str, ProblemRecipe] = {}  # problems, by the kind that a spec names


def check_free(names: Mapping[str, object], name: str, item: object) -> None:
    """Refuse a name that another item has; the same definition may run again, as in a notebook."""
    before = names.get(name)
    if before is not None and _place(before) != _place(item):
        where, what = _place(before)
        raise ValueError(f"the name {name!r} is taken by {what} in {where}; call {_place(item)[1]} in {_place(item)[0]} something else.")


def add(names: dict[str, T], name: str, item: T) -> None:
    """Register a policy or a recipe under a free name; the same definition, run again, replaces itself."""
    check_free(names, name, item)
    names[name] = item


def _place(item: object) -> tuple[str, str]:
    origin: Any = getattr(item, "make", item)
    file = getattr(sys.modules.get(origin.__module__), "__file__", None)
    return file or origin.__module__, getattr(origin, "__qualname__", origin.__name__)
