"""Slow, readable twins of the linear policies: every round solves the ridge regression anew from
the list of rewards."""

import math

import numpy as np


class Ridge:
    """All data kept; estimates by a fresh solve. `features` is (K, d), or the features of this
    round."""

    def __init__(self, d, lam):
        self.V, self.b = lam * np.eye(d), np.zeros(d)

    def estimate(self, X):
        mean = X @ np.linalg.solve(self.V, self.b)
        return mean, np.sqrt(np.einsum("ki,ki->k", X, np.linalg.solve(self.V, X.T).T))

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


class LOSAN(LinUCB):
    """The radius from the errors of the predictions before each reward, which weighs w^2."""

    def __init__(self, d, noise, bound, delta):
        super().__init__(d, (noise / bound) ** 2, None)
        self.loss = noise**2 / 2 + noise**2 * math.log(1 / delta)

    def select(self, X, rng):
        mean, width = self.ridge.estimate(X)
        return int(np.argmax(mean + math.sqrt(2 * self.loss) * width))

    def update(self, X, arm, reward):
        x, before = X[arm], np.linalg.solve(self.ridge.V, X[arm])
        w = min(1.0, 1.0 / math.sqrt(x @ before))
        error = reward - before @ self.ridge.b
        self.ridge.feed(w * x, w * reward)
        self.loss += w**4 * error**2 * (x @ np.linalg.solve(self.ridge.V, x)) / 2


class LinTS(LinUCB):
    """x'theta with theta = theta_hat + v L^-T z, V = L L', z standard normal; v_t = noise sqrt(9 d
    ln(t / delta)).

    With fewer arms than dimensions z has K entries and the arms' values are mean + v C z, C C' = X
    V^-1 X'.
    """

    def __init__(self, d, lam, noise, delta):
        super().__init__(d, lam, None)
        self.d, self.noise, self.delta, self.t = d, noise, delta, 1

    def select(self, X, rng):
        v = self.noise * math.sqrt(9 * self.d * math.log(self.t / self.delta))
        if len(X) < self.d:
            root = np.linalg.cholesky(X @ np.linalg.solve(self.ridge.V, X.T))
            return int(
                np.argmax(self.ridge.estimate(X)[0] + v * root @ rng.standard_normal(len(X)))
            )
        z = rng.standard_normal(self.d)
        theta = np.linalg.solve(self.ridge.V, self.ridge.b) + v * np.linalg.solve(
            np.linalg.cholesky(self.ridge.V).T, z
        )
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
        return one_of_the_best(self.ridge.estimate(X)[0], rng)


def one_of_the_best(values, rng):
    places = np.flatnonzero(values == values.max())
    return int(places[int(rng.random() * len(places))] if len(places) > 1 else places[0])


class Disjoint:
    """A `Ridge` for each arm (Li et al. 2010, Algorithm 1), fed with the arm's own rewards only;
    `index` makes an arm's score."""

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
        grown = max(
            np.linalg.slogdet(ridge.V)[1] for ridge in self.models.ridges
        ) - self.d * math.log(self.lam)
        return self.noise * math.sqrt(2 * math.log(self.K / self.delta) + grown) + math.sqrt(
            self.lam
        )

    def select(self, X, rng):
        mean, width = self.models.estimate(X)
        return int(np.argmax(mean + self.radius() * width))

    def update(self, X, arm, reward):
        self.models.feed(X, arm, reward)


class DisjointLOSAN:
    """A `LOSAN` for each arm at level delta / K; every width by the largest loss."""

    def __init__(self, K, d, noise, bound, delta):
        self.own = [LOSAN(d, noise, bound, delta / K) for _ in range(K)]
        self.models = Disjoint(K, d, 1.0)
        self.models.ridges = [own.ridge for own in self.own]

    def select(self, X, rng):
        mean, width = self.models.estimate(X)
        return int(np.argmax(mean + math.sqrt(2 * max(own.loss for own in self.own)) * width))

    def update(self, X, arm, reward):
        self.own[arm].update(X, arm, reward)


class DisjointLinTS(DisjointLinUCB):
    """Every arm's value is drawn by itself: N(x'theta_k, scale^2 x'V_k^-1 x)."""

    def select(self, X, rng):
        mean, width = self.models.estimate(X)
        return int(
            np.argmax(
                [
                    m + self.beta * w * rng.standard_normal()
                    for m, w in zip(mean, width, strict=True)
                ]
            )
        )


class DisjointLinEpsilonGreedy(DisjointLinUCB):
    """beta is epsilon."""

    def select(self, X, rng):
        if rng.random() < self.beta:
            return int(rng.random() * self.K)
        return one_of_the_best(self.models.estimate(X)[0], rng)


class LinMED:
    """p ~ q f with f = exp(-gap^2 / (beta ||x_best - x||^2)) and q of the best arm, a design over
    sqrt(f) x, and uniform."""

    def __init__(self, d, lam, noise, best=0.9, design=0.05, delta=None):
        self.ridge, self.d, self.lam, self.noise, self.t = Ridge(d, lam), d, lam, noise, 1
        self.best, self.design, self.delta = best, design, delta

    def shares(self, X):
        delta = 1 / (self.t + 1) if self.delta is None else self.delta
        grown = np.linalg.slogdet(self.ridge.V)[1] - self.d * math.log(self.lam)
        beta = (self.noise * math.sqrt(2 * math.log(1 / delta) + grown) + math.sqrt(self.lam)) ** 2
        mean, _ = self.ridge.estimate(X)
        b = int(np.argmax(mean))
        apart = X[b] - X
        norm = np.einsum("ki,ki->k", apart, np.linalg.solve(self.ridge.V, apart.T).T)
        gap = mean[b] - mean
        return b, np.array(
            [
                1.0 if g == 0 else math.exp(-g * g / (beta * n))
                for g, n in zip(gap, norm, strict=True)
            ]
        )

    def optimal(self, X, f):
        K = len(X)
        if 2 * self.d >= K:
            return np.full(K, 1 / K)
        scaled, q = np.sqrt(f)[:, None] * X, f / f.sum()
        for _ in range(8 * self.d):
            information = (scaled.T * q) @ scaled + 1e-6 * (scaled**2).sum(axis=1).max() * np.eye(
                self.d
            )
            g = np.einsum("ki,ki->k", scaled, np.linalg.solve(information, scaled.T).T)
            worst = int(np.argmax(g))
            if g[worst] <= 2 * self.d:
                break
            step = (g[worst] / self.d - 1) / (g[worst] - 1)
            q *= 1 - step
            q[worst] += step
        return q

    def probabilities(self, X):
        b, f = self.shares(X)
        q = self.design * self.optimal(X, f) + (1 - self.design - self.best) / len(X)
        q[b] += self.best
        return q * f / (q * f).sum()

    def select(self, X, rng):
        return int(np.searchsorted(np.cumsum(self.probabilities(X)), rng.random(), side="right"))

    def update(self, X, arm, reward):
        self.ridge.feed(X[arm], reward)
        self.t += 1


class LearnedNoise:
    """What is learned of means and noise from all rewards kept: estimates, sigma, and the scale
    that widths are multiples of.

    The regression of r - m, m the mean of all rewards, on rows with a constant column (None: of r
    on the rows as they are). The normal-inverse-gamma posterior has a prior worth two rewards of
    the mean square of r - m; the sum of squares is that of the residuals and of the penalty. The
    penalty may hide lam ||theta||^2, shared among the directions that are known by parts.
    """

    def __init__(self, d, lam, forget=1.0, models=1, column=None):
        self.d, self.lam, self.forget, self.rows, self.models, self.column = (
            d + (column is not None),
            lam,
            forget,
            [],
            models,
            column,
        )

    def wide(self, X):
        return X if self.column is None else np.c_[X, np.full(len(X), self.column)]

    def feed(self, x, reward, model=0):
        self.rows.append((x, reward, model))

    def weights(self):
        return self.forget ** np.arange(len(self.rows))[::-1]

    def centre(self):
        if self.column is None or not self.rows:
            return 0.0
        return np.average([r for _, r, _ in self.rows], weights=self.weights())

    def fitted(self):
        """(theta, rows X, rewards less m, weights w) of every model."""
        weight, m = self.weights(), self.centre()
        for model in range(self.models):
            own = [
                (self.wide(x[None])[0], r - m, w)
                for (x, r, of), w in zip(self.rows, weight, strict=True)
                if of == model
            ]
            X = np.array([x for x, _, _ in own]).reshape(-1, self.d)
            y, w = np.array([r for _, r, _ in own]), np.array([w for _, _, w in own])
            V = self.lam * np.eye(self.d) + (X.T * w) @ X
            yield np.linalg.solve(V, X.T @ (w * y)), X, y, w, V

    def estimates(self, X):
        """(K,) means and widths ||x||; with a model each, of row k by model k."""
        wide, found = self.wide(X), list(self.fitted())
        models = [found[k if self.models > 1 else 0] for k in range(len(X))]
        widths = []
        for x, (_, rows, _, w, V) in zip(wide, models, strict=True):
            z = np.linalg.solve(V, x)
            widths.append(math.sqrt(z @ (self.lam * np.eye(self.d) + (rows.T * w**2) @ rows) @ z))
        return np.array(
            [self.centre() + x @ model[0] for x, model in zip(wide, models, strict=True)]
        ), np.array(widths)

    def sigma(self):
        squares, count, residual = 0.0, 0.0, 0.0
        for theta, X, y, w, _ in self.fitted():
            squares, count = squares + w @ y**2, count + w.sum()
            residual += w @ (y - X @ theta) ** 2 + self.lam * theta @ theta
        return math.sqrt((2 * squares / count + residual) / (2 + count)) if squares > 0 else 1.0

    def scale(self):
        size, known = 0.0, 0.0
        for theta, X, _, w, V in self.fitted():
            inverse = np.linalg.inv(V)
            size += theta @ theta
            known += self.d - self.lam * np.trace(
                inverse @ (self.lam * np.eye(self.d) + (X.T * w**2) @ X) @ inverse
            )
        return (
            max(self.sigma(), math.sqrt(self.lam * size / known)) if known > 1e-9 else self.sigma()
        )
