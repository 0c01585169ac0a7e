"""Delays: results without one are what they were, rewards come when and in the order they should,
draws stay paired."""

import heapq
import math

import numpy as np
import pytest

import tightrope as tr
from tiers import thorough
from tightrope.core.streams import DELAY, NOISE, PROBLEM, stream
from tightrope.core.verbs import describe, observe, play, private, regret
from tightrope.simulation.delays import most_open

ALL = (
    tr.delays.Fixed(7),
    tr.delays.Geometric(9.0),
    tr.delays.Batched(6),
    tr.delays.ByReward(2, 15),
)
ROUNDS = 60


def rounds_late(delay, t, reward, rng):
    """From the definition of each delay."""
    if isinstance(delay, tr.delays.Fixed):
        return delay.rounds
    if isinstance(delay, tr.delays.Geometric):
        return int(rng.geometric(1 / (1 + delay.mean))) - 1
    if isinstance(delay, tr.delays.Batched):
        return (t // delay.every + 1) * delay.every - (t + 1)
    return delay.early if np.sum(reward) > 0.5 else delay.late


def by_hand(problem, policy, delay, in_order, seed=0):
    """Regret of every round: a session, a list of letters, and no engine."""
    told, world = describe(problem), private(problem)
    draw, noise, late = (stream(seed, 0, role) for role in (PROBLEM, NOISE, DELAY))
    session = tr.Session(
        policy,
        arms=told.rows if told.features is None else told.features,
        oracle=told.oracle,
        dimension=told.dimension or None if told.features is None else None,
        horizon=ROUNDS,
        seed=seed,
        apply="in order" if in_order else "on arrival",
    )
    letters, total, curve = [], 0.0, []
    for t in range(ROUNDS):
        while letters and letters[0][0] <= t:
            _, id, reward = heapq.heappop(letters)
            session.reward(id, reward)
        context = observe(world, t, draw)
        decision = session.decide(context.features, context.eligible, id=t)
        reward = play(world, context, decision.arm, noise)
        total += regret(world, context, decision.arm)
        heapq.heappush(
            letters,
            (
                t + 1 + rounds_late(delay, t, reward, late),
                t,
                np.copy(reward) if np.ndim(reward) else reward,
            ),
        )
        curve.append(total)
    return np.array(curve)


def worlds():
    rows = np.random.default_rng(0).normal(size=(9, 3)) / 2
    return [
        (tr.problems.Bernoulli([0.3, 0.5, 0.7, 0.6]), tr.UCB(alpha=0.5)),
        (tr.problems.Bernoulli([0.3, 0.5, 0.7, 0.6]), tr.BetaThompson()),
        (
            tr.problems.ContextualLinear([0.8, 0.6], arms=4, noise=0.2),
            tr.LinUCB(width="theorem", noise=0.2),
        ),
        (tr.problems.SemiBandit(rows, [0.5, 0.2, 0.4], tr.oracles.TopK(3), noise=0.1), tr.C2UCB()),
    ]


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize(
    "number", [0, *(pytest.param(number, marks=thorough) for number in (1, 2)), 3]
)  # one compiled, one of Python
def test_rewards_come_when_and_in_the_order_they_should(number, in_order):
    for problem, policy in worlds()[number : number + 1]:
        for delay in ALL:
            result = tr.simulate(
                problem,
                policy,
                horizon=ROUNDS,
                checkpoints=range(1, ROUNDS + 1),
                delay=delay,
                apply="in order" if in_order else "on arrival",
            )
            assert np.allclose(
                result.regret[type(policy).__name__][0],
                by_hand(problem, policy, delay, in_order),
                atol=1e-9,
            ), (
                policy,
                delay,
            )


@thorough
def test_without_a_delay_nothing_changes():
    for problem, policy in worlds():
        name = type(policy).__name__
        usual = tr.simulate(problem, policy, horizon=200, replications=3)
        late = tr.simulate(problem, policy, horizon=200, replications=3, delay=tr.delays.Fixed(0))
        assert np.array_equal(usual.regret[name], late.regret[name])
        assert np.array_equal(usual.pulls[name], late.pulls[name])


@thorough
def test_a_delay_changes_no_other_draw():
    """A policy that learns nothing pays the same regret and meets the same contexts with any
    delay."""
    problem = tr.problems.ContextualLinear([0.8, 0.6], arms=4, noise=0.2)
    blind = tr.LinEpsilonGreedy(epsilon=1.0)
    results = [
        tr.simulate(problem, blind, horizon=300, delay=delay).regret["LinEpsilonGreedy"]
        for delay in (None, *ALL)
    ]
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_cutting_a_run_changes_nothing_and_late_rewards_are_dropped():
    """Nothing is learned within a run shorter than its delay: every arm looks new, so the first one
    is played."""
    result = tr.simulate(
        tr.problems.Bernoulli([0.1, 0.9]), tr.UCB(), horizon=50, delay=tr.delays.Fixed(50)
    )
    assert result.pulls["UCB"].tolist() == [[50.0, 0.0]]
    assert (
        tr.simulate(
            tr.problems.Bernoulli([0.1, 0.9]), tr.UCB(), horizon=50, delay=tr.delays.Fixed(48)
        ).pulls["UCB"][0, 1]
        == 1.0
    )


def test_room_for_open_rewards():
    """Never more than `most_open` at once; what chance decides stays within it by far."""
    for mean in (0.0, 1.0, 100.0, 1000.0):
        delay, rng = tr.delays.Geometric(mean), np.random.default_rng(1)
        late = rng.geometric(1 / (1 + mean), 20_000) - 1
        ends = np.arange(20_000) + late
        opened = np.cumsum(np.ones(20_000)) - np.cumsum(
            np.bincount(np.minimum(ends, 19_999), minlength=20_000)[:20_000]
        )
        assert opened.max() < most_open(delay, 20_000, False)
        assert (np.maximum.accumulate(ends) - np.arange(20_000)).max() < most_open(
            delay, 10**9, True
        )
        assert abs(late.mean() - mean) <= 4 * math.sqrt(mean * (1 + mean) / 20_000)
    assert most_open(tr.delays.Fixed(10), 5, False) == 5
    assert most_open(tr.delays.Batched(4), 100, True) == 4


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tr.delays.Fixed(-1), "rounds = -1 is not a whole number from 0"),
        (lambda: tr.delays.Geometric(-0.5), "mean = -0.5 is not a number in [0"),
        (lambda: tr.delays.Batched(0), "every = 0 is not a whole number from 1"),
        (lambda: tr.delays.ByReward(1, 2.5), "late = 2.5 is not a whole number from 0"),
        (
            lambda: tr.simulate(tr.problems.Bernoulli([0.5]), tr.UCB(), horizon=5, delay=3),
            "delay = 3 is not a delay; pass None or one such as",
        ),
        (
            lambda: tr.simulate(tr.problems.Bernoulli([0.5]), tr.UCB(), horizon=5, apply="later"),
            "apply = 'later'",
        ),
        (
            lambda: tr.simulate(
                tr.problems.Bernoulli([0.5]),
                tr.UCB(),
                horizon=10**12,
                delay=tr.delays.Fixed(10**11),
            ),
            "delay: rewards open at once = 100,000,000,001 needs",
        ),
    ],
)
def test_mistakes_are_sentences(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value)


def test_another_delay_is_another_result(tmp_path):
    """A run folder does not take one for the other, and says what is different."""
    problem = tr.problems.Bernoulli([0.3, 0.6])
    cases = [
        (None, "on arrival"),
        (tr.delays.Fixed(9), "on arrival"),
        (tr.delays.Batched(9), "on arrival"),
        (tr.delays.Fixed(9), "in order"),
    ]
    for number, (delay, apply) in enumerate(cases):
        out = tmp_path / str(number)
        first = tr.simulate(problem, tr.UCB(), horizon=300, out=out, delay=delay, apply=apply)
        assert np.array_equal(
            tr.simulate(problem, tr.UCB(), horizon=300, out=out, delay=delay, apply=apply).regret[
                "UCB"
            ],
            first.regret["UCB"],
        )
        assert tr.load(out).settings["delay"] == (None if delay is None else repr(delay))
        for other in cases[:number]:
            with pytest.raises(ValueError, match=r"holds a run with other (delay|apply)"):
                tr.simulate(problem, tr.UCB(), horizon=300, out=out, delay=other[0], apply=other[1])


@tr.extend.delay
class Weekly(tr.extend.Delay):
    """Rewards of seven rounds arrive together; of the first `grace` rounds at once."""

    grace: int = tr.extend.integer(least=0)

    @tr.extend.lean
    def lateness(self, t, reward, rng):
        return 0 if t < self.grace else 6 - t % 7

    def longest(self, horizon, in_order):
        return 6


def test_a_delay_of_ones_own_is_a_class_of_parameters_and_methods(tmp_path):
    problem = tr.problems.Bernoulli([0.3, 0.5, 0.7])
    options = {"horizon": 50, "replications": 3, "checkpoints": range(1, 51)}
    own = tr.simulate(problem, tr.UCB(), delay=Weekly(0), out=tmp_path, **options)
    assert np.array_equal(
        own.regret["UCB"],
        tr.simulate(problem, tr.UCB(), delay=tr.delays.Batched(7), **options).regret["UCB"],
    )
    assert repr(Weekly(3)) == "Weekly(grace=3)"
    assert Weekly(0) != Weekly(1) and Weekly(1) == Weekly(grace=1)
    with pytest.raises(ValueError, match="grace = -1"):
        Weekly(-1)
    with pytest.raises(ValueError, match="other delay"):
        tr.simulate(problem, tr.UCB(), delay=Weekly(1), out=tmp_path, **options)
    with pytest.raises(TypeError, match="Short needs the method lateness"):

        @tr.extend.delay
        class Short(tr.extend.Delay):
            def longest(self, horizon, in_order):
                return 6


@tr.extend.delay
class TooLong(tr.extend.Delay):
    """Says that no reward waits, while all do."""

    @tr.extend.lean
    def lateness(self, t, reward, rng):
        return 5

    def longest(self, horizon, in_order):
        return 0


def test_a_delay_that_waits_longer_than_it_says_ends_the_run():
    with pytest.raises(RuntimeError, match="more than 1 rewards open at once"):
        tr.simulate(tr.problems.Bernoulli([0.3, 0.5]), tr.UCB(), horizon=50, delay=TooLong())
