"""Distributions of a reward with a given mean: Gaussian, 0 or 1, -1 or 1."""

import math
from typing import Literal

import numpy as np

from ..compiled.kernels import lean
from ..core import checks
from ..core.fields import Declared, Field

REWARDS = ("gaussian", "bernoulli", "sign")
RANGES = ((-math.inf, math.inf), (0.0, 1.0), (-1.0, 1.0))
TOLERANCE = 1e-12  # by how much rounding may carry a mean out of its range


def reward_kind(*kinds: str, default: str | None = None, kw_only: bool = False) -> Declared:
    """Field: one of these kinds of reward, the first where none is given (stored as its place in REWARDS)."""
    return Field(
        default or kinds[0], " or ".join(map(repr, kinds)), lambda name, value: REWARDS.index(kinds[checks.choice(name, value, kinds)]),
        lambda stored: REWARDS[stored], schema=Literal[kinds], named=kw_only,
    )  # fmt: skip


@lean
def draw_reward(rewards, expected, noise, rng):
    """One reward of a given mean: Gaussian (0), 0 or 1 (1), -1 or 1 (2)."""
    if rewards == 0:
        return expected + noise * rng.standard_normal()
    if rewards == 1:
        return 1.0 if rng.random() < expected else 0.0
    return 1.0 if rng.random() < 0.5 * (1.0 + expected) else -1.0


def check_means(means: np.ndarray, rewards: int) -> None:
    """Refuse means `arms @ theta` that a 0/1 or -1/1 reward cannot have."""
    if rewards == 0:
        return
    low = RANGES[rewards][0]
    bad = (means < low - TOLERANCE) | (means > 1.0 + TOLERANCE)
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(
            f"arms @ theta gives arm {k} the mean {means[k]:g}, but rewards = {REWARDS[rewards]!r} needs means in [{low:g}, 1]."
        )
