"""Logs of an adaptive logger for statistical tests: softmax of running means with a floor,
compiled."""

import math

import numba
import numpy as np

from tightrope.evaluation import estimators
from tightrope.numerics.counts import constant


@numba.njit
def logged(rng, n, means, floor, sharp, arm, reward, chances, model, in_sample):
    """Fill one log and the predictions of each arm's mean so far (shrunk to 0 by one round), before
    the round or with it."""
    K = means.shape[0]
    counts, sums = np.zeros(K), np.zeros(K)
    for t in range(n):
        total = 0.0
        for k in range(K):
            chances[t, k] = math.exp(sharp * sums[k] / (counts[k] + 1.0))
            total += chances[t, k]
        u, a = rng.random(), K - 1
        below = 0.0
        for k in range(K):
            chances[t, k] = floor + (1.0 - K * floor) * chances[t, k] / total
        for k in range(K):
            below += chances[t, k]
            if u < below:
                a = k
                break
        r = 1.0 if rng.random() < means[a] else 0.0
        for k in range(K):
            model[t, k] = sums[k] / (counts[k] + 1.0)
        counts[a] += 1.0
        sums[a] += r
        if in_sample:
            model[t, a] = sums[a] / (counts[a] + 1.0)
        arm[t], reward[t] = a, r


class Arena:
    """Room for one log at a time, and its scores for one target."""

    def __init__(self, n, means, floor=0.02, sharp=5.0):
        self.n, self.means, self.floor, self.sharp = n, np.asarray(means, dtype=float), floor, sharp
        K = self.means.size
        self.arm, self.reward = np.zeros(n, dtype=np.int64), np.zeros(n)
        self.chances, self.model = np.zeros((n, K)), np.zeros((n, K))
        self.starts = np.ones(n, dtype=bool)
        self.out = np.empty((4, n))

    def play(self, seed, in_sample=False):
        rng = np.random.default_rng(seed)
        logged(
            rng,
            self.n,
            self.means,
            self.floor,
            self.sharp,
            self.arm,
            self.reward,
            self.chances,
            self.model,
            in_sample,
        )
        self.propensity = self.chances[np.arange(self.n), self.arm]

    def score(self, target, k=1.0):
        """(phi^L, phi^U, w, w^2) by round, sums and moments, for a target (K,)."""
        sums, moments = np.zeros(estimators.SUMS), np.zeros((estimators.MOMENTS, 2))
        K = self.means.size
        estimators.score(
            self.arm,
            self.reward,
            self.reward,
            self.propensity,
            np.tile(np.asarray(target, dtype=float), (self.n, 1)),
            False,
            self.model,
            self.model,
            self.chances,
            True,
            self.starts,
            1,
            k,
            10.0,
            (0.0, 1.0),
            sums,
            moments,
            np.zeros(K),
            np.zeros(K),
            *self.out,
        )
        return self.out.copy(), sums, moments


def crossing(scores, level, logarithm):
    """The round at which the mixture over these scores crosses, 0 where none does."""
    state, ones = np.zeros(9), np.ones(scores.size)
    estimators.first_crossing(
        scores,
        scores.size,
        1.0,
        level,
        1.0,
        constant(1.0),
        logarithm,
        state,
        0.0,
        0.0,
        *[ones] * 4,
        estimators.NO_TIMES,
        0,
        estimators.NO_COPIES,
    )
    return int(state[4])
