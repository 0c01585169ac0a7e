"""What the policies of this family share: checks of the question, the error estimate and the forecast."""

import math
from collections.abc import Callable

import numpy as np

from ..._jit import lean
from ...matching import offers
from ...numerics.counts import intervals
from ...numerics.radii import determinant_radius
from ...numerics.selection import first_unpulled, one_hot
from ...solvers.lp import minimal_combination
from ...verbs import Arms, allowed

MOST_CONTENDERS = 32  # arms whose comparison the forecast plans for
FORECAST_STEPS = 6
MOST_SAMPLES = 2.0**60
TIE = 1e-12  # relative: what rounding leaves of an exact tie
SUPPORT = 1e-9  # a smaller share of a design counts as zero
SQRT8 = 2.0 * math.sqrt(2.0)  # the constant of the static bound


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
    factor: Callable[[float, np.ndarray], float], shares: np.ndarray | None = None,
) -> float:  # fmt: skip
    """Samples still needed if the estimated gaps are the true ones; infinite if a gap is not positive.

    Telling arm j from the leader asks for factor * ||x_leader - x_j||_{A^-1} <= gap_j + epsilon. factor(log det(A / lam), pulls)
    is taken where the forecast ends. shares: (K,) if the policy samples in fixed shares. Otherwise samples in the optimal ratio w
    of a difference (Xu, Honda, Sugiyama 2018, Eqs 10-11) add 1 / |w|_1^2 each to its inverse square width, and the samples for
    different j are shared arm by arm. O(K) linear programs, at most MOST_CONTENDERS.
    """
    lead = mean[leader] - mean + epsilon
    contenders = [int(j) for j in np.argsort(lead) if j != leader][:MOST_CONTENDERS]
    if not contenders:
        return 0.0
    if lead[contenders[0]] <= 0.0:
        return math.inf
    differences, lead = features[leader] - features[contenders], lead[contenders]

    def after(extra: np.ndarray) -> tuple[np.ndarray, float]:
        A = lam * np.eye(features.shape[1]) + features.T @ ((pulls + extra)[:, None] * features)
        log_det = float(np.linalg.slogdet(A)[1]) - (features.shape[1] * math.log(lam) if lam > 0 else 0.0)
        return np.einsum("ij,ji->i", differences, np.linalg.solve(A, differences.T)), factor(log_det, pulls + extra)

    if shares is not None:
        low, high = 0.0, 1.0
        while high < MOST_SAMPLES:  # the first power of two that is enough, then bisection to a thousandth
            squares, C = after(high * shares)
            if (C * np.sqrt(squares) <= lead).all():
                break
            low, high = high, 2.0 * high
        while high - low > max(1.0, high / 1024.0):
            squares, C = after((low + high) / 2.0 * shares)
            low, high = (low, (low + high) / 2.0) if (C * np.sqrt(squares) <= lead).all() else ((low + high) / 2.0, high)
        return math.ceil(high)

    designs = [minimal_combination(features, y) for y in differences]
    extra = np.zeros(pulls.size)
    squares, C = after(extra)
    for _ in range(FORECAST_STEPS):
        wanted = np.zeros(pulls.size)
        for need, square, design in zip(lead, squares, designs, strict=True):
            if square > 0.0:
                gain = max((C / need) ** 2 - 1.0 / square, 0.0)  # of the inverse square; costs |w|_1^2 samples, |w| / |w|_1 of each arm
                np.maximum(wanted, gain * design.value * np.abs(design.weights), out=wanted)
        extra = wanted
        C = after(extra)[1]
    return float(np.ceil(extra).sum())


def unshrunk(features: np.ndarray, pulls: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Least squares means without the ridge parameter, which early on hides gaps from a forecast: (K,)."""
    roots = np.sqrt(pulls)
    means = np.divide(sums, roots, out=np.zeros_like(sums), where=pulls > 0)
    return np.asarray(features @ np.linalg.lstsq(roots[:, None] * features, means)[0])


@lean
def gap_radius(policy, log_det, K):
    """C of Xu, Honda, Sugiyama 2018, Eq 3; log_det is that of A / lam."""
    return determinant_radius(policy.noise, policy.delta / (K * K if policy.union else 1), log_det, policy.lam, policy.theta_bound)


@lean
def most_ambiguous(mean, squares, i, C):
    """argmax_{j != i} [mean_j - mean_i + C sqrt(squares_j)] and its value B; i and -inf if there is no other arm. O(K)."""
    j, bound = i, -math.inf
    for k in range(mean.shape[0]):
        if k != i:
            value = mean[k] - mean[i] + C * math.sqrt(squares[k])
            if value > bound:
                j, bound = k, value
    return j, bound


@lean
def furthest_behind(pulls, shares, eligible):
    """argmin pulls_a / shares_a over shares_a > 0; where none of them is eligible, the arm pulled least. O(K).

    Equal shares come out of a solver equal up to rounding only, which must not decide.
    """
    best, least, fallback = -1, math.inf, -1
    for a in range(pulls.shape[0]):
        if allowed(eligible, a):
            if fallback < 0 or pulls[a] < pulls[fallback]:
                fallback = a
            if shares[a] > SUPPORT and pulls[a] / shares[a] < least * (1.0 - TIE):
                best, least = a, pulls[a] / shares[a]
    return best if best >= 0 else fallback


@lean
def shrinking_arm(product, squares, among, eligible, rng):
    """argmin_a max_y y'(A + x_a x_a')^-1 y over the differences y of the arms in `among`; ties at random. O(K^3) at most.

    product: X A^-1 X'; squares: (K, K) squared widths of the differences. Many arms leave the widest difference as it is, and
    always taking the first of them would pull it for ever.
    """
    K = product.shape[0]
    best, least, ties = -1, math.inf, 0
    for a in range(K):
        if allowed(eligible, a):
            scale = 1.0 + product[a, a]
            worst = 0.0
            for i in range(K):
                if among[i]:
                    for j in range(i):
                        if among[j]:
                            c = product[a, i] - product[a, j]
                            worst = max(worst, squares[i, j] - c * c / scale)
                if worst > least * (1.0 + TIE):
                    break
            if best < 0 or worst < least * (1.0 - TIE):
                best, least, ties = a, worst, 1
            elif worst <= least * (1.0 + TIE):
                ties += 1
                if rng.random() * ties < 1.0:
                    best = a
    return best


def after_one_pull(product: np.ndarray, squares: np.ndarray, among: np.ndarray) -> np.ndarray:
    """max_y y'(A + x_a x_a')^-1 y for every arm a, as `shrinking_arm` compares them: (K,)."""
    i, j = np.nonzero(np.tril(np.outer(among, among), -1))
    if not i.size:
        return np.zeros(len(among))
    return np.asarray((squares[i, j] - (product[:, i] - product[:, j]) ** 2 / (1.0 + np.diag(product)[:, None])).max(axis=1))


def before_estimates(pulls: np.ndarray, eligible: np.ndarray | None) -> np.ndarray:
    """Probability of each arm while some were never pulled: the first of those, or any eligible arm where all of those are masked."""
    arm = first_unpulled(pulls, eligible)
    if arm >= 0:
        return one_hot(arm, pulls.size)
    return shared_equally(np.ones(pulls.size, dtype=np.bool_) if eligible is None else eligible)


def tied_best(values: np.ndarray, eligible: np.ndarray | None) -> np.ndarray:
    """Which eligible arms share the least value up to rounding."""
    values = np.where(eligible, values, math.inf) if eligible is not None else values
    return np.asarray(values <= values.min() * (1.0 + TIE))


NOTHING_KNOWN = {"gap_bound": math.inf, "error": 1.0, "samples_remaining": math.inf}


def report(
    mean: np.ndarray, radius: float, square: np.ndarray, index: np.ndarray, probability: np.ndarray, known: bool
) -> dict[str, np.ndarray]:
    """The per-arm part of an explanation, of width radius sqrt(square); without estimates the intervals are infinite."""
    width = radius * np.sqrt(square) if known else np.full(mean.size, math.inf)
    return intervals(np.where(known, mean, math.nan), width) | {"index": index.copy(), "probability": probability}


def shared_equally(tied: np.ndarray) -> np.ndarray:
    """Probability of each arm when the marked ones are drawn uniformly."""
    return tied / tied.sum() if tied.sum() > 1 else one_hot(int(np.argmax(tied)), tied.size)
