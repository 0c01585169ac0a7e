"""Slow, readable twins of the policies on top of a regression."""

import math

import numpy as np


def inverse_gaps(mean, gamma):
    """Foster, Rakhlin 2020, Algorithm 1, with mu = K."""
    K, best = len(mean), int(np.argmax(mean))
    p = np.array([0.0 if k == best else 1 / (K + gamma * (mean[best] - mean[k])) for k in range(K)])
    p[best] = 1 - p.sum()
    return p


def theory(K, size, T, delta):
    return math.sqrt(K * T / (size * math.log(1 + T / size) + math.log(2 / delta)))


class SquareCB:
    """models.estimate(X) -> (mean, ..); models.feed; gamma: a function of the round 1, 2, .."""

    def __init__(self, models, gamma):
        self.models, self.gamma, self.t = models, gamma, 1

    def probabilities(self, X):
        return inverse_gaps(self.models.estimate(X)[0], self.gamma(self.t))

    def select(self, X, rng):
        return int(np.searchsorted(np.cumsum(self.probabilities(X)), rng.random(), side="right"))

    def update(self, X, arm, reward):
        self.models.feed(X, arm, reward)
        self.t += 1
