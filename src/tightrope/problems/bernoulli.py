"""Independent arms that pay 0 or 1."""

from ..compiled.kernels import jit
from ..core.fields import vector
from ..core.types import Array
from ..core.verbs import Arms
from .problem import Problem, problem


@problem("bernoulli")
class Bernoulli(Problem):
    """K independent arms with rewards 0 or 1.

    Parameters
    ----------
    means : (K,) array
        Probabilities of a reward, each in [0, 1].
    """

    means: Array = vector(least=0.0, most=1.0)

    def describe(self):
        return Arms(self.means.size, rewards=(0.0, 1.0))

    @jit
    def play(self, context, action, rng):
        return 1.0 if rng.random() < self.means[action] else 0.0
