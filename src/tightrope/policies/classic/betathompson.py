"""Beta-Bernoulli Thompson sampling: play each arm as often as it is likely to be the best.

When to use it: rewards in [0, 1], delayed or batched feedback (its choices vary while nothing new is known).
Bound: regret / ln T -> the Lai-Robbins constant for 0/1 rewards.
Source: Agrawal, Goyal 2012, Algorithm 1; Kaufmann, Korda, Munos 2012, Theorem 1.
Deviations: rewards inside (0, 1) enter by their value instead of by a coin flip. Draws of priors below 0.2 are compared by their
log odds: at a = b = 0.1 one draw in 75 rounds to 1, at 0.001 half of them, and the lowest arm among them would win.
O(K) a round: one beta draw per arm.
"""

import math

import numpy as np

from ..._jit import jit
from ...numerics.counts import count, new_counts
from ...numerics.sampling import beta_draw, beta_logit_draw
from ...parameters import policy, real
from ...verbs import allowed, explain, init, reward_range, select, update

NODES = 400  # per arm in the integral behind probability
SMALL = 0.2  # prior parameters below this make draws that round to 0 or 1 often enough to matter
TINY = 1e-17  # below this x, P(Beta(a, b) < x) is x^a / (a B(a, b)) to the last digit


@policy("arms", paper="Agrawal, Goyal 2012")
class BetaThompson:
    """Thompson sampling with a Beta(a, b) prior for rewards in [0, 1].

    a, b: prior successes and failures, > 0 (at least 1e-100).
    """

    a: float = real(1.0, least=1e-100)
    b: float = real(1.0, least=1e-100)


@init.register(BetaThompson)
def init_betathompson(policy, arms):
    return new_counts(arms.number)


@select.register(BetaThompson)
@jit
def select_betathompson(policy, state, context, rng):
    best, top = -1, -math.inf
    by_odds = min(policy.a, policy.b) < SMALL
    for k in range(state.pulls.shape[0]):
        if allowed(context.eligible, k):
            a = policy.a + state.sums[k]
            if by_odds:
                draw = beta_logit_draw(a, policy.b + (state.pulls[k] - state.sums[k]), rng)  # b + 1 - 1 may be 0
            else:
                draw = beta_draw(a, policy.b + state.pulls[k] - state.sums[k], rng)
            if draw > top or best < 0:
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

    a, b = policy.a + state.sums, policy.b + (state.pulls - state.sums)
    posterior = beta(a, b)
    mean, lower, upper = a / (a + b), posterior.ppf(0.025), posterior.ppf(0.975)
    probability = best_of_betas(a, b, context.eligible)
    return {"mean": mean, "width": posterior.std(), "lower": lower, "upper": upper, "index": mean, "probability": probability}


def best_of_betas(a: np.ndarray, b: np.ndarray, eligible: np.ndarray | None) -> np.ndarray:
    """P(arm k has the largest of independent Beta(a_k, b_k) draws) among the eligible: int prod_{j != k} F_j dF_k on a common grid.

    The grid is one of log odds, so that it stays fine where draws crowd at 0 and 1.
    """
    chosen = np.arange(a.size) if eligible is None else np.flatnonzero(eligible)
    if chosen.size == 1:
        return np.asarray(np.arange(a.size) == chosen[0], dtype=np.float64)
    a, b, size = a[chosen, None], b[chosen, None], a.size
    tail = np.geomspace(1e-12, 0.01, 40)
    low = np.concatenate([[0.0], tail, np.linspace(0.01, 0.99, NODES), 1.0 - tail[::-1], [1.0]])
    high = np.concatenate([[1.0], 1.0 - tail, 1.0 - np.linspace(0.01, 0.99, NODES), tail[::-1], [0.0]])
    grid = np.unique(log_odds(low, high, a, b))
    cdf = share_below(grid, a, b)
    with np.errstate(divide="ignore"):
        log_cdf = np.log(0.5 * (cdf[:, 1:] + cdf[:, :-1]))
    others = np.stack([np.exp(np.delete(log_cdf, k, axis=0).sum(axis=0)) for k in range(chosen.size)])
    mass = (others * np.diff(cdf, axis=1)).sum(axis=1)
    probability = np.zeros(size)
    probability[chosen] = mass / mass.sum()
    return probability


def share_below(odds: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """P(ln(x / (1 - x)) < odds) for x from Beta(a, b)."""
    from scipy.special import betainc, betaln, expit

    def lower(odds: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:  # for odds <= 0
        x = expit(odds)
        return np.where(x < TINY, np.exp(np.minimum(a * odds - np.log(a) - betaln(a, b), 0.0)), betainc(a, b, x))

    return np.where(odds <= 0.0, lower(np.minimum(odds, 0.0), a, b), 1.0 - lower(np.minimum(-odds, 0.0), b, a))


def log_odds(low: np.ndarray, high: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """ln(x / (1 - x)) where P(X < x) = low and P(X > x) = high = 1 - low, for X from Beta(a, b)."""
    from scipy.special import betaincinv, betaln

    with np.errstate(divide="ignore"):
        x, rest = betaincinv(a, b, low), betaincinv(b, a, high)
        log_x = np.where(x < TINY, (np.log(low) + np.log(a) + betaln(a, b)) / a, np.log(x))
        log_rest = np.where(rest < TINY, (np.log(high) + np.log(b) + betaln(a, b)) / b, np.log(rest))
    return log_x - log_rest


def example():
    return [BetaThompson()]
