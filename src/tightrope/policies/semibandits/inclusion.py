"""How likely each of n random scores is to be in the set: exactly for independent scores and the k largest, else counted over draws.

P(i in) = integral of f_i(s) P(at most k - 1 of the others exceed s) ds. The count of the others is Poisson binomial; prefix and
suffix distributions give it for every i left out in O(n k) a node, without the division that would lose digits.

Counting asks no oracle: among the k largest is who reaches the k-th largest score, equal ones by index, and with categories who does so
among those that reach the last place of their own.
"""

import math

import numpy as np

from ...compiled.kernels import jit, lean
from ...numerics import special
from ...solvers.oracles.top import kth_largest

NODES = 10  # Gauss-Legendre nodes between neighbouring breakpoints
CUTS = (-8.5, -6.5, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.5, 8.5)  # breakpoints of a normal, in deviations
FEW_PLACES = 16  # places up to which keeping the best so far is quicker than selecting
MOST_WORK = 2e6  # steps up to which the exact integral is taken: about as long as draws take


def exact_inclusion(centre: np.ndarray, spread: np.ndarray, k: int, law: str) -> np.ndarray | None:
    """`top_k_probability`, with scores that are surely in or surely out left out of the integral; None where it would still take long."""
    cuts = cuts_of(law)
    lowest, highest = centre + cuts[0] * spread, centre + cuts[-1] * spread
    n, probability = centre.size, np.ones(centre.size)
    if k >= n:
        return probability
    probability[highest < np.partition(lowest, n - k)[n - k]] = 0.0  # k others are surely above
    sure = lowest > np.partition(highest, n - k - 1)[n - k - 1]  # at most k - 1 others can be above
    open_ = ~sure & (probability > 0.0)
    number, places = int(open_.sum()), k - int(sure.sum())
    if number * cuts.size * NODES * number * (places + 10) > MOST_WORK:
        return None
    probability[open_] = top_k_probability(centre[open_], spread[open_], places, law)
    return probability


def cuts_of(law: str) -> np.ndarray:
    return np.array(CUTS if law == "normal" else (0.0, 1.0))


def top_k_probability(centre: np.ndarray, spread: np.ndarray, k: int, law: str) -> np.ndarray:
    """(n,) probability of each score being among the k largest. O(n^2 k) times 150; relative error about 1e-9.

    law: "normal" (centre + spread * N(0, 1)) or "uniform" (centre + spread * U(0, 1)); spread > 0 everywhere.
    """
    n = centre.size
    if k >= n:
        return np.ones(n)
    points = np.unique(centre[:, None] + spread[:, None] * cuts_of(law))
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


@lean
def last_of(row, best):
    """The k-th largest of a row's entries, k few; best: (k,) to work in, the largest so far in order. O(n), as few of them enter."""
    k = best.shape[0]
    for i in range(k):
        best[i] = -math.inf
    for i in range(row.shape[0]):
        value = row[i]
        if value > best[k - 1]:
            place = k - 1
            while place > 0 and best[place - 1] < value:
                best[place] = best[place - 1]
                place -= 1
            best[place] = value
    return best[k - 1]


@jit
def count_top(scores, spacing, k, hits):
    """hits[i] += how many rows of scores (draws, n) have i among their k largest, equal ones by index.

    spacing: (draws,) scores of a row that round to the same multiple of it are equal; 0: only those that are. Rounding keeps the order, so
    that the k-th score of a row says by itself which others may be equal to it: only those are divided.
    """
    n = scores.shape[1]
    best = np.empty(min(k, FEW_PLACES))
    for draw in range(scores.shape[0]):
        row, grid, threshold = scores[draw], spacing[draw], -math.inf
        if k < n:
            threshold = last_of(row, best) if k <= FEW_PLACES else kth_largest(row, k)
        bound, reach = threshold - 2.0 * grid, 0  # a score below rounds to less, whatever the rounding of the quotients
        for i in range(n):
            reach += row[i] >= bound
        if reach <= k:
            for i in range(n):
                hits[i] += row[i] >= bound
            continue
        level = round_to(threshold, grid)
        left = k  # places for those that just reach it
        for i in range(n):
            if row[i] > bound and round_to(row[i], grid) > level:
                left -= 1
                hits[i] += 1.0
        for i in range(n):
            if left > 0 and row[i] >= bound and round_to(row[i], grid) == level:
                left -= 1
                hits[i] += 1.0


@lean
def round_to(value, grid):
    """The multiple of a grid that is nearest, counted in it; the value itself where the grid is 0."""
    return np.rint(value / grid) if grid > 0.0 else value


@jit
def count_partition(scores, members, first, limits, k, hits):
    """`count_top` with at most limits[g] of each category, which are counted before the k largest of what they leave are.

    members: (n,) by category, ascending in each. first: (G + 1,) where each category begins in members.
    """
    n = scores.shape[1]
    kept, values, group, best = np.empty(n, dtype=np.bool_), np.empty(n), np.empty(n), np.empty(min(k, FEW_PLACES))
    for draw in range(scores.shape[0]):
        row, count = scores[draw], 0
        for g in range(limits.shape[0]):
            size, left = first[g + 1] - first[g], limits[g]
            for i in range(size):
                group[i] = row[members[first[g] + i]]
            threshold = -math.inf
            if left == 1 < size:  # one of each kind is the usual case
                for i in range(size):
                    threshold = max(threshold, group[i])
            elif 0 < left < size:
                threshold = kth_largest(group[:size], left)
            for i in range(size):
                kept[members[first[g] + i]] = left > 0 and group[i] > threshold
            above = 0
            for i in range(size):
                above += group[i] > threshold
            left -= above
            for i in range(size):
                if left > 0 and group[i] == threshold:
                    left -= 1
                    kept[members[first[g] + i]] = True
        for i in range(n):
            if kept[i]:
                values[count] = row[i]
                count += 1
        threshold = -math.inf
        if k < count:
            threshold = last_of(values[:count], best) if k <= FEW_PLACES else kth_largest(values[:count], k)
        left = k
        for i in range(n):
            if kept[i] and row[i] > threshold:
                left -= 1
                hits[i] += 1.0
        for i in range(n):
            if left > 0 and kept[i] and row[i] == threshold:
                left -= 1
                hits[i] += 1.0
