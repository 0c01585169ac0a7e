"""Linear policies == their naive twins, on fixed arms (K > d and K < d) and on features that change
every round."""

import numpy as np
import pytest

import tightrope as tr
from naive import linear_policies as naive
from standard import unit_rows
from tiers import thorough
from tightrope.core.streams import POLICY, stream
from tightrope.numerics.counts import horizon_radius

ROUNDS = 300


@pytest.mark.parametrize("kind", ["d <= K", "K < d", "changing"])
@pytest.mark.parametrize("name", ["LinUCB", "LOSAN", "LinTS", "LinEpsilonGreedy"])
def test_same_arms_as_the_twin(name, kind):
    K, d = (4, 7) if kind == "K < d" else (8, 4)
    data = np.random.default_rng(11)
    X, theta = (
        data.normal(size=(K, d)) / 2,
        unit_rows(data, 1, d)[0],
    )  # of different lengths: no ties in the first round
    longest = 1.0 if kind == "changing" else max(1.0, float(np.linalg.norm(X, axis=1).max()))
    twin = {
        "LinUCB": naive.LinUCB(d, 0.5, horizon_radius(0.3, 0.1, d, ROUNDS, 0.5, 1.0, longest)),
        "LOSAN": naive.LOSAN(d, 0.3, 1.5, 0.1),
        "LinTS": naive.LinTS(d, 0.5, 0.05, 0.1),
        "LinEpsilonGreedy": naive.LinEpsilonGreedy(d, 0.5, 0.2),
    }[name]
    policy = {
        "LinUCB": tr.LinUCB(width="theorem", lam=0.5, noise=0.3),
        "LOSAN": tr.LOSAN(noise=0.3, theta_bound=1.5),
        "LinTS": tr.LinTS(width="theorem", lam=0.5, noise=0.05),
        "LinEpsilonGreedy": tr.LinEpsilonGreedy(lam=0.5, epsilon=0.2, intercept=False),
    }[name]
    changing = kind == "changing"
    session = tr.Session(
        policy, arms=K if changing else X, dimension=d if changing else None, horizon=ROUNDS, seed=5
    )
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
    np.testing.assert_allclose(
        state.log_det[0], np.linalg.slogdet(twin.ridge.V)[1] - d * np.log(policy.lam), atol=1e-9
    )


def test_linear_thompson_width_follows_agrawal_and_goyal():
    X = unit_rows(np.random.default_rng(0), 6, 3)
    session = tr.Session(tr.LinTS(width="theorem", noise=0.5, delta=0.05), arms=X)
    for t in range(1, 6):
        v = 0.5 * np.sqrt(9 * 3 * np.log(t / 0.05))
        report = session.explain()
        np.testing.assert_allclose(
            report["width"], v * np.sqrt(session.state.model.square), rtol=1e-13
        )
        np.testing.assert_array_equal(report["index"], report["mean"])
        session.update(t % 6, 0.3)


K, d = 5, 3
TWINS = {
    "LinUCB": (
        tr.LinUCB(width="theorem", lam=0.5, noise=0.4, shared=False),
        lambda: naive.DisjointLinUCB(K, d, 0.5, noise=0.4),
    ),
    "LinUCB, horizon": (
        tr.LinUCB(width="theorem", lam=0.5, noise=0.3, shared=False, radius="horizon"),
        lambda: naive.DisjointLinUCB(K, d, 0.5, horizon_radius(0.3, 0.1 / K, d, ROUNDS, 0.5, 1.0)),
    ),
    "LOSAN": (
        tr.LOSAN(noise=0.4, theta_bound=2.0, shared=False),
        lambda: naive.DisjointLOSAN(K, d, 0.4, 2.0, 0.1),
    ),
    "LinTS": (
        tr.LinTS(lam=0.5, scale=0.3, shared=False),
        lambda: naive.DisjointLinTS(K, d, 0.5, 0.3),
    ),
    "LinEpsilonGreedy": (
        tr.LinEpsilonGreedy(lam=0.5, epsilon=0.2, shared=False, intercept=False),
        lambda: naive.DisjointLinEpsilonGreedy(K, d, 0.5, 0.2),
    ),
}


@pytest.mark.parametrize("kind", ["one context", "a context for each arm", "fixed"])
@pytest.mark.parametrize("name", TWINS)
def test_a_model_for_each_arm_as_the_twin(name, kind):
    """Rewards come a round late, so that the context of an update is not that of the last
    selection."""
    policy, make = TWINS[name]
    twin, data, fixed = make(), np.random.default_rng(4), kind == "fixed"
    X, thetas = data.normal(size=(K, d)), data.normal(size=(K, d))
    horizon = ROUNDS if "horizon" in name else None
    session = tr.Session(
        policy, arms=X if fixed else K, dimension=None if fixed else d, horizon=horizon, seed=6
    )
    rng, played, late = stream(6, 0, POLICY), set(), []
    for t in range(ROUNDS):
        shown = X[0] if kind == "one context" else X
        decision = session.decide(None if fixed else shown, id=t)
        rows = np.broadcast_to(shown, (K, d))
        assert decision.arm == twin.select(rows, rng)
        late.append(
            (
                t,
                rows,
                decision.arm,
                float(rows[decision.arm] @ thetas[decision.arm] + 0.3 * data.standard_normal()),
            )
        )
        if t:
            number, before, arm, reward = late.pop(0)
            session.reward(number, reward)
            twin.update(before, arm, reward)
        played.add(decision.arm)
        X = X if fixed else data.normal(size=(K, d))
    assert len(played) > (1 if fixed else K - 1)
    mean, width = twin.models.estimate(rows)
    report = session.explain()
    np.testing.assert_allclose(
        session.state.model.theta,
        [np.linalg.solve(one.V, one.b) for one in twin.models.ridges],
        atol=1e-10,
    )
    np.testing.assert_allclose(report["mean"], mean, atol=1e-10)
    np.testing.assert_allclose(
        report["width"] * width[0], report["width"][0] * width, rtol=1e-9
    )  # up to the radius


@pytest.mark.parametrize(
    "policy", [tr.LinUCB(beta=0.7), tr.LinEpsilonGreedy(epsilon=0.1, intercept=False)]
)
def test_a_model_for_each_arm_is_one_model_on_columns_of_the_arms_own(policy):
    data, apart = np.random.default_rng(5), policy._replace(shared=False)
    wide, disjoint = (
        tr.Session(policy, arms=K, dimension=K * d, seed=2),
        tr.Session(apart, arms=K, dimension=d, seed=2),
    )
    for _ in range(200):
        x = data.normal(size=d)
        arm = disjoint.select(x)
        assert arm == wide.select(np.kron(np.eye(K), x))
        for session in (disjoint, wide):
            session.update(arm, float(np.sin(arm + x[0])))


@pytest.mark.parametrize(
    ("words", "make"),
    [
        (
            r"shared = False keeps a regression for each arm, but there is one arm; .*arms=K",
            lambda: tr.Session(tr.LinUCB(shared=False), dimension=3),
        ),
        (
            r"context has shape \(4,\)",
            lambda: tr.Session(tr.LinUCB(), dimension=3).select(np.ones(4)),
        ),
        (
            "must have 3 columns",
            lambda: tr.Session(tr.LinUCB(shared=False), arms=4, dimension=3).select(np.ones(4)),
        ),
        (
            "best = 0.9 and design = 0.2 are 1.1 together, but must be at most 1",
            lambda: tr.LinMED(design=0.2),
        ),
    ],
)
def test_what_does_not_fit_is_refused(words, make):
    with pytest.raises(ValueError, match=words):
        make()


def test_arms_added_to_a_model_for_each_arm_and_sessions_merged():
    data = np.random.default_rng(8)
    sessions = [
        tr.Session(tr.LinUCB(shared=False, beta=1.0), arms=2, dimension=d) for _ in range(3)
    ]
    for t in range(60):
        x, reward = data.normal(size=d), float(data.normal())
        for session in (sessions[t % 2], sessions[2]):
            session.update(t % 3 % 2, reward, context=x)
    sessions[0].merge(sessions[1])
    np.testing.assert_allclose(
        sessions[0].state.model.theta, sessions[2].state.model.theta, atol=1e-12
    )
    before = sessions[0].explain(x)
    sessions[0].add_arms(number=1)
    after = sessions[0].explain(x)
    np.testing.assert_allclose(after["mean"], [*before["mean"], 0.0], atol=1e-12)
    assert after["width"][2] == pytest.approx(np.linalg.norm(x))


@pytest.mark.parametrize(
    ("K", "d", "changing"),
    [
        pytest.param(4, 7, False, marks=thorough),
        (8, 4, False),
        (25, 3, False),
        pytest.param(25, 3, True, marks=thorough),
    ],
)
def test_linmed_plays_as_the_twin(K, d, changing):
    data, options = (
        np.random.default_rng(2),
        {"best": 0.5, "design": 0.3, "delta": 0.02} if changing else {},
    )
    X, theta = data.normal(size=(K, d)), unit_rows(data, 1, d)[0]
    session = tr.Session(
        tr.LinMED(lam=0.5, noise=0.3, **options),
        arms=K if changing else X,
        dimension=d if changing else None,
        seed=5,
    )
    twin, rng = naive.LinMED(d, 0.5, 0.3, **options), stream(5, 0, POLICY)
    moved = 0
    for _ in range(200):
        if changing:
            X = data.normal(size=(K, d))
        decision = session.decide(X if changing else None)
        p = twin.probabilities(X)
        assert decision.arm == twin.select(X, rng)
        assert decision.propensity == pytest.approx(p[decision.arm], rel=1e-6)
        _, f = twin.shares(X)
        moved += not np.allclose(twin.optimal(X, f), f / f.sum())
        reward = float(X[decision.arm] @ theta + 0.3 * data.standard_normal())
        session.reward(decision.id, reward)
        twin.update(X, decision.arm, reward)
    report = session.explain()
    np.testing.assert_allclose(report["probability"].sum(), 1.0, atol=1e-12)
    assert report["probability"].max() > 2 / K  # it has learned
    assert moved > 0 or 2 * d >= K  # and the design was not where it began


def test_linmed_sees_every_direction_that_is_still_in_question():
    """In the information of the design every sqrt(f) x has a squared norm of at most 2 d (least
    possible: d)."""
    data = np.random.default_rng(0)
    X = data.normal(size=(60, 4))
    session = tr.Session(tr.LinMED(noise=0.2), arms=X, seed=0)
    for _ in range(300):
        arm = session.select()
        session.update(arm, float(X[arm, 0] + 0.2 * data.standard_normal()))
    report = session.explain()
    scaled = np.sqrt(report["index"])[:, None] * X
    information = (scaled.T * report["design"]) @ scaled + 1e-6 * (scaled**2).sum(
        axis=1
    ).max() * np.eye(4)
    assert report["design"].sum() == pytest.approx(1.0)
    assert np.einsum("ki,ki->k", scaled, np.linalg.solve(information, scaled.T).T).max() <= 8 + 1e-6


def test_losan_keeps_its_loss_for_arms_that_come_and_refuses_what_has_no_proof():
    data = np.random.default_rng(2)
    X = data.normal(size=(4, 3))
    for shared in (True, False):
        session = tr.Session(tr.LOSAN(noise=0.4, shared=shared), arms=X)
        for _ in range(30):
            session.update(session.select(), float(data.normal()))
        before, grown = session.state.losses.copy(), np.zeros(1 if shared else 5)
        grown[: before.size] = before
        session.add_arms(features=data.normal(size=(1, 3)))
        assert before.min() > 0.0
        np.testing.assert_array_equal(session.state.losses, grown)
    other = tr.Session(tr.LOSAN(noise=0.4, shared=False), arms=X)
    with pytest.raises(ValueError, match="one after the other"):
        other.merge(tr.Session(tr.LOSAN(noise=0.4, shared=False), arms=X))
    for wrong in ({"forget": 0.9}, {"beta": 1.0}, {"radius": "determinant"}, {"intercept": True}):
        with pytest.raises(TypeError, match="LOSAN has no parameter"):
            tr.LinUCB(width="losan", **wrong)
    with pytest.raises(ValueError, match="one of them is 0"):
        tr.LOSAN(theta_bound=0.0)
    made = tr.LinUCB(width="losan", noise=0.5, theta_bound=2.0)
    assert made.lam == 0.0625
    assert made == tr.LOSAN(noise=0.5, theta_bound=2.0)
