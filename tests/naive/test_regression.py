"""Policies on top of a regression == their naive twins; regressions from outside; exact
propensities."""

import numpy as np
import pytest

import tightrope as tr
from naive import regression_policies as naive
from naive.linear_policies import Disjoint, Ridge
from standard import unit_rows
from tiers import thorough
from tightrope.core.streams import POLICY, stream

K, d, ROUNDS = 5, 3, 200


class Shared(Ridge):
    def feed(self, X, arm, reward):
        super().feed(X[arm], reward)


GAMMAS = {
    "fixed": ({"gamma": 30.0}, None, lambda size: lambda t: 30.0),
    "horizon": (
        {"delta": 0.1, "growth": "horizon"},
        ROUNDS,
        lambda size: lambda t: naive.theory(K, size, ROUNDS, 0.1),
    ),
    "no horizon": (
        {"growth": "horizon"},
        None,
        lambda size: lambda t: naive.theory(K, size, t, 0.05),
    ),
    "schedule": (
        {"scale": 4.0, "power": 0.6, "noise": 1.0},
        ROUNDS,
        lambda size: lambda t: 4.0 * t**0.6,
    ),
}


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("shared", [True, False])
def test_squarecb_plays_as_the_twin(gamma, shared):
    options, horizon, make = GAMMAS[gamma]
    data, thetas = np.random.default_rng(7), np.random.default_rng(8).normal(size=(K, d))
    twin = naive.SquareCB(
        Shared(d, 0.5) if shared else Disjoint(K, d, 0.5), make(d if shared else K * d)
    )
    session = tr.Session(
        tr.SquareCB(lam=0.5, shared=shared, **options), arms=K, dimension=d, horizon=horizon, seed=3
    )
    rng = stream(3, 0, POLICY)
    for t in range(ROUNDS):
        X = data.normal(size=(K, d))
        decision = session.decide(X)
        assert decision.arm == twin.select(X, rng)
        p = twin.probabilities(X)
        assert decision.propensity == pytest.approx(p[decision.arm], abs=1e-12)
        assert decision.propensity_se == 0.0
        if t % 50 == 0:
            np.testing.assert_allclose(session.explain()["probability"], p, atol=1e-12)
        reward = float(
            X[decision.arm] @ thetas[0 if shared else decision.arm] + 0.3 * data.standard_normal()
        )
        session.reward(decision.id, reward)
        twin.update(X, decision.arm, reward)


def test_propensities_sum_to_one_and_no_eligible_arm_has_none():
    session = tr.Session(
        tr.SquareCB(gamma=20.0), arms=unit_rows(np.random.default_rng(2), 6, d), seed=1
    )
    for k in range(6):
        session.update(k, k / 6)
    eligible = np.array([True, True, False, True, True, True])
    p = session.propensities(eligible=eligible)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert p[2] == 0.0 < p[eligible].min()


class RidgeBatch:
    """Ridge regression as scikit-learn would offer it."""

    def __init__(self, size, lam):
        self.ridge = Ridge(size, lam)

    def partial_fit(self, X, y):
        for x, reward in zip(X, y, strict=True):
            self.ridge.feed(x, reward)

    def predict(self, X):
        return self.ridge.estimate(X)[0]


class RidgeOnline(RidgeBatch):
    """And as River would."""

    partial_fit = predict = None

    def learn_one(self, x, y):
        self.ridge.feed(np.array([x[i] for i in range(d)]), y)

    def predict_one(self, x):
        return float(self.ridge.estimate(np.array([[x[i] for i in range(d)]]))[0][0])


@pytest.mark.parametrize("kind", [RidgeBatch, RidgeOnline])
@pytest.mark.parametrize("shared", [True, False])
def test_a_regression_of_ones_own_plays_as_the_twin_and_as_the_ridge_inside(kind, shared):
    data, thetas = np.random.default_rng(7), np.random.default_rng(8).normal(size=(K, d))
    given = kind(d, 0.5)
    twin = naive.SquareCB(
        Shared(d, 0.5) if shared else Disjoint(K, d, 0.5), lambda t: 10.0 * t**0.5
    )
    own = tr.SquareCB(model=given, shared=shared, scale=10.0, noise=1.0)
    inside = tr.SquareCB(lam=0.5, shared=shared, scale=10.0, noise=1.0)
    sessions, rng = (
        [tr.Session(policy, arms=K, dimension=d, seed=3) for policy in (own, inside)],
        stream(3, 0, POLICY),
    )
    for _ in range(60):
        X = data.normal(size=(K, d))
        decisions = [session.decide(X) for session in sessions]
        arm = twin.select(X, rng)
        assert [decision.arm for decision in decisions] == [arm, arm]
        assert decisions[0].propensity == pytest.approx(twin.probabilities(X)[arm], abs=1e-10)
        reward = float(X[arm] @ thetas[arm])
        for session, decision in zip(sessions, decisions, strict=True):
            session.reward(decision.id, reward)
        twin.update(X, arm, reward)
    assert not given.ridge.b.any()  # sessions train copies
    with pytest.raises(
        ValueError, match=r"state\.model\.regressions holds .* which no session file can hold"
    ):
        sessions[0].to_bytes()


def test_a_function_scores_and_a_catalogue_keeps_what_was_learned():
    scored = tr.Session(tr.SquareCB(model=lambda rows: rows[:, 0], gamma=1e9), dimension=d)
    assert scored.select([[0.0, 1, 1], [2.0, 0, 0], [1.0, 5, 5]]) == 1
    learned = tr.Session(tr.SquareCB(model=RidgeBatch(d, 1.0), gamma=1e9), dimension=d, seed=2)
    for n in (2, 3, 2, 4):
        X = np.eye(n, d)
        arm = learned.select(X)
        learned.update(arm, 1.0 + arm)
    assert learned.state.model.regressions[0].model.ridge.V.trace() == 3 + 4


def test_runs_of_an_outside_regression_are_those_of_the_ridge():
    problem = tr.problems.ContextualLinear(np.ones(d) / d, arms=4, noise=0.1)
    policies = {
        "own": tr.SquareCB(model=RidgeBatch(d, 1.0), gamma=50.0),
        "inside": tr.SquareCB(gamma=50.0),
    }
    result = tr.simulate(problem, policies, horizon=60, replications=2)
    np.testing.assert_array_equal(result.pulls["own"], result.pulls["inside"])


@pytest.mark.parametrize("model", [3, "ridge", object(), RidgeBatch])
def test_what_is_no_regression_is_refused(model):
    with pytest.raises(
        ValueError, match="is no regression; give an object with partial_fit and predict"
    ):
        tr.SquareCB(model=model)


@pytest.mark.parametrize("answer", [np.zeros(2), [0.0, np.nan, 0.0], "many"])
def test_predictions_that_are_no_numbers_are_refused(answer):
    session = tr.Session(tr.SquareCB(model=lambda rows: answer), arms=3, dimension=d)
    with pytest.raises(ValueError, match="model"):
        session.select(np.eye(3))
    assert session.decided == 0


@pytest.mark.parametrize(
    "wrap", [tr.Explore, pytest.param(lambda policy: tr.Safe(policy, baseline=0), marks=thorough)]
)
def test_compiled_policies_take_the_ridge_inside_and_refuse_what_is_python(wrap):
    session = tr.Session(wrap(tr.SquareCB()), arms=3, dimension=d)
    assert session.decide(np.eye(3)).propensity <= 1.0
    with pytest.raises(
        ValueError,
        match=r"is compiled code, which cannot call SquareCB\(model=.*\): its rounds are Python",
    ):
        wrap(tr.SquareCB(model=RidgeBatch(d, 1.0)))
