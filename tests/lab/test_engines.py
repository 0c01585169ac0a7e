"""Dask and Ray with two worker processes: the bits of threads, errors, addresses, killed workers,
Ctrl-C."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from lab_experiments import Logged, lines, times

import tightrope as tr
from interrupting import crowding, interrupt, started
from tightrope.simulation.run import run_experiment

TEN = tr.problems.Bernoulli(np.linspace(0.25, 0.75, 10))
SPEC = (
    "problem: {kind: bernoulli, means: [0.4, 0.6]}\npolicies: {UCB: "
    "{policy: "
    "UCB}}\nhorizon: "
    "200\nreplications: 5\n"
)


def same(first, second):
    assert first.rows.keys() == second.rows.keys()
    for name, rows in first.rows.items():
        assert rows.keys() == second.rows[name].keys()
        for r, row in rows.items():
            assert all(np.array_equal(row[key], second.rows[name][r][key]) for key in row)


def chunk_files(out):
    """Those that stand under their name; another worker may be writing one at this moment."""
    return {
        path.name: path.read_bytes()
        for path in (out / "chunks").iterdir()
        if not path.name.startswith(".")
    }


def test_clusters_give_the_numbers_of_threads(cluster, tmp_path):
    engine, address = cluster
    policies = {"UCB": tr.UCB(), "Thompson": tr.BetaThompson()}
    options = {
        "horizon": 300,
        "replications": 5,
        "monitor": tr.Budget(baseline=0),
        "delay": tr.delays.Fixed(20),
    }
    threads = tr.simulate(TEN, policies, **options, out=tmp_path / "threads")
    done = []
    for out in (None, tmp_path / "cluster"):
        done.clear()
        found = tr.simulate(
            TEN,
            policies,
            engine=engine,
            address=address,
            out=out,
            progress=lambda played, all_: done.append((played, all_)),
            **options,
        )
        for name in policies:
            assert np.array_equal(threads.regret[name], found.regret[name])
            assert np.array_equal(threads.pulls[name], found.pulls[name])
            assert np.array_equal(threads.watched[name]["budget"], found.watched[name]["budget"])
        moved = [each for each in dict.fromkeys(done) if each[0]]  # told once a second meanwhile
        assert moved == [(300 * k, 3000) for k in range(1, 11)]
    assert chunk_files(tmp_path / "threads") == chunk_files(tmp_path / "cluster")


def test_identification_gives_the_answers_of_threads(cluster):
    engine, address = cluster
    problem, policy = (
        tr.problems.Linear(np.eye(3), [0.2, 0.5, 0.1], noise=0.3),
        tr.LinGapE(epsilon=0.1, noise=0.3),
    )
    named = [
        tr.identify(problem, policy, replications=3, **at).frame()
        for at in ({}, {"engine": engine, "address": address})
    ]
    assert named[0].equals(named[1])


def test_an_error_in_a_worker_comes_out_and_finished_chunks_stay(cluster, tmp_path):
    engine, address = cluster
    with pytest.raises(ValueError, match=r"^replication 3 of 'b' fails\.$"):
        run_experiment(
            Logged(str(tmp_path / "log"), fails="b 3"),
            6,
            engine=engine,
            address=address,
            out=tmp_path / "out",
        )
    assert times(tmp_path / "log")["b 3"] == 1  # it would only fail again
    kept = len(chunk_files(tmp_path / "out"))
    whole = run_experiment(Logged(str(tmp_path / "second")), 6, out=tmp_path / "out")
    assert kept > 0
    assert (
        times(tmp_path / "second").total() <= 12 - kept
    )  # fewer where another worker was still at it
    same(whole, run_experiment(Logged(str(tmp_path / "third")), 6))


def test_another_driver_works_by_address(cluster, tmp_path):
    engine, address = cluster
    (tmp_path / "spec.yaml").write_text(SPEC)
    command = [sys.executable, "-m", "tightrope", "run", str(tmp_path / "spec.yaml"), "--quiet"]
    for place, words in (("cluster", ["--engine", engine, "--address", address]), ("threads", [])):
        done = subprocess.run(
            [*command, "--out", str(tmp_path / place), *words],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
    assert chunk_files(tmp_path / "cluster") == chunk_files(tmp_path / "threads")


@pytest.mark.parametrize("store", [False, True], ids=["rows", "store"])
def test_a_killed_worker_costs_only_its_own_chunk(cluster, tmp_path, store):
    """SIGKILL of a worker while a replication runs there."""
    engine, address = cluster
    log, killed = str(tmp_path / "log"), []

    def kill():
        while len(begun := [line for line in lines(log) if line[0] == "begin"]) < 6:
            time.sleep(0.02)
        killed.append(begun[-1][1])
        os.kill(begun[-1][1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = run_experiment(
        Logged(log, seconds=0.3),
        12,
        engine=engine,
        address=address,
        out=tmp_path / "out" if store else None,
    )
    killer.join()
    undisturbed = run_experiment(
        Logged(str(tmp_path / "other")), 12, out=tmp_path / "threads" if store else None
    )
    assert found.complete
    same(found, undisturbed)
    if store:
        assert chunk_files(tmp_path / "out") == chunk_files(tmp_path / "threads")
    begun, ended = times(log), times(log, "end")
    lost = {
        task for word, process, task in lines(log) if word == "begin" and process == killed[0]
    } - {task for word, process, task in lines(log) if word == "end" and process == killed[0]}
    assert len(begun) == len(ended) == 24
    assert len(lost) == 1
    again = {task for task, number in begun.items() if number > 1}
    assert lost <= again
    if store:
        assert again == lost
    else:  # Dask makes rows again that the worker held and the driver had not fetched yet
        assert len(again - lost) <= 1
    assert all(begun[task] == 2 for task in again)
    assert killed[0] not in {
        process
        for word, process, task in lines(log)
        if task in again and word == "end" and task in lost
    }


def running(pid):
    """Whether a process is there and more than an entry that nobody asked for."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


INTERRUPTED = """
import sys
from lab_experiments import Logged
from tightrope.simulation.run import run_experiment
if __name__ == "__main__":
    seen = {0}  # progress is told of a second's waiting as well
    def progress(done, most):
        if done not in seen:
            seen.add(done)
            print("played", flush=True)
    found = run_experiment(
        Logged(sys.argv[2], seconds=0.4), 40, engine=sys.argv[1], workers=2, progress=progress
    )
    print("complete", found.complete, sum(map(len, found.rows.values())), flush=True)
"""


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_ctrl_c_keeps_what_is_done_and_leaves_no_process(engine, tmp_path):
    (tmp_path / "script.py").write_text(INTERRUPTED)
    command = [sys.executable, str(tmp_path / "script.py"), engine, str(tmp_path / "log")]
    with started(command) as process:
        for _ in range(5):
            assert process.stdout.readline() == "played\n"
        interrupt(process)
        sent = time.monotonic()
        out, err = process.communicate(timeout=60)
        took = time.monotonic() - sent
        complete, kept = out.splitlines()[-1].split()[1:]
        assert complete == "False", err
        assert 5 <= int(kept) < 40
        assert "Traceback" not in err
        assert took < 10.0 * crowding()
        workers = {pid for _, pid, _ in lines(tmp_path / "log")}
        while any(map(running, workers)) and time.monotonic() < sent + 20:
            time.sleep(0.1)
        assert not any(map(running, workers))
