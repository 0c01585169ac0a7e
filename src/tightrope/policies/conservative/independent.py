"""The guarantee's estimates for independent arms: a width per arm that changes when the arm is played. O(1) a round, select O(K).

With n_a pulls whose reward is in and open decisions of the arm besides, UCB_a comes from the n_a. LCB_a comes from all of them, an open
reward taken as the lowest one, where open = "nothing", so that it stays a lower bound whatever decides when rewards arrive.

delta is shared by the arms that there were from the start. Nothing of it is left for arms that are added, so their lower bound stays the
trivial one, the lowest reward: they are played from what is in hand, and what they earn counts in the ledger like any other reward.
"""

import math
from typing import NamedTuple

from ...compiled.kernels import jit, lean
from ...core.kinds import Count, Extended, RewardSum
from .ledger import (
    CONFIDENCE,
    COUNT_NOTHING,
    LOWER,
    MARTINGALE,
    ORACLE,
    Bounds,
    Ledger,
    Slope,
    bound_open,
    bounds_of_segment,
    floor_of,
    known_slack,
    martingale_bound,
    sum_bound,
    value_of,
)


class Independent(NamedTuple):
    ledger: Ledger  # (1,)
    bounds: Bounds
    open: Count  # (K,) decisions of P by arm
    own: Count  # (K,) decisions of D by arm
    pulls: Count  # (K,) rewards in the estimates
    sums: RewardSum  # (K,) of these rewards
    mean: Extended  # (K,)
    slopes: Slope  # (2, K) positions of the best slopes of LCB and UCB by "bernoulli"

    @lean
    def bound_arms(self, policy, context):
        ledger = self.ledger[0]
        if ledger.stale >= 0.0:
            bound_arm(self, policy, int(ledger.stale))
            ledger.stale = -1.0

    @lean
    def index_by_rounds(self, t):
        upper, level = self.bounds.upper, math.log(t)
        for k in range(upper.shape[0]):
            if self.pulls[k] > 0.0:
                upper[k] = self.mean[k] + math.sqrt(level / self.pulls[k])

    @lean
    def bound_open(self):
        bound = 0.0
        for k in range(self.open.shape[0]):
            bound += self.open[k] * self.bounds.lower[k]
        return bound

    @lean
    def bound_totals(self, policy, context, baseline, mean, ahead):
        ledger = self.ledger[0]
        if policy.bound == CONFIDENCE:
            bound = confidence_bound(self)
        elif policy.bound == MARTINGALE:
            bound = martingale_bound(policy, ledger)
            if policy.open == LOWER:
                bound += bound_open(self)
        else:
            bound = value_of(ledger.truth)
        ledger.bound = bound
        total, expected = self.bounds.total, (policy.true_means if policy.bound == ORACLE else self.bounds.lower)
        for k in range(total.shape[0]):
            total[k] = bound + expected[k]
        if not math.isnan(mean):
            return known_slack(policy, context, ledger, mean, ahead)
        weight, credit, floor = ledger.conserved - (1.0 - policy.alpha) * (ledger.rounds + 1), 0.0, floor_of(policy, context)
        if math.isnan(floor):
            weight += policy.alpha * ahead
        else:
            credit = policy.alpha * ahead * floor
        return worst_baseline(self, policy, weight, baseline) + credit

    @lean
    def count_decision(self, policy, context, baseline, mean, arm, explored, sign):
        ledger = self.ledger[0]
        if explored:
            self.open[arm] += sign
            self.own[arm] += sign
        if explored or math.isnan(mean):
            if ledger.stale >= 0.0 and ledger.stale != arm:
                bound_arm(self, policy, int(ledger.stale))
            ledger.stale = arm

    @lean
    def close_decision(self, policy, context, arm):
        self.open[arm] -= 1.0

    @lean
    def learn_reward(self, policy, context, arm, reward):
        self.pulls[arm] += 1.0
        self.sums[arm] += reward
        self.mean[arm] = self.sums[arm] / self.pulls[arm]
        bound_arm(self, policy, arm)
        if self.ledger[0].stale == arm:
            self.ledger[0].stale = -1.0

    @jit
    def in_segment(self, s):
        bounds = bounds_of_segment(self.bounds, s)
        return Independent(
            self.ledger[s : s + 1], bounds, self.open[s], self.own[s], self.pulls[s], self.sums[s], self.mean[s], self.slopes[s]
        )

    @lean
    def budget_bound(self, policy, context, baseline, mean):
        ledger = self.ledger[0]
        if math.isnan(mean):
            owed = worst_baseline(self, policy, ledger.conserved - (1.0 - policy.alpha) * ledger.rounds, baseline)
        else:
            owed = value_of(ledger.earned) - (1.0 - policy.alpha) * value_of(ledger.promised)
        return ledger.bound + owed


@lean
def pull_radius(sigma, delta, n_arms, pulls):
    """sigma sqrt(2 ln(K s^3 / delta) / s) for s >= 1 pulls (Wu, Shariff, Lattimore, Szepesvari 2016)."""
    return sigma * math.sqrt(2.0 * math.log(n_arms * pulls * pulls * pulls / delta) / pulls)


@lean
def mean_bound(state, arm, pulls, total, upper):
    """Lower bound (upper: upper bound) of an arm's mean, from so many rewards that add up to `total`."""
    ledger = state.ledger[0]
    if ledger.level > 0.0:
        y, slopes, side = (total - ledger.low * pulls) / ledger.span, state.slopes, 1 if upper else 0
        bound, slopes[side, arm] = sum_bound(pulls - y if upper else y, pulls, ledger.arm_level, slopes[side, arm])
        return ledger.low + ledger.span * (1.0 - bound / pulls if upper else bound / pulls)
    width = pull_radius(ledger.sigma, ledger.arm_delta, ledger.arms, pulls)
    return total / pulls + width if upper else max(total / pulls - width, ledger.low)


@lean
def counted_open(state, policy, arm):
    """Open decisions of an arm whose reward will be learned from; rounds of a baseline whose mean is learned are among them."""
    learned = arm == policy.baseline and math.isnan(policy.baseline_mean)
    return state.open[arm] + (state.ledger[0].conserved_open if learned else 0.0)


@lean
def bound_arm(state, policy, arm):
    bounds, ledger, n, total = state.bounds, state.ledger[0], state.pulls[arm], state.sums[arm]
    if n > 0.0:
        bounds.upper[arm] = mean_bound(state, arm, n, total, True)
    if arm >= ledger.arms:
        return
    if policy.open == COUNT_NOTHING:
        waiting = counted_open(state, policy, arm)
        n, total = n + waiting, total + ledger.low * waiting
    if n > 0.0:
        bounds.lower[arm] = mean_bound(state, arm, n, total, False)


@lean
def worst_baseline(state, policy, weight, baseline):
    """Smallest weight mu_b over [LCB_b, UCB_b], 0 <= mu_b <= highest; where open = "nothing" UCB_b takes open rewards as the highest."""
    if weight >= 0.0:
        return weight * max(state.bounds.lower[baseline], 0.0)
    ledger, upper, waiting = state.ledger[0], state.bounds.upper[baseline], counted_open(state, policy, baseline)
    highest = ledger.low + ledger.span
    if policy.open == COUNT_NOTHING and waiting > 0.0:
        n = state.pulls[baseline] + waiting
        upper = mean_bound(state, baseline, n, state.sums[baseline] + highest * waiting, True)
    return weight * min(upper, highest)


@lean
def confidence_bound(state):
    """sum_i N_i LCB_i over D (Eq 4)."""
    bound = 0.0
    for k in range(state.own.shape[0]):
        bound += state.own[k] * state.bounds.lower[k]
    return bound
