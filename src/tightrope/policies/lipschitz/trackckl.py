"""TrackCKLUCB (an extension): CKL-UCB decides when to explore, the lower bound's rates decide what.

When to use it: where OSLB's asymptotic rates matter and the horizon is one that happens: 1e4 to 1e6
rounds.
Bound: none proved here. The argument that the rates are OSLB's: while the leader is the best arm
and the means are near theirs, an arm is explored only while t_k <= c_k f(n), as in OSLB, or while
its own evidence t_k I(mean_k, mean_leader) is at most patience sqrt(f(n)), or up to ln ln n pulls;
the last two add O(sqrt(ln n)) pulls an arm, so regret / ln T -> C(theta). That the other rounds are
o(ln T) is what forced exploration and the pooled index are for, as in the analysis of CKL-UCB.
Source: Magureanu, Combes, Proutiere 2014, Algorithms 1 and 2, combined as follows.
Differences to OSLB: (1) exploration ends when no index exceeds the leader's index, not its mean, so
that a leader with few pulls is played; (2) the least-played rival is tried itself before the
program may refute it through worse neighbours, because a best arm that had bad luck is never found
out otherwise; (3) only arms that inform on the rival are played for it.
O(K^2) a round at worst, and one linear program in exploring rounds past a rival's patience.
"""

import math

from ...compiled.kernels import jit, lean
from ...core.fields import real
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import argmax, divergence
from .pooled import (
    PooledWithRates,
    evidence_level,
    index,
    least_played_above,
    must_play,
    prove,
    solve_rates,
    unrivalled,
)


@policy(
    "points",
    paper="extension of Magureanu, Combes, Proutiere 2014",
    examples=({"lipschitz": 1.0, "patience": 0.5},),
)
class TrackCKLUCB(PooledWithRates):
    """CKL-UCB whose exploration tracks the rates of the regret lower bound.

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
    patience : number in [0, inf), default 2.0
        A rival is played itself until its own evidence exceeds patience sqrt(f(n)); large: CKL-UCB.
    """

    patience: float = real(default=2.0, least=0)

    @jit
    def select(self, state, context, rng):
        pool, eligible = state.pool, context.eligible
        arm = must_play(pool, True, eligible)
        if arm >= 0:
            return arm
        f = evidence_level(self, pool)
        leader = argmax(pool.mean, eligible)
        if eligible is None and unrivalled(pool, self.divergence, self.sigma, leader, f, False):
            return leader
        b = index(pool, self.divergence, self.sigma, leader, f)
        rival = least_played_above(pool, self.divergence, self.sigma, leader, b, f, eligible)
        if rival >= 0:
            return arm_for(self, pool, state.rates, rival, leader, f, eligible)
        if eligible is None:
            prove(pool, self.divergence, self.sigma, leader, f)
        return leader


@lean
def arm_for(policy, pool, rates, rival, leader, f, eligible):
    """The arm to play so that the rival is refuted, or found to be best."""
    own = pool.pulls[rival] * divergence(
        policy.divergence, pool.mean[rival], pool.mean[leader], policy.sigma
    )
    if own <= policy.patience * math.sqrt(f):
        return rival
    solve_rates(rates, pool, policy.divergence, policy.sigma, leader, f, eligible)
    if pool.pulls[rival] <= rates.c[rival] * f:
        return rival
    for j in range(pool.order.shape[0]):
        k = pool.order[j]
        short = allowed(eligible, k) and rates.gaps[k] > 0.0 and pool.pulls[k] <= rates.c[k] * f
        if short and rates.information[rival, k] > 0.0:
            return k
    return rival
