"""The guarantee's estimates for linear rewards: one ellipsoid for all arms. O(K^2) or O(K d + d^2) a round, O(K d^2) if arms change.

The ellipsoid knows closed rounds only. Where open = "lower" an open decision has earned max(LCB_a, 0) of its arm; where arms change,
the open ones together have earned max(min <theta, sum_P x>, 0), which needs no list of them and by the triangle inequality is no less
than their LCBs added up.
"""

import math
from typing import NamedTuple

from ...compiled.kernels import lean
from ...core.kinds import Count, Finite, Scratch
from ...numerics.ridge import Ridge, add_features, learn, predict, project
from .ledger import (
    CLIP_BOTH,
    CLIP_JOINT,
    CONFIDENCE,
    LOWER,
    MARTINGALE,
    ORACLE,
    Bounds,
    Ledger,
    bound_open,
    clips_arm,
    floor_of,
    known_slack,
    martingale_bound,
    value_of,
)


class LinearLedger(NamedTuple):
    ledger: Ledger  # (1,)
    bounds: Bounds
    open: Count  # (K,) decisions of P by arm
    model: Ridge
    played: Finite  # z = sum_D x: (K,) weights of arms or (d,), as the model's `add_features` has it
    awaited: Finite  # sum_P x, likewise, where arms change and open = "lower"
    owed: Finite  # sum_{S^b} x_b - (1 - alpha) sum_{i < t} x_b, likewise
    point: Scratch  # likewise
    cross: Scratch  # (K,)
    fixed: bool  # the arms do not change

    @lean
    def bound_arms(self, policy, context):
        predict(self.model, context)
        ledger, bounds, estimate, square = self.ledger[0], self.bounds, self.model.mean, self.model.square
        d = self.model.features.shape[1]
        beta = ellipsoid_radius(ledger.sigma, ledger.arm_delta, d, ledger.learned, policy.lam, policy.arm_bound, policy.theta_bound)
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
            return max(inner - ledger.beta * math.sqrt(square), ledger.low * (ledger.explored - ledger.closed))
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
                return known_slack(policy, context, ledger, mean, ahead)
            bound = max(bound, ledger.low * ledger.explored)
        elif policy.bound == MARTINGALE:
            bound = martingale_and_open(self, policy)
        else:
            bound = value_of(ledger.truth)
        ledger.bound = bound
        total, expected = self.bounds.total, (policy.true_means if policy.bound == ORACLE else self.bounds.lower)
        clips = clips_arm(policy)
        for k in range(total.shape[0]):
            total[k] = bound + (max(expected[k], ledger.low) if clips else expected[k])
        return known_slack(policy, context, ledger, mean, ahead)

    @lean
    def count_decision(self, policy, context, baseline, mean, arm, explored, sign):
        if explored:
            self.open[arm] += sign
            add_features(self.model, context, self.played, arm, sign)
            if policy.open == LOWER and not self.fixed:
                add_features(self.model, context, self.awaited, arm, sign)
        if math.isnan(mean):
            add_features(self.model, context, self.owed, baseline, sign * (policy.alpha - 1.0))
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
        learn(self.model, context, arm, reward)
        self.ledger[0].learned += 1.0

    @lean
    def budget_bound(self, policy, context, baseline, mean):
        ledger = self.ledger[0]
        if not math.isnan(mean):
            return ledger.bound + value_of(ledger.earned) - (1.0 - policy.alpha) * value_of(ledger.promised)
        base = joint_point(self, policy)
        inner, square = project(self.model, self.point, self.cross)
        return base + inner - ledger.beta * math.sqrt(square)


@lean
def ellipsoid_radius(sigma, delta, dimension, m, lam, arm_bound, theta_bound):
    """beta = sigma sqrt(d ln((1 + D^2 (1 + m) / lam) / delta)) + B sqrt(lam) (Eq 3).

    It follows from the form with a determinant where d ln(1 / delta) >= 2 ln(1 / delta), so that d = 1 takes the latter.
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
    """TOT(a) = <theta, z + x_a> - beta ||z + x_a||_{V^-1} for every arm, from <theta, z> = inner and z'V^-1 z = square."""
    total, cross, beta = state.bounds.total, state.cross, state.ledger[0].beta
    mean, own = state.model.mean, state.model.square
    for k in range(total.shape[0]):
        total[k] = inner + mean[k] - beta * math.sqrt(max(square + 2.0 * cross[k] + own[k], 0.0))


@lean
def joint_minimum(state, policy, context, baseline, ahead):
    """One ellipsoid for the learner's arms, this arm and the baseline: min <theta, z + x_a + (nb - (1-alpha) t + alpha rem) x_b>."""
    floor = floor_of(policy, context)
    base = joint_point(state, policy)
    add_features(state.model, context, state.point, baseline, policy.alpha - 1.0)
    if math.isnan(floor) and state.fixed:
        add_features(state.model, context, state.point, baseline, policy.alpha * ahead)
    elif not math.isnan(floor):
        base += policy.alpha * ahead * floor
    inner, square = project(state.model, state.point, state.cross)
    joint_totals(state, base + inner, square)


@lean
def joint_point(state, policy):
    """point <- features whose worst case counts, before this round; returns the part of the sum that has a bound of its own."""
    base = 0.0 if policy.bound == CONFIDENCE else martingale_and_open(state, policy)
    for i in range(state.point.shape[0]):
        state.point[i] = state.owed[i] + (state.played[i] if policy.bound == CONFIDENCE else 0.0)
    return base
