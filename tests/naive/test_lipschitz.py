"""Lipschitz policies == their naive twins: same arms, same indices, on points, a plane, any metric,
and contexts."""

import numpy as np
import pytest

import tightrope as tr
from naive import lipschitz_policies as naive
from tiers import thorough

LINE = np.array([0.0, 0.07, 0.21, 0.3, 0.48, 0.6, 0.85, 1.0])
PLANE = np.random.default_rng(2).random((7, 2))


def metric(points):
    points = np.asarray(points).reshape(len(points), -1)
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))


def peaked(points):
    return 0.8 - 0.6 * metric(points)[len(points) // 3]


def play(policy, twin, arms, means, rounds, noise, seed, groups=None, fed=0):
    """Drive both with rewards that are generic numbers; every choice is compared, every 25th round
    all the indices."""
    session, data, everyone = (
        tr.Session(policy, **arms, seed=0),
        np.random.default_rng(seed),
        np.arange(len(means)),
    )
    played = np.zeros(len(means))
    for arm in np.repeat(everyone, fed):
        reward = noise(means[arm], data)
        session.update(int(arm), reward)
        twin.update(arm, reward)
    for t in range(rounds):
        offered = (
            everyone if groups is None else everyone[groups == data.integers(groups.max() + 1)]
        )
        mask = np.isin(everyone, offered)
        arm = session.select(eligible=None if groups is None else mask)
        assert arm == twin.select(list(offered)), f"round {t + 1}"
        reward = noise(means[arm], data)
        if t % 25 == 0:
            report = session.explain(eligible=mask)
            np.testing.assert_allclose(
                np.minimum(report["index"], twin.top), twin.indices(), rtol=0, atol=1e-9
            )
        session.update(arm, reward)
        twin.update(arm, reward)
        played[arm] += 1
    return session, played


def beta(mean, data):
    return float(data.beta(2 * mean, 2 * (1 - mean)))


def zero_one(mean, data):
    return float(data.random() < mean)


def normal(mean, data):
    return float(data.normal(mean, 0.3))


@pytest.mark.parametrize(
    ("options", "noise"),
    [
        ({}, beta),
        ({"loglog": "theory", "forced": False}, beta),
        ({"loglog": 3.0}, zero_one),
        ({"divergence": "gaussian", "sigma": 0.3}, normal),
    ],
)
@pytest.mark.parametrize("arms", ["line", "plane"])
def test_cklucb_plays_the_twins_arms(options, noise, arms):
    points = LINE if arms == "line" else PLANE
    twin_options = {
        key: value for key, value in options.items() if key not in ("divergence", "sigma")
    }
    if "divergence" in options:
        twin_options |= {"divergence": naive.gaussian(0.3), "top": 1e3}
    twin = naive.CKLUCB(metric(points), 0.7, **twin_options)
    given = {"points": points} if arms == "line" else {"distances": metric(points)}
    fed = (
        40 if options.get("loglog") == "theory" else 0
    )  # with few pulls all indices of that f(n) round to 1
    _, played = play(
        tr.CKLUCB(lipschitz=0.7, **options), twin, given, peaked(points), 250, noise, 3, fed=fed
    )
    assert (played > 1).sum() > 2


@pytest.mark.parametrize(
    ("margin", "arms", "seed"),
    [(1.0, "line", 3), (0.0, "plane", 4), (2.0, "line", 5), (1.0, "gaussian", 6)],
)
def test_a_learned_slope_is_the_twins_and_so_are_the_choices(margin, arms, seed):
    points = PLANE if arms == "plane" else LINE
    given = {"distances": metric(points)} if arms == "plane" else {"points": points}
    options, twin_options, noise = {}, {}, beta
    if arms == "gaussian":
        options, noise = {"divergence": "gaussian", "sigma": 0.3}, normal
        twin_options = {"divergence": naive.gaussian(0.3), "top": 1e3, "variance": 0.09}
    twin = naive.LearnedCKLUCB(metric(points), margin, **twin_options)
    policy = tr.CKLUCB(lipschitz="learned", margin=margin, **options)
    session, played = play(policy, twin, given, peaked(points), 300, noise, seed)
    assert (played > 1).sum() > 2
    slope = session.explain()["lipschitz"]
    np.testing.assert_allclose(slope * metric(points), twin.reach, rtol=1e-12)


def test_a_margin_belongs_to_a_learned_slope():
    with pytest.raises(ValueError, match="lipschitz='learned'"):
        tr.CKLUCB(lipschitz=1.0, margin=2.0)


@pytest.mark.parametrize(
    ("options", "gaussian", "seed"),
    [
        ({}, False, 4),
        ({"epsilon": 0.3, "gamma": 0.2}, False, 5),
        ({"epsilon": 0.05}, True, 6),
    ],
)
def test_ossb_plays_the_twins_arms(options, gaussian, seed):
    kind = {"divergence": "gaussian", "sigma": 0.3} if gaussian else {}
    twin_kind = {"divergence": naive.gaussian(0.3), "top": 1e3} if gaussian else {}
    twin = naive.OSSB(metric(LINE), 0.7, **options, **twin_kind)
    session, played = play(
        tr.OSSB(lipschitz=0.7, **options, **kind),
        twin,
        {"points": LINE},
        peaked(LINE),
        250,
        normal if gaussian else beta,
        seed,
    )
    assert (played > 1).sum() > 2
    assert session.explain()["programs_solved"] == twin.programs == 250 - LINE.size


@pytest.mark.parametrize("gaussian", [False, pytest.param(True, marks=thorough)])
def test_oslb_plays_the_twins_arms_and_solves_only_when_it_explores(gaussian):
    options = {"divergence": "gaussian", "sigma": 0.3} if gaussian else {}
    twin_options = {"divergence": naive.gaussian(0.3), "top": 1e3} if gaussian else {}
    twin = naive.OSLB(metric(LINE), 0.7, epsilon=0.5, **twin_options)
    policy = tr.OSLB(lipschitz=0.7, epsilon=0.5, **options)
    session, played = play(
        policy, twin, {"points": LINE}, peaked(LINE), 250, normal if gaussian else beta, 4
    )
    assert (played > 1).sum() > 2
    assert session.explain()["programs_solved"] == twin.programs < 250 - LINE.size


def test_track_cklucb_plays_the_twins_arms():
    twin = naive.TrackCKLUCB(metric(LINE), 0.7, patience=0.3)
    session, played = play(
        tr.TrackCKLUCB(lipschitz=0.7, patience=0.3),
        twin,
        {"points": LINE},
        peaked(LINE),
        250,
        beta,
        6,
    )
    assert (played > 1).sum() > 2
    assert session.explain()["programs_solved"] == twin.programs > 0


def test_hoo_and_zooming_play_the_twins_arms():
    points = np.sort(np.random.default_rng(8).random(40))
    for policy, twin in (
        (tr.HOO(nu=0.8, rho=0.6), lambda choose: naive.grow_hoo(points, 0.8, 0.6, choose, 300)),
        (tr.Zooming(lipschitz=30.0), lambda choose: naive.zoom(points, 30.0, 300, choose, 300)),
    ):
        rewards = np.random.default_rng(9).random(300).tolist()
        session, played = tr.Session(policy, points=points, horizon=300), []
        for reward in rewards:
            played.append(session.select())
            session.update(played[-1], reward * peaked(points)[played[-1]])
        left = iter(rewards)
        assert played == twin(lambda arm, left=left: next(left) * peaked(points)[arm])
        assert len(set(played)) > 8


def test_the_proof_that_nothing_rivals_the_leader_changes_no_decision():
    """A mask switches the proof off: one context with all its arms eligible is the same bandit."""
    points = np.linspace(0, 1, 17)
    means = 0.9 - 1.6 * np.abs(points - 0.5)
    with_proof = tr.problems.Lipschitz(points, means, lipschitz=1.6)
    without = tr.problems.ContextualLipschitz([0.0], points, means[None], (0.0, 1.6))
    for name in ("CKLUCB", "OSLB", "TrackCKLUCB"):
        first = tr.simulate(
            with_proof,
            {"a": getattr(tr, name)(lipschitz=1.6)},
            horizon=20_000,
            replications=2,
            seed=1,
        )
        second = tr.simulate(
            without, {"a": getattr(tr, name)(lipschitz=1.0)}, horizon=20_000, replications=2, seed=1
        )
        np.testing.assert_allclose(first.regret["a"], second.regret["a"], rtol=0, atol=1e-7)
        assert np.array_equal(first.pulls["a"], second.pulls["a"])


@pytest.mark.parametrize("name", ["CKLUCB", "OSLB", "OSSB"])
def test_contexts_offer_their_pairs_and_all_pairs_inform(name):
    contexts, points = np.array([0.0, 0.3, 1.0]), np.array([0.0, 0.2, 0.5, 0.9])
    distances = (
        np.abs(contexts[:, None, None, None] - contexts[None, None, :, None])
        + np.abs(points[None, :, None, None] - points)
    ).reshape(12, 12)
    means = (0.8 - 0.5 * np.abs(contexts[:, None] - points[None, :])).reshape(-1)
    twin = getattr(naive, name)(distances, 0.6)
    groups = np.repeat(np.arange(3), 4)
    _, played = play(
        getattr(tr, name)(lipschitz=0.6),
        twin,
        {"distances": distances},
        means,
        250,
        beta,
        5,
        groups,
    )
    assert (played > 0).all()


def test_cklucb_and_klucb_weigh_ln_ln_n_alike():
    """So that what one gains on the other is what the metric tells."""
    assert tr.CKLUCB(lipschitz=1.0).loglog == tr.KLUCB().c == 0.0
