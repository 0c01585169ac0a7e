"""Policies that forget == their naive twins; with forget = 1 they are what they were; who cannot
forget says so."""

import numpy as np
import pytest

import tightrope as tr
from naive import drifting_policies as naive
from naive.side_by_side import step
from standard import unit_rows
from tiers import thorough
from tightrope.core.streams import POLICY, stream
from tightrope.core.types import PLAIN
from tightrope.core.verbs import Arms, explain, init, select, update
from tightrope.numerics.counts import FadingCounts, new_counts
from tightrope.numerics.ridge import new_fading_ridge, new_ridge

K, d, ROUNDS = 5, 3, 250


def test_ucb_that_forgets_plays_as_the_twin():
    data, twin = np.random.default_rng(3), naive.DiscountedUCB(K, 0.95)
    session = tr.Session(tr.UCB(forget=0.95), arms=K, seed=0)

    def reward(arm):
        mean = arm / K * (1 if session.rounds < 120 else -1) + 0.5
        return float(np.clip(mean + 0.2 * data.standard_normal(), 0, 1))

    for _ in range(ROUNDS):
        step(session, twin, reward, None)
    pulls, sums = twin.counts()
    np.testing.assert_allclose(session.state.pulls, pulls, rtol=1e-12)
    np.testing.assert_allclose(session.explain()["mean"], sums / pulls, rtol=1e-12)
    assert session.state.rounds[0] == pytest.approx((1 - 0.95**ROUNDS) / 0.05)


def test_thompson_sampling_has_the_posterior_of_the_weighted_counts():
    """Its posterior is Beta(a + weighted successes, b + weighted failures), as the twin's counts
    say."""
    data, twin, session = (
        np.random.default_rng(3),
        naive.Fading(K, 0.9),
        tr.Session(tr.BetaThompson(a=0.5, b=2, forget=0.9), arms=K, seed=1),
    )
    for _ in range(60):
        arm, reward = session.select(), float(data.random() < 0.4)
        session.update(arm, reward)
        twin.update(arm, reward)
    pulls, sums = twin.counts()
    mean = session.explain()["mean"]
    np.testing.assert_allclose(mean, (0.5 + sums) / (2.5 + pulls), rtol=1e-12)


@pytest.mark.parametrize("changing", [False, True])
@pytest.mark.parametrize("name", ["LinUCB", "LinTS"])
def test_linear_policies_that_forget_play_as_the_twin(name, changing):
    policy = (
        tr.LinUCB(width="theorem", lam=0.5, noise=0.3, forget=0.93)
        if name == "LinUCB"
        else tr.LinTS(lam=0.5, scale=0.3, forget=0.93)
    )
    twin = (naive.DLinUCB if name == "LinUCB" else naive.DLinTS)(d, 0.5, 0.93, 0.3, 0.1)
    data, rng = np.random.default_rng(9), stream(2, 0, POLICY)
    X, theta = data.normal(size=(K, d)), unit_rows(data, 1, d)[0]
    session = tr.Session(
        policy, arms=K if changing else X, dimension=d if changing else None, seed=2
    )
    played = set()
    for t in range(ROUNDS):
        X = data.normal(size=(K, d)) if changing else X
        arm = session.select(X if changing else None)
        assert arm == twin.select(X, rng)
        reward = float(X[arm] @ theta * (1 if t < 100 else -1) + 0.3 * data.standard_normal())
        session.update(arm, reward)
        twin.update(X, arm, reward)
        played.add(arm)
    report = session.explain()
    mean, width = twin.ridge.estimate(X)
    np.testing.assert_allclose(report["mean"], mean, atol=1e-9)
    np.testing.assert_allclose(report["width"] / report["width"][0], width / width[0], rtol=1e-9)
    assert len(played) > 1


def test_without_forgetting_the_numbers_are_those_of_the_other_forms():
    """The forms that fade, made by hand with forget = 1, against those that are used then."""
    data, X = np.random.default_rng(1), unit_rows(np.random.default_rng(0), K, d)
    told = Arms(K, features=X, dimension=d)
    for policy, fading in (
        (
            tr.LinUCB(),
            lambda state: state._replace(model=new_fading_ridge(told, 1.0, 1.0, intercept=True)),
        ),
        (tr.UCB(), lambda state: FadingCounts(*new_counts(K), 1.0)),
    ):
        one, other, rng = init(policy, told), fading(init(policy, told)), np.random.default_rng(0)
        for _ in range(80):
            arm = select(policy, one, PLAIN, rng)
            assert arm == select(policy, other, PLAIN, rng)
            reward = float(data.random())
            one, other = (
                update(policy, one, PLAIN, arm, reward),
                update(policy, other, PLAIN, arm, reward),
            )
        for key in ("mean", "width"):
            np.testing.assert_allclose(
                explain(policy, one, PLAIN, rng)[key],
                explain(policy, other, PLAIN, rng)[key],
                rtol=1e-9,
            )
    assert type(new_ridge(told, 1.0)) is type(tr.Session(tr.LinUCB(forget=1), arms=X).state.model)


@thorough
def test_forgetting_pays_where_means_jump():
    """Of 80 paired runs on the same jumps; the difference is beyond 4 standard errors."""
    path = np.array([[0.1, 0.9, 0.4], [0.9, 0.1, 0.4], [0.1, 0.2, 0.9], [0.8, 0.1, 0.1]])
    problem = tr.problems.Drifting(path, every=1500)
    for policy, options in (
        (tr.UCB(alpha=0.5), {"forget": 0.995}),
        (tr.BetaThompson(), {"forget": 0.995}),
    ):
        result = tr.simulate(
            problem,
            {"stays": policy, "forgets": policy._replace(**options)},
            horizon=6000,
            replications=80,
        )
        difference = (result.regret["stays"] - result.regret["forgets"])[:, -1]
        assert difference.mean() > 4 * difference.std(ddof=1) / np.sqrt(80)


@thorough
def test_linear_forgetting_pays_where_theta_turns():
    angles = np.linspace(0, 2 * np.pi, 9)
    thetas, X = (
        np.stack([np.cos(angles), np.sin(angles)], axis=1),
        unit_rows(np.random.default_rng(0), 12, 2),
    )
    problem = tr.problems.Drifting(
        thetas, every=400, change="lines", arms=X, rewards="gaussian", noise=0.3
    )
    policies = {
        "stays": tr.LinUCB(width="theorem", noise=0.3),
        "forgets": tr.LinUCB(width="theorem", noise=0.3, forget=0.98),
    }
    result = tr.simulate(problem, policies, horizon=3200, replications=10)
    difference = (result.regret["stays"] - result.regret["forgets"])[:, -1]
    assert difference.mean() > 4 * difference.std(ddof=1) / np.sqrt(10)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: tr.Safe(tr.UCB(forget=0.9), baseline=0),
            r"inner = UCB\(forget=0.9\) forgets because means drift, .*; take forget=1",
        ),
        (
            lambda: tr.Safe(tr.Explore(tr.LinTS(forget=0.9)), baseline=0),
            r"inner = LinTS\(forget=0.9\) forgets",
        ),
        (lambda: tr.UCB(forget=0.0), r"forget = 0.0 is not a number in \(0, 1\]"),
        (
            lambda: tr.Session(tr.LinUCB(forget=0.9, shared=False), arms=3, dimension=2),
            "forget = 0.9 is for one regression",
        ),
        (
            lambda: tr.Session(tr.UCB(forget=0.9), arms=3).merge(
                tr.Session(tr.UCB(forget=0.9), arms=3)
            ),
            "weighs rewards by their order",
        ),
        (
            lambda: tr.Session(tr.LinTS(forget=0.9), arms=np.eye(3)).merge(
                tr.Session(tr.LinTS(forget=0.9), arms=np.eye(3))
            ),
            "by their order",
        ),
        (
            lambda: tr.problems.Drifting([[0.5, 1.5]], 10),
            r"path gives arm 1 the mean 1.5 in stage 0, but rewards = 'bernoulli'",
        ),
        (
            lambda: tr.problems.Drifting([[0.5, 1.5]], 10, arms=[[1.0]]),
            "arms has shape .* must have 2 columns",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_session_that_forgets_takes_in_new_arms_and_candidates():
    session = tr.Session(tr.LinUCB(forget=0.9, intercept=False), dimension=d)
    for n in (2, 4, 3):
        arm = session.select(unit_rows(np.random.default_rng(n), n, d))
        session.update(arm, 1.0)
    assert session.state.model.design.trace() == pytest.approx(d + 1 + 0.9 + 0.81)
    counts = tr.Session(tr.UCB(forget=0.9), arms=2)
    for arm in (0, 1):
        counts.update(arm, 1.0)
    counts.add_arms(number=1)
    assert (counts.state.pulls.tolist(), counts.select()) == ([0.9, 1.0, 0.0], 2)
