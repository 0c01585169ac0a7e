"""Epsilon-greedy on a ridge regression: mostly the best estimate, sometimes any arm.

When to use it: a baseline, or where every arm must keep a known minimum probability (for off-policy
evaluation).
Bound: none that grows slower than T for a fixed epsilon.
Source: Sutton, Barto 1998, section 2.2, with the linear estimate; the baseline of Yang & Toni 2020,
section 5.
Deviation: the greedy choice is by lot among the arms whose estimates are equal and largest, so that
decisions which are made before rewards come are spread.
Per round: as LinUCB.
"""

from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Given, flag, real
from ...core.policy import policy
from ...core.verbs import allowed, chances
from ...numerics.counts import argmax, count_eligible, intervals, uniform_arm
from ...numerics.noise import Noise, new_noise, take_in
from ...numerics.ridge import Ridge, new_model, predict
from ..bases import KnowsChances, RidgePolicy


@policy("features", "contexts", paper="Sutton, Barto 1998; Yang & Toni 2020, section 5")
class LinEpsilonGreedy(KnowsChances, RidgePolicy):
    """Greedy on x'theta_hat with uniform exploration.

    Parameters
    ----------
    epsilon : number in [0, 1], default 0.05
        Probability of a uniform choice, in [0, 1].
    lam : number in (0, inf), default 1.0
        Ridge parameter.
    shared : True, False, or None (by what a round shows), default None
        One theta for all arms; False: one for each, learned from the arm's own rewards; None: one
        for each where a round shows all arms one context (d,), else one for all.
    intercept : True or False, default True
        Whether a constant column is added, drawn to the mean of the rewards so far, so that adding
        a number to all rewards changes no decision.
    """

    epsilon: float = real(default=0.05, least=0, most=1)
    lam: float = real(default=1.0, above=0)
    shared: Given[bool | None, int] = flag(default=None, none="by what a round shows")
    intercept: bool = flag(default=True)

    class State(NamedTuple):
        model: Ridge
        noise: Noise  # of which only the mean of the rewards is asked for

    def init(self, arms):
        return self.State(
            new_model(arms, self.lam, shared=self.shared, intercept=self.intercept), new_noise()
        )

    @jit
    def select(self, state, context, rng):
        predict(state.model, context)
        mean, eligible = state.model.mean, context.eligible
        if rng.random() < self.epsilon:
            return uniform_arm(mean.shape[0], eligible, rng)
        best, number = leaders(mean, eligible)
        skip, arm = int(rng.random() * number) if number > 1 else 0, best
        while skip > 0 and arm < mean.shape[0] - 1:
            arm += 1
            if allowed(eligible, arm) and mean[arm] == mean[best]:
                skip -= 1
        return arm

    @jit
    def update(self, state, context, action, reward):
        take_in(state.model, state.noise, context, action, reward, state.model.intercept)
        return state

    @jit
    def chances(self, state, context, out):
        """out (K,) <- the probability that each arm is played now."""
        predict(state.model, context)
        mean, eligible = state.model.mean, context.eligible
        best, number = leaders(mean, eligible)
        floor = self.epsilon / count_eligible(mean.shape[0], eligible)
        greedy = (1.0 - self.epsilon) / number
        for k in range(out.shape[0]):
            out[k] = (
                floor + (greedy if k == best or (number > 1 and mean[k] == mean[best]) else 0.0)
                if allowed(eligible, k)
                else 0.0
            )
        return True

    def explain(self, state, context, rng):
        probability = np.empty(state.model.mean.size)
        chances(self, state, context, probability)
        mean = state.noise.sums[0].origin + state.model.mean
        report = intervals(
            mean, np.sqrt(state.model.square)
        )  # ||x||_{V^-1}: one standard deviation at unit noise; the rule ignores it
        return report | {"index": mean, "probability": probability}


@lean
def leaders(values, eligible):
    """The lowest eligible arm with the largest value, and how many of that value the greedy choice
    is among."""
    best, number = argmax(values, eligible), 1
    for k in range(best + 1, values.shape[0]):
        number += 1 if allowed(eligible, k) and values[k] == values[best] else 0
    return best, number
