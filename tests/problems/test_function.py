"""Simulators in plain Python as problems: the same rounds as the compiled ones, checked by
`check_problem`; what is refused."""

import math

import numpy as np
import pytest

import tightrope as tr
from tightrope.numerics.counts import new_counts
from tightrope.testing import Broken, check_problem

MEANS = [0.3, 0.6, 0.5]
THETA = np.array([0.5, -0.2])


def coin(context, arm, rng):
    return 1.0 if rng.random() < MEANS[arm] else 0.0


def mean_of_coin(context, arm):
    return MEANS[arm]


def drawn(t, rng):
    rows = np.empty((4, 2))
    for k in range(4):
        row = np.array([rng.standard_normal(), rng.standard_normal()])
        rows[k] = row / math.sqrt(row @ row)
    return rows


def linear(context, arm, rng):
    return float(context[arm] @ THETA) + 0.1 * rng.standard_normal()


def mean_of_linear(context, arm):
    return float(context[arm] @ THETA)


def test_rounds_are_those_of_the_compiled_problems():
    own = tr.problems.from_function(coin, 3, mean=mean_of_coin, rewards=(0, 1))
    policies = {"UCB": tr.UCB(), "TS": tr.BetaThompson()}
    ours, theirs = (
        tr.simulate(problem, policies, horizon=120, replications=2)
        for problem in (own, tr.problems.Bernoulli(MEANS))
    )
    for name in policies:
        np.testing.assert_array_equal(ours.regret[name], theirs.regret[name])
    own = tr.problems.from_function(linear, 4, context=drawn, dimension=2, mean=mean_of_linear)
    twin = tr.problems.ContextualLinear(THETA, arms=4, noise=0.1)
    ours, theirs = (tr.simulate(problem, tr.LinUCB(), horizon=60) for problem in (own, twin))
    np.testing.assert_allclose(ours.regret["LinUCB"], theirs.regret["LinUCB"], atol=1e-9)


def test_one_row_is_shown_to_all_arms_and_fixed_features_to_linear_policies():
    one = tr.problems.from_function(
        lambda x, arm, rng: x[arm, arm],
        2,
        context=lambda t, rng: [t % 2, 1.0],
        dimension=2,
        mean=lambda x, arm: x[arm, arm],
    )
    result = tr.simulate(one, tr.LinEpsilonGreedy(shared=False, epsilon=0.0), horizon=10)
    assert result.regret["LinEpsilonGreedy"][0, -1] <= 10
    fixed = tr.problems.from_function(
        lambda X, arm, rng: float(X[arm] @ THETA),
        np.eye(2),
        mean=lambda X, arm: float(X[arm] @ THETA),
    )
    assert tr.simulate(fixed, tr.LinUCB(beta=0.1), horizon=20).regret["LinUCB"][0, -1] < 3


def test_a_mean_that_is_not_given_is_estimated():
    problem = tr.problems.from_function(coin, 3)
    assert np.all(np.abs(problem.means - MEANS) < 4 * np.sqrt(0.25 / 10_000))
    assert problem.best[0] == problem.means.max()
    np.testing.assert_array_equal(problem.means, tr.problems.from_function(coin, 3).means)


def greedy_sample(context, arm, rng):
    context[arm] *= 2
    return float(context[arm] @ THETA)


def test_a_stranger_s_function_cannot_change_the_world():
    """A simulator, a model, a policy and a function of the problem that write into what they are
    given."""
    for context, arms in ((None, np.eye(2)), (lambda t, rng: np.eye(2), 2)):
        problem = tr.problems.from_function(
            greedy_sample,
            arms,
            context=context,
            dimension=context and 2,
            mean=lambda X, arm: float(X[arm] @ THETA),
        )
        with pytest.raises(ValueError, match="read-only"):
            tr.simulate(problem, tr.LinUCB(), horizon=3)

    def model(rows):
        rows *= 0.0
        return rows.sum(axis=1)

    X = np.random.default_rng(0).normal(size=(5, 2))
    linear, sets = (
        tr.problems.Linear(X, THETA),
        tr.problems.SemiBandit(X, THETA, tr.oracles.TopK(2)),
    )
    session = tr.Session(tr.SquareCB(model=model), arms=X, seed=0)
    session.update(session.select(), 1.0)
    np.testing.assert_array_equal(session.state.model.features, X)
    for policy, problem in ((Shifts(), linear), (Shifts(), tr.problems.Bernoulli([0.2, 0.6]))):
        before = problem.means.copy()
        result = tr.simulate(
            problem, {"Shifts": policy, "UCB": tr.UCB()}, horizon=20, replications=2
        )
        np.testing.assert_array_equal(problem.means, before)
        assert (result.regret["UCB"] >= 0).all()
    np.testing.assert_array_equal(linear.features, X)
    with pytest.raises(ValueError, match="read-only"):
        tr.simulate(sets, {"sorted": lambda world: world.means.sort() or tr.C2UCB()}, horizon=2)


@tr.extend.policy("arms", "features", paper="none", compiled=False)
class Shifts(tr.extend.Policy):
    """Centres the features that it is given, in place."""

    def init(self, arms):
        if arms.features is not None:
            arms.features[:] -= 5.0
        return new_counts(arms.number)

    def select(self, state, context, rng):
        return 0

    def update(self, state, context, action, reward):
        return state


@pytest.mark.parametrize("where", ["elsewhere", "here"])
def test_check_problem_checks_it(where):
    """Functions that no other process finds are checked in this one."""
    sample = coin if where == "elsewhere" else lambda context, arm, rng: coin(context, arm, rng)
    check_problem(tr.problems.from_function(sample, 3, mean=mean_of_coin, rewards=(0, 1)))
    with pytest.raises(Broken, match=r"rewards of arm 0 average .*, but its mean says 0.9"):
        check_problem(tr.problems.from_function(sample, 3, mean=lambda context, arm: 0.9))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tr.problems.from_function(3, 2), "sample = 3 is not a function"),
        (lambda: tr.problems.from_function(coin, 0), "arms = 0 is not a whole number from 1"),
        (
            lambda: tr.problems.from_function(coin, 3, context=drawn, dimension=2),
            "mean is missing; where every round has a context",
        ),
        (
            lambda: tr.problems.from_function(coin, 3, context=drawn, mean=mean_of_coin),
            "dimension is missing",
        ),
        (
            lambda: tr.problems.from_function(coin, 3, dimension=2),
            "dimension was given, but no context",
        ),
        (
            lambda: tr.problems.from_function(coin, np.eye(3), context=drawn),
            "context was given, but arms has fixed features",
        ),
        (
            lambda: tr.problems.from_function(coin, 3, rewards=(1, 0)),
            "must be the lowest and the highest reward",
        ),
        (
            lambda: tr.problems.from_function(lambda context, arm, rng: "much", 3),
            "sample of arm 0 = 'much' is not a number",
        ),
        (
            lambda: tr.simulate(
                tr.problems.from_function(lambda context, arm, rng: math.nan, 3, mean=mean_of_coin),
                tr.UCB(),
                horizon=3,
            ),
            "sample of arm 0 = nan is not a number",
        ),
        (
            lambda: tr.simulate(
                tr.problems.from_function(coin, 3, context=drawn, dimension=2, mean=mean_of_coin),
                tr.LinUCB(),
                horizon=3,
            ),
            r"context has shape \(4, 2\), but must have 3 rows",
        ),
    ],
)
def test_what_is_refused_is_one_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()
