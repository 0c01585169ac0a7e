"""XY-adaptive allocation: XY-static in phases, each for the arms that the phase before could not rule out.

When to use it: as the baseline of Xu, Honda, Sugiyama 2018, where it needs more samples than XY-static.
Guarantee: each phase's comparisons are right with probability >= 1 - delta (Proposition 1); delta is not shared among phases, as
in the paper.
Source: Soare, Lazaric, Munos 2014, Algorithm 2; Xu, Honda, Sugiyama 2018, Eq 6.
Deviations: every arm is pulled once at the start of a phase instead of a ridge parameter; the first phase is measured against
the width after those pulls; ties at random. `epsilon` > 0 also rules out arms that are not better than the best by more.
O(K^3) a round at most, less where the search is cut short; O(K^3) at the end of a phase.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._jit import jit, lean
from ...numerics.radii import static_factor
from ...numerics.selection import argmax, first_unpulled
from ...parameters import policy, real
from ...verbs import evidence, explain, init, recommend, select, stopped, tolerance, update
from ._gaps import MISSING, ROUNDS, PairRidge, forget, learn_pairs, new_pairs, spanning
from .common import (
    SQRT8,
    after_one_pull,
    before_estimates,
    checked_features,
    error_estimate,
    report,
    shared_equally,
    shrinking_arm,
    tied_best,
)


@policy("features", paper="Soare, Lazaric, Munos 2014, Algorithm 2", stops=True)
class XYAdaptive:
    """XY-static among the survivors, phase by phase; every phase forgets the data of the phase before.

    alpha: a phase ends when the widest surviving difference has shrunk to this share of its value at the end of the phase before.
    epsilon, delta, noise, constant: as for XYStatic.
    """

    epsilon: float = real(0.0, least=0)
    delta: float = real(0.05, above=0, below=1)
    noise: float = real(1.0, above=0)
    alpha: float = real(0.1, above=0, below=1)
    constant: float = real(SQRT8, above=0)


class State(NamedTuple):
    model: PairRidge  # of this phase
    survivors: np.ndarray  # (K,) bool
    decision: np.ndarray  # (5,) target of this phase (-1: not set), B of the last phase, its best arm, 1.0 if done, phases ended


@init.register(XYAdaptive)
def init_xyadaptive(policy, arms):
    X = spanning(checked_features(arms, policy.epsilon, "XYAdaptive"))
    done = float(len(X) == 1)
    return State(new_pairs(X, 0.0), np.ones(len(X), dtype=np.bool_), np.array([-1.0, math.inf, 0.0, done, 0.0]))


@select.register(XYAdaptive)
@jit
def select_xyadaptive(policy, state, context, rng):
    model = state.model
    arm = first_unpulled(model.pulls, context.eligible) if model.numbers[MISSING] > 0.0 else -1
    if arm < 0:
        arm = shrinking_arm(model.product, model.pair_square, state.survivors, context.eligible, rng)
    return arm


@lean
def widest(squares, among):
    """The largest squared width of a difference of the arms in `among`."""
    top = 0.0
    for i in range(squares.shape[0]):
        for j in range(i):
            if among[i] and among[j]:
                top = max(top, squares[i, j])
    return top


@lean
def end_phase(policy, state, top):
    """Who survives, judged anew for all arms from this phase's data; then forget them."""
    model, survivors, decision = state.model, state.survivors, state.decision
    K = model.mean.shape[0]
    best = argmax(model.mean, None)
    factor = static_factor(policy.constant, policy.noise, model.numbers[ROUNDS], K, policy.delta)
    left, bound = 0, -math.inf
    for j in range(K):
        survivors[j] = True
        for i in range(K):
            lead = model.mean[i] - model.mean[j] - factor * math.sqrt(model.pair_square[i, j])
            if i != j and (lead > 0.0 or (i == best and lead + policy.epsilon > 0.0)):
                survivors[j] = False
            if i == best and j != best:
                bound = max(bound, -lead)
        if survivors[j]:
            left += 1
    decision[0], decision[1], decision[2], decision[3] = policy.alpha * top, bound, best, 1.0 if left == 1 else 0.0
    decision[4] += 1.0
    if left > 1:
        forget(model)


@update.register(XYAdaptive)
@jit
def update_xyadaptive(policy, state, context, action, reward):
    learn_pairs(state.model, action, reward)
    if state.model.numbers[MISSING] == 0.0 and state.decision[3] == 0.0:
        top = widest(state.model.pair_square, state.survivors)
        if state.decision[0] < 0.0:
            state.decision[0] = policy.alpha * top
        if top <= state.decision[0]:
            end_phase(policy, state, top)
    return state


@stopped.register(XYAdaptive)
@jit
def stopped_xyadaptive(policy, state):
    return state.decision[3] == 1.0


@recommend.register(XYAdaptive)
@jit
def recommend_xyadaptive(policy, state):
    return int(state.decision[2])


@tolerance.register(XYAdaptive)
def tolerance_xyadaptive(policy):
    return policy.epsilon


@evidence.register(XYAdaptive)
def evidence_xyadaptive(policy, state):
    model, (target, bound, best, done, _) = state.model, state.decision
    if model.numbers[MISSING] > 0 and not done:
        return {"gap_bound": float(bound), "error": 1.0, "samples_remaining": math.inf}
    best, left, n, K = int(best), 0.0, model.numbers[ROUNDS], model.mean.size
    if not done:  # the widest difference shrinks like 1 / n; phases go on until the bound fits into the smallest gap
        lead = model.mean[best] - np.delete(model.mean, best)[np.delete(state.survivors, best)] + policy.epsilon
        least, top = lead.min(), widest(model.pair_square, state.survivors)
        factor = static_factor(policy.constant, policy.noise, n, K, policy.delta)
        left = max(top / target - 1.0, 0.0) * n
        while factor * math.sqrt(target) > least > 0.0:
            target *= policy.alpha
            left += n * top / target
        left = math.ceil(left) if least > 0.0 else math.inf
    error = error_estimate(model.mean, np.sqrt(model.pair_square[best]), best, policy.epsilon, policy.noise)
    return {"gap_bound": float(bound), "error": error, "samples_remaining": float(left)}


@explain.register(XYAdaptive)
def explain_xyadaptive(policy, state, context, rng):
    model, K, known = state.model, state.model.mean.size, state.model.numbers[MISSING] == 0
    factor = static_factor(policy.constant, policy.noise, model.numbers[ROUNDS], K, policy.delta) if known else math.inf
    if known and state.survivors.sum() > 1:
        index = -after_one_pull(model.product, model.pair_square, state.survivors)
        probability = shared_equally(tied_best(-index, context.eligible))
    elif known:  # one survivor: no difference is left to shrink
        index, probability = np.zeros(K), shared_equally(tied_best(np.zeros(K), context.eligible))
    else:
        index, probability = -model.pulls, before_estimates(model.pulls, context.eligible)
    return report(model.mean, factor, np.diag(model.product), index, probability, known) | evidence(policy, state) | {
        "leader": int(state.decision[2]), "survivors": state.survivors.copy(), "phase": int(state.decision[4]) + 1,
    }  # fmt: skip


def example():
    return [XYAdaptive(epsilon=0.1, delta=0.1, noise=0.3)]
