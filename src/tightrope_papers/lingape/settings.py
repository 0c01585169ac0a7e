"""The problems and settings of the paper's section 7."""

import math

import numpy as np

from tightrope.core.types import Arguments
from tightrope.problems.structured import Linear

from ..experiment import generator

DELTA, LAM, NOISE, THETA_BOUND = 0.05, 1.0, 1.0, 2.0
ANGLE = 0.01
GAP = 2.0 * (1.0 - math.cos(ANGLE))  # Figure 1's smallest gap, 1.0e-4
SETTINGS: Arguments = {"delta": DELTA, "lam": LAM, "noise": NOISE}


def near_parallel(d: int) -> Linear:
    """Figure 1: the canonical vectors and (cos .01, sin .01, 0, ..), theta = (2, 0, ..), N(0, 1) noise."""
    arm = np.zeros(d)
    arm[0], arm[1] = math.cos(ANGLE), math.sin(ANGLE)
    return Linear(np.vstack([np.eye(d), arm]), 2.0 * np.eye(d)[0], noise=NOISE)


def canonical(gap: float) -> Linear:
    """Figure 2: five canonical vectors, theta = (gap, 0, ..)."""
    return Linear(np.eye(5), gap * np.eye(5)[0], noise=NOISE)


def user_article(K: int, seed: int, least_gap: float = 0.05) -> Linear:
    """Figure 3's stand-in: 36 features, Kronecker products of six user and six article features, +1/-1 rewards.

    As in the log, each side is a constant 1 and five memberships that add up to 1. theta is Gaussian, scaled so that the largest
    mean of the arms is 1/2 in size; drawn again until the best arm leads by least_gap.
    """
    rng = generator(seed, K, 36)
    while True:
        sides = [np.hstack([np.ones((K, 1)), rng.dirichlet(np.full(5, 0.5), size=K)]) for _ in range(2)]
        X = np.stack([np.kron(article, user) for article, user in zip(*sides, strict=True)])
        theta = rng.standard_normal(36)
        theta *= 0.5 / np.abs(X @ theta).max()
        means = np.sort(X @ theta)
        if means[-1] - means[-2] >= least_gap:
            return Linear(X, theta, rewards="sign")
