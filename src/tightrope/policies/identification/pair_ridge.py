"""Least squares with the widths of all pairs of arms, for sampling rules that compare every arm with every other."""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import lean
from ...core.kinds import Count, Extended, Finite, RewardSum, Scratch
from ...numerics.cholesky import solve_lower, solve_lower_transposed
from .coordinates import Coordinates
from .ridge import Progress, factorise, new_progress, solve_means, square_of_gap


class PairRidge(NamedTuple):
    features: Finite  # (K, d)
    ridge: Finite  # (d,) diagonal of R
    ridge_log_det: float
    mean: Extended  # (K,)
    product: Extended  # (K, K) X A^-1 X'
    pair_square: Extended  # (K, K) squared widths of x_i - x_j
    pulls: Count  # (K,)
    sums: RewardSum  # (K,)
    progress: Progress  # (1,)
    direction: Scratch  # (d,)
    projection: Scratch  # (K,)
    design: Scratch  # (d, d)
    factor: Extended  # (d, d) Cholesky factor of A at the last factorisation

    @lean
    def rank_one_update(self, arm, reward):
        K = self.mean.shape[0]
        product, squares, projection = self.product, self.pair_square, self.projection
        for k in range(K):
            projection[k] = product[arm, k]
        denominator = 1.0 + projection[arm]
        error = (reward - self.mean[arm]) / denominator
        for i in range(K):
            g = projection[i]
            self.mean[i] += g * error
            for j in range(K):
                product[i, j] -= g * projection[j] / denominator
                squares[i, j] = max(squares[i, j] - (g - projection[j]) * (g - projection[j]) / denominator, 0.0)
        self.progress[0]["log_det"] += math.log1p(projection[arm])

    @lean
    def refactorise(self):
        """O(K^2 d^2 + d^3)."""
        K, d = self.features.shape
        factorise(self)
        for i in range(K):
            for p in range(d):
                self.direction[p] = self.features[i, p]
            solve_lower(self.factor, self.direction)
            solve_lower_transposed(self.factor, self.direction)
            for j in range(i, K):
                total = 0.0
                for p in range(d):
                    total += self.features[j, p] * self.direction[p]
                self.product[i, j] = total
                self.product[j, i] = total
        for i in range(K):
            for j in range(i):
                self.pair_square[i, j] = square_of_gap(self, i, j)
                self.pair_square[j, i] = self.pair_square[i, j]
        solve_means(self)


def new_pair_ridge(start: Coordinates) -> PairRidge:
    K, d = start.features.shape
    return PairRidge(
        *start, np.zeros(K), np.zeros((K, K)), np.zeros((K, K)), np.zeros(K), np.zeros(K), new_progress(K),
        np.zeros(d), np.zeros(K), np.zeros((d, d)), np.zeros((d, d)),
    )  # fmt: skip
