"""DR with its confidence sequence on a Parquet file of 1e7 rows: wall time and the most memory
held. Must stay below 60 s.

python benchmarks/inference.py [rows] [file]    (the file is written first, by another process, and
kept where it is named)
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

K, D, GROUP = 10, 5, 1_000_000


def write(rows, path):
    """A log of an uneven logger with features of the round, and the logger's probabilities of all
    arms."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    theta = rng.normal(size=(K, D)) * 0.05
    for begin in range(0, rows, GROUP):
        n = min(GROUP, rows - begin)
        x = rng.normal(size=(n, D))
        chances = rng.random((n, K)) + 0.1
        chances /= chances.sum(axis=1, keepdims=True)
        arm = np.minimum((chances.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1), K - 1)
        mean = np.clip(0.3 + 0.02 * arm + (x * theta[arm]).sum(axis=1), 0.0, 1.0)
        columns = {
            "arm": arm,
            "reward": (rng.random(n) < mean) * 1.0,
            "propensity": chances[np.arange(n), arm],
        }
        columns |= {f"x{j}": x[:, j] for j in range(D)} | {f"h{k}": chances[:, k] for k in range(K)}
        part = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    writer.close()


def read(path):
    """Evaluate one arm and print what it took; compilation is measured by itself."""
    started = time.perf_counter()
    import tightrope as tr

    columns = {
        "features": [f"x{j}" for j in range(D)],
        "probabilities": [f"h{k}" for k in range(K)],
    }
    h = np.full((400, K), 1.0 / K)
    small = {"arm": np.arange(400) % K, "reward": np.zeros(400), "propensity": h[:, 0]}
    tr.evaluate(
        tr.logs.from_frame(small, features=np.zeros((400, D)), probabilities=h),
        3,
        baseline="logged",
    )
    print(f"import and compilation: {time.perf_counter() - started:.1f} s, {memory():.2f} GiB")
    started = time.perf_counter()
    log = tr.logs.from_frame(path, **columns, arms=K)
    opened = time.perf_counter()
    print(
        f"{log.n:,} rows, K = {K}, d = {D}, {os.path.getsize(path) / 2**30:.2f} GiB: checked in "
        f"{opened - started:.1f} s"
    )
    evaluation = tr.evaluate(log, 3, baseline="logged")
    done = time.perf_counter()
    print(
        f"DR, sequence and gate: {done - opened:.1f} s; together {done - started:.1f} s; most "
        f"memory {memory():.2f} GiB"
    )
    print(evaluation)


def memory():
    """Most memory held so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main(rows="10000000", path=None):
    """Write in one process and read in another, so that the memory is that of reading."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(path or pathlib.Path(folder) / "log.parquet")
        for words in (["--write", rows], ["--read"]):
            if words == ["--read"] or not place.exists():
                subprocess.run([sys.executable, __file__, *words, str(place)], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(int(sys.argv[2]), sys.argv[3])
    elif sys.argv[1:2] == ["--read"]:
        read(sys.argv[2])
    else:
        main(*sys.argv[1:])
