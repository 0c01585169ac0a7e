"""States in arrays of their own."""

from typing import TypeVar

import numpy as np

from ..core.types import Fields

S = TypeVar("S", bound=Fields)


def copied(state: S) -> S:
    """A state, or a model in one, whose arrays kernels may write into without changing the one that was given."""
    values = [copied(value) if hasattr(value, "_fields") else value.copy() if isinstance(value, np.ndarray) else value for value in state]
    return type(state)(*values)


def same_form(one: Fields, other: Fields) -> bool:
    """Whether two states are of the same classes, field by field."""
    if type(one) is not type(other):
        return False
    return all(same_form(a, b) for a, b in zip(one, other, strict=True)) if hasattr(one, "_fields") else True
