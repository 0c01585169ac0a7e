"""XY-oracle allocation: the design of someone who knows theta and only has to prove which arm is best.

When to use it: never in service, since it needs theta; it shows how many samples the static bound asks for at the best.
Source: Soare, Lazaric, Munos 2014, section 3; Xu, Honda, Sugiyama 2018, Eq 18.
Every arm is pulled once; then the arm furthest behind the optimal design for the directions (x* - x_k) / gap_k is next. It stops
when Proposition 1's bound on every x* - x_k is below the true gap (plus epsilon). Rewards play no part.
O(K d + d^2) a round; the design is computed once.
"""

import math
from typing import NamedTuple

import numpy as np

from ... import checks
from ..._jit import jit
from ...numerics.radii import static_factor
from ...numerics.selection import first_unpulled, one_hot
from ...parameters import policy, real, vector
from ...solvers.design import optimal_design
from ...verbs import evidence, explain, init, recommend, select, stopped, update
from ._gaps import LEADER, MISSING, ROUNDS, GapRidge, learn_gaps, new_gaps, spanning
from .common import NOTHING_KNOWN, SQRT8, checked_features, error_estimate, forecast, furthest_behind, report


@policy("features", paper="Soare, Lazaric, Munos 2014", stops=True)
class XYOracle:
    """Follow the optimal design for the true gaps; stop when the bound on every gap is below it.

    theta: (d,), the true parameter; the best arm must be unique. epsilon, delta, noise, constant: as for XYStatic.
    """

    theta: np.ndarray = vector(default=None, words="numbers, one for each feature")
    epsilon: float = real(0.0, least=0)
    delta: float = real(0.05, above=0, below=1)
    noise: float = real(1.0, above=0)
    constant: float = real(SQRT8, above=0)


class State(NamedTuple):
    model: GapRidge  # its leader is the best arm
    design: np.ndarray  # (K,) shares
    gaps: np.ndarray  # (K,) true
    decision: np.ndarray  # (2,) factor of the widths, B


@init.register(XYOracle)
def init_xyoracle(policy, arms):
    X = checked_features(arms, policy.epsilon, "XYOracle")
    means = X @ checks.vector("theta", policy.theta, length=X.shape[1], source="the number of columns of arms")
    best = int(np.argmax(means))
    gaps = means[best] - means
    ties = np.flatnonzero(gaps == 0.0)
    if len(ties) > 1:
        raise ValueError(f"theta makes arms {ties[0]} and {ties[1]} equally good, but the design needs one best arm.")
    Z = spanning(X)
    others = gaps > 0
    shares = optimal_design(Z, (Z[best] - Z[others]) / gaps[others, None]).weights if others.any() else np.ones(1)
    model = new_gaps(Z, 0.0)
    model.numbers[LEADER] = best
    return State(model, shares, gaps, np.array([math.inf, math.inf]))


@select.register(XYOracle)
@jit
def select_xyoracle(policy, state, context, rng):
    pulls = state.model.pulls
    arm = first_unpulled(pulls, context.eligible) if state.model.numbers[MISSING] > 0.0 else -1
    return arm if arm >= 0 else furthest_behind(pulls, state.design, context.eligible)


@update.register(XYOracle)
@jit
def update_xyoracle(policy, state, context, action, reward):
    model = state.model
    learn_gaps(model, action, reward)
    if model.numbers[MISSING] == 0.0:
        K = model.mean.shape[0]
        factor = static_factor(policy.constant, policy.noise, model.numbers[ROUNDS], K, policy.delta)
        bound = -math.inf
        for k in range(K):
            if k != int(model.numbers[LEADER]):
                bound = max(bound, factor * math.sqrt(model.gap_square[k]) - state.gaps[k])
        state.decision[0], state.decision[1] = factor, bound
    return state


@stopped.register(XYOracle)
@jit
def stopped_xyoracle(policy, state):
    return state.decision[1] < policy.epsilon


@recommend.register(XYOracle)
@jit
def recommend_xyoracle(policy, state):
    return int(state.model.numbers[LEADER])


@evidence.register(XYOracle)
def evidence_xyoracle(policy, state):
    model, best, K = state.model, int(state.model.numbers[LEADER]), state.gaps.size
    if model.numbers[MISSING] > 0:
        return NOTHING_KNOWN
    left = 0.0
    if state.decision[1] >= policy.epsilon:
        left = forecast(model.features, 0.0, model.pulls, -state.gaps, best, policy.epsilon,
                        lambda log_det, pulls: static_factor(policy.constant, policy.noise, pulls.sum(), K, policy.delta),
                        shares=state.design)  # fmt: skip
    error = error_estimate(-state.gaps, np.sqrt(model.gap_square), best, policy.epsilon, policy.noise)
    return {"gap_bound": float(state.decision[1]), "error": error, "samples_remaining": left}


@explain.register(XYOracle)
def explain_xyoracle(policy, state, context, rng):
    model, known = state.model, state.model.numbers[MISSING] == 0
    probability = one_hot(select(policy, state, context, rng), state.gaps.size)
    arms = report(model.mean, state.decision[0], model.square, state.design, probability, known)
    return arms | evidence(policy, state) | {"leader": int(model.numbers[LEADER]), "design": state.design.copy()}


def example():
    return []
