"""C2UCB: optimism for sets of arms with linear rewards.

When to use it: many arms with features, a set of them each round, a reward seen for each. In
catalogues with large groups of similar arms prefer PC2UCB or CombTS(randomization="arm"), which
spread a set over several groups.
Bound: O~(max(sqrt(d), sqrt(lam)) sqrt(d k T)) regret for lam >= k and alpha = "theory" (Theorem 4).
Source: Qin, Chen, Zhu 2014; Takemura & Ito 2019, Algorithm 1. Scores theta'x + alpha ||x||_{V^-1},
V and theta before the round.
Deviations: by default alpha is `width` times the learned noise and the regression has a constant
column; as printed with alpha a number or "theory".
Per round: O(N d^2 / 2) and the oracle.
"""

from ...core.policy import policy
from .sets import Optimistic, Scoring, predictions, width_factor


@policy(
    "sets",
    paper="Qin, Chen, Zhu 2014; Takemura & Ito 2019, Algorithm 1",
    compiled=False,
    examples=(
        {},
        {"alpha": 1.0},
        {"alpha": "theory", "ties": "random"},
    ),
)
class C2UCB(Optimistic):
    """Optimism for sets of arms with linear rewards.

    Parameters
    ----------
    alpha : number in [0, inf), or 'theory', or None (from width), default None
        Width of the interval; None: `width` standard errors of the estimate; or "theory":
        beta_t(delta) from noise (sub-Gaussian scale of a reward) and theta_bound (bound on
        ||theta||).
    width : number in [0, inf), default 2.0
        Of the interval in standard errors of the estimate, where alpha is None.
    lam : number in (0, inf), default 1.0
        Ridge parameter.
    delta : number in (0, 1), default 0.1
        Probability that the bound fails, with alpha="theory".
    noise : number in [0, inf), or None (learned), default None
        Scale of the rewards' noise; None: learned from the residuals, with alpha="theory" 1.
    theta_bound : number in [0, inf), default 1.0
        Bound on ||theta||, with alpha="theory".
    ties : 'index' or 'random', default 'index'
        Equal scores go to the lowest index, or to one at random.
    intercept : True, False, or None (where alpha is), default None
        Whether every regression has a constant column, drawn to the mean of the rewards so far;
        None: where alpha is.
    """

    def _scoring(self, state, context, rng):
        mean, width, solved = predictions(state, context)
        width *= width_factor(self, state, solved)
        return Scoring(mean, width, mean + width, zero=solved.zero)
