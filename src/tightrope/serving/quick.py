"""What a call of a kernel costs besides the kernel: a random stream is the dearest of its arguments."""

import dis
from typing import Any

import numba
import numpy as np

from .._jit import python_of
from ..registry import Policy
from ..verbs import propensity, select

STREAM: Any = numba.typeof(np.random.default_rng(0))


def draws(policy: Policy) -> bool:
    """Whether the policy's `select` reads its random stream. One that never does is called without, which saves half of its time."""
    kernel = select.table.get(type(policy))
    if kernel is None:
        return True
    named = (one.argval for one in dis.get_instructions(python_of(kernel)))
    return any(value == "rng" or (isinstance(value, tuple) and "rng" in value) for value in named)


def hasten(policy: Policy) -> None:
    """Let the kernels that do draw know a stream at a glance: Numba makes its type anew at every call."""
    for verb in (select, propensity):
        kernel = verb.table.get(type(policy))
        if hasattr(kernel, "typeof_pyval") and "typeof_pyval" not in vars(kernel):
            kernel.typeof_pyval = _quick(kernel.typeof_pyval)


def _quick(ordinary: Any) -> Any:
    def typeof_pyval(value: object) -> Any:
        return STREAM if type(value) is np.random.Generator else ordinary(value)

    return typeof_pyval
