"""Rewards in another unit and with another zero: the same decisions, whatever the form of the
regression and whatever happens to a session.

In the first test rewards are multiples of 2^-10, units powers of two and zeros whole multiples of
the unit, so that the rewards themselves are exact, and decisions must be equal to the bit. In the
second unit and zero are any that leave a reward at least five digits; decisions are equal there but
for those whose chances the lost digits tell apart, of which these worlds have none.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import tightrope as tr

ROUNDS, K, DIMENSION, SEED = 40, 5, 3, 3
FIXED, FEW, NEW, ONE = (
    "fixed arms",
    "more features than arms",
    "new features",
    "one context for all arms",
)
POLICIES = {
    "LinUCB": (tr.LinUCB(), (FIXED, FEW, NEW, ONE)),
    "LinTS": (tr.LinTS(), (FIXED, FEW, NEW, ONE)),
    "SoftUCB": (tr.SoftUCB(), (FIXED, FEW, NEW, ONE)),
    "SquareCB": (tr.SquareCB(), (FIXED, NEW)),
    "LinEpsilonGreedy": (tr.LinEpsilonGreedy(), (FIXED, NEW)),
    "LinUCB that forgets": (tr.LinUCB(forget=0.95), (FIXED, FEW, NEW)),
    "LinTS that forgets": (tr.LinTS(forget=0.95), (FIXED, FEW, NEW)),
    "LinUCB, a model per arm": (tr.LinUCB(shared=False), (FIXED, NEW)),
    "LinTS, a model per arm": (tr.LinTS(shared=False), (FIXED, NEW)),
    "C2UCB": (tr.C2UCB(), (FIXED, NEW)),
    "CombTS": (tr.CombTS(), (FIXED, NEW)),
    "CombLinUCB": (tr.CombLinUCB(), (FIXED, NEW)),
    "CombLinTS": (tr.CombLinTS(), (FIXED, NEW)),
}
CASES = [(name, form) for name, (_, forms) in POLICIES.items() for form in forms]
ADDED_UP = [
    (name, form)
    for name, form in CASES
    if name not in ("SquareCB", "SoftUCB") and "forgets" not in name
]  # what they learn are sums, which can be merged


class World:
    """Rewards of a session, in a unit and with a zero: linear in the features of the arm, with
    noise."""

    def __init__(self, name, form, unit, zero):
        self.data = np.random.default_rng(SEED)
        self.sets, self.form, self.unit, self.zero = name.startswith("C"), form, unit, zero
        self.dimension = 9 if form == FEW else DIMENSION
        self.fixed = self.data.normal(size=(K + 1, self.dimension))
        self.choices = []

    def session(self, name):
        arms = (
            {"arms": K, "dimension": self.dimension}
            if self.form in (NEW, ONE)
            else {"arms": self.fixed[:K]}
        )
        oracle = {"oracle": tr.oracles.TopK(2)} if self.sets else {}
        return tr.Session(POLICIES[name][0], seed=SEED, **arms, **oracle)

    def reward(self, row):
        exact = (
            round(1024.0 * (float(row.sum()) / self.dimension + self.data.normal(scale=0.3)))
            / 1024.0
        )
        return self.zero + self.unit * exact

    def decide(self, session):
        """A decision's id and its reward; the choice is noted."""
        if self.form == ONE:
            rows = self.data.normal(size=self.dimension)
            decision = session.decide(rows)
        elif self.form == NEW:
            rows = self.data.normal(size=(session.arms.number, self.dimension))
            decision = session.decide(rows)
        else:
            rows, decision = self.fixed, session.decide()
        if self.sets:
            arms = [int(arm) for arm in decision.arm]
            self.choices.append(sorted(arms))
            return decision.id, {arm: self.reward(rows[arm]) for arm in arms}
        self.choices.append(int(decision.arm))
        return decision.id, self.reward(rows if self.form == ONE else rows[decision.arm])


def lived(name, form, unit, zero):
    """The choices of a session whose rewards come late and out of order; it loses some, is saved
    and grows."""
    world = World(name, form, unit, zero)
    session, late = world.session(name), []
    for t in range(ROUNDS):
        late.append(world.decide(session))
        if t % 7 == 6:
            session.cancel(late.pop()[0])
        if t % 3 == 2:
            while late:
                session.reward(*late.pop())
        if t == ROUNDS // 2:
            session = tr.Session.from_bytes(session.to_bytes())
            if form in (FIXED, FEW):
                session.add_arms(features=world.fixed[K:])
            else:
                session.add_arms(number=1)
    return world.choices


def merged(name, form, unit, zero):
    """The choices of a session that takes in what two others have learned."""
    world = World(name, form, unit, zero)
    session = world.session(name)
    session.reward(*world.decide(session))
    for _ in range(2):
        other = world.session(name)
        for _ in range(12):
            other.reward(*world.decide(other))
        session.merge(other)
    for _ in range(12):
        session.reward(*world.decide(session))
    return world.choices


@pytest.mark.parametrize(("name", "form"), CASES)
def test_exact_units_and_zeros_change_no_decision(name, form):
    usual = lived(name, form, 1.0, 0.0)
    for unit, zero in (
        (2.0**20, 0.0),
        (2.0**-20, 0.0),
        (1.0, 1e6),
        (2.0**-10, -999_999 * 2.0**-10),
        (2.0**13, 77 * 2.0**13),
    ):
        assert lived(name, form, unit, zero) == usual, (unit, zero)


UNITS, ZEROS = st.floats(1e-6, 1e6), st.floats(-1e6, 1e6)


def any_zero(zero, unit):
    """A zero that leaves a small unit its digits."""
    return zero * max(unit, 1e-3)


@settings(max_examples=30, deadline=None)
@given(case=st.sampled_from(CASES), unit=UNITS, zero=ZEROS)
@example(case=("LinUCB", FIXED), unit=1e6, zero=1e6)
def test_no_unit_and_no_zero_changes_a_decision(case, unit, zero):
    assert lived(*case, unit, any_zero(zero, unit)) == lived(*case, 1.0, 0.0)


@settings(max_examples=30, deadline=None)
@given(case=st.sampled_from(ADDED_UP), unit=UNITS, zero=ZEROS)
def test_nor_one_of_sessions_that_are_merged(case, unit, zero):
    assert merged(*case, unit, any_zero(zero, unit)) == merged(*case, 1.0, 0.0)


def test_a_policy_with_a_width_in_the_unit_of_rewards_is_seen_to_depend_on_it():
    POLICIES["beta"] = (tr.LinUCB(beta=0.5), (FIXED,))
    try:
        assert lived("beta", FIXED, 1000.0, 0.0) != lived("beta", FIXED, 1.0, 0.0)
    finally:
        del POLICIES["beta"]
