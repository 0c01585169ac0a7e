"""Epsilon-greedy: mostly the best mean so far, sometimes any arm.

When to use it: a baseline, or where every arm must keep a known minimum probability (for off-policy evaluation).
Bound: none that grows slower than T for a fixed epsilon: it pays epsilon times the average gap every round.
Source: Sutton, Barto 1998, section 2.2.
O(K) a round.
"""

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import real
from ...core.policy import policy
from ...numerics.counts import intervals, means, new_counts
from ...numerics.selection import argmax, chance_with_exploration, first_unpulled, greedy_with_exploration, one_hot, uniform_arm
from ..bases import CountPolicy


@policy("arms", paper="Sutton, Barto 1998")
class EpsilonGreedy(CountPolicy):
    """Greedy with uniform exploration.

    epsilon: probability of a uniform choice, in [0, 1].
    """

    epsilon: float = real(default=0.05, least=0, most=1)

    def init(self, arms):
        return new_counts(arms.number)

    @jit
    def select(self, state, context, rng):
        fresh = first_unpulled(state.pulls, context.eligible)
        if fresh >= 0:
            return fresh
        if rng.random() < self.epsilon:
            return uniform_arm(state.pulls.shape[0], context.eligible, rng)
        return best_mean(state, context.eligible)

    def propensity(self, state, context, action, rng):
        return chance(self, state, context.eligible, action), 0.0

    def explain(self, state, context, rng):
        mean = means(state)
        report = intervals(mean, np.zeros(mean.size))
        fresh = first_unpulled(state.pulls, context.eligible)
        if fresh >= 0:
            probability = one_hot(fresh, mean.size)
        else:
            probability = greedy_with_exploration(argmax(mean, context.eligible), self.epsilon, mean.size, context.eligible)
        return report | {"index": np.where(np.isnan(mean), np.inf, mean), "probability": probability}


@lean
def best_mean(state, eligible):
    """The eligible arm with the largest mean so far."""
    for k in range(state.pulls.shape[0]):
        state.scores[k] = state.sums[k] / state.pulls[k] if state.pulls[k] > 0.0 else 0.0
    return argmax(state.scores, eligible)


@lean
def chance(policy, state, eligible, arm):
    """The probability that this arm is played now."""
    fresh = first_unpulled(state.pulls, eligible)
    if fresh >= 0:
        return 1.0 if arm == fresh else 0.0
    return chance_with_exploration(best_mean(state, eligible), policy.epsilon, state.pulls.shape[0], eligible, arm)


def example():
    return [EpsilonGreedy()]
