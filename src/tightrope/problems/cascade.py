"""A list that is looked at from the top until something in it succeeds: the first click, the first answer, the first part that fits."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..parameters import Matrix, Vector, derived, unchecked, vector
from ..registry import recipe
from ..solvers.oracles import Partition, TopK, choose
from ..types import Array, Oracle, Stored
from ..verbs import Arms, Context, arms, mean, observe, play, regret
from .problem import Problem, problem


@problem(compiled=False)
class Cascade(Problem):
    """N arms of which an ordered set is played; rewards are 0 up to the first success, which is 1, and what stands behind it is not seen.

    means: (N,) chance of each arm to succeed when it is looked at, in [0, 1], independent of the others. oracle: `oracles.TopK` or
    `oracles.Partition`, whose best sets for sums have the best chance of a success too; they list arms by descending score. arms: (N, d)
    features for policies that use some; default none.
    Regret is against the set with the best chance, 1 - product of (1 - mean). SafeSets promises sums of rewards, which are not what is paid
    here.
    """

    means: Array = vector(least=0.0, most=1.0)
    oracle: Oracle = unchecked(kept=True)
    arms: ArrayLike | None = unchecked(default=None, schema=Matrix | None, words="rows of numbers, or None")
    features: np.ndarray = derived()  # (N, d); (N, 0): none
    best: float = derived()  # the best chance of a success

    @staticmethod
    def complete(given: Stored) -> Stored:
        means, oracle, features = given["means"], given["oracle"], given.pop("arms")
        N = means.size
        if not isinstance(oracle, TopK | Partition):
            raise ValueError(
                f"oracle = {checks.show(oracle)} does not choose sets for a cascade; pass oracles.TopK(k) or oracles.Partition."
            )
        if oracle.size > N:
            raise ValueError(f"oracle = {oracle!r} chooses more than the {N} arms; lower k.")
        features = np.zeros((N, 0)) if features is None else checks.matrix("arms", features, shape=(N, None))
        return given | {"features": features, "best": chance(means[choose(oracle, means, None)])}


@recipe("cascade")
def cascade_of_k(means: Vector, k: int, arms: Matrix | None = None) -> Cascade:
    """Lists of k arms: what a spec may ask for."""
    features: Any = arms
    return Cascade(means, TopK(k), features)


def chance(means: np.ndarray) -> float:
    """Of at least one success."""
    return 1.0 - float(np.prod(1.0 - means))


@arms.register(Cascade)
def arms_cascade(problem):
    N, d = problem.features.shape
    return Arms(N, features=problem.features if d else None, dimension=d, oracle=problem.oracle, rewards=(0.0, 1.0))


@observe.register(Cascade)
def observe_cascade(problem, t, rng):
    return Context(None, None, None, None)


@play.register(Cascade)
def play_cascade(problem, context, action, rng):
    # As many draws wherever it ends, so that policies stay in step.
    succeeds = rng.random(problem.oracle.size)[: action.size] < problem.means[action]
    looked_at = np.cumsum(succeeds) - succeeds == 0  # no success before
    return succeeds[looked_at] * 1.0


@mean.register(Cascade)
def mean_cascade(problem, context, arm):
    return problem.means[arm]


@regret.register(Cascade)
def regret_cascade(problem, context, action):
    return problem.best - chance(problem.means[action])
