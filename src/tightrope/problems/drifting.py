"""Arms whose means change: in jumps, or along straight lines."""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import jit
from ..core import checks
from ..core.fields import Matrix, choice, derived, integer, matrix, real, scratch, unchecked
from ..core.types import Array, Given, Stored
from ..core.verbs import Arms, Context
from .problem import Problem, problem
from .rewards import RANGES, REWARDS, TOLERANCE, reward_kind


@problem("drifting")
class Drifting(Problem):
    """K arms whose means go through a list of stages; regret is against the best arm of the round.

    Parameters
    ----------
    path : (n, K) or (n, d) array
        Means of every stage; with arms, thetas.
    every : int >= 1
        Rounds from one stage to the next; the last one lasts.
    change : "jumps" or "lines"
        Means jump where a stage begins, or go in lines from one stage to the next.
    arms : (K, d) array
        Features, for linear policies; default none.
    noise : float >= 0
        Standard deviation of Gaussian rewards.
    rewards : "bernoulli", "gaussian" or "sign"
        "bernoulli" is 0 or 1 and needs means in [0, 1], "sign" is -1 or 1.
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
    def complete(stored: Stored) -> Stored:
        features: ArrayLike = stored.pop("arms")
        stages = stored["path"]
        if features is None:
            features = np.zeros((stages.shape[1], 0))
        else:
            features = checks.matrix("arms", features, shape=(None, stages.shape[1]))
            stages = np.ascontiguousarray(stages @ features.T)
        low, high = RANGES[stored["rewards"]]
        bad = np.argwhere((stages < low - TOLERANCE) | (stages > high + TOLERANCE))
        if bad.size:
            n, k = bad[0]
            kind = REWARDS[stored["rewards"]]
            raise ValueError(
                f"path gives arm {k} the mean {stages[n, k]:g} in stage {n}, but rewards = {kind!r} needs means in [{low:g}, {high:g}]."
            )
        return stored | {"features": features, "stages": stages, "means": stages[0].copy(), "best": np.array([stages[0].max()])}

    def describe(self):
        K, d = self.features.shape
        return Arms(K, features=self.features if d else None, dimension=d, rewards=RANGES[self.rewards])

    @jit
    def observe(self, t, rng):
        last = self.stages.shape[0] - 1
        stage = min(t // self.every, last)
        following = min(stage + 1, last)
        share = (t - stage * self.every) / self.every if self.change == 1 else 0.0
        best = -math.inf
        for k in range(self.means.shape[0]):
            here = self.stages[stage, k]
            self.means[k] = here + share * (self.stages[following, k] - here)
            best = max(best, self.means[k])
        self.best[0] = best
        return Context(None, None, None, None)
