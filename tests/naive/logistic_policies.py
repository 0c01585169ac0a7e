"""Slow, readable twin of LogisticTS: covariance matrices by inversion, the mode by a general
minimiser's root finder, the prior moved anew."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit


class NaiveLogisticTS:
    """Every regression is a precision matrix and a mode of its own, which moves where its prior
    does."""

    def __init__(self, K, d, lam, width, each, intercept):
        self.d, self.width, self.each, self.intercept = d + intercept, width, each, intercept
        self.precision = [lam * np.eye(self.d) for _ in range(K if each else 1)]
        self.mode = [np.zeros(self.d) for _ in self.precision]
        self.root = [np.eye(self.d) / np.sqrt(lam) for _ in self.precision]
        self.lam, self.number, self.total, self.drawn = lam, 0, 0.0, 0.0

    def rows(self, X):
        return np.column_stack([X, np.ones(len(X))]) if self.intercept else np.asarray(X)

    def of(self, arm):
        return arm if self.each else 0

    def select(self, X, rng):
        X = self.rows(X)
        if self.each:
            scores = [
                x @ self.mode[k]
                + self.width
                * np.sqrt(x @ np.linalg.solve(self.precision[k], x))
                * rng.standard_normal()
                for k, x in enumerate(X)
            ]
            return int(np.argmax(scores))
        return int(
            np.argmax(X @ (self.mode[0] + self.width * self.root[0] @ rng.standard_normal(self.d)))
        )

    def update(self, X, arm, reward):
        x, m = self.rows(X)[arm], self.of(arm)
        along = np.linalg.solve(self.precision[m], x)
        mean, square = x @ self.mode[m], x @ along
        step = brentq(
            lambda a: a - reward + expit(mean + a * square),
            reward - 1,
            reward,
            xtol=1e-15,
            rtol=1e-15,
        )
        p = expit(mean + step * square)
        self.mode[m] = self.mode[m] + step * along
        self.precision[m] = self.precision[m] + p * (1 - p) * np.outer(x, x)
        # the root that a draw is made with: that of the old one without what was learned along x
        if not self.each:
            f = self.root[m].T @ x
            self.root[m] = self.root[m] @ (
                np.eye(self.d)
                - (1 - 1 / np.sqrt(1 + p * (1 - p) * square)) * np.outer(f, f) / square
            )
        self.number, self.total = self.number + 1, self.total + reward
        if self.intercept:
            drawn = np.log((self.total + 0.5) / (self.number - self.total + 0.5))
            for k, precision in enumerate(self.precision):
                self.mode[k] = self.mode[k] + np.linalg.solve(
                    precision, self.lam * (drawn - self.drawn) * np.eye(self.d)[-1]
                )
            self.drawn = drawn
