"""The base of policies that pool evidence: parameters, the level f(n), forced exploration, what
they answer."""

from __future__ import annotations

import math
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import jit, lean
from ...core import checks
from ...core.fields import (
    ArmIndex,
    ArmIndexOrNone,
    ArmOrder,
    Count,
    Derived,
    Extended,
    Finite,
    Given,
    Kind,
    NonNegative,
    RewardSum,
    choice,
    real,
)
from ...core.policy import Policy
from ...core.types import Explanation, State
from ...core.verbs import Arms, Context, allowed, select
from ...numerics.counts import (
    DIVERGENCES,
    argmax,
    bernoulli_divergence_close,
    divergence,
    exploration,
    one_hot,
    upper_root,
)
from ...solvers.programs import Work, cover, new_work

# Counts of arms that lie in a metric space, in the form that pooled evidence needs: sorted by
# pulls, with neighbours by distance.


DISTANCE_TOLERANCE = 1e-12  # distances that differ by less, relative to the largest, are one
Clock: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=0, most=2**62)]


class Pool(NamedTuple):
    """Counts of all arms, their order by counts, and the metric in the form the sums need."""

    pulls: Count  # (K,) t
    sums: RewardSum  # (K,)
    mean: Finite  # (K,) 0 where never pulled
    entropy: Finite  # (K,) t (m ln m + (1-m) ln(1-m)), for Bernoulli rewards
    rounds: Count  # (1,)
    low: Extended  # (1,) least mean of the arms pulled: no evidence lies below it
    order: ArmOrder  # (K,) arms by (pulls, number)
    place: ArmOrder  # (K,) where an arm stands in order
    near: Derived  # (K, K) arms by distance from the row's arm
    level: Derived  # (K, K) number of that distance
    reach: NonNegative  # (levels,) L times the distance
    log_y: Extended  # (levels,) ln(q - reach) for the q of this stamp
    log_rest: Extended  # (levels,) ln(1 - q + reach)
    stamp: Clock  # (levels,) when they were computed
    clock: Clock  # (1,) the newest stamp
    witness: (
        ArmIndex  # (K,) place in the row's `near` of the arm with the largest term the last time
    )
    warm: Extended  # (K,) last index: where Newton starts
    proved: ArmIndexOrNone  # (1,) leader of the proof, or -1
    proof: Extended  # (3,) B, the f up to which it holds, the others' part of S_leader(B)
    slope: NonNegative  # (2,) L, and the round of its computation where it is learned


def new_pool(distances: np.ndarray, lipschitz: float) -> Pool:
    """Nothing pulled yet. O(K^2 log K)."""
    K = distances.shape[0]
    scaled = lipschitz * distances
    values = np.unique(scaled)
    first = np.concatenate(([True], np.diff(values) > DISTANCE_TOLERANCE * max(values[-1], 1e-300)))
    numbers, reach, indices = np.cumsum(first) - 1, values[first], np.arange(K)
    near, level = np.empty((K, K), dtype=np.uint32), np.empty((K, K), dtype=np.uint32)
    for k in range(K):  # by rows, which need no further table of all pairs
        levels = numbers[np.searchsorted(values, scaled[k])]
        near[k] = np.argsort(levels, kind="stable")
        level[k] = levels[near[k]]
    return Pool(
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros(1),
        np.full(1, np.inf),
        indices,
        indices.copy(),
        near,
        level,
        reach,
        np.zeros(reach.size),
        np.zeros(reach.size),
        np.zeros(reach.size, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(K, dtype=np.int64),
        np.zeros(K),
        np.full(1, -1, dtype=np.int64),
        np.zeros(3),
        np.array([lipschitz, 0.0]),
    )


@lean
def learn(pool, kind, arm, reward):
    """Take in one reward. O(arms with as many pulls)."""
    t = pool.pulls[arm] + 1.0
    s = pool.sums[arm] + reward
    m, before = s / t, pool.mean[arm]
    pool.pulls[arm], pool.sums[arm], pool.mean[arm] = t, s, m
    pool.rounds[0] += 1.0
    if arm != pool.proved[0]:
        pool.proved[0] = -1
    if m <= pool.low[0]:
        pool.low[0] = m
    elif before == pool.low[0]:
        pool.low[0] = m
        for k in range(pool.pulls.shape[0]):
            if pool.pulls[k] > 0.0:
                pool.low[0] = min(pool.low[0], pool.mean[k])
    if kind == 0:
        entropy = 0.0
        if s > 0.0:
            entropy += s * math.log(m)
        if m < 1.0:
            entropy += (t - s) * math.log(1.0 - m)
        pool.entropy[arm] = entropy
    j = pool.place[arm]
    while j + 1 < pool.order.shape[0]:
        other = pool.order[j + 1]
        if pool.pulls[other] > t or (pool.pulls[other] == t and other > arm):
            break
        pool.order[j], pool.place[other] = other, j
        j += 1
    pool.order[j], pool.place[arm] = arm, j


# A slope that the data do not refute, where none is known.


RENEWAL = 1.1  # by what factor n grows until L is computed anew
LEAST_SLOPE = 1e-3


@lean
def learn_slope(pool, kind, sigma, margin):
    """L, and `reach` by it: the steepest pair of means, less `margin` standard errors of their
    difference. O(1), and O(K^2) where n has grown by a tenth."""
    n, old = pool.rounds[0], pool.slope[0]
    if n < RENEWAL * pool.slope[1]:
        return
    L = LEAST_SLOPE
    for k in range(pool.pulls.shape[0]):
        for j in range(pool.pulls.shape[0]):
            i, reach = pool.near[k, j], pool.reach[pool.level[k, j]]
            if i < k and reach > 0.0 and pool.pulls[i] > 0.0 and pool.pulls[k] > 0.0:
                error = math.sqrt(variance(pool, kind, sigma, i) + variance(pool, kind, sigma, k))
                rise = math.fabs(pool.mean[i] - pool.mean[k]) - margin * error
                L = max(L, rise * old / reach)
    for level in range(pool.reach.shape[0]):
        pool.reach[level] *= L / old
    pool.slope[0], pool.slope[1] = L, n
    pool.proved[0] = -1


@lean
def variance(pool, kind, sigma, k):
    """Of the arm's mean; of rewards 0 or 1 at least what one reward more may make it."""
    m, t = pool.mean[k], pool.pulls[k]
    return (max(m * (1.0 - m), 1.0 / (t + 4.0)) if kind == 0 else sigma * sigma) / t


@lean
def first_below(pool, floor, eligible):
    """Lowest eligible arm with fewer than `floor` pulls, or -1. O(1) where no arm has."""
    if pool.pulls[pool.order[0]] < floor:
        for k in range(pool.pulls.shape[0]):
            if pool.pulls[k] < floor and allowed(eligible, k):
                return k
    return -1


# Evidence pooled over a metric: how strongly all arms' rewards speak against one arm's mean being
# as high as q.


SLACK = 1e-9  # S_k(q) < f - SLACK: the index exceeds q
BELOW_ONE = 1.0 - 2.0**-53  # an index above it cannot be told from 1
MOST_STEPS = 100


@lean
def new_level(pool):
    """Call before `evidence` at a new q: its logarithms are forgotten."""
    pool.clock[0] += 1


@lean
def logarithms(pool, level, y):
    """ln y and ln(1 - y) for y = q - reach[level]."""
    if pool.stamp[level] != pool.clock[0]:
        pool.log_y[level] = math.log(y)
        pool.log_rest[level] = math.log(1.0 - y) if y < 1.0 else -math.inf
        pool.stamp[level] = pool.clock[0]
    return pool.log_y[level], pool.log_rest[level]


@lean
def evidence(pool, kind, sigma, arm, q, cap):
    """S_arm(q), or some part of it above cap. Needs `new_level` after a change of q. O(K), O(1)
    where one arm's rewards suffice."""
    j = pool.witness[arm]
    y = q - pool.reach[pool.level[arm, j]]
    if y > pool.low[0]:
        alone = term(pool, kind, sigma, arm, j, y)
        if alone > cap:
            return alone
    total, largest = 0.0, 0.0
    for j in range(pool.near.shape[1]):
        y = q - pool.reach[pool.level[arm, j]]
        if y <= pool.low[0]:
            break
        one = term(pool, kind, sigma, arm, j, y)
        total += one
        if one > largest:
            largest = one
            pool.witness[arm] = j
        if total > cap:
            break
    return total


@lean
def term(pool, kind, sigma, arm, j, y):
    """t_i I+(mean_i, y) of the arm in place j of the row's `near`, where y = q - reach."""
    i = pool.near[arm, j]
    m, t = pool.mean[i], pool.pulls[i]
    if m >= y or t <= 0.0:
        return 0.0
    if kind == 1:
        return t * (y - m) * (y - m) / (2.0 * sigma * sigma)
    log_y, log_rest = logarithms(pool, pool.level[arm, j], y)
    return pool.entropy[i] - pool.sums[i] * log_y - (t - pool.sums[i]) * log_rest


@lean
def tangent(pool, kind, sigma, arm, q):
    """S_arm(q) and its derivative, for q below 1. O(K)."""
    near, levels, reach = pool.near[arm], pool.level[arm], pool.reach
    mean, pulls, sums, entropy = pool.mean, pool.pulls, pool.sums, pool.entropy
    total, slope, low = 0.0, 0.0, pool.low[0]
    for j in range(near.shape[0]):
        y = q - reach[levels[j]]
        if y <= low:
            break
        i = near[j]
        m, t = mean[i], pulls[i]
        if m < y and t > 0.0:
            if kind == 0:
                s = sums[i]
                total += entropy[i] - s * math.log(y) - (t - s) * math.log(1.0 - y)
                slope += (t * y - s) / (y * (1.0 - y))
            else:
                total += t * (y - m) * (y - m) / (2.0 * sigma * sigma)
                slope += t * (y - m) / (sigma * sigma)
    return total, slope


@lean
def above(pool, kind, sigma, arm, f):
    """A point not below the index: the least of what each arm's own rewards allow."""
    high = BELOW_ONE if kind == 0 else math.inf
    for j in range(pool.near.shape[1]):
        i = pool.near[arm, j]
        if pool.pulls[i] > 0.0:
            high = min(
                high,
                pool.reach[pool.level[arm, j]]
                + upper_root(kind, pool.mean[i], f / pool.pulls[i], sigma),
            )
            if i == arm and high < BELOW_ONE:
                break
    return high


@lean
def index(pool, kind, sigma, arm, f):
    """sup{q >= mean : S_arm(q) <= f}; the mean where it violates already; 1 (Gaussian: inf) where
    nothing violates.

    Newton's method started at the last index: S is convex, so after one step the iterates are above
    the root and fall.
    """
    m = pool.mean[arm]
    known = pool.pulls[arm] > 0.0
    if kind == 0 and known and m >= 1.0:
        return 1.0
    q, high = pool.warm[arm], -1.0
    if not (known and m < q and (kind == 1 or q < BELOW_ONE)):
        q = high = above(pool, kind, sigma, arm, f)
        if q == math.inf:
            return q
    for _ in range(MOST_STEPS):
        total, slope = tangent(pool, kind, sigma, arm, q)
        excess = total - f
        new = q - excess / slope if slope > 0.0 else math.inf
        if excess < 0.0 and (kind == 0 or slope == 0.0):
            if high == -1.0:
                high = above(pool, kind, sigma, arm, f)
            if new >= high:
                if q >= high:
                    break
                new = high
        if known and new <= m:
            return m
        q = new
        if math.fabs(excess) <= 1e-7:
            break
    pool.warm[arm] = q
    return 1.0 if kind == 0 and q >= BELOW_ONE else q


@lean
def least_played_above(pool, kind, sigma, leader, q, f, eligible):
    """Least-played eligible arm other than the leader whose index exceeds q, or -1. O(K^2), usually
    O(K)."""
    if kind == 0 and q >= 1.0:
        return -1
    new_level(pool)
    for j in range(pool.order.shape[0]):
        k = pool.order[j]
        if (
            k != leader
            and allowed(eligible, k)
            and evidence(pool, kind, sigma, k, q, f) < f - SLACK
        ):
            return k
    return -1


# A proof that no arm can beat the leader, kept while only the leader is played, so that such rounds
# need O(1) evidence.


PROOF_SPAN = 0.02  # by how much f may grow before a proof expires


@lean
def unrivalled(pool, kind, sigma, leader, f, at_mean):
    """Whether a proof shows that no arm's index exceeds the leader's index (at_mean: the leader's
    mean). O(1).

    The proof is a B that no other arm's index reaches without the leader's rewards at any f up to
    the proof's. The leader's index is at least B if and only if S_leader(B) <= f, and of that sum
    only the leader's own term has changed.
    """
    if pool.proved[0] != leader or f > pool.proof[1]:
        return False
    B, m = pool.proof[0], pool.mean[leader]
    if m >= B:
        return True
    return not at_mean and pool.pulls[leader] * divergence(kind, m, B, sigma) + pool.proof[2] <= f


@lean
def prove(pool, kind, sigma, leader, f):
    """Keep B, the largest index of the other arms at a slightly larger f without the leader's
    rewards. O(K^2)."""
    if pool.proved[0] == leader and f <= pool.proof[1]:
        return
    later, B, t = f + PROOF_SPAN, -math.inf, pool.pulls[leader]
    pool.pulls[leader] = 0.0
    new_level(pool)
    for k in range(pool.pulls.shape[0]):
        if k != leader and (-math.inf == B or evidence(pool, kind, sigma, k, B, later) < later):
            B = max(B, index(pool, kind, sigma, k, later))
            new_level(pool)
    others = (
        evidence(pool, kind, sigma, leader, B, math.inf)
        if math.inf > B and (kind == 1 or B < 1.0)
        else math.inf
    )
    pool.pulls[leader] = t
    pool.proved[0] = leader
    pool.proof[0], pool.proof[1], pool.proof[2] = B, later, others


# The exploration rates of the regret lower bound (Magureanu, Combes, Proutiere 2014, Theorem 3.1)
# at the empirical means.


LEAST_DISTANCE = 1e-3  # below it the logarithms of a level leave too few digits


class Rates(NamedTuple):
    c: Extended  # (K,) rates; 0 for the leader
    dual: Extended  # (K,)
    gaps: Extended  # (K,)
    need: Extended  # (K,)
    information: Extended  # (K, K)
    work: Work
    solves: Count  # (1,) programs solved so far


def new_rates(K: int) -> Rates:
    return Rates(
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros((K, K)),
        new_work(K),
        np.zeros(1),
    )


@lean
def solve_rates(rates, pool, kind, sigma, leader, f, eligible):
    """Rates c_k of the eligible arms at the empirical means. About K pivots of O(K^2).

    Where only some arms are eligible, the others' rewards count as given: an arm k needs 1 - (their
    part of S_k) / f(n).
    """
    q = pool.mean[leader]
    new_level(pool)
    for k in range(pool.pulls.shape[0]):
        gap = q - pool.mean[k]
        rates.gaps[k] = gap if allowed(eligible, k) and gap > 0.0 and pool.pulls[k] > 0.0 else 0.0
    for k in range(pool.pulls.shape[0]):
        for i in range(pool.pulls.shape[0]):
            rates.information[k, i] = 0.0
        rates.need[k] = 0.0
        if rates.gaps[k] > 0.0:
            information = row_of_information(
                rates.information[k], pool, kind, sigma, k, q, eligible
            )
            rates.need[k] = max(0.0, 1.0 - information / f) if f > 0.0 else 1.0
    rates.solves[0] += 1.0
    return cover(rates.work, rates.information, rates.gaps, rates.need, rates.c, rates.dual)


@lean
def row_of_information(row, pool, kind, sigma, k, q, eligible):
    """Fill row[i] = I(mean_i, q - L D(k, i)) for eligible arms below it; return the others' part of
    S_k(q)."""
    information = 0.0
    for j in range(pool.near.shape[1]):
        y = q - pool.reach[pool.level[k, j]]
        if y <= pool.low[0]:
            break
        i = pool.near[k, j]
        if pool.pulls[i] > 0.0 and pool.mean[i] < y:
            value = information_of(pool, kind, sigma, i, pool.level[k, j], y)
            if allowed(eligible, i):
                row[i] = value
            else:
                information += pool.pulls[i] * value
    return information


@lean
def information_of(pool, kind, sigma, i, level, y):
    """I(mean_i, y), with the logarithms of this round's level unless they would cancel."""
    if kind == 0:
        if y - pool.mean[i] < LEAST_DISTANCE and y < 1.0:
            return bernoulli_divergence_close(pool.mean[i], y)
        log_y, log_rest = logarithms(pool, level, y)
        t, s = pool.pulls[i], pool.sums[i]
        return max(0.0, (pool.entropy[i] - s * log_y - (t - s) * log_rest) / t)
    return (y - pool.mean[i]) * (y - pool.mean[i]) / (2.0 * sigma * sigma)


class Pooled(Policy):
    """Parameters of every policy that pools evidence, and its range of rewards: [0, 1] for
    Bernoulli divergences, else any.

    lipschitz: L > 0, a bound on |mean difference| / distance. loglog: weight of ln ln n in f(n), or
    "theory" for 3K + 1.
    divergence: "bernoulli" (rewards in [0, 1]) or "gaussian" with standard deviation sigma.
    """

    lipschitz: float = real(above=0)
    loglog: Given[float | Literal["theory"], float] = real(default=0.0, words=("theory",), least=0)
    divergence: Given[Literal["bernoulli", "gaussian"], int] = choice(
        *DIVERGENCES, default="bernoulli"
    )
    sigma: float = real(default=1.0, above=0)

    def reward_range(self):
        return (0.0, 1.0) if self.divergence == 0 else (-math.inf, math.inf)


class PoolAndRates(NamedTuple):
    pool: Pool
    rates: Rates


class PooledWithRates(Pooled):
    def init(self, arms):
        return PoolAndRates(new_pool(arms.distances, self.lipschitz), new_rates(arms.number))

    @jit
    def update(self, state, context, action, reward):
        learn(state.pool, self.divergence, action, reward)
        return state

    def explain(self, state, context, rng):
        solved = int(state.rates.solves[0])  # before the select inside, which may solve one more
        return explanation(self, state, state.pool, context, rng) | {"programs_solved": solved}


@lean
def evidence_level(policy, pool):
    """f(n) = ln n + loglog ln ln n: how much evidence rules an arm out in round n."""
    weight = policy.loglog if policy.loglog >= 0.0 else 3.0 * pool.pulls.shape[0] + 1.0
    return exploration(pool.rounds[0] + 1.0, weight)


@lean
def must_play(pool, forced, eligible):
    """An eligible arm that was never pulled, or, if exploration is forced, has fewer than ln ln n
    pulls; or -1."""
    arm = first_below(pool, 1.0, eligible)
    n = pool.rounds[0] + 1.0
    if arm < 0 and forced and n > 2.0:
        arm = first_below(pool, math.log(math.log(n)), eligible)
    return arm


def explanation(
    policy: Pooled, state: State, pool: Pool, context: Context, rng: np.random.Generator
) -> Explanation:
    bounds = report(
        pool, policy.divergence, policy.sigma, evidence_level(policy, pool), context.eligible
    )
    return bounds | {"probability": one_hot(select(policy, state, context, rng), pool.pulls.size)}


def report(
    pool: Pool, kind: int, sigma: float, f: float, eligible: np.ndarray | None
) -> Explanation:
    """Means, indices and bounds per arm, the leader, and the lower bound at the empirical means."""
    K, pulled = pool.pulls.size, pool.pulls > 0
    upper = np.array([index(pool, kind, sigma, k, f) for k in range(K)])
    mirrored = pool._replace(sums=(pool.pulls if kind == 0 else 0.0) - pool.sums, warm=np.zeros(K))
    mirrored = mirrored._replace(
        mean=np.where(pulled, mirrored.sums / np.maximum(pool.pulls, 1.0), 0.0)
    )
    mirrored = mirrored._replace(low=np.array([mirrored.mean[pulled].min(initial=np.inf)]))
    lower = (1.0 if kind == 0 else 0.0) - np.array(
        [index(mirrored, kind, sigma, k, f) for k in range(K)]
    )
    leader = argmax(pool.mean, eligible)
    new_level(pool)
    against = np.array([evidence(pool, kind, sigma, k, upper[leader], np.inf) for k in range(K)])
    rates = new_rates(K)
    solve_rates(rates, pool, kind, sigma, leader, f, eligible)
    mean = np.where(pulled, pool.mean, np.nan)
    return {
        "mean": mean,
        "width": upper - mean,
        "lower": lower,
        "upper": upper,
        "index": upper,
        "leader": int(leader),
        "divergence": against,
        "rates": rates.c,
        "lower_bound": float(rates.c @ rates.gaps),
    }


# Cells and points of the unit interval, for policies that choose points and play the nearest arm.


def line_of(arms: Arms, name: str) -> np.ndarray:
    points = arms.points
    if points is None or points.ndim != 1 or points.min() < 0.0 or points.max() > 1.0:
        shown = "none" if points is None else checks.show(points)
        raise ValueError(
            f"points = {shown} do not suit {name}, which needs points on the line in [0, 1]; "
            "rescale them, or use CKLUCB."
        )
    return points


MOST_POINTS = 10**6


def discretize(horizon: int, exponent: float = 1.0) -> np.ndarray:
    """Evenly spaced points in [0, 1] for a Lipschitz bandit of T rounds: K = ceil((ln T / sqrt
    T)^(-1/exponent)) + 1 of them.

    Parameters
    ----------
    horizon : int >= 2
        T, rounds.
    exponent : float > 0
        Where the mean falls from its peak like distance^exponent; 1 loses least in the worst case:
        the grid then costs at most about L sqrt(T) ln T in all.

    Returns
    -------
    (K,) array
        From 0 to 1.

    Raises
    ------
    ValueError
        Where an argument is out of its range, or too many points are asked for.

    References
    ----------
    Magureanu, Combes, Proutiere 2014.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.discretize(10_000).size
    12
    """
    T = checks.integer("horizon", horizon, least=2, most=checks.MOST_ROUNDS)
    alpha = checks.real("exponent", exponent, above=0.0)
    log_size = -math.log(math.log(T) / math.sqrt(T)) / alpha
    if log_size > math.log(MOST_POINTS):
        raise ValueError(
            f"exponent = {alpha:g} asks for more than {MOST_POINTS:,} points at horizon = {T}; "
            "give a larger one, usually 1."
        )
    return np.linspace(0.0, 1.0, math.ceil((math.log(T) / math.sqrt(T)) ** (-1.0 / alpha)) + 1)


def cells(points: np.ndarray, depths: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First arm, one past the last arm and depth of every dyadic cell down to `depths` halvings,
    heap order. O(2^depths)."""
    first, last, depth = [], [], []
    for h in range(depths + 1):
        edges = np.searchsorted(points, np.arange(2**h + 1) / 2**h, side="left")
        edges[-1] = points.size
        first.append(edges[:-1])
        last.append(edges[1:])
        depth.append(np.full(2**h, h))
    return np.concatenate(first), np.concatenate(last), np.concatenate(depth)


@lean
def has_eligible(first, last, eligible):
    """Whether a range of arms holds an eligible one. O(1) without a mask."""
    k = first
    while k < last and not allowed(eligible, k):
        k += 1
    return k < last


@lean
def nearest(points, place, first, last, eligible):
    """Lowest eligible arm of a range that is nearest to a place, or -1. O(arms in the range)."""
    best, least = -1, math.inf
    for k in range(first, last):
        distance = math.fabs(points[k] - place)
        if distance < least and allowed(eligible, k):
            best, least = k, distance
    return best


@lean
def arm_in_cell(points, first, last, cell, eligible):
    depth_size = 1
    while cell >= 2 * depth_size - 1:
        depth_size *= 2
    middle = (cell - depth_size + 1 + 0.5) / depth_size
    return nearest(points, middle, first[cell], last[cell], eligible)
