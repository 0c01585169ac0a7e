"""What an operator and an attacker do to a service: slow starts, full disks, damaged files, half-open connections, odd requests."""

import asyncio
import errno
import socket
import threading
import time

import httpx
import pytest
import sqlalchemy as sa
import uvicorn
from running import PRICES, create, decide, error, service_at, state
from starlette.requests import ClientDisconnect
from typer.testing import CliRunner

from tightrope.cli import app
from tightrope.service.app import create_app
from tightrope.service.board import routes
from tightrope.service.domain.errors import Refused
from tightrope.service.http import patience
from tightrope.service.log import store
from tightrope.service.log.database import Database
from tightrope.service.runtime import keys, writer
from tightrope.service.runtime.settings import Settings


def get(application, path):
    async def ask():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://t") as client:
            return await client.get(path)

    return asyncio.run(ask())


def test_it_is_not_ready_before_all_logs_are_read(tmp_path, clock, monkeypatch):
    with service_at(tmp_path / "a.db", clock) as service:
        create(service)
        decide(service, "a")
    real, go = writer.recover, threading.Event()

    def slow(*arguments):
        assert go.wait(20)
        return real(*arguments)

    monkeypatch.setattr(writer, "recover", slow)
    with service_at(tmp_path / "a.db", clock) as service:
        application = create_app(Settings(), service)
        answer = get(application, "/readyz")
        assert answer.status_code == 503 and "still being read" in answer.text and get(application, "/healthz").status_code == 200
        go.set()
        end = time.monotonic() + 10
        while get(application, "/readyz").status_code != 200:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_a_full_disk_still_answers_reads(service, monkeypatch):
    create(service)
    decide(service, "a")
    before, real = state(service), store.append

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "append", full)
    monkeypatch.setattr(service.leases, "take", full)
    for n in range(3):
        with pytest.raises(Refused) as refused:
            decide(service, f"b{n}")
        assert refused.value.status == 503
        assert state(service) == before and decide(service, "a")["event"] == 2  # what is known is answered again
    monkeypatch.setattr(store, "append", real)
    assert decide(service, "b0")["event"] == 3


def test_a_connection_that_never_ends_its_request_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(patience, "PATIENCE", 0.3)

    async def answers(scope, receive, send):
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"well"})

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(answers, port=port, http=patience.PatientProtocol, lifespan="off", log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        for begun in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"):
            with socket.create_connection(("127.0.0.1", port), 5) as half_open:
                half_open.sendall(begun)
                began = time.monotonic()
                while half_open.recv(1000):
                    pass
                assert time.monotonic() - began < 3, begun
        with httpx.Client() as client:  # one that asks and rests in between stays
            for _ in range(3):
                assert client.get(f"http://127.0.0.1:{port}/").text == "well"
                time.sleep(0.4)
    finally:
        server.should_exit = True
        thread.join()


def test_streams_keep_their_limit_when_many_come_at_once(monkeypatch):
    async def slow_look(service, name, key):
        await asyncio.sleep(0.05)
        return {"seq": 1}

    monkeypatch.setattr(routes, "STREAMS", 3)
    monkeypatch.setattr(routes, "look", slow_look)
    monkeypatch.setattr(routes, "signed_in", lambda *given: None)
    monkeypatch.setattr(routes, "service_of", lambda request: None)

    async def many():
        requests = [object() for _ in range(20)]
        made = await asyncio.gather(*(routes.stream(request, "price") for request in requests), return_exceptions=True)
        assert sum(isinstance(one, Refused) for one in made) == 17 and len(routes._streams) == 3
        for one in made:
            if not isinstance(one, Refused):

                async def gone(message):
                    raise OSError

                with pytest.raises(ClientDisconnect):
                    await one({"type": "http", "asgi": {"spec_version": "2.4"}}, None, gone)

    asyncio.run(many())
    assert not routes._streams


def test_files_that_are_damaged_or_from_the_future_are_sentences(tmp_path, clock):
    with service_at(tmp_path / "a.db", clock) as service:
        create(service)
        for n in range(60):
            decide(service, f"d{n}")
    content = bytearray((tmp_path / "a.db").read_bytes())
    for page in range(4 * 4096, len(content), 4096):
        content[page : page + 3000] = b"\xff" * min(3000, len(content) - page)
    (tmp_path / "damaged.db").write_bytes(content)
    (tmp_path / "text.db").write_text("this is no database, but it is as long as one may be " * 40)
    for name in ("damaged.db", "text.db"):
        done = CliRunner().invoke(app, ["log", "verify", "--db", str(tmp_path / name)])
        assert isinstance(done.exception, ValueError) and "restore it from a backup" in str(done.exception), done.exception
    database = Database(str(tmp_path / "a.db"))
    with database.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ValueError, match="newer version of tightrope"):
        database.migrate()
    database.close()


def test_json_that_is_nested_deeply_is_refused(served):
    served("POST", "/v1/experiments", PRICES)
    deep = b"[" * 100_000
    for path in ("", "/price/decisions", "/price/rewards", "/price/decisions:batch", "/price/arms", "/price/erase"):
        for body in (deep, b'{"context": ' + deep, b'{"a":' * 30_000):
            assert served("POST", "/v1/experiments" + path, body).status_code in (400, 413, 422), path
    assert served("POST", "/rank", deep).status_code in (400, 413, 422)


def test_a_large_form_is_refused(served):
    for form in (b"&".join(b"a%d=1" % n for n in range(1000)), b"key=" + b"x" * 100_000):
        answer = served("POST", "/board/login", form, None)
        assert answer.status_code in (401, 413), answer.text


def test_the_root_leads_to_the_board(served):
    answer = served("GET", "/", key=None)
    assert answer.status_code == 307 and answer.headers["location"] == "/board"


def test_signing_out_ends_the_cookie_for_whoever_has_a_copy(served):
    signed = served("POST", "/board/login", b"key=" + served.keys["read"].encode(), None)
    cookie = signed.headers["set-cookie"].split(";")[0]
    page = served("GET", "/board", key=None, Cookie=cookie)
    assert page.status_code == 200
    token = page.text.split('name="token" value="')[1].split('"')[0]
    assert served("POST", "/board/logout", b"token=" + token.encode(), None, Cookie=cookie).status_code == 303
    assert served("GET", "/board", key=None, Cookie=cookie).status_code == 303
    other = keys.KeyRing(served.service.database)  # another process
    other.refresh()
    assert other.signed_out(cookie.split("=", 1)[1]) and not other.signed_out("another")
    again = served("POST", "/board/login", b"key=" + served.keys["read"].encode(), None).headers["set-cookie"].split(";")[0]
    assert served("GET", "/board", key=None, Cookie=again).status_code == 200
    assert error(served("GET", "/board/experiments/price/stream", key=None, Cookie=cookie), 401)
