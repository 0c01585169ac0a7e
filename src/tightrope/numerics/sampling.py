"""Draws for posterior sampling, from uniform and normal variates alone so that they cost little in a compiled loop, and random arms."""

import math

import numpy as np

from ..compiled.kernels import lean


@lean
def gamma_draw(shape, rng):
    """Gamma(shape, 1), shape >= 1: Marsaglia, Tsang 2000; one normal and one uniform, accepted with probability > 0.95."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = rng.standard_normal()
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = rng.random()
        squared = x * x
        if u < 1.0 - 0.0331 * squared * squared:
            return d * v
        if math.log(u) < 0.5 * squared + d * (1.0 - v + math.log(v)):
            return d * v


@lean
def beta_draw(a, b, rng):
    """Beta(a, b) for a, b > 0; shapes below 1 by NumPy's own sampler, which stays exact where a power of a uniform underflows."""
    if a < 1.0 or b < 1.0:
        return rng.beta(a, b)
    x = gamma_draw(a, rng)
    return x / (x + gamma_draw(b, rng))


@lean
def log_gamma_draw(shape, rng):
    """Logarithm of a Gamma(shape, 1) draw, shape > 0; below 1 as Gamma(shape + 1) U^(1 / shape), which alone would underflow."""
    if shape >= 1.0:
        return math.log(gamma_draw(shape, rng))
    return math.log(gamma_draw(shape + 1.0, rng)) + math.log(1.0 - rng.random()) / shape


@lean
def beta_logit_draw(a, b, rng):
    """ln(x / (1 - x)) of a Beta(a, b) draw x, for a, b > 0 so small that x itself would round to 0 or 1."""
    x = log_gamma_draw(a, rng)
    return x - log_gamma_draw(b, rng)


@lean
def student_draw(freedom, rng):
    """Student's distribution with so many degrees of freedom, > 0: a normal over the root of a chi-square by its freedom."""
    x, half = rng.standard_normal(), 0.5 * freedom
    y = gamma_draw(half, rng) if half >= 1.0 else math.exp(log_gamma_draw(half, rng))
    return x / math.sqrt(y / half)


@lean
def categorical(weights, total, rng):
    """An index with probability weights / total (weights >= 0, total their sum); one uniform. O(K)."""
    left = rng.random() * total
    last = 0
    for k in range(weights.shape[0]):
        if weights[k] > 0.0:
            last = k
            left -= weights[k]
            if left < 0.0:
                return k
    return last


def unit_rows(rng: np.random.Generator, rows: int, dimension: int) -> np.ndarray:
    """(rows, dimension) vectors spread evenly over the unit sphere."""
    drawn = rng.standard_normal((rows, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
