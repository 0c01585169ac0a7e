"""Cholesky factors, and the scale of features that they need."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.kernels import lean
from ..core import checks

OUT_OF_DIGITS = (
    "The regression ran out of digits: the features differ too much in size, or are too large for "
    "lam. Scale them, scaled = tightrope.scale(X), and use scaled.features; or take a larger lam."
)
# of its own diagonal entry: what a pivot that is zero in exact arithmetic can be left with by
# rounding
PIVOT_TOLERANCE = 1e-14


@lean
def inner(first, second):
    """The sum of first_i second_i, one addition after another."""
    total = 0.0
    for i in range(first.shape[0]):
        total += first[i] * second[i]
    return total


@lean
def cholesky(matrix, factor):
    """Lower factor of a symmetric positive semidefinite matrix; columns of zero pivots are zero.
    O(d^3 / 3).

    Returns the smallest share of its diagonal entry that a pivot keeps (0 where the matrix is
    singular or holds NaN), whatever the sizes of the columns: each is judged by its own diagonal
    entry.
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
    """`cholesky` of a matrix that must be positive definite; refuses one that rounding has made
    singular."""
    if not cholesky(matrix, factor) > 0.0:
        raise ValueError(OUT_OF_DIGITS)


@lean
def require_finite(values):
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
    """Turn the factor of A into that of A + vector vector' by plane rotations (QR); overwrites
    vector. O(d^2)."""
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


# Features of very different sizes: how many digits a regression keeps, and `scale`, which makes
# them alike.


DIGITS = -math.log10(np.finfo(np.float64).eps)  # 15.7, those of float64
ENOUGH = 6.0  # digits a regression must keep
LARGEST = 1e150  # of features, times the root of the number of rounds
UNKNOWN_HORIZON = 10**6  # rounds to be ready for where the horizon is not known


@dataclass(frozen=True)
class Scaled:
    """Features brought to a common size. Calling it brings new rows, (d,) or (n, d), to the same
    coordinates.

    Attributes
    ----------
    features : (K, d) array
        The scaled features.
    centre : (d,) array
        What was subtracted, for a row whose intercept has the value it has in X; 0 without an
        intercept.
    spread : (d,) array
        What was divided by.
    intercept : int or None
        Number of the constant column.
    """

    features: np.ndarray
    centre: np.ndarray
    spread: np.ndarray
    intercept: int | None

    __repr__ = checks.in_one_line

    def __call__(self, rows: ArrayLike) -> np.ndarray:
        """The same change of coordinates for new rows: (d,) or (n, d), finite."""
        d = self.centre.size
        array = checks.floats("rows", rows)
        matrix = checks.matrix("rows", array[None] if array.ndim == 1 else array, shape=(None, d))
        changed = _changed(matrix, self.centre, self.spread, self.intercept)
        return changed[0] if array.ndim == 1 else changed


def scale(X: ArrayLike) -> Scaled:
    """Bring the columns of features to a common size without changing what a linear model can
    express. O(K d).

    A constant column other than 0 (the first of ones, else the first) is the intercept and becomes
    1. With an intercept every other column is centred and divided by its standard deviation: that
    only moves the intercept's coefficient, so the means x'theta that some theta can express stay
    the same. Without one, centring would change them, and columns are divided by their root mean
    square only. The ridge parameter then acts on the coefficients of the scaled columns, which is
    what lam = 1 is meant for.

    Parameters
    ----------
    X : (K, d) array
        Features, or past rows of features that change every round.

    Returns
    -------
    Scaled
        Pass its `features` to Session or a problem, and call it on later rows.

    Raises
    ------
    ValueError
        Where an entry is not finite.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.scale([[1.0, 20.0], [1.0, 40.0]]).features
    array([[ 1., -1.],
           [ 1.,  1.]])
    """
    rows = checks.matrix("X", X)
    size = np.abs(rows).max(axis=0)
    constant = (rows == rows[0]).all(axis=0) & (size > 0)
    ones = np.flatnonzero(constant & (rows[0] == 1.0))
    candidates = ones if ones.size else np.flatnonzero(constant)
    intercept = int(candidates[0]) if candidates.size else None
    safe = np.where(size > 0, size, 1.0)  # squares of what is divided by it do not overflow
    unit = rows / safe
    centre = (
        np.where(constant, 0.0, safe * unit.mean(axis=0))
        if intercept is not None
        else np.zeros(size.size)
    )
    spread = safe * np.sqrt(np.mean((unit - centre / safe) ** 2, axis=0))
    spread = np.where(constant, rows[0], np.where(spread > 0, spread, 1.0))
    return Scaled(_changed(rows, centre, spread, intercept), centre, spread, intercept)


def _changed(
    rows: np.ndarray, centre: np.ndarray, spread: np.ndarray, intercept: int | None
) -> np.ndarray:
    if intercept is None:
        return np.ascontiguousarray(rows / spread)
    ones = rows[:, [intercept]] / spread[intercept]
    return np.ascontiguousarray((rows - ones * centre) / spread)


def digits_left(sizes: np.ndarray, lam: float, rounds: int, *, root: bool) -> float:
    """Digits a regression keeps in the worst case.

    sizes: (d,), the largest absolute value of each column. root: the factor comes from QR, not from
    V.
    """
    with np.errstate(over="ignore"):
        ratio = rounds * float(np.sort(sizes * sizes)[:-1].sum()) / lam
    lost = math.log10(1.0 + ratio) if math.isfinite(ratio) else math.inf
    return DIGITS - (0.5 * lost if root else lost)


def check_digits(
    name: str, features: np.ndarray, lam: float, rounds: int | None, *, root: bool
) -> None:
    """Refuse features (K, d) that leave fewer than six digits after so many rounds (None: a
    million) of any arms. O(K d)."""
    T = UNKNOWN_HORIZON if rounds is None else rounds
    sizes = np.maximum(features.max(axis=0), -features.min(axis=0))
    largest = float(sizes.max())
    if largest > LARGEST / math.sqrt(T):
        arm, column = divmod(int(np.abs(features).argmax()), features.shape[1])
        raise ValueError(
            f"{name}[{arm}, {column}] = {features[arm, column]:g} is too large: sums of its "
            f"square over {T:,} rounds overflow. {REMEDY}"
        )
    left = digits_left(sizes, lam, T, root=root)
    if left < ENOUGH:
        column = int(np.argsort(sizes)[-2])
        arm = int(np.abs(features[:, column]).argmax())
        raise ValueError(
            f"{name}[{arm}, {column}] = {features[arm, column]:g} is too large beside the other "
            f"columns: after {T:,} rounds with lam = {lam:g} the regression may keep "
            f"{max(left, 0.0):.1f} of its 16 digits, but needs {ENOUGH:g}. {REMEDY}"
        )


REMEDY = (
    "Scale the features: scaled = tightrope.scale(X), then use scaled.features (and scaled(rows) "
    "for new ones), or take a larger lam."
)
