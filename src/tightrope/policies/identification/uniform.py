"""Uniform sampling with LinGapE's stop: what adaptive sampling has to beat.

When to use it: as the yardstick, or when traffic has to be split evenly anyway and only the end is adaptive.
Guarantee: as LinGapE's, whose confidence bound (Xu, Honda, Sugiyama 2018, Eqs 3 and 8) holds for any sampling rule.
The arm pulled least is next, ties to the lowest index. O(K d + d^2) a round.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._jit import jit, lean
from ...numerics.selection import argmax, one_hot
from ...parameters import flag, policy, real
from ...verbs import allowed, evidence, explain, init, recommend, select, stopped, tolerance, update
from ._gaps import LEADER, LOG_DET, MISSING, GapRidge, lead, learn_gaps, new_gaps
from .common import NOTHING_KNOWN, checked_features, error_estimate, forecast, gap_radius, most_ambiguous, report, unshrunk


@policy("features", paper="Xu, Honda, Sugiyama 2018, Eqs 3 and 8", stops=True)
class Uniform:
    """Round robin until LinGapE's bound closes.

    epsilon, delta, lam, noise, theta_bound, union: as for LinGapE.
    """

    epsilon: float = real(0.0, least=0)
    delta: float = real(0.05, above=0, below=1)
    lam: float = real(1.0, above=0)
    noise: float = real(1.0, above=0)
    theta_bound: float = real(1.0, least=0)
    union: bool = flag(True)


class State(NamedTuple):
    model: GapRidge
    decision: np.ndarray  # (3,) C, B and the challenger


@init.register(Uniform)
def init_uniform(policy, arms):
    return State(new_gaps(checked_features(arms, policy.epsilon, "Uniform"), policy.lam), np.array([math.inf, math.inf, 0.0]))


@select.register(Uniform)
@jit
def select_uniform(policy, state, context, rng):
    pulls = state.model.pulls
    best = -1
    for k in range(pulls.shape[0]):
        if allowed(context.eligible, k) and (best < 0 or pulls[k] < pulls[best]):
            best = k
    return best


@lean
def decide(policy, state):
    """Leader, challenger and B (Algorithm 2)."""
    mean = state.model.mean
    i = argmax(mean, None)
    lead(state.model, i)
    C = gap_radius(policy, state.model.numbers[LOG_DET], mean.shape[0])
    j, bound = most_ambiguous(mean, state.model.gap_square, i, C)
    state.decision[0], state.decision[1], state.decision[2] = C, bound, j


@update.register(Uniform)
@jit
def update_uniform(policy, state, context, action, reward):
    learn_gaps(state.model, action, reward)
    if state.model.numbers[MISSING] == 0.0:
        decide(policy, state)
    return state


@stopped.register(Uniform)
@jit
def stopped_uniform(policy, state):
    return state.decision[1] <= policy.epsilon


@recommend.register(Uniform)
@jit
def recommend_uniform(policy, state):
    return int(state.model.numbers[LEADER])


@tolerance.register(Uniform)
def tolerance_uniform(policy):
    return policy.epsilon


@evidence.register(Uniform)
def evidence_uniform(policy, state):
    model, i, K = state.model, int(state.model.numbers[LEADER]), state.model.mean.size
    if model.numbers[MISSING] > 0:
        return NOTHING_KNOWN
    left = 0.0
    if state.decision[1] > policy.epsilon:
        mean = unshrunk(model.features, model.pulls, model.sums)
        left = forecast(model.features, policy.lam, model.pulls, mean, int(np.argmax(mean)), policy.epsilon,
                        lambda log_det, pulls: gap_radius(policy, log_det, K), shares=np.full(K, 1.0 / K))  # fmt: skip
    error = error_estimate(model.mean, np.sqrt(model.gap_square), i, policy.epsilon, policy.noise)
    return {"gap_bound": float(state.decision[1]), "error": error, "samples_remaining": left}


@explain.register(Uniform)
def explain_uniform(policy, state, context, rng):
    model, (C, _, challenger) = state.model, state.decision
    probability = one_hot(select(policy, state, context, rng), model.mean.size)
    arms = report(model.mean, C, model.square, -model.pulls, probability, model.numbers[MISSING] == 0)
    return arms | evidence(policy, state) | {"leader": int(model.numbers[LEADER]), "challenger": int(challenger), "radius": float(C)}


def example():
    return [Uniform(epsilon=0.1, delta=0.1, noise=0.3)]
