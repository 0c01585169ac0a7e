"""Epsilon-greedy: mostly the best mean so far, sometimes any arm.

When to use it: a baseline, or where every arm must keep a known minimum probability (for off-policy evaluation).
Bound: none that grows slower than T for a fixed epsilon: it pays epsilon times the average gap every round.
Source: Sutton, Barto 1998, section 2.2.
O(K) a round.
"""

import numpy as np

from ..._jit import jit
from ...numerics.counts import count, intervals, means, new_counts
from ...numerics.selection import argmax, first_unpulled, greedy_with_exploration, one_hot, uniform_arm
from ...parameters import policy, real
from ...verbs import explain, init, select, update


@policy("arms", paper="Sutton, Barto 1998")
class EpsilonGreedy:
    """Greedy with uniform exploration.

    epsilon: probability of a uniform choice, in [0, 1].
    """

    epsilon: float = real(0.05, least=0, most=1)


@init.register(EpsilonGreedy)
def init_epsilongreedy(policy, arms):
    return new_counts(arms.number)


@select.register(EpsilonGreedy)
@jit
def select_epsilongreedy(policy, state, context, rng):
    fresh = first_unpulled(state.pulls, context.eligible)
    if fresh >= 0:
        return fresh
    if rng.random() < policy.epsilon:
        return uniform_arm(state.pulls.shape[0], context.eligible, rng)
    for k in range(state.pulls.shape[0]):
        state.scores[k] = state.sums[k] / state.pulls[k] if state.pulls[k] > 0.0 else 0.0
    return argmax(state.scores, context.eligible)


@update.register(EpsilonGreedy)
@jit
def update_epsilongreedy(policy, state, context, action, reward):
    return count(state, action, reward)


@explain.register(EpsilonGreedy)
def explain_epsilongreedy(policy, state, context, rng):
    mean = means(state)
    report = intervals(mean, np.zeros(mean.size))
    fresh = first_unpulled(state.pulls, context.eligible)
    if fresh >= 0:
        probability = one_hot(fresh, mean.size)
    else:
        probability = greedy_with_exploration(argmax(mean, context.eligible), policy.epsilon, mean.size, context.eligible)
    return report | {"index": np.where(np.isnan(mean), np.inf, mean), "probability": probability}


def example():
    return [EpsilonGreedy()]
