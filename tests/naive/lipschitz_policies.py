"""Slow, readable twins of the Lipschitz policies: every index by bisection, every program by a
general solver, every round anew."""

import math

import numpy as np
from scipy.optimize import linprog


def bernoulli(x, y):
    """I(x, y) with 0 ln 0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x > 0, x * np.log(x / y), 0.0) + np.where(
            x < 1, (1 - x) * np.log((1 - x) / (1 - y)), 0.0
        )


def gaussian(sigma):
    return lambda x, y: (x - y) ** 2 / (2 * sigma**2)


def program(theta, reach, divergence, need=None):
    """min sum c gap over c >= 0 with sum_i c_i I(theta_i, lambda^k_i) >= need_k, by HiGHS in z = c
    gap: (value, c)."""
    gap = theta.max() - theta
    worse = np.flatnonzero(gap > 1e-12)
    c = np.zeros(theta.size)
    if worse.size == 0:
        return 0.0, c
    rows = [
        divergence(theta[worse], np.maximum(theta[worse], theta.max() - reach[k, worse]))
        / gap[worse]
        for k in worse
    ]
    need = np.ones(theta.size) if need is None else need
    rows, sides = np.array(rows), need[worse]
    scale = rows.max(axis=1)
    found = linprog(
        np.ones(worse.size), A_ub=-rows / scale[:, None], b_ub=-sides / scale, method="highs"
    )
    c[worse] = found.x / gap[worse]
    return found.fun, c


class Pooled:
    forced = True

    def __init__(self, distances, lipschitz, loglog=0.0, divergence=bernoulli, top=1.0):
        self.reach, self.divergence, self.top = lipschitz * np.asarray(distances), divergence, top
        self.K = len(distances)
        self.loglog = 3 * self.K + 1 if loglog == "theory" else loglog
        self.t, self.s, self.n = np.zeros(self.K), np.zeros(self.K), 1

    @property
    def mean(self):
        return np.where(self.t > 0, self.s / np.maximum(self.t, 1), 0.0)

    def f(self):
        return math.log(self.n) + self.loglog * math.log(max(1.0, math.log(self.n)))

    def evidence(self, q):
        """S_k(q_k) of every arm k."""
        y = np.asarray(q)[:, None] - self.reach
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(
                (self.mean < y) & (self.t > 0), self.t * self.divergence(self.mean, y), 0.0
            ).sum(axis=1)

    def indices(self):
        low, high, f = self.mean, np.full(self.K, self.top), self.f()
        fixed = np.where(
            self.evidence(low) > f, low, np.where(self.evidence(high) <= f, high, np.nan)
        )
        for _ in range(64):
            middle = (low + high) / 2
            inside = self.evidence(middle) <= f
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return np.where(np.isnan(fixed), low, fixed)

    def due(self, eligible):
        """An arm that is played whatever was earned: an unplayed one, or one of too few plays."""
        few = math.log(math.log(self.n)) if self.forced and self.n > 2 else 0
        rare = (k for k in eligible if self.t[k] < few)
        return next((k for k in eligible if self.t[k] == 0), next(rare, None))

    def compared(self, eligible):
        """The leader, and the arms whose index exceeds its own."""
        leader, index = max(eligible, key=lambda k: (self.mean[k], -k)), self.indices()
        return leader, [k for k in eligible if k != leader and index[k] > index[leader] + 1e-12]

    def update(self, arm, reward):
        self.t[arm] += 1
        self.s[arm] += reward
        self.n += 1


def least_played(policy, arms):
    return min(arms, key=lambda k: (policy.t[k], k))


class CKLUCB(Pooled):
    def __init__(self, *args, forced=True, **options):
        super().__init__(*args, **options)
        self.forced = forced

    def select(self, eligible):
        if (first := self.due(eligible)) is not None:
            return first
        leader, better = self.compared(eligible)
        return least_played(self, better) if better else leader


class LearnedCKLUCB(CKLUCB):
    """The slope that the means so far do not refute, anew when n has grown by a tenth."""

    def __init__(self, distances, margin=1.0, variance=None, **options):
        super().__init__(distances, 1.0, **options)
        self.distances, self.margin, self.variance = np.asarray(distances), margin, variance
        self.computed = 0

    def update(self, arm, reward):
        super().update(arm, reward)
        if self.n - 1 < 1.1 * self.computed:
            return
        self.computed, steepest = self.n - 1, 1e-3
        for i in range(self.K):
            for j in range(i):
                if self.t[i] and self.t[j] and self.distances[i, j]:
                    noise = self.margin * math.sqrt(self.error(i) + self.error(j))
                    rise = abs(self.mean[i] - self.mean[j]) - noise
                    steepest = max(steepest, rise / self.distances[i, j])
        self.reach = steepest * self.distances

    def error(self, k):
        m, t = self.mean[k], self.t[k]
        return (max(m * (1 - m), 1 / (t + 4)) if self.variance is None else self.variance) / t


class OSLB(Pooled):
    forced = False

    def __init__(self, *args, epsilon=0.05, **options):
        super().__init__(*args, **options)
        self.epsilon, self.programs = epsilon, 0

    def select(self, eligible):
        if (first := self.due(eligible)) is not None:
            return first
        leader = max(eligible, key=lambda k: (self.mean[k], -k))
        top = self.mean[leader]
        index = self.indices()
        rivals = [k for k in eligible if k != leader and index[k] > top + 1e-12]
        return self.explore(rivals, eligible, top) if rivals else leader

    def rates(self, eligible, top):
        """Rates of the eligible arms when the others' rewards are given."""
        chosen = np.array(eligible)
        others = np.setdiff1d(np.arange(self.K), chosen)
        given = np.zeros(self.K)
        for k in chosen:
            y = top - self.reach[k, others]
            below = (self.mean[others] < y) & (self.t[others] > 0)
            given[k] = (
                self.t[others][below] * self.divergence(self.mean[others][below], y[below])
            ).sum()
        need = np.maximum(0.0, 1 - given[chosen] / self.f())
        c = np.zeros(self.K)
        c[chosen] = program(
            self.mean[chosen], self.reach[np.ix_(chosen, chosen)], self.divergence, need
        )[1]
        self.programs += 1
        return c

    def explore(self, rivals, eligible, top):
        c = self.rates(eligible, top)
        short = [k for k in eligible if self.mean[k] < top and self.t[k] <= c[k] * self.f()]
        if not short:
            return least_played(self, rivals)
        explored, least = least_played(self, short), least_played(self, eligible)
        return least if self.t[least] < self.epsilon / self.K * self.t[explored] else explored


class TrackCKLUCB(OSLB):
    forced = True

    def __init__(self, *args, patience=2.0, **options):
        super().__init__(*args, **options)
        self.patience = patience

    def select(self, eligible):
        if (first := self.due(eligible)) is not None:
            return first
        leader, better = self.compared(eligible)
        if not better:
            return leader
        rival, top, f = least_played(self, better), self.mean[leader], self.f()
        if self.t[rival] * self.divergence(self.mean[rival], top) <= self.patience * math.sqrt(f):
            return rival
        c = self.rates(eligible, top)
        if self.t[rival] <= c[rival] * f:
            return rival
        short = [
            k
            for k in eligible
            if self.mean[k] < min(top, top - self.reach[rival, k]) and self.t[k] <= c[k] * f
        ]
        return least_played(self, short) if short else rival


class OSSB(OSLB):
    def __init__(self, *args, epsilon=0.0, gamma=0.0, **options):
        super().__init__(*args, **options)
        self.epsilon, self.gamma, self.explored = epsilon, gamma, 0

    def select(self, eligible):
        if (first := self.due(eligible)) is not None:
            return first
        leader = max(eligible, key=lambda k: (self.mean[k], -k))
        c = self.rates(eligible, self.mean[leader])
        if all(self.t[k] >= (1 + self.gamma) * c[k] * self.f() - 1e-9 for k in eligible):
            return leader
        self.explored += 1
        least = least_played(self, eligible)
        asked = [k for k in eligible if c[k] > 1e-12]
        return (
            least
            if self.t[least] <= self.epsilon * self.explored
            else min(asked, key=lambda k: self.t[k] / c[k])
        )


def grow_hoo(points, nu, rho, choose, rounds):
    """HOO with cells as intervals in a dictionary; choose(arm) gives the reward. Returns the arms
    played."""
    pulls, sums, played = {}, {}, []

    def inside(cell):
        h, i = cell
        last = points <= 1.0 if i == 2**h - 1 else points < (i + 1) / 2**h
        return np.flatnonzero((points >= i / 2**h) & last)

    def halves(cell):
        h, i = cell
        split = inside(cell).size > 1 and h < math.ceil(math.log2(points.size))
        return (
            [half for half in ((h + 1, 2 * i), (h + 1, 2 * i + 1)) if inside(half).size]
            if split
            else []
        )

    def bound(cell, n):
        if cell not in pulls:
            return math.inf
        U = (
            sums[cell] / pulls[cell]
            + math.sqrt(2 * math.log(n) / pulls[cell])
            + nu * rho ** cell[0]
        )
        return min([U] + ([max(bound(half, n) for half in halves(cell))] if halves(cell) else []))

    for n in range(1, rounds + 1):
        cell, path = (0, 0), [(0, 0)]
        while cell in pulls and halves(cell):
            cell = max(halves(cell), key=lambda half: (bound(half, n), -half[1]))
            path.append(cell)
        middle, arms = (cell[1] + 0.5) / 2 ** cell[0], inside(cell)
        arm = int(arms[np.argmin(np.abs(points[arms] - middle))])
        reward = choose(arm)
        for seen in path:
            pulls[seen], sums[seen] = pulls.get(seen, 0) + 1, sums.get(seen, 0.0) + reward
        played.append(arm)
    return played


def zoom(points, lipschitz, horizon, choose, rounds):
    """The zooming algorithm by checking a fine set of places for coverage; choose(arm) gives the
    reward. Returns the arms played."""
    pulls, sums, played = {}, {}, []
    places = np.linspace(0, 1, 200_001)

    def radius(k):
        return math.sqrt(2 * math.log(horizon) / (pulls[k] + 1))

    for _ in range(rounds):
        covered = np.zeros(places.size, dtype=bool)
        for k in pulls:
            covered |= np.abs(places - points[k]) <= radius(k) / lipschitz
        edges = np.flatnonzero(np.diff(np.concatenate(([0], ~covered, [0]))))
        arm = -1
        if edges.size:
            first, last = edges[::2], edges[1::2] - 1
            widest = int(np.argmax(places[last] - places[first]))
            arm = int(
                np.argmin(np.abs(points - (places[first[widest]] + places[last[widest]]) / 2))
            )
        if arm < 0 or arm in pulls:
            arm = max(pulls, key=lambda k: (sums[k] / pulls[k] + 2 * radius(k), -k))
        reward = choose(arm)
        pulls[arm], sums[arm] = pulls.get(arm, 0) + 1, sums.get(arm, 0.0) + reward
        played.append(arm)
    return played
