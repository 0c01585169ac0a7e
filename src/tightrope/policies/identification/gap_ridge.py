"""Least squares with the widths of all gaps to one leader."""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import lean
from ...core.kinds import Count, Extended, Finite, RewardSum, Scratch
from ...numerics.cholesky import solve_lower
from ...numerics.ridge import invert_from_factor
from .coordinates import Coordinates
from .ridge import Progress, factorise, new_progress, solve_means, square_of_gap


class GapRidge(NamedTuple):
    features: Finite  # (K, d)
    columns: Finite  # (d, K) the same, transposed
    ridge: Finite  # (d,) diagonal of R
    ridge_log_det: float
    mean: Extended  # (K,)
    square: Extended  # (K,) x_k'A^-1 x_k
    gap_square: Extended  # (K,) squared widths of x_leader - x_k
    pulls: Count  # (K,)
    sums: RewardSum  # (K,)
    progress: Progress  # (1,)
    inverse: Extended  # (d, d) A^-1
    direction: Scratch  # (d,)
    projection: Scratch  # (K,)
    design: Scratch  # (d, d)
    factor: Extended  # (d, d) Cholesky factor of A at the last factorisation

    @lean
    def rank_one_update(self, arm, reward):
        """O(K d + d^2)."""
        K, d = self.features.shape
        columns, inverse, direction, projection = self.columns, self.inverse, self.direction, self.projection
        progress = self.progress[0]
        multiply(inverse, self.features[arm], direction)
        multiply(columns, direction, projection)
        denominator = 1.0 + projection[arm]
        error = (reward - self.mean[arm]) / denominator
        of_leader = projection[progress["leader"]]
        for k in range(K):
            g = projection[k]
            self.mean[k] += g * error
            self.square[k] -= g * g / denominator
            self.gap_square[k] = max(self.gap_square[k] - (of_leader - g) * (of_leader - g) / denominator, 0.0)
        for p in range(d):
            share = direction[p] / denominator
            for q in range(d):
                inverse[p, q] -= share * direction[q]
        progress["log_det"] += math.log1p(projection[arm])

    @lean
    def refactorise(self):
        """O(K d^2 + d^3)."""
        K, d = self.features.shape
        factorise(self)
        invert_from_factor(self.factor, self.inverse, self.direction)
        leader = self.progress[0]["leader"]
        for k in range(K):
            for p in range(d):
                self.direction[p] = self.features[k, p]
            solve_lower(self.factor, self.direction)
            total = 0.0
            for p in range(d):
                total += self.direction[p] * self.direction[p]
            self.square[k] = total
            self.gap_square[k] = square_of_gap(self, leader, k)
        solve_means(self)


def new_gap_ridge(start: Coordinates) -> GapRidge:
    K, d = start.features.shape
    return GapRidge(
        start.features, np.ascontiguousarray(start.features.T), start.ridge, start.ridge_log_det,
        np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K), new_progress(K),
        np.zeros((d, d)), np.zeros(d), np.zeros(K), np.zeros((d, d)), np.zeros((d, d)),
    )  # fmt: skip


@lean
def multiply(matrix, vector, out):
    """out <- matrix' vector, rows outermost, in fours, so that `out` is read and written a quarter as often. O(size of matrix)."""
    n, rows = out.shape[0], vector.shape[0]
    fours = rows - rows % 4
    for k in range(n):
        out[k] = 0.0
    for p in range(0, fours, 4):
        first, second, third, fourth = vector[p], vector[p + 1], vector[p + 2], vector[p + 3]
        for k in range(n):
            sum_of_two = out[k] + first * matrix[p, k] + second * matrix[p + 1, k]
            out[k] = sum_of_two + third * matrix[p + 2, k] + fourth * matrix[p + 3, k]
    for p in range(fours, rows):
        entry = vector[p]
        for k in range(n):
            out[k] += entry * matrix[p, k]


@lean
def measure_from(model, leader):
    """Measure gaps from this arm: gap_square <- y'A^-1 y for y = x_leader - x_k. O(K d^2) if it is a new one."""
    if model.progress[0]["leader"] == leader:
        return
    model.progress[0]["leader"] = leader
    K, d = model.features.shape
    columns, total = model.columns, model.gap_square
    for k in range(K):
        total[k] = 0.0
    for p in range(d):
        for q in range(p + 1):
            entry = model.inverse[p, q] if p == q else 2.0 * model.inverse[p, q]
            for k in range(K):
                total[k] += entry * (columns[p, leader] - columns[p, k]) * (columns[q, leader] - columns[q, k])
    for k in range(K):
        total[k] = max(total[k], 0.0)


@lean
def greedy_scores(model, i, j, scores):
    """(x_a'A^-1 y)^2 / (1 + x_a'A^-1 x_a) for y = x_i - x_j: what a pull of a takes off y'A^-1 y. O(K d + d^2)."""
    d = model.direction.shape[0]
    y, solution = model.design[0], model.direction  # the design matrix is scratch
    for p in range(d):
        y[p] = model.features[i, p] - model.features[j, p]
    multiply(model.inverse, y, solution)
    multiply(model.columns, solution, scores)
    for k in range(scores.shape[0]):
        scores[k] = scores[k] * scores[k] / (1.0 + model.square[k])
