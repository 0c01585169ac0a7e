"""What the policies of this family share: checks of the question, the error estimate and the forecast."""

import math
from collections.abc import Callable

import numpy as np

from ...parameters import offers
from ...solvers.lp import minimal_combination
from ...verbs import Arms

MOST_CONTENDERS = 32  # arms whose comparison the forecast plans for
FORECAST_STEPS = 6


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
            again = min(set(range(len(X))) - set(first.tolist()))
            twin = int(np.argmax((X[:again] == X[again]).all(axis=1)))
            raise ValueError(
                f"arms[{again}] repeats arms[{twin}], so with epsilon = 0 {name} could never stop; drop one of them or set epsilon > 0."
            )
    return X


def error_estimate(mean: np.ndarray, widths: np.ndarray, leader: int, epsilon: float, noise: float) -> float:
    """Estimated probability that the leader is worse than the best arm by more than epsilon.

    A union over the other arms of Gaussian tails, sum_j P(N(gap_j, noise^2 widths_j^2) < -epsilon), at most 1; unlike delta it
    does not correct for looking at every round. mean: (K,); widths: (K,) norms of x_leader - x_j.
    """
    total = 0.0
    for j in range(mean.size):
        if j != leader:
            lead = mean[leader] - mean[j] + epsilon
            scale = noise * widths[j]
            total += 0.5 * math.erfc(lead / (scale * math.sqrt(2.0))) if scale > 0 else float(lead < 0)
    return min(total, 1.0)


def forecast(
    features: np.ndarray, lam: float, pulls: np.ndarray, mean: np.ndarray, leader: int, epsilon: float,
    radius: Callable[[float, np.ndarray], float],
) -> float:  # fmt: skip
    """Samples still needed if the estimated gaps are the true ones; infinite if a gap is not positive.

    Telling arm j from the leader asks for ||x_leader - x_j||_{A^-1} <= (gap_j + epsilon) / C. Samples in the optimal ratio w of
    their difference (Eqs 10-11) add 1 / |w|_1^2 each to the inverse square; samples for different j are shared arm by arm.
    radius(log-determinant of A / lam, A) gives C and is evaluated again where the forecast ends.
    """
    lead = mean[leader] - mean + epsilon
    A = lam * np.eye(features.shape[1]) + features.T @ (pulls[:, None] * features)
    contenders = [int(j) for j in np.argsort(lead) if j != leader][:MOST_CONTENDERS]
    if not contenders:
        return 0.0
    if lead[contenders[0]] <= 0.0:
        return math.inf
    differences = features[leader] - features[contenders]
    squares = np.einsum("ij,ji->i", differences, np.linalg.solve(A, differences.T))
    designs = [minimal_combination(features, y) for y in differences]
    scale = np.log(lam) * features.shape[1] if lam > 0 else 0.0
    extra = np.zeros(pulls.size)
    for _ in range(FORECAST_STEPS):
        future = A + features.T @ (extra[:, None] * features)
        C = radius(float(np.linalg.slogdet(future)[1] - scale), pulls + extra)
        wanted = np.zeros(pulls.size)
        for j, square, design in zip(contenders, squares, designs, strict=True):
            if square > 0.0:
                needed = design.value * max((C / lead[j]) ** 2 - 1.0 / square, 0.0)  # |w|_1^2 times the gain, times p = |w| / |w|_1
                np.maximum(wanted, needed * np.abs(design.weights), out=wanted)
        extra = wanted
    return float(np.ceil(extra).sum())
