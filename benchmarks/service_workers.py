"""Durable decisions a second of two processes on one PostgreSQL: LinUCB with K = 50 arms and d = 20 features, an experiment each.

python benchmarks/service_workers.py [--seconds 60] [--workers 2] [--one-experiment] [--rewards] [--promise]
    [--policy LinUCB] [--pinned]

Starts a PostgreSQL server of its own in a temporary folder (the tests' helper installs it where it is missing). An experiment is written
by one process at a time, so as many experiments as workers are asked at once. With `--one-experiment` all of them decide in one;
`--promise` keeps its policy to a budget, `--rewards` rewards each decision. CPU seconds are those of the services' processes alone: the
load and the database share the same cores. With `--pinned` the services have the first core, whatever their number, and all
else the others: then their CPU seconds do not depend on how many of them share a core with the rest.
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
import time
import urllib.request

import numpy as np
from service_load import ARMS, DIMENSION, Connection, closed_loop, cpu, milliseconds, served

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "service"))

import postgres

CONNECTIONS = 32  # of each worker
FIRST_CORE = 0


def exchanges(port: int) -> tuple[int, float]:
    """The number of exchanges that a worker has made, and the seconds that they took."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    metrics = dict(line.split() for line in text.splitlines() if line.startswith("tightrope_exchange_seconds_") and "bucket" not in line)
    return int(float(metrics["tightrope_exchange_seconds_count"])), float(metrics["tightrope_exchange_seconds_sum"])


async def decide_and_reward(connections: list[Connection], path: str, seconds: float, rewards: bool) -> list[float]:
    """As fast as answers come, from all connections; each one's time, without its reward's."""
    times: list[float] = []
    until = time.perf_counter() + seconds

    async def one(connection: Connection) -> None:
        while time.perf_counter() < until:
            at = time.perf_counter()
            status, answer = await connection.post(f"{path}/decisions", b"{}")
            assert status == 200, answer[:300]
            times.append(time.perf_counter() - at)
            if rewards:
                reward = {"decision_id": json.loads(answer)["id"], "value": float(len(times) % 2)}
                status, answer = await connection.post(f"{path}/rewards", json.dumps(reward).encode())
                assert status == 200, answer[:300]

    await asyncio.gather(*(one(each) for each in connections))
    return times


async def measure_one(workers: list[tuple[int, str, int]], seconds: float, rewards: bool, promise: bool, policy: str) -> None:
    """All workers in one experiment."""
    features = np.random.default_rng(0).normal(size=(ARMS, DIMENSION)) / np.sqrt(DIMENSION)
    arms = [{"id": f"arm-{k}", "features": (row / max(1.0, np.linalg.norm(row))).tolist()} for k, row in enumerate(features)]
    port, key, _ = workers[0]
    guard = {"baseline": "arm-0", "baseline_mean": 0.4, "alpha": 0.1, "guarantee": {"sigma": 0.5}} if promise else {}
    spec = {"name": "one", "policy": policy, "window": "1h", "default_reward": 0.0, "arms": arms, "workers": len(workers)} | guard
    status, answer = await (await Connection(port, key).open()).post("/v1/experiments", json.dumps(spec).encode())
    assert status in (200, 201), answer
    connections = []
    for other, _, _ in workers:
        first = await Connection(other, key).open()
        while (await first.post("/v1/experiments/one/decisions", b"{}"))[0] != 200:  # it has not joined yet
            await asyncio.sleep(0.2)
        connections += [await Connection(other, key).open() for _ in range(CONNECTIONS)]
    await decide_and_reward(connections, "/v1/experiments/one", 5.0, rewards)
    before, counts = [cpu(pid) for *_, pid in workers], [exchanges(port) for port, *_ in workers]
    began = time.perf_counter()
    times = await decide_and_reward(connections, "/v1/experiments/one", seconds, rewards)
    took = time.perf_counter() - began
    used = sum(cpu(pid) for *_, pid in workers) - sum(before)
    since = [
        [one - other for one, other in zip(exchanges(port), first, strict=True)] for (port, *_), first in zip(workers, counts, strict=True)
    ]
    number, spent = sum(count for count, _ in since), sum(each for _, each in since)
    what = "decisions with rewards" if rewards else "decisions"
    print(
        f"{len(workers)} workers of one experiment with {CONNECTIONS} connections each: {len(times) / took:,.0f} {what}/s; "
        f"{milliseconds(times)}; {1e3 * used / len(times):.3f} CPU ms a decision, {number / took:.1f} exchanges/s of "
        f"{1e3 * spent / max(number, 1):.1f} ms"
    )


async def measure(workers: list[tuple[int, str, int]], seconds: float) -> None:
    features = np.random.default_rng(0).normal(size=(ARMS, DIMENSION)) / np.sqrt(DIMENSION)
    arms = [{"id": f"arm-{k}", "features": row.tolist()} for k, row in enumerate(features)]
    loads = []
    for number, (port, key, _) in enumerate(workers):
        admin = await Connection(port, key).open()
        spec = {"name": f"load-{number}", "policy": "LinUCB", "window": "1h", "default_reward": 0.0, "arms": arms}
        status, answer = await admin.post("/v1/experiments", json.dumps(spec).encode())
        assert status in (200, 201), answer
        connections = [await Connection(port, key).open() for _ in range(CONNECTIONS)]
        loads.append(closed_loop(connections, f"/v1/experiments/load-{number}/decisions", lambda: b"{}", seconds, 10**6))
    parts = await asyncio.gather(*loads)
    times = [each for _, _, part in parts for each in part]
    speed = sum(n / took for n, took, _ in parts)
    print(f"{len(workers)} processes with {CONNECTIONS} connections: {speed:,.0f} decisions/s; {milliseconds(times)}")


def pin(pid: int, cores: set[int]) -> None:
    """Let all threads of a process run on some cores only."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), cores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one-experiment", action="store_true")
    parser.add_argument("--rewards", action="store_true", help="with --one-experiment: reward each decision")
    parser.add_argument("--policy", default="LinUCB", help="with --one-experiment, such as LinTS, whose chances are drawn")
    parser.add_argument("--promise", action="store_true", help="with --one-experiment: keep the policy to a budget")
    parser.add_argument("--pinned", action="store_true", help="services on the first core, all else on the others")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    if arguments.pinned:
        pin(os.getpid(), {*range(os.cpu_count() or 1)} - {FIRST_CORE})  # and with it what it starts
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tightrope-workers-")))
        url, key, workers = stack.enter_context(postgres.server()), "", []
        for _ in range(arguments.workers):
            port, new_key, process = stack.enter_context(served(url, folder))
            key = new_key or key  # the first one makes it
            if arguments.pinned:
                pin(process.pid, {FIRST_CORE})
            workers.append((port, key, process.pid))
        if arguments.one_experiment:
            asyncio.run(measure_one(workers, arguments.seconds, arguments.rewards, arguments.promise, arguments.policy))
        else:
            asyncio.run(measure(workers, arguments.seconds))


if __name__ == "__main__":
    main()
