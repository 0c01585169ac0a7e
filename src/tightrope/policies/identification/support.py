"""The grounds of an answer by Chernoff's stop: how much better another arm may be, and what is still to be sampled."""

import math
from typing import Any

import numpy as np

from ...compiled.kernels import lean
from ...numerics.counts import Counts, intervals, means
from ...numerics.kl import upper_root
from .chernoff import Chernoff, question_of, required, transportation_cost
from .stopping import NO_ESTIMATES, error_estimate, error_of_answer

MOST_SAMPLES = 2.0**60


@lean
def gap_bound(policy, counts, leader):
    """The least epsilon for which the leader could be named now: how much better another arm may be. O(K) roots, by bisection."""
    K, bound = counts.pulls.shape[0], -math.inf
    p, n = counts.sums[leader] / counts.pulls[leader], counts.pulls[leader]
    for j in range(K):
        if j != leader:
            q, m = counts.sums[j] / counts.pulls[j], counts.pulls[j]
            c = required(policy, n, m, counts.rounds[0], K)
            if policy.rewards == 1:
                bound = max(bound, q - p + policy.noise * math.sqrt(2.0 * c * (n + m) / n / m))
                continue
            low, high = q - p, 1.0
            while high - low > 1e-12:
                middle = 0.5 * (low + high)
                if transportation_cost(policy, p, n, q, m, middle) > c:
                    high = middle
                else:
                    low = middle
            bound = max(bound, high)
    return bound


@lean
def certifies(policy, mean, pulls, rounds, leader):
    """Whether so many pulls would certify the leader if these were the means. O(K)."""
    K = mean.shape[0]
    for j in range(K):
        if j != leader:
            cost = transportation_cost(policy, mean[leader], pulls[leader], mean[j], pulls[j], policy.epsilon)
            if cost <= required(policy, pulls[leader], pulls[j], rounds, K):
                return False
    return True


def samples_remaining(policy: Chernoff, counts: Counts, mean: np.ndarray, leader: int, shares: np.ndarray) -> float:
    """Samples still needed in these shares if the estimated means are the true ones; infinite if a rival is as good."""
    rivals = np.delete(mean, leader)
    if rivals.size and rivals.max() >= mean[leader] + policy.epsilon:
        return math.inf

    def pulls_at(total: float) -> np.ndarray:
        return np.maximum(counts.pulls, np.ceil(total * shares))

    def within(total: float) -> bool:
        pulls = pulls_at(total)
        return bool(certifies(question_of(policy), mean, pulls, float(pulls.sum()), leader))

    low, high = float(counts.rounds[0]), 2.0 * float(counts.rounds[0])
    while not within(high):
        low, high = high, 2.0 * high
        if high > MOST_SAMPLES:
            return math.inf
    while high - low > max(1.0, high / 1024.0):
        middle = (low + high) / 2.0
        low, high = (low, middle) if within(middle) else (middle, high)
    return float(pulls_at(high).sum() - counts.pulls.sum())


def chernoff_evidence(policy: Chernoff, state: Any, shares: np.ndarray) -> dict[str, float]:
    """`evidence` under this stop. shares: (K,) in which the policy samples in the long run."""
    counts, answer = state.counts, state.answer[0]
    if not counts.pulls.all():
        return NO_ESTIMATES
    mean, i = means(counts), int(answer["leader"])
    if policy.rewards == 0:  # of a Beta(1, 1) prior, which leaves no arm without a spread
        share = (counts.sums + 1.0) / (counts.pulls + 2.0)
        variance = share * (1.0 - share) / counts.pulls
    else:
        variance = policy.noise**2 / counts.pulls
    return {
        "gap_bound": float(gap_bound(question_of(policy), counts, i)),
        "error": error_of_answer(policy, answer, error_estimate(mean, variance + variance[i], i, policy.epsilon, 1.0)),
        "samples_remaining": 0.0 if answer["certified"] else samples_remaining(policy, counts, mean, i, shares),
    }


def chernoff_report(policy: Chernoff, state: Any, index: np.ndarray, probability: np.ndarray) -> dict[str, np.ndarray | float]:
    """The per-arm part of an explanation. All intervals hold together and at all times with probability 1 - delta where the threshold
    is proven: they are those of one arm's mean, by the same mixtures."""
    counts, answer = state.counts, state.answer[0]
    mean, K = means(counts), counts.pulls.size
    lower, upper = np.full(K, -math.inf), np.full(K, math.inf)
    for k in np.flatnonzero(counts.pulls):
        n = float(counts.pulls[k])
        if policy.threshold == 1:
            level = math.log(1.0 + math.log(counts.rounds[0])) - math.log(policy.delta)
        elif policy.rewards == 0:
            level = math.log(2.0 * K * math.sqrt(n)) - math.log(policy.delta)
        else:
            level = (1.0 + 1.0 / n) * (math.log(K) - math.log(policy.delta) + 0.5 * math.log(1.0 + n))
        upper[k] = upper_root(policy.rewards, mean[k], level / n, policy.noise)
        mirrored = upper_root(policy.rewards, (1.0 if policy.rewards == 0 else 0.0) - mean[k], level / n, policy.noise)
        lower[k] = (1.0 if policy.rewards == 0 else 0.0) - mirrored
    return {
        **intervals(mean, np.where(counts.pulls > 0, upper - mean, math.inf)),
        "lower": lower, "upper": upper, "index": index, "probability": probability,
        "leader": int(answer["leader"]), "challenger": int(answer["challenger"]),
        "information": float(answer["information"]), "required": float(answer["required"]),
    }  # fmt: skip
