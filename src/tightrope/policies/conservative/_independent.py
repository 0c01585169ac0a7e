"""The guarantee's estimates for independent arms: a width per arm that changes when the arm is played. O(1) a round, select O(K)."""

import math

from ..._jit import lean
from ._ledger import (
    CONFIDENCE,
    MARTINGALE,
    ORACLE,
    Independent,
    bound_arms,
    bound_totals,
    budget_bound,
    floor_of,
    known_slack,
    learn_reward,
    martingale_bound,
    value_of,
)  # fmt: skip


@lean
def pull_radius(sigma, delta, n_arms, pulls):
    """sigma sqrt(2 ln(K s^3 / delta) / s) for s >= 1 pulls (Wu, Shariff, Lattimore, Szepesvari 2016)."""
    return sigma * math.sqrt(2.0 * math.log(n_arms * pulls * pulls * pulls / delta) / pulls)


@bound_arms.register(Independent)
@lean
def bound_arms_independent(state, policy, context, mean):
    pass  # learn_reward keeps lower and upper


@lean
def worst_baseline(bounds, weight, baseline):
    """Smallest weight mu_b over [LCB_b, min(UCB_b, 1)]."""
    return weight * (bounds.lower[baseline] if weight >= 0.0 else min(bounds.upper[baseline], 1.0))


@lean
def confidence_bound(state, baseline, mean):
    """sum_i N_i LCB_i (Eq 4); pulls of a baseline whose mean is learned are no part of S."""
    bound, skipped = 0.0, baseline if math.isnan(mean) else -1
    for k in range(state.pulls.shape[0]):
        if k != skipped:
            bound += state.pulls[k] * state.bounds.lower[k]
    return bound


@bound_totals.register(Independent)
@lean
def bound_totals_independent(state, policy, context, baseline, mean, ahead):
    ledger = state.ledger[0]
    if policy.bound == CONFIDENCE:
        bound = confidence_bound(state, baseline, mean)
    elif policy.bound == MARTINGALE:
        bound = martingale_bound(policy, ledger)
    else:
        bound = value_of(ledger.truth)
    ledger.bound = bound
    total, expected = state.bounds.total, (policy.true_means if policy.bound == ORACLE else state.bounds.lower)
    for k in range(total.shape[0]):
        total[k] = bound + expected[k]
    if not math.isnan(mean):
        return known_slack(policy, context, ledger, mean, ahead)
    weight, credit, floor = ledger.conserved - (1.0 - policy.alpha) * (ledger.rounds + 1), 0.0, floor_of(policy, context)
    if math.isnan(floor):
        weight += policy.alpha * ahead
    else:
        credit = policy.alpha * ahead * floor
    return worst_baseline(state.bounds, weight, baseline) + credit


@learn_reward.register(Independent)
@lean
def learn_reward_independent(state, policy, context, baseline, mean, arm, reward, explored):
    if not (explored or math.isnan(mean)):
        return
    bounds, pulls, sums, estimate = state.bounds, state.pulls, state.sums, state.mean
    pulls[arm] += 1.0
    sums[arm] += reward
    estimate[arm] = sums[arm] / pulls[arm]
    width = pull_radius(policy.sigma, policy.delta, pulls.shape[0], pulls[arm])
    bounds.lower[arm] = max(estimate[arm] - width, 0.0)
    bounds.upper[arm] = estimate[arm] + width


@budget_bound.register(Independent)
@lean
def budget_bound_independent(state, policy, context, baseline, mean):
    ledger = state.ledger[0]
    if math.isnan(mean):
        owed = worst_baseline(state.bounds, ledger.conserved - (1.0 - policy.alpha) * ledger.rounds, baseline)
    else:
        owed = value_of(ledger.earned) - (1.0 - policy.alpha) * value_of(ledger.promised)
    return ledger.bound + owed
