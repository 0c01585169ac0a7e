"""Two compiled ways to let a policy learn from a log: a world with its contexts and fitted rewards,
and replay of its rows."""

from typing import Any, NamedTuple

import numpy as np

from ..compiled.kernels import jit, returns_views
from ..core.verbs import Arms, Context, commit, entry_or_none, select, update


class LoggedWorld(NamedTuple):
    """The contexts of a log in their order, with rewards of a fitted model."""

    means: np.ndarray  # (n, K) predicted rewards
    best: np.ndarray  # (n,) the largest eligible one
    residuals: (
        np.ndarray
    )  # (m,) to be added to a mean, drawn evenly; empty: the reward is `low` or `high`
    low: float
    high: float
    round: np.ndarray  # (1,) scratch: of the last `observe`
    features: np.ndarray | None  # (n, K, d) of the arms; None: as below
    contexts: (
        np.ndarray | None
    )  # (n, c) of the round: arm k has them in columns k c .. k c + c - 1; None: none
    shown: np.ndarray | None  # (K, K c) scratch
    fixed: np.ndarray | None  # (K, d) that never change; None: none
    eligible: np.ndarray | None  # (n, K) bool; None: all

    def describe(self):
        return Arms(
            self.means.shape[1],
            features=self.fixed,
            dimension=dimension(self),
            rewards=(self.low, self.high),
        )

    @jit
    def observe(self, t, rng):
        self.round[0] = t
        return context_of(self.features, self.contexts, self.shown, self.eligible, t)

    @jit
    def play(self, context, action, rng):
        value = self.means[self.round[0], action]
        if self.residuals.shape[0] == 0:
            if self.low + (self.high - self.low) * rng.random() < value:
                return self.high
            return self.low
        value += self.residuals[int(rng.random() * self.residuals.shape[0])]
        return min(max(value, self.low), self.high)

    @jit
    def mean(self, context, arm):
        return self.means[self.round[0], arm]

    @jit
    def regret(self, context, action):
        return self.best[self.round[0]] - self.means[self.round[0], action]


def dimension(view: Any) -> int:
    """d of the features that policies see, 0 without. view: a world, or the rows of a log."""
    shown = (view.features, view.shown, view.fixed)
    return next((int(item.shape[-1]) for item in shown if item is not None), 0)


@returns_views
def features_of(features, contexts, shown, i):
    """The arms' features in round i: each arm's own block of the round's; None where they have
    none, or fixed ones."""
    if contexts is None:
        return entry_or_none(features, i)
    c = contexts.shape[1]
    for k in range(shown.shape[0]):
        for j in range(c):
            shown[k, k * c + j] = contexts[i, j]
    return shown


@jit
def context_of(features, contexts, shown, eligible, i):
    return Context(
        features_of(features, contexts, shown, i), entry_or_none(eligible, i), None, None
    )


@jit
def replay_rows(policy, state, arm, reward, features, contexts, shown, eligible, kept, rng):
    """Let a policy choose in every row; where it chooses what was played it learns the reward, and
    the row is kept."""
    for i in range(arm.shape[0]):
        context = context_of(features, contexts, shown, eligible, i)
        action = select(policy, state, context, rng)
        if action == arm[i]:
            state = commit(policy, state, context, action)
            state = update(policy, state, context, action, reward[i])
            kept[i] = True
    return state
