"""CombLinTS: Thompson sampling for sets in the Kalman form, with a Gaussian prior and known noise.

When to use it: as round-wise CombTS, when a prior scale and the noise are easier to name than v and lam.
Bound: O~(d k sqrt(T)) Bayes regret (Wen, Kveton, Ashkan 2015, Theorem 1).
Source: Wen, Kveton, Ashkan 2015, Algorithms 1 and 2: one theta ~ N(mean, Sigma), Sigma^-1 = I / prior_scale^2 + sum x x' / noise^2.
That is round-wise CombTS with lam = noise^2 / prior_scale^2 and v = noise, in whose form it is computed.
Per round: O(N d) and the oracle.
"""

from ...core.policy import policy
from .combts import round_scores
from .sets import GaussianPrior, Scoring, best_set, features_of, new_state_with_prior, predictions


@policy("sets", paper="Wen, Kveton, Ashkan 2015, Algorithm 2", compiled=False)
class CombLinTS(GaussianPrior):
    """Thompson sampling for sets with prior N(0, prior_scale^2 I) and noise variance noise^2.

    prior_scale, noise: > 0. ties: "index" or "random".
    """

    def init(self, arms):
        return new_state_with_prior(self, arms)

    def select(self, state, context, rng):
        return best_set(state, context, round_scores(state, features_of(state, context), self.noise, rng), self.ties, rng)

    def _scoring(self, state, context, rng):
        """This round's scores, as `select` makes them."""
        mean, width = predictions(state, context)

        def draw():
            return round_scores(state, features_of(state, context), self.noise, rng)

        return Scoring(mean, self.noise * width, draw(), draw)


def example():
    return [CombLinTS(prior_scale=0.5, noise=0.3)]
