"""The chance that one arm has the largest of several random scores: what a Thompson policy's
propensity is."""

import math

import numpy as np
import scipy

from ..compiled.kernels import jit, lean
from .linalg import inner

# How far a mean of Gaussian rewards with an unknown variance may be off: quantiles of Student's
# distribution, from above.


LONGEST = 700.0  # of ln(1 / b), so that its exponential is a number
STUDENT_STEPS = 44  # of a bisection


@lean
def student_root(log_level, freedom):
    """An x with P(|T| > x) <= exp(log_level) <= 1/2, for T of Student's distribution with so many
    degrees of freedom."""
    a = 0.5 * freedom
    constant = math.lgamma(a + 0.5) - math.lgamma(a + 1.0) - 0.5 * math.log(math.pi)
    low, high = 0.0, LONGEST
    for _ in range(STUDENT_STEPS):
        u = 0.5 * (low + high)  # ln(1 / b)
        if constant - a * u - 0.5 * math.log(-math.expm1(-u)) > log_level:
            low = u
        else:
            high = u
    return math.sqrt(freedom * math.expm1(high))


@lean
def student_width(pulls, spread, delta):
    """Half of an interval that holds the mean for every number of pulls with probability 1 - delta;
    infinite before two different rewards.

    spread: sum of squared deviations from the mean of the rewards. delta is shared out as delta /
    (n (n - 1)) over n = 2, 3, ..
    """
    if pulls < 2.0 or not spread > 0.0:
        return math.inf
    freedom = pulls - 1.0
    root = student_root(math.log(delta) - math.log(pulls * freedom), freedom)
    return root * math.sqrt(spread / freedom / pulls)


FLAT = 1e-12  # slopes that are zero but for rounding
EQUAL = 1e-12  # differences of roots that are zero but for rounding, in units of the largest
SHORT = 1e-9  # sums of directions that cancel
SURE = 8.5  # deviations beyond which a normal density is left out
NEARLY_SURE = 6.5  # deviations that an integral reaches to either side: less than 1e-10 is left out
STEPS = np.linspace(-NEARLY_SURE, NEARLY_SURE, 14)  # edges of panels, in deviations
ROOT_OF_TWO = math.sqrt(2.0)
ONE_THREAD = (
    2**18
)  # multiplications of a product up to which OpenBLAS keeps it in the thread that asks
LANES = 64  # draws side by side: a few rows of them stay in the first cache
FEWEST = 16  # draws that a product should have
CHUNK = 2_000_000  # entries of one batch of draws
TINY = 1e-17  # below this x, P(Beta(a, b) < x) is x^a / (a B(a, b)) to the last digit


def chance_of_best(
    mean: np.ndarray,
    root: np.ndarray,
    eligible: np.ndarray | None,
    arm: int,
    rng: np.random.Generator,
    draws: int,
) -> tuple[float, float]:
    """P(arm is the first largest eligible entry of N(mean, root root')), and its standard error.

    mean: (K,). root: (K, r), or (K,) where the entries are independent of each other. Each draw is
    split into a part along u, the direction in which the arm gains most on the others, and the
    rest. Given the rest the arm wins for an interval of the part along u, whose probability is
    known; averaging these probabilities has a smaller variance than counting wins, also where wins
    are rare. Every rest is taken with both signs, which halves what has to be drawn and multiplied.
    Rivals so far behind that they win in less than one of 1e16 draws are left out. O(draws K r),
    without a product that a library would share out among threads.
    """
    if root.ndim == 1:
        return chance_among_independent(mean, root, eligible, arm, rng, draws)
    K, r = root.shape
    open_ = np.ones(K, dtype=np.bool_) if eligible is None else eligible
    lead, gain, norms, share = np.empty(K), np.empty((K, r)), np.empty(K), np.zeros(2)
    m = gather_rivals(mean, root, open_, arm, lead, gain, norms)
    if m <= 0:
        return (1.0 if m == 0 else 0.0), 0.0
    if m == 1:
        return float(scipy.special.ndtr(lead[0] / norms[0])), 0.0
    normal = rng.standard_normal((r, max(draws // 2, 2)))
    winning_share(lead[:m], gain[:m], norms, normal, np.zeros(r), np.empty((5, LANES)), share)
    return float(share[0]), float(share[1])


@lean
def gather_rivals(mean, root, eligible, arm, lead, gain, norms):
    """How many rivals a draw can put ahead of the arm or behind it; -1: one is ahead in every draw.

    lead[:m], gain[:m]: the arm's lead over each in the mean, and what a unit of each normal adds to
    it. norms[:m]: its deviation.
    """
    K, r = root.shape
    if not eligible[arm]:
        return -1
    largest = 0.0
    for k in range(K):
        square = 0.0
        for j in range(r):
            square += (root[arm, j] - root[k, j]) ** 2
        norms[k] = math.sqrt(square)
        if eligible[k]:
            largest = max(largest, norms[k])
    m = 0
    for k in range(K):
        if k == arm or not eligible[k]:
            continue
        ahead = mean[arm] - mean[k]
        if norms[k] <= EQUAL * max(
            largest, 1.0
        ):  # never separated by a draw: the larger mean wins, ties go to the lowest index
            if ahead < 0.0 or (ahead == 0.0 and k < arm):
                return -1
        elif ahead < SURE * norms[k]:
            lead[m], norms[m] = ahead, norms[k]
            for j in range(r):
                gain[m, j] = root[arm, j] - root[k, j]
            m += 1
    return m


@lean
def winning_share(lead, gain, norms, normal, direction, work, mean_and_error):
    """mean_and_error <- the chance that a draw leads all m rivals, and its standard error.

    lead: (m,), gain: (m, r), of `gather_rivals`; overwritten. normal: (r, pairs), each of which is
    taken with both signs.
    direction: (r,) of zeros, work: (5, LANES), to work in.
    """
    m, r = gain.shape
    nearest = math.inf  # in deviations: rivals close behind, or ahead, decide
    for k in range(m):
        nearest = min(nearest, lead[k] / norms[k])
    for k in range(m):
        weight = math.exp(nearest - lead[k] / norms[k]) / norms[k]
        for j in range(r):
            direction[j] += weight * gain[k, j]
    square = inner(direction, direction)
    if math.sqrt(square) <= SHORT:
        square = norms[0] * norms[0]
        for j in range(r):
            direction[j] = gain[0, j]
    for j in range(r):
        direction[j] /= math.sqrt(square)
    for k in range(
        m
        # in units of what the direction adds to the lead, so that a multiple of it is compared with
        # the rest
    ):
        slope = inner(gain[k], direction)
        norms[k], unit = slope, abs(slope) if abs(slope) > FLAT else 1.0
        lead[k] /= unit
        for j in range(r):
            gain[k, j] = (gain[k, j] - slope * direction[j]) / unit
    pairs, fours, total, squares = normal.shape[1], r - r % 4, 0.0, 0.0
    rest, least, most, least_turned, most_turned = work[0], work[1], work[2], work[3], work[4]
    for first in range(0, pairs, LANES):
        width = min(LANES, pairs - first)
        for n in range(width):
            least[n], most[n], least_turned[n], most_turned[n] = (
                -math.inf,
                math.inf,
                -math.inf,
                math.inf,
            )
        for k in range(m):
            for n in range(width):
                rest[n] = 0.0
            for j in range(0, fours, 4):  # reading and writing the sums is what takes time
                a, b, c, d = gain[k, j], gain[k, j + 1], gain[k, j + 2], gain[k, j + 3]
                for n in range(width):
                    i = first + n
                    rest[n] = (
                        rest[n]
                        + a * normal[j, i]
                        + b * normal[j + 1, i]
                        + c * normal[j + 2, i]
                        + d * normal[j + 3, i]
                    )
            for j in range(fours, r):
                a = gain[k, j]
                for n in range(width):
                    rest[n] += a * normal[j, first + n]
            ahead = lead[k]
            if norms[k] > FLAT:
                for n in range(width):
                    bound, turned = -ahead - rest[n], -ahead + rest[n]
                    least[n] = bound if bound > least[n] else least[n]
                    least_turned[n] = turned if turned > least_turned[n] else least_turned[n]
            elif norms[k] < -FLAT:
                for n in range(width):
                    bound, turned = ahead + rest[n], ahead - rest[n]
                    most[n] = bound if bound < most[n] else most[n]
                    most_turned[n] = turned if turned < most_turned[n] else most_turned[n]
            else:
                for n in range(width):
                    least[n] = math.inf if ahead + rest[n] < 0.0 else least[n]
                    least_turned[n] = math.inf if ahead - rest[n] < 0.0 else least_turned[n]
        for n in range(width):
            share = 0.5 * (
                share_between(least[n], most[n]) + share_between(least_turned[n], most_turned[n])
            )
            total += share
            squares += share * share
    mean_and_error[0] = total / pairs
    mean_and_error[1] = math.sqrt(
        max(squares / pairs - mean_and_error[0] * mean_and_error[0], 0.0) / (pairs - 1)
    )


@lean
def share_between(low, high):
    """The probability that a normal is between two numbers, to as many digits above 0 as below."""
    if low >= high:
        return 0.0
    if low > 0.0:
        low, high = -high, -low
    return 0.5 * (math.erfc(-high / ROOT_OF_TWO) - math.erfc(-low / ROOT_OF_TWO))


MOST_PROPOSALS = 10_000  # at least .76 of them are taken; numbers that are none never are
LONG_TAIL = 30.0  # beyond it four terms of the tail's series are exact to 1e-9, and erfc nears 0


@lean
def log_tail(x):
    """ln P(N(0, 1) > x) for x >= 0."""
    if x < LONG_TAIL:
        return math.log(0.5 * math.erfc(x / ROOT_OF_TWO))
    y = 1.0 / (x * x)
    series = math.log1p(y * (-1.0 + y * (3.0 - 15.0 * y)))
    return series - 0.5 * x * x - math.log(x * math.sqrt(2.0 * math.pi))


@lean
def normal_above(least, rng):
    """A standard normal, given that it is above a number >= 0: exponential proposals (Robert
    1995)."""
    rate = 0.5 * (least + math.sqrt(least * least + 4.0))
    x = least
    for _ in range(MOST_PROPOSALS):
        x = least - math.log(1.0 - rng.random()) / rate
        if rng.random() <= math.exp(-0.5 * (x - rate) * (x - rate)):
            break
    return x


def chance_among_independent(
    mean: np.ndarray,
    deviation: np.ndarray,
    eligible: np.ndarray | None,
    arm: int,
    rng: np.random.Generator,
    draws: int,
) -> tuple[float, float]:
    """`chance_of_best` for independent normal scores: the integral of f_arm prod F_j, exact to 1e-9
    where that is cheaper than draws.

    Rivals that are surely behind are left out. Panels are as fine as the narrowest density near
    them. Where they are too many, the product is averaged over draws of the arm's own score.
    """
    if eligible is not None and not eligible[arm]:
        return 0.0, 0.0
    others = np.ones(mean.size, dtype=np.bool_) if eligible is None else eligible.copy()
    others[arm] = False
    rivals = np.flatnonzero(others)
    centre, width, m, s = float(mean[arm]), float(deviation[arm]), mean[rivals], deviation[rivals]
    certain = s <= 0.0  # the larger mean wins, ties go to the lowest index
    if width <= 0.0:
        if ((m[certain] > centre) | ((m[certain] == centre) & (rivals[certain] < arm))).any():
            return 0.0, 0.0
        return float(scipy.special.ndtr((centre - m[~certain]) / s[~certain]).prod()), 0.0
    floor, ceiling = (
        float((m - NEARLY_SURE * s).max(initial=centre - NEARLY_SURE * width)),
        centre + NEARLY_SURE * width,
    )
    if floor >= ceiling:
        return 0.0, 0.0
    near = ~certain & (m + NEARLY_SURE * s > floor)
    if not near.any():
        return float(scipy.special.ndtr((centre - floor) / width)), 0.0
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
    return min(share_over_panels(edges, centre, width, m, s, NODES, WEIGHTS), 1.0), 0.0


@lean
def share_over_panels(edges, centre, width, mean, deviation, nodes, weights):
    """The integral of the density of N(centre, width^2) times the probability that all rivals are
    below."""
    total = 0.0
    for panel in range(edges.shape[0] - 1):
        half, middle = (
            0.5 * (edges[panel + 1] - edges[panel]),
            0.5 * (edges[panel + 1] + edges[panel]),
        )
        for i in range(nodes.shape[0]):
            score = middle + half * nodes[i]
            z = (score - centre) / width
            total += (
                half * weights[i] * math.exp(-0.5 * z * z) * share_behind(score, mean, deviation)
            )
    return total / (math.sqrt(2.0 * math.pi) * width)


@lean
def share_behind(score, mean, deviation):
    product = 1.0
    for k in range(mean.shape[0]):
        product *= 0.5 * math.erfc((mean[k] - score) / (deviation[k] * ROOT_OF_TWO))
        if product < TINY:
            return 0.0
    return product


@lean
def shares_behind(scores, mean, deviation, share):
    """share[n] <- the probability that independent normals are all below scores[n]."""
    for n in range(scores.shape[0]):
        share[n] = share_behind(scores[n], mean, deviation)


def best_of_draws(
    mean: np.ndarray,
    root: np.ndarray,
    eligible: np.ndarray | None,
    rng: np.random.Generator,
    draws: int,
) -> np.ndarray:
    """How often each arm is the best eligible one in so many draws of N(mean, root root'); root:
    (K, r), or (K,) where it is diagonal.

    Products stay below the size that libraries share out among threads, as long as that leaves some
    draws in each.
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
REACH = (
    6.5  # standard deviations of the log odds to either side, beyond which come exponential tails
)
TAIL = 23.0  # -ln of the mass that is left out
EDGES = np.array([-REACH, -4.0, -2.2, -0.8, 0.8, 2.2, 4.0, REACH])
TAIL_EDGES = np.array([4.0, 9.0, 15.0, TAIL])
# of the smallest deviation: edges closer together than that make panels finer than they need to be
THIN = 1.0
NEGLIGIBLE = 1e-13


def _cumulative_weights() -> np.ndarray:
    """(8, 8) integrals from -1 to node i of the polynomial that is 1 at node j and 0 at the
    others."""
    weights = np.empty((NODES.size, NODES.size))
    for j in range(NODES.size):
        basis = np.poly1d([1.0])
        for i in range(NODES.size):
            if i != j:
                basis *= np.poly1d([1.0, -NODES[i]]) / (NODES[j] - NODES[i])
        antiderivative = basis.integ()
        weights[:, j] = antiderivative(NODES) - antiderivative(-1.0)
    return weights


PARTIAL = _cumulative_weights()


def thinned(edges: np.ndarray, low: float, high: float, deviation: float) -> np.ndarray:
    """Edges of panels from low to high, in order. deviation: the smallest; edges that are closer
    than THIN of it are one."""
    edges = np.sort(edges[(edges > low) & (edges < high)])
    cell = (edges - low) // (THIN * deviation)
    return np.concatenate([[low], edges[np.diff(cell, prepend=0.0) > 0.0], [high]])


MOST_PANELS = 500  # of `best_of_normals`: some twenty arms, or a few whose deviations are far apart


@jit
def best_of_normals(mean, deviation, chance):
    """Fill chance (K,) with P(entry k is the largest of independent N(mean_k, deviation_k^2)), off
    by < 1e-9, and say whether it did.

    The integrals of `chance_among_independent` for all arms over the same panels; False where one
    is certain, or the panels are too many.
    O(K^2) evaluations of a normal distribution.
    """
    K, floor, ceiling, least, number = mean.shape[0], -math.inf, -math.inf, math.inf, 1
    for k in range(K):
        if not deviation[k] > 0.0:
            return False
        floor = max(floor, mean[k] - NEARLY_SURE * deviation[k])
        chance[k] = 0.0
    near, edges = np.empty(K, dtype=np.int64), np.empty(STEPS.shape[0] * K + 2)
    count, edges[0] = 0, floor
    for k in range(K):
        if mean[k] + NEARLY_SURE * deviation[k] > floor:
            near[count], count = k, count + 1
            ceiling, least = (
                max(ceiling, mean[k] + NEARLY_SURE * deviation[k]),
                min(least, deviation[k]),
            )
    for i in range(count):
        for step in STEPS:
            edge = mean[near[i]] + step * deviation[near[i]]
            if floor < edge < ceiling:
                edges[number], number = edge, number + 1
    edges[:number].sort()
    last, panels = 0.0, 0
    for i in range(1, number):  # as `thinned` does it
        cell = (edges[i] - floor) // (THIN * least)
        if cell > last:
            panels += 1
            edges[panels], last = edges[i], cell
    panels += 1
    edges[panels] = ceiling
    if panels > MOST_PANELS:
        return False
    density, share = np.empty(count), np.empty(count)
    for panel in range(panels):
        half, middle = (
            0.5 * (edges[panel + 1] - edges[panel]),
            0.5 * (edges[panel + 1] + edges[panel]),
        )
        for n in range(NODES.shape[0]):
            add_wins_at(
                middle + half * NODES[n],
                half * WEIGHTS[n],
                mean,
                deviation,
                near,
                density,
                share,
                chance,
            )
    return True


@lean
def add_wins_at(score, weight, mean, deviation, near, density, share, chance):
    """chance[k] += weight f_k prod_{j != k} F_j at a score, for the arms that are near; density,
    share: of as many, to work in."""
    count, before, after = share.shape[0], weight / math.sqrt(2.0 * math.pi), 1.0
    for i in range(count):
        k = near[i]
        z = (score - mean[k]) / deviation[k]
        share[i] = 1.0 if z > SURE else 0.0 if z < -SURE else 0.5 * math.erfc(-z / ROOT_OF_TWO)
        density[i] = (
            before * math.exp(-0.5 * z * z) / deviation[k]
        )  # times the F of the arms before
        before *= share[i]
    for i in range(count - 1, -1, -1):
        chance[near[i]] += density[i] * after
        after *= share[i]


def best_of_betas(a: np.ndarray, b: np.ndarray, eligible: np.ndarray | None) -> np.ndarray:
    """(K,) P(arm k has the largest of independent Beta(a_k, b_k) draws) among the eligible; off by
    less than 1e-8.

    The integral of prod_{j != k} F_j dF_k over log odds, in which every density is smooth, by
    Gauss-Legendre panels that are as fine as the narrowest density near them. The distribution
    functions come from the same panels. O(K^2) evaluations.
    """
    chosen = np.arange(a.size) if eligible is None else np.flatnonzero(eligible)
    probability = np.zeros(a.size)
    a, b = a[chosen], b[chosen]
    mode, deviation = np.log(a) - np.log(b), np.sqrt(1.0 / a + 1.0 / b)
    low = float((mode - REACH * deviation - TAIL / a).max())
    below = share_below(low, a, b)
    open_ = below < 1.0 - NEGLIGIBLE
    if open_.sum() == 1:
        probability[chosen[open_]] = 1.0
        return probability
    chosen, a, b, mode, deviation, below = (
        chosen[open_],
        a[open_],
        b[open_],
        mode[open_],
        deviation[open_],
        below[open_],
    )
    right = mode + REACH * deviation + TAIL / b
    edges = np.concatenate(
        [
            (mode[:, None] + deviation[:, None] * EDGES).reshape(-1),
            (mode[:, None] - REACH * deviation[:, None] - TAIL_EDGES / a[:, None])[
                TAIL / a > deviation
            ].reshape(-1),
            (mode[:, None] + REACH * deviation[:, None] + TAIL_EDGES / b[:, None])[
                TAIL / b > deviation
            ].reshape(-1),
        ]
    )
    edges = thinned(edges, low, float(right.max()), float(deviation.min()))
    mass = np.zeros(a.size)
    _integrate(
        edges,
        a,
        b,
        scipy.special.betaln(a, b),
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
    """mass[k] += integral of f_k prod_{j != k} F_j over all panels; below: (K,) F at the first
    edge, updated in place."""
    K, n = a.shape[0], nodes.shape[0]
    for panel in range(edges.shape[0] - 1):
        half, middle = (
            0.5 * (edges[panel + 1] - edges[panel]),
            0.5 * (edges[panel + 1] + edges[panel]),
        )
        for i in range(n):
            u = middle + half * nodes[i]
            log_rest = (
                -math.log1p(math.exp(u)) if u < 0.0 else -u - math.log1p(math.exp(-u))
            )  # ln(1 - x)
            for k in range(K):
                density[k, i] = half * math.exp(
                    a[k] * (u + log_rest) + b[k] * log_rest - log_constant[k]
                )
        add_wins(density, share, below, weights, partial, mass)


@lean
def add_wins(density, share, below, weights, partial, mass):
    """mass[k] += integral of f_k prod_{j != k} F_j over one panel; density: (K, n) f at its nodes;
    below: F at its left, then right end."""
    K, n = density.shape
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
        for k in range(
            K
        ):  # density times the F of the arms before; those after are multiplied in on the way back
            density[k, i] *= before * weights[i]
            before *= share[k, i]
        after = 1.0
        for k in range(K - 1, -1, -1):
            mass[k] += density[k, i] * after
            after *= share[k, i]


def share_below(odds: float, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """P(ln(x / (1 - x)) < odds) for x from Beta(a, b)."""
    if odds > 0.0:
        return 1.0 - share_below(-odds, b, a)
    x = math.exp(odds) / (1.0 + math.exp(odds))
    if x < TINY:
        return np.exp(np.minimum(a * odds - np.log(a) - scipy.special.betaln(a, b), 0.0))
    share: np.ndarray = scipy.special.betainc(a, b, x)
    return share


OUTSIDE = math.log(1e-10)  # of the chance that a Student variable is left out of an integral
ROUNDING = 1e-10  # of a mean: a smaller scale would put several edges on one number
NEAR, FAR = (
    0.8,
    0.4,
)  # of a panel: at most so many scales of an arm, or so much of the distance to its mean


def best_of_students(
    mean: np.ndarray, scale: np.ndarray, freedom: np.ndarray, eligible: np.ndarray | None
) -> np.ndarray:
    """(K,) P(arm k has the largest of independent Student draws mean_k + scale_k t) among the
    eligible; off by less than 1e-7.

    scale > 0, freedom > 0. As `best_of_betas`; panels grow with the distance from the nearest mean,
    as tails flatten. O(K) for each panel.
    """
    chosen = np.arange(mean.size) if eligible is None else np.flatnonzero(eligible)
    probability = np.zeros(mean.size)
    if chosen.size == 1:
        probability[chosen] = 1.0
        return probability
    mean, scale, freedom = (
        mean[chosen],
        np.maximum(scale[chosen], np.finfo(np.float64).tiny),
        freedom[chosen],
    )
    with np.errstate(over="ignore"):  # infinitely far apart
        mean = (mean - mean[scale.argmin()]) / scale.max()
    scale = np.maximum(scale / scale.max(), ROUNDING * np.minimum(np.abs(mean), 1.0 / ROUNDING))
    reach = np.array([student_root(OUTSIDE, nu) for nu in freedom])
    low, high = float((mean - scale * reach).max()), float((mean + scale * reach).max())
    below, mass = (
        np.asarray(scipy.special.stdtr(freedom, (low - mean) / scale)),
        np.zeros(chosen.size),
    )
    log_constant = (
        scipy.special.gammaln(0.5 * freedom + 0.5)
        - scipy.special.gammaln(0.5 * freedom)
        - 0.5 * np.log(math.pi * freedom)
        - np.log(scale)
    )
    room = np.empty((2, chosen.size, NODES.size))
    integrate_students(
        low,
        high,
        mean,
        scale,
        freedom,
        log_constant,
        below,
        room[0],
        room[1],
        NODES,
        WEIGHTS,
        PARTIAL,
        mass,
    )
    probability[chosen] = mass / mass.sum()
    return probability


@lean
def integrate_students(
    low,
    high,
    mean,
    scale,
    freedom,
    log_constant,
    below,
    density,
    share,
    nodes,
    weights,
    partial,
    mass,
):
    """mass[k] += integral of f_k prod_{j != k} F_j from low to high; below: (K,) F at low, updated
    in place."""
    left = low
    while left < high:
        width = high - left
        for k in range(mean.shape[0]):
            width = min(width, max(NEAR * scale[k], FAR * abs(left - mean[k])))
        half, middle = 0.5 * width, left + 0.5 * width
        for i in range(nodes.shape[0]):
            for k in range(mean.shape[0]):
                z = (middle + half * nodes[i] - mean[k]) / scale[k]
                log_density = log_constant[k] - 0.5 * (freedom[k] + 1.0) * math.log1p(
                    z * (z / freedom[k])
                )
                density[k, i] = half * math.exp(log_density)
        add_wins(density, share, below, weights, partial, mass)
        following = left + width
        left = following if following > left else high


# Draws for posterior sampling, from uniform and normal variates alone so that they cost little in a
# compiled loop, and random arms.


@lean
def gamma_draw(shape, rng):
    """Gamma(shape, 1), shape >= 1: Marsaglia, Tsang 2000; one normal and one uniform, accepted with
    probability > 0.95."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = rng.standard_normal()
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = rng.random()
        squared = x * x
        if u < 1.0 - 0.0331 * squared * squared:
            return d * v
        if math.log(u) < 0.5 * squared + d * (1.0 - v + math.log(v)):
            return d * v


@lean
def beta_draw(a, b, rng):
    """Beta(a, b) for a, b > 0; shapes below 1 by NumPy's own sampler, which stays exact where a
    power of a uniform underflows."""
    if a < 1.0 or b < 1.0:
        return rng.beta(a, b)
    x = gamma_draw(a, rng)
    return x / (x + gamma_draw(b, rng))


@lean
def log_gamma_draw(shape, rng):
    """Logarithm of a Gamma(shape, 1) draw, shape > 0; below 1 as Gamma(shape + 1) U^(1 / shape),
    which alone would underflow."""
    if shape >= 1.0:
        return math.log(gamma_draw(shape, rng))
    return math.log(gamma_draw(shape + 1.0, rng)) + math.log(1.0 - rng.random()) / shape


@lean
def beta_logit_draw(a, b, rng):
    """ln(x / (1 - x)) of a Beta(a, b) draw x, for a, b > 0 so small that x itself would round to 0
    or 1."""
    return log_gamma_draw(a, rng) - log_gamma_draw(b, rng)


@lean
def student_draw(freedom, rng):
    """Student's distribution with so many degrees of freedom, > 0: a normal over the root of a
    chi-square by its freedom."""
    x, half = rng.standard_normal(), 0.5 * freedom
    y = gamma_draw(half, rng) if half >= 1.0 else math.exp(log_gamma_draw(half, rng))
    return x / math.sqrt(y / half)


@lean
def categorical(weights, total, rng):
    """An index with probability weights / total (weights >= 0, total their sum); one uniform.
    O(K)."""
    left = rng.random() * total
    last = 0
    for k in range(weights.shape[0]):
        if weights[k] > 0.0:
            last = k
            left -= weights[k]
            if left < 0.0:
                return k
    return last


def unit_rows(rng: np.random.Generator, rows: int, dimension: int) -> np.ndarray:
    """(rows, dimension) vectors spread evenly over the unit sphere."""
    drawn = rng.standard_normal((rows, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
