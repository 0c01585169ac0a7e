"""Ctrl-C: commands end with 130 and a sentence, and compiled code survives a signal at any
moment."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from interrupting import interrupt, started
from tiers import tiered

SPEC = """
title: two arms
problem: {kind: bernoulli, means: [0.4, 0.6]}
policies: {UCB: {policy: UCB}}
horizon: 1e9
replications: 40
"""
KEPT = "Finished chunks are kept: the same command goes on from there.\n"


def has_begun(command: str, folder: pathlib.Path) -> bool:
    """Whether the first simulation of a command has begun to write."""
    return next((folder / "out").rglob("*.json"), None) is not None


@pytest.mark.parametrize("command", tiered(["run", "reproduce", "demo"], ["reproduce", "demo"]))
def test_ctrl_c_ends_a_command_with_130_and_its_sentence(command, tmp_path):
    (tmp_path / "spec.yaml").write_text(SPEC)
    words = {
        "run": ["run", str(tmp_path / "spec.yaml"), "--out", str(tmp_path / "out"), "--quiet"],
        "reproduce": [
            "reproduce",
            "conservative",
            "--scale",
            "paper",
            "--out",
            str(tmp_path / "out"),
            "--quiet",
        ],
        "demo": ["demo", "--out", str(tmp_path / "out"), "--data", str(tmp_path), "--quiet"],
    }[command]
    with started([sys.executable, "-m", "tightrope", *words]) as process:
        limit = time.monotonic() + 120
        while (
            not has_begun(command, tmp_path) and process.poll() is None and time.monotonic() < limit
        ):
            time.sleep(0.1)
        time.sleep(0.5)
        interrupt(process)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert said.endswith("Stopped.\n")
    assert KEPT in said


ENDS = ("threads TERM", "threads INT INT", "processes INT", "processes INT INT", "processes TERM")


@pytest.mark.parametrize(
    "case", tiered(ENDS, ["threads INT INT", "processes INT", "processes TERM"])
)
def test_every_engine_has_one_way_out(case, tmp_path):
    """Failed before: Ctrl-C ended processes in a traceback 7 times of 20, and SIGTERM left warnings
    of leaked semaphores."""
    engine, *names = case.split()
    signals = [getattr(signal, f"SIG{name}") for name in names]
    (tmp_path / "spec.yaml").write_text(SPEC)
    words = [
        "run",
        str(tmp_path / "spec.yaml"),
        "--out",
        str(tmp_path / "out"),
        "--quiet",
        "--engine",
        engine,
        "--workers",
        "2",
    ]
    with started([sys.executable, "-m", "tightrope", *words]) as process:
        limit = time.monotonic() + 120
        while (
            not has_begun("run", tmp_path) and process.poll() is None and time.monotonic() < limit
        ):
            time.sleep(0.05)
        time.sleep(float(np.random.default_rng(len(engine) + len(signals)).uniform(0.0, 3.0)))
        for number in signals:
            (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
            time.sleep(0.05)
        _, said = process.communicate(timeout=120)
    assert (process.returncode, said) == (128 + signals[0], KEPT + "Stopped.\n")


EXECUTES = """
from tightrope import extend

print("ready", flush=True)
exec("import time; time.sleep(60)")
"""


def test_ctrl_c_while_a_string_is_executed_ends_with_130_too(tmp_path):
    """As Numba executes them: Python would end itself by the signal and ask nobody for an exit
    code."""
    (tmp_path / "executes.py").write_text(EXECUTES)
    with started(
        [sys.executable, "-m", "tightrope", "policies", "--import", str(tmp_path / "executes.py")]
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        interrupt(process)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert said.endswith("Stopped.\n")


SIGNALS = """
import signal, time
import tightrope as tr

class Late(BaseException):  # as KeyboardInterrupt
    pass

def ring(number, frame):
    if frame.f_code.co_name not in ("<module>", "ring"):  # that is, inside a call of the session
        raise Late

sessions = [tr.Session(tr.UCB(), arms=3), tr.Session(tr.LinTS(), arms=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])]
for session in sessions:
    session.update(session.select(), 0.5)
signal.signal(signal.SIGALRM, ring)
caught, calls, until = 0, 0, time.monotonic() + 4
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)
while True:
    try:
        while time.monotonic() < until:
            for session in sessions:
                session.update(session.select(), 0.5)
            calls += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        break
    except Late:
        caught += 1
for session in sessions:
    assert session.select() in (0, 1, 2)
    assert abs(session.explain()["probability"].sum() - 1) < 1e-9
print(caught, calls)
"""


CROSSINGS = """
import signal, time
import numpy as np
import tightrope as tr

class Late(BaseException):  # as KeyboardInterrupt
    pass

def ring(number, frame):
    if frame.f_code.co_name not in ("<module>", "ring"):
        raise Late

session = tr.Session(tr.LinTS(), arms=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
problem = tr.problems.Bernoulli([0.4, 0.6])
rows = {"arm": np.array([0, 1, 2] * 5), "reward": np.full(15, 0.5)}
log = tr.logs.from_frame(rows | {"propensity": np.full(15, 1 / 3)}, arms=3)
def once():
    session.learn(rows)
    session.explain(draws=10)
    tr.simulate(problem, tr.UCB(), horizon=5, replications=1, workers=1)
    tr.evaluate(log, session)
once()
signal.signal(signal.SIGALRM, ring)
caught, calls, until = 0, 0, time.monotonic() + 6
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)
while True:
    try:
        while time.monotonic() < until:
            once()
            calls += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        break
    except Late:
        caught += 1
once()
print(caught, calls)
"""


def test_a_signal_while_tuples_cross_into_compiled_code_is_an_exception_and_not_a_crash():
    """As in `bench`, `learn`, `explain`, `simulate` and `evaluate`. With Numba's own boxers this
    ends in a segmentation fault."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", CROSSINGS],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[0]) > 300


def test_a_signal_in_the_middle_of_a_decision_is_an_exception_and_not_a_crash():
    """Numba's boxers of tuples, arrays and generators run Python, where an exception of a signal
    handler crashed the process."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", SIGNALS],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    caught, calls = map(int, done.stdout.split())
    assert caught > 300
    assert calls > 300
