"""How likely each of n independent random scores is among the k largest.

P(i in) = integral of f_i(s) P(at most k - 1 of the others exceed s) ds. The count of the others is Poisson binomial; prefix and
suffix distributions give it for every i left out in O(n k) a node, without the division that would lose digits.
"""

import math

import numpy as np

from ...compiled.kernels import lean
from ...numerics import special

NODES = 10  # Gauss-Legendre nodes between neighbouring breakpoints
CUTS = (-8.5, -6.5, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.5, 8.5)  # breakpoints of a normal, in deviations
MOST_WORK = 3e8  # steps up to which the exact integral is offered: about half a second


def exact_is_cheap(n: int, k: int) -> bool:
    """Whether `top_k_probability` stays below half a second."""
    return len(CUTS) * NODES * n * n * (k + 10) <= MOST_WORK


def top_k_probability(centre: np.ndarray, spread: np.ndarray, k: int, law: str) -> np.ndarray:
    """(n,) probability of each score being among the k largest. O(n^2 k) times 150; relative error about 1e-9.

    law: "normal" (centre + spread * N(0, 1)) or "uniform" (centre + spread * U(0, 1)); spread > 0 everywhere.
    """
    n = centre.size
    if k >= n:
        return np.ones(n)
    cuts = np.array(CUTS if law == "normal" else (0.0, 1.0))
    points = np.unique(centre[:, None] + spread[:, None] * cuts)
    unit, weight = np.polynomial.legendre.leggauss(NODES)
    half, left = np.diff(points) / 2, points[:-1]
    out = np.zeros(n)
    chunk = max(1, 10**6 // (n * NODES))
    for first in range(0, half.size, chunk):
        h = half[first : first + chunk, None]
        s = (left[first : first + chunk, None] + h + h * unit).reshape(-1, 1)
        z = (s - centre) / spread
        if law == "normal":
            exceed, density = special.ndtr(-z), np.exp(-0.5 * z * z) / (math.sqrt(2 * math.pi) * spread)
        else:
            exceed, density = np.clip(1 - z, 0.0, 1.0), ((z > 0) & (z < 1)) / spread
        room = np.zeros((n + 1, k))
        add_inclusion(exceed, density * (h * weight).reshape(-1, 1), np.zeros((n + 1, k)), room, out)
    return np.minimum(out, 1.0)


@lean
def add_inclusion(exceed, mass, before, after, out):
    """out[i] += sum over nodes of mass[node, i] * P(at most k - 1 of the others exceed)."""
    n, k = exceed.shape[1], before.shape[1]
    for node in range(exceed.shape[0]):
        for m in range(k):
            before[0, m] = 1.0 if m == 0 else 0.0  # distribution of the count among scores 0 .. i - 1
            after[n, m] = 1.0  # P(count among scores i + 1 .. is at most m)
        for i in range(n):
            p = exceed[node, i]
            for m in range(k):
                before[i + 1, m] = before[i, m] * (1.0 - p) + (before[i, m - 1] * p if m > 0 else 0.0)
        for i in range(n - 1, -1, -1):
            if mass[node, i] > 0.0:
                total = 0.0
                for m in range(k):
                    total += before[i, m] * after[i + 1, k - 1 - m]
                out[i] += mass[node, i] * total
            p = exceed[node, i]
            for m in range(k):
                after[i, m] = after[i + 1, m] * (1.0 - p) + (after[i + 1, m - 1] * p if m > 0 else 0.0)
