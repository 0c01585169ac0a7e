"""Arms whose means change: in jumps, or along straight lines."""

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from .._jit import jit
from ..parameters import Matrix, choice, derived, integer, matrix, real, scratch, unchecked
from ..types import Array, Given, Stored
from ..verbs import Arms, Context, arms, observe
from .problem import Problem, problem
from .rewards import RANGES, REWARDS, TOLERANCE, reward_kind


@problem("drifting")
class Drifting(Problem):
    """K arms whose means go through a list of stages; regret is against the best arm of the round.

    path: (n, K) means of every stage, or with arms (n, d) thetas. every: rounds from one stage to the next, >= 1; the last one lasts.
    change: "jumps" at its beginning, or "lines" from one stage to the next. arms: (K, d) features, for linear policies; default none.
    noise: standard deviation of Gaussian rewards. rewards: "bernoulli" (0/1, means in [0, 1]), "gaussian", or "sign" (-1/1).
    """

    path: Array = matrix()
    every: int = integer(least=1)
    change: Given[Literal["jumps", "lines"], int] = choice("jumps", "lines", default="jumps")
    arms: ArrayLike | None = unchecked(default=None, schema=Matrix | None, words="rows of numbers, or None")
    noise: float = real(default=1.0, least=0.0)
    rewards: Given[Literal["bernoulli", "gaussian", "sign"], int] = reward_kind("bernoulli", "gaussian", "sign", default="bernoulli")
    features: np.ndarray = derived()  # (K, d); (K, 0): none
    stages: np.ndarray = derived()  # (n, K) means
    means: np.ndarray = scratch()  # (K,) of this round
    best: np.ndarray = scratch()  # (1,) their maximum

    @staticmethod
    def complete(given: Stored) -> Stored:
        features: Any = given.pop("arms")
        stages = given["path"]
        if features is None:
            features = np.zeros((stages.shape[1], 0))
        else:
            features = checks.matrix("arms", features, shape=(None, stages.shape[1]))
            stages = np.ascontiguousarray(stages @ features.T)
        low, high = RANGES[given["rewards"]]
        bad = np.argwhere((stages < low - TOLERANCE) | (stages > high + TOLERANCE))
        if bad.size:
            n, k = bad[0]
            kind = REWARDS[given["rewards"]]
            raise ValueError(
                f"path gives arm {k} the mean {stages[n, k]:g} in stage {n}, but rewards = {kind!r} needs means in [{low:g}, {high:g}]."
            )
        return given | {"features": features, "stages": stages, "means": stages[0].copy(), "best": np.array([stages[0].max()])}


@arms.register(Drifting)
def arms_drifting(problem):
    K, d = problem.features.shape
    return Arms(K, features=problem.features if d else None, dimension=d, rewards=RANGES[problem.rewards])


@observe.register(Drifting)
@jit
def observe_drifting(problem, t, rng):
    last = problem.stages.shape[0] - 1
    stage = min(t // problem.every, last)
    following = min(stage + 1, last)
    share = (t - stage * problem.every) / problem.every if problem.change == 1 else 0.0
    best = -math.inf
    for k in range(problem.means.shape[0]):
        here = problem.stages[stage, k]
        problem.means[k] = here + share * (problem.stages[following, k] - here)
        best = max(best, problem.means[k])
    problem.best[0] = best
    return Context(None, None, None, None)
