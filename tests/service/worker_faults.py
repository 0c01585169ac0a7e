"""Random faults against two processes that decide in one experiment with a promise, and what must hold whenever they have told each other.

Acknowledged decisions and rewards are in the logs, once; every chain holds; a replay draws what the workers drew and finds their state; the
true budget, which the driver knows, was never below 0. The processes are forked from this one, where kernels are compiled already.
"""

import collections
import json
import os
import pathlib
import signal
import socket
import threading
import time

import numpy as np
import psycopg
from faults import Broken, Request, Wire

from tightrope.service import server as run
from tightrope.service.domain.events import Decided
from tightrope.service.domain.spec import ExperimentSpec
from tightrope.service.log import store
from tightrope.service.log.database import Database
from tightrope.service.log.verification import replay, verify
from tightrope.service.runtime import keys
from tightrope.service.runtime.settings import Settings
from tightrope.service.runtime.warm_up import warm_up

NAME, ALPHA = "faulty", 0.1
MEANS = {"base": 0.6, "a0": 0.9, "a1": 0.1, "a2": 0.2, "a3": 0.3}
SPEC = {
    "name": NAME, "policy": "UCB", "arms": [{"id": arm} for arm in MEANS], "baseline": "base", "baseline_mean": MEANS["base"],
    "alpha": ALPHA, "guarantee": {"sigma": 0.5}, "window": "1h", "default_reward": 0.0, "seed": 11, "workers": 4, "cancel_within": None,
}  # fmt: skip
KINDS = ("kill", "kill both", "cut off", "hold exchanges", "duplicate", "reorder", "malformed", "pause")
SOCKETS = 4  # of each worker
PAUSE = 0.8  # seconds that a worker is stopped, longer than it may be silent


class Worker:
    """A process and the connections to it."""

    def __init__(self, url: str, key: str, folder: pathlib.Path) -> None:
        self.url, self.key, self.folder, self.pid = url, key, folder, 0
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.wires: list[Wire] = []

    def start(self) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            try:
                with open(self.folder / f"child-{self.port}.log", "a") as out:
                    os.dup2(out.fileno(), 1)
                    os.dup2(out.fileno(), 2)
                run.serve(Settings(db=self.url, port=self.port, tick=0.05, lease=0.5, exchange=0.02, snapshot_every=500))
            finally:
                os._exit(1)
        end = time.monotonic() + 60
        while True:
            try:
                self.connect()
                return
            except OSError:
                if time.monotonic() > end or os.waitpid(self.pid, os.WNOHANG)[0]:
                    raise Broken(f"a worker did not start: {(self.folder / f'child-{self.port}.log').read_text()[-2000:]}") from None
                time.sleep(0.005)

    def connect(self) -> None:
        self.wires = [Wire(self.port) for _ in range(SOCKETS)]

    def end(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid, number)
        os.waitpid(self.pid, 0)
        self.pid = 0

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict]:
        wire = Wire(self.port)
        wire.send(self.key, method, path, b"" if body is None else json.dumps(body).encode())
        answer = wire.read()
        wire.socket.close()
        return (503, {}) if answer is None else (answer[0], json.loads(answer[1]))


class Driver:
    """Sends traffic to two workers, does damage, checks."""

    def __init__(self, url: str, folder: pathlib.Path, seed: int) -> None:
        self.url, self.rng = url, np.random.default_rng(seed)
        database = Database(url)
        database.migrate()
        with database.write() as connection:
            key = keys.create(connection, "admin", per_second=1e6)
        database.close()
        warm_up(ExperimentSpec.model_validate(SPEC), Settings())
        self.workers = [Worker(url, key, folder) for _ in range(2)]
        self.made = 0
        self.open: dict[str, str] = {}  # acknowledged decisions without a reward of ours: the arm
        self.arms: dict[str, str] = {}  # acknowledged
        self.rewards: dict[str, float] = {}  # acknowledged
        self.count: collections.Counter[str] = collections.Counter()
        self.statuses: collections.Counter[int] = collections.Counter()
        self.checked = 0

    # Traffic ------------------------------------------------------------------------------------------------------------------

    def decision(self) -> Request:
        self.made += 1
        id = f"d{self.made}"
        return Request("decide", id, "decisions", json.dumps({"id": id}).encode())

    def reward(self) -> Request:
        id = list(self.open)[int(self.rng.integers(len(self.open)))]
        value = float(self.rng.random() < MEANS[self.open[id]])
        del self.open[id]
        return Request("reward", id, "rewards", json.dumps({"decision_id": id, "value": value}).encode(), value)

    def batch(self, number: int = 2 * SOCKETS) -> list[Request]:
        return [self.reward() if self.open and self.rng.random() < 0.5 else self.decision() for _ in range(number)]

    def send(self, requests: list[Request], meanwhile=None) -> list[Request]:
        """Send each to one of the workers, all at once; check the answers. Returns those that have none, or were told to come again."""
        free = [wire for worker in self.workers for wire in worker.wires]
        self.rng.shuffle(free)
        sent = list(zip(free, requests, strict=False))
        for wire, request in sent:
            wire.send(self.workers[0].key, request.method, f"/v1/experiments/{NAME}/{request.path}", request.body)
        if meanwhile is not None:
            meanwhile()
        left, began = [], time.monotonic()
        for wire, request in sent:
            answer = wire.read()
            if answer is None and meanwhile is None:
                raise Broken(f"a worker gave no answer to {request} after {time.monotonic() - began:.1f} s: {self.alive()}")
            if answer is None or answer[0] == 503:
                left.append(request)
            if answer is not None:
                self.check(request, *answer)
        return left + requests[len(sent) :]

    def insist(self, requests: list[Request]) -> None:
        """Send until all have an answer, as clients do."""
        end = time.monotonic() + 60
        while requests:
            requests = self.send(requests)
            if requests:
                time.sleep(0.05)
                if time.monotonic() > end:
                    raise Broken(f"{len(requests)} requests have no answer after a minute, such as {requests[0]}.")

    def check(self, request: Request, status: int, body: bytes) -> None:
        self.statuses[status] += 1
        if request.kind == "garbage":
            if status < 400 or status == 500:
                raise Broken(f"status {status} for {request}")
        elif status == 503:
            pass
        elif request.kind == "decide" and status == 200:
            arm = json.loads(body)["arm"]
            if self.arms.setdefault(request.id, arm) != arm:
                raise Broken(f"{request.id} had two answers: {self.arms[request.id]} and {arm}.")
            if request.id not in self.rewards:
                self.open.setdefault(request.id, arm)
        elif request.kind == "reward" and status == 200:
            self.rewards[request.id] = request.value
            self.open.pop(request.id, None)
        else:
            raise Broken(f"status {status} for {request}: {body[:300]!r}")

    def alive(self) -> str:
        """Which processes there are."""
        return ", ".join(
            f"{worker.port} {'runs' if os.waitpid(worker.pid, os.WNOHANG)[0] == 0 else 'has ended'}" for worker in self.workers
        )

    # Faults -------------------------------------------------------------------------------------------------------------------

    def fault(self, kind: str) -> None:
        self.count[kind] += 1
        getattr(self, f"do_{kind.replace(' ', '_')}")()

    def do_kill(self) -> None:
        self.kill([self.workers[int(self.rng.integers(2))]])

    def do_kill_both(self) -> None:
        self.kill(self.workers)

    def kill(self, workers: list[Worker]) -> None:
        def now() -> None:
            time.sleep(float(self.rng.random()) * 0.03)
            for worker in workers:
                worker.end()

        left = self.send(self.batch(), now)
        for worker in workers:
            worker.start()
        self.insist(left)

    def do_cut_off(self) -> None:
        """The database ends connections while they are used."""

        def now() -> None:
            time.sleep(float(self.rng.random()) * 0.02)
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database() "
                    "AND random() < 0.5"
                )

        self.insist(self.send(self.batch(), now))

    def do_hold_exchanges(self) -> None:
        """Somebody has the lock of the ledger for a while. Who has joined decides on; who comes back meanwhile says that it has to wait."""
        self.joined()
        left: list[Request] = []
        with psycopg.connect(self.url) as connection:
            connection.execute("SELECT 1 FROM experiments WHERE name = %s FOR UPDATE", (NAME,))
            before = self.statuses[200]
            for _ in range(3):
                left += self.send(self.batch())
                time.sleep(0.03)
            if self.statuses[200] == before:
                raise Broken("nobody decided while an exchange was held up.")
            if self.rng.random() < 0.5:
                left += self.come_back()
        self.insist(left)

    def come_back(self) -> list[Request]:
        """A worker is killed and starts while it cannot join. Returns requests without an answer."""
        worker = self.workers[int(self.rng.integers(2))]
        worker.end()
        worker.start()
        began = time.monotonic()
        status, told = worker.ask("GET", f"/v1/experiments/{NAME}/state")
        if status != 503 or time.monotonic() - began > 5.0:
            raise Broken(f"status {status} after {time.monotonic() - began:.1f} s of a worker that cannot join: {told}")
        return self.send(self.batch())

    def joined(self) -> None:
        """Wait until both are workers of the experiment."""
        end = time.monotonic() + 60
        while any(worker.ask("GET", f"/v1/experiments/{NAME}/state")[0] != 200 for worker in self.workers):
            if time.monotonic() > end:
                raise Broken("a worker has not joined for a minute.")
            time.sleep(0.02)

    def do_duplicate(self) -> None:
        twice = [one for one in self.batch(SOCKETS) for _ in range(2)]
        self.insist(twice)
        self.insist(twice)

    def do_reorder(self) -> None:
        """Rewards of decisions that the other worker made a moment ago."""
        self.insist([self.decision() for _ in range(SOCKETS)])
        self.insist([self.reward() for _ in range(min(len(self.open), 2 * SOCKETS))])

    def do_malformed(self) -> None:
        bodies = (
            b"{",
            b"[]",
            b'{"id": 5}',
            b'{"eligible": ["nobody"]}',
            b'{"excluded": ["base"]}',
            b'{"subject": "u"}',
            b'{"deferred": true}',
        )
        garbage = [Request("garbage", "", "decisions", bodies[int(self.rng.integers(len(bodies)))]) for _ in range(SOCKETS)]
        self.insist([*garbage, *self.batch(SOCKETS)])

    def do_pause(self) -> None:
        """A worker is stopped for longer than it may be silent; the other one goes on and tells what it did."""
        worker, other = self.workers if self.rng.random() < 0.5 else self.workers[::-1]
        os.kill(worker.pid, signal.SIGSTOP)
        timer = threading.Timer(PAUSE, lambda: os.kill(worker.pid, signal.SIGCONT))
        timer.start()
        wires, worker.wires = worker.wires, []
        before = sum(self.statuses.values())
        while timer.is_alive():
            self.send(self.batch(SOCKETS))
        worker.wires = wires
        if sum(self.statuses.values()) == before or not other.pid:
            raise Broken("nobody decided while a worker was stopped.")

    # Checks -------------------------------------------------------------------------------------------------------------------

    def settled(self) -> None:
        """When the workers have told each other everything: what was acknowledged is there, once; replay, chains and budget hold."""
        end = time.monotonic() + 60
        told: tuple[int, str] | None = None
        while told is None:
            answers = [worker.ask("GET", f"/v1/experiments/{NAME}/state") for worker in self.workers]
            states = [(state["seq"], state["fingerprint"]) for status, state in answers if status == 200]
            with psycopg.connect(self.url) as connection:
                logged = connection.execute("SELECT count(*) FROM events WHERE kind <> 'exchanged'").fetchone()[0]
                taken = connection.execute("SELECT count(*) FROM events WHERE kind = 'exchanged'").fetchone()[0]
            if len(states) == 2 and states[0][0] == states[1][0] == logged + taken:
                if states[0] != states[1]:
                    raise Broken(f"the workers' states after event {states[0][0]} differ.")
                told = states[0]
            elif time.monotonic() > end:
                raise Broken(f"the workers do not come to an end: {answers}, {logged} events and {taken} exchanges")
            time.sleep(0.02)
        database = Database(self.url)
        with database.read() as connection:
            row = store.row_of(connection, NAME)
            assert row is not None
            verified, replayed = verify(connection, row, NAME), replay(connection, row, NAME, told[0])
            entries = list(store.read(connection, row, 0, told[0]))
        database.close()
        if verified.errors or replayed.errors or replayed.disagreements:
            raise Broken(f"{verified.errors} {replayed.errors} {replayed.disagreements}")
        if replayed.fingerprint != told[1]:
            raise Broken(f"the state after event {told[0]} is not that of a replay.")
        self.compare(entries)
        self.checked = told[0]
        for worker in self.workers:  # a connection that was idle for as long as a replay takes may have been closed
            worker.connect()

    def compare(self, entries: list) -> None:
        made, ended, budget = {}, {}, 0.0
        for entry in entries:
            if entry.kind == "decided":
                if entry.decision in made:
                    raise Broken(f"decision {entry.decision} is in the logs twice.")
                made[entry.decision] = entry.event.name
            elif entry.kind == "rewarded":
                if entry.decision in ended:
                    raise Broken(f"decision {entry.decision} was rewarded twice.")
                ended[entry.decision] = entry.event.value
        for id, arm in self.arms.items():
            if made.get(id) != arm:
                raise Broken(f"decision {id} was acknowledged with {arm}, but the logs have {made.get(id)}.")
        for id, value in self.rewards.items():
            if ended.get(id) != value:
                raise Broken(f"reward {value} of {id} was acknowledged, but the logs have {ended.get(id)}.")
        decided = [entry for entry in entries if entry.kind == Decided.kind]
        for order in (decided, sorted(decided, key=lambda entry: entry.time)):  # as the ledger has them, and as they were made
            budget = 0.0
            for entry in order:
                budget += MEANS[entry.event.name] - (1.0 - ALPHA) * MEANS["base"]
                if budget < -1e-9:
                    raise Broken(f"the true budget is {budget:.3f} after decision {entry.decision}.")
        self.budget, self.explored = budget, sum(entry.event.name != "base" for entry in decided)


def inflict(url: str, folder: pathlib.Path, faults: int, seed: int, say=None, every: int = 25) -> dict[str, object]:
    """So many faults, checked every so often; returns what happened. Raises Broken at the first promise that is not kept."""
    began, driver = time.monotonic(), Driver(url, folder, seed)
    try:
        for worker in driver.workers:
            worker.start()
        status, told = driver.workers[0].ask("POST", "/v1/experiments", SPEC)
        if status != 201:
            raise Broken(f"not created: {told}")
        driver.insist([driver.decision() for _ in range(2 * SOCKETS)])
        for n in range(faults):
            for _ in range(3):
                driver.insist(driver.batch())
            driver.fault(KINDS[int(driver.rng.integers(len(KINDS)))])
            if (n + 1) % every == 0:
                driver.settled()
                if say is not None:
                    say(f"{n + 1} faults, {driver.checked} events checked, {time.monotonic() - began:.0f} s")
        driver.settled()
    finally:
        for worker in driver.workers:
            if worker.pid:
                worker.end()
    return {
        "faults": dict(sorted(driver.count.items())), "answers": dict(sorted(driver.statuses.items())), "events": driver.checked,
        "decisions": len(driver.arms), "explored": driver.explored, "budget": round(driver.budget, 2), "seconds": round(time.monotonic() - began),
    }  # fmt: skip


def table(found: dict) -> str:
    """The summary as text."""
    lines = ["fault            number", *(f"{kind:15} {count:7,}" for kind, count in found["faults"].items())]
    lines.append("answers: " + ", ".join(f"{status}: {count:,}" for status, count in found["answers"].items()))
    lines.append(
        f"events {found['events']:,}; decisions acknowledged {found['decisions']:,}; {found['explored']:,} in the logs explored; true budget at "
        f"the end {found['budget']}, never below 0; {found['seconds']} s"
    )
    lines.append("acknowledged and lost: 0; answered twice: 0; decisions or states that differ from the replay: 0")
    return "\n".join(lines)
