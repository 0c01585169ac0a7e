"""`FeatureRidge`: the regression in the space of the features, where these are fixed and fewer than the arms."""

from typing import NamedTuple

from ...compiled.kernels import jit
from ...core.kinds import Count, Derived, Finite, NonNegative, RewardSum, Scratch
from ..cholesky import require_finite, solve_lower, solve_lower_transposed
from ..selection import argmax
from .factors import (
    AGREEMENT,
    LEAP,
    REFRESH,
    anchor_of,
    anchored_size,
    correlate_features,
    factorise_pulls,
    invert_from_factor,
    mean_square,
    project_vector,
    rank_one,
    regained_by,
    sample_theta,
)
from .verbs import refresh


class FeatureRidge(NamedTuple):
    features: Derived  # (K, d)
    lam: float
    mean: Finite  # (K,)
    square: Finite  # (K,)
    log_det: Finite  # (1,) log det(V) - d log(lam)
    pulls: Count  # (K,)
    sums: RewardSum  # (K,)
    updates: Count  # (1,) since the last factorisation
    theta: Finite  # (d,)
    inverse: Finite  # (d, d) V^-1
    direction: Scratch  # (d,)
    factor: Finite  # (d, d) Cholesky factor of V at the last factorisation, of V itself if keeps_factor
    keeps_factor: bool
    transposed: Derived  # (d, K) features: sums over d run side by side for all arms, in vector registers and unchanged order
    projection: Scratch  # (K,)
    base: Finite  # (K,) mean with an intercept that is drawn to 0; not used without one
    side: Finite  # (K,) X V^-1 e, e the last unit vector
    column: NonNegative  # (1,) c, the constant column
    centre: Finite  # (1,) m, what an intercept is drawn to
    intercept: bool  # whether the last column is constant; theta is that of an intercept that is drawn to 0

    @jit
    def predict(self, context):
        pass

    @jit
    def learn(self, context, arm, reward):
        K, d = self.features.shape
        self.pulls[arm] += 1.0
        self.sums[arm] += reward
        recursive = 1.0 + self.square[arm]
        denominator = rank_one(self, self.features[arm])
        intercept = self.intercept
        surprise = reward - (self.base[arm] if intercept else self.mean[arm])
        error = surprise / denominator
        for i in range(d):
            self.theta[i] += self.direction[i] * error
        projection = self.projection
        for k in range(K):
            projection[k] = 0.0
        for i in range(d):
            factor = self.direction[i]
            for k in range(K):
                projection[k] += self.transposed[i, k] * factor
        scale = 1.0 / denominator
        if intercept:
            share, anchor = self.direction[self.theta.shape[0] - 1] * scale, anchor_of(self)
            for k in range(K):
                base, side = self.base[k] + projection[k] * error, self.side[k] - projection[k] * share
                self.base[k], self.side[k], self.mean[k] = base, side, base + anchor * side
                self.square[k] = max(self.square[k] - projection[k] * projection[k] * scale, 0.0)
        else:
            for k in range(K):
                self.mean[k] += projection[k] * error
                self.square[k] = max(self.square[k] - projection[k] * projection[k] * scale, 0.0)
        drifted = not abs(denominator - recursive) <= AGREEMENT * recursive  # x'V^-1 x is known twice; true also of NaN
        if drifted or self.updates[0] >= REFRESH or denominator >= LEAP:
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
        K, d = self.features.shape
        theta, direction = self.theta, self.direction
        factorise_pulls(self, direction)
        for i in range(d):
            total = 0.0
            for k in range(K):
                total += self.sums[k] * self.features[k, i]
            theta[i] = total
        solve_lower(self.factor, theta)
        for k in range(K):
            for i in range(d):
                direction[i] = self.features[k, i]
            solve_lower(self.factor, direction)
            mean, square = 0.0, 0.0
            for i in range(d):
                mean += direction[i] * theta[i]
                square += direction[i] * direction[i]
            self.base[k], self.square[k] = mean, square
        solve_lower_transposed(self.factor, theta)
        invert_from_factor(self.factor, self.inverse, direction)
        anchor = anchor_of(self)
        for k in range(K):
            if self.intercept:
                self.side[k] = 0.0
                for i in range(d):
                    self.side[k] += self.features[k, i] * self.inverse[i, d - 1]
            self.mean[k] = self.base[k] + anchor * self.side[k]
        require_finite(self.mean)
        require_finite(self.square)

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
            total[i] += weight * self.features[arm, i]

    @jit
    def project(self, total, cross):
        return project_vector(self, total, cross)
