"""`ContextRidge`: the regression where the arms have new features every round."""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit
from ...core.kinds import Count, Finite, NonNegative, Scratch
from ...core.verbs import Arms
from ..cholesky import definite_cholesky, log_det, require_finite, solve_lower, solve_lower_transposed
from ..scaling import check_digits
from ..selection import argmax
from .factors import (
    LEAP,
    REFRESH,
    anchor_of,
    anchored_size,
    column_of,
    correlate_features,
    fill_row,
    invert_from_factor,
    mean_square,
    predict_arm,
    project_vector,
    rank_one,
    regained_by,
    sample_theta,
)
from .verbs import refresh


class ContextRidge(NamedTuple):
    features: Finite  # (K, d) of the last prediction
    lam: float
    mean: Finite  # (K,) at the last prediction
    square: Finite  # (K,)
    log_det: Finite  # (1,) log det(V) - d log(lam)
    updates: Count  # (1,) since the last factorisation
    theta: Finite  # (d,)
    inverse: Finite  # (d, d) V^-1
    direction: Scratch  # (d,)
    design: Finite  # (d, d) V
    response: Finite  # (d,) sum r x
    factor: Finite  # (d, d) as in FeatureRidge
    keeps_factor: bool
    row: Scratch  # (d,) an arm's features, with the constant column
    column: NonNegative  # (1,) c, the constant column; 0: not known before the first reward
    centre: Finite  # (1,) m, what an intercept is drawn to
    intercept: bool  # whether the last column is constant; theta and response are those of an intercept that is drawn to 0

    @jit
    def predict(self, context):
        column, anchor = column_of(self, context.features) if self.intercept else 0.0, anchor_of(self)
        for k in range(self.features.shape[0]):
            predict_arm(self, k, self.inverse, self.theta, context.features, column, anchor)

    @jit
    def learn(self, context, arm, reward):
        d = self.theta.shape[0]
        fill_row(self, context.features, arm)
        x, error = self.row, reward
        for i in range(d):
            error -= self.theta[i] * x[i]
            self.response[i] += reward * x[i]
            for j in range(d):
                self.design[i, j] += x[i] * x[j]
        denominator = rank_one(self, x)
        for i in range(d):
            self.theta[i] += self.direction[i] * error / denominator
        if self.updates[0] >= REFRESH or not 1.0 <= denominator < LEAP:
            refresh(self)
        return error, max(denominator, 1.0)

    @jit
    def untried(self, eligible):
        return 0

    @jit
    def best_arm(self, values, eligible, untried_first):
        return argmax(values, eligible)

    @jit
    def penalty(self):
        unknown, d = 0.0, self.theta.shape[0]
        for i in range(d):
            unknown += self.inverse[i, i]
        return mean_square(self.lam, anchored_size(self), d - self.lam * unknown)

    @jit
    def regained(self):
        last = self.theta.shape[0] - 1
        return regained_by(self, anchor_of(self), self.theta[last], self.inverse[last, last])

    @jit
    def refresh(self):
        d = self.theta.shape[0]
        definite_cholesky(self.design, self.factor)
        self.log_det[0] = log_det(self.factor) - d * math.log(self.lam)
        self.updates[0] = 0.0
        for i in range(d):
            self.theta[i] = self.response[i]
        solve_lower(self.factor, self.theta)
        solve_lower_transposed(self.factor, self.theta)
        invert_from_factor(self.factor, self.inverse, self.direction)
        require_finite(self.theta)

    @jit
    def sample(self, scale, out, rng):
        sample_theta(self, scale, self.features, out, rng)

    @jit
    def win_chances(self, scale, eligible, untried_first, out):
        return False

    @jit
    def correlate(self, arm, out):
        correlate_features(self, arm, out)

    @jit
    def add_features(self, context, total, arm, weight):
        for i in range(total.shape[0]):
            total[i] += weight * context.features[arm, i]

    @jit
    def project(self, total, cross):
        return project_vector(self, total, cross)


def shown_features(arms: Arms, lam: float, intercept: bool, column: float) -> tuple[np.ndarray, float]:
    """The features (K, d) of arms that keep them, or zeros until the first round shows some, and the constant column.

    column: the constant column where it is known; 0: it is not, and of arms that keep their features it is `size_of` them.
    Refuses fewer than six digits.
    """
    features = np.zeros((arms.number, arms.dimension + intercept))
    if arms.features is not None:
        features[:, : arms.dimension] = arms.features
        check_digits("arms", features, lam, arms.horizon, root=False)
        column = (column or size_of(arms.features)) if intercept else 0.0
    if intercept:
        features[:, -1] = column
    return features, column


def size_of(features: np.ndarray) -> float:
    """The root mean square of the rows' norms; 1 for zeros."""
    return float(np.sqrt((features * features).sum() / len(features))) or 1.0
