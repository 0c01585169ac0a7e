"""Epsilon-greedy: mostly the best mean so far, sometimes any arm.

When to use it: a baseline, or where every arm must keep a known minimum probability (for off-policy
evaluation).
Bound: none that grows slower than T for a fixed epsilon: it pays epsilon times the average gap
every round.
Source: Sutton, Barto 1998, section 2.2.
Deviation: while arms have no reward yet, the greedy choice is by lot among them and the best mean,
so that decisions which are made before rewards come are spread.
O(K) a round.
"""

import math

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import real
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import count_eligible, intervals, means, new_counts, uniform_arm
from ..bases import CountPolicy


@policy("arms", paper="Sutton, Barto 1998")
class EpsilonGreedy(CountPolicy):
    """Greedy with uniform exploration.

    Parameters
    ----------
    epsilon : number in [0, 1], default 0.05
        Probability of a uniform choice, in [0, 1].
    """

    epsilon: float = real(default=0.05, least=0, most=1)

    def init(self, arms):
        return new_counts(arms.number)

    @jit
    def select(self, state, context, rng):
        if rng.random() < self.epsilon:
            return uniform_arm(state.pulls.shape[0], context.eligible, rng)
        best, places = leaders(state, context.eligible)
        skip = int(rng.random() * places) if places > 1 else 0
        for k in range(state.pulls.shape[0]):
            if allowed(context.eligible, k) and (k == best or state.pulls[k] == 0.0):
                if skip == 0:
                    return k
                skip -= 1
        return best

    def propensity(self, state, context, action, rng):
        return chance(self, state, context.eligible, action), 0.0

    def explain(self, state, context, rng):
        mean, best = means(state), leaders(state, context.eligible)[0]
        eligible = (
            np.ones(mean.size, dtype=np.bool_) if context.eligible is None else context.eligible
        )
        lots = eligible & (np.isnan(mean) | (np.arange(mean.size) == best))
        probability = (
            self.epsilon * eligible / eligible.sum() + (1.0 - self.epsilon) * lots / lots.sum()
        )
        return intervals(mean, np.zeros(mean.size)) | {
            "index": np.where(np.isnan(mean), np.inf, mean),
            "probability": probability,
        }


@lean
def leaders(state, eligible):
    """The eligible arm with the largest mean, or -1, and how many arms the greedy choice is among:
    that one, and those without a reward."""
    best, top, places = -1, -math.inf, 0
    for k in range(state.pulls.shape[0]):
        if allowed(eligible, k):
            if state.pulls[k] == 0.0:
                places += 1
            elif best < 0 or state.sums[k] / state.pulls[k] > top:
                best, top = k, state.sums[k] / state.pulls[k]
    return best, places + (1 if best >= 0 else 0)


@lean
def chance(policy, state, eligible, arm):
    if not allowed(eligible, arm):
        return 0.0
    best, places = leaders(state, eligible)
    greedy = (1.0 - policy.epsilon) / places if arm == best or state.pulls[arm] == 0.0 else 0.0
    return policy.epsilon / count_eligible(state.pulls.shape[0], eligible) + greedy
