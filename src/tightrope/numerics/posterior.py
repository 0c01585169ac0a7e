"""The chance that one arm has the largest of several random scores: what a Thompson policy's propensity is."""

import math

import numpy as np

from ..compiled.kernels import lean
from . import special

FLAT = 1e-12  # slopes that are zero but for rounding
SURE = 8.5  # deviations beyond which a normal density is left out
STEPS = np.linspace(-SURE, SURE, 18)  # edges of panels, in deviations
ROOT_OF_TWO = math.sqrt(2.0)
ONE_THREAD = 2**18  # multiplications of a product up to which OpenBLAS keeps it in the thread that asks
FEWEST = 16  # draws that a product should have
CHUNK = 2_000_000  # entries of one batch of draws
TINY = 1e-17  # below this x, P(Beta(a, b) < x) is x^a / (a B(a, b)) to the last digit


def chance_of_best(
    mean: np.ndarray, root: np.ndarray, eligible: np.ndarray | None, arm: int, rng: np.random.Generator, draws: int
) -> tuple[float, float]:
    """P(arm is the first largest eligible entry of N(mean, root root')), and its standard error.

    mean: (K,). root: (K, r), or (K,) where the entries are independent of each other. Each draw is split into a part along u, the
    direction in which the arm gains most on the others, and the rest. Given the rest the arm wins for an interval of the part along u,
    whose probability is known; averaging these probabilities has a smaller variance than counting wins, also where wins are rare.
    O(draws K r), without a product that a library would share out among threads.
    """
    if root.ndim == 1:
        return chance_among_independent(mean, root, eligible, arm, rng, draws)
    if eligible is not None and not eligible[arm]:
        return 0.0, 0.0
    rivals = rivals_of(arm, mean.size, eligible)
    lead, gain = mean[arm] - mean[rivals], root[arm] - root[rivals]
    norms = np.sqrt(np.einsum("kr,kr->k", gain, gain))
    size = norms.max(initial=0.0)
    apart = norms > 1e-12 * max(size, 1.0) if size > 0.0 else np.zeros(rivals.size, dtype=np.bool_)
    level = rivals[~apart]  # never separated by a draw: the larger mean wins, ties go to the lowest index
    if ((lead[~apart] < 0.0) | ((lead[~apart] == 0.0) & (level < arm))).any():
        return 0.0, 0.0
    if not apart.any():
        return 1.0, 0.0
    lead, gain = lead[apart], gain[apart]
    near = lead / norms[apart]  # in standard deviations: rivals close behind, or ahead, decide
    direction = ((np.exp(near.min() - near) / norms[apart])[:, None] * gain).sum(axis=0)
    length = math.sqrt((direction * direction).sum())
    if length <= 1e-9:
        direction, length = gain[0], norms[apart][0]
    direction = direction / length
    slope = (gain * direction).sum(axis=1)  # (m,) what a unit along u adds to the lead over each rival
    normal, low, high = rng.standard_normal((draws, root.shape[1])), np.empty(draws), np.empty(draws)
    winning_range(normal, direction, lead, np.ascontiguousarray(gain.T), slope, np.empty(lead.size), low, high)
    share = np.maximum(special.ndtr(high) - special.ndtr(low), 0.0)
    p = float(share.mean())
    return p, float(np.sqrt(max(share.var() / (draws - 1), 0.0)))


def rivals_of(arm: int, number: int, eligible: np.ndarray | None) -> np.ndarray:
    """The other arms, those that are eligible."""
    others = np.ones(number, dtype=np.bool_) if eligible is None else eligible.copy()
    others[arm] = False
    return np.flatnonzero(others)


@lean
def winning_range(normal, direction, lead, gain, slope, margin, low, high):
    """low[n], high[n]: between which multiples of the direction draw n, less its own part along it, leads all rivals.

    gain: (r, m) what a unit of each normal adds to the leads (m,). margin: (m,) to work in.
    """
    draws, r = normal.shape
    m = lead.shape[0]
    for n in range(draws):
        along = 0.0
        for j in range(r):
            along += normal[n, j] * direction[j]
        for k in range(m):
            margin[k] = lead[k]
        for j in range(r):
            part = normal[n, j] - along * direction[j]
            for k in range(m):
                margin[k] += part * gain[j, k]
        least, most = -math.inf, math.inf
        for k in range(m):
            if slope[k] > FLAT:
                least = max(least, -margin[k] / slope[k])
            elif slope[k] < -FLAT:
                most = min(most, -margin[k] / slope[k])
            elif margin[k] < 0.0:
                least = math.inf
        low[n], high[n] = least, most


def chance_among_independent(
    mean: np.ndarray, deviation: np.ndarray, eligible: np.ndarray | None, arm: int, rng: np.random.Generator, draws: int
) -> tuple[float, float]:
    """`chance_of_best` for independent normal scores: the integral of f_arm prod F_j, exact to 1e-9 where that is cheaper than draws.

    Rivals that are surely behind are left out. Panels are as fine as the narrowest density near them. Where they are too many, the
    product is averaged over draws of the arm's own score.
    """
    if eligible is not None and not eligible[arm]:
        return 0.0, 0.0
    rivals = rivals_of(arm, mean.size, eligible)
    centre, width, m, s = float(mean[arm]), float(deviation[arm]), mean[rivals], deviation[rivals]
    certain = s <= 0.0  # the larger mean wins, ties go to the lowest index
    if width <= 0.0:
        if ((m[certain] > centre) | ((m[certain] == centre) & (rivals[certain] < arm))).any():
            return 0.0, 0.0
        return float(special.ndtr((centre - m[~certain]) / s[~certain]).prod()), 0.0
    floor, ceiling = float((m - SURE * s).max(initial=centre - SURE * width)), centre + SURE * width
    if floor >= ceiling:
        return 0.0, 0.0
    near = ~certain & (m + SURE * s > floor)
    if not near.any():
        return float(special.ndtr((centre - floor) / width)), 0.0
    m, s = m[near], s[near]
    edges = np.concatenate([centre + width * STEPS, (m[:, None] + s[:, None] * STEPS).reshape(-1)])
    edges = thinned(edges, floor, ceiling, min(width, float(s.min())))
    if (edges.size - 1) * NODES.size > draws:
        scores = centre + width * rng.standard_normal(draws)
        share = np.empty(draws)
        shares_behind(scores, m, s, share)
        if certain.any():
            share[scores < floor] = 0.0
        return float(share.mean()), float(np.sqrt(share.var() / (draws - 1)))
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    scores, weight = (middle[:, None] + half[:, None] * NODES).reshape(-1), (half[:, None] * WEIGHTS).reshape(-1)
    share = np.empty(scores.size)
    shares_behind(scores, m, s, share)
    z = (scores - centre) / width
    return min(float((np.exp(-0.5 * z * z) * weight * share).sum()) / (math.sqrt(2.0 * math.pi) * width), 1.0), 0.0


@lean
def shares_behind(scores, mean, deviation, share):
    """share[n] <- the probability that independent normals are all below scores[n]."""
    for n in range(scores.shape[0]):
        product = 1.0
        for k in range(mean.shape[0]):
            product *= 0.5 * math.erfc((mean[k] - scores[n]) / (deviation[k] * ROOT_OF_TWO))
            if product < TINY:
                product = 0.0
                break
        share[n] = product


def best_of_draws(mean: np.ndarray, root: np.ndarray, eligible: np.ndarray | None, rng: np.random.Generator, draws: int) -> np.ndarray:
    """How often each arm is the best eligible one in so many draws of N(mean, root root'); root: (K, r), or (K,) where it is diagonal.

    Products stay below the size that libraries share out among threads, as long as that leaves some draws in each.
    """
    K, rank = mean.size, root.shape[-1]
    closed = mean if eligible is None else np.where(eligible, mean, -np.inf)
    work = K * rank if root.ndim == 2 else K
    part = ONE_THREAD // work if work * FEWEST <= ONE_THREAD else max(1, CHUNK // K)
    wins, left = np.zeros(K), draws
    while left:
        n = min(left, part)
        normal = rng.standard_normal((n, rank))
        winners = (closed + (normal @ root.T if root.ndim == 2 else normal * root)).argmax(axis=1)
        wins += np.bincount(winners, minlength=K)
        left -= n
    return wins / draws


NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
REACH = 6.5  # standard deviations of the log odds to either side, beyond which come exponential tails
TAIL = 23.0  # -ln of the mass that is left out
EDGES = np.array([-REACH, -4.0, -2.2, -0.8, 0.8, 2.2, 4.0, REACH])
TAIL_EDGES = np.array([4.0, 9.0, 15.0, TAIL])
THIN = 0.5  # of the smallest deviation: edges closer together than that make panels finer than they need to be
NEGLIGIBLE = 1e-13


def _cumulative_weights() -> np.ndarray:
    """(8, 8) integrals from -1 to node i of the polynomial that is 1 at node j and 0 at the others."""
    found = np.empty((NODES.size, NODES.size))
    for j in range(NODES.size):
        basis = np.poly1d([1.0])
        for i in range(NODES.size):
            if i != j:
                basis *= np.poly1d([1.0, -NODES[i]]) / (NODES[j] - NODES[i])
        antiderivative = basis.integ()
        found[:, j] = antiderivative(NODES) - antiderivative(-1.0)
    return found


PARTIAL = _cumulative_weights()


def thinned(edges: np.ndarray, low: float, high: float, deviation: float) -> np.ndarray:
    """Edges of panels from low to high, in order. deviation: the smallest; edges that are closer than THIN of it are one."""
    edges = np.sort(edges[(edges > low) & (edges < high)])
    cell = (edges - low) // (THIN * deviation)
    return np.concatenate([[low], edges[np.diff(cell, prepend=0.0) > 0.0], [high]])


def best_of_betas(a: np.ndarray, b: np.ndarray, eligible: np.ndarray | None) -> np.ndarray:
    """(K,) P(arm k has the largest of independent Beta(a_k, b_k) draws) among the eligible; off by less than 1e-8.

    The integral of prod_{j != k} F_j dF_k over log odds, in which every density is smooth, by Gauss-Legendre panels that are as
    fine as the narrowest density near them. The distribution functions come from the same panels. O(K^2) evaluations.
    """
    chosen = np.arange(a.size) if eligible is None else np.flatnonzero(eligible)
    probability = np.zeros(a.size)
    a, b = a[chosen], b[chosen]
    mode, deviation = np.log(a) - np.log(b), np.sqrt(1.0 / a + 1.0 / b)
    low = float((mode - REACH * deviation - TAIL / a).max())
    below = share_below(np.full(a.size, low), a, b)
    open_ = below < 1.0 - NEGLIGIBLE
    if open_.sum() == 1:
        probability[chosen[open_]] = 1.0
        return probability
    chosen, a, b, mode, deviation, below = chosen[open_], a[open_], b[open_], mode[open_], deviation[open_], below[open_]
    right = mode + REACH * deviation + TAIL / b
    edges = np.concatenate([
        (mode[:, None] + deviation[:, None] * EDGES).reshape(-1),
        (mode[:, None] - REACH * deviation[:, None] - TAIL_EDGES / a[:, None])[TAIL / a > deviation].reshape(-1),
        (mode[:, None] + REACH * deviation[:, None] + TAIL_EDGES / b[:, None])[TAIL / b > deviation].reshape(-1),
    ])  # fmt: skip
    high = float(right.max())
    edges = thinned(edges, low, high, float(deviation.min()))
    mass = np.zeros(a.size)
    _integrate(
        edges,
        a,
        b,
        special.betaln(a, b),
        below.copy(),
        np.empty((a.size, NODES.size)),
        np.empty((a.size, NODES.size)),
        NODES,
        WEIGHTS,
        PARTIAL,
        mass,
    )
    probability[chosen] = mass / mass.sum()
    return probability


@lean
def _integrate(edges, a, b, log_constant, below, density, share, nodes, weights, partial, mass):
    """mass[k] += integral of f_k prod_{j != k} F_j over all panels; below: (K,) F at the first edge, updated in place."""
    K, n = a.shape[0], nodes.shape[0]
    for panel in range(edges.shape[0] - 1):
        half, middle = 0.5 * (edges[panel + 1] - edges[panel]), 0.5 * (edges[panel + 1] + edges[panel])
        for i in range(n):
            u = middle + half * nodes[i]
            log_rest = -math.log1p(math.exp(u)) if u < 0.0 else -u - math.log1p(math.exp(-u))  # ln(1 - x)
            for k in range(K):
                density[k, i] = half * math.exp(a[k] * (u + log_rest) + b[k] * log_rest - log_constant[k])
        for k in range(K):
            for i in range(n):
                total = below[k]
                for j in range(n):
                    total += partial[i, j] * density[k, j]
                share[k, i] = total
            for j in range(n):
                below[k] += weights[j] * density[k, j]
        for i in range(n):
            before = 1.0
            for k in range(K):  # density times the F of the arms before; those after are multiplied in on the way back
                density[k, i] *= before * weights[i]
                before *= share[k, i]
            after = 1.0
            for k in range(K - 1, -1, -1):
                mass[k] += density[k, i] * after
                after *= share[k, i]


def share_below(odds: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """P(ln(x / (1 - x)) < odds) for x from Beta(a, b)."""

    def lower(odds: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:  # for odds <= 0
        x = special.expit(odds)
        return np.where(x < TINY, np.exp(np.minimum(a * odds - np.log(a) - special.betaln(a, b), 0.0)), special.betainc(a, b, x))

    return np.where(odds <= 0.0, lower(np.minimum(odds, 0.0), a, b), 1.0 - lower(np.minimum(-odds, 0.0), b, a))
