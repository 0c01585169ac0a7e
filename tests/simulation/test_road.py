"""Plan, executors and store: chunks keyed by content, damaged files, other processes, sizes,
interruptions."""

import abc
import functools
import json
import multiprocessing
import os
import pathlib
import platform
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
import threadpoolctl

import tightrope as tr
from interrupting import crowding, interrupt, started
from tiers import thorough, tiered
from tightrope.simulation import executors as pools
from tightrope.simulation.executors import shared_workers
from tightrope.simulation.monitors import SetValue
from tightrope.simulation.store import Undigestible, digest

TEN = tr.problems.Bernoulli(np.linspace(0.25, 0.75, 10))
UCB, KL = tr.UCB(), tr.KLUCB()


def run(policies, out, problem=TEN, horizon=300, replications=4, **more):
    return tr.simulate(
        problem, policies, horizon=horizon, replications=replications, out=out, **more
    )


def files(out):
    return {path.name: path.stat().st_mtime_ns for path in (out / "chunks").iterdir()}


def test_another_order_of_policies_gets_its_own_results(tmp_path):
    """Failed before: blocks were keyed by the policy's place, and the two results were swapped."""
    first = run({"UCB": UCB, "KL": KL}, tmp_path)
    before = files(tmp_path)
    second = run({"KL": KL, "UCB": UCB}, tmp_path)
    assert files(tmp_path) == before
    for name in ("UCB", "KL"):
        assert np.array_equal(first.regret[name], second.regret[name])
    assert tr.load(tmp_path).policies == ["KL", "UCB"]
    assert not np.array_equal(first.regret["UCB"], first.regret["KL"])


def test_other_names_more_policies_and_more_replications_find_finished_chunks(tmp_path):
    first = run({"UCB": UCB}, tmp_path)
    before = files(tmp_path)
    renamed = run({"Auer": UCB, "KL": KL}, tmp_path, replications=6)
    assert np.array_equal(renamed.regret["Auer"][:4], first.regret["UCB"])
    after = files(tmp_path)
    assert before.items() <= after.items()
    assert len(after) == 12
    plain = tr.simulate(TEN, {"KL": KL}, horizon=300, replications=6)
    assert np.array_equal(renamed.regret["KL"], plain.regret["KL"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"horizon": 299}, "other horizon, checkpoints"),
        ({"seed": 5}, "other seed"),
        ({"policies": {"UCB": tr.UCB(alpha=1.0)}}, "other policies"),
        ({"problem": tr.problems.Bernoulli(np.linspace(0.25, 0.76, 10))}, "other problem"),
        ({"monitor": tr.Budget(baseline=0)}, "other monitor"),
    ],
)
def test_another_experiment_is_refused(tmp_path, change, words):
    first = run({"UCB": UCB}, tmp_path)
    with pytest.raises(ValueError, match=words):
        run(**{"policies": {"UCB": UCB}, "out": tmp_path} | change)
    assert np.array_equal(tr.load(tmp_path).regret["UCB"], first.regret["UCB"])


def test_a_budget_with_other_checkpoints_in_the_middle_is_another_run(tmp_path):
    """Failed before: NumPy's repr hides the middle of more than 1,000 checkpoints."""
    rounds = np.arange(1, 3000, 2)
    other = rounds.copy()
    other[700] += 1
    run({"UCB": UCB}, tmp_path, monitor=tr.Budget(baseline=0, checkpoint=rounds.tolist()))
    with pytest.raises(ValueError, match="other monitor"):
        run({"UCB": UCB}, tmp_path, monitor=tr.Budget(baseline=0, checkpoint=other.tolist()))


ARMS = np.eye(6)
THETA = np.linspace(0.1, 0.6, 6)


def closure(sign):
    def oracle(scores):
        return np.argsort(-sign * scores, kind="stable")[:2]

    oracle.size = 2
    return oracle


class Instance:
    size = 2

    def __init__(self, sign):
        self.sign = sign

    def __call__(self, scores):
        return np.argsort(-self.sign * scores, kind="stable")[:2]


def sets(oracle):
    return tr.problems.SemiBandit(ARMS, THETA, oracle, noise=0.1, shown=5)


@pytest.mark.parametrize("make", [closure, Instance])
def test_another_oracle_is_another_run(tmp_path, make):
    """Failed before: a callable that is no dataclass left no trace in the digest."""
    first = run({"it": tr.C2UCB()}, tmp_path, sets(make(1)), horizon=5)
    with pytest.raises(ValueError, match="other problem"):
        run({"it": tr.C2UCB()}, tmp_path, sets(make(-1)), horizon=5)
    again = run({"it": tr.C2UCB()}, tmp_path, sets(make(1)), horizon=5)
    assert np.array_equal(first.regret["it"], again.regret["it"])


def test_what_has_no_digest_is_refused_with_out_and_runs_without(tmp_path):
    class Locked:
        def __init__(self):
            self.rows = (k for k in range(3))

        def __call__(self, scores):
            return np.argsort(-scores, kind="stable")[:2]

    with pytest.raises(
        ValueError, match=r"out cannot be used: the problem of 'it' .*generator.* has no content"
    ):
        run({"it": tr.C2UCB()}, tmp_path, sets(Locked()), horizon=5)
    assert not list(tmp_path.iterdir())
    tr.simulate(sets(Locked()), {"it": tr.C2UCB()}, horizon=5)


MINE = """
from typing import NamedTuple
import numpy as np
from tightrope.compiled.kernels import jit
from tightrope.core.fields import real
from tightrope.core.policy import policy

CONSTANT = 0

def helper(): return CONSTANT

class State(NamedTuple):
    pulls: np.ndarray

@jit
def chosen(state):
    return CHOICE

@policy("arms", paper="none")
class Stubborn:
    arm: float = real(default=0.0)

    def init(self, arms):
        return State(np.zeros(arms.number))

    @jit
    def select(self, state, context, rng):
        return chosen(state)

    @jit
    def update(self, state, context, action, reward):
        state.pulls[action] += 1.0
        return state
"""

RUN_MINE = """
import sys, json
import tightrope as tr, mine
try:
    result = tr.simulate(tr.problems.Bernoulli([.1, .2, .3]), mine.Stubborn(), horizon=5, out=sys.argv[1], engine=sys.argv[2])
    print(json.dumps(result.pulls['Stubborn'].tolist()[0]))
except ValueError as error:
    print(json.dumps(str(error)))
"""


def mine(folder, choice, out, engine="threads"):
    (folder / "mine.py").write_text(MINE.replace("CHOICE", choice))
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
        "TIGHTROPE_CACHE": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-B", "-c", RUN_MINE, str(out), engine],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@thorough
def test_an_edited_policy_of_the_users_own_is_another_run(tmp_path):
    """Failed before: the old run came back. The edit is in a function that the kernel calls."""
    assert mine(tmp_path, "1", tmp_path / "out") == [0, 5, 0]
    assert "other policies" in mine(tmp_path, "2", tmp_path / "out")
    assert mine(tmp_path, "1", tmp_path / "out") == [0, 5, 0]


@pytest.mark.parametrize("choice", tiered(["-1", "3", "7"], ["3", "7"]))
def test_an_arm_that_is_none_is_refused_with_a_sentence(tmp_path, choice):
    """Failed before: -1 played the last arm with regret 0, 7 of 3 arms wrote beyond the arrays."""
    assert mine(tmp_path, choice, tmp_path / "out") == (
        f"Stubborn's select returned arm {choice}, but arms are 0 to 2 and must be eligible."
    )


def test_a_choice_of_another_kind_is_refused_with_a_sentence(tmp_path):
    assert "must return an arm (int)" in mine(tmp_path, "1.0", tmp_path / "out")


@thorough
def test_own_policies_run_in_other_processes(tmp_path):
    assert mine(tmp_path, "1", tmp_path / "out", "processes") == [0, 5, 0]
    assert "select returned arm 7" in mine(tmp_path, "7", tmp_path / "other", "processes")


def test_a_damaged_chunk_is_named_and_computed_again(tmp_path):
    first = run({"UCB": UCB}, tmp_path)
    paths = sorted((tmp_path / "chunks").iterdir())
    whole = paths[0].read_bytes()
    cut = len(whole) // 2
    middle = whole.index(b"PAR1") + 40
    for damaged in (
        whole[:cut],
        b"",
        whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        paths[1].read_bytes(),
    ):
        paths[0].write_bytes(damaged)
        with pytest.warns(RuntimeWarning, match=f"{paths[0].name} is damaged"):
            again = run({"UCB": UCB}, tmp_path)
        assert np.array_equal(again.regret["UCB"], first.regret["UCB"])
        assert paths[0].read_bytes() == whole
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run({"UCB": UCB}, tmp_path)


def test_every_altered_byte_is_found_or_changes_nothing(tmp_path):
    first = run({"UCB": UCB}, tmp_path, replications=1, horizon=40)
    (path,) = (tmp_path / "chunks").iterdir()
    whole, rng, found = path.read_bytes(), np.random.default_rng(0), 0
    for place in rng.choice(len(whole), 150, replace=False):
        path.write_bytes(
            whole[:place] + bytes([whole[place] ^ (1 << rng.integers(8))]) + whole[place + 1 :]
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            again = run({"UCB": UCB}, tmp_path, replications=1, horizon=40)
        found += any("is damaged" in str(one.message) for one in caught)
        assert np.array_equal(again.regret["UCB"], first.regret["UCB"])
    assert found > 50


def test_chunk_files_are_tidy_tables(tmp_path):
    import pyarrow.parquet as pq

    result = run(
        {"mine": tr.UCB(alpha=1.0)}, tmp_path, monitor=tr.Budget(baseline=0), replications=3
    )
    tables = [pq.read_table(path).to_pydict() for path in (tmp_path / "chunks").iterdir()]
    rows = {row["replication"][0]: row for row in tables}
    assert sorted(rows) == [0, 1, 2]
    for r, row in rows.items():
        assert row["policy"] == ["UCB(alpha=1.0)"]
        assert row["regret"][0] == result.regret["mine"][r].tolist()
        assert row["pulls"][0] == result.pulls["mine"][r].tolist()
        assert np.array_equal(
            np.reshape(row["watched.events"][0], (-1, 4)), result.watched["mine"]["events"][r]
        )


def test_plan_says_what_was_run_and_on_what(tmp_path):
    run({"UCB": UCB}, tmp_path)
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["experiment"]["seed"] == 0
    assert {"python", "numpy", "numba", "source", "libc", "cpu", "cpu features", "command"} <= plan[
        "made"
    ].keys()
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(ValueError, match=r"plan\.json is damaged"):
        run({"UCB": UCB}, tmp_path)


def test_processes_compute_linear_algebra_in_one_thread():
    with shared_workers("processes", 1, None):
        tr.simulate(TEN, UCB, horizon=10, engine="processes", workers=1)
        pools_of_threads = pools._shared[0].executor.submit(threadpoolctl.threadpool_info).result()
    assert {one["num_threads"] for one in pools_of_threads if one["user_api"] == "blas"} == {1}


def test_processes_end_with_a_driver_that_is_killed(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(
        "import os, time\n"
        "from tightrope.simulation import executors as "
        "pools; from "
        "tightrope.simulation.executors "
        "import shared_workers\n"
        "if __name__ == '__main__':\n"
        "    with shared_workers('processes', 1, None):\n"
        "        pools._shared[0].executor.submit(os.getpid).result()\n"
        "        print('started', flush=True)\n"
        "        time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout.readline() == "started\n"
        driver.kill()
        driver.communicate(
            timeout=30
        )  # the worker has the same stdout, whose end comes with the last process


def test_processes_that_are_shared_are_those_of_the_outermost():
    with shared_workers("processes", 1, None):
        with shared_workers("processes", 1, None):
            tr.simulate(TEN, UCB, horizon=10, engine="processes", workers=1)
            first = pools._shared[0].executor.submit(os.getpid).result()
        assert pools._shared[0].executor.submit(os.getpid).result() == first
    assert not pools._shared


def test_any_executor_of_the_standard_protocol_gives_the_numbers_of_threads(tmp_path):
    """What loky, mpi4py and a Dask client of one's own offer. It knows nothing of this package."""
    policies = {"UCB": UCB, "Thompson": tr.BetaThompson()}
    threads = tr.simulate(TEN, policies, horizon=300, replications=5)
    done = []
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        for out in (None, tmp_path):
            others = tr.simulate(
                TEN,
                policies,
                horizon=300,
                replications=5,
                engine=executor,
                out=out,
                progress=lambda *now: done.append(now),
            )
            assert all(
                np.array_equal(threads.regret[name], others.regret[name]) for name in policies
            )
        moved = [
            now
            for now, before in zip(done, [None, *done], strict=False)
            if now[0] and now != before
        ]  # others only say that it waits
        assert moved == [(300 * k, 3000) for k in range(1, 11)] * 2
        with pytest.raises(
            ValueError,
            match="engine is an executor, which has its own workers; leave workers and address out",
        ):
            tr.simulate(TEN, UCB, horizon=5, engine=executor, workers=2)
    with ThreadPoolExecutor(1) as executor:  # and one in this process
        here = tr.simulate(TEN, policies, horizon=300, replications=5, engine=executor)
        assert all(np.array_equal(threads.regret[name], here.regret[name]) for name in policies)


def test_processes_give_the_numbers_of_threads(tmp_path):
    policies = {"UCB": UCB, "Thompson": tr.BetaThompson()}
    threads = tr.simulate(TEN, policies, horizon=300, replications=5, monitor=tr.Budget(baseline=0))
    done = []
    others = run(
        policies,
        tmp_path,
        replications=5,
        monitor=tr.Budget(baseline=0),
        engine="processes",
        workers=2,
        progress=lambda played, total: done.append((played, total)),
    )
    for name in policies:
        assert np.array_equal(threads.regret[name], others.regret[name])
        assert np.array_equal(threads.pulls[name], others.pulls[name])
        assert np.array_equal(threads.watched[name]["budget"], others.watched[name]["budget"])
    assert done[-1] == (2 * 5 * 300, 2 * 5 * 300)
    problem = tr.problems.Linear(np.eye(3), [0.2, 0.5, 0.1], noise=0.3)
    policy = tr.LinGapE(epsilon=0.1, noise=0.3)
    named = [
        tr.identify(problem, policy, replications=3, engine=engine).frame()
        for engine in ("threads", "processes")
    ]
    assert named[0].equals(named[1])


def test_the_next_policy_is_begun_before_the_other_chunks_of_this_one():
    from tightrope.simulation.run import chunk_order
    from tightrope.simulation.store import Chunk

    chunks = [Chunk(name, r, r + 1, None) for name in "ABC" for r in range(3)]
    order = [chunks[number] for number in chunk_order(chunks)]
    assert [f"{chunk.name}{chunk.first}" for chunk in order] == [
        "A0",
        "B0",
        "A1",
        "A2",
        "C0",
        "B1",
        "B2",
        "C1",
        "C2",
    ]


def test_a_run_whose_chunks_were_stopped_by_another_one_says_so(tmp_path, monkeypatch):
    """Failed before: a result with fewer replications came back."""
    from tightrope.simulation import run as orchestrator
    from tightrope.simulation.loops import Slices

    class Robbed(orchestrator.Chunks):
        def as_completed(self, look_up=None):
            for number in self.waiting[:-1]:
                yield (
                    number,
                    self.recipe.compute(number, Slices(lambda: False, lambda rounds: None)),
                )

    with monkeypatch.context() as patch:
        patch.setattr(orchestrator, "Chunks", Robbed)
        with pytest.raises(RuntimeError, match="1 of 4 chunks were stopped from outside"):
            run({"UCB": UCB}, tmp_path)
    assert len(files(tmp_path)) == 3
    assert run({"UCB": UCB}, tmp_path).replications == 4


def test_processes_that_are_gone_are_told_of_while_chunks_are_sent(monkeypatch):
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    def gone(*given):
        raise BrokenProcessPool

    monkeypatch.setattr(ProcessPoolExecutor, "submit", gone)
    with pytest.raises(ChildProcessError, match="a worker process ended"):
        tr.simulate(TEN, {"UCB": UCB}, horizon=10, replications=2, engine="processes", workers=1)


def test_what_cannot_be_sent_to_processes_is_refused():
    with pytest.raises(ValueError, match=r"engine = 'processes' sends .* use engine = 'threads'"):
        tr.simulate(sets(closure(1)), tr.C2UCB(), horizon=5, engine="processes")
    with pytest.raises(
        ValueError, match="engine = 'fork' is not one of 'threads', 'processes', 'dask', 'ray'"
    ):
        tr.simulate(TEN, UCB, horizon=5, engine="fork")


def test_addresses_belong_to_clusters_that_have_their_own_workers():
    with pytest.raises(
        ValueError,
        match="address = 'tcp://a:1' is of a cluster, but engine = 'threads' works on this machine",
    ):
        tr.simulate(TEN, UCB, horizon=5, address="tcp://a:1")
    with pytest.raises(ValueError, match="workers = 2 has no meaning with address = 'auto'"):
        tr.simulate(TEN, UCB, horizon=5, engine="ray", workers=2, address="auto")


@pytest.mark.parametrize(("engine", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_engine_is_named_with_its_extra(engine, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ValueError, match=rf"engine = '{engine}' needs the extra tightrope\[{engine}\]"
    ):
        tr.simulate(TEN, UCB, horizon=5, engine=engine)


def test_a_worker_refuses_what_it_cannot_do_rightly(tmp_path):
    """Other code, a folder that is not there, a class that cannot be found: sentences instead of
    other numbers."""
    from dataclasses import replace

    from tightrope.simulation import executors as worker
    from tightrope.simulation.executors import RunRecipe
    from tightrope.simulation.store import Store

    packed = replace(
        worker.PackedRecipe.of("dask", RunRecipe(None, [], Store(tmp_path))),
        driver=(platform.node(), 1),
    )
    assert "is not there on" in str(worker.compute(packed, 0))
    assert "install the same versions" in str(
        worker.compute(replace(packed, code=("abc", "numpy 1.0")), 0)
    )
    lost = packed.data.replace(b"Recipe", b"Recipo")
    assert "into a module that the workers can import" in str(
        worker.compute(replace(packed, key="other", data=lost), 0)
    )


INTERRUPTED = """
import numpy as np, tightrope as tr
if __name__ == "__main__":
    problem = tr.problems.Bernoulli(np.linspace(0.25, 0.75, 10))
    def progress(done, total):
        if not progress.told and done > 5_000_000:  # so that one of two workers has finished a chunk of two
            progress.told = True
            print("ready", flush=True)
    progress.told = False
    try:
        tr.simulate(problem, tr.UCB(), horizon=1_000_000, replications=60, workers=2, engine="processes", progress=progress)
    except tr.Interrupted as stopped:
        print("none" if stopped.result is None else stopped.result.replications, flush=True)
"""


@thorough
def test_ctrl_c_stops_other_processes_and_keeps_what_is_done(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with started([sys.executable, str(script)], environment) as process:
        assert process.stdout.readline().strip() == "ready"
        interrupt(process)
        sent = time.monotonic()
        out, err = process.communicate(timeout=60)
        took = time.monotonic() - sent
    assert 1 <= int(out) < 60
    assert "Traceback" not in err
    assert took < 5.0 * crowding()


@pytest.mark.parametrize(
    "call",
    [
        lambda n: tr.simulate(TEN, UCB, horizon=10, replications=n),
        lambda n: tr.identify(
            tr.problems.Linear(np.eye(2), [0.1, 0.5]), tr.LinGapE(), replications=n
        ),
        lambda n: tr.train_softucb(tr.problems.Linear(np.eye(2), [0.1, 0.5]), 10, trajectories=n),
    ],
    ids=["simulate", "identify", "train_softucb"],
)
@pytest.mark.parametrize("count", [10**12, 10**400, 10**5000], ids=["1e12", "1e400", "1e5000"])
def test_sizes_that_no_memory_holds_are_refused_at_once(call, count):
    """Failed before: 10**400 replications hung."""
    began = time.monotonic()
    with pytest.raises(
        ValueError,
        match=r"needs (about 10\^\d+ bytes|[\d.e+]+ [KMGT]iB) of memory .* but this machine has",
    ):
        call(count)
    assert time.monotonic() - began < 5.0


def test_more_rounds_than_can_be_counted_are_refused():
    with pytest.raises(ValueError, match="horizon"):
        tr.simulate(TEN, UCB, horizon=2**60)


def test_identification_is_saved_loaded_and_drawn_like_a_result(tmp_path):
    problem = tr.problems.Linear(np.eye(3), [0.2, 0.5, 0.1], noise=0.3)
    policies = {
        "LinGapE": tr.LinGapE(epsilon=0.1, noise=0.3),
        "Uniform": tr.Uniform(epsilon=0.1, noise=0.3),
    }
    found = tr.identify(problem, policies, replications=4, out=tmp_path)
    again = tr.load(tmp_path)
    assert isinstance(again, tr.Identification)
    assert again.frame().equals(found.frame())
    assert again.policies == ["LinGapE", "Uniform"]
    for name in policies:
        assert np.array_equal(again.pulls[name], found.pulls[name])
        for key in ("arm", "rounds", "correct", "stopped", "gap_bound", "error"):
            before, after = getattr(found, key)[name], getattr(again, key)[name]
            assert np.array_equal(before, after)
            assert before.dtype == after.dtype
    best = again.summary()[0]
    assert best.mean == min(found.rounds[name].mean() for name in policies)
    assert again.settings["seed"] == 0
    for ending in ("svg", "png"):
        assert again.plot(tmp_path / f"rounds.{ending}").stat().st_size > 1000
    with pytest.raises(
        ValueError, match=r"holds a result of identification, not of simulation; tr\.load"
    ):
        tr.Result.load(tmp_path)


def test_an_interrupted_training_keeps_its_trajectories_and_goes_on(tmp_path):
    problem = tr.problems.Linear(np.eye(3), [0.2, 0.5, 0.1], noise=0.3)
    whole = tr.train_softucb(problem, 64, trajectories=6)
    calls = []

    def stop(done, total):
        calls.append(done)
        if len(calls) == 4:
            raise KeyboardInterrupt

    with pytest.raises(tr.Interrupted) as caught:
        tr.train_softucb(problem, 64, trajectories=6, out=tmp_path, progress=stop)
    part = caught.value.result
    assert part.status.startswith("interrupted: after 3 of 6")
    assert np.array_equal(part.path, whole.path[:4])
    assert len(files(tmp_path)) == 3
    before = files(tmp_path)
    again = tr.train_softucb(problem, 64, trajectories=6, out=tmp_path)
    assert np.array_equal(again.path, whole.path)
    assert np.array_equal(again.regret, whole.regret)
    assert before.items() <= files(tmp_path).items()


# Digests ------------------------------------------------------------------------------------------

SCALE = 2.0


def scaled(x):
    return SCALE * x


def outer(x):
    return scaled(x) + 1.0


@dataclass
class Settings:
    table: np.ndarray
    name: str = "a"


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def adder(k, by=1):
    return lambda x, y=by: x + k + y


def abstract(method):
    return type(abc.ABC)("Abstract", (abc.ABC,), {"method": method, "__module__": __name__})


DIFFERENT = [
    ([1, 2], [1, 3]),
    ([1], [[1]]),
    (["ab", "c"], ["a", "bc"]),
    (1, 1.0),
    (True, 1),
    (None, "None"),
    (0.0, -0.0),
    (b"a", "a"),
    (np.arange(3), np.arange(3.0)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.array(["a", "b"]), np.array(["a", "c"])),
    (np.array([1, None], dtype=object), np.array([1, 2], dtype=object)),
    ({"a": 1}, {"a": 2}),
    ({1, 2}, {1, 3}),
    (frozenset("ab"), frozenset("ac")),
    (Settings(np.arange(2)), Settings(np.arange(3))),
    (Slotted(1), Slotted(2)),
    (adder(1), adder(2)),
    (adder(1, 2), adder(1, 3)),
    (functools.partial(pow, 2), functools.partial(pow, 3)),
    (lambda x: x + 1, lambda x: x + 2),
    (np.log, np.exp),
    (max, min),
    (Instance(1).__call__, Instance(2).__call__),
    (pathlib.Path("a"), pathlib.Path("b")),
    (tr.UCB(), tr.UCB(alpha=1)),
    (tr.UCB(), tr.KLUCB()),
    (tr.oracles.TopK(2), tr.oracles.TopK(3)),
    (SetValue(), None),
    (int | str, int | float),
    (abstract(lambda self: 1), abstract(lambda self: 2)),
]


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different_contents_have_different_digests(first, second):
    assert digest(first) != digest(second)
    assert digest(first) == digest(first)


def test_equal_contents_have_equal_digests():
    for make in (
        lambda: adder(3),
        lambda: Settings(np.arange(4)),
        lambda: Slotted([1, "a"]),
        lambda: tr.oracles.TopK(2),
        lambda: {"a": {1, 2, 3}, "b": np.linspace(0, 1, 3)},
        lambda: functools.partial(adder, by=2),
    ):
        assert digest(make()) == digest(make())


def test_a_global_that_a_function_reads_is_part_of_it(monkeypatch):
    before = digest(outer)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    outer.__globals__["SCALE"] = 3.0
    try:
        assert digest(outer) != before
    finally:
        outer.__globals__["SCALE"] = 2.0
    assert digest(outer) == before


def test_objects_that_hold_themselves_have_a_digest():
    first, second = [1], [1]
    first.append(first)
    second.append(second)
    assert digest(first) == digest(second)

    def recursive(n):
        return recursive(n - 1) if n else 0

    assert digest(recursive) == digest(recursive)


@pytest.mark.parametrize(
    "value", [(k for k in range(3)), np.random.default_rng(0), sys.__stdout__, threading.Lock()]
)
def test_what_changes_or_has_no_content_has_no_digest(value):
    with pytest.raises(Undigestible):
        digest([value])


HERE_AND_THERE = """
import numpy as np, tightrope as tr
from tightrope.simulation.store import digest
print(digest([tr.UCB(), tr.oracles.Partition(list("aabb"), 1, 2), {"x", "y", "z"}, np.arange(3), lambda x: x + len("a")]))
"""


def test_digests_are_the_same_in_other_processes():
    found = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", HERE_AND_THERE]
        found.add(
            subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            ).stdout
        )
    assert len(found) == 1
