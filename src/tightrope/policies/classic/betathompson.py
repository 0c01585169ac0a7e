"""Beta-Bernoulli Thompson sampling: play each arm as often as it is likely to be the best.

When to use it: rewards in [0, 1], delayed or batched feedback (its choices vary while nothing new is known).
Bound: regret / ln T -> the Lai-Robbins constant for 0/1 rewards.
Source: Agrawal, Goyal 2012, Algorithm 1; Kaufmann, Korda, Munos 2012, Theorem 1.
Deviation: rewards inside (0, 1) enter by their value instead of by a coin flip.
O(K) a round: one beta draw per arm.
"""

import math

import numpy as np

from ..._jit import jit
from ...numerics.counts import count, new_counts
from ...numerics.sampling import beta_draw
from ...parameters import policy, real
from ...verbs import allowed, explain, init, reward_range, select, update

NODES = 400  # per arm in the integral behind probability


@policy("arms", paper="Agrawal, Goyal 2012")
class BetaThompson:
    """Thompson sampling with a Beta(a, b) prior for rewards in [0, 1].

    a, b: prior successes and failures, > 0.
    """

    a: float = real(1.0, above=0)
    b: float = real(1.0, above=0)


@init.register(BetaThompson)
def init_betathompson(policy, arms):
    return new_counts(arms.number)


@select.register(BetaThompson)
@jit
def select_betathompson(policy, state, context, rng):
    best, top = -1, -math.inf
    for k in range(state.pulls.shape[0]):
        if allowed(context.eligible, k):
            draw = beta_draw(policy.a + state.sums[k], policy.b + state.pulls[k] - state.sums[k], rng)
            if draw > top:
                best, top = k, draw
    return best


@update.register(BetaThompson)
@jit
def update_betathompson(policy, state, context, action, reward):
    return count(state, action, reward)


@reward_range.register(BetaThompson)
def reward_range_betathompson(policy):
    return 0.0, 1.0


@explain.register(BetaThompson)
def explain_betathompson(policy, state, context, rng):
    from scipy.stats import beta

    a, b = policy.a + state.sums, policy.b + state.pulls - state.sums
    posterior = beta(a, b)
    mean, lower, upper = a / (a + b), posterior.ppf(0.025), posterior.ppf(0.975)
    probability = best_of_betas(a, b, context.eligible)
    return {"mean": mean, "width": posterior.std(), "lower": lower, "upper": upper, "index": mean, "probability": probability}


def best_of_betas(a: np.ndarray, b: np.ndarray, eligible: np.ndarray | None) -> np.ndarray:
    """P(arm k has the largest of independent Beta(a_k, b_k) draws) among the eligible: int prod_{j != k} F_j dF_k on a common grid."""
    from scipy.stats import beta

    chosen = np.arange(a.size) if eligible is None else np.flatnonzero(eligible)
    if chosen.size == 1:
        return np.asarray(np.arange(a.size) == chosen[0], dtype=np.float64)
    a, b, size = a[chosen], b[chosen], a.size
    tails = np.concatenate([[0.0], np.geomspace(1e-12, 0.01, 40), np.linspace(0.01, 0.99, NODES), 1 - np.geomspace(0.01, 1e-12, 40), [1.0]])
    grid = np.unique(beta.ppf(tails[None, :], a[:, None], b[:, None]))
    cdf = beta.cdf(grid[None, :], a[:, None], b[:, None])
    with np.errstate(divide="ignore"):
        log_cdf = np.log(0.5 * (cdf[:, 1:] + cdf[:, :-1]))
    others = np.stack([np.exp(np.delete(log_cdf, k, axis=0).sum(axis=0)) for k in range(chosen.size)])
    mass = (others * np.diff(cdf, axis=1)).sum(axis=1)
    probability = np.zeros(size)
    probability[chosen] = mass / mass.sum()
    return probability


def example():
    return [BetaThompson()]
