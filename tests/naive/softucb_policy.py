"""Slow, readable twin of SoftUCB: Eqs 6-9 and 13-15 as printed, with a fresh solve every round."""

import numpy as np

from naive.linear_policies import Ridge


def slack(mu, w, beta):
    """S_i = beta (w_i + w_*) - (mu_* - mu_i), * the arm with the best lower bound; and phi_i = w_i
    + w_*."""
    star = int(np.argmax(mu - beta * w))
    phi = w + w[star]
    return beta * phi - (mu[star] - mu), phi


def gamma_of(S, mass):
    eliminated = int((S < 0).sum())
    return max(0.0, np.log(mass * eliminated / (1 - mass))) / S.max() if eliminated else 0.0


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


class SoftUCB:
    def __init__(
        self,
        X,
        beta,
        lam=1.0,
        mass=0.99,
        timing="lagged",
        online=False,
        eta=4.0,
        step=0.02,
        horizon=None,
    ):
        self.X, self.beta, self.mass, self.timing = X, beta, mass, timing
        self.online, self.eta, self.step, self.T = online, eta, step, horizon
        self.ridge, self.gamma, self.A, self.widths = Ridge(X.shape[1], lam), 0.0, [], []

    def look(self):
        self.mu, self.w = self.ridge.estimate(self.X)
        self.S, self.phi = slack(self.mu, self.w, self.beta)
        self.used = gamma_of(self.S, self.mass) if self.timing == "fresh" else self.gamma
        self.p = softmax(self.used * self.S)

    def select(self, rng):
        self.look()
        return int(np.searchsorted(np.cumsum(self.p), rng.random(), side="right"))

    def update(self, arm, reward):
        self.look()
        self.gamma = gamma_of(self.S, self.mass)
        self.A.append(self.used * self.p @ (self.mu * (self.phi - self.p @ self.phi)))
        self.widths.append(self.w.sum())
        if self.online:
            t = len(self.A)
            g = (sum(self.A) + (self.T - t) * self.A[-1] + self.eta * self.widths[-1]) / self.T
            self.beta = max(1e-3, self.beta + self.step * g)
        self.ridge.feed(self.X[arm], reward)

    def gradient(self):
        """Offline: sum_t [A_t + eta sum_i w_it]."""
        return sum(self.A) + self.eta * sum(self.widths)
