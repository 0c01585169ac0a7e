"""Cholesky factors by explicit loops, so that compiled and interpreted runs agree to the last bit."""

import math

from ..compiled.kernels import lean

OUT_OF_DIGITS = (
    "The regression ran out of digits: the features differ too much in size, or are too large for lam. "
    "Scale them, scaled = tightrope.scale(X), and use scaled.features; or take a larger lam."
)
PIVOT_TOLERANCE = 1e-14  # of its own diagonal entry: what a pivot that is zero in exact arithmetic can be left with by rounding


@lean
def cholesky(matrix, factor):
    """Lower factor of a symmetric positive semidefinite matrix; columns of zero pivots are zero. O(d^3 / 3).

    Returns the smallest share of its diagonal entry that a pivot keeps (0 where the matrix is singular or holds NaN), whatever the
    sizes of the columns: each is judged by its own diagonal entry.
    """
    d = matrix.shape[0]
    least = 1.0
    for i in range(d):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                positive = total > PIVOT_TOLERANCE * matrix[i, i]
                factor[i, i] = math.sqrt(total) if positive else 0.0
                least = min(least, total / matrix[i, i]) if positive else 0.0
            else:
                factor[i, j] = total / factor[j, j] if factor[j, j] > 0.0 else 0.0
        for j in range(i + 1, d):
            factor[i, j] = 0.0
    return least


@lean
def definite_cholesky(matrix, factor):
    """`cholesky` of a matrix that must be positive definite; refuses one that rounding has made singular."""
    if not cholesky(matrix, factor) > 0.0:
        raise ValueError(OUT_OF_DIGITS)


@lean
def require_finite(values):
    """Refuse means, widths or bounds (n,) of which one is not finite."""
    for k in range(values.shape[0]):
        if not math.isfinite(values[k]):
            raise ValueError(OUT_OF_DIGITS)


@lean
def scaled_identity(factor, root):
    for i in range(factor.shape[0]):
        for j in range(factor.shape[0]):
            factor[i, j] = root if i == j else 0.0


@lean
def update_factor(factor, vector):
    """Turn the factor of A into that of A + vector vector' by plane rotations (QR); overwrites vector. O(d^2)."""
    d = vector.shape[0]
    for j in range(d):
        old, x = factor[j, j], vector[j]
        new = math.sqrt(old * old + x * x)
        c, s = old / new, x / new
        factor[j, j] = new
        for i in range(j + 1, d):
            entry = factor[i, j]
            factor[i, j] = c * entry + s * vector[i]
            vector[i] = c * vector[i] - s * entry


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
    total = 0.0
    for i in range(factor.shape[0]):
        total += math.log(factor[i, i])
    return 2.0 * total
