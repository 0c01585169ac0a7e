"""`ArmRidge`: the regression in the space of the arms, where features are fixed and few arms share many of them."""

import math
from typing import NamedTuple

from ...compiled.kernels import jit, lean
from ...core.kinds import Count, Derived, Extended, Finite, NonNegative, RewardSum, Scratch
from ..cholesky import cholesky, require_finite, solve_lower
from ..selection import argmax
from .factors import LEAP, REFRESH, anchor_of, factorise_pulls, mean_square, regained_by
from .verbs import refresh


class ArmRidge(NamedTuple):
    features: Derived  # (K, d)
    lam: float
    mean: Finite  # (K,)
    square: Finite  # (K,) diagonal of product
    log_det: Finite  # (1,) log det(V) - d log(lam)
    pulls: Count  # (K,)
    sums: RewardSum  # (K,)
    updates: Count  # (1,) since the last factorisation
    product: Finite  # (K, K) M = X V^-1 X'
    column_of_product: Scratch  # (K,)
    row: Scratch  # (d,)
    solved: Extended  # (K, d) L^-1 x_k at the last factorisation
    factor: Finite  # (d, d) L at the last factorisation
    square_root: Scratch  # (K, K) of sample
    base: Finite  # (K,) mean with an intercept that is drawn to 0; not used without one
    side: Finite  # (K,) X V^-1 e, e the last unit vector
    parts: Finite  # (6,) what `penalty` and `regained` are made of, see `measure`; kept by `learn`, where they cost little
    column: NonNegative  # (1,) c, the constant column
    centre: Finite  # (1,) m, what an intercept is drawn to
    intercept: bool  # whether the last column is constant

    @jit
    def predict(self, context):
        pass

    @jit
    def learn(self, context, arm, reward):
        K = self.mean.shape[0]
        column, product, pulls, sums, side, parts = self.column_of_product, self.product, self.pulls, self.sums, self.side, self.parts
        for k in range(K):
            column[k] = product[arm, k]
        denominator = 1.0 + column[arm]
        pulls[arm] += 1.0
        sums[arm] += reward
        self.log_det[0] += math.log(max(denominator, 1.0))
        intercept = self.intercept
        surprise = reward - (self.base[arm] if intercept else self.mean[arm])
        error = surprise / denominator
        for i in range(K):
            share = column[i] / denominator
            for j in range(K):
                product[i, j] -= share * column[j]
        if intercept:  # a loop for each array, which runs in vector registers
            base, anchor, own = self.base, anchor_of(self), side[arm] / denominator
            parts[4] += side[arm] * error
            parts[5] -= side[arm] * own
            for i in range(K):
                base[i] += column[i] * error
            for i in range(K):
                side[i] -= column[i] * own
            for i in range(K):
                self.mean[i] = base[i] + anchor * side[i]
        else:
            for i in range(K):
                self.mean[i] += column[i] * error
        for i in range(K):
            self.square[i] = max(product[i, i], 0.0)
        sum_parts(self)
        self.updates[0] += 1.0
        if self.updates[0] >= REFRESH or not denominator < LEAP:
            refresh(self)
        return surprise, denominator

    @jit
    def untried(self, eligible):
        return 0

    @jit
    def best_arm(self, values, eligible, untried_first):
        return argmax(values, eligible)

    @jit
    def penalty(self):
        size, parts = self.parts[0], self.parts
        if self.intercept:  # lam ||theta + anchor h - drawn e||^2
            anchor, lam = anchor_of(self), self.lam
            drawn = anchor / lam
            last = parts[4] + anchor * parts[5]
            size += anchor * (2.0 * parts[2] + anchor * parts[3]) + lam * drawn * (drawn - 2.0 * last)
        return mean_square(1.0, max(size, 0.0), parts[1])

    @jit
    def regained(self):
        return regained_by(self, anchor_of(self), self.parts[4], self.parts[5])

    @jit
    def refresh(self):
        K, d = self.features.shape
        factorise_pulls(self, self.row)
        for k in range(K):
            for i in range(d):
                self.solved[k, i] = self.features[k, i]
            solve_lower(self.factor, self.solved[k])
        for k in range(K):
            for j in range(k + 1):
                total = 0.0
                for i in range(d):
                    total += self.solved[k, i] * self.solved[j, i]
                self.product[k, j] = total
                self.product[j, k] = total
            self.square[k] = self.product[k, k]
        for i in range(K):
            total = 0.0
            for j in range(K):
                total += self.product[i, j] * self.sums[j]
            self.base[i] = total
        measure(self)
        require_finite(self.mean)
        require_finite(self.square)

    @jit
    def sample(self, scale, out, rng):
        K = out.shape[0]
        cholesky(self.product, self.square_root)
        for k in range(K):
            self.column_of_product[k] = rng.standard_normal()
        for k in range(K):
            total = 0.0
            for j in range(k + 1):
                total += self.square_root[k, j] * self.column_of_product[j]
            out[k] = self.mean[k] + scale * total

    @jit
    def win_chances(self, scale, eligible, untried_first, out):
        return False

    @jit
    def correlate(self, arm, out):
        for k in range(out.shape[0]):
            out[k] = self.product[arm, k]

    @jit
    def add_features(self, context, total, arm, weight):
        total[arm] += weight

    @jit
    def project(self, total, cross):
        K = total.shape[0]
        for k in range(K):
            cross[k] = 0.0
        for j in range(K):
            if total[j] != 0.0:
                for k in range(K):
                    cross[k] += total[j] * self.product[j, k]
        inner, square = 0.0, 0.0
        for k in range(K):
            inner += total[k] * self.mean[k]
            square += total[k] * cross[k]
        return inner, max(square, 0.0)


@lean
def measure(model):
    """mean, side and parts after a factorisation, whose factor and solved rows are L and L^-1 x_k. O(K d + d^2)."""
    K, d = model.features.shape
    last, corner = 0.0, 0.0
    for k in range(K):
        model.mean[k] = model.base[k]
    if model.intercept:
        anchor = anchor_of(model)
        for i in range(d):
            model.row[i] = 1.0 if i == d - 1 else 0.0
        solve_lower(model.factor, model.row)
        for i in range(d):
            corner += model.row[i] * model.row[i]
        for k in range(K):
            side = 0.0
            for i in range(d):
                side += model.solved[k, i] * model.row[i]
            model.side[k] = side
            model.mean[k] += anchor * side
            last += side * model.sums[k]
        model.parts[4], model.parts[5] = last, corner
    sum_parts(model)


@lean
def sum_parts(model):
    """The first four parts from sums over the arms. O(K).

    parts: lam ||theta||^2; the known directions; and with h = V^-1 e, e the last unit vector, lam theta'h, lam ||h||^2 (since
    lam h = e - sum_k pulls_k x_k x_k'h), and the last entries of theta and h. theta with an intercept that is drawn to 0.
    """
    pulls, sums, side, parts = model.pulls, model.sums, model.side, model.parts
    mean = model.base if model.intercept else model.mean
    size, known, cross, aside = 0.0, 0.0, 0.0, 0.0
    for k in range(pulls.shape[0]):
        known += pulls[k] * model.square[k]
        size += mean[k] * (sums[k] - pulls[k] * mean[k])
        if model.intercept:
            pulled = pulls[k] * side[k]
            cross += pulled * mean[k]
            aside += pulled * side[k]
    parts[0], parts[1], parts[2], parts[3] = max(size, 0.0), known, parts[4] - cross, parts[5] - aside
