"""Problems and policies from outside the package: whatever they get wrong ends in a sentence,
compiled and interpreted."""

from typing import NamedTuple

import numpy as np
import pytest

import tightrope as tr
from tightrope.compiled.kernels import jit
from tightrope.core.fields import integer
from tightrope.core.policy import policy
from tightrope.core.verbs import Arms, Context, commit, event, select, stopped, update
from tightrope.simulation.monitors import CheckedPolicy, checked


class Wrong(NamedTuple):
    """Three arms; what is wrong is decided by numbers, so that one compilation serves."""

    reward: float
    loss: float
    mask: np.ndarray
    baseline: int

    def describe(self):
        return Arms(3)

    @jit
    def observe(self, t, rng):
        return Context(None, self.mask, self.baseline, None)

    @jit
    def play(self, context, action, rng):
        return self.reward

    @jit
    def mean(self, context, arm):
        return 0.0

    @jit
    def regret(self, context, action):
        return self.loss


class WrongFeatures(NamedTuple):
    features: np.ndarray

    def describe(self):
        return Arms(3, dimension=2)

    @jit
    def observe(self, t, rng):
        return Context(self.features, None, None, None)

    @jit
    def play(self, context, action, rng):
        return 0.0

    @jit
    def regret(self, context, action):
        return 0.0


ALL = np.ones(3, dtype=np.bool_)
FINE = {"reward": 0.5, "loss": 0.1, "mask": ALL, "baseline": 0}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reward": np.nan}, "Wrong's play returned 1 rewards; they must be finite numbers"),
        (
            {"mask": np.ones(2, dtype=np.bool_)},
            r"Wrong's observe gave a mask of 2 entries of which 2 are eligible.* needs 3 entries",
        ),
        ({"mask": ~ALL}, "Wrong's observe gave a mask of 3 entries of which 0 are eligible"),
        ({"baseline": 3}, "Wrong's observe named baseline 3, but arms are 0 to 2"),
        ({"baseline": -1}, "Wrong's observe named baseline -1"),
    ],
)
def test_a_problem_from_outside_is_checked(change, words):
    assert tr.simulate(Wrong(**FINE), tr.UCB(), horizon=20).pulls["UCB"].sum() == 20
    with pytest.raises(ValueError, match=words) as caught:
        tr.simulate(Wrong(**FINE | change), tr.UCB(), horizon=20)
    assert "\n" not in str(caught.value)


class WrongMetrics(Wrong):
    def describe(self):
        return Arms(3, rewards=(0.0, 1.0), metrics=("revenue", "cost"))


@pytest.mark.parametrize("delay", [None, {"cost": tr.delays.Fixed(2)}])
def test_a_problem_from_outside_may_have_several_metrics(delay):
    policy = tr.Safe(
        tr.UCB(),
        baseline=0,
        metrics={"revenue": (0, 1), "cost": (0, 1)},
        baseline_mean={"revenue": 0.5, "cost": 0.2},
        promises=[tr.Promise("cost", alpha=0.5, at_most=True)],
    )

    def world(rewards):
        return WrongMetrics(**FINE | {"reward": np.array(rewards)})

    assert tr.simulate(world([0.5, 0.2]), policy, horizon=20, delay=delay).rounds[-1] == 20
    for rewards in ([], [0.5], [0.5, np.inf], [np.nan, np.nan]):
        with pytest.raises(ValueError, match=r"WrongMetrics's play returned .* for each metric"):
            tr.simulate(world(rewards), policy, horizon=20)


@pytest.mark.parametrize("shape", [(3, 3), (2, 2), (4, 2)])
def test_features_of_another_shape_are_refused(shape):
    with pytest.raises(
        ValueError, match=rf"features of shape \({shape[0]}, {shape[1]}\), but arms says \(3, 2\)"
    ):
        tr.simulate(WrongFeatures(np.ones(shape)), tr.LinUCB(), horizon=5)


@policy("arms", "sets", paper="none", stops=False)
class Given:
    """Plays what it is told to."""

    first: int = integer(0)
    second: int = integer(1)

    def init(self, arms):
        return Nothing(np.zeros(1))

    @jit
    def select(self, state, context, rng):
        return self.first

    @jit
    def commit(self, state, context, action):
        state.committed[0] += 1.0
        return state

    @jit
    def update(self, state, context, action, reward):
        return state

    @jit
    def event(self, state, action):
        return 1


class Nothing(NamedTuple):
    committed: np.ndarray


@policy("sets", paper="none", compiled=False)
class GivenSet:
    """Plays the set it is told to."""

    first: int = integer(0)
    second: int = integer(1)

    def init(self, arms):
        return Nothing(np.zeros(1))

    def select(self, state, context, rng):
        if self.first == self.second == 9:
            return np.array([0.0, 1.0])
        return np.array([self.first, self.second])

    def update(self, state, context, action, reward):
        return state


@pytest.mark.parametrize("first", [-1, 2, 7])
def test_arms_that_are_none_are_refused(first):
    problem = tr.problems.Bernoulli([0.2, 0.5])
    with pytest.raises(
        ValueError,
        match=rf"Given's select returned arm {first}, but arms are 0 to 1 and must be eligible\.",
    ):
        tr.simulate(problem, Given(first=first), horizon=5)


def test_an_arm_that_is_not_eligible_is_refused():
    with pytest.raises(
        ValueError, match="Given's select returned arm 1, but arms are 0 to 2 and must be eligible"
    ):
        tr.simulate(
            Wrong(**FINE | {"mask": np.array([True, False, True])}), Given(first=1), horizon=5
        )


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (0, 4, "select returned arm 4, but arms are 0 to 3"),
        (-1, 2, "select returned arm -1, but arms are 0 to 3"),
        (2, 2, "a set that holds arm 2 twice"),
        (9, 9, r"must return an arm \(int\) or, for sets, an array of arms \(int\)"),
    ],
)
def test_sets_of_a_policy_from_outside_are_checked(first, second, words):
    problem = tr.problems.SemiBandit(np.eye(4), [0.1, 0.2, 0.3, 0.4], tr.oracles.TopK(2), noise=0.1)
    assert tr.simulate(problem, GivenSet(), horizon=3).pulls["GivenSet"].tolist() == [[3, 3, 0, 0]]
    with pytest.raises(ValueError, match=f"GivenSet's.*{words}"):
        tr.simulate(problem, GivenSet(first=first, second=second), horizon=3)


def test_a_policy_from_outside_inside_one_of_ours_is_checked():
    guarded = tr.Safe(Given(first=5), baseline=0, baseline_mean=0.4)
    problem = tr.problems.Bernoulli([0.4, 0.5])
    with pytest.raises(ValueError, match="Given's select returned arm 5, but arms are 0 to 1"):
        tr.simulate(problem, guarded, horizon=50)
    assert (
        tr.simulate(problem, tr.Safe(Given(first=1), baseline=0, baseline_mean=0.4), horizon=50)
        .pulls["Safe"]
        .sum()
        == 50
    )


def test_all_verbs_reach_a_policy_from_outside():
    result = tr.simulate(
        tr.problems.Bernoulli([0.2, 0.5]),
        Given(first=1),
        horizon=7,
        monitor=tr.Budget(baseline=0),
        checkpoints=[7],
    )
    assert result.watched["Given"]["events"].tolist() == [[[0, 7, 0, 0]]]  # its own `event`


def test_our_own_are_not_wrapped():
    problem = tr.problems.Bernoulli([0.2, 0.5])
    assert checked(tr.UCB(), problem, problem.describe()) == tr.UCB()
    assert isinstance(checked(Given(), problem, problem.describe()), CheckedPolicy)
    missing = [
        verb.__name__
        for verb in (select, commit, update, event, stopped)
        if verb.verb.of(CheckedPolicy) is None
    ]
    assert missing == []


def test_a_wrapped_run_has_the_numbers_of_a_plain_one():
    """A problem from outside that is Bernoulli in all but name."""

    class Twin(tr.problems.Bernoulli):
        __slots__ = ()

    means = [0.3, 0.6, 0.5]
    plain = tr.simulate(tr.problems.Bernoulli(means), tr.UCB(), horizon=400, replications=2)
    twin = tr.simulate(Twin(means), tr.UCB(), horizon=400, replications=2)
    assert np.array_equal(plain.regret["UCB"], twin.regret["UCB"])
