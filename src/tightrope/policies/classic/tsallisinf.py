"""Tsallis-INF: arms are drawn by weights that hold whoever sets the rewards.

When to use it: rewards that somebody may set against you, or that change in ways nobody can
describe; where they are drawn from fixed means it loses little.
Bound: with variant="rv" 2 sqrt(K T) + 10 K ln T + 16 against any rewards that do not look at what
was played, O(sum_k ln T / gap_k) where means are fixed; "iw" 4 sqrt(K T) + 1 (from memory; the text
was not at hand). These are of expected regret: its tail is long, see the page.
Source: Zimmert, Seldin 2021, "Tsallis-INF: an optimal algorithm for stochastic and adversarial
bandits", Algorithm 1, with power 1/2.
Deviations: rounds count rewards that are in. A reward is divided by the probability that its arm
had when it was chosen; with several open decisions of an arm by the harmonic mean of theirs, so
that all of them together are right. A new arm has the least estimate of those that there are. With
a mask weights are those of the eligible arms alone, for which nothing is proved.
O(K) a Newton step, four to six of them a round.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Count, Finite, Given, NonNegative, Scratch, choice
from ...core.policy import Policy, policy
from ...core.verbs import allowed
from ...numerics.counts import intervals
from ...numerics.posterior import categorical

STEPS, PRECISION = 50, 1e-12  # of Newton's method, in the sum of all weights


class TsallisState(NamedTuple):
    losses: Finite  # (K,) sums of estimates
    normaliser: Finite  # (1,) x of the last weights
    rounds: Count  # (1,) rewards
    open: Count  # (K,) decisions without a reward
    inverse: NonNegative  # (K,) sum of 1 / w over these
    weight: Scratch  # (K,)


@policy("arms", paper="Zimmert, Seldin 2021", rewards=(0.0, 1.0), examples=({}, {"variant": "iw"}))
class TsallisINF(Policy):
    """Follow the regularised leader with Tsallis entropy of power 1/2.

    Parameters
    ----------
    variant : 'rv' or 'iw', default 'rv'
        Estimates of reduced variance, or plain importance weighting, whose worst runs are better
        and whose mean is worse.
    """

    variant: Given[Literal["rv", "iw"], int] = choice("rv", "iw", default="rv")

    def init(self, arms):
        K = arms.number
        return TsallisState(
            np.zeros(K), np.zeros(1), np.zeros(1), np.zeros(K), np.zeros(K), np.zeros(K)
        )

    @jit
    def select(self, state, context, rng):
        total = fill_weights(self, state, context.eligible)
        return categorical(state.weight, total, rng)

    @jit
    def commit(self, state, context, action):
        total = fill_weights(self, state, context.eligible)
        state.open[action] += 1.0
        state.inverse[action] += total / state.weight[action]
        return state

    @jit
    def withdraw(self, state, context, action):
        close(state, action)
        return state

    @jit
    def update(self, state, context, action, reward):
        learn_loss(self, state, context, action, 1.0 - reward, close(state, action))
        return state

    @jit
    def inform(self, state, context, action, reward):
        learn_loss(self, state, context, action, 1.0 - reward, 0.0)
        return state

    def propensity(self, state, context, action, rng):
        total = fill_weights(self, state, context.eligible)
        return float(state.weight[action] / total), 0.0

    def explain(self, state, context, rng):
        total = fill_weights(self, state, context.eligible)
        mean = 1.0 - state.losses / max(state.rounds[0], 1.0)
        probability = state.weight / total
        return intervals(mean, np.full(mean.size, np.inf)) | {
            "index": probability.copy(),
            "probability": probability,
        }

    def grow(self, state, arms):
        old, fresh = state.losses.size, self.init(arms)
        fresh.losses[:] = state.losses.min()
        for name in ("losses", "open", "inverse"):
            getattr(fresh, name)[:old] = getattr(state, name)
        return fresh._replace(normaliser=state.normaliser, rounds=state.rounds)

    def merge(self, first, second):
        return TsallisState(*(a + b for a, b in zip(first, second, strict=True)))


@lean
def learning_rate(policy, state):
    return (4.0 if policy.variant == 0 else 2.0) / math.sqrt(state.rounds[0] + 1.0)


@lean
def close(state, arm):
    """The mean of 1 / w of an arm's open decisions, of which there is one less now; 0 where none
    was open."""
    if state.open[arm] == 0.0:
        return 0.0
    mean = state.inverse[arm] / state.open[arm]
    state.open[arm] -= 1.0
    state.inverse[arm] = mean * state.open[arm]
    return mean


@lean
def learn_loss(policy, state, context, arm, loss, inverse):
    """inverse: 1 / w of the decision; 0: no decision stands for the loss, which is taken as one of
    this round."""
    total = fill_weights(policy, state, context.eligible)
    inverse = inverse if inverse > 0.0 else total / state.weight[arm]
    least = learning_rate(policy, state) ** 2
    for k in range(state.losses.shape[0]):
        shift = 0.5 if policy.variant == 0 and state.weight[k] >= least else 0.0
        state.losses[k] += shift
        if k == arm:
            state.losses[k] += (loss - shift) * inverse
    state.rounds[0] += 1.0


@lean
def fill_weights(policy, state, eligible):
    """w_k = 4 / (eta (L_k - x))^2 of the eligible arms, 0 of the others, with x such that they add
    up to 1; returns what they add up to.

    The sum is convex in x and at least 1 where the largest weight is 1, so that from there Newton's
    method only goes left.
    """
    K, losses, weight, least = state.losses.shape[0], state.losses, state.weight, math.inf
    eta = learning_rate(policy, state)
    for k in range(K):
        if allowed(eligible, k):
            least = min(least, losses[k])
    most = least - 2.0 / eta
    x, total = min(state.normaliser[0], most), 0.0
    for _ in range(STEPS):
        total, slope = 0.0, 0.0
        for k in range(K):
            root = 2.0 / (eta * (losses[k] - x)) if allowed(eligible, k) else 0.0
            weight[k] = root * root
            total += weight[k]
            slope += weight[k] * root
        if abs(total - 1.0) <= PRECISION:
            break
        x = min(x - (total - 1.0) / (eta * slope), most)
    state.normaliser[0] = x
    return total
