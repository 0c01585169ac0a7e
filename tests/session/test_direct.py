"""Kernels that are called without Numba's look at the types: the same decisions to the bit, whatever happens to the state in between."""

import numpy as np
import pytest

import tightrope as tr
from standard import unit_rows
from tightrope.compiled.kernels import INTERPRETED
from tightrope.core import checks
from tightrope.session.codec import flatten
from tightrope.session.direct import Direct, may_draw

X = unit_rows(np.random.default_rng(0), 6, 3)
POLICIES = [tr.LinUCB(), tr.LinTS(scale=0.3), tr.BetaThompson(), tr.CUCB2(baseline=0, baseline_mean=0.4, alpha=0.3, sigma=0.2)]


class Asking(Direct):
    """Asks Numba every time."""

    def _look(self, verb, state, *rest):
        pass


def arms(policy):
    return X if isinstance(policy, tr.LinUCB | tr.LinTS) else 6


def play(session, seed, rounds=120):
    """Decisions, late rewards, cancellations, masks, explanations and new arms in a random order; returns all choices."""
    draw, chosen, open_ = np.random.default_rng(seed), [], []
    for t in range(rounds):
        mask = draw.random(session.arms.number) < 0.7 if draw.random() < 0.2 else None
        if mask is not None:
            mask[0] = True
        made = session.decide(eligible=mask)
        chosen.append(made.arm)
        open_.append(made.id)
        while len(open_) > 3:
            id = open_.pop(int(draw.integers(len(open_))))
            if draw.random() < 0.1:
                session.cancel(id)
            else:
                session.reward(id, float(draw.random()))
        if t % 40 == 20:
            session.explain()
        if t == 60 and type(session.policy) is tr.LinUCB:
            session.add_arms(["new"], np.full((1, 3), 0.5))
        if t % 30 == 5:
            free = set(range(6)) - {made.arm for made in session.open.values()}
            session.update(min(free), int(draw.integers(2)))  # another type of number, for no open decision
    return chosen


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)
def test_the_same_to_the_bit_as_asking_every_time(policy):
    names = [f"arm {k}" for k in range(6)]
    direct, asking = (tr.Session(policy, arms=arms(policy), names=names, seed=3) for _ in range(2))
    asking._direct = Asking(policy)
    assert play(direct, 1) == play(asking, 1)
    first, second = flatten(direct.state), flatten(asking.state)
    assert first.keys() == second.keys()
    for key, value in first.items():
        np.testing.assert_array_equal(value, second[key])


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_a_session_without_contexts_calls_directly_and_a_state_from_elsewhere_is_looked_at():
    session = tr.Session(tr.LinUCB(), arms=X, seed=0)
    for _ in range(3):
        session.reward(session.decide().id, 0.5)
    kept = session._direct
    assert {verb.__name__ for verb in kept._compiled} == {"select", "update"}
    assert kept._state is session.state
    session.select(eligible=[True] * 5 + [False])
    session.update(0, 1)
    assert kept._state is not session.state  # it came by Numba's way
    session.select()
    assert session.view()._direct._state is None


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_a_state_of_other_types_is_not_given_to_what_was_compiled_for_the_first():
    direct = Direct(tr.UCB())
    first = tr.Session(tr.UCB(), arms=3)
    seen = tr.Context()
    rng = np.random.default_rng(0)
    assert direct.select(first.state, seen, rng) == 0
    assert direct._state is first.state
    other = type(first.state)(*(np.asfortranarray(np.stack([x, x]).T)[:, 0] if x.ndim == 1 else x for x in first.state))
    assert direct.select(other, seen, rng) == 0  # strided arrays, by Numba's way
    assert direct._state is first.state


def test_which_policies_may_draw():
    """That the others do not is in the contract of every policy."""
    chance = [tr.LinTS(), tr.BetaThompson(), tr.EpsilonGreedy(), tr.Safe(tr.LinTS(), baseline=0, baseline_mean=0.3, alpha=0.1)]
    certain = [tr.UCB(), tr.KLUCB(), tr.LinUCB(), tr.LinGapE(), tr.CUCB2(baseline=0, baseline_mean=0.4, alpha=0.3, sigma=0.2)]
    assert all(map(may_draw, chance))
    assert not any(map(may_draw, certain))


@pytest.mark.parametrize("policy", [tr.UCB, tr.BetaThompson])
def test_a_stream_is_where_it_was_when_a_choice_is_refused(policy, monkeypatch):
    session = tr.Session(policy(), arms=3, seed=0)
    before = session._rng.bit_generator.state
    monkeypatch.setattr(session, "_checked_action", lambda action, seen: checks.integer("action", -1, least=0))
    with pytest.raises(ValueError, match="action = -1"):
        session.decide()
    assert session._rng.bit_generator.state == before
    assert session.decided == 0
