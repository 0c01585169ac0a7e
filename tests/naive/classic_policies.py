"""Slow, readable twins of the policies for independent arms: they keep the whole history and
recompute everything."""

import math

import numpy as np
from scipy.optimize import brentq


class Naive:
    """K arms, a history of (arm, reward)."""

    def __init__(self, K):
        self.rewards = [[] for _ in range(K)]

    def update(self, arm, reward):
        self.rewards[arm].append(reward)

    @property
    def n(self):
        """The coming round, 1, 2, .."""
        return sum(map(len, self.rewards)) + 1

    def select(self):
        for k, rewards in enumerate(self.rewards):
            if not rewards:
                return k
        scores = [self.score(sum(rewards) / len(rewards), len(rewards)) for rewards in self.rewards]
        return int(np.argmax(scores))


class NaiveUCB(Naive):
    def __init__(self, K, alpha=2.0, sigma=1.0):
        super().__init__(K)
        self.alpha, self.sigma = alpha, sigma

    def score(self, mean, t):
        return mean + self.sigma * math.sqrt(self.alpha * math.log(self.n) / t)


def entropy_distance(x, y):
    """Bernoulli divergence from the definition."""
    total = 0.0
    for p, q in ((x, y), (1 - x, 1 - y)):
        if p > 0:
            total += p * math.log(p / q) if q > 0 else math.inf
    return total


class NaiveKLUCB(Naive):
    def __init__(self, K, c=0.0):
        super().__init__(K)
        self.c = c

    def score(self, mean, t):
        f = math.log(self.n) + self.c * math.log(max(1.0, math.log(self.n)))
        if mean >= 1 or f <= 0:
            return max(mean, 1.0 if mean >= 1 else mean)
        top = 1 - 1e-16
        if t * entropy_distance(mean, top) <= f:
            return 1.0
        return brentq(
            lambda q: t * entropy_distance(mean, q) - f, mean, top, xtol=1e-15, rtol=1e-15
        )


class NaiveExplore:
    """With probability floor x K a uniform arm, else the inner twin's."""

    def __init__(self, K, inner, floor, rng):
        self.K, self.inner, self.floor, self.rng = K, inner, floor, rng
        self.update = inner.update

    def select(self):
        if self.rng.random() < self.floor * self.K:
            return int(self.rng.random() * self.K)
        return self.inner.select()


class NaiveEpsilonGreedy(Naive):
    def __init__(self, K, epsilon):
        super().__init__(K)
        self.epsilon = epsilon

    def select(self, rng):
        if rng.random() < self.epsilon:
            return int(rng.random() * len(self.rewards))
        means = [sum(rewards) / len(rewards) if rewards else -np.inf for rewards in self.rewards]
        places = sorted(
            {k for k, rewards in enumerate(self.rewards) if not rewards}
            | ({int(np.argmax(means))} if max(means) > -np.inf else set())
        )
        return places[int(rng.random() * len(places))] if len(places) > 1 else places[0]


def gamma(shape, rng):
    """Marsaglia and Tsang's method without its squeeze step's shortcut in the decision: the
    logarithmic test alone decides."""
    d = shape - 1 / 3
    while True:
        x = rng.standard_normal()
        v = (1 + x / math.sqrt(9 * d)) ** 3
        if v <= 0:
            continue
        if math.log(rng.random()) < 0.5 * x**2 + d - d * v + d * math.log(v):
            return d * v


class NaiveBetaThompson(Naive):
    def __init__(self, K, a, b):
        super().__init__(K)
        self.a, self.b = a, b

    def select(self, rng):
        draws = []
        for rewards in self.rewards:
            a, b = self.a + sum(rewards), self.b + len(rewards) - sum(rewards)
            if min(a, b) < 1:
                draws.append(rng.beta(a, b))
            else:
                x = gamma(a, rng)
                draws.append(x / (x + gamma(b, rng)))
        return int(np.argmax(draws))


class NaiveGaussianThompson(Naive):
    """Moments by NumPy from all rewards, weighted by their age where they fade; the posterior of
    the mean by its formula."""

    def __init__(self, K, alpha, forget=1.0):
        super().__init__(K)
        self.alpha, self.forget, self.first = alpha, forget, max(2, 3 - math.ceil(2 * alpha))
        self.times = [[] for _ in range(K)]

    def update(self, arm, reward):
        self.times[arm].append(self.n)
        super().update(arm, reward)

    def moments(self, rewards, times):
        weights = self.forget ** (self.n - 1.0 - np.array(times))
        mean = np.average(rewards, weights=weights)
        return weights.sum(), mean, np.average((np.array(rewards) - mean) ** 2, weights=weights)

    def select(self, rng):
        fresh = [k for k, rewards in enumerate(self.rewards) if len(rewards) < self.first]
        places = len(fresh) + (len(fresh) < len(self.rewards))
        if fresh:
            place = int(rng.random() * places) if places > 1 else 0
            if place < len(fresh):
                return fresh[place]
        draws = []
        for rewards, times in zip(self.rewards, self.times, strict=True):
            if len(rewards) < self.first:
                draws.append(-np.inf)
                continue
            n, mean, variance = self.moments(rewards, times)
            if len(set(rewards)) == 1:
                each = [
                    self.moments(*pair)[1:]
                    for pair in zip(self.rewards, self.times, strict=True)
                    if pair[0]
                ]
                variance = np.var([m for m, _ in each]) + np.mean([v for _, v in each]) or 1.0
            freedom = max(n, self.first) + 2 * self.alpha - 1
            x, half = rng.standard_normal(), freedom / 2
            if half >= 1:
                chi_square = 2 * gamma(half, rng)
            else:
                chi_square = 2 * gamma(half + 1, rng) * (1 - rng.random()) ** (1 / half)
            widening = max(n, self.first) / n
            draws.append(
                mean
                + x / math.sqrt(chi_square / freedom) * math.sqrt(variance * widening / freedom)
            )
        return int(np.argmax(draws))


class NaiveRobustUCB(Naive):
    """Truncated means from all rewards, at the level of the coming round."""

    def __init__(self, K, moment, epsilon=1.0, centre=0.0, width=4.0):
        super().__init__(K)
        self.moment, self.epsilon, self.centre, self.width = moment, epsilon, centre, width

    def select(self):
        for k, rewards in enumerate(self.rewards):
            if not rewards:
                return k
        return int(np.argmax([self.score(rewards) for rewards in self.rewards]))

    def level(self):
        """ln(1 / delta): the least power of 1.1 that is at least 2 ln t."""
        power = 0
        while math.prod([1.1] * power) < 2 * math.log(self.n):
            power += 1
        return math.prod([1.1] * power)

    def truncated_mean(self, rewards):
        kept = 0.0
        for s, reward in enumerate(rewards, start=1):
            if abs(reward - self.centre) <= (self.moment * s / self.level()) ** (
                1 / (1 + self.epsilon)
            ):
                kept += reward - self.centre
        return self.centre + kept / len(rewards)

    def score(self, rewards):
        power = 1 / (1 + self.epsilon)
        return self.truncated_mean(rewards) + self.width * self.moment**power * (
            self.level() / len(rewards)
        ) ** (self.epsilon * power)
