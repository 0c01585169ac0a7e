import math

import numpy as np
from hypothesis import given, settings, strategies as st

from tightrope.compiled.kernels import python_of
from tightrope.numerics.counts import bernoulli_divergence, bernoulli_upper
from tightrope.numerics.posterior import beta_draw

divergence, upper = python_of(bernoulli_divergence), bernoulli_upper


@settings(deadline=None, max_examples=300)
@given(st.floats(0, 1), st.floats(1e-9, 50))
def test_index_solves_its_equation(x, level):
    q = upper(x, level)
    assert x <= q <= 1
    if q < 1 - 1e-6:  # nearer to 1 the spacing of floats decides
        assert abs(divergence(x, q) - level) < 1e-12 * max(1.0, level) + 4e-16 * (q - x) / (
            q * (1 - q)
        )
    elif x < 1 - 2e-6:
        assert divergence(x, 1 - 2e-6) <= level


@settings(deadline=None)
@given(st.floats(0, 1), st.floats(0, 1))
def test_divergence_is_a_divergence(x, y):
    value = divergence(x, y)
    assert value >= 2 * (x - y) ** 2 - 1e-12  # Pinsker
    assert value == bernoulli_divergence(x, y)


def test_level_zero_and_the_ends():
    assert upper(0.3, 0.0) == 0.3
    assert upper(1.0, 2.0) == 1.0
    assert math.isclose(upper(0.0, 0.5), 1 - math.exp(-0.5), rel_tol=1e-13)


def test_beta_draws_have_the_moments_of_beta(rng):
    for a, b in [(1.0, 1.0), (2.5, 7.0), (300.0, 40.0), (0.4, 3.0)]:
        n = 20_000
        draws = np.array([beta_draw(a, b, rng) for _ in range(n)])
        mean, variance = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
        assert abs(draws.mean() - mean) < 4 * math.sqrt(variance / n)
        fourth = ((draws - mean) ** 4).mean()
        assert abs(draws.var() - variance) < 4 * math.sqrt((fourth - variance**2) / n)
