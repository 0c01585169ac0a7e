"""Independent arms with Gaussian rewards."""

import math

from .._jit import jit
from ..parameters import real, vector
from ..types import Array
from ..verbs import Arms, arms, play
from .problem import Problem, problem


@problem("gaussian")
class Gaussian(Problem):
    """K independent arms with normal rewards.

    means: (K,) finite. sd: standard deviation of every reward, >= 0.
    """

    means: Array = vector()
    sd: float = real(default=1.0, least=0.0)


@arms.register(Gaussian)
def arms_gaussian(problem):
    return Arms(problem.means.size, rewards=(-math.inf, math.inf))


@play.register(Gaussian)
@jit
def play_gaussian(problem, context, action, rng):
    return problem.means[action] + problem.sd * rng.standard_normal()
