"""XY-static allocation: shrink the widest difference of arms, whatever the rewards say.

When to use it: as the baseline of Xu, Honda, Sugiyama 2018, or when the sampling plan has to be fixed in advance.
Guarantee: the named arm is the best with probability >= 1 - delta for noise bounded by `noise` (constant = 2 sqrt(2)); for
sub-Gaussian noise constant = sqrt(2) is enough.
Source: Soare, Lazaric, Munos 2014, Proposition 1 and section 4; Xu, Honda, Sugiyama 2018, Eqs 2 and 5.
Deviations: every arm is pulled once first instead of a ridge parameter; exact ties are broken at random. `epsilon` > 0 stops as
soon as the best is known up to epsilon.
O(K^3) a round at most, less where the search is cut short.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._jit import jit
from ...numerics.radii import static_factor
from ...numerics.selection import argmax, first_unpulled
from ...parameters import policy, real
from ...verbs import evidence, explain, init, recommend, select, stopped, tolerance, update
from ._gaps import MISSING, ROUNDS, PairRidge, learn_pairs, new_pairs, spanning
from .common import (
    NOTHING_KNOWN,
    SQRT8,
    after_one_pull,
    before_estimates,
    checked_features,
    error_estimate,
    forecast,
    most_ambiguous,
    report,
    shared_equally,
    shrinking_arm,
    tied_best,
)


@policy("features", paper="Soare, Lazaric, Munos 2014", stops=True)
class XYStatic:
    """Sample what most shrinks the widest of all differences; stop when the empirical best beats every other arm by more than the bound.

    epsilon, delta: as for LinGapE. noise: scale of the rewards. constant: of the bound, 2 sqrt(2) or sqrt(2).
    """

    epsilon: float = real(0.0, least=0)
    delta: float = real(0.05, above=0, below=1)
    noise: float = real(1.0, above=0)
    constant: float = real(SQRT8, above=0)


class State(NamedTuple):
    model: PairRidge
    everyone: np.ndarray  # (K,) bool, True
    decision: np.ndarray  # (4,) factor of the widths, B, leader, challenger


@init.register(XYStatic)
def init_xystatic(policy, arms):
    X = spanning(checked_features(arms, policy.epsilon, "XYStatic"))
    return State(new_pairs(X, 0.0), np.ones(len(X), dtype=np.bool_), np.array([math.inf, math.inf, 0.0, 0.0]))


@select.register(XYStatic)
@jit
def select_xystatic(policy, state, context, rng):
    model = state.model
    arm = first_unpulled(model.pulls, context.eligible) if model.numbers[MISSING] > 0.0 else -1
    if arm < 0:
        arm = shrinking_arm(model.product, model.pair_square, state.everyone, context.eligible, rng)
    return arm


@update.register(XYStatic)
@jit
def update_xystatic(policy, state, context, action, reward):
    model = state.model
    learn_pairs(model, action, reward)
    if model.numbers[MISSING] == 0.0:
        K = model.mean.shape[0]
        i = argmax(model.mean, None)
        factor = static_factor(policy.constant, policy.noise, model.numbers[ROUNDS], K, policy.delta)
        j, bound = most_ambiguous(model.mean, model.pair_square[i], i, factor)
        decision = state.decision
        decision[0], decision[1], decision[2], decision[3] = factor, bound, i, j
    return state


@stopped.register(XYStatic)
@jit
def stopped_xystatic(policy, state):
    return state.decision[1] < policy.epsilon


@recommend.register(XYStatic)
@jit
def recommend_xystatic(policy, state):
    return int(state.decision[2])


@tolerance.register(XYStatic)
def tolerance_xystatic(policy):
    return policy.epsilon


@evidence.register(XYStatic)
def evidence_xystatic(policy, state):
    model, i, K = state.model, int(state.decision[2]), state.model.mean.size
    if model.numbers[MISSING] > 0:
        return NOTHING_KNOWN
    left = 0.0
    if state.decision[1] >= policy.epsilon:
        left = forecast(model.features, 0.0, model.pulls, model.mean, i, policy.epsilon,
                        lambda log_det, pulls: static_factor(policy.constant, policy.noise, pulls.sum(), K, policy.delta),
                        shares=model.pulls / model.pulls.sum())  # fmt: skip
    error = error_estimate(model.mean, np.sqrt(model.pair_square[i]), i, policy.epsilon, policy.noise)
    return {"gap_bound": float(state.decision[1]), "error": error, "samples_remaining": left}


@explain.register(XYStatic)
def explain_xystatic(policy, state, context, rng):
    model, (factor, _, leader, challenger) = state.model, state.decision
    known = model.numbers[MISSING] == 0
    if known:
        index = -after_one_pull(model.product, model.pair_square, state.everyone)
        probability = shared_equally(tied_best(-index, context.eligible))
    else:
        index = -model.pulls
        probability = before_estimates(model.pulls, context.eligible)
    arms = report(model.mean, factor, np.diag(model.product), index, probability, known)
    return arms | evidence(policy, state) | {"leader": int(leader), "challenger": int(challenger), "radius": float(factor)}


def example():
    return [XYStatic(epsilon=0.1, delta=0.1, noise=0.3)]
