"""Sending promotions: each round some users appear, and every promotion goes to k of them, at most one promotion a user."""

from collections.abc import Sequence

import numpy as np

from .. import checks
from ..parameters import derived, matrix, scratch, unchecked
from ..solvers import oracles
from ..types import Array, Given, Stored
from ..verbs import Arms, Context, arms, mean, observe, play, regret
from .problem import Problem, problem


@problem("promotions", compiled=False)
class Promotions(Problem):
    """U users with features and a known answer to each of M promotions, such as a rating; the learner sees only those it sends.

    features: (U, d). rewards: (U, M). k: users per promotion and round, or M of them. shown: users drawn each round, without replacement;
    default all. Arms are pairs: number user * M + promotion, user counted within the round. Rewards carry no noise of their own;
    regret is measured against the best assignment of the round's users.
    """

    features: Array = matrix()
    rewards: Array = matrix()
    k: int | Sequence[int] = unchecked(schema=int | list[int])
    shown: Given[int | None, int] = unchecked(default=None, schema=int | None, kept=True)  # users of a round
    oracle: oracles.Promotions = derived()
    users: np.ndarray = scratch()  # (shown,) who they are
    best: np.ndarray = scratch()  # (1,) value of this round's best assignment

    @staticmethod
    def complete(given: Stored) -> Stored:
        U, shown = given["features"].shape[0], given["shown"]
        rewards = checks.matrix("rewards", given["rewards"], shape=(U, None))
        oracle = oracles.Promotions(promotions=rewards.shape[1], k=given.pop("k"))
        count = U if shown is None else checks.integer("shown", shown, least=1, most=U)
        if oracle.size > count:
            raise ValueError(
                f"k = {checks.show(oracle.k)} users for each of {oracle.promotions} promotions need {oracle.size}, but shown = {count}."
            )
        return given | {"shown": count, "oracle": oracle, "users": np.arange(count), "best": np.zeros(1)}


@arms.register(Promotions)
def arms_promotions(problem):
    M = problem.rewards.shape[1]
    return Arms(problem.shown * M, dimension=problem.features.shape[1], oracle=problem.oracle, blocks=M)


@observe.register(Promotions)
def observe_promotions(problem, t, rng):
    problem.users[:] = rng.choice(problem.features.shape[0], problem.shown, replace=False)
    rewards = problem.rewards[problem.users]
    pairs = problem.oracle(rewards)
    problem.best[0] = rewards[pairs[:, 0], pairs[:, 1]].sum()
    return Context(problem.features[problem.users], None, None, None)


def answers(problem, arm):
    """Reward of the pairs."""
    users, promotions = np.divmod(arm, problem.rewards.shape[1])
    return problem.rewards[problem.users[users], promotions]


@play.register(Promotions)
def play_promotions(problem, context, action, rng):
    return answers(problem, action)


@mean.register(Promotions)
def mean_promotions(problem, context, arm):
    return answers(problem, arm)


@regret.register(Promotions)
def regret_promotions(problem, context, action):
    return problem.best[0] - answers(problem, action).sum()
