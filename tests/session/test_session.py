import os

import numba
import numpy as np
import pytest

import tightrope as tr
from tiers import thorough
from tightrope.session.codec import flatten

X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])


def snapshot(session):
    return {key: value.copy() for key, value in flatten(session.state).items()} | {
        "rounds": session.rounds,
        "rng": str(session._agent.rng.bit_generator.state),
    }


def unchanged(before, session):
    after = snapshot(session)
    return all(
        np.array_equal(
            np.asarray(before[key]),
            np.asarray(after[key]),
            equal_nan=np.asarray(before[key]).dtype.kind == "f",
        )
        for key in before
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.update(3, 1.0), r"arm = 3 is not a whole number from 0 to 2"),
        (lambda s: s.update(-1, 1.0), r"arm = -1 is not a whole number from 0 to 2"),
        (lambda s: s.update(1.5, 1.0), r"arm = 1.5 is not a whole number"),
        (
            lambda s: s.update(0, np.nan),
            r"reward = nan is not a number in (\(-inf, inf\)|\[-1e\+100, 1e\+100\])",
        ),
        (lambda s: s.update(0, np.inf), r"reward = inf is not a number"),
        (lambda s: s.update(0, "high"), r"reward = 'high' is not a number"),
        (lambda s: s.select(eligible=[False] * 3), r"eligible is False for all 3 arms"),
        (lambda s: s.select(eligible=[True]), r"eligible has type bool and shape \(1,\)"),
        (lambda s: s.select(eligible=[1, 0, 1]), r"eligible has type int64"),
        (
            lambda s: s.stopped,
            "UCB minimises regret and never stops|LinUCB minimises regret and never stops",
        ),
    ],
)
@pytest.mark.parametrize("policy", [tr.UCB(), tr.LinUCB()], ids=["UCB", "LinUCB"])
def test_bad_calls_change_nothing(policy, call, words):
    session = tr.Session(policy, arms=X if isinstance(policy, tr.LinUCB) else 3, seed=0)
    for _ in range(5):
        session.update(session.select(), 0.5)
    before = snapshot(session)
    with pytest.raises(ValueError, match=words) as caught:
        call(session)
    assert "\n" not in str(caught.value)
    assert unchanged(before, session)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tr.Session(tr.UCB(), arms=0), "arms = 0 is not a whole number from 1"),
        (lambda: tr.Session(tr.UCB()), "give exactly one of arms, points and distances; got none"),
        (lambda: tr.Session("UCB", arms=3), "policy = 'UCB' is not a policy"),
        (lambda: tr.Session(tr.LinUCB(), arms=3), "LinUCB plays by features, which 3 arms"),
        (lambda: tr.Session(tr.LinUCB(), arms=[[1.0, np.nan]]), r"arms\[0, 1\] = nan"),
        (
            lambda: tr.Session(tr.UCB(), arms=3).select(context=X),
            "UCB does not take features that change",
        ),
    ],
)
def test_bad_sessions_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_features_may_come_with_every_round():
    """A session given contexts agrees with ridge regression written out."""
    rng = np.random.default_rng(5)
    session = tr.Session(tr.LinUCB(lam=0.5, beta=1.3), arms=X, seed=0)
    V, b = 0.5 * np.eye(2), np.zeros(2)
    for t in range(200):
        features = rng.normal(size=(3, 2))
        scores = features @ np.linalg.solve(V, b) + 1.3 * np.sqrt(
            np.einsum("ki,ij,kj->k", features, np.linalg.inv(V), features)
        )
        arm = session.select(context=features)
        assert arm == np.argmax(scores), t
        reward = features[arm] @ [0.3, -0.2] + 0.1 * rng.normal()
        session.update(arm, reward)
        V += np.outer(features[arm], features[arm])
        b += reward * features[arm]
    report = session.explain(context=X)
    assert report["mean"] == pytest.approx(X @ np.linalg.solve(V, b), rel=1e-10)
    with pytest.raises(ValueError, match=r"context has shape \(2, 2\), but must have 3 rows"):
        session.select(context=X[:2])
    late = tr.Session(tr.LinUCB(), arms=X, seed=0)
    late.update(0, 1.0)
    with pytest.raises(ValueError, match="has learned with fixed arms"):
        late.select(context=X)


def test_late_rewards_in_any_order_give_the_same_estimates():
    feedback = [(0, 0.2), (2, 0.9), (1, 0.4), (2, 0.7), (0, 0.1)]
    here, there = tr.Session(tr.LinUCB(), arms=X), tr.Session(tr.LinUCB(), arms=X)
    for arm, reward in feedback:
        here.update(arm, reward)
    for arm, reward in reversed(feedback):
        there.update(arm, reward)
    first, second = here.explain(), there.explain()
    for key in ("mean", "width", "index"):
        assert first[key] == pytest.approx(second[key], rel=1e-12)


def test_files_that_are_not_sessions_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        tr.Session.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ValueError, match="is not a session file"):
        tr.Session.load(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", a=np.arange(3))
    with pytest.raises(ValueError, match="is not a session file"):
        tr.Session.load(tmp_path / "other.npz")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    session = tr.Session(tr.UCB(), arms=3, seed=0)
    path = session.save(tmp_path / "s.npz")
    old = path.read_bytes()
    session.update(0, 1.0)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        session.save(path)
    assert path.read_bytes() == old
    assert [item.name for item in tmp_path.iterdir()] == ["s.npz"]


@pytest.mark.parametrize("policy", [tr.KLUCB(), tr.BetaThompson()], ids=repr)
def test_rewards_outside_the_unit_interval_are_refused(policy):
    session = tr.Session(policy, arms=3, seed=0)
    before = snapshot(session)
    with pytest.raises(ValueError, match=r"reward = 1.5 is not a number in \[0, 1\]"):
        session.update(0, 1.5)
    assert unchanged(before, session)
    with pytest.raises(
        ValueError,
        match=r"takes rewards in \[0, 1\], but this problem pays rewards in \(-inf, inf\)",
    ):
        tr.simulate(tr.problems.Gaussian([0.2, 0.4]), policy, horizon=10)
    tr.Session(tr.KLUCB(divergence="gaussian"), arms=3).update(0, 1.5)


def test_a_refused_context_and_an_explanation_change_nothing():
    X = np.array([[1, 0], [0.6, 0.8], [0, 1.0]])

    def total(asked):
        session = tr.Session(tr.CLUCB2T(baseline=0, checkpoint=50, alpha=0.3, sigma=0.05), arms=X)
        if asked:
            with pytest.raises(ValueError, match="norm"):
                session.select(context=np.full((3, 2), 9.0))
            session.explain(context=X)
        for _ in range(20):
            session.update(0, 0.6)
        return session.explain()["total"]

    assert total(True).tolist() == total(False).tolist()
    session = tr.Session(tr.LinUCB(), arms=X)
    session.explain(context=X)
    session.update(0, 0.5)
    with pytest.raises(ValueError, match="fixed arms"):
        session.select(context=X)


@thorough
def test_the_baseline_of_the_last_choice_is_remembered():
    session = tr.Session(tr.CLUCB2(), arms=3, dimension=3)
    session.select(context=tr.Context(features=np.eye(3), baseline=1, baseline_mean=0.5))
    assert "baseline" in session.explain()["reason"]


def test_the_mask_of_the_last_choice_is_remembered(tmp_path):
    X = np.random.default_rng(0).normal(size=(6, 2))
    mask = np.array([True, True, False, False, False, False])

    def beta(given):
        session = tr.Session(
            tr.SoftUCB(online=True, eta=0, step=1.0, timing="fresh"), arms=X, horizon=100
        )
        for t in range(40):
            arm = session.select(eligible=mask)
            if t == 20:
                session.save(tmp_path / "s")
                session = tr.Session.load(tmp_path / "s")
            session.update(arm, 0.1 * arm, context=tr.Context(eligible=mask) if given else None)
        return session.explain(eligible=mask)["beta"]

    assert beta(True) == beta(False)


def test_a_changing_baseline_whose_mean_is_unknown_needs_features():
    session = tr.Session(tr.CUCB2(), arms=3)
    with pytest.raises(ValueError, match="baseline_mean is missing"):
        session.select(context=tr.Context(baseline=1))


def test_all_random_streams_have_one_type_that_is_not_made_again():
    first, second = (numba.typeof(np.random.default_rng(seed)) for seed in (0, 1))
    assert first is second
    assert first == numba.types.NumPyRandomGeneratorType(0)
