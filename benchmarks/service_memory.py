"""Does the service's memory stay where it is over a million decisions, and how long does a start
from the log alone take?

python benchmarks/service_memory.py [--decisions 1000000] [--open 2000]

LinUCB with K = 50 arms and d = 20 features over HTTP in batches; every decision has its reward when
`open` later ones were made. Prints the server's memory on the way; then replays its log from the
first event and compares every bit of the state with the server's.
"""

import argparse
import asyncio
import collections
import json
import pathlib
import tempfile
import time

import numpy as np
import sqlalchemy as sa
from service_load import ARMS, DIMENSION, Connection, served

from tightrope_service import log
from tightrope_service.database import Database
from tightrope_service.log import ExperimentJournal, snapshots
from tightrope_service.recovery import fingerprint

BATCH, LINES = 1000, 10


def memory(pid: int) -> float:
    """MB that a process holds."""
    line = next(
        line
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    )
    return int(line.split()[1]) / 1024


async def drive(port: int, key: str, pid: int, decisions: int, most_open: int) -> None:
    connection = await Connection(port, key).open()
    rng = np.random.default_rng(0)
    features = rng.normal(size=(ARMS, DIMENSION)) / np.sqrt(DIMENSION)
    arms = [{"id": f"arm-{k}", "features": row.tolist()} for k, row in enumerate(features)]
    spec = {"name": "load", "policy": "LinUCB", "window": "1h", "default_reward": 0.0, "arms": arms}
    status, answer = await connection.post("/v1/experiments", json.dumps(spec).encode())
    assert status == 201, answer
    waiting, began = collections.deque(), time.perf_counter()
    question = json.dumps({"decisions": [{}] * BATCH}).encode()
    for done in range(BATCH, decisions + 1, BATCH):
        status, answer = await connection.post("/v1/experiments/load/decisions:batch", question)
        assert status == 200, answer[:300]
        waiting.extend(one["answer"]["id"] for one in json.loads(answer)["results"])
        if len(waiting) >= most_open + BATCH:
            items = [
                {"decision_id": waiting.popleft(), "value": value}
                for value in rng.random(BATCH).tolist()
            ]
            status, answer = await connection.post(
                "/v1/experiments/load/rewards:batch", json.dumps({"rewards": items}).encode()
            )
            assert status == 200 and all(
                one["status"] == 200 for one in json.loads(answer)["results"]
            ), answer[:300]
        if done % (decisions // LINES) == 0:
            print(
                f"{done:>9,} decisions, {len(waiting):,} open, {time.perf_counter() - began:5.0f} "
                f"s: {memory(pid):,.0f} MB",
                flush=True,
            )


def replayed(path: pathlib.Path) -> None:
    database = Database(str(path))
    journal, began = ExperimentJournal("load"), time.perf_counter()
    with database.read() as connection:
        for event in log.read(connection, 1):
            journal.follow(event)
            if event.seq == 10**6:
                print(
                    f"the first million events replayed in {time.perf_counter() - began:.1f} s",
                    flush=True,
                )
        print(f"{journal.experiment.seq:,} events replayed in {time.perf_counter() - began:.1f} s")
        stored = connection.execute(
            sa.select(snapshots.c.fingerprint).order_by(snapshots.c.seq.desc()).limit(1)
        ).scalar_one()
    assert bytes(stored) == fingerprint(journal), (
        "the replayed state is another one than the server's"
    )
    print("the state is the server's to the last bit")
    database.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--decisions", type=int, default=10**6)
    parser.add_argument("--open", type=int, default=2000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tightrope-memory-") as folder:
        path = pathlib.Path(folder) / "a.db"
        with served(str(path), pathlib.Path(folder)) as (port, key, process):
            asyncio.run(drive(port, key, process.pid, arguments.decisions, arguments.open))
        replayed(path)


if __name__ == "__main__":
    main()
