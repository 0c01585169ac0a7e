"""What a problem's numbers were checked for stays true: its arrays cannot be written, but for those
that its own kernels write into."""

import copy
import pickle

import numpy as np
import pytest
from numba import typeof

import tightrope as tr
from standard import problems
from tightrope.core.verbs import private

WORLDS = problems()


@pytest.mark.parametrize("name", WORLDS)
def test_arrays_of_problems_are_read_only(name):
    """Failed before: `p.means[0] = 9` was accepted and gave a regret of -7,671."""
    problem = WORLDS[name]
    for field, value in zip(problem._fields, problem, strict=True):
        if isinstance(value, np.ndarray) and field not in type(problem).WRITTEN:
            with pytest.raises(ValueError, match="read-only"):
                value.flat[0] = 9
    world = private(problem)
    for field in type(problem).WRITTEN:
        assert not np.shares_memory(getattr(world, field), getattr(problem, field))
    assert pickle.loads(pickle.dumps(problem)) == copy.deepcopy(problem) == problem
    again = pickle.loads(pickle.dumps(problem))
    for value, other in zip(private(again), world, strict=True):
        if isinstance(value, np.ndarray):
            assert typeof(value) == typeof(other)  # kernels are compiled once for both


def test_arrays_of_the_caller_stay_the_caller_s():
    means = np.array([0.1, 0.2])
    problem = tr.problems.Bernoulli(means)
    means[0] = 0.9
    assert problem.means.tolist() == [0.1, 0.2]
