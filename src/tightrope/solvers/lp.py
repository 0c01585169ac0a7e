"""The smallest L1 combination of arms that makes a vector: min |w|_1 subject to sum_a w_a x_a = y.

Its dual is max y'z subject to |x_a'z| <= 1, and p = |w| / |w|_1 is the allocation that shrinks ||y||_{A^-1} fastest
(Xu, Honda, Sugiyama 2018, Eqs 10-11; Elfving's theorem). The simplex method on a tableau: because the sign of a variable is
free, any r = rank(X) independent arms are a feasible basis, so there is no first phase. Bland's rule rules out cycles.
"""

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from ..compiled.kernels import jit, lean
from ..core import checks
from ..core.kinds import Kind, Scratch

TOLERANCE = 1e-10
OPTIMAL, OUTSIDE_SPAN, ITERATION_LIMIT = 0, 1, 2
RowOrNone: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=-1, most=lambda policy, arms: arms.number + arms.dimension)]


class Combination(NamedTuple):
    """A solution and what proves it."""

    weights: np.ndarray  # (K,) w
    dual: np.ndarray  # (d,) z
    value: float  # |w|_1
    dual_value: float  # y'z, equal to value up to rounding at an optimum
    status: int  # OPTIMAL, OUTSIDE_SPAN (y is no combination of the arms) or ITERATION_LIMIT


class Tableau(NamedTuple):
    """Scratch of the simplex method, so that kernels do not allocate."""

    table: Scratch  # (d, K + d + 1) B^-1 (X', I, y)
    basis: RowOrNone  # (d,) int64: arm of each row, -1 for a row without one
    signs: Scratch  # (d,) sign of its weight
    costs: Scratch  # (K,) x_a'z


def new_tableau(K: int, d: int) -> Tableau:
    return Tableau(np.zeros((d, K + d + 1)), np.zeros(d, dtype=np.int64), np.zeros(d), np.zeros(K))


@lean
def _pivot(table, row, column):
    n, m = table.shape
    scale = table[row, column]
    for c in range(m):
        table[row, c] /= scale
    for r in range(n):
        if r != row:
            factor = table[r, column]
            if factor != 0.0:
                for c in range(m):
                    table[r, c] -= factor * table[row, c]


@jit
def least_l1(features, y, tableau, weights):
    """Fill weights (K,) with the solution; return the status. O(K d) a pivot, about 2 d pivots."""
    K, d = features.shape
    table, basis, signs, costs = tableau.table, tableau.basis, tableau.signs, tableau.costs
    largest, size = 0.0, 0.0
    for r in range(d):
        for a in range(K):
            table[r, a] = features[a, r]
            largest = max(largest, abs(features[a, r]))
        for c in range(d):
            table[r, K + c] = 1.0 if r == c else 0.0
        table[r, K + d] = y[r]
        size = max(size, abs(y[r]))
        basis[r] = -1
    for a in range(K):
        weights[a] = 0.0
    for _ in range(d):  # Gauss-Jordan with complete pivoting chooses the first basis
        row, column, best = -1, -1, TOLERANCE * largest
        for r in range(d):
            if basis[r] < 0:
                for a in range(K):
                    if abs(table[r, a]) > best:
                        row, column, best = r, a, abs(table[r, a])
        if row < 0:
            break
        _pivot(table, row, column)
        basis[row] = column
    for r in range(d):
        if basis[r] < 0 and abs(table[r, K + d]) > 1e-8 * size:
            return OUTSIDE_SPAN
        signs[r] = 0.0 if basis[r] < 0 else (1.0 if table[r, K + d] >= 0.0 else -1.0)
    status = ITERATION_LIMIT
    for _ in range(100 * (K + d)):
        for a in range(K):
            costs[a] = 0.0
        for r in range(d):
            if basis[r] >= 0:
                for a in range(K):
                    costs[a] += signs[r] * table[r, a]
        entering = -1
        for a in range(K):
            if abs(costs[a]) > 1.0 + TOLERANCE:
                entering = a
                break
        if entering < 0:
            status = OPTIMAL
            break
        sign = 1.0 if costs[entering] > 0.0 else -1.0
        leaving, least = -1, np.inf
        for r in range(d):
            if basis[r] >= 0:
                rate = signs[r] * sign * table[r, entering]
                if rate > TOLERANCE:  # some rate is: they add up to more than 1
                    ratio = max(signs[r] * table[r, K + d], 0.0) / rate
                    if ratio < least or (ratio == least and basis[r] < basis[leaving]):
                        leaving, least = r, ratio
        _pivot(table, leaving, entering)
        basis[leaving], signs[leaving] = entering, sign
    for r in range(d):
        if basis[r] >= 0:
            weights[basis[r]] = table[r, K + d]
    return status


def minimal_combination(features, y) -> Combination:
    """Solve min |w|_1 subject to features' w = y, with its certificate.

    features: (K, d). y: (d,). Raises ValueError if they do not fit.
    """
    X = checks.matrix("features", features)
    target = checks.vector("y", y, length=X.shape[1], source="the number of columns of features")
    K, d = X.shape
    tableau, weights = new_tableau(K, d), np.zeros(K)
    status = int(least_l1(X, target, tableau, weights))
    dual = np.where(tableau.basis >= 0, tableau.signs, 0.0) @ tableau.table[:, K : K + d]
    if status == OUTSIDE_SPAN:
        return Combination(np.full(K, np.nan), np.full(d, np.nan), np.inf, np.inf, status)
    return Combination(weights, dual, float(np.abs(weights).sum()), float(target @ dual), status)
