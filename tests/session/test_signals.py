"""Interrupted calls: a session is afterwards what it was, or what it would be.
`benchmarks/signals.py` makes a million of them."""

import warnings

import numpy as np
import pytest

import tightrope as tr
from session import signalled
from tiers import tiered

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # what comes in the end of an object
CALLS = 400
HERE = (
    "UCB",
    "UCB in order",
    "UCB, window in order",
    "LinUCB, catalogue",
    "C2UCB",
    "C2UCB in order",
)


@pytest.mark.parametrize(
    "kind",
    tiered(sorted(signalled.kinds()), [name for name in signalled.kinds() if name not in HERE]),
)
def test_an_interrupted_call_was_made_or_was_not(kind, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        signalled.run(
            kind, 0, CALLS, tmp_path, lambda call: signalled.quietly(lambda _: call(), None)
        )  # compiles
        with signalled.Timer(0.0004) as timer:
            found = signalled.run(kind, 1, CALLS, tmp_path, timer.interrupts)
    assert not found.broken, found.examples
    assert found.outcomes.total() >= 5


@pytest.mark.parametrize("kind", HERE)
def test_a_call_that_is_interrupted_where_a_function_begins_or_ends_was_made_or_was_not(
    kind, tmp_path
):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rng = np.random.default_rng(0)
        places = signalled.Everywhere(lambda: int(rng.integers(1, 160)))
        found = signalled.run(kind, 3, CALLS, tmp_path, places.interrupts)
    assert not found.broken, found.examples
    assert found.outcomes["as before"] > 20 and found.outcomes["as after"] > 2, str(found)


def test_a_call_that_was_made_one_and_a_half_times_is_found(tmp_path):
    def twice(call):
        signalled.quietly(lambda _: call(), None)
        signalled.quietly(lambda _: call(), None)
        return True

    found = signalled.run("UCB", 0, 100, tmp_path, twice)
    assert {name for _, name in found.broken} >= {"select", "update"}


def test_a_set_that_a_log_has_with_one_chance_and_no_error_stands_in_a_file():
    """Failed before: the error was an array of NaN, which no file may hold."""
    session = tr.Session(tr.C2UCB(), arms=np.eye(3), oracle=tr.oracles.TopK(2))
    session.follow([0, 1], "a", propensity=0.5)
    again = tr.Session.from_bytes(session.to_bytes())
    assert again.open["a"].propensity.tolist() == [0.5, 0.5] and np.isnan(
        again.open["a"].propensity_se
    )
