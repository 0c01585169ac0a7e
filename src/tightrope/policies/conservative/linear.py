"""The guarantee's estimates for linear rewards: one ellipsoid for all arms. O(K^2) or O(K d + d^2) a round, O(K d^2) if arms change."""

import math

from ..._jit import lean
from ...numerics.ridge import learn, predict
from ._budget import amount, collect, ellipsoid_radius, project
from .books import (
    CLIP_PAPER,
    CONFIDENCE,
    CONSERVED,
    EARNED,
    EXPLORED,
    LOWER,
    MARTINGALE,
    ORACLE,
    OWED,
    PLAYED,
    POINT,
    PROMISED,
    SECURED,
    TOTAL,
    TRUTH,
    UPPER,
    Linear,
    absorb,
    assess,
    clips_arm,
    floor_of,
    known_slack,
    martingale_bound,
    secure,
    standing,
)  # fmt: skip


@assess.register(Linear)
@lean
def assess_linear(state, policy, context, mean):
    predict(state.model, context)
    m = state.book[EXPLORED]
    if math.isnan(mean):
        m += state.book[CONSERVED]  # baseline rounds are data too
    d = state.model.features.shape[1]
    beta = ellipsoid_radius(policy.sigma, policy.delta, d, m, policy.lam, policy.arm_bound, policy.theta_bound)
    state.beta[0] = beta
    arms, estimate, square = state.arms, state.model.mean, state.model.square
    for k in range(arms.shape[1]):
        width = beta * math.sqrt(square[k])
        arms[LOWER, k] = estimate[k] - width
        arms[UPPER, k] = estimate[k] + width


@secure.register(Linear)
@lean
def secure_linear(state, policy, context, baseline, mean, ahead):
    book = state.book
    if math.isnan(mean):
        return joint_minimum(state, policy, context, baseline, ahead)
    arms, K = state.arms, state.arms.shape[1]
    if policy.bound == CONFIDENCE:
        inner, square = project(state.model, state.sums[PLAYED], state.cross)
        bound = inner - state.beta[0] * math.sqrt(square)
        if policy.clip == CLIP_PAPER:  # Eq 4: one theta for the sum and the arm
            joint_totals(arms, state.model, state.cross, state.beta[0], inner, square)
            book[SECURED] = bound
            return known_slack(policy, context, book, mean, ahead)
        bound = max(bound, 0.0)
    elif policy.bound == MARTINGALE:
        bound = martingale_bound(policy, book)
    else:
        bound = amount(book, TRUTH)
    book[SECURED] = bound
    expected, clips = (policy.true_means if policy.bound == ORACLE else state.arms[LOWER]), clips_arm(policy)
    for k in range(K):
        arms[TOTAL, k] = bound + (max(expected[k], 0.0) if clips else expected[k])
    return known_slack(policy, context, book, mean, ahead)


@lean
def joint_totals(arms, model, cross, beta, inner, square):
    """TOT(a) = <theta, z + x_a> - beta ||z + x_a||_{V^-1} for every arm, from <theta, z> = inner and z'V^-1 z = square."""
    mean, own = model.mean, model.square
    for k in range(arms.shape[1]):
        arms[TOTAL, k] = inner + mean[k] - beta * math.sqrt(max(square + 2.0 * cross[k] + own[k], 0.0))


@lean
def joint_minimum(state, policy, context, baseline, ahead):
    """One ellipsoid for the learner's arms, this arm and the baseline: min <theta, z + x_a + (nb - (1-alpha) t + alpha rem) x_b>."""
    floor = floor_of(policy, context)
    base = bring_together(state, policy)
    collect(state.model, context, state.sums[POINT], baseline, policy.alpha - 1.0)
    if math.isnan(floor) and state.fixed:
        collect(state.model, context, state.sums[POINT], baseline, policy.alpha * ahead)
    elif not math.isnan(floor):
        base += policy.alpha * ahead * floor
    inner, square = project(state.model, state.sums[POINT], state.cross)
    joint_totals(state.arms, state.model, state.cross, state.beta[0], base + inner, square)
    return 0.0


@lean
def bring_together(state, policy):
    """point <- features whose worst case counts, before this round; returns the part of the sum that has a bound of its own."""
    base = 0.0 if policy.bound == CONFIDENCE else martingale_bound(policy, state.book)
    for i in range(state.sums.shape[1]):
        state.sums[POINT, i] = state.sums[OWED, i] + (state.sums[PLAYED, i] if policy.bound == CONFIDENCE else 0.0)
    return base


@absorb.register(Linear)
@lean
def absorb_linear(state, policy, context, baseline, mean, arm, reward, explored):
    unknown = math.isnan(mean)
    if explored or unknown:
        learn(state.model, context, arm, reward)
    if explored:
        collect(state.model, context, state.sums[PLAYED], arm, 1.0)
    if unknown:
        collect(state.model, context, state.sums[OWED], baseline, policy.alpha - 1.0)
        if not explored:
            collect(state.model, context, state.sums[OWED], baseline, 1.0)


@standing.register(Linear)
@lean
def standing_linear(state, policy, context, baseline, mean):
    book = state.book
    if not math.isnan(mean):
        return book[SECURED] + amount(book, EARNED) - (1.0 - policy.alpha) * amount(book, PROMISED)
    base = bring_together(state, policy)
    inner, square = project(state.model, state.sums[POINT], state.cross)
    return base + inner - state.beta[0] * math.sqrt(square)
