"""`follow`: a log's decisions made once more."""

import numpy as np
import pytest

import tightrope as tr
from tightrope.session.codec import flatten

ROUNDS = [np.random.default_rng(n).normal(size=(4, 2)) for n in range(25)]


def same(one, other):
    a, b = flatten(one.state), flatten(other.state)
    return a.keys() == b.keys() and all(a[name].tobytes() == b[name].tobytes() for name in a)


@pytest.mark.parametrize(
    "policy", [tr.LinTS(scale=0.3), tr.Explore(tr.LinUCB(), floor=0.05)], ids=repr
)
def test_following_a_log_draws_as_it_did_and_goes_on_bit_for_bit(policy):
    live, replayed = (
        tr.Session(policy, arms=4, dimension=2, seed=1, default_reward=0.0) for _ in range(2)
    )
    for n, features in enumerate(ROUNDS):
        made = live.decide(features, id=n)
        assert replayed.follow(
            made.arm, n, features, propensity=made.propensity, propensity_se=made.propensity_se
        )
        assert replayed.open[n] == made and replayed.open[n].propensity == made.propensity
        if n % 2:
            live.reward(n, 0.5)
            replayed.reward(n, 0.5)
        else:
            live.expire(ids=[n])
            replayed.expire(ids=[n])
    assert same(live, replayed)
    after = [each.decide(ROUNDS[0]) for each in (live, replayed)]
    assert (
        after[0].arm == after[1].arm and after[0].propensity == after[1].propensity
    )  # its Monte Carlo draws too


def test_the_arm_of_the_log_is_taken_where_the_session_would_have_drawn_another():
    session = tr.Session(tr.EpsilonGreedy(epsilon=0.5), arms=3, seed=0)
    own = session.view().select()  # the view draws from the same stream, so put it back
    session = tr.Session(tr.EpsilonGreedy(epsilon=0.5), arms=3, seed=0)
    other = (own + 1) % 3
    assert not session.follow(other, "a")
    session.reward("a", 1.0)
    assert session.explain()["mean"][other] == 1.0
    with pytest.raises(ValueError, match="decided already"):
        session.follow(other, "a")
    before = session._agent.rng.bit_generator.state
    with pytest.raises(ValueError, match="arm = 7"):
        session.follow(7, "b")
    assert session._agent.rng.bit_generator.state == before and not session.open


def test_expiring_by_id_and_forgetting_a_round():
    session = tr.Session(tr.LinUCB(), arms=4, dimension=2, seed=0, default_reward=0.25)
    session.decide(ROUNDS[0], id="a")
    session.decide(ROUNDS[1], id="b")
    with pytest.raises(ValueError, match="not an open decision"):
        session.expire(ids=["b", "c"])
    assert session.expire(ids=["b"]) == ["b"] and session.is_open("a") and not session.is_open("b")
    session.forget_round()
    with pytest.raises(ValueError, match="context is missing"):
        session.decide()
    again = tr.Session.from_bytes(session.to_bytes())
    assert again.reward("a", 1.0) and session.reward("a", 1.0) and same(again, session)
    with pytest.raises(ValueError, match="not a session file"):
        tr.Session.from_bytes(b"PK")
