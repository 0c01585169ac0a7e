"""LinUCB: optimism when the mean is linear in the arm's features.

When to use it: many arms that share features, also with new features every round; with shared=False a few arms that are all shown one
context (a user, a request) and differ in what it means for them.
Bound: O(d sqrt(T) log T) pseudo-regret with probability 1 - delta.
Source: Abbasi-Yadkori, Pal, Szepesvari 2011 (radius="determinant"); Yang & Toni 2020, Eq 5 (radius="horizon"); Li, Chu, Langford,
Schapire 2010, Algorithm 1 (shared=False, with beta as its alpha); Russac, Vernade,
Cappe 2019, arXiv 1909.09146 (forget: theta may drift; two matrices).
Deviation: where no horizon is known, as in a service, radius="horizon" falls back to the anytime "determinant". With
shared=False either radius holds for all arms at once (delta / K each; the largest determinant).
Per round: O(min(K^2, K d + d^2)) with fixed arms, O(K d^2) with new features, shared=False or
forget < 1, which adds O(d^3).
"""

import math
from typing import NamedTuple

import numpy as np

from ..._jit import jit, lean
from ...numerics.counts import intervals
from ...numerics.growth import longer_ridge
from ...numerics.merging import merged_ridge
from ...numerics.radii import determinant_radius, horizon_radius
from ...numerics.ridge import Ridge, check_context, learn, new_model, predict, regressions, remembered
from ...numerics.selection import argmax, one_hot
from ...parameters import choice, flag, optional_real, policy, real
from ...registry import Policy
from ...verbs import admit, explain, grow, init, merge, select, update


@policy("features", "contexts", paper="Abbasi-Yadkori, Pal, Szepesvari 2011; Yang & Toni 2020, Eq 5")
class LinUCB(Policy):
    """Optimism for linear rewards: x'theta_hat + beta ||x||_{V^-1}.

    lam: ridge parameter. delta: probability that the confidence set fails. noise: sub-Gaussian scale of the rewards.
    theta_bound: bound on ||theta||. beta: a fixed width instead. radius: where beta comes from otherwise.
    shared: one theta for all arms; False: one for each, learned from the arm's own rewards.
    forget: what a reward's weight is multiplied by each round, in (0, 1], where theta drifts; 1: all count the same for ever.
    """

    lam: float = real(1.0, above=0)
    delta: float = real(0.1, above=0, below=1)
    noise: float = real(1.0, least=0)
    theta_bound: float = real(1.0, least=0)
    beta: float = optional_real(least=0, words="from radius")
    radius: int = choice("horizon", "determinant")
    shared: bool = flag(True)
    forget: float = real(1.0, above=0, most=1)


class State(NamedTuple):
    model: Ridge
    beta: np.ndarray  # (1,) fixed radius; NaN: from the determinant
    scores: np.ndarray  # (K,) scratch


@init.register(LinUCB)
def init_linucb(policy, arms):
    model, beta = new_model(arms, policy.lam, shared=policy.shared, forget=policy.forget), policy.beta
    if math.isnan(beta) and policy.radius == 0 and arms.horizon is not None:
        delta, rounds = policy.delta / regressions(model), remembered(arms.horizon, policy.forget)
        beta = horizon_radius(policy.noise, delta, arms.dimension, rounds, policy.lam, policy.theta_bound)
    return State(model, np.array([beta]), np.zeros(arms.number))


@lean
def current_beta(policy, state):
    """The radius of this round."""
    if math.isnan(state.beta[0]):
        return determinant_radius(policy.noise, policy.delta, state.model.log_det[0], policy.lam, policy.theta_bound)
    return state.beta[0]


@select.register(LinUCB)
@jit
def select_linucb(policy, state, context, rng):
    predict(state.model, context)
    beta = current_beta(policy, state)
    for k in range(state.scores.shape[0]):
        state.scores[k] = state.model.mean[k] + beta * math.sqrt(state.model.square[k])
    return argmax(state.scores, context.eligible)


@update.register(LinUCB)
@jit
def update_linucb(policy, state, context, action, reward):
    learn(state.model, context, action, reward)
    return state


@admit.register(LinUCB)
def admit_linucb(policy, state, context):
    check_context(state.model, context.features)


@grow.register(LinUCB)
def grow_linucb(policy, state, arms):
    return State(longer_ridge(state.model, arms, policy.lam), state.beta, np.zeros(arms.number))


@merge.register(LinUCB)
def merge_linucb(policy, first, second):
    return State(merged_ridge(first.model, second.model), first.beta.copy(), np.zeros(first.scores.size))


@explain.register(LinUCB)
def explain_linucb(policy, state, context, rng):
    predict(state.model, context)
    beta = current_beta(policy, state)
    report = intervals(state.model.mean.copy(), beta * np.sqrt(state.model.square))
    probability = one_hot(argmax(report["upper"], context.eligible), state.scores.size)
    return report | {"index": report["upper"], "probability": probability, "beta": beta}


def example():
    return [LinUCB(), LinUCB(shared=False)]
