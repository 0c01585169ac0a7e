"""Kullback-Leibler divergences and the indices they define."""

import math

from ..compiled.kernels import lean

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
    """I(x, y) for 0 <= x < y < 1 with a small relative error also where y - x is as small as 1e-12, where the plain sum cancels."""
    step = y - x
    total = -(1.0 - x) * math.log1p(-step / (1.0 - x))
    return max(total - x * math.log1p(step / x), 0.0) if x > 0.0 else total


@lean
def bernoulli_upper(x, level):
    """sup{q in [x, 1] : I(x, q) <= level}: Newton's method from above on a convex increasing function, so it never undershoots.

    The start is the smaller of two points that are surely above the root: Pinsker's x + sqrt(level / 2), and the q at which
    (1-x) ln(1/(1-q)) alone exceeds level plus the entropy of x. Returns 1 where the root cannot be told from 1.
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
