"""KL-UCB: optimism by the divergence of the reward family, asymptotically optimal for independent
arms.

When to use it: rewards in [0, 1], above all with means near 0 or 1, where UCB's interval is far too
wide.
Bound: regret / ln T -> sum_k gap_k / I(mean_k, best mean), the lower bound of Lai and Robbins.
Source: Garivier, Cappe 2011, Algorithm 1 and Theorem 1. c = 3 is the value their proof uses, c = 0
what they recommend.
Deviation: an index is solved for only where it may be the largest, which one evaluation of I
decides. The choice is the same.
O(K) a round.
"""

import math
from typing import Literal

import numpy as np

from ...compiled.kernels import jit
from ...core.fields import Given, choice, real
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import (
    DIVERGENCES,
    argmax,
    divergence,
    exploration,
    means,
    new_counts,
    next_in_line,
    one_hot,
    upper_root,
)
from ..bases import CountPolicy

SLACK = 1e-9  # relative to f(n): within it an arm is not ruled out before its root is solved for


@policy(
    "arms",
    paper="Garivier, Cappe 2011",
    examples=(
        {},
        {"divergence": "gaussian", "sigma": 0.5, "c": 3},
    ),
)
class KLUCB(CountPolicy):
    """Optimism by divergence: sup{q : pulls I(mean, q) <= ln n + c ln ln n}.

    Parameters
    ----------
    c : number in [0, inf), default 0.0
        Weight of ln ln n, >= 0.
    divergence : 'bernoulli' or 'gaussian', default 'bernoulli'
        Of rewards in [0, 1], or of Gaussian ones.
    sigma : number in (0, inf), default 1.0
        Standard deviation of Gaussian rewards.
    """

    c: float = real(default=0.0, least=0)
    divergence: Given[Literal["bernoulli", "gaussian"], int] = choice(
        *DIVERGENCES, default="bernoulli"
    )
    sigma: float = real(default=1.0, above=0)

    def init(self, arms):
        return new_counts(arms.number)

    @jit
    def select(self, state, context, rng):
        following = next_in_line(state, context.eligible)
        if following >= 0:
            return following
        f = exploration(state.rounds[0] + 1.0, self.c)
        best, top = -1, -math.inf
        for k in range(state.pulls.shape[0]):
            if allowed(context.eligible, k):
                n = state.pulls[k]
                if n == 0.0:
                    return k
                mean = state.sums[k] / n
                if (
                    best >= 0
                    and mean < top
                    and n * divergence(self.divergence, mean, top, self.sigma) > f * (1.0 + SLACK)
                ):
                    continue
                index = upper_root(self.divergence, mean, f / n, self.sigma)
                if best < 0 or index > top:
                    best, top = k, index
        return best

    def reward_range(self):
        return (0.0, 1.0) if self.divergence == 0 else (-math.inf, math.inf)

    def explain(self, state, context, rng):
        f = exploration(state.rounds[0] + 1.0, self.c)
        mean, upper, lower = (
            means(state),
            np.full(state.pulls.size, np.inf),
            np.full(state.pulls.size, -np.inf),
        )
        for k in np.flatnonzero(state.pulls):
            upper[k] = upper_root(self.divergence, mean[k], f / state.pulls[k], self.sigma)
            lower[k] = (
                -upper_root(self.divergence, -mean[k], f / state.pulls[k], self.sigma)
                if self.divergence
                else 1.0 - upper_root(0, 1.0 - mean[k], f / state.pulls[k], self.sigma)
            )
        probability = one_hot(argmax(upper, context.eligible), upper.size)
        return {
            "mean": mean,
            "width": upper - mean,
            "lower": lower,
            "upper": upper,
            "index": upper,
            "probability": probability,
        }
