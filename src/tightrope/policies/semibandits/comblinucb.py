"""CombLinUCB: optimism for sets in the Kalman form, with a Gaussian prior and known noise.

When to use it: as C2UCB, when a prior scale is easier to name than lam. The noise is learned where
it is not named.
Bound: O~(d k sqrt(T)) regret (Wen, Kveton, Ashkan 2015, Theorem 2).
Source: Wen, Kveton, Ashkan 2015, Algorithms 1 and 3: Sigma^-1 = I / prior_scale^2 + sum x x' /
noise^2, scores x'mean + c sqrt(x' Sigma x). That is C2UCB with lam = noise^2 / prior_scale^2 and
alpha = c noise, in whose form it is computed.
Deviations: by default the noise is learned and the regression has a constant column.
Per round: O(N d^2 / 2) and the oracle.
"""

from ...core.fields import real
from ...core.policy import policy
from .sets import GaussianPrior, Scoring, noise_now, predictions


@policy(
    "sets",
    paper="Wen, Kveton, Ashkan 2015, Algorithm 3",
    compiled=False,
    examples=(
        {},
        {"prior_scale": 0.5, "noise": 0.3},
    ),
)
class CombLinUCB(GaussianPrior):
    """Optimism for sets with prior N(0, prior_scale^2 I) and noise variance noise^2.

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
    c : number in [0, inf), default 1.0
        Width of the interval in posterior standard deviations, >= 0.
    """

    c: float = real(default=1.0, least=0)

    def _scoring(self, state, context, rng):
        mean, width, solved = predictions(state, context)
        width *= self.c * noise_now(self, state, solved)
        return Scoring(mean, width, mean + width, zero=solved.zero)
