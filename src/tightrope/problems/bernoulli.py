"""Independent arms that pay 0 or 1."""

from .._jit import jit
from ..parameters import vector
from ..types import Array
from ..verbs import Arms, arms, play
from .problem import Problem, problem


@problem("bernoulli")
class Bernoulli(Problem):
    """K independent arms with rewards 0 or 1.

    means: (K,) probabilities of a reward, each in [0, 1].
    """

    means: Array = vector(least=0.0, most=1.0)


@arms.register(Bernoulli)
def arms_bernoulli(problem):
    return Arms(problem.means.size, rewards=(0.0, 1.0))


@play.register(Bernoulli)
@jit
def play_bernoulli(problem, context, action, rng):
    return 1.0 if rng.random() < problem.means[action] else 0.0
