"""The guarantee's estimates for independent arms: a width per arm that changes when the arm is
played. O(1) a round, select O(K).

With n_a pulls whose reward is in and open decisions of the arm besides, UCB_a comes from the n_a.
LCB_a comes from all of them, an open reward taken as the lowest one, where open = "nothing", so
that it stays a lower bound whatever decides when rewards arrive.

delta is shared by the arms that there were from the start. Nothing of it is left for arms that are
added, so their lower bound stays the trivial one, the lowest reward: they are played from what is
in hand, and what they earn counts in the ledger like any other reward.
"""

import math
from typing import NamedTuple

from ...compiled.kernels import lean
from ...core.fields import Count, Extended, Finite, RewardSum, Scratch
from ...numerics.ridge import Ridge, add_features, learn, model_in, predict, project
from .ledger import (
    CLIP_BOTH,
    CLIP_JOINT,
    CONFIDENCE,
    COUNT_NOTHING,
    LOWER,
    MARTINGALE,
    ORACLE,
    UNSAID,
    Bounds,
    Ledger,
    Slope,
    bound_open,
    bounds_in,
    clips_arm,
    floor_of,
    known_budget,
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
        total, expected = (
            self.bounds.total,
            (policy.true_means if policy.bound == ORACLE else self.bounds.lower),
        )
        for k in range(total.shape[0]):
            total[k] = bound + expected[k]
        if not math.isnan(mean):
            return known_slack(context, ledger, mean, ahead)
        weight, credit, floor = (
            ledger.conserved - ledger.kappa * (ledger.rounds + 1),
            0.0,
            floor_of(context, ledger),
        )
        if math.isnan(floor):
            weight += ledger.share * ahead
        else:
            credit = ledger.share * ahead * floor
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

    def part(self, i, row):
        return Independent(
            self.ledger[i : i + 1],
            bounds_in(self.bounds, row),
            self.open[row],
            self.own[row],
            self.pulls[row],
            self.sums[row],
            self.mean[row],
            self.slopes[row],
        )

    @lean
    def budget_bound(self, policy, context, baseline, mean):
        ledger = self.ledger[0]
        if not math.isnan(mean):
            return known_budget(ledger)
        weight = ledger.conserved - ledger.kappa * ledger.rounds
        return ledger.bound + worst_baseline(self, policy, weight, baseline)


@lean
def pull_radius(sigma, delta, n_arms, pulls):
    """sigma sqrt(2 ln(K s^3 / delta) / s) for s >= 1 pulls (Wu, Shariff, Lattimore, Szepesvari
    2016)."""
    return sigma * math.sqrt(2.0 * math.log(n_arms * pulls * pulls * pulls / delta) / pulls)


@lean
def mean_bound(state, arm, pulls, total, upper):
    """Lower bound (upper: upper bound) of an arm's mean, from so many rewards that add up to
    `total`."""
    ledger = state.ledger[0]
    if ledger.level > 0.0:
        y, slopes, side = (
            (total - ledger.low * pulls) / ledger.span,
            state.slopes,
            1 if upper else 0,
        )
        bound, slopes[side, arm] = sum_bound(
            pulls - y if upper else y, pulls, ledger.arm_level, slopes[side, arm]
        )
        return ledger.low + ledger.span * (1.0 - bound / pulls if upper else bound / pulls)
    width = pull_radius(ledger.sigma, ledger.arm_delta, ledger.arms, pulls)
    return total / pulls + width if upper else max(total / pulls - width, ledger.low)


@lean
def counted_open(state, policy, arm):
    """Open decisions of an arm whose reward will be learned from; rounds of a baseline whose mean
    is learned are among them."""
    learned = arm == policy.baseline and state.ledger[0].known == UNSAID
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
    """Smallest weight mu_b over [LCB_b, UCB_b], 0 <= mu_b <= highest; where open = "nothing" UCB_b
    takes open rewards as the highest."""
    if weight >= 0.0:
        return weight * max(state.bounds.lower[baseline], 0.0)
    ledger, upper, waiting = (
        state.ledger[0],
        state.bounds.upper[baseline],
        counted_open(state, policy, baseline),
    )
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


# The guarantee's estimates for linear rewards: one ellipsoid for all arms. O(K^2) or O(K d + d^2) a
# round, O(K d^2) if arms change.


class LinearLedger(NamedTuple):
    ledger: Ledger  # (1,)
    bounds: Bounds
    open: Count  # (K,) decisions of P by arm
    model: Ridge
    played: (
        Finite  # z = sum_D x: (K,) weights of arms or (d,), as the model's `add_features` has it
    )
    awaited: Finite  # sum_P x, likewise, where arms change and open = "lower"
    owed: Finite  # sum_{S^b} x_b - kappa sum_{i < t} x_b, likewise
    point: Scratch  # likewise
    cross: Scratch  # (K,)
    fixed: bool  # the arms do not change

    @lean
    def bound_arms(self, policy, context):
        predict(self.model, context)
        ledger, bounds, estimate, square = (
            self.ledger[0],
            self.bounds,
            self.model.mean,
            self.model.square,
        )
        d = self.model.features.shape[1]
        beta = ellipsoid_radius(
            ledger.sigma,
            ledger.arm_delta,
            d,
            ledger.learned,
            policy.lam,
            policy.arm_bound,
            policy.theta_bound,
        )
        ledger.beta = beta
        for k in range(square.shape[0]):
            width = beta * math.sqrt(square[k])
            bounds.lower[k] = estimate[k] - width
            bounds.upper[k] = estimate[k] + width

    @lean
    def index_by_rounds(self, t):
        pass  # refused where the policy meets its arms

    @lean
    def bound_open(self):
        if not self.fixed:
            inner, square = project(self.model, self.awaited, self.cross)
            ledger = self.ledger[0]
            return max(
                inner - ledger.beta * math.sqrt(square),
                ledger.low * (ledger.explored - ledger.closed),
            )
        bound, low = 0.0, self.ledger[0].low
        for k in range(self.open.shape[0]):
            bound += self.open[k] * max(self.bounds.lower[k], low)
        return bound

    @lean
    def bound_totals(self, policy, context, baseline, mean, ahead):
        ledger = self.ledger[0]
        if math.isnan(mean):
            joint_minimum(self, policy, context, baseline, ahead)
            return 0.0
        if policy.bound == CONFIDENCE:
            inner, square = project(self.model, self.played, self.cross)
            bound = inner - ledger.beta * math.sqrt(square)
            if policy.clip != CLIP_BOTH:  # Eq 4: one theta for the sum and the arm
                joint_totals(self, inner, square)
                if policy.clip == CLIP_JOINT:
                    total = self.bounds.total
                    for k in range(total.shape[0]):
                        total[k] = max(total[k], ledger.low * (ledger.explored + 1.0))
                    bound = max(bound, ledger.low * ledger.explored)
                ledger.bound = bound
                return known_slack(context, ledger, mean, ahead)
            bound = max(bound, ledger.low * ledger.explored)
        elif policy.bound == MARTINGALE:
            bound = martingale_and_open(self, policy)
        else:
            bound = value_of(ledger.truth)
        ledger.bound = bound
        total, expected = (
            self.bounds.total,
            (policy.true_means if policy.bound == ORACLE else self.bounds.lower),
        )
        clips = clips_arm(policy)
        for k in range(total.shape[0]):
            total[k] = bound + (max(expected[k], ledger.low) if clips else expected[k])
        return known_slack(context, ledger, mean, ahead)

    @lean
    def count_decision(self, policy, context, baseline, mean, arm, explored, sign):
        if explored:
            self.open[arm] += sign
            add_features(self.model, context, self.played, arm, sign)
            if policy.open == LOWER and not self.fixed:
                add_features(self.model, context, self.awaited, arm, sign)
        if math.isnan(mean):
            add_features(self.model, context, self.owed, baseline, -sign * self.ledger[0].kappa)
            if not explored:
                add_features(self.model, context, self.owed, baseline, sign)

    @lean
    def close_decision(self, policy, context, arm):
        ledger = self.ledger[0]
        self.open[arm] -= 1.0
        if policy.open == LOWER and not self.fixed:
            if ledger.explored == ledger.closed:  # nothing is open: no rounding is left over
                self.awaited[:] = 0.0
            else:
                add_features(self.model, context, self.awaited, arm, -1.0)

    @lean
    def learn_reward(self, policy, context, arm, reward):
        learn(self.model, context, arm, reward, math.inf)
        self.ledger[0].learned += 1.0

    def part(self, i, row):
        return LinearLedger(
            self.ledger[i : i + 1],
            bounds_in(self.bounds, row),
            self.open[row],
            model_in(self.model, row),
            self.played[row],
            self.awaited[row],
            self.owed[row],
            self.point[row],
            self.cross[row],
            self.fixed,
        )

    @lean
    def budget_bound(self, policy, context, baseline, mean):
        ledger = self.ledger[0]
        if not math.isnan(mean):
            return known_budget(ledger)
        base = joint_point(self, policy)
        inner, square = project(self.model, self.point, self.cross)
        return base + inner - ledger.beta * math.sqrt(square)


@lean
def ellipsoid_radius(sigma, delta, dimension, m, lam, arm_bound, theta_bound):
    """beta = sigma sqrt(d ln((1 + D^2 (1 + m) / lam) / delta)) + B sqrt(lam) (Eq 3).

    It follows from the form with a determinant where d ln(1 / delta) >= 2 ln(1 / delta), so that d
    = 1 takes the latter.
    """
    inside = (1.0 + arm_bound * arm_bound * (1.0 + m) / lam) / delta
    if dimension < 2:
        inside /= delta
    return sigma * math.sqrt(dimension * math.log(inside)) + theta_bound * math.sqrt(lam)


@lean
def martingale_and_open(state, policy):
    """Lower bound of sum_D mu by the martingale, with what open decisions count for."""
    bound = martingale_bound(policy, state.ledger[0])
    return bound + bound_open(state) if policy.open == LOWER else bound


@lean
def joint_totals(state, inner, square):
    """TOT(a) = <theta, z + x_a> - beta ||z + x_a||_{V^-1} for every arm, from <theta, z> = inner
    and z'V^-1 z = square."""
    total, cross, beta = state.bounds.total, state.cross, state.ledger[0].beta
    mean, own = state.model.mean, state.model.square
    for k in range(total.shape[0]):
        total[k] = inner + mean[k] - beta * math.sqrt(max(square + 2.0 * cross[k] + own[k], 0.0))


@lean
def joint_minimum(state, policy, context, baseline, ahead):
    """One ellipsoid for the learner's arms, this arm and the baseline: min <theta, z + x_a + (nb -
    kappa t + share rem) x_b>."""
    ledger = state.ledger[0]
    floor = floor_of(context, ledger)
    base = joint_point(state, policy)
    add_features(state.model, context, state.point, baseline, -ledger.kappa)
    if math.isnan(floor) and state.fixed:
        add_features(state.model, context, state.point, baseline, ledger.share * ahead)
    elif not math.isnan(floor):
        base += ledger.share * ahead * floor
    inner, square = project(state.model, state.point, state.cross)
    joint_totals(state, base + inner, square)


@lean
def joint_point(state, policy):
    """point <- features whose worst case counts, before this round; returns the part of the sum
    that has a bound of its own."""
    base = 0.0 if policy.bound == CONFIDENCE else martingale_and_open(state, policy)
    for i in range(state.point.shape[0]):
        state.point[i] = state.owed[i] + (state.played[i] if policy.bound == CONFIDENCE else 0.0)
    return base


# A ledger without estimates: of no arm more is known than that it earns at least the lowest reward.
# O(K) a round.


class TrivialLedger(NamedTuple):
    ledger: Ledger  # (1,)
    bounds: Bounds  # lower is the lowest reward, upper infinite
    open: Count  # (K,) decisions of P by arm

    @lean
    def bound_arms(self, policy, context):
        pass

    @lean
    def index_by_rounds(self, t):
        pass  # nothing is learned of arms

    @lean
    def bound_open(self):
        return 0.0

    @lean
    def bound_totals(self, policy, context, baseline, mean, ahead):
        ledger, total = self.ledger[0], self.bounds.total
        ledger.bound = martingale_bound(policy, ledger)
        for k in range(total.shape[0]):
            total[k] = ledger.bound + ledger.low
        return known_slack(context, ledger, mean, ahead)

    @lean
    def count_decision(self, policy, context, baseline, mean, arm, explored, sign):
        if explored:
            self.open[arm] += sign

    @lean
    def close_decision(self, policy, context, arm):
        self.open[arm] -= 1.0

    @lean
    def learn_reward(self, policy, context, arm, reward):
        pass

    def part(self, i, row):
        return TrivialLedger(self.ledger[i : i + 1], bounds_in(self.bounds, row), self.open[row])

    @lean
    def budget_bound(self, policy, context, baseline, mean):
        return known_budget(self.ledger[0])
