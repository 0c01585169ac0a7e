"""Evidence pooled over a metric: how strongly all arms' rewards speak against one arm's mean being as high as q.

If means are L-Lipschitz and arm k had mean q, arm i would have at least q - L D(k, i). The evidence against it is
S_k(q) = sum_i t_i I+(mean_i, q - L D(k, i)), convex and increasing in q; the index of arm k is the largest q with S_k(q) <= f
(Magureanu, Combes, Proutiere 2014, Section 4.2).

Three devices keep a round cheap and change no decision: a sum stops once it passes its cap; the logarithms of q - L D are
computed once per distinct distance and q (on a uniform grid there are K distances, not K^2); and the arm whose rewards were the
strongest evidence against an arm is asked first the next time, and mostly they suffice.
"""

import math

from ...compiled.kernels import lean
from ...core.verbs import allowed
from ...numerics.kl import upper_root

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
