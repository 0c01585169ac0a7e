"""The three forms of ridge regression: the same numbers, little drift."""

import numpy as np
import pytest

from standard import unit_rows
from tightrope.compiled.kernels import jit
from tightrope.core.verbs import Arms, Context
from tightrope.numerics import ridge

NO_CONTEXT = Context(None, None, None, None)


@jit
def feed(model, context, arms, rewards):
    for t in range(arms.shape[0]):
        ridge.learn(model, context, arms[t], rewards[t], np.inf)


def fresh(X, lam, arms, rewards):
    """theta_hat, V^-1 by one solve over all data."""
    counts, sums = np.bincount(arms, minlength=len(X)), np.bincount(arms, rewards, minlength=len(X))
    V = lam * np.eye(X.shape[1]) + (X.T * counts) @ X
    return (
        np.linalg.solve(V, X.T @ sums),
        np.linalg.inv(V),
        np.linalg.slogdet(V)[1] - X.shape[1] * np.log(lam),
    )


@pytest.mark.parametrize(("K", "d"), [(9, 4), (4, 9)])
def test_arm_feature_and_context_forms_give_the_same_numbers(K, d, rng):
    X, lam = unit_rows(rng, K, d), 0.3
    arms, rewards = rng.integers(K, size=200), rng.normal(size=200)
    theta, inverse, log_det = fresh(X, lam, arms, rewards)
    fixed, changing = Arms(K, features=X, dimension=d), Arms(K, dimension=d)
    models = [
        (ridge.new_ridge(fixed, lam, form="arm"), NO_CONTEXT),
        (ridge.new_ridge(fixed, lam, form="feature"), NO_CONTEXT),
        (ridge.new_ridge(changing, lam), Context(X, None, None, None)),
    ]
    assert [type(model).__name__ for model, _ in models] == [
        "ArmRidge",
        "FeatureRidge",
        "ContextRidge",
    ]
    for model, context in models:
        feed(model, context, arms, rewards)
        ridge.predict(model, context)
        np.testing.assert_allclose(model.mean, X @ theta, atol=1e-12)
        np.testing.assert_allclose(
            model.square, np.einsum("ki,ij,kj->k", X, inverse, X), atol=1e-12
        )
        np.testing.assert_allclose(model.log_det[0], log_det, atol=1e-10)
        root = ridge.deviations(model)
        np.testing.assert_allclose(root @ root.T, X @ inverse @ X.T, atol=1e-12)


def test_the_cheaper_form_is_chosen():
    def chosen(K, d, sampling):
        return type(
            ridge.new_ridge(Arms(K, features=np.eye(K, d), dimension=d), 1.0, sampling=sampling)
        ).__name__

    assert [chosen(K, 4, False) for K in (3, 4, 7, 8)] == [
        "ArmRidge",
        "ArmRidge",
        "ArmRidge",
        "FeatureRidge",
    ]
    assert [chosen(K, 4, True) for K in (3, 4, 5)] == ["ArmRidge", "FeatureRidge", "FeatureRidge"]


@pytest.mark.parametrize(
    ("form", "lam", "bound"), [("arm", 1.0, 1e-9), ("feature", 1.0, 1e-9), ("feature", 1e-6, 1e-5)]
)
def test_drift_of_the_rank_one_path_stays_small(form, lam, bound, rng):
    """20,000 updates against one solve over all data; the bounds are ten times what an unrefreshed
    path was seen to drift."""
    X = unit_rows(rng, 12, 6)
    arms, rewards = rng.integers(12, size=20_000), rng.normal(size=20_000)
    model = ridge.new_ridge(
        Arms(12, features=X, dimension=6), lam, sampling=form == "feature", form=form
    )
    feed(model, NO_CONTEXT, arms, rewards)
    theta, inverse, _ = fresh(X, lam, arms, rewards)
    square = np.einsum("ki,ij,kj->k", X, inverse, X)
    ridge.predict(model, NO_CONTEXT)
    assert 0 < model.updates[0] < 20_000  # refreshed on the way, and not just now
    assert np.abs(model.mean - X @ theta).max() < bound
    assert np.abs(np.sqrt(model.square) - np.sqrt(square)).max() < bound
    before = model.mean.copy(), model.square.copy()
    ridge.refresh(model)
    assert np.abs(model.mean - X @ theta).max() < 1e-12
    assert np.abs(model.square - square).max() < 1e-13
    assert np.abs(model.mean - before[0]).max() < bound
    assert np.abs(model.square - before[1]).max() < bound
