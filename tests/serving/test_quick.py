"""Calls without the random stream: only where it is never read."""

import numba
import numpy as np
import pytest

import tightrope as tr
from tightrope.serving import quick
from tightrope.verbs import select


@pytest.mark.parametrize(
    ("policy", "drawing"),
    [
        (tr.LinUCB(), False),
        (tr.UCB(), False),
        (tr.LinTS(), True),
        (tr.EpsilonGreedy(epsilon=0.1), True),
        (tr.Explore(tr.UCB(), floor=0.1), True),
    ],
    ids=repr,
)
def test_which_policies_draw(policy, drawing):
    assert quick.draws(policy) is drawing


def test_a_select_that_hands_its_stream_on_draws(monkeypatch):
    kernels = [
        lambda policy, state, context, rng: rng.integers(3),
        lambda policy, state, context, rng: max(range(3), key=lambda arm: rng.random()),
        lambda policy, state, context, rng: (state, rng)[1].integers(3),
    ]
    for kernel in kernels:
        monkeypatch.setitem(select.table, tr.UCB, kernel)
        assert quick.draws(tr.UCB())
    monkeypatch.setitem(select.table, tr.UCB, lambda policy, state, context, rng: 0)
    assert not quick.draws(tr.UCB())


def test_a_session_without_the_stream_plays_what_it_plays_with_it():
    X = np.random.default_rng(0).normal(size=(6, 3))
    one, other = (tr.Session(tr.LinUCB(), arms=X, seed=0) for _ in range(2))
    other._draws = True
    rewards = np.random.default_rng(1).normal(size=30)
    for n, reward in enumerate(rewards):
        made = [session.decide(id=n) for session in (one, other)]
        assert made[0] == made[1] and made[0].arm == made[1].arm and made[0].propensity == made[1].propensity == 1.0
        for session in (one, other):
            session.reward(n, reward)
    assert one._rng.bit_generator.state == other._rng.bit_generator.state
    np.testing.assert_array_equal(one.explain()["index"], other.explain()["index"])


def test_the_type_of_a_stream_is_known_and_other_values_have_their_own():
    kernel = numba.njit(lambda value: value)
    typed = quick._quick(kernel.typeof_pyval)
    assert typed(np.random.default_rng(5)) == numba.typeof(np.random.default_rng(6))
    assert typed(2.5) == numba.float64 and typed(np.zeros(2)) == numba.typeof(np.zeros(2))
