"""Linear rewards: the mean of an arm is the inner product of its features with an unknown theta."""

import math
from typing import Any, NamedTuple

import numpy as np

from .. import checks
from .._jit import jit
from ..verbs import Arms, Context, arms, mean, observe, play, private, regret
from .rewards import RANGES, REWARDS, TOLERANCE, check_means, draw_reward


class _Linear(NamedTuple):
    features: np.ndarray  # (K, d)
    theta: np.ndarray  # (d,)
    noise: float
    rewards: int
    means: np.ndarray  # (K,)
    best: float


class Linear(_Linear):
    """K fixed arms with features; the mean of arm k is features[k] @ theta.

    arms: (K, d). theta: (d,). noise: standard deviation of Gaussian rewards, >= 0. rewards: "gaussian", "bernoulli" (0/1, means
    in [0, 1]) or "sign" (-1/1, means in [-1, 1]).
    """

    __slots__ = ()

    def __new__(cls, arms: Any, theta: Any, noise: float = 1.0, rewards: str = "gaussian") -> "Linear":
        features = checks.matrix("arms", arms)
        theta = checks.vector("theta", theta, length=features.shape[1], source="the number of columns of arms")
        code = checks.choice("rewards", rewards, REWARDS)
        means = features @ theta
        check_means(means, code)
        return super().__new__(cls, features, theta, checks.real("noise", noise, least=0.0), code, means, float(means.max()))

    def __reduce__(self) -> Any:
        return type(self)._make, (tuple(self),)


@arms.register(Linear)
def arms_linear(problem):
    return Arms(problem.means.size, features=problem.features, dimension=problem.theta.size, rewards=RANGES[problem.rewards])


@observe.register(Linear)
@jit
def observe_linear(problem, t, rng):
    return Context(None, None, None, None)


@play.register(Linear)
@jit
def play_linear(problem, context, action, rng):
    return draw_reward(problem.rewards, problem.means[action], problem.noise, rng)


@mean.register(Linear)
@jit
def mean_linear(problem, context, arm):
    return problem.means[arm]


@regret.register(Linear)
@jit
def regret_linear(problem, context, action):
    return problem.best - problem.means[action]


class _ContextualLinear(NamedTuple):
    theta: np.ndarray  # (d,)
    noise: float
    rewards: int
    features: np.ndarray  # (K, d) this round's arms
    means: np.ndarray  # (K,) this round's means
    best: np.ndarray  # (1,) their maximum


class ContextualLinear(_ContextualLinear):
    """K arms whose features are drawn anew every round, uniformly from the unit sphere.

    theta: (d,). arms: K. noise: standard deviation of Gaussian rewards. rewards: "gaussian", or "sign" (-1/1; ||theta|| <= 1).
    "bernoulli" is not offered: means on the whole sphere are negative half of the time.
    """

    __slots__ = ()

    def __new__(cls, theta: Any, arms: int = 10, noise: float = 1.0, rewards: str = "gaussian") -> "ContextualLinear":
        theta = checks.vector("theta", theta)
        count = checks.integer("arms", arms, least=1)
        checks.fits_in_memory("arms", count, 8 * theta.size)
        code = checks.choice("rewards", rewards, ("gaussian", "sign"))
        norm = float(np.linalg.norm(theta))
        if code and norm > 1.0 + TOLERANCE:
            raise ValueError(f"theta has norm {norm:g}, but rewards = 'sign' needs means in [-1, 1], that is a norm in [0, 1].")
        return super().__new__(
            cls, theta, checks.real("noise", noise, least=0.0), 2 * code, np.zeros((count, theta.size)), np.zeros(count), np.zeros(1)
        )

    def __reduce__(self) -> Any:
        return type(self)._make, (tuple(self),)


@private.register(ContextualLinear)
def private_contextuallinear(problem):
    return problem._replace(features=problem.features.copy(), means=problem.means.copy(), best=problem.best.copy())


@arms.register(ContextualLinear)
def arms_contextuallinear(problem):
    return Arms(problem.means.size, dimension=problem.theta.size, rewards=RANGES[problem.rewards])


@observe.register(ContextualLinear)
@jit
def observe_contextuallinear(problem, t, rng):
    problem.best[0] = -math.inf
    for k in range(problem.features.shape[0]):
        squared, inner = 0.0, 0.0
        for i in range(problem.theta.shape[0]):
            value = rng.standard_normal()
            problem.features[k, i] = value
            squared += value * value
            inner += value * problem.theta[i]
        norm = math.sqrt(squared)
        for i in range(problem.theta.shape[0]):
            problem.features[k, i] /= norm
        problem.means[k] = inner / norm
        problem.best[0] = max(problem.best[0], problem.means[k])
    return Context(problem.features, None, None, None)


@play.register(ContextualLinear)
@jit
def play_contextuallinear(problem, context, action, rng):
    return draw_reward(problem.rewards, problem.means[action], problem.noise, rng)


@mean.register(ContextualLinear)
@jit
def mean_contextuallinear(problem, context, arm):
    return problem.means[arm]


@regret.register(ContextualLinear)
@jit
def regret_contextuallinear(problem, context, action):
    return problem.best[0] - problem.means[action]
