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


class Disjoint:
    """A `Ridge` for each arm (Li et al. 2010, Algorithm 1), fed with the arm's own rewards only; `index` makes an arm's score."""

    def __init__(self, K, d, lam):
        self.ridges = [Ridge(d, lam) for _ in range(K)]

    def estimate(self, X):
        each = [ridge.estimate(x[None]) for ridge, x in zip(self.ridges, X, strict=True)]
        return np.array([mean[0] for mean, _ in each]), np.array([width[0] for _, width in each])

    def feed(self, X, arm, reward):
        self.ridges[arm].feed(X[arm], reward)


class DisjointLinUCB:
    """beta None: the largest radius over the arms, each at level delta / K."""

    def __init__(self, K, d, lam, beta=None, noise=1.0, delta=0.1):
        self.models, self.beta = Disjoint(K, d, lam), beta
        self.K, self.d, self.lam, self.noise, self.delta = K, d, lam, noise, delta

    def radius(self):
        if self.beta is not None:
            return self.beta
        grown = max(np.linalg.slogdet(ridge.V)[1] for ridge in self.models.ridges) - self.d * math.log(self.lam)
        return self.noise * math.sqrt(2 * math.log(self.K / self.delta) + grown) + math.sqrt(self.lam)

    def select(self, X, rng):
        mean, width = self.models.estimate(X)
        return int(np.argmax(mean + self.radius() * width))

    def update(self, X, arm, reward):
        self.models.feed(X, arm, reward)


class DisjointLinTS(DisjointLinUCB):
    """Every arm's value is drawn by itself: N(x'theta_k, scale^2 x'V_k^-1 x)."""

    def select(self, X, rng):
        mean, width = self.models.estimate(X)
        return int(np.argmax([m + self.beta * w * rng.standard_normal() for m, w in zip(mean, width, strict=True)]))


class DisjointLinEpsilonGreedy(DisjointLinUCB):
    """beta is epsilon."""

    def select(self, X, rng):
        if rng.random() < self.beta:
            return int(rng.random() * self.K)
        return int(np.argmax(self.models.estimate(X)[0]))
