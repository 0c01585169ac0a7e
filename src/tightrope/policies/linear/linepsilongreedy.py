"""Epsilon-greedy on a ridge regression: mostly the best estimate, sometimes any arm.

When to use it: a baseline, or where every arm must keep a known minimum probability (for off-policy evaluation).
Bound: none that grows slower than T for a fixed epsilon.
Source: Sutton, Barto 1998, section 2.2, with the linear estimate; the baseline of Yang & Toni 2020, section 5.
Per round: as LinUCB.
"""

from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import flag, real
from ...core.policy import policy
from ...core.types import Given
from ...numerics.counts import intervals
from ...numerics.noise import Noise, new_noise, take_in
from ...numerics.ridge import Ridge, new_model, predict
from ...numerics.selection import argmax, chance_with_exploration, greedy_with_exploration, uniform_arm
from ..bases import RidgePolicy


@policy("features", "contexts", paper="Sutton, Barto 1998; Yang & Toni 2020, section 5")
class LinEpsilonGreedy(RidgePolicy):
    """Greedy on x'theta_hat with uniform exploration.

    epsilon: probability of a uniform choice, in [0, 1]. lam: ridge parameter. shared: one theta for all arms; False: one for each,
    learned from the arm's own rewards; None: one for each where a round shows all arms one context (d,), else one for all.
    intercept: whether a constant column is added, drawn to the mean of the rewards so far, so that adding a number to all rewards
    changes no decision.
    """

    epsilon: float = real(default=0.05, least=0, most=1)
    lam: float = real(default=1.0, above=0)
    shared: Given[bool | None, int] = flag(default=None, none="by what a round shows")
    intercept: bool = flag(default=True)

    class State(NamedTuple):
        model: Ridge
        noise: Noise  # of which only the mean of the rewards is asked for

    def init(self, arms):
        return self.State(new_model(arms, self.lam, shared=self.shared, intercept=self.intercept), new_noise())

    @jit
    def select(self, state, context, rng):
        predict(state.model, context)
        if rng.random() < self.epsilon:
            return uniform_arm(state.model.mean.shape[0], context.eligible, rng)
        return argmax(state.model.mean, context.eligible)

    @jit
    def update(self, state, context, action, reward):
        take_in(state.model, state.noise, context, action, reward, state.model.intercept)
        return state

    def propensity(self, state, context, action, rng):
        return chance(self, state, context, action), 0.0

    @jit
    def chances(self, state, context, out):
        predict(state.model, context)
        greedy = argmax(state.model.mean, context.eligible)
        for k in range(out.shape[0]):
            out[k] = chance_with_exploration(greedy, self.epsilon, out.shape[0], context.eligible, k)
        return True

    def explain(self, state, context, rng):
        predict(state.model, context)
        mean = state.noise.sums[0].origin + state.model.mean
        report = intervals(mean, np.sqrt(state.model.square))  # ||x||_{V^-1}: one standard deviation at unit noise; the rule ignores it
        greedy = argmax(state.model.mean, context.eligible)
        return report | {"index": mean, "probability": greedy_with_exploration(greedy, self.epsilon, mean.size, context.eligible)}


@lean
def chance(policy, state, context, arm):
    """The probability that this arm is played now."""
    predict(state.model, context)
    mean = state.model.mean
    return chance_with_exploration(argmax(mean, context.eligible), policy.epsilon, mean.shape[0], context.eligible, arm)


def example():
    return [LinEpsilonGreedy()]
