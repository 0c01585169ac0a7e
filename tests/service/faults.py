"""Random faults against a service in a process of its own, and what must hold after each restart.

A twin reads the log from the database and applies its events one after the other; it never restarts
and knows no snapshots. After every restart the service's fingerprint must be the twin's, the chain
must hold, and everything that was acknowledged must be in the log, once. The service is forked from
this process, where kernels are compiled already, so that a kill -9 and a restart take a fraction of
a second.
"""

import collections
import dataclasses
import errno
import json
import os
import pathlib
import signal
import socket
import time

import numpy as np

from tightrope_service import app as run, keys, log
from tightrope_service.database import Database
from tightrope_service.log import ExperimentJournal, chained
from tightrope_service.recovery import fingerprint
from tightrope_service.settings import Settings, wall_clock

NAME = "faulty"
SPEC = {
    "name": NAME,
    "policy": {"policy": "EpsilonGreedy", "epsilon": 0.4},
    "window": "10m",
    "default_reward": 0.25,
    "seed": 11,
    "arms": [{"id": f"arm-{k}"} for k in range(5)],
}
KINDS = (
    "kill",
    "duplicate",
    "reorder",
    "delay",
    "malformed",
    "clock",
    "full",
    "mask",
    "arm",
    "erase",
)
SOCKETS = 6
SECOND = 10**6
WINDOW = 600 * SECOND
LONGEST = 2.0  # seconds that an answer may take
MOST_ADDED = 12  # arms beside those of the spec that are not retired at once


class Broken(AssertionError):
    """A promise that was not kept."""


def hold(kept: object, otherwise: str) -> None:
    if not kept:
        raise Broken(otherwise)


def steered_clock(folder: pathlib.Path):
    """The wall clock and an offset that the driver writes into a file."""
    file = folder / "clock"

    def now() -> int:
        return wall_clock() + int(file.read_text())

    return now


def child(db: str, port: int, folder: pathlib.Path) -> None:
    """The service: its clock is steered, and its commits fail while a file says so."""
    append = log.append

    def fails(*arguments):
        append(*arguments)
        if (folder / "full").exists():
            raise OSError(errno.ENOSPC, "No space left on device")

    log.append = fails
    with open(folder / "child.log", "a") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    run.serve(
        Settings(db=db, port=port, clock=steered_clock(folder), tick=0.02, snapshot_every=400)
    )


class Wire:
    """A connection whose answers are read when the driver wants; None where the service died
    meanwhile."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.buffer = b""

    def send(self, key: str, method: str, path: str, body: bytes) -> None:
        head = (
            f"{method} {path} "
            f"HTTP/1.1\r\nHost: "
            f"x\r\nAuthorization: Bearer "
            f"{key}\r\nContent-Type: application/json\r\n"
        )
        try:
            self.socket.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        except OSError:
            self.buffer = b""

    def read(self) -> tuple[int, bytes] | None:
        try:
            while b"\r\n\r\n" not in self.buffer:
                self._more()
            head, _, rest = self.buffer.partition(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            )
            self.buffer = rest
            while len(self.buffer) < length:
                self._more()
        except OSError:
            return None
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return int(head[9:12]), body

    def _more(self) -> None:
        part = self.socket.recv(65536)
        if not part:
            raise ConnectionResetError
        self.buffer += part


@dataclasses.dataclass
class Request:
    """What was asked, for the check of its answer."""

    # "decide", "reward", "activated", "cancelled", "mask", "arm", "retire", "erase", "garbage"
    kind: str
    id: str
    path: str
    body: bytes
    value: float = 0.0
    method: str = "POST"


class Driver:
    """Sends traffic, does damage, checks."""

    def __init__(self, folder: pathlib.Path, seed: int) -> None:
        self.folder, self.db = folder, str(folder / "faults.db")
        self.rng = np.random.default_rng(seed)
        (folder / "clock").write_text("0")
        database = Database(self.db)
        database.migrate()
        with database.write() as connection:
            self.key = keys.create(connection, "admin", per_second=1e6)
        database.close()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.pid = 0
        self.wires: list[Wire] = []
        self.offset = 0
        self.made = 0
        self.open: dict[
            str, int
            # acknowledged decisions without a reward of ours: when they were made, by the service's
            # clock
        ] = {}
        self.answers: dict[str, bytes] = {}  # acknowledged decisions of late
        self.before: set[str] = (
            set()
        )  # decisions that had been acknowledged when the requests under way were sent
        self.ever: set[str] = set()  # all that were acknowledged
        self.acknowledged: dict[str, object] = {}  # since the last check: id -> arm
        self.rewards: dict[str, float] = {}  # since the last check
        self.late: set[str] = set()
        self.deferred: list[str] = []  # decisions of late that were asked to be deferred
        self.steps: set[tuple[str, str]] = (
            set()
        )  # since the last check: what was activated or cancelled
        self.masked: set[str] = set()
        self.arms = 5  # ever, by their numbers
        self.live: list[str] = []  # that were added and not retired
        self.retired: set[str] = set()
        self.subject = 0  # whose data decisions are now; the twin has seen all of those before
        self.erasable: list[str] = []
        self.erased: set[str] = set()  # since the last check
        self.twin = ExperimentJournal(NAME)
        self.log: dict[str, dict] = {}  # what the log says of each decision
        self.count: collections.Counter[str] = collections.Counter()
        self.statuses: collections.Counter[int] = collections.Counter()
        self.longest = 0.0  # seconds until an answer

    # The process ----------------------------------------------------------------------------------

    def start(self) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            try:
                child(self.db, self.port, self.folder)
            finally:
                os._exit(1)
        end = time.monotonic() + 60
        while True:
            try:
                self.wires = [Wire(self.port) for _ in range(SOCKETS)]
                return
            except OSError:
                if time.monotonic() > end or os.waitpid(self.pid, os.WNOHANG)[0]:
                    raise Broken(
                        "the service did not start: "
                        f"{(self.folder / 'child.log').read_text()[-2000:]}"
                    ) from None
                time.sleep(0.005)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = 0

    def end(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGTERM)
            os.waitpid(self.pid, 0)
            self.pid = 0

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict]:
        self.wires[0].send(
            self.key, method, path, b"" if body is None else json.dumps(body).encode()
        )
        answer = self.wires[0].read()
        hold(answer, "the service ended by itself.")
        return answer[0], json.loads(answer[1])

    # Traffic --------------------------------------------------------------------------------------

    def now(self) -> int:
        return wall_clock() + self.offset

    def decision(self) -> Request:
        self.made += 1
        id = f"d{self.made}"
        asked: dict[str, object] = {"id": id}
        if self.rng.random() < 0.3:
            asked["excluded"] = [f"arm-{self.rng.integers(5)}"]
        if self.rng.random() < 0.3:
            asked["subject"] = f"person {self.subject}."
        if self.rng.random() < 0.2:
            asked["deferred"] = True
            self.deferred = [*self.deferred[-50:], id]
        return Request("decide", id, "decisions", json.dumps(asked).encode())

    def reward(self, id: str | None = None) -> Request:
        if id is None:
            id = list(self.open)[int(self.rng.integers(len(self.open)))]
        value = round(float(self.rng.random()), 3)
        return Request(
            "reward", id, "rewards", json.dumps({"decision_id": id, "value": value}).encode(), value
        )

    def step(self) -> Request:
        id = self.deferred[int(self.rng.integers(len(self.deferred)))]
        if self.rng.random() < 0.6:
            return Request("activated", id, f"decisions/{id}/activate", b"")
        return Request("cancelled", id, f"decisions/{id}", b"", method="DELETE")

    def erasure(self) -> Request:
        who = self.erasable[int(self.rng.integers(len(self.erasable)))]
        return Request("erase", who, "erase", json.dumps({"subject": who}).encode())

    def change_of_arms(self) -> Request:
        if len(self.live) < MOST_ADDED:
            return Request(
                "arm",
                f"arm-{self.arms}",
                "arms",
                json.dumps({"arms": [{"id": f"arm-{self.arms}"}]}).encode(),
            )
        arm = self.live[int(self.rng.integers(len(self.live)))]
        return Request("retire", arm, f"arms/{arm}", b'{"status": "retired"}', method="PATCH")

    def batch(self) -> list[Request]:
        return [
            self.step() if self.deferred and self.rng.random() < 0.15 else self.usual()
            for _ in range(SOCKETS)
        ]

    def usual(self) -> Request:
        return self.reward() if self.open and self.rng.random() < 0.45 else self.decision()

    def garbage(self) -> Request:
        body = [
            b"{",
            b"[]",
            b"null",
            b'{"id": 5}',
            b'{"value": NaN, "decision_id": "d1"}',
            b'{"decision_id": "d1"}',
            b"\xff\xfe",
            b'{"id": ""}',
            self.rng.bytes(40),
            b'{"eligible": ["nobody"]}',
            b'{"eligible": []}',
            b"[" * 3000,
            b'{"id": "x", "deferred": 3}',
        ][int(self.rng.integers(13))]
        return Request(
            "garbage",
            "",
            ["decisions", "rewards", "decisions:batch", "arms"][int(self.rng.integers(4))],
            body,
        )

    def send(self, requests: list[Request], kill: bool = False) -> None:
        """Send all at once, perhaps kill the service while they are under way, and check every
        answer that came."""
        self.before = {one.id for one in requests if one.id in self.ever}
        for wire, request in zip(self.wires, requests, strict=False):
            wire.send(
                self.key, request.method, f"/v1/experiments/{NAME}/{request.path}", request.body
            )
        began = time.monotonic()
        if kill:
            time.sleep(float(self.rng.random()) * 0.012)
            self.kill()
        for wire, request in zip(self.wires, requests, strict=False):
            answer = wire.read()
            hold(answer or kill, "the service ended by itself.")
            if answer is not None:
                self.check(request, *answer)
                if not kill:
                    self.timed(request, time.monotonic() - began)

    def timed(self, request: Request, seconds: float) -> None:
        """Nobody waits for long, but where the service has just been killed."""
        self.longest = max(self.longest, seconds)
        hold(seconds <= LONGEST, f"{request} had its answer after {seconds:.1f} s.")

    def check(self, request: Request, status: int, body: bytes) -> None:
        self.statuses[status] += 1
        unexpected = f"status {status} for {request}: {body[:300]!r}"
        full = status == 503 and (self.folder / "full").exists()
        hold(status < 500 or full, unexpected)
        if request.kind == "garbage":
            hold(status >= 400, f"garbage was taken in: {request}")
        elif status == 503:
            pass
        elif request.kind == "decide" and status == 200:
            before = self.answers.get(request.id)
            hold(before in (None, body), f"{request.id} had two answers: {before!r} and {body!r}")
            self.answers[request.id] = body
            self.ever.add(request.id)
            if before is None:
                self.acknowledged[request.id] = json.loads(body)["arm"]
                self.open[request.id] = self.now()
        elif request.kind == "reward" and status == 200:
            if json.loads(body)["learned"]:
                self.rewards[request.id] = request.value
                self.open.pop(request.id, None)
        elif request.kind == "reward" and status in (409, 410):
            if status == 410 and b"its subject was erased" not in body:  # else the log has no more
                self.late.add(request.id)
            self.open.pop(request.id, None)
        elif request.kind in ("activated", "cancelled") and status == 200:
            self.steps.add((request.id, request.kind))
            if request.kind == "activated":
                self.open[request.id] = self.now()
        elif request.kind == "mask" and status == 200:
            self.masked ^= {request.id}
        elif request.kind == "arm" and status in (
            201,
            409,
        ):  # 409: it was there when the request came again
            if request.id not in self.live:
                self.live.append(request.id)
                self.arms += 1
        elif request.kind == "retire" and status == 200:
            if request.id in self.live:
                self.live.remove(request.id)
                self.retired.add(request.id)
        elif request.kind == "erase" and status == 200:
            self.erased.add(request.id)
        elif request.kind in ("activated", "cancelled") and status in (409, 410):
            pass  # it had ended
        else:
            early = request.kind in ("reward", "activated", "cancelled") and status == 404
            hold(early and request.id not in self.before, unexpected)

    # Faults ---------------------------------------------------------------------------------------

    def fault(self, kind: str) -> None:
        self.count[kind] += 1
        getattr(self, f"do_{kind}")()

    def do_kill(self) -> None:
        requests = self.batch()
        chance = self.rng.random()
        if chance < 0.2 and self.erasable:
            requests[-1] = self.erasure()
        elif chance < 0.4:
            requests[-1] = self.change_of_arms()
        self.send(requests, kill=True)
        self.start()
        self.settled()
        self.send(
            requests
        )  # the same again: what was acknowledged is answered as before, the rest is done now

    def do_duplicate(self) -> None:
        requests = self.batch()
        twice = [one for one in requests[: SOCKETS // 2] for _ in range(2)]
        self.send(twice)
        self.send(twice)

    def do_reorder(self) -> None:
        new = [self.decision() for _ in range(SOCKETS // 2)]
        mixed = [*new, *(self.reward(one.id) for one in new)]
        self.rng.shuffle(mixed)  # a reward may come before its decision: 404 then
        self.send(mixed)

    def do_delay(self) -> None:
        self.send(self.batch())
        self.move(WINDOW + 5 * SECOND)
        self.send([self.reward() for _ in range(SOCKETS)] if self.open else self.batch())

    def do_malformed(self) -> None:
        self.send(
            [self.garbage() if self.rng.random() < 0.6 else self.decision() for _ in range(SOCKETS)]
        )

    def do_clock(self) -> None:
        self.move(int(self.rng.normal() * 3600 * SECOND))
        self.send(self.batch())

    def do_full(self) -> None:
        (self.folder / "full").touch()
        requests = self.batch()
        self.send(requests)
        (self.folder / "full").unlink()
        self.send(requests)

    def do_mask(self) -> None:
        arm = f"arm-{self.rng.integers(2, 5)}"
        status = b'{"status": "active"}' if arm in self.masked else b'{"status": "masked"}'
        self.send([*self.batch()[1:], Request("mask", arm, f"arms/{arm}", status, method="PATCH")])

    def do_arm(self) -> None:
        self.send([*self.batch()[1:], self.change_of_arms()])

    def do_erase(self) -> None:
        self.send([*self.batch()[1:], self.erasure()] if self.erasable else self.batch())

    def move(self, by: int) -> None:
        self.offset += by
        temporary = self.folder / "clock.new"
        temporary.write_text(str(self.offset))
        temporary.replace(self.folder / "clock")

    # Checks ---------------------------------------------------------------------------------------

    def settled(self) -> None:
        """After a restart: nothing acknowledged is lost, nothing is there twice, the chain holds,
        and the state is the twin's to the bit."""
        status, told = self.ask("GET", f"/v1/experiments/{NAME}/state")
        hold(status == 200, f"no state after a restart: {told}")
        self.catch_up(told["seq"])
        hold(
            fingerprint(self.twin).hex() == told["fingerprint"],
            f"the state after event {told['seq']} is not that of a replay.",
        )
        for id, arm in self.acknowledged.items():
            has = self.log.get(id, {})
            hold(
                has.get("arm") == arm,
                f"decision {id} was acknowledged with {arm}, but the log has {has}.",
            )
        for id, value in self.rewards.items():
            hold(
                self.log[id].get("reward") == value,
                f"reward {value} of {id} was acknowledged, but the log has {self.log[id]}.",
            )
        for id in self.late:
            hold(self.log[id].get("late"), f"the late reward of {id} is not in the log.")
        for id, step in self.steps:
            hold(
                self.log[id].get(step),
                f"{id} was acknowledged as {step}, but the log has {self.log[id]}.",
            )
        masked = self.twin.experiment.masked
        hold(
            self.masked == masked,
            f"arms {sorted(self.masked)} were masked, but the log has {sorted(masked)}.",
        )
        self.check_arms()
        self.check_erasures()
        if (
            self.subject > 0
            # requests that a kill ended are sent again, so data of the subject before may still
            # have come
        ):
            self.erasable = [*self.erasable[-20:], f"person {self.subject - 1}."]
        self.subject += 1
        for seen in (self.acknowledged, self.rewards, self.late, self.steps, self.erased):
            seen.clear()
        self.answers = dict(list(self.answers.items())[-500:])
        self.open = dict(list(self.open.items())[-200:])

    def check_arms(self) -> None:
        """Arms that were added or retired are so in the log."""
        statuses = {arm["id"]: arm["status"] for arm in self.twin.experiment.arms()}
        for arm in self.live:
            hold(arm in statuses, f"{arm} was added, but the log has only {sorted(statuses)}.")
        for arm in self.retired:
            status = statuses.get(arm)
            hold(status == "retired", f"{arm} was retired, but the log says {status}.")

    def check_erasures(self) -> None:
        """Of a subject that was erased nothing is left in the tables, nor in the bytes of the file
        and of its log of writes."""
        files = [
            path
            for path in (pathlib.Path(self.db), pathlib.Path(f"{self.db}-wal"))
            if path.exists()
        ]
        held = b"".join(path.read_bytes() for path in files) if self.erased else b""
        for who in self.erased:
            hold(
                who.encode() not in held,
                f"the data of {who} was erased, but the files of the database have it.",
            )
            self.erasable = [one for one in self.erasable if one != who]

    def catch_up(self, until: int) -> None:
        """Bring the twin to an event of the log."""
        database = Database(self.db)
        with database.read() as connection:
            twin = self.twin.experiment
            for entry in log.read(connection, 1, twin.seq, until):
                digest = chained(
                    NAME,
                    self.twin.digest,
                    entry.seq,
                    entry.kind,
                    entry.time,
                    entry.decision,
                    entry.body_digest,
                )
                follows = entry.seq == twin.seq + 1 and entry.time >= twin.time
                hold(follows and entry.digest == digest, f"the log breaks at event {entry.seq}.")
                self.twin.follow(entry)
                self.note(str(entry.decision), entry.kind, entry.body)
        database.close()
        hold(not twin.disagreements, "the replay drew another arm than the log has.")

    def note(self, id: str, kind: str, body: dict) -> None:
        ended = "reward" in self.log.get(id, ())
        if kind == "decided":
            hold(id not in self.log, f"decision {id} is in the log twice.")
            self.log[id] = {"arm": body["name"]}
        elif kind == "rewarded":
            hold(not ended, f"decision {id} was rewarded twice.")
            self.log[id]["reward"] = body["value"]
        elif kind == "expired":
            hold(not ended, f"decision {id} was rewarded and expired.")
            self.log[id]["reward"] = "default"
        elif kind in ("activated", "cancelled"):
            hold(not ended, f"decision {id} had ended and was {kind}.")
            self.log[id] |= {kind: True} | ({"reward": "cancelled"} if kind == "cancelled" else {})
        elif kind == "late":
            self.log[id]["late"] = True


def inflict(folder: pathlib.Path, faults: int, seed: int, say=None) -> dict[str, object]:
    """So many faults; returns what happened. Raises Broken at the first promise that is not
    kept."""
    began = time.monotonic()
    driver = Driver(folder, seed)
    driver.start()
    try:
        while (created := driver.ask("POST", "/v1/experiments", SPEC))[0] == 202:
            time.sleep(1.0)
        status, told = created
        hold(status in (200, 201), f"not created: {told}")
        driver.catch_up(1)
        for n in range(faults):
            driver.send(driver.batch())
            driver.fault(KINDS[int(driver.rng.integers(len(KINDS)))])
            if say is not None and (n + 1) % 500 == 0:
                say(
                    f"{n + 1} faults, {driver.twin.experiment.seq} events checked, "
                    f"{time.monotonic() - began:.0f} s"
                )
        driver.kill()
        driver.start()
        driver.settled()
    finally:
        driver.end()
    ended = collections.Counter(
        str(
            entry.get("reward")
            if isinstance(entry.get("reward"), str)
            else "rewarded"
            if "reward" in entry
            else "open"
        )
        for entry in driver.log.values()
    )
    return {
        "faults": dict(sorted(driver.count.items())),
        "answers": dict(sorted(driver.statuses.items())),
        "events": driver.twin.experiment.seq,
        "decisions": dict(ended),
        "late": sum("late" in entry for entry in driver.log.values()),
        "seconds": round(time.monotonic() - began),
        "longest": driver.longest,
        "fingerprint": fingerprint(driver.twin).hex(),
    }


def table(found: dict[str, object]) -> str:
    """The summary as text."""
    faults, answers = found["faults"], found["answers"]
    return "\n".join(
        [
            "fault       number",
            *(f"{kind:10} {count:7,}" for kind, count in faults.items()),
            f"{'all':10} {sum(faults.values()):7,}",
            "answers: " + ", ".join(f"{status}: {count:,}" for status, count in answers.items()),
            f"events {found['events']:,}; decisions {found['decisions']}; late rewards "
            f"{found['late']}; {found['seconds']} s",
            f"the longest answer took {found['longest']:.2f} s",
            "acknowledged and lost: 0; answered twice: 0; states that differ from the replay: 0",
        ]
    )
