"""Policies over sets that know counts, as the papers write them: all sets listed, one arm at a
time, no oracle."""

import itertools
import math
from statistics import NormalDist

from scipy.special import betainc

from naive.classic_policies import entropy_distance


class Counting:
    """sets: all admissible sets. The set with the most arms never seen, and among those of the
    largest `value`, the first one listed."""

    def __init__(self, number, sets):
        self.pulls, self.sums, self.sets, self.t = [0] * number, [0.0] * number, sets, 1

    def mean(self, i):
        return self.sums[i] / self.pulls[i]

    def select(self):
        seen = [i for i, n in enumerate(self.pulls) if n]
        return max(
            self.sets,
            key=lambda S: (
                len(set(S) - set(seen)),
                round(sum(self.index(i) for i in S if i in seen), 9),
            ),
        )

    def update(self, arms, rewards):
        for i, reward in zip(arms, rewards, strict=True):
            self.pulls[i] += 1
            self.sums[i] += reward
        self.t += 1


class CombUCB1(Counting):
    def __init__(self, number, sets, alpha, sigma):
        super().__init__(number, sets)
        self.alpha, self.sigma = alpha, sigma

    def index(self, i):
        return self.mean(i) + self.sigma * math.sqrt(self.alpha * math.log(self.t) / self.pulls[i])


class CombKLUCB(Counting):
    def __init__(self, number, sets, c):
        super().__init__(number, sets)
        self.c = c

    def index(self, i):
        level = (math.log(self.t) + self.c * math.log(max(1.0, math.log(self.t)))) / self.pulls[i]
        low, high = self.mean(i), 1.0
        for _ in range(60):  # bisection
            middle = (low + high) / 2
            low, high = (
                (middle, high) if entropy_distance(self.mean(i), middle) <= level else (low, middle)
            )
        return low


class CombThompson(Counting):
    """`draws(self, rng)` are the scores of all arms in a round. first: whether arms never seen come
    first."""

    def __init__(self, number, sets, draws, first=True):
        super().__init__(number, sets)
        self.draws, self.first = draws, first
        self.m = max(map(len, sets))

    def mean(self, i):
        return self.sums[i] / self.pulls[i] if self.pulls[i] else 0.0

    def choose(self, rng, awake):
        theta = self.draws(self, rng)
        return max(
            (S for S in self.sets if awake.issuperset(S)),
            key=lambda S: (
                sum(self.pulls[i] == 0 for i in S) if self.first else 0,
                round(sum(theta[i] for i in S if self.pulls[i] or not self.first), 9),
            ),
        )


def beta_draws(a, b):
    def draws(twin, rng):
        return [rng.beta(a + s, b + n - s) for s, n in zip(twin.sums, twin.pulls, strict=True)]

    return draws


def one_beta_quantile(twin, rng):
    """Bisection of the distribution function, for a = b = 1."""
    u, found = NormalDist().cdf(rng.standard_normal()), []
    for s, n in zip(twin.sums, twin.pulls, strict=True):
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            below = betainc(1 + s, 1 + n - s, middle) < u
            low, high = (middle, high) if below else (low, middle)
        found.append(low)
    return found


def gaussian_draws(width, shared=False, unseen=None):
    """width(twin, n): the deviation of an arm with n rewards. unseen(z): the score of one without,
    by default as of all others."""

    def draws(twin, rng):
        z = [rng.standard_normal() for _ in twin.pulls[: 1 if shared else None]]
        found = []
        for i, n in enumerate(twin.pulls):
            own = z[0 if shared else i]
            if n == 0 and unseen is not None:
                found.append(unseen(own))
            else:
                found.append(twin.mean(i) + width(twin, n) * own)
        return found

    return draws


def constant(sigma):
    return lambda twin, n: sigma / math.sqrt(max(n, 1))


def log_boost(sigma):
    def width(twin, n):
        t = max(twin.t, math.e)
        f = math.log(t) + (twin.m + 2) * math.log(math.log(t))
        return sigma * math.sqrt(2 * f / math.log(t) / max(n, 1))

    return width


def root_boost(gamma):
    return lambda twin, n: math.sqrt(gamma * math.log(twin.t) / (n + 1))


class ESCB(Counting):
    """`index_of` is the paper's index of a set; `select` takes CombUCB1's set and those that are
    best for one line through the root."""

    def __init__(self, number, sets, c, sigma):
        super().__init__(number, sets)
        self.c, self.sigma, self.k = c, sigma, max(map(len, sets))

    def spread(self, i):
        f = math.log(self.t) + self.c * self.k * math.log(max(1.0, math.log(self.t)))
        return self.sigma**2 * f / 2 / self.pulls[i]

    def index(self, i):
        return self.mean(i) + math.sqrt(self.spread(i))

    def totals(self, S):
        return sum(self.mean(i) for i in S), sum(self.spread(i) for i in S)

    def index_of(self, S):
        u, v = self.totals(S)
        return u + math.sqrt(v)

    def best_on_line(self, slope):
        return max(self.sets, key=lambda S: round(self.totals(S)[0] + slope * self.totals(S)[1], 9))

    def select(self):
        first = super().select()
        if not all(self.pulls[i] for i in first):
            return first
        met, bound = [first], sum(self.index(i) for i in first)
        for _ in range(8):

            def above(slope, met=met):
                return max(u + slope * v for u, v in map(self.totals, met)) + 1 / (4 * slope)

            slopes = [1 / (2 * math.sqrt(self.totals(S)[1])) for S in met]
            for (u, v), (x, y) in itertools.permutations(map(self.totals, met), 2):
                if v != y and (u - x) / (y - v) > 0:
                    slopes.append((u - x) / (y - v))
            slope = min(slopes, key=above)
            found = self.best_on_line(slope)
            u, v = self.totals(found)
            bound = min(bound, u + slope * v + 1 / (4 * slope))
            if u + slope * v <= above(slope) - 1 / (4 * slope) + 1e-12:
                break
            met.append(found)
        best = max(met, key=self.index_of)
        u, v = self.totals(best)
        return best if (bound - u) / math.sqrt(v) <= math.sqrt(len(first)) else first
