"""The program of the lower bound: certificates, a general solver, known cases, near ties."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tightrope as tr
from naive import lipschitz_policies as naive
from tightrope.solvers.programs import confusing_information


def certified(means, reach, bound, kind=0, sigma=1.0):
    """Feasible in the primal and the dual with equal values: the bound is the minimum."""
    gap = means.max() - means
    worse = gap > 1e-12
    information = confusing_information(means, np.full(means.size, means.max()), reach, kind, sigma)
    assert (bound.rates >= 0).all()
    assert (bound.dual >= -1e-12).all()
    assert (information[worse] @ bound.rates >= 1 - 1e-8).all()
    assert (bound.dual @ information[:, worse] <= gap[worse] * (1 + 1e-8)).all()
    assert bound.dual.sum() == pytest.approx(bound.value, rel=1e-8)
    assert bound.rates @ gap == pytest.approx(bound.value, rel=1e-12)


@pytest.mark.filterwarnings(
    "ignore:means violate lipschitz"
)  # the program has a solution for any means
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 24), st.integers(0, 2**31), st.floats(0.1, 10.0))
def test_primal_equals_dual_and_a_general_solver(K, seed, L):
    data = np.random.default_rng(seed)
    points, means = np.sort(data.random(K)), data.uniform(0.02, 0.98, K)
    bound = tr.lipschitz_lower_bound(means, points=points, lipschitz=L)
    reach = L * np.abs(points[:, None] - points)
    certified(means, reach, bound)
    assert bound.value == pytest.approx(naive.program(means, reach, naive.bernoulli)[0], rel=1e-6)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_a_near_tie_is_solved_to_full_precision(gap):
    means, points = np.array([0.3, 0.7 - gap, 0.7, 0.5, 0.2]), np.array([0.0, 0.3, 0.5, 0.8, 1.0])
    bound = tr.lipschitz_lower_bound(means, points=points, lipschitz=2.0)
    certified(means, 2.0 * np.abs(points[:, None] - points), bound)
    alone = 2 * 0.7 * 0.3 / gap  # gap / I(0.7 - gap, 0.7), to first order
    assert alone * 0.9 < bound.value < alone * 1.2 + 100


@pytest.mark.filterwarnings("ignore:means violate lipschitz")
def test_a_large_constant_gives_lai_and_robbins_and_a_small_one_less():
    means, points = np.array([0.2, 0.5, 0.8, 0.6]), np.array([0.0, 0.2, 0.5, 1.0])
    lai_robbins = sum((0.8 - m) / naive.bernoulli(m, 0.8) for m in (0.2, 0.5, 0.6))
    assert tr.lipschitz_lower_bound(means, points=points, lipschitz=1e6).value == pytest.approx(
        lai_robbins, rel=1e-12
    )
    assert tr.lipschitz_lower_bound(means, points=points, lipschitz=1.0).value < 0.95 * lai_robbins


def test_gaussian_rewards_use_their_divergence():
    means, points = np.array([-1.0, 0.5, 2.0]), np.array([0.0, 1.0, 2.0])
    value = sum(2 * 0.7**2 / gap for gap in (3.0, 1.5))
    bound = tr.lipschitz_lower_bound(
        means, points=points, lipschitz=1e3, divergence="gaussian", sigma=0.7
    )
    assert bound.value == pytest.approx(value, rel=1e-12)
    certified(means, 1e3 * np.abs(points[:, None] - points), bound, 1, 0.7)


def test_means_that_no_bandit_of_this_constant_has_warn_with_the_constant_that_holds():
    with pytest.warns(
        UserWarning,
        match=r"arms 2 and 3 differ by 0\.5 .* all pairs is 10\. The bound does not apply",
    ) as caught:
        tr.lipschitz_lower_bound([0.1, 0.3, 0.3, 0.8], points=[0.0, 0.02, 0.5, 0.6], lipschitz=1.0)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="no constant holds"):
        tr.lipschitz_lower_bound([0.1, 0.3], distances=np.zeros((2, 2)), lipschitz=1.0)
    data = np.random.default_rng(1)
    for _ in range(200):  # what is printed is enough, to the last digit
        K = int(data.integers(2, 9))
        points, means = np.cumsum(data.random(K) + 1e-3), data.random(K)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            tr.lipschitz_lower_bound(means, points=points, lipschitz=1e-9)
        least = float(re.search(r"all pairs is (\S+)\. ", str(said[0].message)).group(1))
        exact = max(
            abs(means[i] - means[j]) / abs(points[i] - points[j])
            for i in range(K)
            for j in range(i)
        )
        assert exact * (1 - 1e-12) <= least <= exact * 1.00002
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tr.lipschitz_lower_bound(means, points=points, lipschitz=least)


def test_nothing_to_explore_costs_nothing():
    for means in ([0.5], [0.5, 0.5, 0.5], [0.4, 1.0]):
        bound = tr.lipschitz_lower_bound(means, points=np.arange(len(means)) + 0.5, lipschitz=1.0)
        assert bound.value == bound.rates.sum() == bound.dual.sum() == 0.0


def test_contexts_inform_each_other_through_their_best_pairs():
    contexts, arms = np.linspace(0, 1, 5), np.linspace(0, 1, 9)
    means = 0.85 - 0.6 * np.abs(contexts[:, None] - arms)
    values = {}
    for L_x in (0.6, 1e6):
        problem = tr.problems.ContextualLipschitz(contexts, arms, means, (L_x, 0.6))
        values[L_x] = tr.lipschitz_lower_bound(
            problem.means, distances=problem.distances, lipschitz=1.0, contexts=problem.contexts
        ).value
    alone = [tr.lipschitz_lower_bound(row, points=arms, lipschitz=0.6).value for row in means]
    assert values[1e6] == pytest.approx(sum(alone), rel=1e-9)
    assert 0.85 < values[0.6] / values[1e6] < 0.95
