"""The writer's thread: ready again by itself, snapshots that come in time, and nobody who waits for
slow reads."""

import asyncio
import errno
import threading

import httpx
import pytest
import sqlalchemy as sa
from running import PRICES, crash, create, decide, refused, reward, service_at, state, until

from tightrope_service import commands, keys, log, recovery, routes, writer
from tightrope_service.app import create_app
from tightrope_service.errors import Refused
from tightrope_service.log import snapshots
from tightrope_service.recovery import Snapshot

SHADOW = PRICES | {
    "window": None,
    "baseline": "low",
    "rollout": {"mode": "shadow", "rewards": [0.0, 1.0]},
}


def saved(service):
    with service.database.read() as connection:
        return list(
            connection.execute(sa.select(snapshots.c.seq).order_by(snapshots.c.seq)).scalars()
        )


@pytest.mark.usefixtures("price")
def test_the_writer_is_well_again_without_a_request_once_it_can_write(service, monkeypatch):
    real = log.append

    def full(*arguments):
        real(*arguments)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(log, "append", full)
    try:
        decide(service, "a")
    except Refused as error:
        assert error.status == 503
    assert service.writer.failing == "OSError"
    monkeypatch.setattr(log, "append", real)
    until(lambda: service.writer.failing is None)
    assert decide(service, "a")["event"] == 2


def test_events_that_a_start_has_replayed_count_towards_the_next_snapshot(tmp_path, clock):
    for start in range(3):  # none of them writes ten events
        with service_at(tmp_path / "a.db", clock, snapshot_every=10) as service:
            if not start:
                create(service)
            for n in range(3):
                decide(service, f"d{start}-{n}")
                reward(service, f"d{start}-{n}", 0.5)
            if start:
                until(lambda service=service: saved(service))
            told = state(service)
            crash(service)
    with service_at(tmp_path / "a.db", clock) as service:
        assert state(service) == told
        assert saved(service)[0] < told["seq"]


def test_a_start_that_has_replayed_much_writes_a_snapshot_though_nobody_asks_for_anything(
    tmp_path, clock
):
    with service_at(tmp_path / "a.db", clock) as service:
        create(service)
        for n in range(30):
            decide(service, f"d{n}")
            reward(service, f"d{n}", 0.5)
        crash(service)
    with service_at(tmp_path / "a.db", clock, snapshot_every=10) as service:
        until(lambda: saved(service) == [61])
        crash(service)


def test_an_error_of_our_own_in_a_creation_is_answered_once(service, monkeypatch):
    create(service, PRICES | {"name": "other"})

    def broken(spec):
        raise RuntimeError("planted")

    with monkeypatch.context() as changed:
        changed.setattr(writer, "created", broken)
        refused(500, create, service)
    assert decide(service, "a", "other")["id"] == "a"
    create(service)


def test_decisions_that_the_rollout_waits_behind_make_snapshots_rarer_as_open_ones_do(
    tmp_path, clock, monkeypatch
):
    written, real = [], Snapshot.of
    monkeypatch.setattr(
        Snapshot,
        "of",
        lambda journal: (
            written.append(len(journal.experiment.rollout.evidence.waiting)) or real(journal)
        ),
    )
    with service_at(tmp_path / "a.db", clock, snapshot_every=10) as service:
        create(service, SHADOW)
        decide(
            service, "never"
        )  # its reward does not come, so the evidence keeps all that come after it
        for n in range(150):
            decide(service, f"d{n}")
            reward(service, f"d{n}", 0.5)
        crash(service)
    assert (
        len(written) >= 4 and sum(written) <= 302
    )  # of 302 events: not more than in the log, however long it gets


@pytest.mark.usefixtures("price")
@pytest.mark.parametrize("slow", ["reads", "warm-ups"])
def test_decisions_do_not_wait_for_slow_work_however_much_of_it_there_is(
    service, monkeypatch, slow
):
    with service.database.write() as connection:
        key = keys.create(connection, "admin")
    service.keys.refresh()
    released = threading.Event()
    at_once = []

    def held_up(*arguments):
        at_once.append(1)
        released.wait(30)
        at_once.pop()
        return recovery.rebuild(*arguments) if slow == "reads" else None

    monkeypatch.setattr(
        *((routes, "rebuild") if slow == "reads" else (commands, "warm_up")), held_up
    )
    monkeypatch.setattr(
        keys, "FRESH_SECONDS", 0.0
    )  # every request finds that the keys must be read again

    async def traffic():
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(create_app(service.settings, service)),
            base_url="http://t",
            headers=headers,
        ) as c:
            if slow == "reads":
                waiting = [
                    asyncio.create_task(c.get("/v1/experiments/price/state?seq=1"))
                    for _ in range(50)
                ]
            else:
                waiting = [
                    asyncio.create_task(c.post("/v1/experiments", json=PRICES | {"name": f"e{n}"}))
                    for n in range(50)
                ]
            await asyncio.sleep(0.5)
            assert 1 <= len(at_once) <= 2
            try:
                for n in range(5):
                    made = await asyncio.wait_for(
                        c.post("/v1/experiments/price/decisions", json={"id": f"d{n}"}), 5
                    )
                    assert made.status_code == 200
            finally:
                released.set()
            assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {
                200 if slow == "reads" else 201
            }

    asyncio.run(traffic())


@pytest.mark.usefixtures("price")
def test_the_writer_has_a_connection_when_readers_hold_all_others(service):
    held = [service.database.engine.connect() for _ in range(15)]  # as many as the pool gives
    try:
        asked = threading.Thread(target=decide, args=(service, "a"), daemon=True)
        asked.start()
        asked.join(5)
        assert not asked.is_alive()
        service.keys.refresh()
    finally:
        for connection in held:
            connection.close()


@pytest.mark.usefixtures("price")
def test_requests_with_a_new_key_wait_for_the_reading_that_another_began_and_those_with_a_known_key_do_not(
    service, monkeypatch
):
    with service.database.write() as connection:
        old = keys.create(connection, "decide")
    service.keys.refresh()
    with service.database.write() as connection:
        new = keys.create(connection, "decide")
    released = threading.Event()
    monkeypatch.setattr(keys, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(
        service.keys, "refresh", lambda real=service.keys.refresh: released.wait(30) and real()
    )

    async def traffic():
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(create_app(service.settings, service)),
            base_url="http://t",
        ) as c:

            def send(key, id):
                return c.post(
                    "/v1/experiments/price/decisions",
                    json={"id": id},
                    headers={"Authorization": f"Bearer {key}"},
                )

            waiting = [asyncio.create_task(send(new, f"n{n}")) for n in range(3)]
            await asyncio.sleep(0.1)
            assert (await asyncio.wait_for(send(old, "o"), 5)).status_code == 200
            released.set()
            return [answer.status_code for answer in await asyncio.gather(*waiting)]

    assert asyncio.run(traffic()) == [200, 200, 200]
