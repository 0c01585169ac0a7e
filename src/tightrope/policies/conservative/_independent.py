"""The guarantee's estimates for independent arms: a width per arm that changes when the arm is played. O(1) a round, select O(K).

With n_a pulls whose reward is in and open decisions of the arm besides, UCB_a comes from the n_a. LCB_a comes from all of them, an open
reward taken as 0, where open = "nothing": rewards are >= 0, so it stays a lower bound whatever decides when rewards arrive.
"""

import math

from ..._jit import lean
from ._ledger import (
    CONFIDENCE,
    LOWER,
    MARTINGALE,
    NOTHING,
    ORACLE,
    Independent,
    bound_arms,
    bound_open,
    bound_totals,
    budget_bound,
    close_decision,
    count_decision,
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


@lean
def counted_open(state, policy, arm):
    """Open decisions of an arm whose reward will be learned from; rounds of a baseline whose mean is learned are among them."""
    learned = arm == policy.baseline and math.isnan(policy.baseline_mean)
    return state.open[arm] + (state.ledger[0].conserved_open if learned else 0.0)


@lean
def bound_arm(state, policy, arm):
    """LCB and UCB of one arm."""
    bounds, K, n = state.bounds, state.pulls.shape[0], state.pulls[arm]
    width = 0.0
    if n > 0.0:
        width = pull_radius(policy.sigma, policy.delta, K, n)
        bounds.lower[arm] = max(state.mean[arm] - width, 0.0)
        bounds.upper[arm] = state.mean[arm] + width
    waiting = counted_open(state, policy, arm)
    if policy.open == NOTHING and waiting > 0.0:
        n += waiting
        bounds.lower[arm] = max(state.sums[arm] / n - pull_radius(policy.sigma, policy.delta, K, n), 0.0)


@bound_arms.register(Independent)
@lean
def bound_arms_independent(state, policy, context):
    ledger = state.ledger[0]
    if ledger.stale >= 0.0:
        bound_arm(state, policy, int(ledger.stale))
        ledger.stale = -1.0


@bound_open.register(Independent)
@lean
def bound_open_independent(state):
    bound = 0.0
    for k in range(state.open.shape[0]):
        bound += state.open[k] * state.bounds.lower[k]
    return bound


@lean
def worst_baseline(state, policy, weight, baseline):
    """Smallest weight mu_b over [LCB_b, min(UCB_b, 1)]; where open = "nothing" UCB_b takes open rewards as 1."""
    if weight >= 0.0:
        return weight * state.bounds.lower[baseline]
    upper, waiting = state.bounds.upper[baseline], counted_open(state, policy, baseline)
    if policy.open == NOTHING and waiting > 0.0:
        n = state.pulls[baseline] + waiting
        width = pull_radius(policy.sigma, policy.delta, state.pulls.shape[0], n)
        upper = (state.sums[baseline] + waiting) / n + width
    return weight * min(upper, 1.0)


@lean
def confidence_bound(state):
    """sum_i N_i LCB_i over D (Eq 4)."""
    bound = 0.0
    for k in range(state.own.shape[0]):
        bound += state.own[k] * state.bounds.lower[k]
    return bound


@bound_totals.register(Independent)
@lean
def bound_totals_independent(state, policy, context, baseline, mean, ahead):
    ledger = state.ledger[0]
    if policy.bound == CONFIDENCE:
        bound = confidence_bound(state)
    elif policy.bound == MARTINGALE:
        bound = martingale_bound(policy, ledger)
        if policy.open == LOWER:
            bound += bound_open(state)
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
    return worst_baseline(state, policy, weight, baseline) + credit


@count_decision.register(Independent)
@lean
def count_decision_independent(state, policy, context, baseline, mean, arm, explored, sign):
    ledger = state.ledger[0]
    if explored:
        state.open[arm] += sign
        state.own[arm] += sign
    if explored or math.isnan(mean):
        if ledger.stale >= 0.0 and ledger.stale != arm:
            bound_arm(state, policy, int(ledger.stale))
        ledger.stale = arm


@close_decision.register(Independent)
@lean
def close_decision_independent(state, policy, context, arm):
    state.open[arm] -= 1.0


@learn_reward.register(Independent)
@lean
def learn_reward_independent(state, policy, context, arm, reward):
    state.pulls[arm] += 1.0
    state.sums[arm] += reward
    state.mean[arm] = state.sums[arm] / state.pulls[arm]
    bound_arm(state, policy, arm)
    if state.ledger[0].stale == arm:
        state.ledger[0].stale = -1.0


@budget_bound.register(Independent)
@lean
def budget_bound_independent(state, policy, context, baseline, mean):
    ledger = state.ledger[0]
    if math.isnan(mean):
        owed = worst_baseline(state, policy, ledger.conserved - (1.0 - policy.alpha) * ledger.rounds, baseline)
    else:
        owed = value_of(ledger.earned) - (1.0 - policy.alpha) * value_of(ledger.promised)
    return ledger.bound + owed
