"""Sets of arms with linear rewards: the learner sees the reward of every arm of the set it plays."""

from typing import Any, NamedTuple

import numpy as np

from .. import checks
from ..solvers.oracles import choose, set_size
from ..verbs import Arms, Context, arms, mean, observe, play, private, regret
from .rewards import RANGES, REWARDS, check_means


class _SemiBandit(NamedTuple):
    features: np.ndarray  # (N, d)
    theta: np.ndarray  # (d,)
    oracle: Any
    noise: float
    rewards: int
    shown: int  # arms drawn anew each round; 0: all, always
    most: int  # arms of the largest set
    means: np.ndarray  # (shown or N,) of this round
    best: np.ndarray  # (1,) value of this round's best set


class SemiBandit(_SemiBandit):
    """N arms with features, of which an oracle admits sets; the reward of arm i has mean arms[i] @ theta.

    arms: (N, d). theta: (d,). oracle: one of `tightrope.oracles` without blocks, or a callable. noise: standard deviation of
    Gaussian rewards. rewards: "gaussian", "bernoulli" (0/1) or "sign" (-1/1), with means in range. shown: draw this many of the
    arms anew each round, so that features change; default all, always.
    """

    __slots__ = ()
    COMPILED = False

    def __new__(
        cls, arms: Any, theta: Any, oracle: Any, noise: float = 1.0, rewards: str = "gaussian", shown: int | None = None
    ) -> "SemiBandit":
        features = checks.matrix("arms", arms)
        theta = checks.vector("theta", theta, length=features.shape[1], source="the number of columns of arms")
        code = checks.choice("rewards", rewards, REWARDS)
        means = features @ theta
        check_means(means, code)
        if not callable(oracle) or getattr(oracle, "blocks", 1) != 1:
            raise ValueError(f"oracle = {checks.show(oracle)} does not choose sets of arms; pass one such as oracles.TopK(5).")
        N = features.shape[0]
        count = 0 if shown is None else checks.integer("shown", shown, least=1, most=N)
        most = set_size(oracle, count or N)
        if most > (count or N):
            raise ValueError(f"oracle = {oracle!r} chooses more than the {count or N} arms of a round; lower k.")
        noise = checks.real("noise", noise, least=0.0)
        best = 0.0 if count else value(oracle, means)
        return super().__new__(cls, features, theta, oracle, noise, code, count, most, means[: count or N].copy(), np.array([best]))

    def __reduce__(self) -> Any:
        return type(self)._make, (tuple(self),)


def value(oracle: Any, means: np.ndarray) -> float:
    """Total mean of the best set."""
    return float(means[choose(oracle, means, None)].sum())


@private.register(SemiBandit)
def private_semibandit(problem):
    return problem._replace(means=problem.means.copy(), best=problem.best.copy())


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
