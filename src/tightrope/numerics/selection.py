"""The one place where ties are broken: to the lowest index, among the eligible."""

import math

import numpy as np

from ..compiled.kernels import lean
from ..core.verbs import allowed


@lean
def argmax(values, eligible):
    """Lowest index of the largest value among the eligible arms; NaN never wins. O(K)."""
    best, top = -1, -math.inf
    for k in range(values.shape[0]):
        if allowed(eligible, k) and (values[k] > top or best < 0):
            best, top = k, values[k]
    return best


@lean
def largest(values, eligible):
    """The largest value among the eligible arms, -inf without any. O(K), in four running maxima that do not wait for each other."""
    a, b, c, d = -math.inf, -math.inf, -math.inf, -math.inf
    K = values.shape[0]
    for k in range(0, K - 3, 4):
        if allowed(eligible, k):
            a = max(a, values[k])
        if allowed(eligible, k + 1):
            b = max(b, values[k + 1])
        if allowed(eligible, k + 2):
            c = max(c, values[k + 2])
        if allowed(eligible, k + 3):
            d = max(d, values[k + 3])
    for k in range(K - K % 4, K):
        if allowed(eligible, k):
            a = max(a, values[k])
    return max(max(a, b), max(c, d))


@lean
def first_unpulled(pulls, eligible):
    """Lowest eligible arm never pulled, or -1. O(K)."""
    for k in range(pulls.shape[0]):
        if pulls[k] == 0.0 and allowed(eligible, k):
            return k
    return -1


@lean
def next_in_line(counts, eligible):
    """The next arm where arms are tried one after the other and not all were, else -1: the number of rewards so far says which. O(1)."""
    pulls, tried = counts.pulls, int(counts.rounds[0])
    if eligible is None and 0 < tried < pulls.shape[0] and pulls[tried] == 0.0 and pulls[tried - 1] == 1.0 and pulls[0] == 1.0:
        return tried
    return -1


@lean
def next_untried(counts, eligible):
    """An eligible arm never pulled, or -1. O(K), but O(1) where arms are tried one after the other."""
    arm = next_in_line(counts, eligible)
    return arm if arm >= 0 else first_unpulled(counts.pulls, eligible)


@lean
def count_eligible(count, eligible):
    """How many of `count` arms are eligible. O(K) with a mask."""
    if eligible is None:
        return count
    n = 0
    for k in range(count):
        if allowed(eligible, k):
            n += 1
    return n


@lean
def uniform_arm(count, eligible, rng):
    """An eligible arm uniformly at random; one draw. O(K) with a mask."""
    skip = int(rng.random() * count_eligible(count, eligible))
    if eligible is None:
        return min(skip, count - 1)
    last = 0
    for k in range(count):
        if allowed(eligible, k):
            last = k
            if skip == 0:
                return k
            skip -= 1
    return last


@lean
def fill_proportions(weight, total, out):
    for k in range(out.shape[0]):
        out[k] = weight[k] / total


def one_hot(arm: int, count: int) -> np.ndarray:
    probability = np.zeros(count)
    probability[arm] = 1.0
    return probability
