"""Robust UCB: the twin's choices and means, which tell tails that averages do not survive."""

import numpy as np
import pytest

import tightrope as tr
from naive.classic_policies import NaiveRobustUCB
from naive.side_by_side import step
from tightrope.policies.classic.robustucb import LEVELS, level_now

PARETO = 1.6  # index of the tail: no variance, but a moment of order 1.5


def pareto(rng, size=None):
    """Of mean 1."""
    return (1.0 + rng.pareto(PARETO, size)) * (PARETO - 1.0) / PARETO


@pytest.mark.parametrize(
    "parameters",
    [
        {"moment": 4.0},
        {"moment": 2.0, "epsilon": 0.5, "width": 0.3},
        {"moment": 3.0, "epsilon": 0.8, "centre": -1.0, "width": 0.2},
    ],
    ids=["variance", "heavier", "centred"],
)
def test_choices_and_means_are_those_of_the_twin(parameters):
    data, twin, session = (
        np.random.default_rng(4),
        NaiveRobustUCB(3, **parameters),
        tr.Session(tr.RobustUCB(**parameters), arms=3, seed=0),
    )
    for _ in range(250):
        step(session, twin, lambda arm: float(pareto(data)) * (arm + 1.0))
    report = session.explain()
    wanted = [twin.truncated_mean(rewards) for rewards in twin.rewards]
    np.testing.assert_allclose(report["mean"], wanted, rtol=1e-12)
    np.testing.assert_allclose(
        report["upper"], [twin.score(rewards) for rewards in twin.rewards], rtol=1e-12
    )
    left_out = np.abs(np.array(wanted) - [np.mean(rewards) for rewards in twin.rewards])
    assert (left_out > 1e-3).any()  # planted: plain means


def test_means_of_heavy_tails_are_within_the_width_where_averages_are_not():
    """400 logs of 500 rewards without a variance, at delta of about 1/6,000: the paper's width
    holds for all, and truncated means are closer."""
    data, moment, wrong, errors = np.random.default_rng(1), 0.0, 0, []
    moment = PARETO / (PARETO - 1.5) * ((PARETO - 1.0) / PARETO) ** 1.5  # E x^1.5
    for _ in range(400):
        session, rewards = (
            tr.Session(tr.RobustUCB(moment=moment, epsilon=0.5), arms=1),
            pareto(data, 500),
        )
        session.learn({"arm": np.zeros(500, dtype=np.int64), "reward": rewards})
        report = session.explain()
        wrong += abs(report["mean"][0] - 1.0) > report["width"][0]
        errors.append([(report["mean"][0] - 1.0) ** 2, (rewards.mean() - 1.0) ** 2])
    assert wrong == 0
    worst = np.sqrt(np.quantile(errors, 0.99, axis=0))
    assert worst[0] < 0.6 * worst[1]


def test_levels_reach_to_the_last_round_that_can_be_counted():
    for t in (1.0, 2.0, 1e3, 1e9, 2.0**63):
        level, logarithm = level_now(t)
        assert logarithm >= 2 * np.log(t)
        assert logarithm <= max(1.0, 1.1 * 2 * np.log(t) * (1 + 1e-9))
        assert level < LEVELS


def test_new_arms_are_tried_and_what_was_learned_stays():
    session = tr.Session(tr.RobustUCB(moment=4.0), arms=["a", "b"], seed=0)
    for reward in (1.0, 2.0, 3.0):
        session.update("a", reward)
        session.update("b", reward + 1)
    before = session.explain()["mean"]
    session.add_arms(["c"])
    assert session.explain()["mean"][:2].tolist() == before.tolist()
    assert session.decide().name == "c"
    with pytest.raises(ValueError, match=r"moment = 0 is not a number in \(0"):
        tr.RobustUCB(moment=0)
