"""Linear rewards whose means spread evenly over [0, 1], so that a baseline's cumulative reward is worth guarding.

On the unit sphere in dimension d the means of random features crowd around 0 with standard deviation 1/sqrt(d). Here an arm is a
unit vector with mean m drawn uniformly from [0, 1]: x = m theta + sqrt(1 - m^2) u, u a random unit vector orthogonal to theta.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import jit
from ..core import checks
from ..core.fields import integer, real, scratch, vector
from ..core.types import Array, Stored
from ..core.verbs import Arms, Context
from .problem import Problem, problem


def spread_arms(number: int, theta: ArrayLike, rng: np.random.Generator) -> np.ndarray:
    """Unit features whose means under theta are uniform on [0, 1].

    Parameters
    ----------
    number : int >= 1
        How many.
    theta : (d,) array
        Of norm 1, d >= 2.
    rng : numpy.random.Generator
        What draws them.

    Returns
    -------
    (number, d) array
    """
    number, theta = checks.integer("number", number, least=1), unit_vector(theta)
    checks.fits_in_memory("number", number, 8 * theta.size)
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng = {checks.show(rng)} is not a numpy Generator; pass numpy.random.default_rng(seed).")
    means = rng.random(number)
    across = rng.standard_normal((number, theta.size))
    across -= np.outer(across @ theta, theta)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return means[:, None] * theta + np.sqrt(1 - means**2)[:, None] * across


def unit_vector(theta: ArrayLike) -> np.ndarray:
    theta = checks.vector("theta", theta)
    norm = float(np.linalg.norm(theta))
    if theta.size < 2 or abs(norm - 1.0) > 1e-9:
        what = f"{checks.show(theta)} has length {theta.size} and norm {norm:.12g}"
        raise ValueError(f"theta = {what}, but needs length 2 or more and norm 1; divide it by its norm.")
    return theta


@problem("contextual-spread")
class ContextualSpread(Problem):
    """K unit features drawn anew every round with means uniform on [0, 1]; the round's baseline is its arm of a given rank.

    Parameters
    ----------
    theta : (d,) array
        Of norm 1, d >= 2.
    arms : int >= 1
        K, how many.
    noise : float >= 0
        Standard deviation of Gaussian rewards.
    baseline_rank : int >= 1
        Rank 1 is the best arm of the round; every Context names that arm and its mean.
    """

    theta: Array = vector()
    arms: int = integer(default=10, least=1, kept=False)
    noise: float = real(default=0.1, least=0.0)
    baseline_rank: int = integer(default=3, least=1)
    features: np.ndarray = scratch()  # (K, d) this round's arms
    means: np.ndarray = scratch()  # (K,) this round's means
    best: np.ndarray = scratch()  # (1,) their maximum

    @staticmethod
    def complete(stored: Stored) -> Stored:
        theta, count = unit_vector(stored["theta"]), stored.pop("arms")
        checks.fits_in_memory("arms", count, 8 * theta.size)
        checks.integer("baseline_rank", stored["baseline_rank"], least=1, most=count)
        return stored | {"features": np.zeros((count, theta.size)), "means": np.zeros(count), "best": np.zeros(1)}

    def describe(self):
        return Arms(self.means.size, dimension=self.theta.size)

    @jit
    def observe(self, t, rng):
        K, d = self.features.shape
        features, theta = self.features, self.theta
        self.best[0] = -math.inf
        for k in range(K):
            m, inner, squared = rng.random(), 0.0, 0.0
            for i in range(d):
                features[k, i] = rng.standard_normal()
                inner += features[k, i] * theta[i]
            for i in range(d):
                features[k, i] -= inner * theta[i]
                squared += features[k, i] * features[k, i]
            scale = math.sqrt((1.0 - m * m) / squared)
            for i in range(d):
                features[k, i] = m * theta[i] + scale * features[k, i]
            self.means[k] = m
            self.best[0] = max(self.best[0], m)
        baseline = arm_of_rank(self.means, self.baseline_rank)
        return Context(features, None, baseline, self.means[baseline])

    @jit
    def play(self, context, action, rng):
        return self.means[action] + self.noise * rng.standard_normal()


@jit
def arm_of_rank(means, rank):
    """Arm with exactly rank - 1 arms before it, in the order of falling means and rising indices."""
    for k in range(means.shape[0]):
        before = 1
        for j in range(means.shape[0]):
            if means[j] > means[k] or (means[j] == means[k] and j < k):
                before += 1
        if before == rank:
            return k
    return 0
