"""Cascades: what is looked at, what it pays, and that every policy over sets learns of nothing
else."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest

import tightrope as tr
from tightrope.core.streams import NOISE, stream
from tightrope.core.verbs import regret
from tightrope.extend import Arms, Policy, Problem, integer, jit, play, policy, problem, vector
from tightrope.policies import examples
from tightrope.session.codec import flatten
from tightrope.testing import fits, play_loop

MEANS = np.array([0.1, 0.5, 0.3, 0.6])
ON_SETS = [
    policy
    for policy in examples().values()
    if fits(policy, tr.problems.Cascade(MEANS, tr.oracles.TopK(2), np.eye(4)))
]


def test_a_list_is_looked_at_up_to_the_first_success():
    world = tr.problems.Cascade(MEANS, tr.oracles.TopK(3))
    rng, chosen, rounds = stream(0, 0, NOISE), np.array([1, 0, 3]), 6000
    answers = [play(world, None, chosen, rng) for _ in range(rounds)]
    for rewards in answers:
        assert 1 <= rewards.size <= 3
        assert not rewards[:-1].any()
        assert rewards[-1] == 1.0 or rewards.size == 3
    for place, arm in enumerate(
        chosen
    ):  # given that it was looked at, an arm succeeds with its mean
        seen = np.array([rewards[place] for rewards in answers if rewards.size > place])
        assert abs(seen.mean() - MEANS[arm]) < 4 * seen.std() / np.sqrt(seen.size)
    hits = np.array([rewards.sum() for rewards in answers])
    expected = world.best - regret(world, None, chosen)
    assert abs(hits.mean() - expected) < 4 * hits.std() / np.sqrt(rounds)


def test_noise_does_not_depend_on_where_earlier_lists_ended():
    world = tr.problems.Cascade([1.0, 0.0, 0.5, 0.5], tr.oracles.TopK(2))
    last = []
    for first in (np.array([0, 1]), np.array([1, 0])):
        rng = stream(0, 0, NOISE)
        play(world, None, first, rng)
        last.append([play(world, None, np.array([2, 3]), rng).tolist() for _ in range(5)])
    assert last[0] == last[1]


@pytest.mark.parametrize(
    ("oracle", "sets"),
    [
        (tr.oracles.TopK(2), list(itertools.combinations(range(4), 2))),
        (
            tr.oracles.Partition(categories=[0, 1, 0, 1], limit=1, k=2),
            [(0, 1), (0, 3), (1, 2), (2, 3)],
        ),
    ],
    ids=["top", "partition"],
)
def test_regret_is_against_the_best_chance_of_all_sets(oracle, sets):
    world = tr.problems.Cascade(MEANS, oracle)
    chances = {S: 1 - np.prod([1 - MEANS[i] for i in S]) for S in sets}
    for S, chance in chances.items():
        assert regret(world, None, np.array(S)) == pytest.approx(
            max(chances.values()) - chance, abs=1e-12
        )


@pytest.mark.parametrize("policy", ON_SETS, ids=repr)
def test_every_policy_over_sets_learns_of_what_was_looked_at_only(policy):
    """Where the first arm always succeeds one reward is seen a round, where none does those of all
    arms that were played are."""
    X, rounds = np.random.default_rng(2).uniform(-0.5, 0.5, size=(6, 2)), 12
    for means in (np.ones(6), np.zeros(6)):
        log, state = play_loop(policy, tr.problems.Cascade(means, tr.oracles.TopK(3), X), 4, rounds)
        wanted = rounds if means[0] else log.pulls.sum()
        known = {
            key: float(value.sum())
            for key, value in state.items()
            if key.endswith((".seen", ".pulls"))
        }
        assert known
        assert set(known.values()) == {wanted}, known


def test_all_policies_over_sets_are_among_them():
    assert {type(policy).__name__ for policy in ON_SETS} >= {
        "C2UCB",
        "CombGreedy",
        "CombKLUCB",
        "CombLinTS",
        "CombLinUCB",
        "CombTS",
        "CombUCB1",
        "ESCB",
        "PC2UCB",
    }


def test_answers_may_be_late():
    """As many rewards are learned, later; the list of a round, and not of the round in which they
    come, is what they belong to."""
    world = tr.problems.Cascade(np.linspace(0.1, 0.6, 6), tr.oracles.TopK(3))
    chosen = {"ESCB": tr.ESCB(c=0.0), "KL": tr.CombKLUCB(c=0.0)}
    late = tr.simulate(world, chosen, horizon=400, replications=4, delay=tr.delays.Fixed(5))
    soon = tr.simulate(world, chosen, horizon=400, replications=4)
    for name in chosen:
        assert late.pulls[name].sum() == soon.pulls[name].sum() == 4 * 400 * 3
        assert late.regret[name][:, -1].mean() < 0.5 * 400 * world.best  # it learns


def test_a_session_is_told_what_was_looked_at():
    session = tr.Session(tr.CombUCB1(), arms=5, oracle=tr.oracles.TopK(3), seed=0)
    shown = session.decide()
    session.reward(shown.id, dict(zip(shown.arm[:2].tolist(), [0.0, 1.0], strict=True)))
    session.close(shown.id)
    assert (session.state.counts.pulls.tolist(), session.open) == ([1, 1, 0, 0, 0], {})
    assert set(session.select()) == {2, 3, 4}  # those without a reward first


@problem(compiled=False)
class Peeks(Problem):
    """A problem from outside that answers with so many rewards."""

    means: np.ndarray = vector()
    number: np.ndarray = vector()

    def describe(self):
        return Arms(self.means.size, oracle=tr.oracles.TopK(2))

    def play(self, context, action, rng):
        return (
            self.means[action][: int(self.number[0])]
            if self.number[0] <= action.size
            else np.zeros(int(self.number[0]))
        )

    def regret(self, context, action):
        return 0.0


def test_a_problem_from_outside_may_show_a_part_and_no_more_than_the_set():
    tr.simulate(Peeks([0.5, 0.2, 0.1], [1]), tr.CombUCB1(), horizon=5)
    with pytest.raises(ValueError, match=r"Peeks's play returned 3 rewards; .* no more than arms"):
        tr.simulate(Peeks([0.5, 0.2, 0.1], [3]), tr.CombUCB1(), horizon=5)


class Seen(NamedTuple):
    times: np.ndarray
    sums: np.ndarray


@policy("sets", paper="none")
class Pair(Policy):
    """Plays two arms, in compiled code."""

    first: int = integer(2)

    def init(self, arms):
        return Seen(np.zeros(arms.number), np.zeros(arms.number))

    @jit
    def select(self, state, context, rng):
        return np.array([self.first, 0])

    @jit
    def update(self, state, context, action, reward):
        for i in range(action.shape[0]):
            state.times[action[i]] += 1.0
            state.sums[action[i]] += reward[i]
        return state


@problem()
class Glance(Problem):
    """Every other list is looked at to its end, others at the first arm only; in compiled code."""

    means: np.ndarray = vector()

    def describe(self):
        return Arms(self.means.size, oracle=tr.oracles.TopK(2))

    @jit
    def play(self, context, action, rng):
        return self.means[action][: 1 + int(rng.random() < 0.5)]

    @jit
    def regret(self, context, action):
        return 0.0


def test_compiled_loops_learn_of_a_part_too():
    _, state = play_loop(Pair(), Glance([0.25, 0.5, 0.75]), 1, 40)
    assert state["state.times"][2] == 40
    assert 5 < state["state.times"][0] < 35
    np.testing.assert_array_equal(state["state.sums"], state["state.times"] * [0.25, 0.5, 0.75])


@pytest.mark.parametrize(
    ("words", "make"),
    [
        (
            r"oracle = .*Knapsack.* does not choose sets for a cascade",
            lambda: tr.problems.Cascade(MEANS, tr.oracles.Knapsack(costs=[1, 1, 1, 1], budget=2)),
        ),
        ("chooses more than the 4 arms", lambda: tr.problems.Cascade(MEANS, tr.oracles.TopK(5))),
        ("means", lambda: tr.problems.Cascade([0.5, 1.2], tr.oracles.TopK(1))),
        (
            r"arms has shape \(3, 3\)",
            lambda: tr.problems.Cascade(MEANS, tr.oracles.TopK(1), np.eye(3)),
        ),
        (
            "without features",
            lambda: tr.simulate(
                tr.problems.Cascade(MEANS, tr.oracles.TopK(2)), tr.C2UCB(), horizon=2
            ),
        ),
    ],
)
def test_refusals(words, make):
    with pytest.raises(ValueError, match=words):
        make()


def test_counts_need_arms_that_stay_the_same():
    for given in ({"arms": 5, "dimension": 2}, {"dimension": 2}):
        with pytest.raises(
            ValueError, match="CombUCB1 plays sets of lasting arms, but these arms offer sets"
        ):
            tr.Session(tr.CombUCB1(), **given, oracle=tr.oracles.TopK(2))
    with pytest.raises(ValueError, match="chooses 6 arms, but there are only 5"):
        tr.Session(tr.ESCB(), arms=5, oracle=tr.oracles.TopK(6))


def test_counts_grow_merge_and_learn_from_logs():
    def fresh(number=5):
        return tr.Session(tr.CombUCB1(), arms=number, oracle=tr.oracles.TopK(2), seed=0)

    log = {"arm": [0, 1, 0, 3, 0, 2], "reward": [1.0, 0.0, 0.0, 1.0, 1.0, 0.5]}
    whole, first, second = fresh(), fresh(), fresh()
    whole.learn(log)
    first.learn({key: values[:4] for key, values in log.items()})
    second.learn({key: values[4:] for key, values in log.items()})
    first.merge(second)
    for key, value in flatten(whole.state).items():
        np.testing.assert_array_equal(flatten(first.state)[key], value)
    assert (
        whole.state.counts.rounds[0] == 3
    )  # arm 0 was in three sets, so there were at least three rounds
    assert 4 in whole.select()
    whole.update([4], [0.0])
    whole.add_arms(number=2, oracle=tr.oracles.TopK(3))
    assert set(whole.select()) >= {5, 6}
    only = np.array([True, True, False, False, False, False, True])
    assert set(whole.select(eligible=only)) == {0, 1, 6}
