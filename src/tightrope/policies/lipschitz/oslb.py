"""OSLB: explore at the rates of the regret lower bound, estimated from the data.

When to use it: to reach the asymptotic limit C(theta) ln T at very long horizons; at 1e4 to 1e6 rounds CKL-UCB has less regret.
Bound: limsup regret / ln T <= (1 + epsilon) C(theta) where the program has one solution (Theorem 5.2).
Source: Magureanu, Combes, Proutiere 2014, Algorithm 1.
Deviations: arms never pulled come first; f(n) = ln n + loglog ln ln n with loglog = 0 by default (the paper: 3K + 1); K_e is
{t_k <= c_k f(n)} (the paper prints ln n, with which it can be empty while exploring); where it still is empty, because arms tie
with the leader, the least-played arm with an index above the leader's mean is played.
O(K^2) a round at worst, and one linear program (about K pivots of O(K^2)) in exploring rounds only.
"""

import math
from typing import Any, NamedTuple

from ..._jit import jit, lean
from ...numerics.kl import DIVERGENCES, exploration
from ...numerics.selection import argmax, one_hot
from ...parameters import choice, policy, real, real_or
from ...verbs import allowed, explain, init, reward_range, select, update
from ._pool import first_below, learn, least_played_above, new_pool, prove, unrivalled
from ._rates import Rates, new_rates, report, solve_rates


@policy("points", paper="Magureanu, Combes, Proutiere 2014, Algorithm 1")
class OSLB:
    """Optimal sampling for Lipschitz bandits.

    lipschitz: L > 0, a bound on |mean difference| / distance. epsilon: share of forced exploration of the least-played arm.
    loglog: weight of ln ln n in f(n), or "theory" for 3K + 1. divergence: "bernoulli" (rewards in [0, 1]) or "gaussian" with
    standard deviation sigma.
    """

    lipschitz: float = real(above=0)
    epsilon: float = real(0.05, above=0)
    loglog: float = real_or(0.0, ("theory",), least=0)
    divergence: int = choice(*DIVERGENCES)
    sigma: float = real(1.0, above=0)


class State(NamedTuple):
    pool: Any
    rates: Rates


@init.register(OSLB)
def init_oslb(policy, arms):
    return State(new_pool(arms.distances, policy.lipschitz), new_rates(arms.number))


@lean
def level_of(policy, pool):
    """f(n)."""
    weight = policy.loglog if policy.loglog >= 0.0 else 3.0 * pool.pulls.shape[0] + 1.0
    return exploration(pool.rounds[0] + 1.0, weight)


@select.register(OSLB)
@jit
def select_oslb(policy, state, context, rng):
    pool, rates, eligible = state.pool, state.rates, context.eligible
    arm = first_below(pool, 1.0, eligible)
    if arm >= 0:
        return arm
    f = level_of(policy, pool)
    leader = argmax(pool.mean, eligible)
    if eligible is None and unrivalled(pool, policy.divergence, policy.sigma, leader, f, True):
        return leader
    rival = least_played_above(pool, policy.divergence, policy.sigma, leader, pool.mean[leader], f, eligible)
    if rival < 0:
        if eligible is None:
            prove(pool, policy.divergence, policy.sigma, leader, f)
        return leader
    solve_rates(rates, pool, policy.divergence, policy.sigma, leader, f, eligible)
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
    return least if pool.pulls[least] < policy.epsilon / pool.pulls.shape[0] * pool.pulls[explored] else explored


@update.register(OSLB)
@jit
def update_oslb(policy, state, context, action, reward):
    learn(state.pool, policy.divergence, action, reward)
    return state


@reward_range.register(OSLB)
def reward_range_oslb(policy):
    return (0.0, 1.0) if policy.divergence == 0 else (-math.inf, math.inf)


@explain.register(OSLB)
def explain_oslb(policy, state, context, rng):
    found = report(state.pool, policy.divergence, policy.sigma, level_of(policy, state.pool), context.eligible)
    solves = int(state.rates.solves[0])
    chosen = select(policy, state, context, rng)
    return found | {"probability": one_hot(chosen, state.pool.pulls.size), "programs_solved": solves}


def example():
    return [OSLB(lipschitz=1.0), OSLB(lipschitz=1.0, divergence="gaussian", sigma=0.5)]
