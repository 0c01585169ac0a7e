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
def worst_baseline(arms, weight, baseline):
    """Smallest weight mu_b over [LCB_b, min(UCB_b, 1)]."""
    return weight * (arms[baseline].lower if weight >= 0.0 else min(arms[baseline].upper, 1.0))


@lean
def confidence_bound(arms, baseline, mean):
    """sum_i N_i LCB_i (Eq 4); pulls of a baseline whose mean is learned are no part of S."""
    bound, skipped = 0.0, baseline if math.isnan(mean) else -1
    for k in range(arms.shape[0]):
        if k != skipped:
            bound += arms[k].pulls * arms[k].lower
    return bound


@bound_totals.register(Independent)
@lean
def bound_totals_independent(state, policy, context, baseline, mean, ahead):
    ledger, arms = state.ledger[0], state.arms
    if policy.bound == CONFIDENCE:
        bound = confidence_bound(arms, baseline, mean)
    elif policy.bound == MARTINGALE:
        bound = martingale_bound(policy, ledger)
    else:
        bound = value_of(ledger.truth)
    ledger.bound = bound
    for k in range(arms.shape[0]):
        arms[k].total = bound + (policy.true_means[k] if policy.bound == ORACLE else arms[k].lower)
    if not math.isnan(mean):
        return known_slack(policy, context, ledger, mean, ahead)
    weight, credit, floor = ledger.conserved - (1.0 - policy.alpha) * (ledger.rounds + 1), 0.0, floor_of(policy, context)
    if math.isnan(floor):
        weight += policy.alpha * ahead
    else:
        credit = policy.alpha * ahead * floor
    return worst_baseline(arms, weight, baseline) + credit


@learn_reward.register(Independent)
@lean
def learn_reward_independent(state, policy, context, baseline, mean, arm, reward, explored):
    if not (explored or math.isnan(mean)):
        return
    played = state.arms[arm]
    played.pulls += 1.0
    played.sum += reward
    played.mean = played.sum / played.pulls
    width = pull_radius(policy.sigma, policy.delta, state.arms.shape[0], played.pulls)
    played.lower = max(played.mean - width, 0.0)
    played.upper = played.mean + width


@budget_bound.register(Independent)
@lean
def budget_bound_independent(state, policy, context, baseline, mean):
    ledger = state.ledger[0]
    if math.isnan(mean):
        owed = worst_baseline(state.arms, ledger.conserved - (1.0 - policy.alpha) * ledger.rounds, baseline)
    else:
        owed = value_of(ledger.earned) - (1.0 - policy.alpha) * value_of(ledger.promised)
    return ledger.bound + owed
