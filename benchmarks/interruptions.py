"""Signals over engines and commands: `python benchmarks/interruptions.py [--signals 200]` prints
exit codes and last lines as a table.

Each command gets SIGINT, SIGINT twice or SIGTERM at a random moment between its start and two
seconds after its first result. It must end with 130 or 143 and the line "Stopped.", or, where it
had ended before, with 0; nothing else may stand at the end, and no child may be left. Ends with 1
where one does otherwise.
"""

import argparse
import collections
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))

import numpy as np

from interrupting import started

SPEC = """
title: two arms
problem: {kind: bernoulli, means: [0.4, 0.6]}
policies: {UCB: {policy: UCB}, KLUCB: {policy: KLUCB}}
horizon: 3e6
replications: 40
"""
SIGNALS = {
    "INT": (signal.SIGINT,),
    "INT INT": (signal.SIGINT, signal.SIGINT),
    "TERM": (signal.SIGTERM,),
}
LONGEST, LINGER, PAUSE = (
    120.0,
    3.0,
    0.05,
)  # seconds that a command has to end, that its children have then, and between two signals


def commands(folder: pathlib.Path) -> dict[str, list[str]]:
    """Name -> words of a command that takes longer than anybody waits."""
    run = [
        "run",
        str(folder / "spec.yaml"),
        "--out",
        str(folder / "out"),
        "--quiet",
        "--workers",
        "2",
    ]
    return {
        "run, threads": [*run, "--engine", "threads"],
        "run, processes": [*run, "--engine", "processes"],
        "run, dask": [*run, "--engine", "dask"],
        "reproduce": [
            "reproduce",
            "conservative",
            "--scale",
            "paper",
            "--out",
            str(folder / "out"),
            "--quiet",
        ],
        "bench": ["bench", "--only", "UCB", "--baseline", str(folder / "none.json")],
        "demo": ["demo", "--out", str(folder / "out"), "--data", str(folder), "--quiet"],
        "warm": ["warm"],
    }


def began(name: str, folder: pathlib.Path, start: float) -> bool:
    """Whether a command has its first result, or has none to wait for and ran for two seconds."""
    if name in ("bench", "warm"):
        return time.monotonic() - start > 2.0
    return next((folder / "out").rglob("*.json"), None) is not None


def children(group: int) -> int:
    """Processes of a group that are still there, zombies apart."""
    count = 0
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            state, _, own = status.read_text().rpartition(")")[2].split()[:3]
            count += int(own) == group and state != "Z"
    return count


def interrupted(
    name: str, signals: tuple[int, ...], rng: np.random.Generator
) -> tuple[int | str, str]:
    """(exit code, last line) of one command."""
    with tempfile.TemporaryDirectory(prefix="tightrope-interruptions-") as place:
        folder = pathlib.Path(place)
        (folder / "spec.yaml").write_text(SPEC)
        start = time.monotonic()
        with started([sys.executable, "-m", "tightrope", *commands(folder)[name]]) as process:
            if rng.random() < 0.3:  # while it imports and prepares
                time.sleep(float(rng.uniform(0.7, 2.0)))
            else:
                while (
                    not began(name, folder, start)
                    and process.poll() is None
                    and time.monotonic() - start < LONGEST
                ):
                    time.sleep(0.02)
                time.sleep(float(rng.uniform(0.0, 2.0)))
            for number in signals:
                with contextlib.suppress(ProcessLookupError):
                    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
                time.sleep(PAUSE)
            try:
                out, said = process.communicate(timeout=LONGEST)
            except subprocess.TimeoutExpired:
                return "hung", ""
            until = time.monotonic() + LINGER
            while (
                left := children(process.pid)
            ) and time.monotonic() < until:  # such as one that clears up behind the others
                time.sleep(PAUSE)
            lines = (said if process.returncode else out).rstrip("\n").splitlines() or [""]
            return process.returncode, lines[-1] + (f" ({left} processes left)" if left else "")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--signals", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, counts = np.random.default_rng(options.seed), collections.Counter()
    names = [(name, called) for name in commands(pathlib.Path()) for called in SIGNALS]
    for turn in range(options.signals):
        name, called = names[turn % len(names)]
        code, line = interrupted(name, SIGNALS[called], rng)
        right = (code == 128 + SIGNALS[called][0] and line == "Stopped.") or (
            code == 0 and "left)" not in line
        )
        counts[name, called, code, line if code else "(had ended)" if right else line, right] += 1
    print(f"{'command':16} {'signals':8} {'number':>6}  {'code':>5}  last line")
    for (name, called, code, line, right), number in sorted(counts.items(), key=str):
        print(
            f"{name:16} {called:8} {number:6}  {code!s:>5}  {line}{'' if right else '   <- wrong'}"
        )
    return int(any(not right for *_, right in counts))


if __name__ == "__main__":
    sys.exit(main())
