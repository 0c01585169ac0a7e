"""How many durable decisions a second, and how late: LinUCB with K = 50 arms and d = 20 features,
server and load on the same machine.

python benchmarks/service_load.py [--seconds 60] [--db URL] [--connections 64] [--rate 500] [--keep
FOLDER] [--behind N] [--busy]

First the disk alone, which every durable decision waits for. Then three measurements, each bounded
in time: as many single decisions as the service takes (closed loop), `rate` a second (open loop,
late starts counted as waiting), and batches of 1,000. The load is written straight to sockets, so
that it costs little beside the service.

`--behind N` measures instead decisions with ids of their own, in turns: in experiments that are new
and in one whose log has N events.

`--busy` measures instead one decision after the other, each rewarded, of experiments whose
propensities or sets cost most: alone, and beside a process that keeps each core busy.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import pathlib
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np
from latency import busy_cores

ARMS, DIMENSION, BATCH = 50, 20, 1000
TURNS = 6  # of comparing two experiments
COSTLY = {
    "LinTS": (50, 20, {}),
    "C2UCB": (400, 40, {"oracle": {"oracle": "TopK", "k": 5}}),
}  # arms, features and what else the spec says


class Connection:
    """One kept connection that sends a request and reads its answer."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key

    async def open(self) -> "Connection":
        self.reader, self.writer = await asyncio.open_connection(
            "127.0.0.1", self.port, limit=2**24
        )
        return self

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        lines = (
            f"POST {path} HTTP/1.1",
            "Host: x",
            f"Authorization: Bearer {self.key}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "",
            "",
        )
        head = "\r\n".join(lines)
        self.writer.write(head.encode() + body)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        lower = answer.lower()
        begin = lower.index(b"content-length:") + 15
        length = int(lower[begin : lower.index(b"\r\n", begin)])
        return int(answer[9:12]), await self.reader.readexactly(length)


async def closed_loop(
    connections: list[Connection], path: str, bodies, seconds: float, stop_after: int
) -> tuple[int, float, list[float]]:
    """As fast as answers come; returns how many succeeded, the time it took, and each one's
    time."""
    times: list[float] = []
    began = time.perf_counter()
    until = began + seconds

    async def one(connection: Connection) -> None:
        while time.perf_counter() < until and len(times) < stop_after:
            at = time.perf_counter()
            status, answer = await connection.post(path, bodies())
            assert status == 200, answer[:300]
            times.append(time.perf_counter() - at)

    await asyncio.gather(*(one(each) for each in connections))
    return len(times), time.perf_counter() - began, times


async def open_loop(
    connections: list[Connection], path: str, bodies, rate: float, seconds: float
) -> list[float]:
    """At a fixed rate; a request that had to wait for a free connection is late by as much."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for each in connections:
        free.put_nowait(each)
    times: list[float] = []
    began = time.perf_counter()

    async def one(due: float) -> None:
        connection = await free.get()
        status, answer = await connection.post(path, bodies())
        assert status == 200, answer[:300]
        times.append(time.perf_counter() - due)
        free.put_nowait(connection)

    running = set()
    for n in range(int(rate * seconds)):
        due = began + n / rate
        wait = due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        task = asyncio.create_task(one(due))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    return times


def milliseconds(times: list[float]) -> str:
    return ", ".join(
        f"{name} {1000 * np.quantile(times, q):.1f} ms"
        for name, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    )


def disk(folder: pathlib.Path, seconds: float = 5.0) -> list[float]:
    """The time that the idle disk takes to store a page, a lower bound for a durable decision."""
    times: list[float] = []
    with (folder / "page").open("wb") as file:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            file.seek(0)
            file.write(bytes(4096))
            file.flush()
            at = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - at)
            time.sleep(0.002)
    return times


@contextlib.contextmanager
def served(db: str, folder: pathlib.Path):
    """A service of its own process; yields its port and admin key."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = open(folder / "serve.log", "w")  # noqa: SIM115
    process = subprocess.Popen(
        [sys.executable, "-m", "tightrope", "serve", "--db", db, "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    try:
        key = ""
        for line in process.stdout:
            if "tr_" in line:
                key = line.split()[-1]
            if line.startswith("Serving"):
                break
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                break
            time.sleep(0.05)
        yield port, key, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)  # a million open decisions are written
        log.close()


def cpu(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    parts = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


async def create(admin: Connection, spec: dict) -> str:
    """Asks until the policy is compiled; the experiment's path."""
    while (made := await admin.post("/v1/experiments", json.dumps(spec).encode()))[0] == 202:
        await asyncio.sleep(1)
    assert made[0] in (200, 201), made
    return f"/v1/experiments/{spec['name']}"


async def begin(admin: Connection, name: str) -> str:
    """A new experiment with 100 rewarded decisions; its path."""
    features = np.random.default_rng(0).normal(size=(ARMS, DIMENSION)) / np.sqrt(DIMENSION)
    spec = {
        "name": name,
        "policy": {"policy": "LinUCB"},
        "window": "1h",
        "default_reward": 0.0,
        "arms": [{"id": f"arm-{k}", "features": row.tolist()} for k, row in enumerate(features)],
    }
    base = await create(admin, spec)
    for _ in range(100):
        _, answer = await admin.post(f"{base}/decisions", b"{}")
        await admin.post(
            f"{base}/rewards",
            json.dumps({"decision_id": json.loads(answer)["id"], "value": 1.0}).encode(),
        )
    return base


async def compare_behind(port: int, key: str, arguments: argparse.Namespace) -> None:
    """Decisions with own ids behind `behind` events and in new experiments, in turns."""
    connections = [await Connection(port, key).open() for _ in range(arguments.connections)]
    ids = itertools.count()
    old = await begin(connections[0], "old")
    began = time.perf_counter()
    while (n := next(ids)) < arguments.behind // BATCH:
        body = {"decisions": [{"id": f"behind-{n}-{j}"} for j in range(BATCH)]}
        status, answer = await connections[0].post(
            f"{old}/decisions:batch", json.dumps(body).encode()
        )
        assert status == 200, answer[:300]
    print(f"{arguments.behind:,} events written in {time.perf_counter() - began:.0f} s", flush=True)
    rates: dict[str, list[float]] = {"new": [], "old": []}
    times: dict[str, list[float]] = {"new": [], "old": []}
    for turn in range(TURNS):
        new = await begin(connections[0], f"new-{turn}")
        for which, base in (("new", new), ("old", old)):
            count, took, each = await closed_loop(
                connections,
                f"{base}/decisions",
                lambda: b'{"id": "own-%d"}' % next(ids),
                arguments.seconds / 2 / TURNS,
                10**6,
            )
            rates[which].append(count / took)
            times[which] += each
    for which, said in (("new", "in new experiments"), ("old", f"behind {arguments.behind:,}")):
        print(f"own ids {said}: {np.mean(rates[which]):,.0f}/s; {milliseconds(times[which])}")
    ratios = np.divide(rates["old"], rates["new"])
    print(f"ratio: {ratios.mean():.2f} +- {ratios.std(ddof=1) / np.sqrt(TURNS):.2f}")


async def measure(port: int, key: str, arguments: argparse.Namespace, pid: int) -> None:
    admin = await Connection(port, key).open()
    base = await begin(admin, "load")
    connections = [await Connection(port, key).open() for _ in range(arguments.connections)]
    if "single" in arguments.only:
        before = cpu(pid)
        n, took, times = await closed_loop(
            connections, f"{base}/decisions", lambda: b"{}", arguments.seconds, 10**6
        )
        print(f"the server's own time: {1e6 * (cpu(pid) - before) / n:.0f} µs a decision")
        print(
            f"single decisions, {len(connections)} connections: {n / took:,.0f}/s over {took:.0f} "
            f"s; {milliseconds(times)}"
        )

        async def pairs(connection: Connection, until: float) -> int:
            done = 0
            while time.perf_counter() < until:
                _, answer = await connection.post(f"{base}/decisions", b"{}")
                body = {"decision_id": json.loads(answer)["id"], "value": 0.5}
                status, answer = await connection.post(f"{base}/rewards", json.dumps(body).encode())
                assert status == 200, answer
                done += 1
            return done

        began = time.perf_counter()
        done = sum(
            await asyncio.gather(
                *(pairs(each, began + arguments.seconds / 4) for each in connections)
            )
        )
        print(f"decision and reward: {done / (time.perf_counter() - began):,.0f} pairs/s")
    if "rate" in arguments.only:
        times = await open_loop(
            connections, f"{base}/decisions", lambda: b"{}", arguments.rate, arguments.seconds
        )
        print(f"{arguments.rate:g} decisions/s for {arguments.seconds:g} s: {milliseconds(times)}")
    if "batch" in arguments.only:
        body = json.dumps({"decisions": [{}] * BATCH}).encode()
        before = cpu(pid)
        n, took, times = await closed_loop(
            connections[:4], f"{base}/decisions:batch", lambda: body, arguments.seconds / 4, 10**6
        )
        print(
            f"batches of {BATCH}: {n * BATCH / took:,.0f} decisions/s; {milliseconds(times)} per "
            "batch"
        )
        print(f"the server's own time: {1e6 * (cpu(pid) - before) / (n * BATCH):.0f} µs a decision")
    memory = next(
        (
            line
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
            if line.startswith("VmRSS")
        ),
        "",
    )
    print(f"server's memory: {' '.join(memory.split()[1:])}")


async def rewarded(connection: Connection, base: str, seconds: float) -> list[float]:
    """Decisions one after the other, each with its reward; the times of the decisions."""
    times: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        at = time.perf_counter()
        status, answer = await connection.post(f"{base}/decisions", b"{}")
        times.append(time.perf_counter() - at)
        assert status == 200, answer[:300]
        decision = json.loads(answer)
        value = dict.fromkeys(decision["arm"], 0.5) if isinstance(decision["arm"], list) else 0.5
        status, answer = await connection.post(
            f"{base}/rewards", json.dumps({"decision_id": decision["id"], "value": value}).encode()
        )
        assert status == 200, answer[:300]
    return times


async def compare_busy(port: int, key: str, seconds: float) -> None:
    """One line for each costly experiment, alone and beside busy processes."""
    admin = await Connection(port, key).open()
    for policy, (arms, dimension, more) in COSTLY.items():
        features = np.random.default_rng(0).normal(size=(arms, dimension)) / np.sqrt(dimension)
        rows = [{"id": f"arm-{k}", "features": row.tolist()} for k, row in enumerate(features)]
        spec = {
            "name": policy,
            "policy": policy,
            "arms": rows,
            "window": "1h",
            "default_reward": 0.0,
            **more,
        }
        base = await create(admin, spec)
        await rewarded(admin, base, 2.0)
        alone = await rewarded(admin, base, seconds)
        with busy_cores():
            busy = await rewarded(admin, base, seconds)
        print(
            f"{policy}, {arms} arms, d = {dimension}: alone {milliseconds(alone)}; beside busy "
            f"processes {milliseconds(busy)}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument(
        "--db", default=None, help="Default: a new SQLite file in a temporary folder."
    )
    parser.add_argument("--keep", default=None, help="Folder for the database, which is kept.")
    parser.add_argument("--only", nargs="+", default=["single", "rate", "batch"])
    parser.add_argument("--behind", type=int, default=None, help="Events in the log before.")
    parser.add_argument(
        "--busy",
        action="store_true",
        help="Only decisions of costly experiments, alone and beside busy processes.",
    )
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.keep or tempfile.mkdtemp(prefix="tightrope-load-"))
    folder.mkdir(exist_ok=True)
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; the "
        f"disk alone: {milliseconds(disk(folder))}"
    )
    try:
        with served(arguments.db or str(folder / "load.db"), folder) as (port, key, process):
            if arguments.busy:
                asyncio.run(compare_busy(port, key, arguments.seconds))
            elif arguments.behind:
                asyncio.run(compare_behind(port, key, arguments))
            else:
                asyncio.run(measure(port, key, arguments, process.pid))
    finally:
        if arguments.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
