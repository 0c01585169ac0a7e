"""Slow, readable twins of the policies for best-arm identification: all data kept, everything
recomputed every round."""

import itertools
import math

import mpmath
import numpy as np
from scipy.optimize import linprog


def optimal_ratio(X, y):
    """p = |w| / |w|_1 for the smallest L1 combination w of arms that makes y; by an LP over (w+,
    w-)."""
    K = len(X)
    solved = linprog(
        np.ones(2 * K), A_eq=np.hstack([X.T, -X.T]), b_eq=y, bounds=(0, None), method="highs"
    )
    w = np.abs(solved.x[:K] - solved.x[K:])
    return w / w.sum()


class Linear:
    """The list of arms and rewards of a linear bandit."""

    def __init__(self, X, lam=0.0):
        self.X, self.lam, self.arms, self.rewards = np.asarray(X, float), lam, [], []

    def update(self, arm, reward):
        self.arms.append(arm)
        self.rewards.append(reward)

    @property
    def n(self):
        return len(self.arms)

    @property
    def A(self):
        played = self.X[self.arms]
        return self.lam * np.eye(self.X.shape[1]) + played.T @ played

    @property
    def means(self):
        return self.X @ np.linalg.solve(self.A, self.X[self.arms].T @ np.array(self.rewards))

    def square(self, y, A=None):
        return y @ np.linalg.solve(self.A if A is None else A, y)

    def unpulled(self):
        return next((k for k in range(len(self.X)) if k not in self.arms), None)


class NaiveLinGapE(Linear):
    def __init__(
        self, X, epsilon, delta, lam=1.0, noise=1.0, theta_bound=1.0, union=True, rule="greedy"
    ):
        super().__init__(X, lam)
        self.epsilon, self.delta, self.noise, self.theta_bound, self.union, self.rule = (
            epsilon,
            delta,
            noise,
            theta_bound,
            union,
            rule,
        )

    def radius(self):  # Eq 3
        d = self.X.shape[1]
        log_ratio = (
            0.5 * np.linalg.slogdet(self.A)[1] - 0.5 * np.linalg.slogdet(self.lam * np.eye(d))[1]
        )
        log_pairs = 2 * math.log(len(self.X)) if self.union else 0.0
        return (
            self.noise * math.sqrt(2 * (log_pairs + log_ratio - math.log(self.delta)))
            + math.sqrt(self.lam) * self.theta_bound
        )

    def direction(self):  # Algorithm 2
        m, C = self.means, self.radius()
        i = int(np.argmax(m))
        bounds = [
            -math.inf if j == i else m[j] - m[i] + C * math.sqrt(self.square(self.X[i] - self.X[j]))
            for j in range(len(m))
        ]
        return i, int(np.argmax(bounds)), max(bounds)

    def stopped(self):
        return self.unpulled() is None and self.direction()[2] <= self.epsilon

    def select(self):
        if self.unpulled() is not None:
            return self.unpulled()
        i, j, _ = self.direction()
        y = self.X[i] - self.X[j]
        if self.rule == "greedy":  # Eq 9
            return int(np.argmin([self.square(y, self.A + np.outer(x, x)) for x in self.X]))
        p = optimal_ratio(self.X, y)  # Eqs 10-12
        pulls = np.bincount(self.arms, minlength=len(self.X))
        behind = np.array([pulls[a] / p[a] if p[a] > 1e-9 else math.inf for a in range(len(p))])
        return int(
            np.flatnonzero(behind <= behind.min() * (1 + 1e-9))[0]
        )  # equal shares of the LP are equal up to rounding


class PreciseLinGapE(NaiveLinGapE):
    """The same in 50 digits, for features of any size."""

    def update(self, arm, reward):
        super().update(arm, reward)
        with mpmath.workdps(50):
            if self.n == 1:
                self.exact = [mpmath.matrix(x) for x in self.X.tolist()]
                self.matrix, self.response = (
                    mpmath.mpf(self.lam) * mpmath.eye(self.X.shape[1]),
                    mpmath.zeros(self.X.shape[1], 1),
                )
            self.matrix += self.exact[arm] * self.exact[arm].T
            self.response += self.exact[arm] * reward
            self.inverse = self.matrix**-1

    @property
    def means(self):
        theta = self.inverse * self.response
        return [mpmath.fdot(x, theta) for x in self.exact]

    def radius(self):
        with mpmath.workdps(50):
            ratio = float(mpmath.log(mpmath.det(self.matrix / self.lam)) / 2)
        log_pairs = 2 * math.log(len(self.X)) if self.union else 0.0
        return (
            self.noise * math.sqrt(2 * (log_pairs + ratio - math.log(self.delta)))
            + math.sqrt(self.lam) * self.theta_bound
        )

    def direction(self):
        with mpmath.workdps(50):
            m, C, K = self.means, self.radius(), range(len(self.X))
            i = max(K, key=lambda k: m[k])
            widths = [
                mpmath.sqrt(mpmath.fdot(y, self.inverse * y))
                for y in (self.exact[i] - x for x in self.exact)
            ]
            bounds = [-math.inf if j == i else float(m[j] - m[i] + C * widths[j]) for j in K]
            return i, int(np.argmax(bounds)), max(bounds)

    def select(self):
        if self.unpulled() is not None:
            return self.unpulled()
        i, j, _ = self.direction()
        with mpmath.workdps(50):
            y = self.exact[i] - self.exact[j]
            return int(
                np.argmin(
                    [
                        float(mpmath.fdot(y, mpmath.lu_solve(self.matrix + x * x.T, y)))
                        for x in self.exact
                    ]
                )
            )


class PreciseUniform(PreciseLinGapE):
    def select(self):
        return int(np.argmin(np.bincount(self.arms, minlength=len(self.X))))


def static_bound(constant, noise, n, K, delta):
    return constant * noise * math.sqrt(math.log(6 * n**2 * K**2 / (math.pi**2 * delta)))


class NaiveXYStatic(Linear):
    def __init__(self, X, delta, noise=1.0, constant=2 * math.sqrt(2)):
        super().__init__(X)
        self.delta, self.noise, self.constant = delta, noise, constant
        self.among = range(len(X))

    def best_shrink(self):
        """max_y y'(A + x_a x_a')^-1 y for every arm a."""
        values = []
        for x in self.X:
            inverse = np.linalg.inv(self.A + np.outer(x, x))
            values.append(
                max(
                    (self.X[i] - self.X[j]) @ inverse @ (self.X[i] - self.X[j])
                    for i, j in itertools.combinations(self.among, 2)
                )
            )
        return values

    def select(self):
        return (
            self.unpulled() if self.unpulled() is not None else int(np.argmin(self.best_shrink()))
        )

    def beaten(self, i, j):
        """Whether i beats j by more than the bound."""
        width = static_bound(
            self.constant, self.noise, self.n, len(self.X), self.delta
        ) * math.sqrt(self.square(self.X[i] - self.X[j]))
        return self.means[i] - self.means[j] > width

    def stopped(self):
        if self.unpulled() is not None:
            return False
        i = int(np.argmax(self.means))
        return all(self.beaten(i, j) for j in range(len(self.X)) if j != i)


class NaiveXYAdaptive(NaiveXYStatic):
    def __init__(self, X, delta, noise=1.0, alpha=0.1, constant=2 * math.sqrt(2), first_width=None):
        super().__init__(X, delta, noise, constant)
        self.alpha, self.target, self.done = (
            alpha,
            None if first_width is None else alpha * first_width,
            False,
        )

    def update(self, arm, reward):
        super().update(arm, reward)
        if self.unpulled() is not None or self.done:
            return
        widest = max(
            self.square(self.X[i] - self.X[j]) for i, j in itertools.combinations(self.among, 2)
        )
        if self.target is None:
            self.target = self.alpha * widest
        if widest <= self.target:
            K = range(len(self.X))
            self.among = [j for j in K if not any(self.beaten(i, j) for i in K if i != j)]
            self.target, self.done = self.alpha * widest, len(self.among) == 1
            if not self.done:
                self.arms, self.rewards = [], []

    def stopped(self):
        return self.done


class NaiveUGapE:
    def __init__(self, K, epsilon, delta, noise=1.0):
        self.rewards, self.epsilon, self.delta, self.noise = (
            [[] for _ in range(K)],
            epsilon,
            delta,
            noise,
        )

    def update(self, arm, reward):
        self.rewards[arm].append(reward)

    def bounds(self):
        K, N = len(self.rewards), sum(map(len, self.rewards))
        width = [
            self.noise * math.sqrt(2 * math.log(4 * K * N**3 / self.delta) / len(r))
            for r in self.rewards
        ]
        mean = [sum(r) / len(r) for r in self.rewards]
        upper, lower = np.add(mean, width), np.subtract(mean, width)
        gaps = [max(upper[j] for j in range(K) if j != k) - lower[k] for k in range(K)]
        leader = int(np.argmin(gaps))
        rival = max((j for j in range(K) if j != leader), key=lambda j: upper[j])
        return leader, rival, gaps[leader], width

    def stopped(self):
        return all(self.rewards) and self.bounds()[2] <= self.epsilon

    def select(self):
        for k, rewards in enumerate(self.rewards):
            if not rewards:
                return k
        leader, rival, _, width = self.bounds()
        return max(sorted((leader, rival)), key=lambda k: width[k])


class NaiveUniform(NaiveLinGapE):
    def select(self):
        return int(np.argmin(np.bincount(self.arms, minlength=len(self.X))))


class NaiveXYOracle(Linear):
    def __init__(self, X, theta, design, delta, noise=1.0, constant=2 * math.sqrt(2), pairs=True):
        super().__init__(X)
        delta *= 1 if pairs else len(X)
        self.gaps, self.design, self.delta, self.noise, self.constant = (
            max(X @ theta) - X @ theta,
            design,
            delta,
            noise,
            constant,
        )

    def select(self):
        if self.unpulled() is not None:
            return self.unpulled()
        pulls = np.bincount(self.arms, minlength=len(self.X))
        return int(np.argmin(pulls / np.maximum(self.design, 1e-300)))

    def stopped(self):
        if self.unpulled() is not None:
            return False
        best, bound = (
            int(np.argmin(self.gaps)),
            static_bound(self.constant, self.noise, self.n, len(self.X), self.delta),
        )
        others = [k for k in range(len(self.X)) if k != best]
        return all(
            bound * math.sqrt(self.square(self.X[best] - self.X[k])) < self.gaps[k] for k in others
        )


class NaiveRAGE(Linear):
    """Algorithm 1 of Fiez et al. for a given design of every set of survivors (arm shares,
    value)."""

    def __init__(self, X, delta, noise, design, rounding=0.1):
        super().__init__(X)
        self.delta, self.noise, self.design, self.rounding, self.t = (
            delta,
            noise,
            design,
            rounding,
            0,
        )
        self.among, self.done = list(range(len(X))), False
        self.begin()

    def log_term(self):
        return math.log(len(self.X) ** 2 * self.t * (self.t + 1) / self.delta)

    def begin(self):
        self.t, self.arms, self.rewards = self.t + 1, [], []
        shares, rho = self.design(self.among)
        size = math.ceil(
            8
            * (2 ** (self.t + 1)) ** 2
            * rho
            * (1 + self.rounding)
            * self.noise**2
            * self.log_term()
        )
        self.plan = np.maximum(np.ceil(size * shares), 1)

    def select(self):
        return int(np.argmax(self.plan - np.bincount(self.arms, minlength=len(self.X))))

    def update(self, arm, reward):
        super().update(arm, reward)
        if self.n == self.plan.sum():
            m = self.means
            width = {
                (i, j): self.noise
                * math.sqrt(2 * self.log_term() * self.square(self.X[i] - self.X[j]))
                for i in self.among
                for j in self.among
            }
            self.among = [
                j
                for j in self.among
                if not any(width[i, j] < m[i] - m[j] for i in self.among if i != j)
            ]
            self.done = len(self.among) == 1
            if not self.done:
                self.begin()

    def stopped(self):
        return self.done


class NaiveLinGame(NaiveLinGapE):
    """Algorithm 1 of Degenne, Menard, Shang, Valko 2020 with AdaHedge as its authors write it."""

    def __init__(self, X, epsilon, delta, **named):
        super().__init__(X, epsilon, delta, **named)
        K = len(self.X)
        self.losses, self.gap, self.tracked = np.zeros((K, K)), np.zeros(K), np.ones(K)

    def mixture(self, i):
        if self.gap[i] == 0:
            w = (self.losses[i] == self.losses[i].min()).astype(float)
        else:
            w = np.exp(
                -(math.log(len(self.X)) / self.gap[i]) * (self.losses[i] - self.losses[i].min())
            )
        return w / w.sum()

    def update(self, arm, reward):
        super().update(arm, reward)
        if self.unpulled() is not None:
            return
        X, K, m, t = self.X, len(self.X), self.means, self.n
        i = int(np.argmax(m))
        w = self.mixture(i)
        W = X.T @ (np.maximum(w, 1e-9)[:, None] * X)
        theta = np.linalg.solve(self.A, X[self.arms].T @ np.array(self.rewards))
        others = [b for b in range(K) if b != i]
        b = min(
            others, key=lambda b: (m[i] - m[b] + self.epsilon) ** 2 / self.square(X[i] - X[b], W)
        )
        y = X[i] - X[b]
        hardest = theta - (m[i] - m[b] + self.epsilon) / self.square(y, W) * np.linalg.solve(W, y)
        assert np.isclose(y @ hardest, -self.epsilon)  # the rival is better by epsilon
        width = np.sqrt([2 * math.log(t) * self.square(x) for x in X])
        loss = -np.minimum(
            (np.abs(X @ (theta - hardest)) / self.noise + width) ** 2 / 2, math.log(t)
        )
        rate = math.log(K) / self.gap[i] if self.gap[i] else math.inf
        mix = (
            loss[w > 0].min()
            if rate == math.inf
            else -math.log(np.sum(w * np.exp(-rate * loss))) / rate
        )
        self.gap[i] += max(w @ loss - mix, 0)
        self.losses[i] += loss
        self.tracked += w

    def select(self):
        return int(np.argmax(self.tracked - np.bincount(self.arms, minlength=len(self.X))))


def game_value(payoffs):
    """max over mixtures z of the rows of the least column of z'M, and such a mixture."""
    K, J = payoffs.shape
    solved = linprog(
        np.append(np.zeros(K), -1.0),
        A_ub=np.hstack([-payoffs.T, np.ones((J, 1))]),
        b_ub=np.zeros(J),
        A_eq=[np.append(np.ones(K), 0.0)],
        b_eq=[1.0],
        bounds=[(0, None)] * K + [(None, None)],
        method="highs",
    )
    return -solved.fun, solved.x[:K]


class NaiveFrankWolfe(NaiveLinGapE):
    """Algorithm 1 of Wang, Tzeng, Proutiere 2021."""

    def __init__(self, X, epsilon, delta, **named):
        super().__init__(X, epsilon, delta, **named)
        self.x, self.several = np.full(len(self.X), 1 / len(self.X)), 0

    def update(self, arm, reward):
        super().update(arm, reward)
        if self.unpulled() is not None:
            return
        X, K, m, t = self.X, len(self.X), self.means, self.n
        i = int(np.argmax(m))
        W = X.T @ (self.x[:, None] * X)
        rates, gradients = {}, {}
        for b in set(range(K)) - {i}:
            y, lead = X[i] - X[b], m[i] - m[b] + self.epsilon
            rates[b] = lead**2 / self.square(y, W) / (2 * self.noise**2)
            gradients[b] = (lead / self.square(y, W) * X @ np.linalg.solve(W, y)) ** 2 / (
                2 * self.noise**2
            )
        near = [b for b in rates if rates[b] <= min(rates.values()) + t**-0.9 / K]
        if math.isqrt(t // K) ** 2 == t // K:
            z = np.full(K, 1 / K)
        else:
            z = game_value(np.array([gradients[b] - self.x @ gradients[b] for b in near]).T)[1]
            self.several += len(near) > 1
        self.x = self.x + (z - self.x) / t

    def select(self):
        return (
            self.unpulled()
            if self.unpulled() is not None
            else int(np.argmax(self.x / np.bincount(self.arms, minlength=len(self.X))))
        )


class NaiveP1RAGE:
    """P1-RAGE in epochs of equal length, for given designs of every set of arms (shares, value)."""

    def __init__(self, X, budget, design, robust, rng, scale=1.0):
        self.X, self.budget, self.design, self.robust, self.rng, self.scale = (
            X,
            budget,
            design,
            robust,
            rng,
            scale,
        )
        self.epoch = budget // math.ceil(math.log2(design(range(len(X)))[1]))
        self.shares, self.weighted, self.plans = robust, [], 0

    def select(self):
        return int(np.searchsorted(np.cumsum(self.shares), self.rng.random(), side="right"))

    def update(self, arm, reward):
        A = sum(share * np.outer(x, x) for share, x in zip(self.shares, self.X, strict=True))
        self.weighted.append(np.linalg.solve(A, self.X[arm]) * reward)
        if len(self.weighted) % self.epoch == 0 and len(self.weighted) < self.budget:
            gaps = (self.X @ np.mean(self.weighted, axis=0)).max() - self.X @ np.mean(
                self.weighted, axis=0
            )
            found, among = [], range(len(self.X))
            while len(among) > 1 and len(found) < 15:
                found.append(self.design(among)[0])
                among = [
                    k for k in range(len(self.X)) if gaps[k] <= self.scale * 2.0 ** -len(found)
                ]
            self.shares, self.plans = np.mean(found, axis=0) / 2 + self.robust / 2, self.plans + 1

    @property
    def means(self):
        return self.X @ np.mean(self.weighted, axis=0)
