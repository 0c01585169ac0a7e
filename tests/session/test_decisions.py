"""Decisions with names: their rewards may be late, repeated, missing, partial or in any order."""

import math
from functools import partial

import numpy as np
import pytest

import tightrope as tr
from session import histories
from tightrope.session import decisions
from tightrope.session.agent import UNPLAYABLE

X = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])


def test_a_decision_says_what_was_decided_and_why():
    session = tr.Session(tr.EpsilonGreedy(epsilon=0.3), arms=3, names=["a", "b", "c"], seed=1)
    first = session.decide(eligible=["b", "c"], id="order 17")
    assert (
        first.id,
        first.arm,
        first.name,
        first.propensity,
        first.propensity_se,
        first.round,
    ) == ("order 17", 2, "c", 0.5, 0.0, 1)
    assert first.context.eligible.tolist() == [False, True, True]
    with pytest.raises(AttributeError):
        first.arm = 0
    with pytest.raises(ValueError, match="read-only"):
        first.context.eligible[0] = True
    for arm in range(3):
        session.update(arm, 0.5 * arm)
    drawn = session.decide()
    assert drawn.propensity == pytest.approx(0.8 if drawn.arm == 2 else 0.1)
    assert "probability" in drawn.reason
    assert list(session.open) == [first.id, drawn.id] or list(session.open) == [drawn.id]


def test_an_id_given_twice_draws_nothing():
    session = tr.Session(tr.BetaThompson(), arms=5, seed=3)
    one = session.decide(eligible=np.ones(5, dtype=bool), id=7)
    before = session._agent.rng.bit_generator.state
    assert session.decide(id=7) is one
    assert session.decide(eligible=np.eye(5, dtype=bool)[0], id=7) is one
    assert session._agent.rng.bit_generator.state == before
    session.reward(7, 1.0)
    assert session.decide(id=7) == one
    assert session.decide(id=7).context is None
    session.decide(id="1")
    assert session.decide().id not in ("1", 7)
    for wrong in (1.5, True, "", None.__class__, [1]):
        with pytest.raises(ValueError, match="is not text or a whole number"):
            session.decide(id=wrong)


def test_rewards_are_given_once():
    session = tr.Session(tr.UCB(), arms=3)
    a, b = session.decide(id="a"), session.decide(id="b")
    assert session.reward(b.id, 1) is True
    assert session.reward("b", 1.0) is False
    before = histories.flatten(session.state)
    frozen = {key: value.copy() for key, value in before.items()}
    for id, value, words in (
        ("b", 0.5, "was rewarded with 1"),
        ("c", 0.5, "is not a decision of this session"),
        ("a", math.nan, "reward = nan"),
        ("a", None, "reward = None"),
        (0.5, 1.0, "is not text or a whole number"),
    ):
        with pytest.raises(ValueError, match=words):
            session.reward(id, value)
    for call in (session.cancel, session.close):
        with pytest.raises(ValueError, match="'b' is not an open decision"):
            call("b")
    assert all(
        np.array_equal(frozen[key], value)
        for key, value in histories.flatten(session.state).items()
    )
    assert session.open == {"a": a}
    session.close("a")
    with pytest.raises(ValueError, match="was closed without a reward"):
        session.reward("a", 0.0)
    assert session.state.pulls.sum() == 1


def test_a_cancelled_id_is_free_again():
    session = tr.Session(tr.UCB(), arms=3)
    session.decide(id="a")
    session.cancel("a")
    with pytest.raises(ValueError, match="not a decision"):
        session.reward("a", 1.0)
    assert session.decide(id="a").round == 2


def test_a_reward_belongs_to_the_features_of_its_round():
    """Also where it comes by `update` after later decisions."""
    rng = np.random.default_rng(0)
    rounds = [rng.normal(size=(3, 2)) for _ in range(3)]
    session, V, b = (
        tr.Session(tr.LinUCB(lam=1.0, intercept=False), arms=3, dimension=2),
        np.eye(2),
        np.zeros(2),
    )
    for arm, features in enumerate(rounds):
        assert session.select(features, eligible=np.arange(3) == arm) == arm
    for arm, value in ((1, 0.1), (0, 0.2), (2, 0.3)):
        session.update(arm, value, context=rounds[arm])
        x = rounds[arm][arm]
        V += np.outer(x, x)
        b += value * x
    np.testing.assert_allclose(session.explain(X)["mean"], X @ np.linalg.solve(V, b), atol=1e-12)
    with pytest.raises(
        ValueError,
        match=r"context is missing: the last decision is not an open one "
        r"of arm 0, "
        r"and rounds "
        r"have shown",
    ):
        session.update(0, 1.0)
    session.update(0, 1.0, context=rounds[0])
    assert session.rounds == 4


def test_a_lost_reward_does_not_shift_the_others():
    """One visitor in twenty never answers; with the oldest decision of the arm, the coefficient 1.0
    was learned as .02."""
    rng, coefficients = np.random.default_rng(5), np.array([1.0, -0.5])
    session = tr.Session(tr.LinUCB(lam=1.0), arms=3, dimension=2)
    for _ in range(400):
        features = rng.normal(size=(3, 2))
        arm = session.select(features)
        if rng.random() < 0.95:
            session.update(arm, float(features[arm] @ coefficients))
    np.testing.assert_allclose(
        session.explain(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))["mean"][:2],
        coefficients,
        atol=0.05,
    )


def test_a_reward_with_another_context_is_data():
    session = tr.Session(tr.LinUCB(), arms=2, dimension=1)
    session.select([[1.0], [0.0]])
    session.update(0, 1.0, context=[[2.0], [0.0]])
    assert (session.rounds, len(session.open)) == (1, 1)
    session.update(0, 1.0, context=[[1.0], [0.0]])
    assert (session.rounds, len(session.open)) == (2, 0)


@pytest.mark.parametrize(
    "given",
    [
        {"arms": 2},
        {"arms": 2, "window": 9, "default_reward": 0.0},
        {"arms": 2, "apply": "in order"},
    ],
)
def test_a_decision_of_select_is_open_until_the_next_one(given):
    """Whether it is only counted, or has a round of its own."""
    for mask in (None, [True, True]):
        session = tr.Session(tr.UCB(), **given)
        for _ in range(3):
            arms = [session.select(eligible=mask) for _ in range(5)]
            assert session.waiting == 1
            session.update(arms[-1], 1.0)
            session.update(arms[-1], 1.0)  # data
        assert (session.decided, session.rounds, session.waiting) == (15, 6, 0)
        session.select(eligible=mask)
        session.decide_many(number=3)
        assert session.waiting == 3
        arm = session.select(eligible=mask)
        for one in (session, tr.Session.from_bytes(session.to_bytes())):
            assert one.waiting == 4
            one.update(1 - arm, 0.5)  # data
            one.update(arm, 0.5)
            assert (one.waiting, one.rounds) == (3, 7 if "apply" in given else 8)


def test_update_with_a_context_closes_the_decision_of_that_round():
    session = tr.Session(tr.LinUCB(), arms=3, dimension=2)
    other = X + 1.0
    first, second = session.decide(X), session.decide(other)
    session.update(second.arm, 1.0, context=other)
    assert list(session.open) == [first.id]
    session.update(first.arm, 1.0, context=5.0 * X)  # of no decision: data from elsewhere
    assert list(session.open) == [first.id]


def test_windows_expire_with_the_default_reward():
    session = tr.Session(tr.UCB(), arms=3, window=2, default_reward=0.25)
    made = [session.decide() for _ in range(5)]
    assert list(session.open) == [d.id for d in made[2:]]
    assert session.state.sums.sum() == 0.5
    assert session.reward(made[0].id, 0.25) is False
    with pytest.raises(ValueError, match=r"was expired with 0\.25"):
        session.reward(made[0].id, 1.0)
    assert session.expire(older_than=0) == [d.id for d in made[2:4]]
    plain = tr.Session(tr.UCB(), arms=3)
    plain.decide()
    plain.decide()
    with pytest.raises(ValueError, match="default_reward is missing"):
        plain.expire(older_than=0)
    with pytest.raises(ValueError, match="older_than is missing"):
        plain.expire()
    for wrong, words in (
        ({"window": 5}, "default_reward, which is missing"),
        ({"window": 0, "default_reward": 0}, "window = 0"),
        ({"default_reward": math.inf}, "default_reward = inf"),
        ({"apply": "later"}, "apply = 'later' is not one of 'on arrival', 'in order'"),
        ({"names": ["a", "a", "b"]}, "'a' twice"),
        ({"names": ["a", "b"]}, "names has 2 entries, but there are 3 arms"),
        ({"names": "abc"}, "is not a list of names"),
        ({"names": ["a", 1, "b"]}, r"names\[1\] = 1 is not text"),
    ):
        with pytest.raises(ValueError, match=words):
            tr.Session(tr.UCB(), arms=3, **wrong)
    with pytest.raises(ValueError, match=r"default_reward = 2 is not a number in \[0, 1\]"):
        tr.Session(tr.KLUCB(), arms=3, default_reward=2)


def test_in_order_holds_a_reward_back_until_all_earlier_decisions_are_closed():
    session = tr.Session(tr.UCB(), arms=4, apply="in order")
    _, b, c, _ = (session.decide(id=name) for name in "abcd")
    assert session.reward("c", 1.0)
    assert session.reward("b", 0.5)
    assert session.rounds == 0
    assert list(session.open) == ["a", "d"]
    assert session.reward("c", 1.0) is False
    with pytest.raises(ValueError, match="was rewarded with 1"):
        session.reward("c", 0.0)
    with pytest.raises(ValueError, match="not an open decision"):
        session.cancel("c")
    session.cancel("a")
    assert session.rounds == 2
    assert session.state.sums[c.arm] == 1.0 + 0.5 * (b.arm == c.arm)
    assert list(session.open) == ["d"]


def test_sets_are_answered_in_parts():
    session = tr.Session(
        tr.C2UCB(intercept=False), arms=np.eye(4), oracle=tr.oracles.TopK(3), names=list("abcd")
    )
    made = session.decide(id="mail")
    assert made.name == ("a", "b", "c")
    assert made.propensity.tolist() == [1.0, 1.0, 1.0]
    assert session.reward("mail", {"c": 1.0, 0: 0.5})
    assert session.reward("mail", {"c": 1.0}) is False
    for wrong, words in (
        ({"c": 0.0}, "was rewarded with 1 for arm 2"),
        ({"d": 0.0}, "arm = 'd' is not in decision 'mail'"),
        ({3: 0.0}, "arm = 3 is not in decision 'mail'"),
        ({"b": math.nan}, "nan"),
        ({"b": 0.25, "c": 0.0}, "was rewarded with 1 for arm 2"),
        ([1.0], "reward has 1 entries, but decision 'mail' has 3 arms"),
    ):
        with pytest.raises(ValueError, match=words):
            session.reward("mail", wrong)
    with pytest.raises(ValueError, match="close it instead"):
        session.cancel("mail")
    assert session.state.model.response[0].tolist() == [0.5, 0.0, 1.0, 0.0]
    session.close("mail")
    assert not session.open
    assert session.reward("mail", {"a": 0.5}) is False
    with pytest.raises(ValueError, match="closed without a reward"):
        session.reward("mail", {"b": 0.5})
    whole = session.decide(id=2)
    assert session.reward(2, [0.1, 0.2, 0.3])
    assert session.reward(2, dict(zip(whole.name, [0.1, 0.2, 0.3], strict=True))) is False
    session.decide(id=3)
    session.default_reward = 0.0
    session.reward(3, {int(session.open[3].arm[0]): 1.0})
    session.decide()
    assert session.expire(older_than=0) == [3]
    assert session.state.model.seen[0] == 8


def test_closed_decisions_are_forgotten_in_the_end(monkeypatch):
    monkeypatch.setattr(decisions, "REMEMBERED", 10)
    session = tr.Session(tr.UCB(), arms=3)
    for k in range(25):
        session.reward(session.decide(id=k).id, 0.5)
    assert list(session._book.closed) == list(range(15, 25))
    with pytest.raises(ValueError, match="closed too long ago"):
        session.reward(3, 0.5)


def test_the_callers_arrays_stay_the_callers():
    session = tr.Session(tr.SoftUCB(), arms=X)
    mask = np.array([True, True, False])
    made = session.decide(eligible=mask)
    mask[:] = [False, False, True]
    assert (
        session._book.last.context.eligible.tolist()
        == made.context.eligible.tolist()
        == [True, True, False]
    )
    features = X.copy()
    session = tr.Session(tr.LinUCB(), arms=3, dimension=2)
    made = session.decide(features)
    features[:] = np.nan
    assert session.reward(made.id, 1.0)
    assert np.isfinite(session.explain(X)["mean"]).all()


def test_the_policy_is_checked_where_it_answers(monkeypatch):
    session = tr.Session(tr.UCB(), arms=2)
    for answer in (-1, 2):
        monkeypatch.setattr(
            session._agent,
            "propose",
            lambda seen, answer=answer: (answer, UNPLAYABLE, True),
            raising=False,
        )
        with pytest.raises(
            ValueError,
            match=f"UCB's select returned arm {answer}, but arms are 0 to 1 and must be eligible",
        ):
            session.decide()
    assert session.decided == 0


@pytest.mark.parametrize(
    "kind", ["UCB in order", "LinTS, new features", "C2UCB in order", "LinUCB, catalogue", "CUCB2"]
)
def test_a_file_in_the_middle_changes_nothing(kind, tmp_path):
    """Bit for bit: state, open decisions, answers to old ids, and what comes next."""
    for seed in range(3):
        session, _ = histories.run(kind, seed, tmp_path / "a.npz", steps=40)
        again = tr.Session.load(session.save(tmp_path / "b.npz"))
        assert list(again.open.values()) == list(session.open.values())
        assert [c.decision for c in again._book.closed.values()] == [
            c.decision for c in session._book.closed.values()
        ]
        features = (
            np.random.default_rng(1).normal(size=(5, 3)) / 3 if session._rounds.changing else None
        )
        for step in range(10):
            first, second = session.decide(features), again.decide(features)
            assert first == second
            assert np.array_equal(first.arm, second.arm)
            assert np.array_equal(first.propensity, second.propensity, equal_nan=True)
            value = 0.5 if not isinstance(first.arm, np.ndarray) else [0.5] * len(first.arm)
            if step % 2:
                session.reward(first.id, value)
                again.reward(second.id, value)
        assert histories.same_state(session, again)


@pytest.mark.parametrize(
    ("policy", "arms"),
    [
        (tr.LinUCB(), {"arms": 3, "dimension": 2}),
        (tr.LinTS(), {"arms": np.eye(3)[:, :2]}),
        (tr.LinUCB(), {"dimension": 2}),
    ],
)
def test_every_decision_is_asked_for_its_own_context(policy, arms):
    """A decision without one was made for the visitor before, silently."""
    session = tr.Session(policy, **arms, seed=0)
    session.decide(np.eye(3)[:, :2])
    for call in (
        session.decide,
        session.select,
        partial(session.decide, eligible=[True, False, True]),
        partial(session.decide_many, number=2),
        partial(session.decide, tr.Context(baseline=0)),
    ):
        with pytest.raises(ValueError, match="context is missing; pass this round's"):
            call()
    assert session.decided == 1
    assert session.explain()["mean"].size == 3  # of the last round, as it says
    fixed = tr.Session(tr.LinUCB(), arms=np.eye(3), seed=0)
    assert [fixed.decide().arm in range(3) for _ in range(2)] == [True, True]
