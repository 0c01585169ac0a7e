"""Linear policies == their naive twins, on fixed arms (K > d and K < d) and on features that change every round."""

import numpy as np
import pytest

import tightrope as tr
from naive import linear_policies as naive
from standard import unit_rows
from tightrope.numerics.radii import horizon_radius
from tightrope.rng import POLICY, stream

ROUNDS = 300


@pytest.mark.parametrize("kind", ["d <= K", "K < d", "changing"])
@pytest.mark.parametrize("name", ["LinUCB", "LinTS", "LinEpsilonGreedy"])
def test_same_arms_as_the_twin(name, kind):
    K, d = (4, 7) if kind == "K < d" else (8, 4)
    data = np.random.default_rng(11)
    X, theta = data.normal(size=(K, d)) / 2, unit_rows(data, 1, d)[0]  # of different lengths: no ties in the first round
    twin = {
        "LinUCB": naive.LinUCB(d, 0.5, horizon_radius(0.3, 0.1, d, ROUNDS, 0.5, 1.0)),
        "LinTS": naive.LinTS(d, 0.5, 0.05, 0.1),
        "LinEpsilonGreedy": naive.LinEpsilonGreedy(d, 0.5, 0.2),
    }[name]
    policy = {
        "LinUCB": tr.LinUCB(lam=0.5, noise=0.3),
        "LinTS": tr.LinTS(lam=0.5, noise=0.05),
        "LinEpsilonGreedy": tr.LinEpsilonGreedy(lam=0.5, epsilon=0.2),
    }[name]
    changing = kind == "changing"
    session = tr.Session(policy, arms=K if changing else X, dimension=d if changing else None, horizon=ROUNDS, seed=5)
    rng = stream(5, 0, POLICY)
    played = set()
    for _ in range(ROUNDS):
        if changing:
            X = data.normal(size=(K, d)) / 2
        arm = session.select(context=X if changing else None)
        assert arm == twin.select(X, rng)
        reward = float(X[arm] @ theta + 0.3 * data.standard_normal())
        session.update(arm, reward)
        twin.update(X, arm, reward)
        played.add(arm)
    assert len(played) > 1
    state = session.state.model
    mean, width = twin.ridge.estimate(X)
    if not changing:
        np.testing.assert_allclose(state.mean, mean, atol=1e-10)
        np.testing.assert_allclose(np.sqrt(state.square), width, atol=1e-10)
    np.testing.assert_allclose(state.log_det[0], np.linalg.slogdet(twin.ridge.V)[1] - d * np.log(0.5), atol=1e-9)


@pytest.mark.parametrize("policy", [tr.LinTS(scale=0.4), tr.LinTS(noise=0.1), tr.LinEpsilonGreedy(epsilon=0.3)])
def test_probability_is_how_often_select_plays_the_arm(policy):
    data = np.random.default_rng(3)
    X = unit_rows(data, 5, 3)
    eligible = np.array([True, True, False, True, True])
    session = tr.Session(policy, arms=X, seed=1)
    for _ in range(12):
        session.update(int(data.integers(5)), float(data.normal()))
    report = session.explain(eligible=eligible)
    n = 20_000
    shares = np.bincount([session.select(eligible=eligible) for _ in range(n)], minlength=5) / n
    p = report["probability"]
    spread = np.sqrt(p * (1 - p) / n + report.get("probability_se", np.zeros(5)) ** 2)
    assert p[2] == shares[2] == 0.0
    assert (np.abs(shares - p) <= 4 * spread + 1e-12).all()


def test_linear_thompson_width_follows_agrawal_and_goyal():
    X = unit_rows(np.random.default_rng(0), 6, 3)
    session = tr.Session(tr.LinTS(noise=0.5, delta=0.05), arms=X)
    for t in range(1, 6):
        v = 0.5 * np.sqrt(9 * 3 * np.log(t / 0.05))
        report = session.explain()
        np.testing.assert_allclose(report["width"], v * np.sqrt(session.state.model.square), rtol=1e-13)
        np.testing.assert_array_equal(report["index"], report["mean"])
        session.update(t % 6, 0.3)
