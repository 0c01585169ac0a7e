"""LinGapE: name an epsilon-best arm of a linear bandit with few samples.

When to use it: an experiment that should end as soon as the winner is known, arms with shared features (factorial variants).
Guarantee: mean of the named arm >= best mean - epsilon with probability >= 1 - delta (Theorem 1), for noise that is sub-Gaussian
with scale `noise` and ||theta|| <= theta_bound.
Source: Xu, Honda, Sugiyama 2018, "A fully adaptive algorithm for pure exploration in linear bandits", Algorithms 1-2, Eqs 3, 8-12.
Deviations: `union=False` drops K^2 from Eq 3 (Theorem 1 holds without it: Proposition 2 covers all directions at once, by the
norm of A); `batch_growth` > 0 decides again only when the number of samples grew by that factor.
O(K d + d^2) a round; a new leader O(K d^2); rule="ratio" solves an LP of O(K d^2) the first time a pair appears.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._jit import jit
from ...numerics.counts import intervals
from ...numerics.gaps import GapRidge, greedy_scores, lead, learn_gaps, new_gaps
from ...numerics.radii import determinant_radius
from ...numerics.ties import argmax, first_unpulled, one_hot
from ...parameters import choice, flag, policy, real
from ...solvers.lp import Tableau, least_l1, new_tableau
from ...verbs import allowed, evidence, explain, init, recommend, select, stopped, update
from .common import checked_features, error_estimate, forecast

GREEDY, RATIO = 0, 1
MOST_PAIRS = 1024  # optimal ratios kept; a pair that lost its place is solved again
SUPPORT = 1e-9  # a smaller share of the ratio is a zero of the LP


@policy("features", paper="Xu, Honda, Sugiyama 2018, Algorithm 1", stops=True)
class LinGapE:
    """Compare the apparent best arm with its most ambiguous rival, sample what tells them apart, stop when nothing is left open.

    epsilon: how much worse than the best the named arm may be. delta: probability of a worse one. lam: ridge parameter. noise:
    sub-Gaussian scale of the rewards. theta_bound: bound on ||theta||. union: the paper's K^2 in the radius (False: 10-15 % fewer
    samples, same guarantee). rule: which arm to sample, Eq 9 or Eq 12. batch_growth: decide again after so much growth; 0 = always.
    """

    epsilon: float = real(0.0, least=0)
    delta: float = real(0.05, above=0, below=1)
    lam: float = real(1.0, above=0)
    noise: float = real(1.0, above=0)
    theta_bound: float = real(1.0, least=0)
    union: bool = flag(True)
    rule: int = choice("greedy", "ratio")
    batch_growth: float = real(0.0, least=0)


class State(NamedTuple):
    model: GapRidge
    radius: np.ndarray  # (1,) C
    gap_bound: np.ndarray  # (1,) B
    challenger: np.ndarray  # (1,) j; the leader i is in the model
    due: np.ndarray  # (1,) round of the next decision
    scores: np.ndarray  # (K,) what a pull takes off the squared width (greedy), or p (ratio)
    pairs: np.ndarray  # (slots,) which pair's ratio a slot holds, -1: none
    ratios: np.ndarray  # (slots, K)
    tableau: Tableau


@init.register(LinGapE)
def _(policy, arms):
    X = checked_features(arms, policy.epsilon, "LinGapE")
    K, d = X.shape
    slots = min(K * (K - 1) // 2, MOST_PAIRS) if policy.rule == RATIO else 0
    return State(
        new_gaps(X, policy.lam), np.full(1, math.inf), np.full(1, math.inf), np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(K),
        np.full(slots, -1, dtype=np.int64), np.zeros((slots, K)), new_tableau(K, d) if slots else new_tableau(0, 0),
    )  # fmt: skip


@jit
def radius_of(policy, log_det, K):
    """C of Eq 3; log_det is that of A / lam."""
    return determinant_radius(policy.noise, policy.delta / (K * K if policy.union else 1), log_det, policy.lam, policy.theta_bound)


@jit
def decide(policy, state):
    """Leader, challenger and B (Algorithm 2), then what to sample (Eq 9 or Eqs 10-11)."""
    model = state.model
    K = model.mean.shape[0]
    i = argmax(model.mean, None)
    lead(model, i)
    C = radius_of(policy, model.log_det[0], K)
    j, bound = i, -math.inf
    for k in range(K):
        if k != i:
            value = model.mean[k] - model.mean[i] + C * math.sqrt(model.gap_square[k])
            if value > bound:
                j, bound = k, value
    state.radius[0], state.gap_bound[0], state.challenger[0] = C, bound, j
    state.due[0] = model.rounds[0] * (1.0 + policy.batch_growth)
    if policy.rule == GREEDY or i == j:
        greedy_scores(model, i, j, state.scores)
    else:
        ratio_of(state, min(i, j), max(i, j))


@jit
def ratio_of(state, i, j):
    """scores <- p of Eq 10 for the pair i < j; the same for y and -y."""
    pair = j * (j - 1) // 2 + i
    slot = pair % state.pairs.shape[0]
    ratio = state.ratios[slot]
    if state.pairs[slot] != pair:
        y = state.model.direction
        for p in range(y.shape[0]):
            y[p] = state.model.features[i, p] - state.model.features[j, p]
        least_l1(state.model.features, y, state.tableau, ratio)
        total = 0.0
        for a in range(ratio.shape[0]):
            total += abs(ratio[a])
        for a in range(ratio.shape[0]):
            ratio[a] = abs(ratio[a]) / total
        state.pairs[slot] = pair
    for a in range(ratio.shape[0]):
        state.scores[a] = ratio[a]


@jit
def furthest_behind(state, eligible):
    """argmin T_a / p_a over p_a > 0 (Eq 12); where none of them is eligible, the arm pulled least."""
    best, least, fallback = -1, math.inf, -1
    for a in range(state.scores.shape[0]):
        if allowed(eligible, a):
            if fallback < 0 or state.model.pulls[a] < state.model.pulls[fallback]:
                fallback = a
            if state.scores[a] > SUPPORT and state.model.pulls[a] / state.scores[a] < least:
                best, least = a, state.model.pulls[a] / state.scores[a]
    return best if best >= 0 else fallback


@select.register(LinGapE)
@jit
def _(policy, state, context, rng):
    if state.model.missing[0] > 0.0:
        arm = first_unpulled(state.model.pulls, context.eligible)
        if arm >= 0:
            return arm
    if policy.rule == GREEDY:
        return argmax(state.scores, context.eligible)
    return furthest_behind(state, context.eligible)


@update.register(LinGapE)
@jit
def _(policy, state, context, action, reward):
    learn_gaps(state.model, action, reward)
    if state.model.missing[0] == 0.0 and state.model.rounds[0] >= state.due[0]:
        decide(policy, state)
    return state


@stopped.register(LinGapE)
@jit
def _(policy, state):
    return state.gap_bound[0] <= policy.epsilon


@recommend.register(LinGapE)
@jit
def _(policy, state):
    return state.model.leader[0]


@evidence.register(LinGapE)
def _(policy, state):
    model, i = state.model, int(state.model.leader[0])
    if model.missing[0] > 0:
        return {"gap_bound": math.inf, "error": 1.0, "samples_remaining": math.inf}
    left = 0.0
    if state.gap_bound[0] > policy.epsilon:
        left = forecast(model.features, policy.lam, model.pulls, model.mean, i, policy.epsilon,
                        lambda log_det, pulls: radius_of(policy, log_det, model.mean.size))  # fmt: skip
    error = error_estimate(model.mean, np.sqrt(model.gap_square), i, policy.epsilon, policy.noise)
    return {"gap_bound": float(state.gap_bound[0]), "error": error, "samples_remaining": left}


@explain.register(LinGapE)
def _(policy, state, context, rng):
    model = state.model
    known = model.missing[0] == 0
    report = intervals(np.where(known, model.mean, np.nan), state.radius[0] * np.sqrt(model.square) if known else np.full(model.mean.size, np.inf))
    name = "direction_scores" if policy.rule == GREEDY else "design"
    return report | evidence(policy, state) | {
        "index": state.scores.copy(), "probability": one_hot(select(policy, state, context, rng), model.mean.size),
        "leader": int(model.leader[0]), "challenger": int(state.challenger[0]), "radius": float(state.radius[0]),
        name: state.scores.copy(),
    }  # fmt: skip


def example():
    shared = {"epsilon": 0.1, "delta": 0.1, "noise": 0.3}
    return [LinGapE(**shared), LinGapE(**shared, rule="ratio"), LinGapE(**shared, batch_growth=0.1, union=False)]
