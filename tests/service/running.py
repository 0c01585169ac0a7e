"""Services for tests: in this process without HTTP, or as a process of its own that can be
killed."""

import atexit
import contextlib
import errno
import functools
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid

import psycopg
import pytest
from postgres import server

from tightrope_service import commands, new_id
from tightrope_service.client import Client
from tightrope_service.errors import Refused
from tightrope_service.log import rows_and_names
from tightrope_service.recovery import check_snapshots, replay, verify
from tightrope_service.requests import DecisionRequest, RewardRequest
from tightrope_service.service import Histories, Service
from tightrope_service.settings import Settings
from tightrope_service.spec import ExperimentSpec

PRICES = {
    "name": "price",
    "policy": {"policy": "EpsilonGreedy", "epsilon": 0.5},
    "arms": [{"id": "low"}, {"id": "mid"}, {"id": "high"}],
    "window": "1h",
    "default_reward": 0.0,
    "seed": 3,
}
HOUR = 3600 * 10**6


class Clock:
    """Microseconds since 1970 that a test sets."""

    def __init__(self):
        self.now = 1_800_000_000 * 10**6

    def __call__(self):
        return self.now


@functools.cache
def postgres():
    """A PostgreSQL server for all tests of this process, where TIGHTROPE_TEST_POSTGRES asks for one
    in place of SQLite's files."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(server(durable=False))


@functools.cache
def place(path):
    """The database that stands for a file: the file, or a new database of the server."""
    if not os.environ.get("TIGHTROPE_TEST_POSTGRES") or str(path).startswith("postgresql"):
        return str(path)
    url, name = postgres(), f"t{uuid.uuid4().hex}"
    psycopg.connect(url, autocommit=True).execute(f"CREATE DATABASE {name}").connection.close()
    return f"{url.rsplit('/', 1)[0]}/{name}"


@contextlib.contextmanager
def service_at(path, clock=None, **settings):
    running = Service(
        Settings(
            db=place(path),
            **({} if clock is None else {"clock": clock}),
            **({"tick": 0.02} | settings),
        )
    )
    running.open()
    try:
        yield running
    finally:
        running.close()


def crash(service):
    """End an service's process as far as its database can tell: what was not committed is gone,
    nothing is written any more."""
    service.writer._shut_down = lambda: None
    service.close()


def create(service, spec=PRICES):
    made = ExperimentSpec.model_validate(spec)
    return service.ask_now(
        made.name, lambda transaction: commands.create(transaction, made), spec=made
    )


def decide(service, id=None, name="price", **asked):
    request = DecisionRequest(id=id, **asked)
    key = id or new_id()
    return service.ask_now(
        name,
        lambda transaction: commands.decide(transaction, key, request),
        () if id is None else (id,),
    )


def reward(service, id, value, name="price", **more):
    request = RewardRequest(decision_id=id, value=value, **more)
    return service.ask_now(name, lambda transaction: commands.reward(transaction, request), (id,))


def ask(service, operation, *arguments, name="price"):
    return service.ask_now(name, lambda transaction: operation(transaction, *arguments))


def batch(number, begin="", **asked):
    """Many decisions in one command."""
    items = [
        (f"{begin}{n}", (f"{begin}{n}", DecisionRequest(id=f"{begin}{n}", **asked)))
        for n in range(number)
    ]
    return commands.Each(items, lambda at, one: commands.decide(at, *one))


@contextlib.contextmanager
def probed(service):
    """How long decisions of the experiment "other" wait meanwhile."""
    waits, ended = [], threading.Event()

    def probe():
        while not ended.is_set():
            began = time.monotonic()
            decide(service, None, "other")
            waits.append(time.monotonic() - began)
            time.sleep(0.005)

    thread = threading.Thread(target=probe, daemon=True)
    thread.start()
    try:
        yield waits
    finally:
        ended.set()
        thread.join(20)


def refused(status, call, *arguments, match=None, field=None, **more):
    """The sentence with which a call is refused. field: that it is about."""
    with pytest.raises(Refused, match=match) as error:
        call(*arguments, **more)
    assert error.value.status == status, error.value.message
    assert field in (None, error.value.field)
    return error.value.message


def patiently(call, *arguments, seconds=20.0, meanwhile=lambda: time.sleep(0.05), **more):
    """The answer of a call, once the lease of a process that has ended has run out."""
    end = time.monotonic() + seconds
    while True:
        try:
            return call(*arguments, **more)
        except Refused as error:
            assert error.status == 503 and time.monotonic() < end, error
            meanwhile()


def full(*arguments):
    raise OSError(errno.ENOSPC, "No space left on device")


def until(true, seconds=20.0):
    """Wait for something to be so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def state(service, name="price"):
    from tightrope_service.routes import state_answer

    return service.ask_now(name, lambda transaction: state_answer(transaction.owned.journal))


def check_replay(service, name="price"):
    """The log is what was written, and leads to the same state alone, bit for bit."""
    told = state(service, name)["fingerprint"]
    with service.database.read() as connection:
        ((row, _),) = rows_and_names(connection, name)
        again = replay(connection, row, name)
        assert verify(connection, row, name).errors == () == again.errors
        assert check_snapshots(connection, row, name) == ([], [])
    assert (again.fingerprint, again.disagreements) == (told, 0)


def standing_and_history(service, name="price"):
    """How an experiment stands, and what its log tells up to there."""
    standing = ask(service, commands.describe_standing, name=name)
    return standing, history_of(service, name, standing["seq"])


def history_of(service, name, seq):
    """What the log of an experiment tells up to an event."""
    with Histories(service.database).until(name, seq, exactly=True) as found:
        return found


def error(answer, status):
    """The error of an answer, which has this status and says what it must."""
    assert answer.status_code == status, answer.text
    told = answer.json()["error"]
    assert set(told) == {"code", "message", "field"} and told["message"].endswith((".", "?")), told
    return told


TYPES = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def conforms(value, schema, schemas):
    """Whether a value is what a schema of OpenAPI says. schemas: those that have names."""
    schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if "anyOf" in schema:
        return any(conforms(value, one, schemas) for one in schema["anyOf"])
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    known, more = schema.get("properties", {}), schema.get("additionalProperties", False)
    return (
        any(isinstance(value, TYPES[kind]) for kind in kinds)
        and (not isinstance(value, bool) or "boolean" in kinds)
        and value in schema.get("enum", [schema.get("const", value)])
        and (
            not isinstance(value, list)
            or all(conforms(one, schema["items"], schemas) for one in value)
        )
        and (
            not isinstance(value, dict)
            or (
                (
                    value.keys() >= {*schema.get("required", ())}
                    and (more or value.keys() <= {*known})
                )
                and all(
                    conforms(value[key], known[key], schemas) for key in value.keys() & known.keys()
                )
            )
        )
    )


def documented(document, method, path, answer):
    """Fail where an answer is another one than OpenAPI says."""
    for template, operations in document["paths"].items():
        operation = operations.get(method.lower())
        address = re.sub(r"\{\w+\}", "[^/]+", template)
        if operation is None or not re.fullmatch(address, path.partition("?")[0]):
            continue
        reply = operation["responses"].get(str(answer.status_code))
        assert reply is not None or answer.status_code >= 500, (method, path, answer.text)
        kind = answer.headers.get("content-type")
        schema = (reply or {}).get("content", {}).get(kind, {}).get("schema")
        if schema:
            schemas = document["components"]["schemas"]
            assert conforms(answer.json(), schema, schemas), (path, answer.text)


class Process:
    """`tightrope serve` in a process of its own."""

    def __init__(self, db, folder: pathlib.Path, command=None):
        self.db, self.folder, self.key = str(db), folder, ""
        self.command = command or [sys.executable, "-m", "tightrope", "serve"]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        log = open(self.folder / f"serve-{self.port}.log", "a")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*self.command, "--db", self.db, "--port", str(self.port)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=os.environ,
        )
        log.close()
        for line in self.process.stdout:
            if "tr_" in line:
                self.key = line.split()[-1]
            if line.startswith("Serving"):
                break
        for _ in range(200):
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), 0.5),
            ):
                return self
            time.sleep(0.02)
        raise AssertionError((self.folder / f"serve-{self.port}.log").read_text()[-3000:])

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait(10)
        self.process.stdout.close()

    def stop(self):
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        self.process.stdout.close()
        return code

    def client(self, experiment=None, **options):
        return Client(self.url, self.key, experiment, **options)

    def __enter__(self):
        return self.start()

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.kill()
