"""Rank-one gaps against fresh factorisations, over a million rounds and with near-parallel arms."""

import mpmath
import numpy as np
import pytest
from scipy.linalg import qr

import tightrope as tr
from tightrope.compiled.kernels import jit
from tightrope.policies.identification.models import (
    Coordinates,
    coordinates,
    learn,
    measure_from,
    new_gap_ridge,
    new_pair_ridge,
)


@jit
def learn_many(model, arms, rewards):
    """With a new leader every 1,000 rounds."""
    for t in range(arms.size):
        measure_from(
            model, t // 1000 % model.mean.shape[0] if model.progress[0]["log_det"] != 0.0 else 0
        )
        learn(model, arms[t], rewards[t])


@jit
def learn_many_pairs(model, arms, rewards):
    for t in range(arms.size):
        learn(model, arms[t], rewards[t])


def fresh(features, lam, pulls, sums):
    """A and theta_hat in extended precision as far as NumPy offers it: a QR factorisation of the
    stacked square root of A."""
    d = features.shape[1]
    rows = np.vstack([np.sqrt(lam) * np.eye(d), np.sqrt(pulls)[:, None] * features])
    R = qr(rows, mode="economic")[1]
    A = lam * np.eye(d) + features.T @ (pulls[:, None] * features)
    return R, np.linalg.solve(A, features.T @ sums)


def rotated(angle, d, rng):
    """The arms of Figure 1, in a random basis: a basis and an arm at `angle` from its first
    vector."""
    X = np.vstack([np.eye(d), np.cos(angle) * np.eye(d)[0] + np.sin(angle) * np.eye(d)[1]])
    return np.ascontiguousarray(X @ np.linalg.qr(rng.standard_normal((d, d)))[0])


@pytest.mark.parametrize("angle", [1e-2, 1e-3])
def test_gaps_stay_within_1e_9_of_a_fresh_factorisation_over_a_million_rounds(angle, rng):
    X = rotated(angle, 5, rng)
    model = new_gap_ridge(coordinates(X, 1.0))
    arms = np.concatenate(
        [np.arange(6), rng.choice(6, size=10**6 - 6, p=[0.005, 0.9949, 3e-5, 3e-5, 3e-5, 1e-5])]
    )
    learn_many(model, arms, (X[arms] @ (2.0 * X[0]) + rng.standard_normal(arms.size)))
    assert model.progress[0]["rounds"] == 10**6
    R, theta = fresh(X, 1.0, model.pulls, model.sums)
    i = model.progress[0]["leader"]
    exact = (np.linalg.solve(R.T, (X[i] - X).T) ** 2).sum(axis=0)
    assert model.gap_square == pytest.approx(exact, rel=1e-9, abs=0)
    assert model.square == pytest.approx((np.linalg.solve(R.T, X.T) ** 2).sum(axis=0), rel=1e-9)
    assert model.progress[0]["log_det"] == pytest.approx(
        2 * np.log(np.abs(np.diag(R))).sum(), rel=1e-12
    )
    assert model.mean == pytest.approx(X @ theta, rel=1e-9, abs=1e-9)


def test_pairs_stay_within_1e_9_of_a_fresh_factorisation(rng):
    X = rotated(1e-2, 4, rng)
    model = new_pair_ridge(coordinates(X, 0.0))
    arms = np.concatenate([np.arange(5), rng.integers(0, 5, size=300_000)])
    learn_many_pairs(model, arms, rng.standard_normal(arms.size))
    R, theta = fresh(X, 0.0, model.pulls, model.sums)
    for i in range(5):
        exact = (np.linalg.solve(R.T, (X[i] - X).T) ** 2).sum(axis=0)
        assert model.pair_square[i] == pytest.approx(exact, rel=1e-9, abs=0)
    assert model.mean == pytest.approx(X @ theta, rel=1e-9, abs=1e-9)


def test_coordinates_of_few_arms_keep_all_inner_products(rng):
    X = rng.standard_normal((3, 5))
    Z = coordinates(X, 0.0).features
    assert Z.shape == (3, 3)
    assert pytest.approx(X @ X.T, rel=1e-12, abs=1e-12) == Z @ Z.T
    square = rng.standard_normal((6, 4))
    assert coordinates(square, 0.0).features is square


def fifty_digits(X, lam, pulls, sums):
    """theta_hat, A^-1 and log det(A) - d log(lam) (lam = 0: log det(A) alone) by mpmath."""
    d = X.shape[1]
    with mpmath.workdps(50):
        A, b = lam * mpmath.eye(d), mpmath.zeros(d, 1)
        for x, n, total in zip(X.tolist(), pulls.tolist(), sums.tolist(), strict=True):
            row = mpmath.matrix(x)
            A += n * row * row.T
            b += total * row
        return A**-1 * b, A**-1, mpmath.log(mpmath.det(A)) - (d * mpmath.log(lam) if lam else 0)


def gaps_by(X, theta, inverse, i):
    """Estimated gaps and squared widths of x_i - x_k."""
    with mpmath.workdps(50):
        rows = [mpmath.matrix(x) for x in X.tolist()]
        differences = [rows[i] - row for row in rows]
        return (
            np.array([float((y.T * theta)[0]) for y in differences]),
            np.array([float((y.T * inverse * y)[0]) for y in differences]),
        )


def raw_features(kind):
    """Six arms: an intercept, a column of the given scale or a Unix time a day, an hour or a minute
    wide, and a column of size one."""
    a, b = np.random.default_rng(8).uniform(-1, 1, size=(2, 6))
    column = (
        1.7e9 + {"day": 86_400, "hour": 3600, "minute": 60}[kind] * a
        if isinstance(kind, str)
        else kind * (5 + 3 * a)
    )
    return np.column_stack([np.ones(6), column, b])


SCALES = [1e-6, 1e-3, 1.0, 1e3, 1e6, 5e7, 1e9, "day", "hour", "minute"]


@pytest.mark.parametrize("lam", [0.0, 1.0])
@pytest.mark.parametrize("kind", SCALES)
def test_means_and_widths_keep_eight_digits_at_every_scale_of_the_features(kind, lam, rng):
    precision = (
        1e-6 if kind == "minute" else 1e-8
    )  # the features themselves are rounded to eight digits of their minute
    X = raw_features(kind)
    arms = np.concatenate(
        [np.arange(6), rng.choice(6, size=20_000, p=[0.9, 0.05, 0.02, 0.01, 0.01, 0.01])]
    )
    rewards = np.linspace(0.2, 0.8, 6)[arms] + 0.3 * rng.standard_normal(arms.size)
    model, pairs = new_gap_ridge(coordinates(X, lam)), new_pair_ridge(coordinates(X, lam))
    learn_many(model, arms, rewards)
    learn_many_pairs(pairs, arms, rewards)
    theta, inverse, log_det = fifty_digits(X, lam, model.pulls, model.sums)
    i = model.progress[0]["leader"]
    for k in range(6):
        gaps, squares = gaps_by(X, theta, inverse, k)
        assert pairs.pair_square[k] == pytest.approx(squares, rel=precision, abs=0)
        assert pairs.mean[k] - pairs.mean == pytest.approx(gaps, rel=precision, abs=0.1 * precision)
        if k == i:
            assert model.gap_square == pytest.approx(squares, rel=precision, abs=0)
            assert model.mean[k] - model.mean == pytest.approx(
                gaps, rel=precision, abs=0.1 * precision
            )
    if lam:
        assert model.progress[0]["log_det"] == pytest.approx(float(log_det), rel=precision)


@pytest.mark.parametrize("scale", [1e-6, 1e9])
def test_fewer_arms_than_features_keep_eight_digits_with_a_ridge_parameter(scale):
    X = np.random.default_rng(3).standard_normal((3, 5)) * [1.0, scale, 1.0, 2.0, 1.0]
    model = new_gap_ridge(coordinates(X, 0.5))
    arms = np.random.default_rng(4).integers(0, 3, size=3000)
    learn_many(model, arms, np.sin(arms))
    theta, inverse, log_det = fifty_digits(X, 0.5, model.pulls, model.sums)
    gaps, squares = gaps_by(X, theta, inverse, int(model.progress[0]["leader"]))
    assert model.gap_square == pytest.approx(squares, rel=1e-8, abs=0)
    assert model.mean[model.progress[0]["leader"]] - model.mean == pytest.approx(
        gaps, rel=1e-8, abs=1e-9
    )
    assert model.progress[0]["log_det"] == pytest.approx(float(log_det), rel=1e-8)


def test_features_in_which_rounding_would_decide_are_refused_and_exact_repetitions_are_not(rng):
    X = rng.standard_normal((6, 2))
    repeated = np.column_stack([X, X @ [0.3, -0.7]])
    assert coordinates(repeated, 0.0).features.shape == (6, 2)
    with pytest.raises(
        ValueError, match=r"almost combinations of each other \(to .*e-1[12] .*tightrope.scale"
    ):
        coordinates(repeated + [0, 0, 1e-11] * rng.standard_normal((6, 3)), 0.0)
    with pytest.raises(ValueError, match="almost combinations"):
        tr.Session(tr.LinGapE(), arms=np.column_stack([np.ones(4), 1.7e9 + 1e-2 * np.arange(4)]))


@pytest.mark.parametrize("new", [new_gap_ridge, new_pair_ridge])
def test_a_factor_that_kept_too_few_digits_makes_every_estimate_nan(new):
    X = np.column_stack([np.ones(4), 1.7e9 + 20.0 * np.arange(4)])
    model = new(
        Coordinates(X, np.zeros(2), 0.0)
    )  # past `coordinates`, which would have changed them
    learn_many_pairs(model, np.arange(4), np.arange(4.0))
    assert np.isnan(model.mean).all()
    squares = (
        model.gap_square
        if hasattr(model, "gap_square")
        else model.pair_square[~np.eye(4, dtype=bool)]
    )
    assert np.isnan(squares).all()
