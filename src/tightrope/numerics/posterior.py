"""The chance that one arm has the largest of several random scores: what a Thompson policy's propensity is."""

import math

import numpy as np

from ..compiled.kernels import lean
from . import special

TINY = 1e-17  # below this x, P(Beta(a, b) < x) is x^a / (a B(a, b)) to the last digit


def chance_of_best(
    mean: np.ndarray, root: np.ndarray, eligible: np.ndarray | None, arm: int, rng: np.random.Generator, draws: int
) -> tuple[float, float]:
    """P(arm is the first largest eligible entry of N(mean, root root')), and its standard error.

    mean: (K,). root: (K, r). Each draw is split into a part along u, the direction in which the arm gains most on the others,
    and the rest. Given the rest the arm wins for an interval of the part along u, whose probability is known; averaging these
    probabilities has a smaller variance than counting wins, also where wins are rare. O(draws K r).
    """
    others = np.arange(mean.size) != arm
    if eligible is not None:
        if not eligible[arm]:
            return 0.0, 0.0
        others &= eligible
    rivals = np.flatnonzero(others)
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
    direction = np.exp(near.min() - near) @ (gain / norms[apart, None])
    length = np.sqrt(direction @ direction)
    if length <= 1e-9:
        direction, length = gain[0], norms[apart][0]
    direction = direction / length
    slope = gain @ direction  # (m,) what a unit along u adds to the lead over each rival
    normal = rng.standard_normal((draws, root.shape[1]))
    normal -= np.outer(normal @ direction, direction)
    margin = normal @ gain.T
    margin += lead  # (draws, m) lead without the part along u
    rising, falling = slope > 1e-12, slope < -1e-12
    low, high = np.full(draws, -np.inf), np.full(draws, np.inf)
    if rising.any():
        low = (margin[:, rising] / -slope[rising]).max(axis=1)
    if falling.any():
        high = (margin[:, falling] / -slope[falling]).min(axis=1)
    share = np.maximum(special.ndtr(high) - special.ndtr(low), 0.0)
    flat = ~(rising | falling)
    if flat.any():
        share *= (margin[:, flat] >= 0.0).all(axis=1)
    p = float(share.mean())
    return p, float(np.sqrt(max(share.var() / (draws - 1), 0.0)))


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
    edges = np.sort(edges[(edges > low) & (edges < high)])
    cell = (edges - low) // (THIN * deviation.min())  # one edge of a cell is enough
    edges = np.concatenate([[low], edges[np.diff(cell, prepend=0.0) > 0.0], [high]])
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
