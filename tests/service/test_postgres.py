"""PostgreSQL: two processes on one database, leases with fences, and kill -9 of one of them."""

import operator
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from postgres import server
from running import (
    PRICES,
    Process,
    crash,
    create,
    decide,
    patiently,
    refused,
    reward,
    service_at,
    state,
    until,
)

from tightrope_service import commands, writer
from tightrope_service.client import Client, Unavailable
from tightrope_service.database import Database
from tightrope_service.errors import Refused
from tightrope_service.log import events, experiments, metadata
from tightrope_service.recovery import check_snapshots, replay, verify
from tightrope_service.requests import DecisionRequest


@pytest.fixture(scope="module")
def url():
    with server() as found:
        yield found


@pytest.fixture
def fresh(url):
    """The server without any tables."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    engine.dispose()
    return url


def test_the_same_tables_and_the_same_state_as_on_sqlite(fresh, tmp_path, clock):
    told = {}
    for place in (fresh, str(tmp_path / "a.db")):
        with service_at(place, clock, snapshot_every=7) as service:
            create(service)
            for n in range(15):
                decide(service, f"d{n}")
                if n % 3:
                    reward(service, f"d{n}", n / 15)
            told[place] = state(service)
            crash(service)
        with service_at(place, clock, lease=0.1) as service:
            assert patiently(state, service) == told[place]
        with closing(Database(place)) as database, database.read() as connection:
            assert (
                verify(connection, 1, "price").errors == () == replay(connection, 1, "price").errors
            )
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    assert operator.eq(*told.values())  # digests too: the log does not depend on the database


def test_batches_windows_and_erasures_in_parts(fresh, clock, monkeypatch):
    """Large ones: a batch that goes on in later parts, a snapshot from the log, an erasure behind
    it, windows that close one by one."""
    monkeypatch.setattr(writer, "LIGHT", 5)
    monkeypatch.setattr(writer, "GROUP_SECONDS", 0.005)
    rows = [[0.125, 0.5], [0.25, 0.75]]
    asked = [
        (f"d{n}", DecisionRequest(id=f"d{n}", context=rows, subject=f"u{n % 2}"))
        for n in range(120)
    ]
    with service_at(fresh, clock, snapshot_every=100) as service:
        create(
            service,
            {
                "name": "e",
                "policy": "LinUCB",
                "arms": [{"id": "a"}, {"id": "b"}],
                "dimension": 2,
                "window": "1h",
                "default_reward": 0.0,
            },
        )
        batch = commands.Each(
            [(id, (id, one)) for id, one in asked], lambda at, one: commands.decide(at, *one)
        )
        assert {one["status"] for one in service.ask_now("e", batch)["results"]} == {200}
        erasure = service.ask_now("e", commands.Erasure("u0"))
        assert erasure["erased"] == 60 and state(service, "e")["open"] == 60
        refused(410, decide, service, "d0", "e", context=rows, subject="u0", match="was erased")
        clock.now += 3601 * 10**6
        refused(410, reward, service, "d119", 1.0, "e", match="waited for its reward until")
        until(lambda: not state(service, "e")["open"])
        told = state(service, "e")
        with service.database.read() as connection:
            assert verify(connection, 1, "e").errors == () == replay(connection, 1, "e").errors
            assert verify(connection, 1, "e").blanked == 60 and check_snapshots(
                connection, 1, "e"
            ) == ([], [])
            assert replay(connection, 1, "e").fingerprint == told["fingerprint"]


def test_one_process_writes_and_a_fence_stops_the_other(fresh, clock):
    with (
        service_at(fresh, clock, tick=30.0, address="http://one:1") as one,
        service_at(fresh, clock, tick=30.0) as other,
    ):
        create(one)
        decide(one, "a")
        with pytest.raises(Refused, match="another process") as error:
            decide(other, "a")
        assert (
            error.value.status == 503
            and error.value.retry_after > 0
            and error.value.address == "http://one:1"
        )
        with one.database.write() as connection:  # the first one slept too long
            connection.execute(sa.update(experiments).values(lease_until=0.0))
        assert decide(other, "a")["event"] == 2  # the answer that the first one gave
        decide(other, "b")
        before = state(other)
        refused(503, decide, one, "c")
        assert state(other) == before
        with other.database.read() as connection:
            assert connection.execute(sa.select(sa.func.count()).select_from(events)).scalar() == 3


def test_an_experiment_whose_replay_takes_longer_than_a_lease_stays_where_it_is(
    fresh, clock, monkeypatch
):
    with service_at(fresh, clock) as service:
        for name in ("price", "other"):
            create(service, PRICES | {"name": name})
        decide(service, "a")
    real, slow = writer.recover, threading.Event()

    def replay_of_seconds(connection, row, name):
        if name == "price" and not slow.is_set():
            slow.set()
            time.sleep(3.0)
        return real(connection, row, name)

    monkeypatch.setattr(writer, "recover", replay_of_seconds)
    with service_at(fresh, clock, lease=0.6) as one:
        assert slow.wait(10)
        with service_at(
            fresh, clock, lease=0.6
        ) as two:  # it looks for experiments that nobody holds
            until(lambda: "price" in one.writer.owned)
            time.sleep(1.5)
            assert decide(one, "b")["event"] == 3
            assert set(one.writer.owned) | set(two.writer.owned) == {"price", "other"}
            assert "price" not in two.writer.owned and one.writer.owned["price"].lease.fence == 2
            refused(503, decide, two, "b", match="another process")


def test_leases_are_extended_without_waiting_for_an_experiment_that_is_being_written(fresh, clock):
    """Waiting for it with the others locked would be a deadlock, which takes PostgreSQL a second to
    find and ends with a refused decision."""
    with service_at(fresh, clock, tick=30.0) as one:
        create(one)
        create(one, PRICES | {"name": "other"})
        with one.database.write() as connection:
            connection.execute(sa.update(experiments).values(lease_until=0.0))
        with one.database.write() as writing, one.database.write() as beat:
            writing.execute(sa.update(experiments).where(experiments.c.id == 1).values(seq=0))
            beat.exec_driver_sql("SET LOCAL lock_timeout = '1s'")
            one.writer.leases.extend(beat)
            assert beat.scalars(
                sa.select(experiments.c.id).where(experiments.c.lease_until > 0.0)
            ).all() == [2]


START = """
import sys
from tightrope_service.app import first_key
from tightrope_service.database import Database
database = Database(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
database.migrate()
print(first_key(database), flush=True)
"""


def test_processes_that_start_on_an_empty_database_at_once_set_it_up_once(fresh):
    pipes = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    started = [subprocess.Popen([sys.executable, "-c", START, fresh], **pipes) for _ in range(4)]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0] * 4, told
    assert sorted(said.strip() == "None" for said, _ in told) == [
        False,
        True,
        True,
        True,
    ]  # one admin key


def test_two_workers_and_kill_9_of_one(fresh, tmp_path):
    first, second = Process(fresh, tmp_path), Process(fresh, tmp_path)
    with first, second:
        key = first.key
        Client(first.url, key).create(PRICES)
        answers, failed, stop = {}, [], threading.Event()
        lock = threading.Lock()

        def work(number):
            client = Client(
                [first.url, second.url] if number % 2 else [second.url, first.url],
                key,
                "price",
                attempts=200,
                timeout=10,
            )
            n = 0
            while not stop.is_set():
                id = f"{(number // 2)}-{n}"  # two threads ask for each id, at different processes
                n += 1
                try:
                    made = client.decide(id=id)
                except Unavailable as error:
                    failed.append(error)
                    return
                with lock:
                    answers.setdefault(id, set()).add((made.arm, made.event, made.propensity))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: len(answers) >= 60, 120)
        first.kill()
        seen = len(answers)
        # the other one takes over when the lease has run out
        until(lambda: failed or len(answers) >= seen + 60, 60)
        stop.set()
        for thread in threads:
            thread.join()
        assert not failed and all(len(found) == 1 for found in answers.values())
        client = Client(second.url, key, "price")
        kept = {
            event["decision"]: event["seq"] for event in client.log() if event["kind"] == "decided"
        }
        assert all(kept[id] == next(iter(found))[1] for id, found in answers.items())
        fingerprint = client.state()["fingerprint"]
        assert second.stop() == 0
    with closing(Database(fresh)) as database, database.read() as connection:
        assert verify(connection, 1, "price").errors == ()
        assert replay(connection, 1, "price").fingerprint == fingerprint
