"""CKL-UCB: explore, least played first, the arms that all rewards together allow to beat the
leader.

When to use it: arms are points with a metric and the slope of the mean is bounded by a known L:
prices, doses, bids, settings.
Bound: finite-time, logarithmic, as the paper's Section 1 announces; its Section 5.3, with the
constant, is missing from the text at hand.
Source: Magureanu, Combes, Proutiere 2014, Algorithm 2, with the index of Section 4.1.
Deviations: arms never pulled come first (the paper gives them mean 0); f(n) = ln n + loglog ln ln n
with loglog = 0 by default, as KLUCB's c, where the index is printed with 3K + 1, which is five to
ten times worse at horizons that are played (3, as in KL-UCB's theorem, is between: fewer runs with
a wrong leader, more regret in most); the supremum over no q is the arm's mean; b_k > b_leader is
decided by S_k(b_leader) < f(n) - 1e-9, without finding b_k.
With context-arm pairs as arms and the current context's pairs eligible, the leader, the candidates
and the least played are taken over the eligible arms and S_k sums over all. Usually O(K) a round,
at worst O(K^2).
"""

from ...compiled.kernels import jit
from ...core.fields import flag
from ...core.policy import policy
from ...numerics.counts import argmax
from .pooled import (
    Pooled,
    evidence_level,
    explanation,
    index,
    learn,
    least_played_above,
    must_play,
    new_pool,
    prove,
    unrivalled,
)


@policy(
    "points",
    paper="Magureanu, Combes, Proutiere 2014, Algorithm 2",
    examples=(
        {"lipschitz": 1.0},
        {"lipschitz": 0.5, "loglog": "theory", "forced": False},
        {"lipschitz": 1.0, "divergence": "gaussian", "sigma": 0.5},
    ),
)
class CKLUCB(Pooled):
    """Optimism by pooled evidence; the least-played arm that may beat the leader is explored.

    Parameters
    ----------
    lipschitz : number in (0, inf)
        L > 0, a bound on |mean difference| / distance.
    loglog : number in [0, inf), or 'theory', default 0.0
        Weight of ln ln n in f(n), or "theory" for 3K + 1.
    divergence : 'bernoulli' or 'gaussian', default 'bernoulli'
        Of rewards in [0, 1], or of Gaussian ones.
    sigma : number in (0, inf), default 1.0
        Standard deviation of Gaussian rewards.
    forced : True or False, default True
        Play any arm with fewer than ln ln n pulls first.
    """

    forced: bool = flag(default=True)

    def init(self, arms):
        return new_pool(arms.distances, self.lipschitz)

    @jit
    def select(self, state, context, rng):
        arm = must_play(state, self.forced, context.eligible)
        if arm >= 0:
            return arm
        f = evidence_level(self, state)
        leader = argmax(state.mean, context.eligible)
        if context.eligible is None and unrivalled(
            state, self.divergence, self.sigma, leader, f, False
        ):
            return leader
        b = index(state, self.divergence, self.sigma, leader, f)
        arm = least_played_above(state, self.divergence, self.sigma, leader, b, f, context.eligible)
        if arm >= 0:
            return arm
        if context.eligible is None:
            prove(state, self.divergence, self.sigma, leader, f)
        return leader

    @jit
    def update(self, state, context, action, reward):
        learn(state, self.divergence, action, reward)
        return state

    def explain(self, state, context, rng):
        return explanation(self, state, state, context, rng)
