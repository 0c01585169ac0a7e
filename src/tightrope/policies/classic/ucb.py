"""UCB: play the arm whose mean could plausibly be highest.

When to use it: independent arms, rewards of known range, no more structure; the yardstick for
everything else. With forget < 1 also where means drift or jump.
Bound: E R(n) <= sum_k 8 ln n / gap_k + (1 + pi^2/3) gap_k for alpha = 2 and rewards in [0, 1].
Source: Auer, Cesa-Bianchi, Fischer 2002, Figure 1 and Theorem 1. alpha = 1/2 is the sharp
sub-Gaussian constant for [0, 1].
forget: Garivier, Moulines 2011, discounted UCB, whose n and pulls are sums of weights forget^age;
its regret is O(sqrt(c T) ln T) for c jumps with forget = 1 - sqrt(c / T) / 4.
O(K) a round.
"""

import math

import numpy as np

from ...compiled.kernels import jit
from ...core.fields import real
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import (
    argmax,
    counts_that_may_fade,
    intervals,
    means,
    next_in_line,
    one_hot,
    per_pull,
)
from ..bases import CountPolicy


@policy(
    "arms",
    paper="Auer, Cesa-Bianchi, Fischer 2002",
    examples=(
        {},
        {"forget": 0.98},
    ),
)
class UCB(CountPolicy):
    """Optimism for independent arms: mean + sigma sqrt(alpha ln n / pulls).

    Parameters
    ----------
    alpha : number in (0, inf), default 2.0
        Width of the interval; 2 is UCB1.
    sigma : number in (0, inf), default 1.0
        Scale of the rewards (1 for rewards in [0, 1] with alpha = 2).
    forget : number in (0, 1], default 1.0
        What a reward's weight is multiplied by each round, in (0, 1]; 1: all count the same for
        ever.
    """

    alpha: float = real(default=2.0, above=0)
    sigma: float = real(default=1.0, above=0)
    forget: float = real(default=1.0, above=0, most=1)

    def init(self, arms):
        return counts_that_may_fade(arms.number, self.forget)

    @jit
    def select(self, state, context, rng):
        following = next_in_line(state, context.eligible)
        if following >= 0:
            return following
        scale = self.alpha * self.sigma * self.sigma * math.log(state.rounds[0] + 1.0)
        best, top = -1, -math.inf
        for k in range(state.pulls.shape[0]):
            if allowed(context.eligible, k):
                n = state.pulls[k]
                if n == 0.0:
                    return k
                index = state.sums[k] / n + math.sqrt(scale / n)
                if index > top:
                    best, top = k, index
        return best

    def explain(self, state, context, rng):
        numerator = self.alpha * self.sigma**2 * math.log(state.rounds[0] + 1.0)
        report = intervals(means(state), np.sqrt(per_pull(numerator, state)))
        return report | {
            "index": report["upper"],
            "probability": one_hot(argmax(report["upper"], context.eligible), state.pulls.size),
        }
