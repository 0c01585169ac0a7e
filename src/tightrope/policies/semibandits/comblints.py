"""CombLinTS: Thompson sampling for sets in the Kalman form, with a Gaussian prior and known noise.

When to use it: as round-wise CombTS, when a prior scale and the noise are easier to name than v and lam.
Bound: O~(d k sqrt(T)) Bayes regret (Wen, Kveton, Ashkan 2015, Theorem 1).
Source: Wen, Kveton, Ashkan 2015, Algorithms 1 and 2: one theta ~ N(mean, Sigma), Sigma^-1 = I / prior_scale^2 + sum x x' / noise^2.
That is round-wise CombTS with lam = noise^2 / prior_scale^2 and v = noise, in whose form it is computed.
Per round: O(N d) and the oracle.
"""

from ...parameters import policy
from ...verbs import init, select
from ._sets import GaussianPrior, Scoring, answer_by_scores, best_set, features_of, new_state_with_prior, predictions
from .combts import round_scores


@policy("sets", paper="Wen, Kveton, Ashkan 2015, Algorithm 2", compiled=False)
class CombLinTS(GaussianPrior):
    """Thompson sampling for sets with prior N(0, prior_scale^2 I) and noise variance noise^2.

    prior_scale, noise: > 0. ties: "index" or "random".
    """


@init.register(CombLinTS)
def init_comblints(policy, arms):
    return new_state_with_prior(policy, arms)


@select.register(CombLinTS)
def select_comblints(policy, state, context, rng):
    return best_set(state, context, round_scores(state, features_of(state, context), policy.noise, rng), policy.ties, rng)


def scoring(policy, state, context, rng):
    """This round's scores, as `select` makes them."""
    mean, width = predictions(state, context)

    def draw():
        return round_scores(state, features_of(state, context), policy.noise, rng)

    return Scoring(mean, policy.noise * width, draw(), draw)


answer_by_scores(CombLinTS, scoring)


def example():
    return [CombLinTS(prior_scale=0.5, noise=0.3)]
