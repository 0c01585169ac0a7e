"""Replications side by side, as a GPU plays them: NumPy's draws, and the numbers of threads."""

import functools
import os
import signal
import sys
import time
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

import tightrope as tr
from tightrope.compiled.lanes import WORDS, Processor, seed_streams
from tightrope.core.streams import seed_words, stream
from tightrope.simulation import executors, lanes, run
from tightrope.testing import standard_problems
from tightrope_papers.experiment import Run

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
    """Those that go on are gathered again and again."""
    monkeypatch.setattr(run, "gpu", lambda: processor)
    launch, sizes = processor.launch, []
    monkeypatch.setattr(
        processor, "launch", lambda kernel, n, *rest: (sizes.append(n), launch(kernel, n, *rest))
    )
    one, other = (
        tr.identify(PROBLEMS, POLICY, replications=9, engine=engine)
        for engine in ("threads", "cuda")
    )
    for name in ("arm", "rounds", "pulls", "correct", "gap_bound", "error"):
        assert np.array_equal(getattr(one, name)["UGapE"], getattr(other, name)["UGapE"]), name
    assert sizes[0] == 9 and sorted(sizes, reverse=True) == sizes and sizes[-1] <= 4


@pytest.mark.parametrize("seed, replication", [(3, 5), (2**40, 0), (3, 2**33)])
def test_lanes_draw_from_the_streams_of_their_replications(seed, replication):
    words = lanes.lane_words(seed, range(replication, replication + 2))
    for k, role in enumerate(lanes.ROLES):
        for i in range(2):
            state = stream(seed, replication + i, role).bit_generator.state["state"]
            high, low, up, down = map(int, words[:4, k, i])
            assert (high << 64 | low, up << 64 | down) == (state["state"], state["inc"])


@tr.extend.delay
class Longer(tr.extend.Delay):
    """Says that no reward waits, while all do."""

    @tr.extend.lean
    def lateness(self, t, reward, rng):
        return 5

    def longest(self, horizon, in_order):
        return 0


@tr.extend.policy("arms", paper="none")
class Refusing:
    """Plays arm 0, and raises in the round of a replication's 20th success."""

    def init(self, arms):
        return Successes(np.zeros(1))

    @tr.extend.jit
    def select(self, state, context, rng):
        return 0

    @tr.extend.jit
    def update(self, state, context, action, reward):
        state.number[0] += reward
        if state.number[0] == 20.0:
            raise ValueError("twenty is enough.")
        return state


class Successes(NamedTuple):
    number: np.ndarray  # (1,)


@pytest.mark.parametrize(
    "policy, delay", [(Refusing(), None), (tr.UCB(), Longer())], ids=["kernel", "delay"]
)
def test_a_lane_that_refuses_says_what_its_replication_says(processor, monkeypatch, policy, delay):
    """An exception of a kernel, and rewards that there is no room for."""
    monkeypatch.setattr(run, "gpu", lambda: processor)
    monkeypatch.setattr(lanes, "foreign_within", lambda policy: None)
    said = []
    for engine in ("threads", "cuda"):
        with pytest.raises((ValueError, RuntimeError)) as error:
            tr.simulate(PROBLEMS, policy, horizon=200, replications=3, engine=engine, delay=delay)
        said.append(error)
    assert said[0].type is said[1].type and str(said[0].value) == str(said[1].value)


def test_a_lane_that_refuses_alone_is_named(processor, monkeypatch):
    """Where a GPU's last digit makes a difference."""
    monkeypatch.setattr(run, "gpu", lambda: processor)
    fetch = processor.fetch
    monkeypatch.setattr(
        processor,
        "fetch",
        lambda array: np.full_like(array, lanes.REFUSED) if array.ndim == 1 else fetch(array),
    )
    with pytest.raises(RuntimeError, match="replication 0 of 'UCB' was refused on the GPU but"):
        tr.simulate(PROBLEMS, tr.UCB(), horizon=10, engine="cuda")


def test_what_cannot_play_in_lanes_is_refused(processor, monkeypatch):
    monkeypatch.setattr(run, "gpu", lambda: processor)
    sets = standard_problems()["sets"]
    with pytest.raises(ValueError, match="C2UCB plays rounds in Python; use engine"):
        tr.simulate(sets, tr.C2UCB(), horizon=10, engine="cuda")
    with pytest.raises(ValueError, match="workers = 3, but engine = 'cuda' plays on one GPU"):
        tr.simulate(PROBLEMS, tr.UCB(), horizon=10, engine="cuda", workers=3)


def test_a_figure_plays_on_processors_what_a_gpu_cannot(processor, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "gpu", lambda: processor)
    said = []
    ours = Run("smoke", tmp_path, engine="cuda", say=said.append)
    one = ours.simulate("arms", PROBLEMS, {"UCB": tr.UCB()}, horizon=20, replications=2)
    assert not said
    sets = standard_problems()["sets"]
    other = ours.simulate("sets", sets, {"C2UCB": tr.C2UCB()}, horizon=20)
    assert said == [
        "sets is played by processors: engine = 'cuda' plays compiled policies and problems of "
        "this library, but C2UCB plays rounds in Python; use engine = 'threads' or 'processes'."
    ]
    there = {path.name for path in (tmp_path / "runs").iterdir()}
    assert there == {"arms", "sets"} and one.regret["UCB"].shape[0] == 2
    again = Run("smoke", tmp_path).simulate("sets", sets, {"C2UCB": tr.C2UCB()}, horizon=20)
    assert np.array_equal(again.regret["C2UCB"], other.regret["C2UCB"])


def test_without_the_extra_a_sentence_says_so_and_nothing_is_written(monkeypatch, tmp_path):
    executors.gpu.cache_clear()
    monkeypatch.setitem(sys.modules, "tightrope.compiled.cuda", None)
    for play, policy in (
        (functools.partial(tr.simulate, horizon=9), tr.UCB()),
        (tr.identify, POLICY),
    ):
        with pytest.raises(ValueError, match=r"engine = 'cuda' needs the extra tightrope\[cuda\]"):
            play(PROBLEMS, policy, engine="cuda", out=tmp_path)
    assert not any(tmp_path.iterdir())


def test_what_is_finished_is_kept_where_memory_or_patience_ends(processor, monkeypatch, tmp_path):
    """The second policy has no room; the same call goes on behind the first. Ctrl-C between two
    slices ends a run within a second."""
    monkeypatch.setattr(run, "gpu", lambda: processor)
    two = {"few": tr.UCB(), "many": tr.Explore(tr.UCB(), floor=0.1)}
    call = {"horizon": 60, "replications": 3, "engine": "cuda", "out": tmp_path}
    launch, counted = processor.launch, []
    monkeypatch.setattr(
        processor, "launch", lambda kernel, *rest: (counted.append(kernel), launch(kernel, *rest))
    )
    rooms = iter([2**40, 100])
    with monkeypatch.context() as short:
        short.setattr(processor, "room", lambda: next(rooms))
        with pytest.raises(ValueError, match="more than the GPU has free"):
            tr.simulate(PROBLEMS, two, **call)
    first = counted[0]
    assert set(counted) == {first}
    counted.clear()
    resumed = tr.simulate(PROBLEMS, two, **call)
    assert first not in counted
    plain = tr.simulate(PROBLEMS, two, **call | {"engine": "threads", "out": None})
    for name in two:
        assert np.array_equal(plain.regret[name], resumed.regret[name])


def test_an_interruption_ends_lanes_within_a_second(processor, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "gpu", lambda: processor)
    call = {"horizon": 10**9, "replications": 2, "engine": "cuda"}
    pressed = []

    def press(done, total):
        if done > 10**4 and not pressed:
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(tr.Interrupted):
        tr.simulate(PROBLEMS, tr.UCB(), progress=press, **call)
    assert time.monotonic() - pressed[0] < 1.0
