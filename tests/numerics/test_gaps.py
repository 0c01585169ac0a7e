"""Rank-one gaps against fresh factorisations, over a million rounds and with near-parallel arms."""

import numpy as np
import pytest
from scipy.linalg import qr

import tightrope as tr
from tightrope._jit import jit
from tightrope.policies.identification._coordinates import coordinates
from tightrope.policies.identification._gap_ridge import measure_from, new_gap_ridge
from tightrope.policies.identification._pair_ridge import new_pair_ridge
from tightrope.policies.identification._ridge import learn


@jit
def learn_many(model, arms, rewards):
    """With a new leader every 1,000 rounds."""
    for t in range(arms.size):
        measure_from(model, t // 1000 % model.mean.shape[0] if model.progress[0]["log_det"] != 0.0 else 0)
        learn(model, arms[t], rewards[t])


@jit
def learn_many_pairs(model, arms, rewards):
    for t in range(arms.size):
        learn(model, arms[t], rewards[t])


def fresh(features, lam, pulls, sums):
    """A and theta_hat in extended precision as far as NumPy offers it: a QR factorisation of the stacked square root of A."""
    d = features.shape[1]
    rows = np.vstack([np.sqrt(lam) * np.eye(d), np.sqrt(pulls)[:, None] * features])
    R = qr(rows, mode="economic")[1]
    A = lam * np.eye(d) + features.T @ (pulls[:, None] * features)
    return R, np.linalg.solve(A, features.T @ sums)


def rotated(angle, d, rng):
    """The arms of Figure 1, in a random basis: a basis and an arm at `angle` from its first vector."""
    X = np.vstack([np.eye(d), np.cos(angle) * np.eye(d)[0] + np.sin(angle) * np.eye(d)[1]])
    return np.ascontiguousarray(X @ np.linalg.qr(rng.standard_normal((d, d)))[0])


@pytest.mark.parametrize("angle", [1e-2, 1e-3])
def test_gaps_stay_within_1e_9_of_a_fresh_factorisation_over_a_million_rounds(angle):
    rng = np.random.default_rng(3)
    X = rotated(angle, 5, rng)
    model = new_gap_ridge(coordinates(X, 1.0))
    arms = np.concatenate([np.arange(6), rng.choice(6, size=10**6 - 6, p=[0.005, 0.9949, 3e-5, 3e-5, 3e-5, 1e-5])])
    rewards = X[arms] @ (2.0 * X[0]) + rng.standard_normal(arms.size)
    learn_many(model, arms, rewards)
    assert model.progress[0]["rounds"] == 10**6
    R, theta = fresh(X, 1.0, model.pulls, model.sums)
    i = model.progress[0]["leader"]
    exact = (np.linalg.solve(R.T, (X[i] - X).T) ** 2).sum(axis=0)
    assert model.gap_square == pytest.approx(exact, rel=1e-9, abs=0)
    assert model.square == pytest.approx((np.linalg.solve(R.T, X.T) ** 2).sum(axis=0), rel=1e-9)
    assert model.progress[0]["log_det"] == pytest.approx(2 * np.log(np.abs(np.diag(R))).sum(), rel=1e-12)
    assert model.mean == pytest.approx(X @ theta, rel=1e-9, abs=1e-9)


def test_pairs_stay_within_1e_9_of_a_fresh_factorisation():
    rng = np.random.default_rng(4)
    X = rotated(1e-2, 4, rng)
    model = new_pair_ridge(coordinates(X, 0.0))
    arms = np.concatenate([np.arange(5), rng.integers(0, 5, size=300_000)])
    rewards = rng.standard_normal(arms.size)
    learn_many_pairs(model, arms, rewards)
    R, theta = fresh(X, 0.0, model.pulls, model.sums)
    for i in range(5):
        exact = (np.linalg.solve(R.T, (X[i] - X).T) ** 2).sum(axis=0)
        assert model.pair_square[i] == pytest.approx(exact, rel=1e-9, abs=0)
    assert model.mean == pytest.approx(X @ theta, rel=1e-9, abs=1e-9)


def test_lingape_itself_drifts_by_less_than_1e_9():
    """A full run near Table 1's size: what it decides by, against one fresh solve at its end."""
    X = np.vstack([np.eye(5), [np.cos(0.01), np.sin(0.01), 0, 0, 0]])
    session = tr.Session(tr.LinGapE(theta_bound=2), arms=X)
    rng = np.random.default_rng(0)
    for arm in np.concatenate([np.arange(6), rng.choice(6, size=20_000, p=[0.1, 0.8, 0.03, 0.03, 0.03, 0.01])]):
        session.update(int(arm), float(X[arm, 0] * 2 + rng.standard_normal()))
    model = session.state.model
    A = np.eye(5) + X.T @ (model.pulls[:, None] * X)
    i = model.progress[0]["leader"]
    exact = np.einsum("ki,ki->k", X[i] - X, np.linalg.solve(A, (X[i] - X).T).T)
    assert model.gap_square == pytest.approx(exact, rel=1e-9, abs=0)


def test_coordinates_of_few_arms_keep_all_inner_products():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((3, 5))
    Z = coordinates(X, 0.0).features
    assert Z.shape == (3, 3)
    assert pytest.approx(X @ X.T, rel=1e-12, abs=1e-12) == Z @ Z.T
    square = rng.standard_normal((6, 4))
    assert coordinates(square, 0.0).features is square
