"""A list that is looked at from the top until something in it succeeds: the first click, the first answer, the first part that fits."""

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..core.fields import Matrix, Vector, derived, unchecked, vector
from ..core.registry import recipe
from ..core.types import Array, Oracle, Stored
from ..core.verbs import Arms, Context
from ..solvers.oracles import Partition, TopK, choose
from .problem import Problem, problem


@problem(compiled=False)
class Cascade(Problem):
    """N arms of which an ordered set is played; rewards are 0 up to the first success, which is 1, and what stands behind it is not seen.

    Regret is against the set with the best chance, 1 - product of (1 - mean). SafeSets promises sums of rewards, which are not what is
    paid here.

    Parameters
    ----------
    means : (N,) array
        Chance of each arm to succeed when it is looked at, in [0, 1], independent of the others.
    oracle : oracle of tr.oracles, or callable
        `oracles.TopK` or `oracles.Partition`, whose best sets for sums have the best chance of a success too; they list arms by
        descending score.
    arms : (N, d) array
        Features for policies that use some; default none.

    References
    ----------
    Kveton, Szepesvári, Wen, Ashkan 2015, "Cascading bandits: learning to rank in the cascade model".
    """

    means: Array = vector(least=0.0, most=1.0)
    oracle: Oracle = unchecked(kept=True)
    arms: ArrayLike | None = unchecked(default=None, schema=Matrix | None, words="rows of numbers, or None")
    features: np.ndarray = derived()  # (N, d); (N, 0): none
    best: float = derived()  # the best chance of a success

    @staticmethod
    def complete(stored: Stored) -> Stored:
        means, oracle, features = stored["means"], stored["oracle"], stored.pop("arms")
        N = means.size
        if not isinstance(oracle, TopK | Partition):
            raise ValueError(
                f"oracle = {checks.show(oracle)} does not choose sets for a cascade; pass oracles.TopK(k) or oracles.Partition."
            )
        if oracle.size > N:
            raise ValueError(f"oracle = {oracle!r} chooses more than the {N} arms; lower k.")
        features = np.zeros((N, 0)) if features is None else checks.matrix("arms", features, shape=(N, None))
        return stored | {"features": features, "best": chance(means[choose(oracle, means, None)])}

    def describe(self):
        N, d = self.features.shape
        return Arms(N, features=self.features if d else None, dimension=d, oracle=self.oracle, rewards=(0.0, 1.0))

    def observe(self, t, rng):
        return Context(None, None, None, None)

    def play(self, context, action, rng):
        # As many draws wherever it ends, so that policies stay in step.
        succeeds = rng.random(self.oracle.size)[: action.size] < self.means[action]
        looked_at = np.cumsum(succeeds) - succeeds == 0  # no success before
        return succeeds[looked_at] * 1.0

    def mean(self, context, arm):
        return self.means[arm]

    def regret(self, context, action):
        return self.best - chance(self.means[action])


@recipe("cascade")
def cascade_of_k(means: Vector, k: int, arms: Matrix | None = None) -> Cascade:
    """Lists of k arms: what a spec may ask for."""
    features: ArrayLike | None = arms
    return Cascade(means, TopK(k), features)


def chance(means: np.ndarray) -> float:
    return 1.0 - float(np.prod(1.0 - means))
