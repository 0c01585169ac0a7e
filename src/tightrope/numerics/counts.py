"""Counts and means of arms, ties, divergences, radii, mixtures."""

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..compiled.kernels import jit, lean
from ..core.fields import Count, RewardSum, Scratch
from ..core.policy import verb
from ..core.verbs import allowed


class Counts(NamedTuple):
    pulls: Count  # (K,) rounds in which the arm was fed
    sums: RewardSum  # (K,) its rewards
    rounds: Count  # (1,) all rounds so far
    scores: Scratch  # (K,)

    @jit
    def count_reward(self, arm, reward):
        self.pulls[arm] += 1.0
        self.sums[arm] += reward
        self.rounds[0] += 1.0
        return self


class FadingCounts(NamedTuple):
    """Counts in which a reward that is s rounds old has the weight forget^s, whatever arm was
    played since."""

    pulls: Count  # (K,) sums of weights
    sums: RewardSum  # (K,) weighted rewards
    rounds: Count  # (1,) sum of all weights
    scores: Scratch  # (K,)
    forget: float

    @jit
    def count_reward(self, arm, reward):
        for k in range(self.pulls.shape[0]):
            self.pulls[k] *= self.forget
            self.sums[k] *= self.forget
        self.pulls[arm] += 1.0
        self.sums[arm] += reward
        self.rounds[0] = self.forget * self.rounds[0] + 1.0
        return self


def new_counts(count: int) -> Counts:
    return Counts(np.zeros(count), np.zeros(count), np.zeros(1), np.zeros(count))


def counts_that_may_fade(count: int, forget: float) -> Counts | FadingCounts:
    """Nothing pulled yet; forget < 1: old rewards fade."""
    fresh = new_counts(count)
    return fresh if forget == 1.0 else FadingCounts(*fresh, forget)


@verb
def count_reward(state, arm, reward):
    """Take in one reward."""


def means(state: Counts) -> np.ndarray:
    """Mean reward per arm; NaN where never pulled."""
    with np.errstate(invalid="ignore"):
        return np.where(
            state.pulls > 0, state.sums / np.where(state.pulls > 0, state.pulls, 1.0), np.nan
        )


def per_pull(numerator: float, state: Counts) -> np.ndarray:
    return np.divide(
        numerator, state.pulls, out=np.full(state.pulls.size, np.inf), where=state.pulls > 0
    )


def intervals(mean: np.ndarray, width: np.ndarray) -> dict[str, np.ndarray]:
    """The part of every explanation that is the same: mean, width, lower, upper; without data -inf
    and inf."""
    known = np.isfinite(mean)
    return {
        "mean": mean,
        "width": width,
        "lower": np.where(known, mean - width, -np.inf),
        "upper": np.where(known, mean + width, np.inf),
    }


# The one place where ties are broken: to the lowest index, among the eligible.


@lean
def argmax(values, eligible):
    """Lowest index of the largest value among the eligible arms; NaN never wins. O(K)."""
    best, top = -1, -math.inf
    for k in range(values.shape[0]):
        if allowed(eligible, k) and (values[k] > top or best < 0):
            best, top = k, values[k]
    return best


@lean
def largest(values, eligible):
    """The largest value among the eligible arms, -inf without any. O(K), in four running maxima
    that do not wait for each other."""
    a, b, c, d = -math.inf, -math.inf, -math.inf, -math.inf
    K = values.shape[0]
    for k in range(0, K - 3, 4):
        if allowed(eligible, k):
            a = max(a, values[k])
        if allowed(eligible, k + 1):
            b = max(b, values[k + 1])
        if allowed(eligible, k + 2):
            c = max(c, values[k + 2])
        if allowed(eligible, k + 3):
            d = max(d, values[k + 3])
    for k in range(K - K % 4, K):
        if allowed(eligible, k):
            a = max(a, values[k])
    return max(max(a, b), max(c, d))


@lean
def first_unpulled(pulls, eligible):
    """Lowest eligible arm never pulled, or -1. O(K)."""
    for k in range(pulls.shape[0]):
        if pulls[k] == 0.0 and allowed(eligible, k):
            return k
    return -1


@lean
def next_in_line(counts, eligible):
    """The next arm where arms are tried one after the other and not all were, else -1: the number
    of rewards so far says which. O(1)."""
    pulls, tried = counts.pulls, int(counts.rounds[0])
    if (
        eligible is None
        and 0 < tried < pulls.shape[0]
        and pulls[tried] == 0.0
        and pulls[tried - 1] == 1.0
        and pulls[0] == 1.0
    ):
        return tried
    return -1


@lean
def next_untried(counts, eligible):
    """An eligible arm never pulled, or -1. O(K), but O(1) where arms are tried one after the
    other."""
    arm = next_in_line(counts, eligible)
    return arm if arm >= 0 else first_unpulled(counts.pulls, eligible)


@lean
def count_eligible(count, eligible):
    if eligible is None:
        return count
    n = 0
    for k in range(count):
        if allowed(eligible, k):
            n += 1
    return n


@lean
def uniform_arm(count, eligible, rng):
    """An eligible arm uniformly at random; one draw. O(K) with a mask."""
    skip = int(rng.random() * count_eligible(count, eligible))
    if eligible is None:
        return min(skip, count - 1)
    last = 0
    for k in range(count):
        if allowed(eligible, k):
            last = k
            if skip == 0:
                return k
            skip -= 1
    return last


@lean
def fill_proportions(weight, total, out):
    for k in range(out.shape[0]):
        out[k] = weight[k] / total


def one_hot(arm: int, count: int) -> np.ndarray:
    probability = np.zeros(count)
    probability[arm] = 1.0
    return probability


# Kullback-Leibler divergences and the indices they define.


BERNOULLI, GAUSSIAN = 0, 1
DIVERGENCES = ("bernoulli", "gaussian")
ROOT_TOLERANCE = 1e-13  # Newton stops when a step is below this
MOST_STEPS = 60


@lean
def bernoulli_divergence(x, y):
    """I(x, y) = x ln(x/y) + (1-x) ln((1-x)/(1-y)) for x, y in [0, 1], with 0 ln 0 = 0."""
    total = 0.0
    if x > 0.0:
        if y <= 0.0:
            return math.inf
        total += x * math.log(x / y)
    if x < 1.0:
        if y >= 1.0:
            return math.inf
        total += (1.0 - x) * math.log((1.0 - x) / (1.0 - y))
    return max(total, 0.0)


@lean
def bernoulli_divergence_close(x, y):
    """I(x, y) for 0 <= x < y < 1 with a small relative error also where y - x is as small as 1e-12,
    where the plain sum cancels."""
    step = y - x
    total = -(1.0 - x) * math.log1p(-step / (1.0 - x))
    return max(total - x * math.log1p(step / x), 0.0) if x > 0.0 else total


@lean
def bernoulli_upper(x, level):
    """sup{q in [x, 1] : I(x, q) <= level}: Newton's method from above on a convex increasing
    function, so it never undershoots.

    The start is the smaller of two points that are surely above the root: Pinsker's x + sqrt(level
    / 2), and the q at which (1-x) ln(1/(1-q)) alone exceeds level plus the entropy of x. Returns 1
    where the root cannot be told from 1.
    """
    if x >= 1.0:
        return 1.0
    if x < 0.0:
        x = 0.0
    if level <= 0.0:
        return x
    entropy = -(1.0 - x) * math.log(1.0 - x)
    if x > 0.0:
        entropy -= x * math.log(x)
    q = min(x + math.sqrt(0.5 * level), 1.0 - math.exp(-(level + entropy) / (1.0 - x)))
    if q >= 1.0:
        return 1.0
    for _ in range(MOST_STEPS):
        slope = (q - x) / (q * (1.0 - q))
        if slope <= 0.0:
            break
        step = (bernoulli_divergence(x, q) - level) / slope
        q -= step
        if step <= ROOT_TOLERANCE * (1.0 - q):
            break
    return max(q, x)


@lean
def divergence(kind, x, y, sigma):
    """I(x, y) of the Bernoulli (kind 0) or Gaussian (kind 1) family."""
    if kind == 0:
        return bernoulli_divergence(x, y)
    return (x - y) * (x - y) / (2.0 * sigma * sigma)


@lean
def upper_root(kind, x, level, sigma):
    """sup{q : I(x, q) <= level}."""
    if kind == 0:
        return bernoulli_upper(x, level)
    return x + sigma * math.sqrt(2.0 * max(level, 0.0))


@lean
def exploration(n, c):
    """f(n) = ln n + c ln(max(1, ln n))."""
    log_n = math.log(n)
    return log_n + c * math.log(max(1.0, log_n)) if c != 0.0 else log_n


# Confidence radii of linear models.


def horizon_radius(
    noise: float,
    delta: float,
    dimension: int,
    horizon: float,
    lam: float,
    theta_bound: float,
    norm: float = 1.0,
) -> float:
    """noise sqrt(2 ln(1/delta) + d ln(1 + T L^2 / (lam d))) + sqrt(lam) theta_bound, with L = norm
    the largest ||x||.

    By det V <= (lam + T L^2 / d)^d (Abbasi-Yadkori, Pal, Szepesvari 2011, Lemma 10). Yang & Toni
    2020, Eq 5, is the case L^2 = lam = 1.
    """
    growth = dimension * math.log(1 + horizon * norm**2 / (lam * dimension))
    return noise * math.sqrt(2 * math.log(1 / delta) + growth) + math.sqrt(lam) * theta_bound


@lean
def determinant_radius(noise, delta, log_det, lam, theta_bound):
    """noise sqrt(2 ln(1/delta) + ln det(V / lam)) + sqrt(lam) theta_bound (Abbasi-Yadkori, Pal,
    Szepesvari 2011, Theorem 2)."""
    return noise * math.sqrt(2.0 * math.log(1.0 / delta) + log_det) + math.sqrt(lam) * theta_bound


@lean
def static_factor(constant, noise, rounds, arms, delta):
    """The factor of ||y||_{A^-1} for a sequence of arms fixed in advance: constant noise sqrt(ln(6
    n^2 K^2 / (pi^2 delta)))

    (Soare, Lazaric, Munos 2014, Proposition 1, with constant = 2 sqrt(2); A without a ridge
    parameter).
    """
    return (
        constant
        * noise
        * math.sqrt(
            math.log(6.0 * rounds * rounds * arms * arms / (math.pi * math.pi)) - math.log(delta)
        )
    )


# The gamma-exponential mixture M(S, V) of exponential supermartingales, behind every bound that may
# be looked at at any time.


STEPS = 100  # of Newton's method at most
PRECISION = 1e-12  # relative, of a boundary
LARGE_VARIANCE = (
    1e10  # V + rho from which two terms of Temme's expansion (DLMF 8.12.3) have all digits
)


def constant(rho: float) -> float:
    """rho ln rho - rho - ln gamma(rho, rho), the part of ln M that depends on rho only."""
    return float(
        rho * math.log(rho)
        - rho
        - scipy.special.gammaln(rho)
        - math.log(scipy.special.gammainc(rho, rho))
    )


def _rest(a: np.ndarray) -> np.ndarray:
    """ln Gamma(a) + a - a ln a: by Stirling's series for large a, where the three would cancel."""
    b = np.maximum(a, 20.0)
    i = 1.0 / (b * b)
    series = (
        0.5 * np.log(2.0 * np.pi / b)
        + (1.0 / 12.0 - i * (1.0 / 360.0 - i * (1.0 / 1260.0 - i / 1680.0))) / b
    )
    small = np.minimum(a, 20.0)
    return np.where(a >= 20.0, series, scipy.special.gammaln(small) + small - small * np.log(small))


def _excess(S: np.ndarray, a: np.ndarray) -> np.ndarray:
    """S - a ln(1 + S / a): by its series for small S / a, where the two would cancel."""
    u = S / a
    return np.where(
        np.abs(u) < 1e-3, S * u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u / 5))), S - a * np.log1p(u)
    )


def _below(S: np.ndarray, a: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """The regularised incomplete gamma function at (a, a + S), from S itself where a + S has lost
    its digits."""
    near = scipy.special.ndtr(np.copysign(np.sqrt(2.0 * excess), S)) + np.exp(-excess) / (
        3.0 * np.sqrt(2.0 * np.pi * a)
    )
    return np.where(a > LARGE_VARIANCE, near, scipy.special.gammainc(a, a + S))


def log_mixture(S: ArrayLike, V: ArrayLike, rho: float = 1.0) -> np.ndarray:
    """ln M = S + V + rho ln rho - (V + rho) ln(S + V + rho) + ln gamma(V + rho, S + V + rho) - ln
    gamma(rho, rho), elementwise.

    gamma: the lower incomplete one. S > -V - rho, V >= 0, rho > 0. The sum is arranged so that
    large terms do not cancel. O(1).
    """
    S, a = np.asarray(S, dtype=np.float64), np.asarray(V, dtype=np.float64) + rho
    excess = _excess(S, a)
    with np.errstate(divide="ignore"):
        return excess + _rest(a) + np.log(_below(S, a, excess)) + constant(rho)


def boundaries(V: ArrayLike, alpha: float, rho: float = 1.0) -> np.ndarray:
    """S at which ln M = ln(1 / alpha), for every V: by Newton's method on a convex, rising
    function."""
    a = np.asarray(V, dtype=np.float64) + rho
    threshold, fixed, rest = math.log(1.0 / alpha), constant(rho), _rest(a)
    S = np.sqrt(2.0 * a * threshold) + threshold
    for _ in range(STEPS):
        x = a + S
        excess = _excess(S, a)
        base, inner = excess + rest, _below(S, a, excess)
        slope = S / x + np.exp(-base) / (x * inner)
        step = (base + np.log(inner) + fixed - threshold) / slope
        S = S - step
        if (np.abs(step) <= PRECISION * S).all():
            break
    return S


# Rounds at which something is verified, as `checks.checkpoints` encodes them: [-T] for every T-th
# round, or increasing rounds.


@lean
def remaining(checkpoints, min_gap, place, t):
    """How many rounds after round t the next checkpoint comes, at the earliest.

    checkpoints: as `checks.checkpoints` encodes them; place: position of the first listed one >= t;
    min_gap: 0 if unknown. After the last listed checkpoint every round may be one.
    """
    period = -checkpoints[0]
    if min_gap > 0:
        last = 0
        if period > 1:
            last = ((t - 1) // period) * period
        elif period < 0 and place > 0:
            last = checkpoints[place - 1]
        return max(0, last + min_gap - t)
    if period > 0:
        return (period - t % period) % period
    return checkpoints[place] - t if place < checkpoints.shape[0] else 0


@lean
def is_checkpoint(checkpoints, place, t):
    if checkpoints[0] < 0:
        return t % -checkpoints[0] == 0
    return place < checkpoints.shape[0] and checkpoints[place] == t
