"""Evidence pooled over a metric: how strongly all arms' rewards speak against one arm's mean being as high as q.

If means are L-Lipschitz and arm k had mean q, arm i would have at least q - L D(k, i). The evidence against it is
S_k(q) = sum_i t_i I+(mean_i, q - L D(k, i)), convex and increasing in q; the index of arm k is the largest q with S_k(q) <= f.

Four devices keep a round cheap and change no decision: a sum stops once it passes its cap; the logarithms of q - L D are
computed once per distinct distance and q (on a uniform grid there are K distances, not K^2); the arm whose rewards spoke loudest
against an arm is asked first the next time, and mostly they suffice; and a proof that no arm can beat the leader is kept while
only the leader is played, so that such rounds need O(1) evidence.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._jit import lean
from ...numerics.kl import divergence, upper_root
from ...verbs import allowed

PROOF_SPAN = 0.02  # by how much f may grow before a proof expires
SLACK = 1e-9  # S_k(q) < f - SLACK: the index exceeds q
SAME = 1e-12  # distances that differ by less, relative to the largest, are one
BELOW_ONE = 1.0 - 2.0**-53  # an index above it cannot be told from 1
MOST_STEPS = 100


class Pool(NamedTuple):
    """Counts of all arms, their order by counts, and the metric in the form the sums need."""

    pulls: np.ndarray  # (K,) t
    sums: np.ndarray  # (K,)
    mean: np.ndarray  # (K,) 0 where never pulled
    entropy: np.ndarray  # (K,) t (m ln m + (1-m) ln(1-m)), for Bernoulli rewards
    rounds: np.ndarray  # (1,)
    low: np.ndarray  # (1,) least mean of the arms pulled: no evidence lies below it
    order: np.ndarray  # (K,) arms by (pulls, number)
    place: np.ndarray  # (K,) where an arm stands in order
    near: np.ndarray  # (K, K) arms by distance from the row's arm
    level: np.ndarray  # (K, K) number of that distance
    reach: np.ndarray  # (levels,) L times the distance
    log_y: np.ndarray  # (levels,) ln(q - reach) for the q of this stamp
    log_rest: np.ndarray  # (levels,) ln(1 - q + reach)
    stamp: np.ndarray  # (levels,) when they were computed
    clock: np.ndarray  # (1,) the newest stamp
    witness: np.ndarray  # (K,) place in the row's `near` of the arm with the largest term the last time
    warm: np.ndarray  # (K,) last index: where Newton starts
    proved: np.ndarray  # (1,) leader of the proof, or -1
    proof: np.ndarray  # (3,) B, the f up to which it holds, the others' part of S_leader(B)


def new_pool(distances: np.ndarray, lipschitz: float) -> Pool:
    """Nothing pulled yet. O(K^2 log K)."""
    K = distances.shape[0]
    scaled = lipschitz * distances
    values = np.unique(scaled)
    first = np.concatenate(([True], np.diff(values) > SAME * max(values[-1], 1e-300)))
    levels = (np.cumsum(first) - 1)[np.searchsorted(values, scaled)]
    near = np.argsort(levels, axis=1, kind="stable")
    reach, indices = values[first], np.arange(K)
    return Pool(
        np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(1), np.full(1, np.inf), indices, indices.copy(),
        near.astype(np.uint32), np.take_along_axis(levels, near, axis=1).astype(np.uint32), reach,
        np.zeros(reach.size), np.zeros(reach.size), np.zeros(reach.size, dtype=np.int64), np.zeros(1, dtype=np.int64),
        np.zeros(K, dtype=np.int64), np.zeros(K), np.full(1, -1, dtype=np.int64), np.zeros(3),
    )  # fmt: skip


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
    """S_arm(q), or some part of it above cap. Needs `new_level` after a change of q. O(K), O(1) where one arm's rewards suffice."""
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
            high = min(high, pool.reach[pool.level[arm, j]] + upper_root(kind, pool.mean[i], f / pool.pulls[i], sigma))
            if i == arm and high < BELOW_ONE:
                break
    return high


@lean
def index(pool, kind, sigma, arm, f):
    """sup{q >= mean : S_arm(q) <= f}; the mean where it violates already; 1 (Gaussian: inf) where nothing violates.

    Newton's method started at the last index: S is convex, so after one step the iterates are above the root and fall.
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
def first_below(pool, floor, eligible):
    """Lowest eligible arm with fewer than `floor` pulls, or -1. O(1) where no arm has."""
    if pool.pulls[pool.order[0]] < floor:
        for k in range(pool.pulls.shape[0]):
            if pool.pulls[k] < floor and allowed(eligible, k):
                return k
    return -1


@lean
def least_played_above(pool, kind, sigma, leader, q, f, eligible):
    """Least-played eligible arm other than the leader whose index exceeds q, or -1. O(K^2), usually O(K)."""
    if kind == 0 and q >= 1.0:
        return -1
    new_level(pool)
    for j in range(pool.order.shape[0]):
        k = pool.order[j]
        if k != leader and allowed(eligible, k) and evidence(pool, kind, sigma, k, q, f) < f - SLACK:
            return k
    return -1


@lean
def unrivalled(pool, kind, sigma, leader, f, at_mean):
    """Whether a proof shows that no arm's index exceeds the leader's index (at_mean: the leader's mean). O(1).

    The proof is a B that no other arm's index reaches without the leader's rewards at any f up to the proof's. The leader's
    index is at least B if and only if S_leader(B) <= f, and of that sum only the leader's own term has changed.
    """
    if pool.proved[0] != leader or f > pool.proof[1]:
        return False
    B, m = pool.proof[0], pool.mean[leader]
    if m >= B:
        return True
    return not at_mean and pool.pulls[leader] * divergence(kind, m, B, sigma) + pool.proof[2] <= f


@lean
def prove(pool, kind, sigma, leader, f):
    """Keep B, the largest index of the other arms at a slightly larger f without the leader's rewards. O(K^2)."""
    if pool.proved[0] == leader and f <= pool.proof[1]:
        return
    later, B, t = f + PROOF_SPAN, -math.inf, pool.pulls[leader]
    pool.pulls[leader] = 0.0
    new_level(pool)
    for k in range(pool.pulls.shape[0]):
        if k != leader and (-math.inf == B or evidence(pool, kind, sigma, k, B, later) < later):
            B = max(B, index(pool, kind, sigma, k, later))
            new_level(pool)
    others = evidence(pool, kind, sigma, leader, B, math.inf) if math.inf > B and (kind == 1 or B < 1.0) else math.inf
    pool.pulls[leader] = t
    pool.proved[0] = leader
    pool.proof[0], pool.proof[1], pool.proof[2] = B, later, others
