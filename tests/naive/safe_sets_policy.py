"""Slow twin of the guarantee for sets: every bound computed anew from the list of decisions, with
inverses."""

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Decision:
    """A set, whether it was the baseline's round, and the answers that are in by arm."""

    chosen: list
    conserved: bool
    answers: dict = field(default_factory=dict)


class SafeSets:
    """Which set is played in place of the one that is wanted."""

    def __init__(
        self,
        X,
        k,
        baseline,
        mean,
        *,
        alpha,
        delta,
        sigma,
        lam,
        theta_bound=1.0,
        arm_bound=1.0,
        period=1,
    ):
        self.X, self.k, self.baseline, self.mean, self.period = X, k, sorted(baseline), mean, period
        self.alpha, self.delta, self.sigma, self.lam, self.B, self.D = (
            alpha,
            delta,
            sigma,
            lam,
            theta_bound,
            arm_bound,
        )
        self.decisions, self.elsewhere = [], []  # elsewhere: (arm, reward) of no decision

    def z(self, chosen):
        return self.X[list(chosen)].sum(axis=0)

    def ellipsoid(self):
        d = self.X.shape[1]
        seen = [(a, r) for item in self.decisions for a, r in item.answers.items()] + self.elsewhere
        V, b = self.lam * np.eye(d), np.zeros(d)
        for a, r in seen:
            V, b = V + np.outer(self.X[a], self.X[a]), b + r * self.X[a]
        beta = self.sigma * math.sqrt(
            d * math.log((1 + self.D**2 * (1 + len(seen)) / self.lam) / self.delta)
        ) + self.B * math.sqrt(self.lam)
        return np.linalg.inv(V), np.linalg.inv(V) @ b, beta

    def least(self, v):
        inverse, theta, beta = self.ellipsoid()
        return theta @ v - beta * math.sqrt(v @ inverse @ v)

    def earned(self):
        """Lower bound of what the own sets have earned, and psi."""
        own = [item for item in self.decisions if not item.conserved]
        sure = sum(r for item in own for r in item.answers.values() if self.credited(item))
        L = math.log(3 * max(len(own), 1) ** 2 / self.delta)
        psi = self.sigma * math.sqrt(self.k) * math.sqrt(2 * len(own) * L) + 2 / 3 * self.k * L
        return max(sure - psi, 0.0)

    def credited(self, item):
        return not set(item.answers) <= set(self.baseline)

    def left(self, chosen):
        """Lower bound of the budget after this set is played."""
        t, conserved = len(self.decisions) + 1, sum(item.conserved for item in self.decisions)
        ahead = (self.period - t % self.period) % self.period
        times = conserved - (1 - self.alpha) * t + self.alpha * ahead
        if self.mean is None:
            return self.earned() + self.least(self.z(chosen) + times * self.z(self.baseline))
        return self.earned() + max(self.least(self.z(chosen)), 0.0) + times * self.mean

    def admit(self, wanted):
        if sorted(wanted) == self.baseline or self.left(wanted) >= -1e-9:
            return sorted(wanted)
        inverse, theta, beta = self.ellipsoid()
        lower = [theta @ x - beta * math.sqrt(x @ inverse @ x) for x in self.X]
        other = sorted(sorted(range(len(lower)), key=lambda a: (-lower[a], a))[: self.k])
        bar = self.mean if self.mean is not None else -self.least(-self.z(self.baseline))
        return (
            other
            if self.left(other) >= -1e-9 and self.least(self.z(other)) > bar
            else self.baseline
        )

    def commit(self, chosen):
        self.decisions.append(Decision(list(chosen), sorted(chosen) == self.baseline))
        return self.decisions[-1]
