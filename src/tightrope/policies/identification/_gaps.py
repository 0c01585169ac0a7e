"""Least squares for comparing arms: the gap of every arm to a leader, and the width of that gap, by rank-one updates.

A = lam I + sum x x' (lam = 0 allowed), theta_hat = A^-1 sum r x, mean_k = x_k' theta_hat, and for y = x_i - x_k the width
||y||_{A^-1}. Two forms, told apart by what they keep:

- `GapRidge`: widths to one leader, O(K d + d^2) an update; a new leader costs O(K d^2);
- `PairRidge`: widths of all pairs and X A^-1 X', O(K^2 + K d) an update.

A width is never the difference of entries of X A^-1 X', which loses six digits for near-parallel arms: it starts as
|L^-1 y|^2 from a Cholesky factor and then loses (y'A^-1 x_a)^2 / (1 + x_a'A^-1 x_a) with every pull of a. Nothing is estimated
before every arm was fed once; from then on the Cholesky factor is renewed after 1, 2, 4, .. times that many rounds and at
least every REFRESH rounds. Loops run over arms innermost, so that they vectorise without changing the order of any sum.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._jit import lean
from ...numerics.cholesky import cholesky, log_det, solve_lower, solve_lower_transposed
from ...numerics.ridge import REFRESH, invert_from_factor

ROUNDS = 0  # fed so far
MISSING = 1  # arms never fed
RENEWAL = 2  # the round of the next factorisation
LOG_DET = 3  # log det(A) - d log(lam); without the second term if lam = 0
LEADER = 4  # the arm that gap_square is measured from
RANK_TOLERANCE = 1e-9  # of the largest singular value: below it a direction of the features counts as absent


class GapRidge(NamedTuple):
    features: np.ndarray  # (K, d)
    columns: np.ndarray  # (d, K) the same, transposed
    lam: float
    mean: np.ndarray  # (K,)
    square: np.ndarray  # (K,) x_k'A^-1 x_k
    gap_square: np.ndarray  # (K,) squared widths of x_leader - x_k
    pulls: np.ndarray  # (K,)
    sums: np.ndarray  # (K,)
    numbers: np.ndarray  # (5,) see ROUNDS ..; one array, because compiled code pays for every array of a state
    inverse: np.ndarray  # (d, d) A^-1
    direction: np.ndarray  # (d,) scratch
    projection: np.ndarray  # (K,) scratch
    design: np.ndarray  # (d, d) scratch
    factor: np.ndarray  # (d, d) Cholesky factor of A at the last factorisation


class PairRidge(NamedTuple):
    features: np.ndarray  # (K, d)
    lam: float
    mean: np.ndarray  # (K,)
    product: np.ndarray  # (K, K) X A^-1 X'
    pair_square: np.ndarray  # (K, K) squared widths of x_i - x_j
    pulls: np.ndarray  # (K,)
    sums: np.ndarray  # (K,)
    numbers: np.ndarray  # (5,)
    direction: np.ndarray  # (d,) scratch
    projection: np.ndarray  # (K,) scratch
    design: np.ndarray  # (d, d) scratch
    factor: np.ndarray  # (d, d)


def spanning(features: np.ndarray) -> np.ndarray:
    """Coordinates of the arms in the space they span, (K, rank): the features themselves if that is all of R^d.

    Without a ridge parameter A is regular only there; means and widths of gaps are the same in both.
    """
    left, values, _ = np.linalg.svd(features, full_matrices=False)
    rank = int((values > RANK_TOLERANCE * values[0]).sum())
    return features if rank == features.shape[1] else np.ascontiguousarray(left[:, :rank] * values[:rank])


def _numbers(K: int) -> np.ndarray:
    numbers = np.zeros(5)
    numbers[MISSING] = K
    return numbers


def new_gaps(features: np.ndarray, lam: float) -> GapRidge:
    """The model without data; features: (K, d)."""
    K, d = features.shape
    return GapRidge(
        features, np.ascontiguousarray(features.T), lam, np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K),
        _numbers(K), np.zeros((d, d)), np.zeros(d), np.zeros(K), np.zeros((d, d)), np.zeros((d, d)),
    )  # fmt: skip


def new_pairs(features: np.ndarray, lam: float) -> PairRidge:
    """The model without data; features: (K, d)."""
    K, d = features.shape
    return PairRidge(
        features, lam, np.zeros(K), np.zeros((K, K)), np.zeros((K, K)), np.zeros(K), np.zeros(K),
        _numbers(K), np.zeros(d), np.zeros(K), np.zeros((d, d)), np.zeros((d, d)),
    )  # fmt: skip


@lean
def factorise(model):
    """factor and log_det of A from the pull counts. O(K d^2 + d^3)."""
    K, d = model.features.shape
    for i in range(d):
        for j in range(i + 1):
            total = model.lam if i == j else 0.0
            for k in range(K):
                if model.pulls[k] > 0.0:
                    total += model.pulls[k] * model.features[k, i] * model.features[k, j]
            model.design[i, j] = total
    cholesky(model.design, model.factor)
    model.numbers[LOG_DET] = log_det(model.factor) - (d * math.log(model.lam) if model.lam > 0.0 else 0.0)
    model.numbers[RENEWAL] = model.numbers[ROUNDS] + min(model.numbers[ROUNDS], float(REFRESH))


@lean
def square_of_gap(model, i, j):
    """|L^-1 (x_i - x_j)|^2 from the Cholesky factor. O(d^2)."""
    d = model.direction.shape[0]
    for p in range(d):
        model.direction[p] = model.features[i, p] - model.features[j, p]
    solve_lower(model.factor, model.direction)
    total = 0.0
    for p in range(d):
        total += model.direction[p] * model.direction[p]
    return total


@lean
def solve_means(model):
    """mean_k = x_k'A^-1 sum r x from the Cholesky factor. O(K d + d^2)."""
    K, d = model.features.shape
    for p in range(d):
        total = 0.0
        for k in range(K):
            total += model.sums[k] * model.features[k, p]
        model.direction[p] = total
    solve_lower(model.factor, model.direction)
    solve_lower_transposed(model.factor, model.direction)
    for k in range(K):
        total = 0.0
        for p in range(d):
            total += model.features[k, p] * model.direction[p]
        model.mean[k] = total


@lean
def feed(model, arm, reward):
    """Count one reward; whether a rank-one step takes it in (before the first factorisation and when the next one is due: no)."""
    if model.pulls[arm] == 0.0:
        model.numbers[MISSING] -= 1.0
    model.pulls[arm] += 1.0
    model.sums[arm] += reward
    model.numbers[ROUNDS] += 1.0
    return model.numbers[ROUNDS] < model.numbers[RENEWAL]


@lean
def forget(model):
    """Drop all data; the last estimates stay until every arm was fed again."""
    for k in range(model.pulls.shape[0]):
        model.pulls[k] = 0.0
        model.sums[k] = 0.0
    model.numbers[ROUNDS] = 0.0
    model.numbers[RENEWAL] = 0.0
    model.numbers[MISSING] = float(model.pulls.shape[0])


# Widths to one leader ---------------------------------------------------------------------------------------------------


@lean
def learn_gaps(model, arm, reward):
    """Take in one reward. O(K d + d^2)."""
    if feed(model, arm, reward):
        absorb_gaps(model, arm, reward)
    elif model.numbers[MISSING] == 0.0:
        renew_gaps(model)


@lean
def absorb_gaps(model, arm, reward):
    """The rank-one step: O(K d + d^2)."""
    K, d = model.features.shape
    columns, inverse, direction, projection = model.columns, model.inverse, model.direction, model.projection
    multiply(inverse, model.features[arm], direction)
    multiply(columns, direction, projection)
    denominator = 1.0 + projection[arm]
    error = (reward - model.mean[arm]) / denominator
    lead = projection[int(model.numbers[LEADER])]
    for k in range(K):
        g = projection[k]
        model.mean[k] += g * error
        model.square[k] -= g * g / denominator
        model.gap_square[k] = max(model.gap_square[k] - (lead - g) * (lead - g) / denominator, 0.0)
    for p in range(d):
        share = direction[p] / denominator
        for q in range(d):
            inverse[p, q] -= share * direction[q]
    model.numbers[LOG_DET] += math.log1p(projection[arm])


@lean
def multiply(matrix, vector, out):
    """out <- matrix' vector, rows outermost. O(size of matrix)."""
    n = out.shape[0]
    for k in range(n):
        out[k] = 0.0
    for p in range(vector.shape[0]):
        entry = vector[p]
        for k in range(n):
            out[k] += entry * matrix[p, k]


@lean
def renew_gaps(model):
    """Everything from a fresh factorisation. O(K d^2 + d^3)."""
    K, d = model.features.shape
    factorise(model)
    invert_from_factor(model.factor, model.inverse, model.direction)
    for k in range(K):
        for p in range(d):
            model.direction[p] = model.features[k, p]
        solve_lower(model.factor, model.direction)
        total = 0.0
        for p in range(d):
            total += model.direction[p] * model.direction[p]
        model.square[k] = total
        model.gap_square[k] = square_of_gap(model, int(model.numbers[LEADER]), k)
    solve_means(model)


@lean
def lead(model, leader):
    """Measure gaps from this arm. O(K d^2) if it is a new one."""
    if model.numbers[LEADER] != leader:
        model.numbers[LEADER] = leader
        measure_gaps(model, leader)


@lean
def measure_gaps(model, leader):
    """gap_square <- y'A^-1 y for y = x_leader - x_k. O(K d^2)."""
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


# Widths of all pairs ----------------------------------------------------------------------------------------------------


@lean
def learn_pairs(model, arm, reward):
    """Take in one reward. O(K^2)."""
    if feed(model, arm, reward):
        absorb_pairs(model, arm, reward)
    elif model.numbers[MISSING] == 0.0:
        renew_pairs(model)


@lean
def absorb_pairs(model, arm, reward):
    """The rank-one step: O(K^2)."""
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
    model.numbers[LOG_DET] += math.log1p(projection[arm])


@lean
def renew_pairs(model):
    """Everything from a fresh factorisation. O(K^2 d^2 + d^3)."""
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
