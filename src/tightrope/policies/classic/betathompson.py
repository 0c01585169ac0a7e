"""Beta-Bernoulli Thompson sampling: play each arm as often as it is likely to be the best.

When to use it: rewards in [0, 1], delayed or batched feedback (its choices vary while nothing new
is known).
Bound: regret / ln T -> the Lai-Robbins constant for 0/1 rewards.
Source: Agrawal, Goyal 2012, Algorithm 1; Kaufmann, Korda, Munos 2012, Theorem 1.
Deviations: rewards inside (0, 1) enter by their value instead of by a coin flip. forget is no part
of the papers: counts fade towards the prior, as in Raj, Kalyani 2017 (arXiv 1707.09727). Draws of
priors below 0.2 are compared by their log odds: at a = b = 0.1 one draw in 75 rounds to 1, at 0.001
half of them, and the lowest arm among them would win.
O(K) a round: one beta draw per arm.
"""

import math

from ...compiled.kernels import jit
from ...core.fields import real
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import counts_that_may_fade
from ...numerics.posterior import best_of_betas, beta_draw, beta_logit_draw
from ..bases import CountPolicy

SMALL_PARAMETER = (
    0.2  # prior parameters below this make draws that round to 0 or 1 often enough to matter
)


@policy("arms", paper="Agrawal, Goyal 2012", rewards=(0.0, 1.0))
class BetaThompson(CountPolicy):
    """Thompson sampling with a Beta(a, b) prior for rewards in [0, 1].

    Parameters
    ----------
    a : number in [1e-100, inf), default 1.0
        Prior successes, > 0 (at least 1e-100).
    b : number in [1e-100, inf), default 1.0
        Prior failures, > 0 (at least 1e-100).
    forget : number in (0, 1], default 1.0
        What a reward's weight is multiplied by each round, in (0, 1], where means drift; 1: all
        count the same for ever.
    """

    a: float = real(default=1.0, least=1e-100)
    b: float = real(default=1.0, least=1e-100)
    forget: float = real(default=1.0, above=0, most=1)

    def init(self, arms):
        return counts_that_may_fade(arms.number, self.forget)

    @jit
    def select(self, state, context, rng):
        best, top = -1, -math.inf
        by_odds = min(self.a, self.b) < SMALL_PARAMETER
        for k in range(state.pulls.shape[0]):
            if allowed(context.eligible, k):
                a = self.a + state.sums[k]
                if by_odds:
                    draw = beta_logit_draw(
                        a, self.b + (state.pulls[k] - state.sums[k]), rng
                    )  # b + 1 - 1 may be 0
                else:
                    draw = beta_draw(a, self.b + state.pulls[k] - state.sums[k], rng)
                if draw > top or best < 0:
                    best, top = k, draw
        return best

    def propensity(self, state, context, action, rng):
        a, b = self.a + state.sums, self.b + state.pulls - state.sums
        return float(best_of_betas(a, b, context.eligible)[action]), 0.0

    def explain(self, state, context, rng):
        from scipy.stats import beta

        a, b = self.a + state.sums, self.b + (state.pulls - state.sums)
        posterior = beta(a, b)
        mean, lower, upper = a / (a + b), posterior.ppf(0.025), posterior.ppf(0.975)
        probability = best_of_betas(a, b, context.eligible)
        return {
            "mean": mean,
            "width": posterior.std(),
            "lower": lower,
            "upper": upper,
            "index": mean,
            "probability": probability,
        }
