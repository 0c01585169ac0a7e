"""The k arms of largest score."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...compiled.kernels import jit, lean
from ...core import checks


@dataclass(frozen=True)
class TopK:
    """Exactly k arms. O(N) a call by partial selection.

    Called with scores (N,) and a mask (N,) of bool; returns (k,) arms by descending score, equal scores by index.

    Parameters
    ----------
    k : int >= 1
        Arms of a set.
    """

    k: int
    blocks = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checks.integer("k", self.k, least=1, most=checks.MOST_ROUNDS))

    @property
    def size(self) -> int:
        """Arms in a set."""
        return self.k

    def __call__(self, scores: ArrayLike, eligible: ArrayLike | None = None) -> np.ndarray:
        values, arms = eligible_scores(scores, eligible)
        if arms.size < self.k:
            raise ValueError(f"k = {self.k} arms were asked for, but only {arms.size} are eligible; lower k or admit more arms.")
        return arms[largest(values, self.k)]


def eligible_scores(scores: ArrayLike, eligible: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    values = checks.floats("scores", scores)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"scores has shape {values.shape}, but must be one-dimensional (N,) with at least one entry.")
    if np.isnan(values).any():
        raise ValueError(f"scores[{int(np.argmax(np.isnan(values)))}] = nan is not a number.")
    if eligible is None:
        return values, np.arange(values.size)
    mask = checks.entries("eligible", eligible, "a bool array")
    if mask.dtype != np.bool_ or mask.shape != values.shape:
        raise ValueError(f"eligible has type {mask.dtype} and shape {mask.shape}, but must be bool of shape {values.shape}.")
    arms = np.flatnonzero(mask)
    return values[arms], arms


def largest(values: np.ndarray, k: int) -> np.ndarray:
    """Places of the k largest values, descending, equal values by place: what a stable sort would give, in O(N + k log k)."""
    n = values.size
    if k < n:
        threshold = kth_largest(values, k)
        above = np.flatnonzero(values > threshold)
        level = np.flatnonzero(values == threshold)[: k - above.size]
        places = np.concatenate([above, level])
    else:
        places = np.arange(n)
    return places[np.argsort(-values[places], kind="stable")]  # equal values stand by place already


@jit
def kth_largest(values, k):
    """The value of rank k, from 1, in O(N) expected. np.partition takes 20 to 100 times as long where most values are equal."""
    return value_of_rank(values.copy(), np.empty(values.shape[0]), np.empty(values.shape[0]), values.shape[0], k)


@lean
def value_of_rank(rest, above, below, count, k):
    """`kth_largest` of rest[:count], which is overwritten. above, below: of the same length, to work in.

    Each pass keeps the values above or those below a pivot, and drops those equal to it; nothing branches on a value.
    """
    place = count // 2
    while True:
        low, high, pivot = rest[0], rest[count - 1], rest[place % count]
        pivot = max(min(low, high), min(max(low, high), pivot))
        n_above, n_below = 0, 0
        for i in range(count):
            value = rest[i]
            above[n_above] = value
            below[n_below] = value
            n_above += value > pivot
            n_below += value < pivot
        if k <= n_above:
            rest, above, count = above, rest, n_above
        elif k <= count - n_below:
            return pivot
        else:
            k -= count - n_below
            rest, below, count = below, rest, n_below
        place = (place * 1_103_515_245 + 12_345) & 0x7FFFFFFF  # so that no order of the values is a bad one every time
