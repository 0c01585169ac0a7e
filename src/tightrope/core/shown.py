"""A dataclass in one line, its arrays by their shape, for classes whose fields may be large."""

import dataclasses
from typing import TYPE_CHECKING

from .checks import show

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def in_one_line(item: "DataclassInstance") -> str:
    """The class and its fields; what `__repr__` of such a class returns."""
    fields = (f"{field.name}={show(getattr(item, field.name))}" for field in dataclasses.fields(item))
    return f"{type(item).__name__}({', '.join(fields)})"
