"""Any interleaving of decisions, rewards, cancellations, expiries, files and arms that come and go
leaves what the rewards say."""

import os

import numpy as np
import pytest

import tightrope as tr
from session import histories, signalled
from tiers import tiered
from tightrope.session import codec

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # a signal in a call-back of others
HISTORIES = int(os.environ.get("TIGHTROPE_HISTORIES", "480"))  # 10000 before a release
LATER = (
    "CLUCB2",
    "CLUCB2T, lower",
    "CUCB, lower",
    "Safe",
    "SafePromises",
    "SoftUCB",
)  # thorough: most time to compile


@pytest.mark.parametrize("kind", tiered(sorted(histories.kinds()), LATER))
def test_a_session_equals_one_recomputed_from_its_history(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(
        os, "fsync", lambda handle: None
    )  # thousands of files need not survive a power cut
    wrong = {}
    for seed in range(HISTORIES // len(histories.kinds())):
        session, twin = histories.run(kind, seed, tmp_path / "s.npz")
        found = histories.differences(kind, session, twin)
        if found:
            wrong[seed] = found
    assert wrong == {}


@pytest.mark.parametrize("plain", [False, True], ids=["compiled", "plain"])
@pytest.mark.parametrize("kind", tiered(sorted(histories.kinds()), LATER))
def test_signals_copies_and_reloads_leave_the_bits_of_a_plain_agent(
    kind, plain, tmp_path, monkeypatch
):
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    for seed in range(max(1, HISTORIES // (12 * len(histories.kinds())))):
        assert signalled.disturbed(kind, seed, tmp_path, plain)[0] == [], seed


@pytest.mark.parametrize("kind", tiered(sorted(histories.kinds()), LATER))
def test_what_a_session_is_stands_in_its_file(kind, tmp_path, monkeypatch):
    """Saved and loaded after every call, it does what the one does that goes on in memory: choices,
    propensities, open decisions, state."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    for seed in range(max(1, HISTORIES // (12 * len(histories.kinds())))):
        one, _ = histories.run(kind, seed, tmp_path / "s.npz")
        other, _ = histories.run(
            kind, seed, tmp_path / "s.npz", between=lambda s: tr.Session.from_bytes(s.to_bytes())
        )
        told = [
            [
                (d.id, d.round, d.reason, d.name, np.array(d.propensity).tolist())
                for d in s.open.values()
            ]
            for s in (one, other)
        ]
        assert told[0] == told[1], seed
        states = [
            {name: value.tobytes() for name, value in codec.flatten(s.state).items()}
            for s in (one, other)
        ]
        assert states[0] == states[1], seed
        assert one._agent.rng.bit_generator.state == other._agent.rng.bit_generator.state, seed


def test_a_planted_difference_is_found(tmp_path):
    session, twin = histories.run("LinUCB", 1, tmp_path / "s.npz")
    k = next(i for i, item in enumerate(twin.events) if item[0] == "update")
    twin.events[k] = (*twin.events[k][:4], twin.events[k][4] + 1e-6)
    assert "mean" in histories.differences("LinUCB", session, twin)


@pytest.mark.parametrize("kind", tiered(sorted(histories.kinds()), LATER))
def test_a_cancelled_decision_leaves_no_trace(kind):
    policy, given, may = histories.kinds()[kind]
    features = np.random.default_rng(0).normal(size=(5, 3)) / 3 if "features" in may else None
    if "segments" in may:
        features = tr.Context(segment=1)
    reports = []
    for cancelled in (False, True):
        session = tr.Session(policy, **given, seed=3)
        size = 2 if session.arms.oracle is not None else 1
        for t in range(30):
            d = session.decide(features)
            arms = [(t + i) % 4 for i in range(size)]
            if cancelled:
                before = (
                    session._agent.rng.bit_generator.state
                )  # noise is used up, which is no trace of the decision
                session.cancel(session.decide(features).id)
                session._agent.rng.bit_generator.state = before
            if t % 3:
                session.cancel(d.id)
                session.update(
                    arms if size > 1 else arms[0],
                    [0.5] * size if size > 1 else 0.5,
                    context=features,
                )
            else:
                session.reward(d.id, [0.25] * size if size > 1 else 0.25)
        reports.append(session.explain(features))
    assert [
        key for key in reports[0] if not histories.close(reports[0][key], reports[1][key])
    ] == []
