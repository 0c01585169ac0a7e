"""Independent arms with Gaussian rewards."""

import math
from typing import Any, NamedTuple

import numpy as np

from .. import checks
from .._jit import jit
from ..verbs import Arms, Context, arms, mean, observe, play, regret


class _Gaussian(NamedTuple):
    means: np.ndarray  # (K,)
    sd: float
    best: float


class Gaussian(_Gaussian):
    """K independent arms with normal rewards.

    means: (K,) finite. sd: standard deviation of every reward, >= 0.
    """

    __slots__ = ()

    def __new__(cls, means: Any, sd: float = 1.0) -> "Gaussian":
        means = checks.vector("means", means)
        return super().__new__(cls, means, checks.real("sd", sd, least=0.0), float(means.max()))

    def __reduce__(self) -> Any:
        return type(self)._make, (tuple(self),)


@arms.register(Gaussian)
def arms_gaussian(problem):
    return Arms(problem.means.size, rewards=(-math.inf, math.inf))


@observe.register(Gaussian)
@jit
def observe_gaussian(problem, t, rng):
    return Context(None, None, None, None)


@play.register(Gaussian)
@jit
def play_gaussian(problem, context, action, rng):
    return problem.means[action] + problem.sd * rng.standard_normal()


@mean.register(Gaussian)
@jit
def mean_gaussian(problem, context, arm):
    return problem.means[arm]


@regret.register(Gaussian)
@jit
def regret_gaussian(problem, context, action):
    return problem.best - problem.means[action]
