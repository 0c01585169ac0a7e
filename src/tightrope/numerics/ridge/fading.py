"""`FadingRidge`: the regression where old rewards count less, for a theta that drifts.

A reward that is s rewards old has the weight forget^s. V = lam I + sum w x x' and W = lam I + sum w^2 x x' (the two matrices of Russac,
Vernade, Cappe 2019, arXiv 1909.09146): theta_hat = V^-1 sum w r x has the covariance noise^2 V^-1 W V^-1 but for lam, which stands in
the place of V^-1. With forget = 1 both matrices and all numbers are those of the other forms.
O(d^3) an update, because lam does not fade and no rank-one step keeps it; O(K d^2) a prediction.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.kinds import Finite, NonNegative, Scratch
from ...core.verbs import Arms, value_or
from ..cholesky import definite_cholesky, log_det, require_finite, solve_lower, solve_lower_transposed
from ..selection import argmax
from .contexts import shown_features
from .factors import anchor_of, column_of, fill_row, invert_from_factor, mean_square, predict_arm, regained_by
from .verbs import refresh


class FadingRidge(NamedTuple):
    features: Finite  # (K, d) fixed, or of the last prediction
    lam: float
    forget: float
    mean: Finite  # (K,) at the last prediction
    square: Finite  # (K,) x' V^-1 W V^-1 x
    log_det: Finite  # (1,) log det(W) - d log(lam), by which the confidence radius grows
    theta: Finite  # (d,)
    inverse: Finite  # (d, d) V^-1 W V^-1
    root: Finite  # (d, d) its lower Cholesky factor
    design: Finite  # (d, d) V
    squared: Finite  # (d, d) W
    response: Finite  # (d,) sum w r x
    factor: Scratch  # (d, d)
    product: Scratch  # (d, d)
    direction: Scratch  # (d,)
    side: Finite  # (d,) last column of V^-1
    anchored: Scratch  # (d,) theta with an intercept that is drawn to m / c
    row: Scratch  # (d,) an arm's features, with the constant column
    column: NonNegative  # (1,) c, the constant column; 0: not known before the first reward
    centre: Finite  # (1,) m, what an intercept is drawn to
    intercept: bool  # whether the last column is constant; theta and response are those of an intercept that is drawn to 0

    @jit
    def predict(self, context):
        shown, anchor = value_or(context.features, self.features), anchor_of(self)
        column = column_of(self, shown) if self.intercept else 0.0
        for i in range(self.theta.shape[0]):
            self.anchored[i] = self.theta[i] + anchor * self.side[i]
        for k in range(self.features.shape[0]):
            predict_arm(self, k, self.inverse, self.anchored, shown, column, 0.0)

    @jit
    def learn(self, context, arm, reward):
        fill_row(self, value_or(context.features, self.features), arm)
        x, d, growth = self.row, self.theta.shape[0], reward * reward
        for i in range(d):  # the least sum is sum w r^2 - theta_hat' sum w r x, before and after
            growth += self.forget * self.theta[i] * self.response[i]
        fade(self.design, self.forget, self.lam)
        fade(self.squared, self.forget * self.forget, self.lam)
        for i in range(d):
            self.response[i] = self.forget * self.response[i] + reward * x[i]
            for j in range(d):
                self.design[i, j] += x[i] * x[j]
                self.squared[i, j] += x[i] * x[j]
        refresh(self)
        for i in range(d):
            growth -= self.theta[i] * self.response[i]
        return math.sqrt(max(growth, 0.0)), 1.0

    @jit
    def untried(self, eligible):
        return 0

    @jit
    def best_arm(self, values, eligible, untried_first):
        return argmax(values, eligible)

    @jit
    def penalty(self):
        size, unknown, d, anchor = 0.0, 0.0, self.theta.shape[0], anchor_of(self)
        for i in range(d):
            entry = self.theta[i] + anchor * self.side[i] - (anchor / self.lam if i == d - 1 else 0.0)
            size += entry * entry
            unknown += self.inverse[i, i]
        return mean_square(self.lam, size, d - self.lam * unknown)

    @jit
    def regained(self):
        last = self.theta.shape[0] - 1
        return regained_by(self, anchor_of(self), self.theta[last], self.side[last])

    @jit
    def refresh(self):
        d, inverse, factor = self.theta.shape[0], self.inverse, self.factor
        definite_cholesky(self.squared, factor)
        self.log_det[0] = log_det(factor) - d * math.log(self.lam)
        definite_cholesky(self.design, factor)
        for i in range(d):
            self.theta[i] = self.response[i]
            self.side[i] = 1.0 if i == d - 1 else 0.0
        solve_lower(factor, self.theta)
        solve_lower_transposed(factor, self.theta)
        solve_lower(factor, self.side)
        solve_lower_transposed(factor, self.side)
        require_finite(self.theta)
        invert_from_factor(factor, inverse, self.direction)
        sandwich(inverse, self.squared, self.product, factor)
        definite_cholesky(inverse, self.root)

    @jit
    def sample(self, scale, out, rng):
        d, direction = self.theta.shape[0], self.direction
        for i in range(d):
            direction[i] = rng.standard_normal()
        for i in range(d - 1, -1, -1):  # in place: row i needs the entries up to i only
            total = 0.0
            for j in range(i + 1):
                total += self.root[i, j] * direction[j]
            direction[i] = self.anchored[i] + scale * total
        for k in range(out.shape[0]):
            total = 0.0
            for i in range(d):
                total += self.features[k, i] * direction[i]
            out[k] = total

    @jit
    def win_chances(self, scale, eligible, untried_first, out):
        return False


def new_fading_ridge(arms: Arms, lam: float, forget: float, *, intercept: bool = False, column: float = 0.0) -> FadingRidge:
    """The model without data; column: the constant one, where it is known. Refuses fixed features that leave fewer than six digits."""
    K, d = arms.number, arms.dimension + intercept
    eye = np.eye(d)
    features, column = shown_features(arms, lam, intercept, column)
    return FadingRidge(
        features, lam, forget, np.zeros(K), np.zeros(K), np.zeros(1), np.zeros(d), eye / lam, eye / math.sqrt(lam),
        lam * eye, lam * eye, np.zeros(d), np.zeros((d, d)), np.zeros((d, d)), np.zeros(d), eye[d - 1] / lam, np.zeros(d), np.zeros(d),
        np.array([column]), np.zeros(1), intercept,
    )  # fmt: skip


def remembered(rounds: int, forget: float) -> float:
    """sum of forget^(2 s) over s = 0 .. rounds - 1: how many rewards of full weight bound the determinant of W."""
    return float(rounds) if forget == 1.0 else (1.0 - forget ** (2 * rounds)) / (1.0 - forget * forget)


@lean
def fade(matrix, keep, lam):
    d = matrix.shape[0]
    for i in range(d):
        for j in range(d):
            matrix[i, j] *= keep
        matrix[i, i] += (1.0 - keep) * lam


@lean
def sandwich(inverse, squared, product, result):
    """inverse <- inverse squared inverse, symmetric to the bit; product and result are (d, d) scratch. O(d^3)."""
    d = inverse.shape[0]
    for i in range(d):
        for j in range(d):
            total = 0.0
            for k in range(d):
                total += inverse[i, k] * squared[k, j]
            product[i, j] = total
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for k in range(d):
                total += product[i, k] * inverse[k, j]
            result[i, j] = total
    for i in range(d):
        for j in range(i + 1):
            inverse[i, j] = result[i, j]
            inverse[j, i] = result[i, j]
