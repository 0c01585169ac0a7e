"""Cholesky factors by explicit loops, so that compiled and interpreted runs agree to the last bit."""

import math

from .._jit import lean

PIVOT_TOLERANCE = 1e-14  # relative to the largest diagonal entry: below it a pivot of a semidefinite matrix counts as zero


@lean
def cholesky(matrix, factor):
    """Lower factor of a symmetric positive semidefinite matrix; columns of zero pivots are zero. O(d^3 / 3)."""
    d = matrix.shape[0]
    largest = 0.0
    for i in range(d):
        largest = max(largest, matrix[i, i])
    floor = PIVOT_TOLERANCE * largest
    for i in range(d):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = math.sqrt(total) if total > floor else 0.0
            else:
                factor[i, j] = total / factor[j, j] if factor[j, j] > 0.0 else 0.0
        for j in range(i + 1, d):
            factor[i, j] = 0.0


@lean
def update_factor(factor, vector):
    """Turn the factor of A into that of A + vector vector'; overwrites vector. O(d^2)."""
    d = vector.shape[0]
    for j in range(d):
        old, x = factor[j, j], vector[j]
        new = math.sqrt(old * old + x * x)
        c, s = new / old, x / old
        factor[j, j] = new
        for i in range(j + 1, d):
            entry = (factor[i, j] + s * vector[i]) / c
            vector[i] = c * vector[i] - s * entry
            factor[i, j] = entry


@lean
def solve_lower(factor, vector):
    """Overwrite vector with L^-1 vector. O(d^2 / 2)."""
    for i in range(vector.shape[0]):
        total = vector[i]
        for j in range(i):
            total -= factor[i, j] * vector[j]
        vector[i] = total / factor[i, i]


@lean
def solve_lower_transposed(factor, vector):
    """Overwrite vector with L'^-1 vector. O(d^2 / 2)."""
    d = vector.shape[0]
    for i in range(d - 1, -1, -1):
        value = vector[i] / factor[i, i]
        vector[i] = value
        for j in range(i):
            vector[j] -= factor[i, j] * value


@lean
def log_det(factor):
    """log det(L L')."""
    total = 0.0
    for i in range(factor.shape[0]):
        total += math.log(factor[i, i])
    return 2.0 * total
