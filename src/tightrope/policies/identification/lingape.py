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
from typing import Any, NamedTuple

import numpy as np

from ..._jit import jit, lean
from ...numerics.selection import argmax, one_hot
from ...parameters import choice, flag, policy, real
from ...solvers.lp import Tableau, least_l1, new_tableau
from ...verbs import evidence, explain, init, recommend, select, stopped, tolerance, update, verb
from ._gaps import LEADER, LOG_DET, MISSING, ROUNDS, GapRidge, greedy_scores, lead, learn_gaps, new_gaps
from .common import NOTHING_KNOWN, checked_features, error_estimate, forecast, furthest_behind, gap_radius, most_ambiguous, report, unshrunk

MOST_PAIRS = 1024  # optimal ratios kept; a pair that lost its place is solved again


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


class Greedy(NamedTuple):
    scores: np.ndarray  # (K,) what one more pull takes off the squared width


class Ratio(NamedTuple):
    scores: np.ndarray  # (K,) the optimal ratio p of the pair in question
    pairs: np.ndarray  # (slots,) which pair's ratio a slot holds, -1: none
    ratios: np.ndarray  # (slots, K)
    tableau: Tableau


class State(NamedTuple):
    model: GapRidge  # with the leader i
    sampling: Any  # Greedy or Ratio
    decision: np.ndarray  # (4,) see RADIUS ..


RADIUS = 0  # C
BOUND = 1  # B
CHALLENGER = 2  # j
DUE = 3  # the round of the next decision


@init.register(LinGapE)
def init_lingape(policy, arms):
    X = checked_features(arms, policy.epsilon, "LinGapE")
    K, d = X.shape
    slots = max(min(K * (K - 1) // 2, MOST_PAIRS), 1)
    ratio = (np.full(slots, -1, dtype=np.int64), np.zeros((slots, K)), new_tableau(K, d)) if policy.rule else ()
    scores = np.ones(K)  # until every arm was pulled: 1 for those that were not
    sampling = Ratio(scores, *ratio) if policy.rule else Greedy(scores)
    return State(new_gaps(X, policy.lam), sampling, np.array([math.inf, math.inf, 0.0, 0.0]))


@verb()
def aim(sampling, model, i, j):
    """Prepare to sample what tells arms i and j apart."""


@verb()
def sample(sampling, model, eligible):
    """The arm to sample now."""


@aim.register(Greedy)
@lean
def aim_greedy(sampling, model, i, j):
    greedy_scores(model, i, j, sampling.scores)


@sample.register(Greedy)
@lean
def sample_greedy(sampling, model, eligible):
    return argmax(sampling.scores, eligible)


@aim.register(Ratio)
@jit
def aim_ratio(sampling, model, i, j):
    """p of Eq 10, the same for y and -y, from the LP of Eq 11."""
    low, high = min(i, j), max(i, j)
    pair = high * (high - 1) // 2 + low
    slot = pair % sampling.pairs.shape[0]
    ratio = sampling.ratios[slot]
    if i != j and sampling.pairs[slot] != pair:
        y = model.direction
        for p in range(y.shape[0]):
            y[p] = model.features[low, p] - model.features[high, p]
        least_l1(model.features, y, sampling.tableau, ratio)
        total = 0.0
        for a in range(ratio.shape[0]):
            total += abs(ratio[a])
        for a in range(ratio.shape[0]):
            ratio[a] = abs(ratio[a]) / total
        sampling.pairs[slot] = pair
    for a in range(ratio.shape[0]):
        sampling.scores[a] = ratio[a]


@sample.register(Ratio)
@jit
def sample_ratio(sampling, model, eligible):
    return furthest_behind(model.pulls, sampling.scores, eligible)


@lean
def decide(policy, state):
    """Leader, challenger and B (Algorithm 2), then what to sample (Eq 9 or Eqs 10-11)."""
    mean, squares = state.model.mean, state.model.gap_square
    i = argmax(mean, None)
    lead(state.model, i)
    C = gap_radius(policy, state.model.numbers[LOG_DET], mean.shape[0])
    j, bound = most_ambiguous(mean, squares, i, C)
    decision = state.decision
    decision[RADIUS], decision[BOUND], decision[CHALLENGER] = C, bound, j
    decision[DUE] = state.model.numbers[ROUNDS] * (1.0 + policy.batch_growth)
    aim(state.sampling, state.model, i, j)


@select.register(LinGapE)
@jit
def select_lingape(policy, state, context, rng):
    return sample(state.sampling, state.model, context.eligible)


@update.register(LinGapE)
@jit
def update_lingape(policy, state, context, action, reward):
    learn_gaps(state.model, action, reward)
    if state.model.numbers[MISSING] > 0.0:
        state.sampling.scores[action] = 0.0
    elif state.model.numbers[ROUNDS] >= state.decision[DUE]:
        decide(policy, state)
    return state


@stopped.register(LinGapE)
@jit
def stopped_lingape(policy, state):
    return state.decision[BOUND] <= policy.epsilon


@recommend.register(LinGapE)
@jit
def recommend_lingape(policy, state):
    return int(state.model.numbers[LEADER])


@tolerance.register(LinGapE)
def tolerance_lingape(policy):
    return policy.epsilon


@evidence.register(LinGapE)
def evidence_lingape(policy, state):
    model, i = state.model, int(state.model.numbers[LEADER])
    if model.numbers[MISSING] > 0:
        return NOTHING_KNOWN
    left = 0.0
    if state.decision[BOUND] > policy.epsilon:
        mean = unshrunk(model.features, model.pulls, model.sums)
        left = forecast(model.features, policy.lam, model.pulls, mean, int(np.argmax(mean)), policy.epsilon,
                        lambda log_det, pulls: gap_radius(policy, log_det, model.mean.size))  # fmt: skip
    error = error_estimate(model.mean, np.sqrt(model.gap_square), i, policy.epsilon, policy.noise)
    return {"gap_bound": float(state.decision[BOUND]), "error": error, "samples_remaining": left}


@explain.register(LinGapE)
def explain_lingape(policy, state, context, rng):
    model, decision = state.model, state.decision
    probability = one_hot(select(policy, state, context, rng), model.mean.size)
    arms = report(model.mean, decision[RADIUS], model.square, state.sampling.scores, probability, model.numbers[MISSING] == 0)
    return arms | evidence(policy, state) | {
        "leader": int(model.numbers[LEADER]), "challenger": int(decision[CHALLENGER]), "radius": float(decision[RADIUS]),
        "design" if policy.rule else "direction_scores": state.sampling.scores.copy(),
    }  # fmt: skip


def example():
    shared = {"epsilon": 0.1, "delta": 0.1, "noise": 0.3}
    return [LinGapE(**shared), LinGapE(**shared, rule="ratio"), LinGapE(**shared, batch_growth=0.1, union=False)]
