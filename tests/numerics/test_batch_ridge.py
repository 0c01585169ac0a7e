"""Ridge over many arms: fresh factorisation and rank-k updates agree; equal rows are equal to the
bit; exact inclusion."""

import numpy as np
import pytest

from tightrope.numerics import batch_ridge
from tightrope.numerics.batch_ridge import (
    LANES,
    learn_batch,
    new_batch_ridge,
    predict_settled,
    settle,
    solve,
)
from tightrope.policies.semibandits.sets import top_k_probability


@pytest.mark.parametrize("blocks", [1, 3])
def test_rank_k_updates_equal_a_fresh_factorisation(blocks, rng):
    N, d, k, lam = 200, 9, 7, 0.3
    X = rng.normal(size=(N, d))
    model = new_batch_ridge(blocks, d, lam)
    history = []
    for _ in range(60):
        arms = rng.choice(N * blocks, k * blocks, replace=False)
        rewards = rng.normal(size=arms.size)
        learn_batch(model, X, arms, rewards)
        history += zip(arms.tolist(), rewards, strict=True)
    means, widths = predict_settled(settle(model, X), X)
    theta, _ = solve(model)
    for block in range(blocks):
        rows = np.array([arm // blocks for arm, _ in history if arm % blocks == block])
        rewards = np.array([r for arm, r in history if arm % blocks == block])
        V = lam * np.eye(d) + X[rows].T @ X[rows]
        fresh = np.linalg.solve(V, X[rows].T @ rewards)
        np.testing.assert_allclose(theta[block], fresh, rtol=1e-9)
        np.testing.assert_allclose(means.reshape(N, blocks)[:, block], X @ fresh, atol=1e-11)
        width = np.sqrt(np.einsum("nd,nd->n", X, np.linalg.solve(V, X.T).T))
        np.testing.assert_allclose(widths.reshape(N, blocks)[:, block], width, rtol=1e-11)


def test_equal_rows_get_equal_numbers_wherever_they_stand(rng):
    d = 7
    model = new_batch_ridge(1, d, 1.0)
    learn_batch(model, rng.normal(size=(50, d)), np.arange(50), rng.normal(size=50))
    X = np.tile(rng.normal(size=d), (3 * LANES + 5, 1))
    for values in predict_settled(settle(model, X), X):
        assert np.unique(values).size == 1


def test_threads_change_no_bit(monkeypatch, rng):
    X = rng.normal(size=(501, 6))
    model = new_batch_ridge(2, 6, 1.0)
    learn_batch(model, X, np.arange(80), rng.normal(size=80))
    alone = predict_settled(settle(model, X), X)
    monkeypatch.setattr(batch_ridge, "THREAD_WORK", 1.0)
    monkeypatch.setattr(batch_ridge.os, "cpu_count", lambda: 7)
    for first, second in zip(alone, predict_settled(settle(model, X), X), strict=True):
        assert np.array_equal(first, second)


@pytest.mark.parametrize("d", range(1, 10))
def test_every_dimension_counts_whatever_is_left_of_its_fours(d):
    rng = np.random.default_rng(d)
    X, model = rng.standard_normal((LANES + 5, d)), new_batch_ridge(2, d, 0.5)
    learn_batch(model, X, rng.choice(2 * X.shape[0], 40, replace=False), rng.standard_normal(40))
    means, widths = predict_settled(settle(model, X), X)
    for block in range(2):
        inverse = np.linalg.inv(model.design[block])
        assert means[block::2] == pytest.approx(X @ inverse @ model.response[block], abs=1e-12)
        assert widths[block::2] == pytest.approx(
            np.sqrt(np.einsum("ni,ij,nj->n", X, inverse, X)), rel=1e-12
        )


def test_no_rows_shorter_than_the_lanes_are_lost():
    X = np.arange(1.0, 4.0)[:, None]
    means, widths = predict_settled(settle(new_batch_ridge(1, 1, 4.0), X), X)
    assert means.tolist() == [0.0, 0.0, 0.0]
    assert widths.tolist() == [0.5, 1.0, 1.5]


def test_exchangeable_scores_share_the_places():
    found = top_k_probability(np.zeros(4), np.ones(4), 2, "normal")
    np.testing.assert_allclose(found, 0.5, atol=1e-9)


@pytest.mark.parametrize("law", ["normal", "uniform"])
def test_inclusion_against_monte_carlo(law, rng):
    n, k, draws = 9, 3, 200_000
    centre, spread = (
        rng.normal(size=n),
        np.exp(rng.normal(-1, 1.5, size=n)),
    )  # scales from 0.02 to 7
    noise = rng.standard_normal((draws, n)) if law == "normal" else rng.random((draws, n))
    top = np.argpartition(-(centre + spread * noise), k, axis=1)[:, :k]
    seen = np.bincount(top.ravel(), minlength=n) / draws
    exact = top_k_probability(centre, spread, k, law)
    assert exact.sum() == pytest.approx(k, abs=1e-7)
    assert (np.abs(seen - exact) <= 4 * np.sqrt(exact * (1 - exact) / draws) + 1e-6).all()


def test_two_normals_have_a_closed_form():
    from scipy.special import ndtr

    exact = top_k_probability(np.array([0.0, 1.0]), np.array([1.0, 1e-3]), 1, "normal")
    np.testing.assert_allclose(
        exact, [ndtr(-1 / np.hypot(1, 1e-3)), ndtr(1 / np.hypot(1, 1e-3))], atol=1e-9
    )


@pytest.mark.parametrize(("size", "noise"), [(0.01, 1.0), (1.0, 0.3), (30.0, 0.1), (1.0, np.nan)])
def test_the_scale_of_widths_is_the_larger_of_noise_and_what_the_penalty_hides(size, noise, rng):
    """By eigenvalues, whether or not the triangle had to be inverted."""
    X, model = rng.normal(size=(40, 5)), new_batch_ridge(2, 5, 0.7)
    rewards = size * (X[np.arange(30) // 2] @ rng.normal(size=5)) + 0.05 * rng.normal(size=30)
    learn_batch(model, X, np.arange(30), rewards)
    theta, _ = solve(model)
    known = (1.0 - 0.7 / np.linalg.eigvalsh(model.design)).sum()
    hidden = 0.7 * (theta**2).sum() / known
    residual = (rewards**2).sum() - (theta * model.response).sum()
    variance = (2.0 * (rewards**2).mean() + residual) / 32.0 if np.isnan(noise) else noise**2
    assert batch_ridge.batch_scale(model, batch_ridge.settle(model, X), noise) == pytest.approx(
        np.sqrt(max(variance, hidden)), rel=1e-9
    )
    assert batch_ridge.least_known(model) <= known
