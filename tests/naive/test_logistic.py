"""LogisticTS: the twin's choices and laws, a posterior near the exact one, extreme features, and
clicks that a straight line serves worse."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import tightrope as tr
from naive.logistic_policies import NaiveLogisticTS
from tightrope.core.streams import POLICY, stream
from tightrope.core.verbs import Arms
from tightrope.numerics.logistic import learn_reward, log_odds, new_logistic, step_to_mode
from tightrope.session.codec import flatten

K, D, ROUNDS = 4, 3, 200
CASES = {
    "rows": ({"lam": 0.7, "width": 0.8}, "rows"),
    "context": ({"lam": 0.7, "width": 0.8}, "context"),
    "fixed": ({"lam": 2.0, "width": 1.0, "intercept": False}, "fixed"),
    "fixed, each": ({"lam": 2.0, "width": 1.0, "shared": False}, "fixed"),
}


@pytest.mark.parametrize("case", CASES)
def test_choices_and_laws_are_those_of_the_twin(case):
    parameters, kind = CASES[case]
    data, rng = np.random.default_rng(9), stream(2, 0, POLICY)
    fixed, theta = data.normal(size=(K, D)), data.normal(size=(K, D))
    each = kind == "context" or not parameters.get("shared", True)
    twin = NaiveLogisticTS(
        K, D, parameters["lam"], parameters["width"], each, parameters.get("intercept", True)
    )
    session = tr.Session(
        tr.LogisticTS(**parameters),
        arms=fixed if kind == "fixed" else K,
        dimension=None if kind == "fixed" else D,
        seed=2,
    )
    played = np.zeros(K)
    for t in range(ROUNDS):
        shown = None if kind == "fixed" else data.normal(size=(K, D) if kind == "rows" else D)
        X = fixed if kind == "fixed" else np.broadcast_to(shown, (K, D))
        arm = session.select(shown)
        assert arm == twin.select(X, rng), t
        reward = float(data.random() < expit(X[arm] @ theta[arm if each else 0] - 1.0))
        session.update(arm, reward)
        twin.update(X, arm, reward)
        played[arm] += 1
    assert (played > 0).sum() > 1
    state = session.state.model
    for m, precision in enumerate(twin.precision):
        np.testing.assert_allclose(
            np.linalg.inv(state.root[m] @ state.root[m].T), precision, rtol=1e-8, atol=1e-8
        )
    report, rows = session.explain(context=shown), twin.rows(X)
    wanted = expit([row @ twin.mode[twin.of(k)] for k, row in enumerate(rows)])
    np.testing.assert_allclose(report["mean"], wanted, rtol=1e-9)


def test_the_law_is_near_the_exact_posterior():
    """After 400 clicks, one at a time, the mode is within a tenth of its standard errors of the one
    of all clicks together."""
    data, d = np.random.default_rng(0), 4
    X, theta = data.normal(size=(400, d)), np.array([1.0, -0.5, 0.3, 0.0])
    rewards = (data.random(400) < expit(X @ theta)).astype(float)
    model = new_logistic(Arms(1, dimension=d), 1.0, each=False, intercept=False)
    for x, reward in zip(X, rewards, strict=True):
        learn_reward(model, x[None], 0, reward)

    def loss(t):
        return 0.5 * t @ t + np.logaddexp(0, X @ t).sum() - rewards @ (X @ t)

    best = minimize(loss, np.zeros(d), tol=1e-12).x
    p = expit(X @ best)
    exact = np.linalg.inv(np.eye(d) + (X * (p * (1 - p))[:, None]).T @ X)
    assert np.abs((model.theta[0] - best) / np.sqrt(np.diag(exact))).max() < 0.5
    np.testing.assert_allclose(np.diag(model.root[0] @ model.root[0].T), np.diag(exact), rtol=0.2)
    assert np.abs(best / np.sqrt(np.diag(exact))).max() > 3  # planted: the prior's mode is far


@pytest.mark.parametrize("square", [0.0, 1e-12, 1.0, 1e6, 1e14])
@pytest.mark.parametrize("mean", [-700.0, -3.0, 0.0, 40.0])
@pytest.mark.parametrize("reward", [0.0, 0.3, 1.0])
def test_the_mode_is_found_wherever_it_is(square, mean, reward):
    step = step_to_mode(reward, mean, square)
    assert reward - 1 <= step <= reward
    away = 1e-12 / max(1.0, square) + 1e-15 * abs(step)
    low, high = step - away, step + away
    assert low - reward + expit(mean + low * square) <= 0
    assert high - reward + expit(mean + high * square) >= 0


def test_large_features_end_neither_digits_nor_numbers():
    session, data = (
        tr.Session(tr.LogisticTS(), arms=2, dimension=2, seed=0),
        np.random.default_rng(0),
    )
    for _ in range(300):
        x = data.normal(size=2) * np.array([1e4, 1.0])
        arm = session.select(x)
        session.update(arm, float(x[0] > 0) if arm == 0 else 0.5)
    assert all(
        np.isfinite(value).all()
        for value in flatten(session.state).values()
        if value.dtype.kind == "f"
    )
    assert (
        np.linalg.eigvalsh(session.state.model.root[0] @ session.state.model.root[0].T) >= 0
    ).all()
    assert session.explain(context=np.array([1e4, 0.0]))["mean"][0] > 0.9
    with pytest.raises(ValueError, match="too large"):
        session.select(np.array([1e160, 1.0]))
    with pytest.raises(ValueError, match=r"reward = 2.* \[0, 1\]"):
        session.update(0, 2.0, context=np.zeros(2))


def test_arms_are_told_apart_and_new_ones_begin_at_the_mean_rate():
    with pytest.raises(ValueError, match="nothing can tell them apart"):
        session = tr.Session(tr.LogisticTS(shared=True), arms=3, dimension=2)
        session.select(np.ones(2))
    session, data = (
        tr.Session(tr.LogisticTS(), arms=["a", "b"], dimension=1, seed=3),
        np.random.default_rng(1),
    )
    for _ in range(200):
        decision = session.decide(np.ones(1))
        session.reward(decision.id, float(data.random() < 0.05))
    kept = session.explain(context=np.ones(1))["mean"]
    session.add_arms(["c"])
    rates = session.explain(context=np.ones(1))["mean"]
    assert rates[:2].tolist() == kept.tolist()
    assert 0.01 < rates[2] < 0.15
    model = session.state.model
    mean, square, _ = log_odds(model, np.ones((3, 1)), 2)
    assert square == pytest.approx(2.0)  # of the prior: one coefficient and the intercept
    assert expit(mean) == pytest.approx((model.rewards[1] + 0.5) / (model.rewards[0] + 1.0))
