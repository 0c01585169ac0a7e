"""The conservative family == its naive twin: the same arms, the same safe sets, the same sums, on random histories."""

import itertools

import numpy as np
import pytest

import tightrope as tr
from naive.classic_policies import NaiveUCB
from naive.conservative_policies import Naive
from standard import unit_rows
from tightrope.verbs import Context

ROUNDS = 160
BOUNDS = ("confidence", "martingale")
SELECTIONS = ("two-step", "largest-lower", "constrained")
CHECKPOINTS = ({}, {"checkpoint": 9}, {"checkpoint": [4, 30, 90]}, {"checkpoint": [10, 60], "min_gap": 9})


def twin_of(policy, K, X):
    p = type(policy).FIELDS
    shown = {name: field.decode(value) for (name, field), value in zip(p.items(), policy, strict=True)}
    T = shown["checkpoint"]
    return Naive(
        K, X, alpha=shown["alpha"], delta=shown["delta"], sigma=shown["sigma"], bound=shown["bound"], selection=shown["selection"],
        baseline_index=shown.get("baseline_index"), clip=shown["clip"], lam=shown["lam"], B=shown["theta_bound"], D=shown["arm_bound"],
        freedman=shown["martingale"] == "freedman", T=T if isinstance(T, int) else 1, listed=None if isinstance(T, int) else T,
        min_gap=shown["min_gap"], floor=shown["baseline_floor"], true_means=shown["true_means"],
    )  # fmt: skip


def follow(policy, means, X, noise, seed, rounds=ROUNDS):
    """Play both side by side; returns how often each event occurred."""
    K, b = means.size, policy.baseline
    mu = None if np.isnan(policy.baseline_mean) else policy.baseline_mean
    twin = twin_of(policy, K, X)
    session = tr.Session(policy, arms=K if X is None else X)
    data = np.random.default_rng(seed)
    events = set()
    for _ in range(rounds):
        (arm, in_S), safe, values = twin.decide(b, mu)
        report = session.explain()
        np.testing.assert_allclose(report["total"] + report["slack"], values, atol=1e-8)
        clear = np.abs(values) > 1e-7  # elsewhere the two sides are equal and rounding under a root decides
        assert (report["safe"] == safe)[clear].all()
        assert session.select() == arm == int(np.argmax(report["probability"]))
        assert ((report["event"] == "baseline") == (not in_S)) or arm != b
        events.add(report["event"])
        reward = float(means[arm] + noise * data.standard_normal())
        session.update(arm, reward)
        twin.feed(arm, reward, in_S, b, mu)
    return events


@pytest.mark.parametrize("kind", ["independent", "K < d", "d <= K"])
def test_same_arms_and_safe_sets_as_the_twin(kind):
    data = np.random.default_rng(2)
    seen = set()
    for number, (bound, selection, rounds, known) in enumerate(itertools.product(BOUNDS, SELECTIONS, CHECKPOINTS, (True, False))):
        if kind == "independent":
            K, X, means = 5, None, data.random(5) * 0.6 + 0.2
        else:
            K, d = (4, 6) if kind == "K < d" else (6, 4)
            theta = unit_rows(data, 1, d)[0]
            X = tr.problems.spread_arms(K, theta, data) * data.uniform(0.7, 1.0, (K, 1))  # of different lengths: no ties
            means = X @ theta
        b = int(np.argsort(means)[K // 2])
        policy = tr.Conservative(
            baseline=b, baseline_mean=float(means[b]) if known else None, alpha=0.4, delta=0.05, sigma=0.05, lam=0.3, bound=bound,
            selection=selection, baseline_index=("mean", "ucb")[number % 2], clip=("both", "paper")[number // 2 % 2],
            martingale=("freedman", "subgaussian")[number // 3 % 2], **rounds,
        )  # fmt: skip
        seen |= follow(policy, means, X, 0.05, number, rounds=60)
    assert seen == {"ucb", "safe-other", "baseline"}


@pytest.mark.parametrize("kind", ["independent", "features"])
def test_safe_plays_the_twins_arms(kind):
    """Safe's inner policy learns from every round, the guarantee from those in S."""
    data, events = np.random.default_rng(4), set()
    for bound, selection, rounds, known in itertools.product(BOUNDS, SELECTIONS, CHECKPOINTS, (True, False)):
        X, K, b = None, 5, 2
        means = data.random(K) * 0.6 + 0.2
        if kind == "features":
            theta = unit_rows(data, 1, 3)[0]
            X = tr.problems.spread_arms(K, theta, data) * data.uniform(0.7, 1.0, (K, 1))
            means = X @ theta
        mu = float(means[b]) if known else None
        policy = tr.Safe(
            tr.UCB(sigma=0.1), baseline=b, baseline_mean=mu, alpha=0.4, delta=0.05, sigma=0.05, lam=0.3, bound=bound, selection=selection,
            **rounds,
        )  # fmt: skip
        twin, inner = twin_of(policy, K, X), NaiveUCB(K, sigma=0.1)
        session = tr.Session(policy, arms=K if X is None else X)
        for _ in range(60):
            arm, in_S = twin.admit(inner.select(), b, mu)
            report = session.explain()
            assert session.select() == arm
            events.add((report["event"], arm == b))
            reward = float(means[arm] + 0.05 * data.standard_normal())
            session.update(arm, reward)
            inner.update(arm, reward)
            twin.feed(arm, reward, in_S, b, mu)
    assert {("ucb", False), ("safe-other", False), ("baseline", True)} <= events


def test_oracle_bound_is_the_true_budget():
    means = np.array([0.3, 0.6, 0.5, 0.2])
    for selection in SELECTIONS:
        policy = tr.CUCB(baseline=2, baseline_mean=0.5, bound="oracle", true_means=means, selection=selection, sigma=0.2, alpha=0.1)
        assert "ucb" in follow(policy, means, None, 0.1, 1)


def test_changing_features_and_baselines():
    data = np.random.default_rng(5)
    theta = unit_rows(data, 1, 3)[0]
    for policy in (
        tr.CLUCB(alpha=0.3, sigma=0.1, lam=0.5),
        tr.CLUCB2(alpha=0.3, sigma=0.1, lam=0.5),
        tr.CLUCB2T(alpha=0.3, sigma=0.1, lam=0.5, checkpoint=7, baseline_floor=0.1, clip="paper"),
    ):
        twin = twin_of(policy, 5, np.zeros((5, 3)))
        twin.floor = 0.0 if twin.floor is None else twin.floor
        session = tr.Session(policy, arms=5, dimension=3)
        for _ in range(ROUNDS):
            twin.X = tr.problems.spread_arms(5, theta, data) * data.uniform(0.7, 1.0, (5, 1))
            means = twin.X @ theta
            b = int(data.integers(5))
            context = Context(twin.X, None, b, float(means[b]))
            (arm, in_S), safe, values = twin.decide(b, means[b])
            report = session.explain(context)
            np.testing.assert_allclose(report["total"] + report["slack"], values, atol=1e-8)
            assert report["safe"].tolist() == safe.tolist()
            assert session.select(context) == arm
            reward = float(means[arm] + 0.1 * data.standard_normal())
            session.update(arm, reward)  # of the round just selected: its features and its baseline
            twin.feed(arm, reward, in_S, b, means[b])
        assert 0 < session.state.ledger.explored[0] < ROUNDS
