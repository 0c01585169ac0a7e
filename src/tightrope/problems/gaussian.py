"""Independent arms with Gaussian rewards."""

import math

from ..compiled.kernels import jit
from ..core.fields import real, vector
from ..core.types import Array
from ..core.verbs import Arms
from .problem import Problem, problem


@problem("gaussian")
class Gaussian(Problem):
    """K independent arms with normal rewards.

    Parameters
    ----------
    means : (K,) array
        Means of the rewards, finite.
    sd : float >= 0
        Standard deviation of every reward.
    """

    means: Array = vector()
    sd: float = real(default=1.0, least=0.0)

    def describe(self):
        return Arms(self.means.size, rewards=(-math.inf, math.inf))

    @jit
    def play(self, context, action, rng):
        return self.means[action] + self.sd * rng.standard_normal()
