"""Durable decisions a second of several processes on one PostgreSQL: LinUCB with K = 50 arms and d
= 20 features, an experiment each.

python benchmarks/service_processes.py [--seconds 60] [--processes 2]

Starts a PostgreSQL server of its own in a temporary folder (the tests' helper installs it where it
is missing). An experiment is written by one process at a time, so as many experiments as processes
are asked at once; the load and the database share the same cores.
"""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import platform
import sys
import tempfile

import numpy as np
from service_load import ARMS, DIMENSION, Connection, closed_loop, milliseconds, served

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "service"))

import postgres

CONNECTIONS = 32  # to each process


async def measure(processes: list[tuple[int, str]], seconds: float) -> None:
    features = np.random.default_rng(0).normal(size=(ARMS, DIMENSION)) / np.sqrt(DIMENSION)
    arms = [{"id": f"arm-{k}", "features": row.tolist()} for k, row in enumerate(features)]
    loads = []
    for number, (port, key) in enumerate(processes):
        admin = await Connection(port, key).open()
        spec = {
            "name": f"load-{number}",
            "policy": "LinUCB",
            "window": "1h",
            "default_reward": 0.0,
            "arms": arms,
        }
        status, answer = await admin.post("/v1/experiments", json.dumps(spec).encode())
        assert status in (200, 201), answer
        connections = [await Connection(port, key).open() for _ in range(CONNECTIONS)]
        loads.append(
            closed_loop(
                connections,
                f"/v1/experiments/load-{number}/decisions",
                lambda: b"{}",
                seconds,
                10**6,
            )
        )
    parts = await asyncio.gather(*loads)
    times = [each for _, _, part in parts for each in part]
    speed = sum(n / took for n, took, _ in parts)
    print(
        f"{len(processes)} processes with {CONNECTIONS} connections: {speed:,.0f} decisions/s; "
        f"{milliseconds(times)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="tightrope-processes-"))
        )
        url, key, processes = stack.enter_context(postgres.server()), "", []
        for _ in range(arguments.processes):
            port, new_key, _ = stack.enter_context(served(url, folder))
            key = new_key or key  # the first one makes it
            processes.append((port, key))
        asyncio.run(measure(processes, arguments.seconds))


if __name__ == "__main__":
    main()
