"""How many samples a policy still needs if the gaps it estimates are the true ones."""

import math
from collections.abc import Callable

import numpy as np

from ...solvers.lp import minimal_combination
from .gap_ridge import GapRidge
from .pair_ridge import PairRidge

MOST_CONTENDERS = 32  # arms whose comparison the forecast plans for
STEPS = 6
MOST_SAMPLES = 2.0**46  # beyond it nobody waits, and designs are singular to rounding


def forecast(
    model: GapRidge | PairRidge,
    mean: np.ndarray,
    leader: int,
    epsilon: float,
    radius: Callable[[float, np.ndarray], float],
    shares: np.ndarray | None = None,
) -> float:
    """Samples still needed if the estimated gaps are the true ones; infinite if a gap is not positive, or needs more than MOST_SAMPLES.

    Telling arm j from the leader asks for radius * ||x_leader - x_j||_{A^-1} <= gap_j + epsilon; radius(log det(A / R), pulls) is
    taken where the forecast ends. model: a GapRidge or PairRidge. mean: (K,). shares: (K,) if the policy samples in fixed shares.
    Otherwise samples in the optimal ratio w of a difference (Xu, Honda, Sugiyama 2018, Eqs 10-11) add 1 / |w|_1^2 each to its
    inverse square width, and the samples for different j are shared arm by arm. O(K) linear programs, at most MOST_CONTENDERS.
    """
    features, pulls = model.features, model.pulls
    lead = mean[leader] - mean + epsilon
    contenders = [int(j) for j in np.argsort(lead) if j != leader][:MOST_CONTENDERS]
    if not contenders:
        return 0.0
    if lead[contenders[0]] <= 0.0:
        return math.inf
    differences, lead = features[leader] - features[contenders], lead[contenders]

    def after(extra: np.ndarray) -> tuple[np.ndarray, float]:
        A = np.diag(model.ridge) + features.T @ ((pulls + extra)[:, None] * features)
        log_det = float(np.linalg.slogdet(A)[1]) - model.ridge_log_det
        return np.einsum("ij,ji->i", differences, np.linalg.solve(A, differences.T)), radius(log_det, pulls + extra)

    if shares is None:
        return _in_optimal_ratios(features, differences, lead, pulls.size, after)

    def enough(samples: float) -> bool:
        squares, C = after(samples * shares)
        return bool((C * np.sqrt(squares) <= lead).all())

    low, high = 0.0, 1.0
    while high < MOST_SAMPLES and not enough(high):  # the first power of two that is enough, then bisection to a thousandth
        low, high = high, 2.0 * high
    if high >= MOST_SAMPLES:
        return math.inf
    while high - low > max(1.0, high / 1024.0):
        middle = (low + high) / 2.0
        low, high = (low, middle) if enough(middle) else (middle, high)
    return math.ceil(high)


def _in_optimal_ratios(
    features: np.ndarray, differences: np.ndarray, lead: np.ndarray, K: int, after: Callable[[np.ndarray], tuple[np.ndarray, float]]
) -> float:
    designs = [minimal_combination(features, y) for y in differences]
    extra = np.zeros(K)
    squares, C = after(extra)
    for _ in range(STEPS):
        wanted = np.zeros(K)
        for need, square, design in zip(lead, squares, designs, strict=True):
            if square > 0.0:
                gain = max((C / need) ** 2 - 1.0 / square, 0.0)  # of the inverse square; costs |w|_1^2 samples, |w| / |w|_1 of each arm
                np.maximum(wanted, gain * design.value * np.abs(design.weights), out=wanted)
        extra = wanted
        if extra.sum() > MOST_SAMPLES:
            return math.inf
        C = after(extra)[1]
    return float(np.ceil(extra).sum())


def least_squares_means(model: GapRidge | PairRidge) -> np.ndarray:
    """Means without the ridge parameter, which early on hides gaps from a forecast: (K,)."""
    roots = np.sqrt(model.pulls)
    means = np.divide(model.sums, roots, out=np.zeros_like(model.sums), where=model.pulls > 0)
    return np.asarray(model.features @ np.linalg.lstsq(roots[:, None] * model.features, means)[0])
