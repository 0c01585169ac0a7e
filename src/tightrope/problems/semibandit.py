"""Sets of arms with linear rewards: the learner sees the reward of every arm of the set it plays."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..core.fields import Matrix, Vector, derived, matrix, real, scratch, unchecked, vector
from ..core.registry import recipe
from ..core.types import Array, Given, Oracle, Stored
from ..core.verbs import Arms, Context
from ..solvers.oracles import TopK, choose, set_size
from .problem import Problem, problem
from .rewards import RANGES, check_means, reward_kind


@problem(compiled=False)
class SemiBandit(Problem):
    """N arms with features, of which an oracle admits sets; the reward of arm i has mean arms[i] @ theta.

    Parameters
    ----------
    arms : (N, d) array
        Features.
    theta : (d,) array
        The unknown parameter.
    oracle : oracle of tr.oracles, or callable
        One of `tightrope.oracles` without blocks, or a callable, which is given copies and must answer with the set of largest total.
    noise : float >= 0
        Standard deviation of Gaussian rewards.
    rewards : "gaussian", "bernoulli" or "sign"
        "bernoulli" is 0 or 1, "sign" -1 or 1; means must be possible.
    shown : int >= 1
        Draw this many of the arms anew each round, so that features change; default all, always.
    """

    arms: ArrayLike = matrix(kept=False)
    theta: Array = vector()
    oracle: Oracle = unchecked(kept=True)
    noise: float = real(default=1.0, least=0.0)
    rewards: Given[Literal["gaussian", "bernoulli", "sign"], int] = reward_kind("gaussian", "bernoulli", "sign", default="gaussian")
    shown: Given[int | None, int] = unchecked(default=None, kept=True)  # arms drawn anew each round; 0: all, always
    features: np.ndarray = derived()  # (N, d)
    most: int = derived()  # arms of the largest set
    means: np.ndarray = scratch()  # (shown or N,) of this round
    best: np.ndarray = scratch()  # (1,) value of this round's best set

    @staticmethod
    def complete(stored: Stored) -> Stored:
        features, oracle, shown = stored.pop("arms"), stored["oracle"], stored["shown"]
        theta = checks.vector("theta", stored["theta"], length=features.shape[1], source="the number of columns of arms")
        means = features @ theta
        check_means(means, stored["rewards"])
        if not callable(oracle) or getattr(oracle, "blocks", 1) != 1:
            raise ValueError(f"oracle = {checks.show(oracle)} does not choose sets of arms; pass one such as oracles.TopK(5).")
        N = features.shape[0]
        count = 0 if shown is None else checks.integer("shown", shown, least=1, most=N)
        most = set_size(oracle, count or N)
        if most > (count or N):
            raise ValueError(f"oracle = {oracle!r} chooses more than the {count or N} arms of a round; lower k.")
        best = 0.0 if count else value(oracle, means)
        return stored | {"shown": count, "features": features, "most": most, "means": means[: count or N].copy(), "best": np.array([best])}

    def describe(self):
        fixed = None if self.shown else self.features
        return Arms(self.means.size, features=fixed, dimension=self.theta.size, oracle=self.oracle, rewards=RANGES[self.rewards])

    def observe(self, t, rng):
        if not self.shown:
            return Context(None, None, None, None)
        rows = self.features[rng.choice(self.features.shape[0], self.shown, replace=False)]
        self.means[:] = rows @ self.theta
        self.best[0] = value(self.oracle, self.means)
        return Context(rows, None, None, None)

    def play(self, context, action, rng):
        expected = self.means[action]
        # As many draws whatever the set, so that policies stay in step.
        if self.rewards == 0:
            return expected + self.noise * rng.standard_normal(self.most)[: expected.size]
        draws = rng.random(self.most)[: expected.size]
        return (draws < expected) * 1.0 if self.rewards == 1 else np.where(draws < 0.5 * (1.0 + expected), 1.0, -1.0)

    def mean(self, context, arm):
        return self.means[arm]

    def regret(self, context, action):
        return self.best[0] - self.means[action].sum()


@recipe("semi-bandit")
def semibandit_of_k(
    arms: Matrix, theta: Vector, k: int, noise: float = 1.0,
    rewards: Literal["gaussian", "bernoulli", "sign"] = "gaussian", shown: int | None = None,
) -> SemiBandit:  # fmt: skip
    """Sets of k arms: what a spec may ask for."""
    return SemiBandit(arms, theta, TopK(k), noise=noise, rewards=rewards, shown=shown)


def value(oracle: Oracle, means: np.ndarray) -> float:
    return float(means[choose(oracle, means, None)].sum())
