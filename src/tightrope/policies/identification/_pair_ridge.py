"""Least squares with the widths of all pairs of arms, for sampling rules that compare every arm with every other."""

import math
from typing import NamedTuple

import numpy as np

from ..._jit import lean
from ...numerics.cholesky import solve_lower, solve_lower_transposed
from ._coordinates import Coordinates
from ._ridge import factorise, new_progress, rank_one_update, refactorise, solve_means, square_of_gap


class PairRidge(NamedTuple):
    features: np.ndarray  # (K, d)
    ridge: np.ndarray  # (d,) diagonal of R
    ridge_log_det: float
    mean: np.ndarray  # (K,)
    product: np.ndarray  # (K, K) X A^-1 X'
    pair_square: np.ndarray  # (K, K) squared widths of x_i - x_j
    pulls: np.ndarray  # (K,)
    sums: np.ndarray  # (K,)
    progress: np.ndarray  # (1,) PROGRESS
    direction: np.ndarray  # (d,) scratch
    projection: np.ndarray  # (K,) scratch
    design: np.ndarray  # (d, d) scratch
    factor: np.ndarray  # (d, d) Cholesky factor of A at the last factorisation


def new_pair_ridge(start: Coordinates) -> PairRidge:
    """The model without data."""
    K, d = start.features.shape
    return PairRidge(
        *start, np.zeros(K), np.zeros((K, K)), np.zeros((K, K)), np.zeros(K), np.zeros(K), new_progress(K),
        np.zeros(d), np.zeros(K), np.zeros((d, d)), np.zeros((d, d)),
    )  # fmt: skip


@rank_one_update.register(PairRidge)
@lean
def rank_one_update_pairridge(model, arm, reward):
    """O(K^2)."""
    K = model.mean.shape[0]
    product, squares, projection = model.product, model.pair_square, model.projection
    for k in range(K):
        projection[k] = product[arm, k]
    denominator = 1.0 + projection[arm]
    error = (reward - model.mean[arm]) / denominator
    for i in range(K):
        g = projection[i]
        model.mean[i] += g * error
        for j in range(K):
            product[i, j] -= g * projection[j] / denominator
            squares[i, j] = max(squares[i, j] - (g - projection[j]) * (g - projection[j]) / denominator, 0.0)
    model.progress[0]["log_det"] += math.log1p(projection[arm])


@refactorise.register(PairRidge)
@lean
def refactorise_pairridge(model):
    """O(K^2 d^2 + d^3)."""
    K, d = model.features.shape
    factorise(model)
    for i in range(K):
        for p in range(d):
            model.direction[p] = model.features[i, p]
        solve_lower(model.factor, model.direction)
        solve_lower_transposed(model.factor, model.direction)
        for j in range(i, K):
            total = 0.0
            for p in range(d):
                total += model.features[j, p] * model.direction[p]
            model.product[i, j] = total
            model.product[j, i] = total
    for i in range(K):
        for j in range(i):
            model.pair_square[i, j] = square_of_gap(model, i, j)
            model.pair_square[j, i] = model.pair_square[i, j]
    solve_means(model)
