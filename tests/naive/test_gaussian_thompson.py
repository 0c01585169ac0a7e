"""Gaussian Thompson sampling: the twin's choices, no unit and no zero, no end of learning, and
posteriors that are those of the formula."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from scipy.stats import t as student

import tightrope as tr
from naive.classic_policies import NaiveGaussianThompson
from naive.side_by_side import step
from tiers import thorough
from tightrope.core.streams import POLICY, stream
from tightrope.numerics.posterior import best_of_students, student_draw
from tightrope.numerics.states import new_moments, note_reward

MEANS, DEVIATIONS = np.array([31.0, 52.0, 48.0, 66.0]), np.array([5.0, 30.0, 12.0, 30.0])


@pytest.mark.parametrize(
    "parameters",
    [{"alpha": -1.0}, {"alpha": 0.5}, {"alpha": -0.7}, {"alpha": -1.0, "forget": 0.97}],
    ids=["default", "Jeffreys", "between", "forget"],
)
@pytest.mark.parametrize("zeros", [False, True], ids=["", "one arm pays nothing"])
def test_choices_are_those_of_the_twin(parameters, zeros):
    data, rng, twin = (
        np.random.default_rng(12),
        stream(3, 0, POLICY),
        NaiveGaussianThompson(4, **parameters),
    )
    session, played = tr.Session(tr.GaussianThompson(**parameters), arms=4, seed=3), np.zeros(4)

    def reward(arm):
        return 0.0 if zeros and arm == 1 else MEANS[arm] + DEVIATIONS[arm] * data.normal()

    for _ in range(250):
        played[step(session, twin, reward, rng)] += 1
    assert (played >= 2).all()


def choices(rewards, unit, zero, seed):
    """What is played where the rewards, whole numbers, are these in another unit and with another
    zero."""
    session, found = tr.Session(tr.GaussianThompson(), arms=3, seed=seed), []
    for reward in rewards:
        arm = session.select()
        found.append((arm, session.explain()["probability"].round(9).tolist()))
        session.update(arm, unit * (reward + arm + zero))
    return found


@settings(max_examples=25, deadline=None)
@given(
    rewards=st.lists(st.integers(-50, 50), min_size=40, max_size=40),
    exponent=st.integers(-500, 250),
    zero=st.integers(-(2**40), 2**40),
    seed=st.integers(0, 2**20),
)
def test_neither_unit_nor_zero_of_rewards_changes_a_decision(rewards, exponent, zero, seed):
    """To the bit: these units and zeros round no reward. The first rewards come in random order,
    and may all be equal."""
    assert choices(rewards, 2.0**exponent, zero, seed) == choices(rewards, 1.0, 0, seed)


@pytest.mark.parametrize("zero", [0.0, 1e6, -1e9])
def test_moments_do_not_cancel_where_rewards_are_large_beside_their_noise(zero):
    rewards, state = zero + 0.1 * np.random.default_rng(0).normal(size=(500, 2)), new_moments(2)
    for row in rewards:
        for arm, reward in enumerate(row):
            note_reward(state, arm, reward, 1.0)
    away = rewards - zero
    np.testing.assert_allclose(
        state.origin + state.mean - zero, away.mean(axis=0), atol=1e-13 + 4e-16 * abs(zero)
    )
    np.testing.assert_allclose(state.spread**2 / 500, away.var(axis=0), rtol=1e-9)
    sums = (rewards**2).sum(axis=0) / 500 - rewards.mean(
        axis=0
    ) ** 2  # planted: what sums of squares leave
    assert zero == 0.0 or (np.abs(sums / away.var(axis=0) - 1.0) > 1e-5).any()


def test_forks_and_halves_add_up():
    """Merging two logs is learning both; what forks share counts once."""
    data = np.random.default_rng(5)
    arms, rewards = data.integers(0, 3, 300), 1e6 + 0.1 * data.normal(size=300)
    whole, first = (
        tr.Session(tr.GaussianThompson(), arms=3, seed=0),
        tr.Session(tr.GaussianThompson(), arms=3, seed=0),
    )
    for arm, reward in zip(arms, rewards, strict=True):
        whole.update(int(arm), reward)
    feed = [(int(arm), reward) for arm, reward in zip(arms, rewards, strict=True)]
    for arm, reward in feed[:100]:
        first.update(arm, reward)
    one, other = first.fork(2)
    for session, part in ((one, feed[100:180]), (other, feed[180:])):
        for arm, reward in part:
            session.update(arm, reward)
    first.merge(one)
    first.merge(other)
    for name, value in whole.state._asdict().items():
        np.testing.assert_allclose(getattr(first.state, name), value, rtol=1e-7, err_msg=name)
    a, b = (
        tr.Session(tr.GaussianThompson(forget=0.9), arms=2),
        tr.Session(tr.GaussianThompson(forget=0.9), arms=2),
    )
    with pytest.raises(ValueError, match="weighs rewards by their order"):
        a.merge(b)


def test_equal_rewards_do_not_end_learning():
    """An arm that pays 0 eight times before it pays 100 is played so often, whatever the others
    pay; arms that are all equal are all played."""
    for seed in range(20):
        session, played = tr.Session(tr.GaussianThompson(), arms=3, seed=seed), np.zeros(3)
        for _ in range(8000):
            arm = session.select()
            played[arm] += 1
            session.update(
                arm, (0.0, 100.0 * (played[1] > 8), 1.0 + 0.1 * (-1.0) ** played[2])[arm]
            )
        assert played.argmax() == 1, (seed, played)
    session = tr.Session(tr.GaussianThompson(), arms=3, seed=1)
    for _ in range(300):
        session.update(session.select(), 7.0)
    assert (session.state.pulls > 20).all()


def test_arms_that_lack_rewards_are_drawn_evenly_and_new_ones_as_often_as_the_best():
    session = tr.Session(tr.GaussianThompson(), arms=["a", "b"], seed=1)
    decisions = [session.decide() for _ in range(400)]  # no reward comes in between
    assert {decision.propensity for decision in decisions} == {0.5}
    assert abs(sum(decision.arm for decision in decisions) - 200) < 4 * 10
    for decision in decisions[:40]:
        session.reward(decision.id, float(decision.arm))
    session.add_arms(["c"])
    probability = session.explain()["probability"]
    assert probability[2] == 0.5
    assert probability.sum() == pytest.approx(1.0)
    assert probability[1] > 0.49  # it has paid 1 every time, the other 0


@pytest.mark.parametrize("freedom", [1.02, 2.0, 7.0, 400.0])
def test_draws_are_those_of_students_distribution(freedom):
    rng, n = np.random.default_rng(3), 20_000
    draws = np.array([student_draw(freedom, rng) for _ in range(n)])
    for level in (0.01, 0.2, 0.5, 0.9, 0.999):
        share = (draws < student.ppf(level, freedom)).mean()
        assert abs(share - level) < 4 * np.sqrt(level * (1 - level) / n)


@pytest.mark.parametrize("K", [2, 3, 8])
def test_chances_are_the_integral(K):
    """Against quadrature over the arm's own probabilities; of scales from e^-6 to e^6."""
    rng = np.random.default_rng(K)
    mean, scale, freedom = (
        2.0 * rng.normal(size=K),
        np.exp(2.0 * rng.normal(size=K)),
        rng.choice([1.1, 2.0, 3.5, 10.0, 1e5], K),
    )
    found = best_of_students(mean, scale, freedom, None)
    for arm in range(K):
        rivals = np.delete(np.arange(K), arm)

        def wins(u, arm=arm, rivals=rivals):
            score = mean[arm] + scale[arm] * student.ppf(u, freedom[arm])
            return student.cdf((score - mean[rivals]) / scale[rivals], freedom[rivals]).prod()

        parts = [
            0.0,
            0.5,
            *(1.0 - 10.0 ** -np.arange(1.0, 11.0)),
        ]  # down to the last draws, by which a wide arm wins
        wanted = sum(
            quad(wins, *between, epsabs=1e-10, limit=200)[0] for between in pairwise(parts)
        )
        assert found[arm] == pytest.approx(wanted, abs=1e-7)
    assert best_of_students(mean, scale, freedom, np.arange(K) < 2)[2:].sum() == 0.0
    certain = best_of_students(
        np.array([0.0, 1.0]), np.array([1e-200, 1.0]), np.array([5.0, 2.0]), None
    )
    assert certain[0] == pytest.approx(student.cdf(-1.0, 2.0), abs=1e-7)


@thorough
def test_regret_of_noise_that_is_learned_is_near_that_of_noise_that_is_known():
    """Arms in euros; against UCB with a sigma that is right, twenty times too large and too small
    for the best arms."""
    problem = tr.problems.Gaussian(MEANS * 100, sd=2000.0)
    policies = {"thompson": tr.GaussianThompson(), "far": tr.UCB(alpha=2, sigma=40_000.0)}
    result = tr.simulate(problem, policies, horizon=3000, replications=40)
    difference = (result.regret["far"] - result.regret["thompson"])[:, -1]
    assert difference.mean() > 4 * difference.std(ddof=1) / np.sqrt(40)
