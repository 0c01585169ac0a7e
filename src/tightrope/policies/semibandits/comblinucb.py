"""CombLinUCB: optimism for sets in the Kalman form, with a Gaussian prior and known noise.

When to use it: as C2UCB, when a prior scale and the noise are easier to name than alpha and lam.
Bound: O~(d k sqrt(T)) regret (Wen, Kveton, Ashkan 2015, Theorem 2).
Source: Wen, Kveton, Ashkan 2015, Algorithms 1 and 3: Sigma^-1 = I / prior_scale^2 + sum x x' / noise^2, scores x'mean + c sqrt(x' Sigma x).
That is C2UCB with lam = noise^2 / prior_scale^2 and alpha = c noise, in whose form it is computed.
Per round: O(N d^2 / 2) and the oracle.
"""

from ...parameters import policy, real
from ...verbs import init, select
from ._sets import GaussianPrior, Scoring, answer_by_scores, best_set, new_state_with_prior, predictions


@policy("sets", paper="Wen, Kveton, Ashkan 2015, Algorithm 3", compiled=False)
class CombLinUCB(GaussianPrior):
    """Optimism for sets with prior N(0, prior_scale^2 I) and noise variance noise^2.

    prior_scale, noise: > 0. c: width of the interval in posterior standard deviations, >= 0. ties: "index" or "random".
    """

    c: float = real(1.0, least=0)


@init.register(CombLinUCB)
def init_comblinucb(policy, arms):
    return new_state_with_prior(policy, arms)


@select.register(CombLinUCB)
def select_comblinucb(policy, state, context, rng):
    mean, width = predictions(state, context)
    return best_set(state, context, mean + policy.c * policy.noise * width, policy.ties, rng)


def scoring(policy, state, context, rng):
    """This round's scores, as `select` makes them."""
    mean, width = predictions(state, context)
    width *= policy.c * policy.noise
    return Scoring(mean, width, mean + width)


answer_by_scores(CombLinUCB, scoring)


def example():
    return [CombLinUCB(prior_scale=0.5, noise=0.3)]
