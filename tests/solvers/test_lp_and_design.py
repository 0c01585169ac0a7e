"""Certificates: LP primal = dual and equal to scipy's optimum; designs meet their lower bounds."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog, minimize

from tightrope.solvers.programs import (
    OPTIMAL,
    OUTSIDE_SPAN,
    g_design,
    minimal_combination,
    optimal_design,
    pair_directions,
)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 6), st.booleans())
def test_smallest_combination_has_equal_primal_and_dual(seed, K, d, grid):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(K, d)).astype(float) if grid else rng.standard_normal((K, d))
    y = X[0] - X[1]
    found = minimal_combination(X, y)
    assert found.status == OPTIMAL
    assert X.T @ found.weights == pytest.approx(y, abs=1e-9)
    assert np.abs(X @ found.dual).max() <= 1 + 1e-8
    assert found.value == pytest.approx(found.dual_value, rel=1e-9, abs=1e-9)
    solved = linprog(
        np.ones(2 * K), A_eq=np.hstack([X.T, -X.T]), b_eq=y, bounds=(0, None), method="highs"
    )
    assert found.value == pytest.approx(solved.fun, rel=1e-8, abs=1e-9)


def test_a_vector_outside_the_span_is_reported():
    assert minimal_combination([[1.0, 0.0], [2.0, 0.0]], [0.0, 1.0]).status == OUTSIDE_SPAN


def test_the_ratio_may_use_neither_of_the_two_arms():
    """Near-parallel long arms are told apart best by a third along their difference."""
    found = minimal_combination([[1.0, 0.0], [1.0, 0.01], [0.0, 1.0]], [0.0, 0.01])
    assert found.weights == pytest.approx([0, 0, 0.01], abs=1e-12)


def test_g_design_has_the_value_of_kiefer_and_wolfowitz():
    found = g_design(np.random.default_rng(1).standard_normal((15, 4)))
    assert found.converged
    assert found.bound <= 4 * (1 + 1e-12) <= found.value * (1 + 1e-9)
    assert found.value == pytest.approx(4, rel=2e-3)


def test_designs_lie_between_their_certificate_and_a_general_optimiser(rng):
    X = rng.standard_normal((6, 3))
    Y = pair_directions(X)
    found = optimal_design(X, Y)
    assert found.converged
    assert found.weights.sum() == pytest.approx(1)

    def value(logits):
        p = np.exp(logits - logits.max())
        p /= p.sum()
        return np.einsum("mi,mi->m", Y, np.linalg.solve((X.T @ (p[:, None] * X)), Y.T).T).max()

    assert found.value == pytest.approx(value(np.log(found.weights)), rel=1e-9)
    other = minimize(
        value,
        rng.standard_normal(6),
        method="Nelder-Mead",
        options={"maxiter": 4000, "maxfev": 4000},
    )
    assert found.bound <= other.fun * (1 + 1e-12)


def test_one_direction_gives_the_value_of_the_linear_program():
    """Elfving: min_p y'A(p)^-1 y = |w|_1^2."""
    X = np.random.default_rng(3).standard_normal((8, 3))
    y = X[0] - X[5]
    found = optimal_design(X, [y])
    assert found.bound <= minimal_combination(X, y).value ** 2 <= found.value * (1 + 1e-9)


def test_bad_designs_are_refused():
    with pytest.raises(ValueError, match="rank"):
        g_design([[1.0, 0.0], [2.0, 0.0]])
    with pytest.raises(ValueError, match="directions"):
        optimal_design(np.eye(2), np.zeros((1, 2)))
