"""Rows per second and core of `learn_from`, and peak memory, on made-up logs: `python
benchmarks/learn_from.py`.

A tenth of the rows and then all of them are learned, each in a process of its own: memory must not
grow with the log. The plan for 10^8 rows follows from the speed.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import tightrope as tr

PART = 1_000_000
ARMS = 50
POLICIES = {
    "UCB": lambda d: (tr.UCB(), {"arms": ARMS}),
    "LinUCB": lambda d: (tr.LinUCB(), {"arms": ARMS, "dimension": d}),
}


def write(folder, rows, dimension):
    """Parquet files of at most PART rows: arm, reward, x0, x1, .. of one linear problem."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    theta = rng.normal(size=dimension) / dimension
    for number, first in enumerate(range(0, rows, PART)):
        n = min(PART, rows - first)
        X = rng.normal(size=(n, dimension)).astype(np.float32) / np.sqrt(dimension)
        table = {"arm": rng.integers(0, ARMS, n), "reward": X @ theta + 0.1 * rng.normal(size=n)}
        table |= {f"x{i}": X[:, i] for i in range(dimension)}
        pq.write_table(pa.table(table), folder / f"{number:04d}.parquet", row_group_size=2**17)


def learn(folder, name, dimension, workers):
    """One run in this process: seconds of CPU time (of all threads), peak memory in MiB."""
    policy, arguments = POLICIES[name](dimension)
    features = [f"x{i}" for i in range(dimension)] if name != "UCB" else None
    small = {"arm": np.zeros(1, dtype=np.int64), "reward": np.zeros(1)} | {
        f"x{i}": np.zeros(1) for i in range(dimension)
    }
    tr.Session(policy, **arguments).learn(small, features=features)  # compiles
    started = time.process_time()
    session = tr.learn_from(folder, policy, **arguments, features=features, workers=workers)
    print(session.rounds, time.process_time() - started, peak())


def peak():
    """Peak memory of this process in MiB; `getrusage` would count what its parent had when it was
    started."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**7)
    parser.add_argument("--dimension", type=int, default=20)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return learn(
            pathlib.Path(options.one[0]), options.one[1], options.dimension, options.workers
        )
    with tempfile.TemporaryDirectory() as base:
        for rows in (options.rows // 10, options.rows):
            folder = pathlib.Path(base) / str(rows)
            folder.mkdir()
            write(folder, rows, options.dimension)
            for name in POLICIES:
                words = [sys.executable, __file__, "--one", str(folder), name]
                words += ["--dimension", str(options.dimension), "--workers", str(options.workers)]
                done = subprocess.run(words, capture_output=True, text=True, check=True)
                n, seconds, memory = (float(word) for word in done.stdout.split())
                print(
                    f"{name:8s} {n:12,.0f} rows, d = {options.dimension}, {options.workers} "
                    f"threads: {seconds:7.2f} s of CPU, {n / seconds:10,.0f} rows/s per core, "
                    f"peak memory {memory:6,.0f} MiB",
                    flush=True,
                )
    return None


if __name__ == "__main__":
    main()
