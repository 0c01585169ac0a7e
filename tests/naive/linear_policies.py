"""Slow, readable twins of the linear policies: every round solves the ridge regression anew from the list of rewards."""

import math

import numpy as np


class Ridge:
    """All data kept; estimates by a fresh solve. `features` is (K, d), or the features of this round."""

    def __init__(self, d, lam):
        self.V, self.b = lam * np.eye(d), np.zeros(d)

    def estimate(self, X):
        mean = X @ np.linalg.solve(self.V, self.b)
        width = np.sqrt(np.einsum("ki,ki->k", X, np.linalg.solve(self.V, X.T).T))
        return mean, width

    def feed(self, x, reward):
        self.V += np.outer(x, x)
        self.b += reward * x


class LinUCB:
    def __init__(self, d, lam, beta):
        self.ridge, self.beta = Ridge(d, lam), beta

    def select(self, X, rng):
        mean, width = self.ridge.estimate(X)
        return int(np.argmax(mean + self.beta * width))

    def update(self, X, arm, reward):
        self.ridge.feed(X[arm], reward)


class LinTS(LinUCB):
    """x'theta with theta = theta_hat + v L^-T z, V = L L', z standard normal; v_t = noise sqrt(9 d ln(t / delta)).

    With fewer arms than dimensions z has K entries and the arms' values are mean + v C z, C C' = X V^-1 X'.
    """

    def __init__(self, d, lam, noise, delta):
        super().__init__(d, lam, None)
        self.d, self.noise, self.delta, self.t = d, noise, delta, 1

    def select(self, X, rng):
        v = self.noise * math.sqrt(9 * self.d * math.log(self.t / self.delta))
        if len(X) < self.d:
            root = np.linalg.cholesky(X @ np.linalg.solve(self.ridge.V, X.T))
            return int(np.argmax(self.ridge.estimate(X)[0] + v * root @ rng.standard_normal(len(X))))
        z = rng.standard_normal(self.d)
        theta = np.linalg.solve(self.ridge.V, self.ridge.b) + v * np.linalg.solve(np.linalg.cholesky(self.ridge.V).T, z)
        return int(np.argmax(X @ theta))

    def update(self, X, arm, reward):
        super().update(X, arm, reward)
        self.t += 1


class LinEpsilonGreedy(LinUCB):
    def __init__(self, d, lam, epsilon):
        super().__init__(d, lam, None)
        self.epsilon = epsilon

    def select(self, X, rng):
        if rng.random() < self.epsilon:
            return int(rng.random() * len(X))
        return int(np.argmax(self.ridge.estimate(X)[0]))
