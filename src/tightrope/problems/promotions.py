"""Sending promotions: each round some users appear, and every promotion goes to k of them, at most one promotion a user."""

from collections.abc import Sequence

import numpy as np

from ..core import checks
from ..core.fields import derived, matrix, scratch, unchecked
from ..core.types import Array, Given, Stored
from ..core.verbs import Arms, Context
from ..solvers import oracles
from .problem import Problem, problem


@problem("promotions", compiled=False)
class Promotions(Problem):
    """U users with features and a known answer to each of M promotions, such as a rating; the learner sees only those it sends.

    Arms are pairs: number user * M + promotion, user counted within the round. Rewards carry no noise of their own; regret is measured
    against the best assignment of the round's users.

    Parameters
    ----------
    features : (U, d) array
        Of the users.
    rewards : (U, M) array
        Of every user and promotion.
    k : int or ints >= 1
        Users per promotion and round, or M of them.
    shown : int >= 1
        Users drawn each round, without replacement; default all.
    """

    features: Array = matrix()
    rewards: Array = matrix()
    k: int | Sequence[int] = unchecked(schema=int | list[int])
    shown: Given[int | None, int] = unchecked(default=None, schema=int | None, kept=True)  # users of a round
    oracle: oracles.Promotions = derived()
    users: np.ndarray = scratch()  # (shown,) who they are
    best: np.ndarray = scratch()  # (1,) value of this round's best assignment

    @staticmethod
    def complete(stored: Stored) -> Stored:
        U, shown = stored["features"].shape[0], stored["shown"]
        rewards = checks.matrix("rewards", stored["rewards"], shape=(U, None))
        oracle = oracles.Promotions(promotions=rewards.shape[1], k=stored.pop("k"))
        count = U if shown is None else checks.integer("shown", shown, least=1, most=U)
        if oracle.size > count:
            raise ValueError(
                f"k = {checks.show(oracle.k)} users for each of {oracle.promotions} promotions need {oracle.size}, but shown = {count}."
            )
        return stored | {"shown": count, "oracle": oracle, "users": np.arange(count), "best": np.zeros(1)}

    def describe(self):
        M = self.rewards.shape[1]
        return Arms(self.shown * M, dimension=self.features.shape[1], oracle=self.oracle, blocks=M)

    def observe(self, t, rng):
        self.users[:] = rng.choice(self.features.shape[0], self.shown, replace=False)
        rewards = self.rewards[self.users]
        pairs = self.oracle(rewards)
        self.best[0] = rewards[pairs[:, 0], pairs[:, 1]].sum()
        return Context(self.features[self.users], None, None, None)

    def play(self, context, action, rng):
        return answers(self, action)

    def mean(self, context, arm):
        return answers(self, arm)

    def regret(self, context, action):
        return self.best[0] - answers(self, action).sum()


def answers(problem, arm):
    users, promotions = np.divmod(arm, problem.rewards.shape[1])
    return problem.rewards[problem.users[users], promotions]
