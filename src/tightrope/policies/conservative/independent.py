"""The guarantee's estimates for independent arms: a width per arm that changes when the arm is played. O(1) a round, select O(K)."""

import math

from ..._jit import lean
from ._budget import amount, pull_radius
from .books import (
    CONFIDENCE,
    CONSERVED,
    EARNED,
    LOWER,
    MARTINGALE,
    MEAN,
    ORACLE,
    PROMISED,
    PULLS,
    ROUNDS,
    SECURED,
    SUMS,
    TOTAL,
    TRUTH,
    UPPER,
    Independent,
    absorb,
    assess,
    floor_of,
    known_slack,
    martingale_bound,
    secure,
    standing,
)  # fmt: skip


@assess.register(Independent)
@lean
def assess_independent(state, policy, context, mean):
    pass  # absorb keeps lower and upper


@lean
def worst_baseline(policy, state, weight, baseline):
    """Smallest weight mu_b over [LCB_b, min(UCB_b, 1)]."""
    return weight * (state.arms[LOWER, baseline] if weight >= 0.0 else min(state.arms[UPPER, baseline], 1.0))


@secure.register(Independent)
@lean
def secure_independent(state, policy, context, baseline, mean, ahead):
    book = state.book
    if policy.bound == CONFIDENCE:
        bound = book[SECURED]
    elif policy.bound == MARTINGALE:
        bound = martingale_bound(policy, book)
    else:
        bound = amount(book, TRUTH)
    book[SECURED] = bound
    arms, expected = state.arms, (policy.true_means if policy.bound == ORACLE else state.arms[LOWER])
    for k in range(arms.shape[1]):
        arms[TOTAL, k] = bound + expected[k]
    if not math.isnan(mean):
        return known_slack(policy, context, book, mean, ahead)
    weight, credit, floor = book[CONSERVED] - (1.0 - policy.alpha) * (book[ROUNDS] + 1), 0.0, floor_of(policy, context)
    if math.isnan(floor):
        weight += policy.alpha * ahead
    else:
        credit = policy.alpha * ahead * floor
    return worst_baseline(policy, state, weight, baseline) + credit


@absorb.register(Independent)
@lean
def absorb_independent(state, policy, context, baseline, mean, arm, reward, explored):
    unknown = math.isnan(mean)
    if not (explored or unknown):
        return
    arms, counts, K = state.arms, state.counts, state.arms.shape[1]
    counts[PULLS, arm] += 1.0
    counts[SUMS, arm] += reward
    counts[MEAN, arm] = counts[SUMS, arm] / counts[PULLS, arm]
    width = pull_radius(policy.sigma, policy.delta, K, counts[PULLS, arm])
    arms[LOWER, arm] = max(counts[MEAN, arm] - width, 0.0)
    arms[UPPER, arm] = counts[MEAN, arm] + width
    if policy.bound == CONFIDENCE:
        secured = 0.0
        for k in range(K):
            if not (unknown and k == baseline):
                secured += counts[PULLS, k] * arms[LOWER, k]
        state.book[SECURED] = secured


@standing.register(Independent)
@lean
def standing_independent(state, policy, context, baseline, mean):
    book = state.book
    if math.isnan(mean):
        owed = worst_baseline(policy, state, book[CONSERVED] - (1.0 - policy.alpha) * book[ROUNDS], baseline)
    else:
        owed = amount(book, EARNED) - (1.0 - policy.alpha) * amount(book, PROMISED)
    return book[SECURED] + owed
