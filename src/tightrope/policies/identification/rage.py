"""RAGE: elimination in rounds of doubling accuracy, each with the optimal design for the arms still in play.

When to use it: many arms and small gaps, where its sample complexity is optimal up to a factor of log(1 / gap); decisions come in
few large batches. Today's stronger baseline for LinGapE.
Guarantee: the named arm is the best (up to epsilon) with probability >= 1 - delta, noise sub-Gaussian with scale `noise`.
Source: Fiez, Jain, Jamieson, Ratliff 2019, "Sequential experimental design for transductive linear bandits", Algorithm 1 with the
arms as measurements and items: in phase t, N_t = ceil(8 (2^{t+1})^2 rho_t (1 + rounding) ln(K^2 / delta_t)) samples.
Deviations: N_t is scaled by noise^2; delta_t = delta / (t (t + 1)), so that the phases add up to delta; shares are rounded up
(at most K samples more than N_t), at least one for every arm; an arm within epsilon of the apparent best may go.
O(K) a round; at the end of a phase a design, O(K^2 d^2) an iteration.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._jit import jit, lean
from ...numerics.selection import argmax, one_hot
from ...parameters import policy, real
from ...solvers.design import MOST_ITERATIONS, Workspace, design_kernel, new_workspace, pair_directions
from ...verbs import evidence, explain, init, recommend, select, stopped, tolerance, update
from ._gaps import PairRidge, feed, forget, new_pairs, renew_pairs, spanning
from .common import NOTHING_KNOWN, checked_features, error_estimate, report

ACCURACY = 0.01  # of the designs: far below `rounding`


@policy("features", paper="Fiez, Jain, Jamieson, Ratliff 2019, Algorithm 1", stops=True)
class RAGE:
    """Phase t measures all differences of survivors to accuracy 2^-(t+1) by an optimal design and drops who is clearly beaten.

    epsilon, delta, noise: as for LinGapE. rounding: allowance of the paper's rounding procedure, which enlarges N_t.
    """

    epsilon: float = real(0.0, least=0)
    delta: float = real(0.05, above=0, below=1)
    noise: float = real(1.0, above=0)
    rounding: float = real(0.1, least=0)


class State(NamedTuple):
    model: PairRidge  # of this phase
    plan: np.ndarray  # (K,) samples of this phase still to take
    survivors: np.ndarray  # (K,) bool
    wanted: np.ndarray  # (M,) bool: pairs of survivors
    directions: np.ndarray  # (M, d)
    work: Workspace
    decision: np.ndarray  # (5,) phase t, B of the last phase, its best arm, 1.0 if done, rho of the design


@init.register(RAGE)
def init_rage(policy, arms):
    X = spanning(checked_features(arms, policy.epsilon, "RAGE"))
    K, d = X.shape
    Y = pair_directions(X)
    state = State(
        new_pairs(X, 0.0), np.zeros(K), np.ones(K, dtype=np.bool_), np.ones(len(Y), dtype=np.bool_), Y, new_workspace(K, len(Y), d),
        np.array([0.0, math.inf, 0.0, float(K == 1), 0.0]),
    )  # fmt: skip
    if K > 1:
        begin_phase(policy, state)
    return state


@lean
def confidence(policy, state, t):
    """ln(K^2 / delta_t)."""
    K = state.plan.shape[0]
    return math.log(K * K * t * (t + 1.0) / policy.delta)


@lean
def phase_size(policy, state, t):
    """N_t for the value rho of the current design."""
    return math.ceil(8.0 * 4.0 ** (t + 1.0) * state.decision[4] * policy.noise**2 * (1.0 + policy.rounding) * confidence(policy, state, t))


@lean
def begin_phase(policy, state):
    """Design and sample sizes of the next phase."""
    state.decision[0] += 1.0
    work = state.work
    value, _ = design_kernel(state.model.features, state.directions, state.wanted, work, ACCURACY, MOST_ITERATIONS)
    state.decision[4] = value
    size = phase_size(policy, state, state.decision[0])
    for a in range(state.plan.shape[0]):
        state.plan[a] = max(math.ceil(size * work.shares[a]), 1.0)
    forget(state.model)


@lean
def end_phase(policy, state):
    """Drop every arm that another beats by more than its width, or that cannot beat the best by more than epsilon."""
    model, survivors, decision = state.model, state.survivors, state.decision
    K = model.mean.shape[0]
    renew_pairs(model)
    best = -1
    for k in range(K):
        if survivors[k] and (best < 0 or model.mean[k] > model.mean[best]):
            best = k
    factor = policy.noise * math.sqrt(2.0 * confidence(policy, state, state.decision[0]))
    bound = -math.inf
    for j in range(K):
        if survivors[j] and j != best:
            lead = model.mean[best] - model.mean[j] - factor * math.sqrt(model.pair_square[best, j])
            bound = max(bound, -lead)
            state.work.current[j] = lead + policy.epsilon
            for i in range(K):
                if survivors[i] and i != j:
                    beaten = model.mean[i] - model.mean[j] - factor * math.sqrt(model.pair_square[i, j])
                    state.work.current[j] = max(state.work.current[j], beaten)
    left = 0
    for j in range(K):
        if survivors[j] and j != best and state.work.current[j] > 0.0:
            survivors[j] = False
        if survivors[j]:
            left += 1
    pair = 0
    for i in range(K):
        for j in range(i):
            state.wanted[pair] = survivors[i] and survivors[j]
            pair += 1
    decision[1], decision[2], decision[3] = bound, best, 1.0 if left == 1 else 0.0
    if left > 1:
        begin_phase(policy, state)


@select.register(RAGE)
@jit
def select_rage(policy, state, context, rng):
    return argmax(state.plan, context.eligible)


@update.register(RAGE)
@jit
def update_rage(policy, state, context, action, reward):
    feed(state.model, action, reward)
    state.plan[action] = max(state.plan[action] - 1.0, 0.0)
    if state.decision[3] == 0.0:
        left = 0.0
        for a in range(state.plan.shape[0]):
            left += state.plan[a]
        if left == 0.0:
            end_phase(policy, state)
    return state


@stopped.register(RAGE)
@jit
def stopped_rage(policy, state):
    return state.decision[3] == 1.0


@recommend.register(RAGE)
@jit
def recommend_rage(policy, state):
    return int(state.decision[2])


@tolerance.register(RAGE)
def tolerance_rage(policy):
    return policy.epsilon


@evidence.register(RAGE)
def evidence_rage(policy, state):
    model, (t, bound, best, done, _) = state.model, state.decision
    if t == 1 and not done:  # no phase has ended
        return NOTHING_KNOWN
    best, left = int(best), 0.0
    if not done:  # an arm that far behind goes in the first phase t with 2^-(t + 2) below its gap; as many arms stay as now
        gaps = model.mean[best] - np.delete(model.mean[state.survivors], np.searchsorted(np.flatnonzero(state.survivors), best))
        least, left = gaps.min() + policy.epsilon, state.plan.sum()
        while 2.0 ** -(t + 2.0) >= least > 0.0:
            t += 1.0
            left += phase_size(policy, state, t)
        left = left if least > 0.0 else math.inf
    error = error_estimate(model.mean, np.sqrt(model.pair_square[best]), best, policy.epsilon, policy.noise)
    return {"gap_bound": float(bound), "error": error, "samples_remaining": float(left)}


@explain.register(RAGE)
def explain_rage(policy, state, context, rng):
    model, (t, _, best, done, _) = state.model, state.decision
    known = bool(t > 1 or done)
    radius = policy.noise * math.sqrt(2.0 * confidence(policy, state, max(t, 1.0)))
    probability = one_hot(select(policy, state, context, rng), state.plan.size)
    return report(model.mean, radius, np.diag(model.product), state.plan, probability, known) | evidence(policy, state) | {
        "leader": int(best), "survivors": state.survivors.copy(), "phase": int(t), "design": state.work.shares.copy(),
    }  # fmt: skip


def example():
    return [RAGE(epsilon=0.1, delta=0.1, noise=0.3)]
