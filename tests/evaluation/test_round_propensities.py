"""A session's chances in many rounds at once are those of one round after the other."""

import numpy as np
import pytest

import tightrope as tr
from tightrope.session import round_propensities
from tightrope.session.round_propensities import certain_choices, propensities_of_rounds

POLICIES = {
    "LinUCB": (tr.LinUCB(), True),
    "LinUCB, a model per arm": (tr.LinUCB(shared=False), True),
    "LinUCB, fading": (tr.LinUCB(forget=0.9), True),
    "LinEpsilonGreedy": (tr.LinEpsilonGreedy(), False),  # has chances of its own
    "SoftUCB": (tr.SoftUCB(), False),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_many_rounds_at_once_are_one_after_another(name, common, masked):
    policy, together = POLICIES[name]
    if common and getattr(policy, "forget", 1.0) < 1.0:
        pytest.skip("refused")
    rng = np.random.default_rng(3)
    session = tr.Session(policy, arms=3, dimension=2, seed=4)
    shape = (2,) if common else (3, 2)
    for _ in range(30):
        context = rng.normal(size=shape)
        decision = session.decide(context)
        session.reward(decision.id, float(rng.normal() + np.sum(context)))
    features = rng.normal(size=(40, *shape))
    eligible = None
    if masked:
        eligible = rng.random((40, 3)) < 0.6
        eligible[~eligible.any(axis=1), 1] = True
    before = session.to_bytes()
    found = propensities_of_rounds(session, features, eligible)
    each = np.stack([session.propensities(features[i], None if eligible is None else eligible[i]) for i in range(40)])
    np.testing.assert_array_equal(found, each)
    assert (found.max(axis=0) > 0.0).sum() > 1, "one arm in all rounds would not show a wrong one"
    assert session.to_bytes() == before
    assert (certain_choices(session, features, eligible) is not None) == together


def test_a_round_that_the_policy_refuses_is_named_by_it():
    session = tr.Session(tr.LinUCB(), arms=2, dimension=2)
    features = np.ones((3, 2, 2))
    features[2, 1] = 1e160
    with pytest.raises(ValueError, match="too large"):
        propensities_of_rounds(session, features, None)


def test_many_entries_are_not_checked_together(monkeypatch):
    monkeypatch.setattr(round_propensities, "MOST_ENTRIES", 5)
    session = tr.Session(tr.LinUCB(), arms=2, dimension=2)
    assert certain_choices(session, np.ones((3, 2, 2)), None) is None
