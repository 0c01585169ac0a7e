"""The arms' features as the linear policies of this family use them: checked once, in coordinates that keep enough digits.

Estimated means and widths of gaps do not depend on the basis that features are written in, normal equations do: they lose twice
the digits of the features' condition number. Features of moderate condition stay as they are. All others, such as an intercept
beside an income or a Unix time, are replaced by an orthogonal basis U of the space their columns span, X = U C, and the ridge
parameter lam by the matrix lam (C C')^-1 that stands for the same prior; U is turned so that this matrix is diagonal. U comes
from a singular value decomposition of the features whose columns were scaled by powers of two, which rounds nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.matching import offers
from ...core.verbs import Arms

MOST_CONDITION = 1e4  # of the features: up to it the normal equations keep eight digits
ABSENT = 1e-12  # of the largest singular value: below it a direction of the features counts as absent
PRESENT = 1e-10  # above it as present; in between rounding decides, so that such features are refused


class Coordinates(NamedTuple):
    """The start of the least-squares models."""

    features: np.ndarray  # (K, r)
    ridge: np.ndarray  # (r,) diagonal of the ridge matrix R; zeros without a ridge parameter
    ridge_log_det: float  # log det(R); 0 without a ridge parameter


def checked_features(arms: Arms, epsilon: float, name: str) -> np.ndarray:
    """The (K, d) features, or a ValueError where no number of samples can answer the question."""
    if arms.features is None:
        raise ValueError(f"{name} needs fixed (K, d) features, but these arms offer {' or '.join(offers(arms))}.")
    X = np.ascontiguousarray(arms.features, dtype=np.float64)
    empty = ~X.any(axis=1)
    if empty.any():
        raise ValueError(f"arms[{int(np.argmax(empty))}] is a zero vector, whose mean is 0 whatever theta; drop it or give it features.")
    if epsilon == 0.0:
        rows, first = np.unique(X, axis=0, return_index=True)
        if len(rows) < len(X):
            repeated = min(set(range(len(X))) - set(first.tolist()))
            twin = int(np.argmax((X[:repeated] == X[repeated]).all(axis=1)))
            raise ValueError(
                f"arms[{repeated}] repeats arms[{twin}], so with epsilon = 0 {name} could never stop; drop one of them or set epsilon > 0."
            )
    return X


def coordinates(features: np.ndarray, lam: float) -> Coordinates:
    """Coordinates of the arms for a least-squares model with this ridge parameter (lam = 0: none).

    features: (K, d). Directions that no arm has are left out: no gap depends on them.
    Raises ValueError for features that leave too few digits to tell their directions apart.
    """
    left, values, _ = np.linalg.svd(features, full_matrices=False)
    d = features.shape[1]
    if values.size == d and values[0] <= MOST_CONDITION * values[-1]:
        return _plain(features, lam)
    exponents = np.frexp(np.abs(features).max(axis=0))[1]
    basis, scaled, directions = np.linalg.svd(np.ldexp(features, -exponents), full_matrices=False)
    rank = int((scaled > ABSENT * scaled[0]).sum())
    if scaled[rank - 1] < PRESENT * scaled[0]:
        raise ValueError(
            f"arms has features that are almost combinations of each other (to {scaled[rank - 1] / scaled[0]:.0e} of their size), so "
            "rounding would decide between the arms; centre columns such as times by tightrope.scale(X).features, or drop what is repeated."
        )
    if values[0] <= MOST_CONDITION * values[rank - 1]:
        return _plain(np.ascontiguousarray(left[:, :rank] * values[:rank]), lam)
    if lam == 0.0:
        return _plain(np.ascontiguousarray(basis[:, :rank]), lam)
    return _with_ridge(basis[:, :rank], scaled[:rank], directions[:rank], exponents, lam)


def _plain(features: np.ndarray, lam: float) -> Coordinates:
    d = features.shape[1]
    return Coordinates(features, np.full(d, lam), d * math.log(lam) if lam > 0.0 else 0.0)


def _with_ridge(basis: np.ndarray, scaled: np.ndarray, directions: np.ndarray, exponents: np.ndarray, lam: float) -> Coordinates:
    """X = basis C with C = diag(scaled) directions diag(2^exponents): turned so that (C C')^-1 is diagonal, its large entries scaled."""
    rank, d = directions.shape
    if rank == d:
        root = np.ldexp(directions.T, -exponents[:, None]) / scaled
        log_det = -2.0 * (np.log(scaled).sum() + math.log(2.0) * exponents.sum())
    else:
        triangle = np.linalg.qr(np.ldexp(directions.T, exponents[:, None]) * scaled, mode="r")
        root = np.linalg.inv(triangle).T
        log_det = -2.0 * np.log(np.abs(np.diag(triangle))).sum()
    _, sizes, turn = np.linalg.svd(root, full_matrices=False)
    sizes *= math.sqrt(lam)
    shrink = np.maximum(np.frexp(sizes)[1], 0)
    features = np.ascontiguousarray(np.ldexp(basis @ turn.T, -shrink))
    return Coordinates(features, np.ldexp(sizes, -shrink) ** 2, rank * math.log(lam) + float(log_det) - 2.0 * math.log(2.0) * shrink.sum())
