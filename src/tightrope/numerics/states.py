"""States in arrays of their own."""

import numpy as np

from ..core.types import State


def copied(state: State) -> State:
    """A state, or a model in one, whose arrays kernels may write into without changing the one that was given."""
    values = [copied(value) if hasattr(value, "_fields") else value.copy() if isinstance(value, np.ndarray) else value for value in state]
    return type(state)(*values)
