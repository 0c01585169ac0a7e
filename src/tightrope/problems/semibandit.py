"""Sets of arms with linear rewards: the learner sees the reward of every arm of the set it plays."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..parameters import Matrix, Vector, derived, matrix, real, scratch, unchecked, vector
from ..registry import recipe
from ..solvers.oracles import TopK, choose, set_size
from ..types import Array, Given, Oracle, Stored
from ..verbs import Arms, Context, arms, mean, observe, play, regret
from .problem import Problem, problem
from .rewards import RANGES, check_means, reward_kind


@problem(compiled=False)
class SemiBandit(Problem):
    """N arms with features, of which an oracle admits sets; the reward of arm i has mean arms[i] @ theta.

    arms: (N, d). theta: (d,). oracle: one of `tightrope.oracles` without blocks, or a callable. noise: standard deviation of
    Gaussian rewards. rewards: "gaussian", "bernoulli" (0/1) or "sign" (-1/1), with means in range. shown: draw this many of the
    arms anew each round, so that features change; default all, always.
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
    def complete(given: Stored) -> Stored:
        features, oracle, shown = given.pop("arms"), given["oracle"], given["shown"]
        theta = checks.vector("theta", given["theta"], length=features.shape[1], source="the number of columns of arms")
        means = features @ theta
        check_means(means, given["rewards"])
        if not callable(oracle) or getattr(oracle, "blocks", 1) != 1:
            raise ValueError(f"oracle = {checks.show(oracle)} does not choose sets of arms; pass one such as oracles.TopK(5).")
        N = features.shape[0]
        count = 0 if shown is None else checks.integer("shown", shown, least=1, most=N)
        most = set_size(oracle, count or N)
        if most > (count or N):
            raise ValueError(f"oracle = {oracle!r} chooses more than the {count or N} arms of a round; lower k.")
        best = 0.0 if count else value(oracle, means)
        return given | {"shown": count, "features": features, "most": most, "means": means[: count or N].copy(), "best": np.array([best])}


@recipe("semi-bandit")
def semibandit_of_k(
    arms: Matrix, theta: Vector, k: int, noise: float = 1.0,
    rewards: Literal["gaussian", "bernoulli", "sign"] = "gaussian", shown: int | None = None,
) -> SemiBandit:  # fmt: skip
    """Sets of k arms: what a spec may ask for."""
    return SemiBandit(arms, theta, TopK(k), noise=noise, rewards=rewards, shown=shown)


def value(oracle: Oracle, means: np.ndarray) -> float:
    """Total mean of the best set."""
    return float(means[choose(oracle, means, None)].sum())


@arms.register(SemiBandit)
def arms_semibandit(problem):
    fixed = None if problem.shown else problem.features
    return Arms(problem.means.size, features=fixed, dimension=problem.theta.size, oracle=problem.oracle, rewards=RANGES[problem.rewards])


@observe.register(SemiBandit)
def observe_semibandit(problem, t, rng):
    if not problem.shown:
        return Context(None, None, None, None)
    rows = problem.features[rng.choice(problem.features.shape[0], problem.shown, replace=False)]
    problem.means[:] = rows @ problem.theta
    problem.best[0] = value(problem.oracle, problem.means)
    return Context(rows, None, None, None)


@play.register(SemiBandit)
def play_semibandit(problem, context, action, rng):
    expected = problem.means[action]
    # As many draws whatever the set, so that policies stay in step.
    if problem.rewards == 0:
        return expected + problem.noise * rng.standard_normal(problem.most)[: expected.size]
    draws = rng.random(problem.most)[: expected.size]
    return (draws < expected) * 1.0 if problem.rewards == 1 else np.where(draws < 0.5 * (1.0 + expected), 1.0, -1.0)


@mean.register(SemiBandit)
def mean_semibandit(problem, context, arm):
    return problem.means[arm]


@regret.register(SemiBandit)
def regret_semibandit(problem, context, action):
    return problem.best[0] - problem.means[action].sum()
