"""Slow, readable twins of the policies for the best of a few plain arms: all rewards kept, every
minimum and root found by SciPy."""

import math

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import rel_entr

from naive.classic_policies import gamma


class NaiveChernoff:
    """Garivier, Kaufmann 2016: the stop."""

    def __init__(self, K, epsilon, delta, rewards="bernoulli", noise=1.0, threshold="proven"):
        self.K, self.epsilon, self.delta, self.noise, self.threshold = (
            K,
            epsilon,
            delta,
            noise,
            threshold,
        )
        self.bernoulli, self.rewards = rewards == "bernoulli", [[] for _ in range(K)]

    def update(self, arm, reward):
        self.rewards[arm].append(reward)

    @property
    def n(self):
        return np.array([len(r) for r in self.rewards])

    @property
    def means(self):
        return np.array([sum(r) / len(r) for r in self.rewards])

    def d(self, x, y):
        return (
            rel_entr(x, y) + rel_entr(1 - x, 1 - y)
            if self.bernoulli
            else (x - y) ** 2 / (2 * self.noise**2)
        )

    def least(self, p, n, q, m):
        """(min, argmin) over x of n d(p, x) + m d(q, x + epsilon) for p + epsilon > q."""
        low, high = q - self.epsilon, p
        if self.bernoulli:
            low, high = max(low, 0.0), min(high, 1.0 - self.epsilon)
        found = minimize_scalar(
            lambda x: n * self.d(p, x) + m * self.d(q, x + self.epsilon),
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-13},
        )
        return found.fun, found.x

    def Z(self, i, j):
        p, q = self.means[[i, j]]
        return self.least(p, self.n[i], q, self.n[j])[0] if p + self.epsilon > q else 0.0

    def needed(self, i, j):
        n, m = self.n[[i, j]]
        if self.threshold == "heuristic":
            return math.log((1 + math.log(self.n.sum())) / self.delta)
        pairs = (self.K - 1) / self.delta
        if self.bernoulli:
            return math.log(4 * math.sqrt(n * m) * pairs)
        return (1 + 1 / min(n, m)) * math.log(math.sqrt((n + 1) * (m + 1)) * pairs)

    def stopped(self):
        if not self.n.all():
            return False
        i = int(np.argmax(self.means))
        return all(self.Z(i, j) > self.needed(i, j) for j in range(self.K) if j != i)

    def hardest(self, leader):
        others = [j for j in range(self.K) if j != leader]
        better = [j for j in others if self.means[j] >= self.means[leader] + self.epsilon]
        return (
            max(better, key=lambda j: self.means[j])
            if better
            else min(others, key=lambda j: self.Z(leader, j))
        )

    def select(self):
        return int(np.argmin(self.n > 0)) if not self.n.all() else self.choose()


class NaiveTopTwoThompson(NaiveChernoff):
    def __init__(self, *given, rng, redraws=10, leader_share=0.5, **named):
        super().__init__(*given, **named)
        self.rng, self.redraws, self.leader_share = rng, redraws, leader_share

    def best_of_draws(self):
        draws = []
        for rewards in self.rewards:
            if self.bernoulli:
                x = gamma(1 + sum(rewards), self.rng)
                draws.append(x / (x + gamma(1 + len(rewards) - sum(rewards), self.rng)))
            else:
                draws.append(
                    sum(rewards) / len(rewards)
                    + self.noise / math.sqrt(len(rewards)) * self.rng.standard_normal()
                )
        return int(np.argmax(draws))

    def choose(self):
        leader = self.best_of_draws()
        if self.rng.random() < self.leader_share:
            return leader
        for _ in range(self.redraws):
            challenger = self.best_of_draws()
            if challenger != leader:
                return challenger
        return self.hardest(leader)


class NaiveTopTwoUCB(NaiveChernoff):
    def __init__(self, *given, rng, leader_share=0.5, **named):
        super().__init__(*given, **named)
        self.rng, self.leader_share = rng, leader_share

    def upper(self, k):
        mean, n, level = self.means[k], self.n[k], math.log(self.n.sum())
        most = 1.0 if self.bernoulli else mean + 100 * self.noise
        if n * self.d(mean, most) <= level:
            return most
        return brentq(lambda q: n * self.d(mean, q) - level, mean, most, xtol=1e-14)

    def choose(self):
        leader = int(np.argmax([self.upper(k) for k in range(self.K)]))
        return leader if self.rng.random() < self.leader_share else self.hardest(leader)


class NaiveTrackAndStop(NaiveChernoff):
    def __init__(self, *given, plan_growth=0.02, **named):
        super().__init__(*given, **named)
        self.plan_growth, self.next_plan = plan_growth, 0

    def proportions(self, means):
        """Theorem 5: x_a(y) for the common evidence y at which the divergences of best arm and
        rivals balance."""
        best = int(np.argmax(means))
        rivals = [k for k in range(self.K) if k != best]
        if self.epsilon == 0 and sum(means == means[best]) > 1:
            return (means == means[best]) / sum(means == means[best])

        def pulls(a, y):
            return brentq(
                lambda x: self.least(means[best], 1, means[a], x)[0] - y,
                0,
                1e6,
                xtol=1e-14,
                rtol=1e-12,
            )

        def balance(y):
            total = 0
            for a in rivals:
                m = self.least(means[best], 1, means[a], pulls(a, y))[1]
                total += self.d(means[best], m) / self.d(means[a], m + self.epsilon)
            return total - 1

        most = min(self.least(means[best], 1, means[a], 1e5)[0] for a in rivals)
        y = brentq(balance, 1e-9 * most, most, xtol=1e-14, rtol=1e-12)
        x = np.array([1.0 if k == best else pulls(k, y) for k in range(self.K)])
        return x / x.sum()

    def update(self, arm, reward):
        super().update(arm, reward)
        if self.n.all() and self.n.sum() >= self.next_plan:
            self.shares, self.next_plan = (
                self.proportions(self.means),
                self.n.sum() * (1 + self.plan_growth),
            )

    def choose(self):
        t = self.n.sum()
        if self.n.min() < math.sqrt(t) - self.K / 2:
            return int(np.argmin(self.n))
        return int(np.argmax(t * self.shares - self.n))
