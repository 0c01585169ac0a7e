"""Features of any size: the regression agrees with 50 digits, or says that it cannot; scaling keeps
the model."""

import mpmath
import numpy as np
import pytest

import tightrope as tr
from tiers import thorough, tiered
from tightrope.core.verbs import Arms, Context
from tightrope.numerics import ridge
from tightrope.numerics.batch_ridge import learn_batch, new_batch_ridge, predict_settled, settle
from tightrope.numerics.linalg import DIGITS, check_digits, cholesky, digits_left

UPDATES = 5000  # a factorisation is due after 4096
SIZES = [1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9]


NO_CONTEXT = Context(None, None, None, None)


def features(kind, rng, K):
    """An intercept beside a column of one size, an income, a Unix time; three columns of different
    sizes."""
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
        return np.array(means), np.array(
            [float(mpmath.sqrt((row.T * inverse * row)[0])) for row in rows]
        )


def fed(model, context, arms, rewards):
    for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
        ridge.learn(model, context, arm, reward, np.inf)
    ridge.predict(model, context)
    return model


def played(rng, K, how):
    """Which arms: all, or the first alone and then a few others."""
    arms = rng.integers(K, size=UPDATES)
    if how == "one":
        arms[:4500] = 0
    return arms, rng.normal(1.0, 0.5, UPDATES)


def agrees(form, X, lam, arms, rewards):
    """Means and widths of a model that learned these rewards have six digits."""
    means, widths = reference(X, lam, arms, rewards)
    changing = form == "context"
    given = Arms(len(X), features=None if changing else X, dimension=X.shape[1], horizon=UPDATES)
    model = ridge.new_ridge(given, lam, sampling=True, form=None if changing else form)
    fed(model, Context(X if changing else None, None, None, None), arms, rewards)
    np.testing.assert_allclose(model.mean, means, rtol=1e-6, atol=1e-6 * np.abs(means).max())
    np.testing.assert_allclose(np.sqrt(model.square), widths, rtol=1e-6)


@pytest.mark.parametrize("how", ["all", "one"])
@pytest.mark.parametrize("form", ["arm", "feature", "context"])
def test_six_digits_beside_an_intercept_at_any_scale(form, how, rng):
    for size in SIZES:
        agrees(form, features(size, rng, 9), 1.0, *played(rng, 9, how))


@pytest.mark.parametrize("how", ["all", "one"])
@pytest.mark.parametrize("kind", ["income", "time"])
@pytest.mark.parametrize("form", ["arm", "feature", "context"])
def test_six_digits_with_raw_features(form, kind, how, rng):
    agrees(form, features(kind, rng, 9), 1.0, *played(rng, 9, how))


@pytest.mark.parametrize("lam", [1.0, 1e-6])
@pytest.mark.parametrize("how", ["all", "one"])
@pytest.mark.parametrize("form", ["arm", "feature"])
def test_fixed_features_keep_six_digits_where_two_columns_are_large(form, how, lam, rng):
    X = features("mixed", rng, 9) * (1.0 if lam == 1.0 else 1e-3)
    agrees(form, X, lam, *played(rng, 9, how))


@pytest.mark.parametrize(
    "name",
    tiered(
        ["LinUCB", "LinTS", "LinEpsilonGreedy", "SoftUCB"], ["LinTS", "LinEpsilonGreedy", "SoftUCB"]
    ),
)
@pytest.mark.parametrize("kind", tiered(["income", "time"], ["time"]))
def test_policies_keep_their_means_with_raw_features(name, kind, rng):
    """After a factorisation the estimates still say what the rewards said, with the constant column
    that the policy adds."""
    policy = getattr(tr, name)()
    X = features(kind, rng, 8)
    theta = np.array([0.0, 1.0 / X[:, 1].max()])
    session = tr.Session(policy, arms=X, horizon=UPDATES, seed=1)
    pulls, sums = np.zeros(8), np.zeros(8)
    for _ in range(UPDATES):
        arm = session.select()
        reward = X[arm] @ theta + 0.1 * rng.standard_normal()
        session.update(arm, reward)
        pulls[arm] += 1
        sums[arm] += reward
    centre = sums.sum() / UPDATES
    with mpmath.workdps(50):
        A = mpmath.matrix(np.c_[X, np.full(8, np.sqrt((X**2).sum(axis=1).mean()))].tolist())
        V = mpmath.eye(3) + A.T * mpmath.diag(pulls.tolist()) * A
        want = A * mpmath.lu_solve(V, A.T * mpmath.matrix((sums - centre * pulls).tolist()))
    np.testing.assert_allclose(
        session.explain()["mean"], [centre + float(value) for value in want], rtol=1e-6
    )


def test_a_pivot_is_judged_by_its_own_column():
    matrix, factor = np.array([[4097.0, 0.0], [0.0, 1e19]]), np.zeros((2, 2))
    assert cholesky(matrix, factor) == 1.0
    np.testing.assert_allclose(np.diag(factor) ** 2, [4097.0, 1e19], rtol=1e-15)
    for scale in (1e-9, 1.0, 1e9):  # rank 1 at any scale
        assert cholesky(np.outer([1.0, scale], [1.0, scale]), factor) == 0.0
        assert factor[1, 1] == 0.0
    assert cholesky(np.array([[np.nan, 0.0], [0.0, 1.0]]), factor) == 0.0


def test_powers_of_two_change_no_bit(rng):
    """Why columns need not be scaled beforehand: every operation commutes with it. The model's
    prior has to be scaled along."""
    B = rng.normal(size=(5, 5))
    A, S = B @ B.T, 2.0 ** np.array([-30.0, 5.0, 0.0, 40.0, 12.0])
    plain, scaled = np.zeros((5, 5)), np.zeros((5, 5))
    assert cholesky(A, plain) == cholesky(A * S[:, None] * S, scaled)
    assert np.array_equal(plain * S[:, None], scaled)


def test_a_regression_out_of_digits_raises():
    """Two columns of 1e9 and one context, 4096 times: V is singular to float64. Nothing plays
    on."""
    x = np.array([[1e9, 2e9, 1e9]])
    model = ridge.new_ridge(Arms(1, dimension=3), 1.0)
    context = Context(x, None, None, None)
    with pytest.raises(ValueError, match=r"ran out of digits.*tightrope\.scale"):
        fed(model, context, np.zeros(5000, dtype=np.int64), np.ones(5000))
    fixed = ridge.new_ridge(Arms(2, features=np.eye(2), dimension=2), 1.0)
    with pytest.raises(ValueError, match="ran out of digits"):
        fed(fixed, NO_CONTEXT, np.zeros(5000, dtype=np.int64), np.full(5000, np.nan))


def test_a_set_policy_out_of_digits_raises():
    model = new_batch_ridge(1, 3, 1.0)
    X = np.array([[1e9, 2e9, 1e9]])
    learn_batch(model, X, np.array([0]), np.array([1.0]))
    with pytest.raises(ValueError, match=r"ran out of digits.*tightrope\.scale"):
        predict_settled(settle(model, X), X)


RAW = np.array([[1.0, 1.7e9, 3e7], [1.0, 1.8e9, 8e7], [1.0, 1.75e9, 2e7]])


@pytest.mark.parametrize(
    "policy",
    [
        tr.LinUCB(),
        *(
            pytest.param(each, marks=thorough)
            for each in (tr.LinTS(), tr.SoftUCB(), tr.LinEpsilonGreedy())
        ),
        pytest.param(
            tr.CLUCB2(baseline=0, baseline_mean=0.5, alpha=0.1, arm_bound=1e10), marks=thorough
        ),
    ],
    ids=lambda p: type(p).__name__,
)
def test_fixed_features_without_six_digits_are_refused_with_the_remedy(policy):
    with pytest.raises(
        ValueError,
        match=r"arms\[1, 2\] = 8e\+07 .* 4\.8 of its 16 digits.*needs 6\. .*tightrope\.scale\(X\)",
    ):
        tr.Session(policy, arms=RAW)
    tr.Session(policy, arms=tr.scale(RAW).features).select()
    with pytest.raises(ValueError, match=r"tightrope\.scale"):
        tr.simulate(
            tr.problems.Linear(RAW, [0.0, 0.0, 1e-8]), {"x": policy}, horizon=10**6, replications=1
        )


@pytest.mark.parametrize(
    "policy",
    [
        tr.LinUCB(),
        *(pytest.param(each, marks=thorough) for each in (tr.LinTS(), tr.LinEpsilonGreedy())),
    ],
    ids=lambda p: type(p).__name__,
)
def test_features_of_a_round_without_six_digits_are_refused_and_change_nothing(policy):
    session, other = (tr.Session(policy, arms=3, dimension=3, seed=2) for _ in range(2))
    good = tr.scale(RAW).features
    assert session.select(good) == other.select(good)
    with pytest.raises(ValueError, match=r"context\[1, 2\] = 8e\+07 .*tightrope\.scale\(X\)"):
        session.select(RAW)
    session.update(0, 1.0)
    other.update(0, 1.0)
    np.testing.assert_array_equal(session.explain()["mean"], other.explain()["mean"])


@pytest.mark.parametrize(
    "policy",
    [tr.C2UCB(), tr.PC2UCB(), tr.CombTS(), tr.CombLinTS(), tr.CombLinUCB(), tr.CombGreedy()],
    ids=lambda p: type(p).__name__,
)
def test_sets_refuse_features_without_six_digits(policy):
    with pytest.raises(ValueError, match=r"arms\[1, 2\] = 8e\+07 .*tightrope\.scale\(X\)"):
        tr.Session(policy, arms=RAW, oracle=tr.oracles.TopK(2))
    session = tr.Session(policy, arms=3, dimension=3, oracle=tr.oracles.TopK(2))
    with pytest.raises(ValueError, match=r"context\[1, 2\] = 8e\+07 .*tightrope\.scale\(X\)"):
        session.select(RAW)
    assert session.select(tr.scale(RAW).features).size == 2


def test_digits_count_all_columns_but_the_largest():
    assert digits_left(np.array([1e300]), 1.0, 10**6, root=False) == DIGITS
    assert digits_left(np.array([1.0, 1e9]), 1.0, 10**4, root=False) == pytest.approx(
        DIGITS - 4, abs=1e-4
    )
    assert digits_left(np.array([1e3, 1e9, 1e3]), 2.0, 10**4, root=True) == pytest.approx(
        DIGITS - 5, abs=1e-9
    )
    check_digits("arms", np.full((3, 2), 1e4), 1.0, 10**6, root=True)
    with pytest.raises(
        ValueError, match=r"arms\[0, 0\] = -2e\+07 .*after 1,000,000 rounds with lam = 1 "
    ):
        check_digits("arms", np.array([[-2e7, 3e7], [1.0, 1.0]]), 1.0, None, root=True)


@pytest.mark.parametrize(
    "X",
    [
        RAW,
        RAW[:, 1:],
        np.c_[np.full(4, 5.0), np.arange(4.0)],
        np.c_[np.arange(4.0), np.zeros(4), np.ones(4), np.full(4, 7.0)],
        np.array([[2.0, 0.0]]),
        np.c_[np.ones(3), [1e300, -1e300, 1e299]],
    ],
)
def test_scaled_features_express_the_same_means(X):
    """The change of coordinates is linear and can be undone; beside an intercept columns are
    centred."""
    scaled = tr.scale(X)
    d, Z = X.shape[1], scaled.features
    change = scaled(np.eye(d))
    assert (
        np.diag(change) != 0
    ).all()  # beside the diagonal there is one row at most, the intercept's
    assert np.isfinite(Z).all()
    np.testing.assert_array_equal(scaled(X), Z)
    np.testing.assert_array_equal(scaled(X[0]), Z[0])
    assert np.abs(Z).max() <= np.sqrt(len(X)) + 1e-9
    if scaled.intercept is not None:
        np.testing.assert_array_equal(Z[:, scaled.intercept], 1.0)
        varied = np.ptp(X, axis=0) > 0
        np.testing.assert_allclose(Z[:, varied].mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(Z[:, varied].std(axis=0), 1.0)
    else:
        np.testing.assert_array_equal(scaled.centre, 0.0)
    back = np.linalg.inv(change)
    np.testing.assert_allclose(Z @ back, X, rtol=1e-9, atol=1e-9 * np.abs(X).max())
    assert tr.scale(Z)(Z) == pytest.approx(Z)


@pytest.mark.parametrize("rows", [[1.0, 2.0], np.ones((2, 4)), [1.0, np.nan, 3.0], "abc"])
def test_scaled_refuses_rows_that_do_not_fit(rows):
    with pytest.raises(ValueError, match="rows"):
        tr.scale(RAW)(rows)
