"""Linear rewards: the mean of an arm is the inner product of its features with an unknown theta."""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import jit
from ..core import checks
from ..core.fields import derived, integer, matrix, real, scratch, vector
from ..core.types import Array, Given, Stored
from ..core.verbs import Arms, Context
from .problem import Problem, problem
from .rewards import RANGES, TOLERANCE, check_means, reward_kind


@problem("linear")
class Linear(Problem):
    """K fixed arms with features; the mean of arm k is features[k] @ theta.

    Parameters
    ----------
    arms : (K, d) array
        Features.
    theta : (d,) array
        The unknown parameter.
    noise : float >= 0
        Standard deviation of Gaussian rewards.
    rewards : "gaussian", "bernoulli" or "sign"
        "bernoulli" is 0 or 1 and needs means in [0, 1], "sign" is -1 or 1 and needs means in [-1, 1].
    """

    arms: ArrayLike = matrix(kept=False)
    theta: Array = vector()
    noise: float = real(default=1.0, least=0.0)
    rewards: Given[Literal["gaussian", "bernoulli", "sign"], int] = reward_kind("gaussian", "bernoulli", "sign", default="gaussian")
    features: np.ndarray = derived()  # (K, d)
    means: np.ndarray = derived()  # (K,)

    @staticmethod
    def complete(stored: Stored) -> Stored:
        features = stored.pop("arms")
        theta = checks.vector("theta", stored["theta"], length=features.shape[1], source="the number of columns of arms")
        means = features @ theta
        check_means(means, stored["rewards"])
        return stored | {"features": features, "means": means}

    def describe(self):
        return Arms(self.means.size, features=self.features, dimension=self.theta.size, rewards=RANGES[self.rewards])


@problem("contextual-linear")
class ContextualLinear(Problem):
    """K arms whose features are drawn anew every round, uniformly from the unit sphere.

    "bernoulli" is not offered: means on the whole sphere are negative half of the time.

    Parameters
    ----------
    theta : (d,) array
        The unknown parameter.
    arms : int >= 1
        K, how many.
    noise : float >= 0
        Standard deviation of Gaussian rewards.
    rewards : "gaussian" or "sign"
        "sign" is -1 or 1 and needs ||theta|| <= 1.
    """

    theta: Array = vector()
    arms: int = integer(default=10, least=1, kept=False)
    noise: float = real(default=1.0, least=0.0)
    rewards: Given[Literal["gaussian", "sign"], int] = reward_kind("gaussian", "sign", default="gaussian")
    features: np.ndarray = scratch()  # (K, d) this round's arms
    means: np.ndarray = scratch()  # (K,) this round's means
    best: np.ndarray = scratch()  # (1,) their maximum

    @staticmethod
    def complete(stored: Stored) -> Stored:
        theta, count = stored["theta"], stored.pop("arms")
        checks.fits_in_memory("arms", count, 8 * theta.size)
        norm = float(np.linalg.norm(theta))
        if stored["rewards"] and norm > 1.0 + TOLERANCE:
            raise ValueError(f"theta has norm {norm:g}, but rewards = 'sign' needs means in [-1, 1], that is a norm in [0, 1].")
        return stored | {"features": np.zeros((count, theta.size)), "means": np.zeros(count), "best": np.zeros(1)}

    def describe(self):
        return Arms(self.means.size, dimension=self.theta.size, rewards=RANGES[self.rewards])

    @jit
    def observe(self, t, rng):
        self.best[0] = -math.inf
        for k in range(self.features.shape[0]):
            squared, inner = 0.0, 0.0
            for i in range(self.theta.shape[0]):
                value = rng.standard_normal()
                self.features[k, i] = value
                squared += value * value
                inner += value * self.theta[i]
            norm = math.sqrt(squared)
            for i in range(self.theta.shape[0]):
                self.features[k, i] /= norm
            self.means[k] = inner / norm
            self.best[0] = max(self.best[0], self.means[k])
        return Context(self.features, None, None, None)
