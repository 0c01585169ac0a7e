"""CKL-UCB: explore, least played first, the arms that all rewards together allow to beat the leader.

When to use it: arms are points with a metric and the slope of the mean is bounded by a known L: prices, doses, bids, settings.
Bound: finite-time O(log T) with a constant between C(theta) and that of KL-UCB (the paper's Section 5.3).
Source: Magureanu, Combes, Proutiere 2014, Algorithm 2.
Deviations: arms never pulled come first (the paper gives them mean 0); f(n) = ln n + loglog ln ln n with loglog = 0 by default
(the paper's analysis uses 3K + 1); b_k > b_leader is decided by S_k(b_leader) < f(n) - 1e-9, without finding b_k.
With context-arm pairs as arms and the current context's pairs eligible, the leader, the candidates and the least played are
taken over the eligible arms and S_k sums over all. Usually O(K) a round, at worst O(K^2).
"""

import math

from ..._jit import jit, lean
from ...numerics.kl import DIVERGENCES, exploration
from ...numerics.selection import argmax, one_hot
from ...parameters import choice, flag, policy, real, real_or
from ...verbs import explain, init, reward_range, select, update
from ._pool import first_below, index, learn, least_played_above, new_pool, prove, unrivalled
from ._rates import report


@policy("points", paper="Magureanu, Combes, Proutiere 2014, Algorithm 2")
class CKLUCB:
    """Optimism by pooled evidence; the least-played arm that may beat the leader is explored.

    lipschitz: L > 0, a bound on |mean difference| / distance. loglog: weight of ln ln n in f(n), or "theory" for 3K + 1. forced:
    play any arm with fewer than ln ln n pulls first. divergence: "bernoulli" (rewards in [0, 1]) or "gaussian" with standard
    deviation sigma.
    """

    lipschitz: float = real(above=0)
    loglog: float = real_or(0.0, ("theory",), least=0)
    forced: bool = flag(True)
    divergence: int = choice(*DIVERGENCES)
    sigma: float = real(1.0, above=0)


@init.register(CKLUCB)
def init_cklucb(policy, arms):
    return new_pool(arms.distances, policy.lipschitz)


@lean
def level_of(policy, state):
    """f(n)."""
    weight = policy.loglog if policy.loglog >= 0.0 else 3.0 * state.pulls.shape[0] + 1.0
    return exploration(state.rounds[0] + 1.0, weight)


@lean
def must_play(policy, state, eligible):
    """An eligible arm that was never pulled, or that forced exploration asks for, or -1."""
    arm = first_below(state, 1.0, eligible)
    n = state.rounds[0] + 1.0
    if arm < 0 and policy.forced and n > 2.0:
        arm = first_below(state, math.log(math.log(n)), eligible)
    return arm


@select.register(CKLUCB)
@jit
def select_cklucb(policy, state, context, rng):
    arm = must_play(policy, state, context.eligible)
    if arm >= 0:
        return arm
    f = level_of(policy, state)
    leader = argmax(state.mean, context.eligible)
    if context.eligible is None and unrivalled(state, policy.divergence, policy.sigma, leader, f, False):
        return leader
    b = index(state, policy.divergence, policy.sigma, leader, f)
    arm = least_played_above(state, policy.divergence, policy.sigma, leader, b, f, context.eligible)
    if arm >= 0:
        return arm
    if context.eligible is None:
        prove(state, policy.divergence, policy.sigma, leader, f)
    return leader


@update.register(CKLUCB)
@jit
def update_cklucb(policy, state, context, action, reward):
    learn(state, policy.divergence, action, reward)
    return state


@reward_range.register(CKLUCB)
def reward_range_cklucb(policy):
    return (0.0, 1.0) if policy.divergence == 0 else (-math.inf, math.inf)


@explain.register(CKLUCB)
def explain_cklucb(policy, state, context, rng):
    found = report(state, policy.divergence, policy.sigma, level_of(policy, state), context.eligible)
    chosen = select(policy, state, context, rng)
    return found | {"probability": one_hot(chosen, state.pulls.size)}


def example():
    return [
        CKLUCB(lipschitz=1.0),
        CKLUCB(lipschitz=0.5, loglog="theory", forced=False),
        CKLUCB(lipschitz=1.0, divergence="gaussian", sigma=0.5),
    ]
