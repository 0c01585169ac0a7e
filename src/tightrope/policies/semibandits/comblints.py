"""CombLinTS: Thompson sampling for sets in the Kalman form, with a Gaussian prior and known noise.

When to use it: as round-wise CombTS, when a prior scale is easier to name than lam. The noise is
learned where it is not named.
Bound: O~(d k sqrt(T)) Bayes regret (Wen, Kveton, Ashkan 2015, Theorem 1).
Source: Wen, Kveton, Ashkan 2015, Algorithms 1 and 2: one theta ~ N(mean, Sigma), Sigma^-1 = I /
prior_scale^2 + sum x x' / noise^2. That is round-wise CombTS with lam = noise^2 / prior_scale^2 and
v = noise, in whose form it is computed.
Deviations: by default the noise is learned and the regression has a constant column.
Per round: O(N d) and the oracle.
"""

from ...core.policy import policy
from ...numerics.batch_ridge import settle
from .combts import round_scores, round_scoring
from .sets import GaussianPrior, best_set, features_of, noise_now


@policy(
    "sets",
    paper="Wen, Kveton, Ashkan 2015, Algorithm 2",
    compiled=False,
    examples=(
        {},
        {"prior_scale": 0.5, "noise": 0.3},
    ),
)
class CombLinTS(GaussianPrior):
    """Thompson sampling for sets with prior N(0, prior_scale^2 I) and noise variance noise^2.

    Parameters
    ----------
    prior_scale : number in (0, inf), default 1.0
        > 0, in units of the noise where that is learned.
    noise : number in (0, inf), or None (learned), default None
        > 0; None: learned from the residuals.
    ties : 'index' or 'random', default 'index'
        "index" or "random".
    intercept : True, False, or None (where the noise is learned), default None
        Whether every regression has a constant column, drawn to the mean of the rewards so far;
        None: where the noise is learned.
    """

    def select(self, state, context, rng):
        solved = settle(state.model, features_of(state, context))
        scores = round_scores(
            solved, features_of(state, context), noise_now(self, state, solved), rng
        )
        return best_set(state, context, scores, self.ties, rng, solved.zero)

    def _scoring(self, state, context, rng):
        return round_scoring(state, context, rng, lambda solved: noise_now(self, state, solved))
