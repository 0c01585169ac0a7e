"""Slow, readable twins of the policies that forget: all rewards are kept, and weighed by their age
in every round."""

import math

import numpy as np


class Fading:
    """(arm, reward) by age; a reward that is s rewards old has the weight forget^s."""

    def __init__(self, K, forget):
        self.K, self.forget, self.log = K, forget, []

    def update(self, arm, reward):
        self.log.append((arm, reward))

    def weights(self):
        return self.forget ** np.arange(len(self.log))[::-1]

    def counts(self):
        pulls, sums = np.zeros(self.K), np.zeros(self.K)
        for weight, (arm, reward) in zip(self.weights(), self.log, strict=True):
            pulls[arm] += weight
            sums[arm] += weight * reward
        return pulls, sums


class DiscountedUCB(Fading):
    """Garivier, Moulines 2011: mean + sqrt(alpha ln n / N), both with weights; the coming round
    counts in n."""

    def select(self, rng):
        pulls, sums = self.counts()
        if (pulls == 0).any():
            return int(np.argmax(pulls == 0))
        return int(np.argmax(sums / pulls + np.sqrt(2.0 * math.log(pulls.sum() + 1.0) / pulls)))


class DiscountedRidge:
    """Russac, Vernade, Cappe 2019: V and W from the weighted data, every round anew."""

    def __init__(self, d, lam, forget):
        self.d, self.lam, self.forget, self.rows, self.rewards = d, lam, forget, [], []

    def feed(self, x, reward):
        self.rows.append(x)
        self.rewards.append(reward)

    def matrices(self):
        X, w = (
            np.array(self.rows).reshape(-1, self.d),
            self.forget ** np.arange(len(self.rows))[::-1],
        )
        V, W = (self.lam * np.eye(self.d) + (X.T * weight) @ X for weight in (w, w * w))
        theta = np.linalg.solve(V, X.T @ (w * np.array(self.rewards)))
        return theta, np.linalg.solve(V, np.linalg.solve(V, W).T), W

    def estimate(self, X):
        theta, covariance, _ = self.matrices()
        return X @ theta, np.sqrt(np.einsum("ki,ij,kj->k", X, covariance, X))


class DLinUCB:
    def __init__(self, d, lam, forget, noise, delta):
        self.ridge, self.noise, self.delta, self.lam, self.d = (
            DiscountedRidge(d, lam, forget),
            noise,
            delta,
            lam,
            d,
        )

    def select(self, X, rng):
        mean, width = self.ridge.estimate(X)
        grown = np.linalg.slogdet(self.ridge.matrices()[2])[1] - self.d * math.log(self.lam)
        beta = self.noise * math.sqrt(2 * math.log(1 / self.delta) + grown) + math.sqrt(self.lam)
        return int(np.argmax(mean + beta * width))

    def update(self, X, arm, reward):
        self.ridge.feed(X[arm], reward)


class DLinTS(DLinUCB):
    """theta = theta_hat + scale R z, R R' the covariance V^-1 W V^-1."""

    def select(self, X, rng):
        theta, covariance, _ = self.ridge.matrices()
        return int(
            np.argmax(
                X
                @ (
                    theta
                    + self.noise
                    * np.linalg.cholesky((covariance + covariance.T) / 2)
                    @ rng.standard_normal(self.d)
                )
            )
        )
