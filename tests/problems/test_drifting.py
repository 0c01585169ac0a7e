"""Means that change: where they are in every round, and what a round costs."""

import numpy as np
import pytest

import tightrope as tr
from tiers import thorough
from tightrope.core.streams import stream
from tightrope.core.verbs import mean, observe, private, regret
from tightrope.testing import check_problem

PATH = [[0.0, 1.0], [1.0, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ("jumps", [[0, 1]] * 4 + [[1, 0.5]] * 4 + [[0.5, 0.5]] * 3),
        (
            "lines",
            [
                [0, 1],
                [0.25, 0.875],
                [0.5, 0.75],
                [0.75, 0.625],
                [1, 0.5],
                [0.875, 0.5],
                [0.75, 0.5],
                [0.625, 0.5],
            ]
            + [[0.5, 0.5]] * 3,
        ),
    ],
)
def test_means_follow_the_path(change, wanted):
    problem, rng = private(tr.problems.Drifting(PATH, 4, change=change)), stream(0, 0, 0)
    for t, means in enumerate(wanted):
        seen = observe(problem, t, rng)
        assert [mean(problem, seen, k) for k in range(2)] == means
        assert [regret(problem, seen, k) for k in range(2)] == [
            max(means) - value for value in means
        ]


def test_replications_have_a_path_of_their_own():
    problem = tr.problems.Drifting(PATH, 10, rewards="gaussian", noise=0.1)
    first, again = (
        tr.simulate(problem, tr.UCB(), horizon=30, replications=3, workers=workers)
        for workers in (1, 2)
    )
    np.testing.assert_array_equal(first.regret["UCB"], again.regret["UCB"])
    np.testing.assert_array_equal(problem.means, PATH[0])


@thorough
def test_it_keeps_what_problems_promise():
    check_problem(tr.problems.Drifting(np.eye(2), 2, arms=[[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]))
