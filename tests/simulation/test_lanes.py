"""Replications side by side, as a GPU plays them: NumPy's draws, and the numbers of threads."""

import numpy as np
import pytest
from numba import njit

import tightrope as tr
from tightrope.compiled.lanes import WORDS, Processor, seed_streams
from tightrope.core.streams import seed_words, stream
from tightrope.simulation import run
from tightrope.testing import standard_problems

DRAWS = {
    "random": (),
    "standard_normal": (),
    "standard_exponential": (),
    "beta": (0.3, 0.7),
    "geometric": (0.01,),
    "integers": (0, 7),
}
PROBLEMS = [tr.problems.Bernoulli([0.3, 0.5, 0.6]), tr.problems.Bernoulli([0.2, 0.25, 0.7])]
POLICY = tr.UGapE(epsilon=0.2, delta=0.1)


@pytest.fixture(scope="module")
def processor():
    return Processor()


@pytest.mark.parametrize("name", DRAWS)
def test_a_million_draws_are_those_of_numpy(processor, name):
    """From a stream that is seeded here, whose words are a slice of many lanes'."""
    arguments = ", ".join(map(repr, DRAWS[name]))
    scope = processor.names | {"np": np}
    exec(
        "def draw(words, n):\n    drawn = np.empty(n)\n    stream = stream_of(words)\n"
        f"    for i in range(n):\n        drawn[i] = stream.{name}({arguments})\n    return drawn\n",
        scope,
    )
    words, n = np.zeros((WORDS, 3), dtype=np.uint64), 10**6
    seed_streams(words, np.array([seed_words(7, lane, 1) for lane in range(3)]))
    expected = getattr(stream(7, 2, 1), name)(*DRAWS[name], size=n)
    assert np.array_equal(njit(scope["draw"])(words[:, 2], n), expected)


def test_lanes_play_what_threads_play(processor, monkeypatch):
    """Late rewards, a monitor, problems in turn; in launches of three lanes and slices of rounds."""
    monkeypatch.setattr(run, "gpu", lambda: processor)
    settings = {"delay": tr.delays.Geometric(9.0), "monitor": tr.Budget(baseline=0)}
    one, other = (
        tr.simulate(PROBLEMS, tr.UCB(), horizon=300, replications=7, engine=engine, **settings)
        for engine in ("threads", "cuda")
    )
    assert np.array_equal(one.regret["UCB"], other.regret["UCB"])
    assert np.array_equal(one.pulls["UCB"], other.pulls["UCB"])
    for name, watched in one.watched["UCB"].items():
        assert np.array_equal(watched, other.watched["UCB"][name]), name
    monkeypatch.setattr(processor, "room", lambda: 10**4)
    few = tr.simulate(PROBLEMS, tr.UCB(), horizon=300, replications=7, engine="cuda", **settings)
    assert np.array_equal(one.regret["UCB"], few.regret["UCB"])
    monkeypatch.setattr(processor, "room", lambda: 100)
    with pytest.raises(ValueError, match="more than the GPU has free; use engine = 'threads'"):
        tr.simulate(PROBLEMS, tr.UCB(), horizon=300, engine="cuda", **settings)


def test_every_lane_stops_where_its_replication_stops(processor, monkeypatch):
    monkeypatch.setattr(run, "gpu", lambda: processor)
    one, other = (
        tr.identify(PROBLEMS, POLICY, replications=5, engine=engine)
        for engine in ("threads", "cuda")
    )
    for name in ("arm", "rounds", "pulls", "correct", "gap_bound", "error"):
        assert np.array_equal(getattr(one, name)["UGapE"], getattr(other, name)["UGapE"]), name


def test_what_cannot_play_in_lanes_is_refused(processor, monkeypatch):
    monkeypatch.setattr(run, "gpu", lambda: processor)
    sets = standard_problems()["sets"]
    with pytest.raises(ValueError, match="C2UCB plays rounds in Python; use engine"):
        tr.simulate(sets, tr.C2UCB(), horizon=10, engine="cuda")
    with pytest.raises(ValueError, match="workers = 3, but engine = 'cuda' plays on one GPU"):
        tr.simulate(PROBLEMS, tr.UCB(), horizon=10, engine="cuda", workers=3)
