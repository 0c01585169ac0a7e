"""Features of any size: the regression agrees with 50 digits, or says that it cannot; scaling keeps the model."""

import mpmath
import numpy as np
import pytest

import tightrope as tr
from tightrope.numerics import ridge
from tightrope.numerics.cholesky import OUT_OF_DIGITS, cholesky
from tightrope.numerics.scaling import DIGITS, check_digits, digits_left
from tightrope.verbs import Arms, Context

UPDATES = 5000  # a factorisation is due after 4096
EXTREMES = [1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9]


def features(kind, rng, K):
    """An intercept beside a column of one size, an income, a Unix time; three columns of different sizes."""
    ones = np.ones(K)
    if kind == "income":
        return np.c_[ones, rng.uniform(2e7, 8e7, K)]
    if kind == "time":
        return np.c_[ones, 1.7e9 + rng.uniform(0, 3e7, K)]
    if kind == "mixed":
        return np.c_[rng.normal(0, 1e6, K), rng.normal(0, 1e-3, K), rng.uniform(10, 90, K)]
    return np.c_[ones, kind * rng.normal(size=K)]


def reference(X, lam, arms, rewards):
    """Means and widths of all arms from V and b summed and solved with 50 digits."""
    with mpmath.workdps(50):
        rows = [mpmath.matrix([mpmath.mpf(float(entry)) for entry in row]) for row in X]
        d = X.shape[1]
        V, b = mpmath.mpf(float(lam)) * mpmath.eye(d), mpmath.zeros(d, 1)
        sums = [mpmath.mpf(0)] * len(X)
        for arm, reward in zip(arms, rewards, strict=True):
            sums[arm] += mpmath.mpf(float(reward))
        for k, row in enumerate(rows):
            V += int((arms == k).sum()) * row * row.T
            b += sums[k] * row
        inverse = V**-1
        theta = inverse * b
        means = [float((row.T * theta)[0]) for row in rows]
        return np.array(means), np.array([float(mpmath.sqrt((row.T * inverse * row)[0])) for row in rows])


def fed(model, context, arms, rewards):
    for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
        ridge.learn(model, context, arm, reward)
    ridge.predict(model, context)
    return model


def played(rng, K, how):
    """Which arms: all, or the first alone and then a few others."""
    arms = rng.integers(K, size=UPDATES)
    if how == "one":
        arms[:4500] = 0
    return arms, rng.normal(1.0, 0.5, UPDATES)


@pytest.mark.parametrize("how", ["all", "one"])
@pytest.mark.parametrize("kind", [*EXTREMES, "income", "time", "mixed"])
@pytest.mark.parametrize("form", ["arm", "feature", "context"])
def test_means_and_widths_have_six_digits_at_any_scale(form, kind, how):
    rng = np.random.default_rng(3)
    K, lam = 9, 1.0
    X = features(kind, rng, K)
    arms, rewards = played(rng, K, how)
    means, widths = reference(X, lam, arms, rewards)
    changing = form == "context"
    given = Arms(K, features=None if changing else X, dimension=X.shape[1], horizon=UPDATES)
    model = ridge.new_ridge(given, lam, sampling=True, form=None if changing else form)
    try:
        fed(model, Context(X if changing else None, None, None, None), arms, rewards)
    except ValueError as error:
        assert (form, kind, str(error)) == ("context", "mixed", OUT_OF_DIGITS)  # V itself cannot hold lam beside 1e6 twice
        return
    np.testing.assert_allclose(model.mean, means, rtol=1e-6, atol=1e-6 * np.abs(means).max())
    np.testing.assert_allclose(np.sqrt(model.square), widths, rtol=1e-6)
