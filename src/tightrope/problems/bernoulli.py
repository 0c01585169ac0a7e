"""Independent arms that pay 0 or 1."""

from typing import Any, NamedTuple

import numpy as np

from .. import checks
from .._jit import jit
from ..verbs import Arms, Context, arms, mean, observe, play, regret


class _Bernoulli(NamedTuple):
    means: np.ndarray  # (K,)
    best: float


class Bernoulli(_Bernoulli):
    """K independent arms with rewards 0 or 1.

    means: (K,) probabilities of a reward, each in [0, 1].
    """

    __slots__ = ()

    def __new__(cls, means: Any) -> "Bernoulli":
        means = checks.vector("means", means, least=0.0, most=1.0)
        return super().__new__(cls, means, float(means.max()))

    def __reduce__(self) -> Any:
        return type(self)._make, (tuple(self),)


@arms.register(Bernoulli)
def arms_bernoulli(problem):
    return Arms(problem.means.size, rewards=(0.0, 1.0))


@observe.register(Bernoulli)
@jit
def observe_bernoulli(problem, t, rng):
    return Context(None, None, None, None)


@play.register(Bernoulli)
@jit
def play_bernoulli(problem, context, action, rng):
    return 1.0 if rng.random() < problem.means[action] else 0.0


@mean.register(Bernoulli)
@jit
def mean_bernoulli(problem, context, arm):
    return problem.means[arm]


@regret.register(Bernoulli)
@jit
def regret_bernoulli(problem, context, action):
    return problem.best - problem.means[action]
