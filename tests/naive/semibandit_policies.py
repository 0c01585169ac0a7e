"""Semi-bandit policies as the papers write them: one arm at a time, inverses, no blocks, the Kalman
form where it is the source's."""

import math

import numpy as np


class Ridge:
    def __init__(self, d, lam=1.0):
        self.V, self.b, self.t, self.observed = lam * np.eye(d), np.zeros(d), 1, 0

    def estimates(self, X):
        inverse = np.linalg.inv(self.V)
        theta = inverse @ self.b
        return np.array([theta @ x for x in X]), np.array([math.sqrt(x @ inverse @ x) for x in X])

    def update(self, X, chosen, rewards):
        for i, r in zip(chosen, rewards, strict=True):
            self.V += np.outer(X[i], X[i])
            self.b += r * X[i]
        self.t += 1
        self.observed += len(chosen)


def beta(t, k, d, lam, delta, noise, theta_bound):
    return noise * math.sqrt(d * math.log((1 + k * t / lam) / delta)) + math.sqrt(lam) * theta_bound


class C2UCB(Ridge):
    def __init__(self, d, lam, alpha):
        super().__init__(d, lam)
        self.alpha = alpha

    def scores(self, X, rng):
        mean, width = self.estimates(X)
        return mean + self.alpha(self.t) * width


class PC2UCB(C2UCB):
    def __init__(self, d, lam, alpha, c):
        super().__init__(d, lam, alpha)
        self.c = c

    def scores(self, X, rng):
        mean, width = self.estimates(X)
        return np.array(
            [
                m + (1 + rng.uniform(0, self.c)) * self.alpha(self.t) * w
                for m, w in zip(mean, width, strict=True)
            ]
        )


class CombTSArm(Ridge):
    def __init__(self, d, lam, v):
        super().__init__(d, lam)
        self.v = v

    def scores(self, X, rng):
        mean, width = self.estimates(X)
        return np.array(
            [rng.normal(m, self.v(self.t) * w) for m, w in zip(mean, width, strict=True)]
        )


class CombTSRound(CombTSArm):
    def scores(self, X, rng):
        theta = np.linalg.inv(self.V) @ self.b
        factor = np.linalg.cholesky(self.V)
        drawn = theta + self.v(self.t) * np.linalg.inv(factor).T @ rng.standard_normal(theta.size)
        return X @ drawn


class CombTSShared(CombTSArm):
    def scores(self, X, rng):
        mean, width = self.estimates(X)
        z = rng.standard_normal()
        return np.array([m + self.v(self.t) * w * z for m, w in zip(mean, width, strict=True)])


class Greedy(Ridge):
    def scores(self, X, rng):
        return self.estimates(X)[0] if self.observed else rng.standard_normal(len(X))


class Kalman:
    """Wen, Kveton, Ashkan 2015, Algorithm 1: one Kalman step per reward."""

    def __init__(self, d, prior_scale, noise):
        self.mean, self.cov, self.noise = np.zeros(d), prior_scale**2 * np.eye(d), noise

    def update(self, X, chosen, rewards):
        for i, r in zip(chosen, rewards, strict=True):
            gain = self.cov @ X[i] / (X[i] @ self.cov @ X[i] + self.noise**2)
            self.mean = self.mean + gain * (r - X[i] @ self.mean)
            self.cov = self.cov - np.outer(gain, X[i] @ self.cov)


class CombLinUCB(Kalman):
    def __init__(self, d, prior_scale, noise, c):
        super().__init__(d, prior_scale, noise)
        self.c = c

    def scores(self, X, rng):
        return np.array([x @ self.mean + self.c * math.sqrt(x @ self.cov @ x) for x in X])


class CombLinTS(Kalman):
    def scores(self, X, rng):
        # The square root of Sigma whose draw is that of the precision's factor: Sigma = L'^-1 L^-1.
        factor = np.linalg.cholesky(np.linalg.inv(self.cov))
        return X @ (self.mean + np.linalg.inv(factor).T @ rng.standard_normal(self.mean.size))


def top(scores, k):
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k]
