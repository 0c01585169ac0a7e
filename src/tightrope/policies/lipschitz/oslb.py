"""OSLB: explore at the rates of the regret lower bound, estimated from the data.

When to use it: to reach the asymptotic limit C(theta) ln T at very long horizons; at 1e4 to 1e6
rounds CKL-UCB has less regret.
Bound: limsup regret / ln T <= (1 + epsilon) C(theta) where the program has one solution (Theorem
5.2).
Source: Magureanu, Combes, Proutiere 2014, Algorithm 1.
Deviations: arms never pulled come first; f(n) = ln n + loglog ln ln n with loglog = 0 by default
(the paper: 3K + 1); K_e is {t_k <= c_k f(n)} (the paper prints ln n, with which it can be empty
while exploring); where it still is empty, because arms tie with the leader, the least-played arm
with an index above the leader's mean is played.
O(K^2) a round at worst, and one linear program (about K pivots of O(K^2)) in exploring rounds only.
"""

from ...compiled.kernels import jit
from ...core.fields import real
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import argmax
from .pooled import (
    PooledWithRates,
    evidence_level,
    first_below,
    least_played_above,
    prove,
    solve_rates,
    unrivalled,
)


@policy(
    "points",
    paper="Magureanu, Combes, Proutiere 2014, Algorithm 1",
    examples=(
        {"lipschitz": 1.0},
        {"lipschitz": 1.0, "divergence": "gaussian", "sigma": 0.5},
    ),
)
class OSLB(PooledWithRates):
    """Optimal sampling for Lipschitz bandits.

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
    epsilon : number in (0, inf), default 0.05
        Share of forced exploration of the least-played arm.
    """

    epsilon: float = real(default=0.05, above=0)

    @jit
    def select(self, state, context, rng):
        pool, rates, eligible = state.pool, state.rates, context.eligible
        arm = first_below(pool, 1.0, eligible)
        if arm >= 0:
            return arm
        f = evidence_level(self, pool)
        leader = argmax(pool.mean, eligible)
        if eligible is None and unrivalled(pool, self.divergence, self.sigma, leader, f, True):
            return leader
        rival = least_played_above(
            pool, self.divergence, self.sigma, leader, pool.mean[leader], f, eligible
        )
        if rival < 0:
            if eligible is None:
                prove(pool, self.divergence, self.sigma, leader, f)
            return leader
        solve_rates(rates, pool, self.divergence, self.sigma, leader, f, eligible)
        least, explored = -1, -1
        for j in range(pool.order.shape[0]):
            k = pool.order[j]
            if allowed(eligible, k):
                if least < 0:
                    least = k
                if rates.gaps[k] > 0.0 and pool.pulls[k] <= rates.c[k] * f:
                    explored = k
                    break
        if explored < 0:
            return rival
        return (
            least
            if pool.pulls[least] < self.epsilon / pool.pulls.shape[0] * pool.pulls[explored]
            else explored
        )
