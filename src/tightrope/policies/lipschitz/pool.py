"""Counts of arms that lie in a metric space, in the form that pooled evidence needs: sorted by pulls, with neighbours by distance."""

import math
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from ...compiled.kernels import lean
from ...core.kinds import ArmIndex, ArmIndexOrNone, ArmOrder, Count, Derived, Extended, Finite, Kind, NonNegative, RewardSum
from ...core.verbs import allowed

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
    witness: ArmIndex  # (K,) place in the row's `near` of the arm with the largest term the last time
    warm: Extended  # (K,) last index: where Newton starts
    proved: ArmIndexOrNone  # (1,) leader of the proof, or -1
    proof: Extended  # (3,) B, the f up to which it holds, the others' part of S_leader(B)


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
        np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(1), np.full(1, np.inf), indices, indices.copy(),
        near, level, reach,
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
def first_below(pool, floor, eligible):
    """Lowest eligible arm with fewer than `floor` pulls, or -1. O(1) where no arm has."""
    if pool.pulls[pool.order[0]] < floor:
        for k in range(pool.pulls.shape[0]):
            if pool.pulls[k] < floor and allowed(eligible, k):
                return k
    return -1
