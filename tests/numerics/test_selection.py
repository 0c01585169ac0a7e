"""Choices among eligible arms."""

import numpy as np

from tightrope.extend import jit
from tightrope.numerics.counts import argmax


@jit
def best_in_round(values, mask, t):
    return argmax(values, mask if t > 0 else None)


def test_a_mask_that_only_some_rounds_have_is_not_ignored_in_compiled_code():
    values, mask = np.array([3.0, 1.0, 2.0]), np.array([False, True, True])
    for kernel in (best_in_round, best_in_round.py_func):
        assert (kernel(values, mask, 1), kernel(values, mask, 0)) == (2, 0)
