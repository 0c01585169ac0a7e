"""The guarantee around policies over sets against its slow twin: late rewards, partial answers,
cancelled decisions."""

import numpy as np
import pytest

import tightrope as tr
from naive import safe_sets_policy as naive
from tightrope.core.verbs import select

N, D, K = 14, 3, 3
GIVEN = {"alpha": 0.25, "delta": 0.05, "sigma": 0.15, "lam": 0.6}


def arms(seed):
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(N, D)))
    return X / np.linalg.norm(X, axis=1)[:, None] * rng.uniform(0.4, 1.0, (N, 1)), np.full(
        D, D**-0.5
    )


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("period", [1, 7])
@pytest.mark.parametrize("seed", range(4))
def test_same_sets_and_bounds_as_the_twin(seed, period, known):
    X, theta = arms(seed)
    rng = np.random.default_rng([seed, 1])
    baseline = np.argsort(-X @ theta)[[2, 3, 5]].tolist()
    v = float((X[baseline] @ theta).sum()) if known else None
    policy = tr.SafeSets(
        tr.C2UCB(alpha=0.4), baseline=baseline, baseline_mean=v, checkpoint=period, **GIVEN
    )
    session = tr.Session(policy, arms=X, oracle=tr.oracles.TopK(K), seed=seed)
    twin = naive.SafeSets(X, K, baseline, v, period=period, **GIVEN)
    waiting, events = [], []
    for t in range(130):
        wanted = select(policy.inner, session.state.inner, session._rounds.last, session._agent.rng)
        explained = session.explain()
        assert explained["total"] == pytest.approx(twin.left(wanted), abs=1e-8)
        decision = session.decide(id=t)
        assert sorted(decision.arm.tolist()) == twin.admit(wanted.tolist()), t
        waiting.append((decision, twin.commit(decision.arm.tolist())))
        events.append(explained["event"])
        if t % 11 == 10:  # the last one was never shown
            gone, mirrored = waiting.pop()
            session.cancel(gone.id)
            assert twin.decisions.pop() is mirrored
        if t % 17 == 5:  # data from elsewhere
            arm = int(rng.integers(N))
            if not any(arm in d.arm for d, _ in waiting):
                session.update([arm], [0.5])
                twin.elsewhere.append((arm, 0.5))
        while len(waiting) > (t // 20) % 5 + 1:
            d, mirrored = waiting.pop(int(rng.integers(len(waiting))))
            rewards = {
                a: float(max(X[a] @ theta + 0.1 * rng.normal(), 0.0)) for a in d.arm.tolist()
            }
            parts = list(rewards.items())
            if set(d.arm.tolist()) & set(baseline) or t % 2:
                session.reward(d.id, rewards)
            else:  # in parts
                session.reward(d.id, dict(parts[:1]))
                session.reward(d.id, dict(parts[1:]))
            mirrored.answers |= rewards
    assert {"ucb", "baseline"} <= set(events)


def test_an_arm_of_the_baseline_that_is_answered_alone_is_not_credited():
    """It may belong to a round of the baseline, whose rewards do not count: the twin's sum is never
    below the ledger's."""
    X, theta = arms(0)
    baseline = np.argsort(-X @ theta)[[1, 2, 3]].tolist()
    policy = tr.SafeSets(tr.C2UCB(), baseline=baseline, baseline_mean=0.1, alpha=0.9, sigma=0.01)
    session = tr.Session(policy, arms=X, oracle=tr.oracles.TopK(K))
    own = next(
        d
        for d in (session.decide() for _ in range(200))
        if set(d.arm.tolist()) & set(baseline) and set(d.arm.tolist()) - set(baseline)
    )
    inside = [a for a in own.arm.tolist() if a in baseline]
    session.reward(own.id, {inside[0]: 1.0})
    assert session.state.ledger[0].rewards.sum() == 0.0
    session.reward(own.id, {a: 1.0 for a in own.arm.tolist() if a != inside[0]})
    assert session.state.ledger[0].rewards.sum() == K - 1


def test_safe_around_a_policy_over_sets_is_the_guarantee_for_sets():
    policy = tr.Safe(tr.C2UCB(), baseline=[2, 0], baseline_mean=0.5)
    assert isinstance(policy, tr.SafeSets)
    assert policy.baseline.tolist() == [0, 2]
    assert isinstance(tr.Safe(tr.UCB(), baseline=0), tr.policies.Safe)
    with pytest.raises(ValueError, match=r"baseline = .*must be distinct arms"):
        tr.SafeSets(tr.C2UCB(), baseline=[1, 1])
    with pytest.raises(ValueError, match="min_gap = 9 exceeds 4"):
        tr.SafeSets(tr.C2UCB(), baseline=[0, 1], checkpoint=4, min_gap=9)
    with pytest.raises(ValueError, match="baseline has arm 14"):
        tr.Session(
            tr.SafeSets(tr.C2UCB(), baseline=[1, 14]), arms=arms(0)[0], oracle=tr.oracles.TopK(K)
        )


def test_where_nothing_is_safe_and_the_baseline_cannot_be_played_it_says_so():
    X, _ = arms(1)
    session = tr.Session(
        tr.SafeSets(tr.C2UCB(), baseline=[0, 1, 2], baseline_mean=1.0, alpha=0.01),
        arms=X,
        oracle=tr.oracles.TopK(K),
    )
    mask = np.ones(N, dtype=bool)
    mask[0] = False
    report = session.explain(eligible=mask)
    assert report["event"] == "unsafe"
    assert "does not hold" in report["reason"]
    decision = session.decide(eligible=mask)
    assert 0 not in decision.arm
    assert "no arm is safe" in decision.reason
