"""OSSB: play the leader once every arm has the pulls that the regret lower bound asks for at the
means so far; until then, the arm that is furthest behind.

When to use it: as OSLB, to reach the asymptotic limit C(theta) ln T at very long horizons; at 5,000
rounds CKL-UCB has a quarter of its regret.
Bound: limsup regret / ln T <= C(theta) F(epsilon, gamma), where F tends to 1 as both tend to 0 (as
we remember it; the theorem was not at hand).
Source: Combes, Magureanu, Proutiere 2017, after the algorithm in SMPyBandits; the paper's text was
not at hand. The rates are those of Magureanu, Combes, Proutiere 2014, Theorem 3.1.
Deviations: arms never pulled come first; the leader has rate 0 (SMPyBandits gives it 1/kl(x, x), so
that it never exploits); an arm whose mean ties with the leader's has rate 0; f(n) = ln n + loglog
ln ln n with loglog = 0 is the paper's ln n. Where only some arms are eligible, the others' rewards
count as given.
One linear program (about K pivots of O(K^2)) a round.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit
from ...core.fields import Count, real
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import argmax
from .pooled import (
    Pool,
    PooledWithRates,
    Rates,
    evidence_level,
    first_below,
    new_pool,
    new_rates,
    solve_rates,
)


class Exploration(NamedTuple):
    pool: Pool
    rates: Rates
    explored: Count  # (1,) s, rounds in which some arm was behind its rate


@policy(
    "points",
    paper="Combes, Magureanu, Proutiere 2017",
    examples=(
        {"lipschitz": 1.0},
        {"lipschitz": 1.0, "epsilon": 0.05, "gamma": 0.05},
        {"lipschitz": 1.0, "divergence": "gaussian", "sigma": 0.5},
    ),
)
class OSSB(PooledWithRates):
    """Optimal sampling for structured bandits, here with means that are Lipschitz.

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
    epsilon : number in [0, inf), default 0.0
        Share of exploring rounds that every arm has at least.
    gamma : number in [0, inf), default 0.0
        By what share an arm's pulls must exceed its rate.
    """

    epsilon: float = real(default=0.0, least=0)
    gamma: float = real(default=0.0, least=0)

    def init(self, arms):
        pool = new_pool(arms.distances, self.lipschitz)
        return Exploration(pool, new_rates(arms.number), np.zeros(1))

    @jit
    def select(self, state, context, rng):
        pool, rates, eligible = state.pool, state.rates, context.eligible
        arm = first_below(pool, 1.0, eligible)
        if arm >= 0:
            return arm
        f = evidence_level(self, pool)
        leader = argmax(pool.mean, eligible)
        solve_rates(rates, pool, self.divergence, self.sigma, leader, f, eligible)
        behind, ratio, least = -1, math.inf, -1
        for k in range(pool.pulls.shape[0]):
            if allowed(eligible, k):
                if least < 0 or pool.pulls[k] < pool.pulls[least]:
                    least = k
                if rates.c[k] > 0.0 and pool.pulls[k] / rates.c[k] < ratio:
                    behind, ratio = k, pool.pulls[k] / rates.c[k]
        if ratio >= (1.0 + self.gamma) * f:
            return leader
        state.explored[0] += 1.0
        return least if pool.pulls[least] <= self.epsilon * state.explored[0] else behind
