"""Pooled indices solve their defining equation; explanations agree with it; grids and metrics."""

import math
import warnings

import numpy as np
import pytest

import tightrope as tr
from naive import lipschitz_policies as naive
from tightrope.policies.lipschitz.pooled import Pool, index, learn, new_pool


def evidence(pool, reach, arm, q, divergence):
    y = q - reach[arm]
    below = (pool.mean < y) & (pool.pulls > 0)
    return float((pool.pulls[below] * divergence(pool.mean[below], y[below])).sum())


@pytest.mark.parametrize("kind", [0, 1])
def test_indices_solve_their_equation_to_1e_9(kind):
    """Cold and warm starts, thousands of pulls, means that are not Lipschitz: S(b) = f, or b is an
    end point for a reason."""
    data = np.random.default_rng(kind)
    divergence = naive.gaussian(0.4) if kind else naive.bernoulli
    inner = 0
    for _ in range(60):
        K = int(data.integers(1, 12))
        points, L = np.sort(data.random(K)), float(data.uniform(0.2, 5))
        reach = L * np.abs(points[:, None] - points)
        pool: Pool = new_pool(np.abs(points[:, None] - points), L)
        for arm in range(K):
            for _ in range(int(data.integers(0, 4))):
                learn(pool, kind, arm, float(data.normal(0.5, 0.4) if kind else data.random()))
            if data.random() < 0.5 and pool.pulls[arm]:
                many = float(10 ** data.uniform(1, 5))
                pool.pulls[arm] *= many
                pool.sums[arm] *= many
                pool.entropy[arm] *= many
        for f in (0.7, 3.0, 11.0, 40.0, 2.0):
            for arm in range(K):
                b = index(pool, kind, 0.4, arm, f)
                if b == (math.inf if kind else 1.0):
                    assert kind == 0 or pool.pulls.sum() == 0
                    assert kind == 1 or evidence(pool, reach, arm, 1 - 2e-16, divergence) <= f * (
                        1 + 1e-9
                    )
                elif b == pool.mean[arm] and pool.pulls[arm]:
                    assert evidence(pool, reach, arm, b, divergence) >= f - 1e-9
                else:
                    inner += 1
                    steep = (
                        0 if kind else 2e-16 * pool.pulls.max() / (1 - b)
                    )  # what rounding of 1 - b alone can do
                    assert evidence(pool, reach, arm, b, divergence) == pytest.approx(
                        f, abs=1e-9 + steep
                    )
    assert inner > 1000


def test_order_is_by_pulls_then_number():
    data, pool = (
        np.random.default_rng(4),
        new_pool(np.abs(np.arange(7.0)[:, None] - np.arange(7.0)), 1.0),
    )
    for _ in range(300):
        learn(pool, 0, int(data.integers(7) * data.integers(7) // 6), 0.5)
        assert pool.order.tolist() == sorted(range(7), key=lambda k: (pool.pulls[k], k))
        assert pool.order[pool.place].tolist() == list(range(7))


def test_a_uniform_grid_has_as_many_levels_as_arms():
    assert tr.Session(tr.CKLUCB(lipschitz=0.7), points=np.linspace(0, 1, 46)).state.reach.size == 46


@pytest.mark.parametrize(
    "policy", [tr.CKLUCB(lipschitz=0.8), tr.OSLB(lipschitz=0.8), tr.TrackCKLUCB(lipschitz=0.8)]
)
def test_explanation_holds_leader_divergence_rates_and_bound(policy):
    points, data = np.array([0.0, 0.2, 0.5, 0.6, 1.0]), np.random.default_rng(6)
    session = tr.Session(policy, points=points)
    for _ in range(200):
        arm = session.select()
        session.update(arm, float(data.random() < 0.7 - 0.6 * abs(points[arm] - 0.5)))
    report, pool = session.explain(), getattr(session.state, "pool", session.state)
    reach = 0.8 * np.abs(points[:, None] - points)
    leader = int(np.argmax(report["mean"]))
    assert report["leader"] == leader
    expected = [
        evidence(pool, reach, k, report["index"][leader], naive.bernoulli) for k in range(5)
    ]
    np.testing.assert_allclose(report["divergence"], expected, atol=1e-9)
    assert report["divergence"][leader] == pytest.approx(math.log(201), abs=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # means of few rewards break the constant
        bound = tr.lipschitz_lower_bound(report["mean"], points=points, lipschitz=0.8)
    assert report["lower_bound"] == pytest.approx(bound.value, rel=1e-9)
    assert (report["lower"] <= report["mean"]).all()
    assert (report["mean"] <= report["upper"]).all()
    mirrored = tr.Session(policy, points=points)
    for k in range(5):
        for _ in range(int(pool.pulls[k])):
            mirrored.update(k, 1.0 - pool.sums[k] / pool.pulls[k])
    np.testing.assert_allclose(report["lower"], 1 - mirrored.explain()["upper"], atol=1e-9)
    assert report["probability"][session.select()] == 1.0


def test_discretize_follows_its_formula():
    for horizon, exponent in ((10_000, 1.0), (100_000, 1.0), (100_000, 2.0), (2, 1.0)):
        K = math.ceil((math.log(horizon) / math.sqrt(horizon)) ** (-1 / exponent)) + 1
        np.testing.assert_array_equal(tr.discretize(horizon, exponent), np.linspace(0, 1, K))
    with pytest.raises(ValueError, match="exponent"):
        tr.discretize(100, 0)
