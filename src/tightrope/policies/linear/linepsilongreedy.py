"""Epsilon-greedy on a ridge regression: mostly the best estimate, sometimes any arm.

When to use it: a baseline, or where every arm must keep a known minimum probability (for off-policy evaluation).
Bound: none that grows slower than T for a fixed epsilon.
Source: Sutton, Barto 1998, section 2.2, with the linear estimate; the baseline of Yang & Toni 2020, section 5.
Per round: as LinUCB.
"""

from typing import NamedTuple

import numpy as np

from ..._jit import jit, lean
from ...numerics.counts import intervals
from ...numerics.growth import longer_ridge
from ...numerics.merging import merged_ridge
from ...numerics.ridge import Ridge, check_context, learn, new_model, predict
from ...numerics.selection import argmax, chance_with_exploration, greedy_with_exploration, uniform_arm
from ...parameters import flag, policy, real
from ...registry import Policy
from ...verbs import admit, explain, grow, init, merge, propensity, select, update


@policy("features", "contexts", paper="Sutton, Barto 1998; Yang & Toni 2020, section 5")
class LinEpsilonGreedy(Policy):
    """Greedy on x'theta_hat with uniform exploration.

    epsilon: probability of a uniform choice, in [0, 1]. lam: ridge parameter. shared: one theta for all arms; False: one for each,
    learned from the arm's own rewards.
    """

    epsilon: float = real(0.05, least=0, most=1)
    lam: float = real(1.0, above=0)
    shared: bool = flag(True)


class State(NamedTuple):
    model: Ridge


@init.register(LinEpsilonGreedy)
def init_linepsilongreedy(policy, arms):
    return State(new_model(arms, policy.lam, shared=policy.shared))


@select.register(LinEpsilonGreedy)
@jit
def select_linepsilongreedy(policy, state, context, rng):
    predict(state.model, context)
    if rng.random() < policy.epsilon:
        return uniform_arm(state.model.mean.shape[0], context.eligible, rng)
    return argmax(state.model.mean, context.eligible)


@update.register(LinEpsilonGreedy)
@jit
def update_linepsilongreedy(policy, state, context, action, reward):
    learn(state.model, context, action, reward)
    return state


@lean
def chance(policy, state, context, arm):
    """The probability that this arm is played now."""
    predict(state.model, context)
    mean = state.model.mean
    return chance_with_exploration(argmax(mean, context.eligible), policy.epsilon, mean.shape[0], context.eligible, arm)


@propensity.register(LinEpsilonGreedy)
def propensity_linepsilongreedy(policy, state, context, action, rng):
    return chance(policy, state, context, action), 0.0


@admit.register(LinEpsilonGreedy)
def admit_linepsilongreedy(policy, state, context):
    check_context(state.model, context.features)


@grow.register(LinEpsilonGreedy)
def grow_linepsilongreedy(policy, state, arms):
    return State(longer_ridge(state.model, arms, policy.lam))


@merge.register(LinEpsilonGreedy)
def merge_linepsilongreedy(policy, first, second):
    return State(merged_ridge(first.model, second.model))


@explain.register(LinEpsilonGreedy)
def explain_linepsilongreedy(policy, state, context, rng):
    predict(state.model, context)
    mean = state.model.mean.copy()
    report = intervals(mean, np.sqrt(state.model.square))  # ||x||_{V^-1}: one standard deviation at unit noise; the rule ignores it
    greedy = argmax(mean, context.eligible)
    return report | {"index": mean, "probability": greedy_with_exploration(greedy, policy.epsilon, mean.size, context.eligible)}


def example():
    return [LinEpsilonGreedy()]
