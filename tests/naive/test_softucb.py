"""SoftUCB and its training == their naive twins."""

import numpy as np
import pytest

import tightrope as tr
from naive import softucb_policy as naive
from naive.linear_policies import Disjoint, Ridge
from tiers import thorough
from tightrope.core.streams import NOISE, POLICY, stream

ROUNDS = 400


def generic(K, d, seed=5):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=d)
    return rng.normal(size=(K, d)) / np.sqrt(d), theta / np.linalg.norm(theta)


@pytest.mark.parametrize(("K", "d"), [(12, 4), pytest.param(4, 7, marks=thorough)])
@pytest.mark.parametrize("timing", ["lagged", "fresh"])
@pytest.mark.parametrize("online", [False, True])
def test_same_arms_probabilities_and_beta_as_the_twin(K, d, timing, online):
    X, theta = generic(K, d)
    options = {"beta": 0.8, "lam": 0.7, "mass": 0.95, "timing": timing, "online": online}
    session = tr.Session(tr.SoftUCB(**options), arms=X, horizon=ROUNDS, seed=9)
    twin = naive.SoftUCB(X, horizon=ROUNDS, **options)
    rng, noise = stream(9, 0, POLICY), stream(9, 0, NOISE)
    eliminated = 0
    for t in range(ROUNDS):
        arm = session.select()
        assert arm == twin.select(rng)
        if t % 20 == 0:
            report = session.explain()
            np.testing.assert_allclose(report["slack"], twin.S, atol=1e-10)
            np.testing.assert_allclose(report["probability"], twin.p, atol=1e-10)
            assert report["gamma"] == pytest.approx(twin.used, abs=1e-8)
            eliminated += int((~report["in_upper"]).sum())
        reward = float(X[arm] @ theta + 0.3 * noise.standard_normal())
        session.update(arm, reward)
        twin.update(arm, reward)
        assert session.state.beta[0] == pytest.approx(twin.beta, abs=1e-10)
    assert eliminated > 0  # the softmax was not uniform all along
    assert (twin.beta != 0.8) == online


@pytest.mark.parametrize("shared", [True, pytest.param(False, marks=thorough)])
@pytest.mark.parametrize("timing", ["lagged", "fresh"])
def test_features_that_change_use_the_slack_of_the_round(timing, shared):
    """Probabilities are a softmax of this round's slack with its own gamma, and Lemma 2 holds in
    every round, whatever `timing` says."""
    K, d, mass = 6, 3, 0.9
    data, theta = np.random.default_rng(3), generic(K, d)[0]
    session = tr.Session(
        tr.SoftUCB(beta=0.4, mass=mass, timing=timing, shared=shared), arms=K, dimension=d, seed=4
    )
    model, rng, checked = (
        Disjoint(K, d, 1.0) if not shared else Ridge(d, 1.0),
        stream(4, 0, POLICY),
        0,
    )
    for t in range(ROUNDS):
        X = data.normal(size=(K, d))
        mean, width = model.estimate(X)
        S, _ = naive.slack(mean, width, 0.4)
        p = naive.softmax(naive.gamma_of(S, mass) * S)
        arm = session.select(X)
        assert arm == np.searchsorted(np.cumsum(p), rng.random(), side="right")
        if t % 20 == 0:
            np.testing.assert_allclose(session.explain()["probability"], p, atol=1e-10)
        if naive.gamma_of(S, mass) > 0:
            assert p[S >= 0].sum() >= mass - 1e-12
            checked += 1
        reward = float(X[arm] @ theta[0 if shared else arm] + 0.2 * data.standard_normal())
        session.update(arm, reward)
        model.feed(X[arm], reward) if shared else model.feed(X, arm, reward)
    assert checked > ROUNDS / 2


@pytest.mark.parametrize("step", [None, 0.5])
def test_training_follows_the_twin(step):
    X, theta = generic(8, 3)
    T, N, eta = 150, 4, 0.01
    trained = tr.train_softucb(
        tr.problems.Linear(X, theta, noise=0.4),
        T,
        trajectories=N,
        beta0=0.9,
        step=step,
        eta=eta,
        seed=2,
    )
    beta, path, regret = 0.9, [0.9], []
    for n in range(N):
        twin = naive.SoftUCB(X, beta, eta=eta)
        rng, noise, arms = stream(2, n, POLICY), stream(2, n, NOISE), []
        for _ in range(T):
            arms.append(twin.select(rng))
            twin.update(arms[-1], float(X[arms[-1]] @ theta + 0.4 * noise.standard_normal()))
        regret.append(sum((X @ theta).max() - X[arms] @ theta))
        beta = max(1e-3, beta + (4 / (1 + n / 20) if step is None else step) * twin.gradient() / T)
        path.append(beta)
    np.testing.assert_allclose(trained.path, path, atol=1e-9)
    np.testing.assert_allclose(trained.regret, regret, atol=1e-9)
    assert trained.beta == trained.path[-1]
