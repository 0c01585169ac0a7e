"""How many bytes a policy's state has, before it is made: an experiment, a request or a file may
ask for more than there is memory."""

import functools
import itertools

import numpy as np

from ..core.policy import Policy
from ..core.verbs import Arms, init
from .codec import flatten

ROWS, DIMENSIONS = (9, 11, 13), (2, 3, 4)  # of the small states that are made instead


def state_bytes(policy: Policy, arms: Arms) -> float | None:
    """Bytes of the arrays of a policy's state: a polynomial in K and d of degree 2 in each, which
    the states of few arms and features show. Exact where no array is cut off at a size of its own.
    None where the policy refuses such small problems.

    Costs nine small `init`, whatever the arms; their features are not looked at.
    """
    rows, d = arms.number // arms.blocks, float(arms.dimension)
    try:
        sizes = [
            _bytes_of(policy, _few(arms, k, j)) for k, j in itertools.product(ROWS, DIMENSIONS)
        ]
    except ValueError:
        return None
    powers = [
        [float(k) ** i * float(j) ** m for i in range(3) for m in range(3)]
        for k, j in itertools.product(ROWS, DIMENSIONS)
    ]
    coefficients = (
        np.rint(np.linalg.solve(np.array(powers), np.array(sizes)) * 24.0) / 24.0
    )  # bytes come in whole numbers and halves
    return float(coefficients @ [float(rows) ** i * d**m for i in range(3) for m in range(3)])


def _few(arms: Arms, rows: int, dimension: int) -> Arms:
    features = None if arms.features is None else _rows(rows, dimension)
    return arms._replace(number=rows * arms.blocks, dimension=dimension, features=features)


@functools.cache
def _rows(rows: int, dimension: int) -> np.ndarray:
    """(rows, dimension) features in general position, shorter than 1."""
    drawn = np.random.default_rng(0).normal(size=(rows, dimension))
    return drawn / (2.0 * np.linalg.norm(drawn, axis=1, keepdims=True))


def _bytes_of(policy: Policy, arms: Arms) -> float:
    return float(sum(array.nbytes for array in flatten(init(policy, arms)).values()))
