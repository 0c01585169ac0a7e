"""What an operator and an attacker do to a service: slow starts, full disks, damaged files,
half-open connections, odd requests."""

import asyncio
import base64
import contextlib
import json
import os
import socket
import threading

import httpx
import pytest
import sqlalchemy as sa
import structlog
import uvicorn
from running import create, decide, error, refused, service_at, until
from typer.testing import CliRunner

from tightrope.cli.application import app
from tightrope_service import http, keys, log, transfer, writer
from tightrope_service.app import create_app
from tightrope_service.database import Database
from tightrope_service.settings import Settings


def get(application, path):
    async def ask():
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(application), base_url="http://t"
        ) as client:
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
        assert (
            answer.status_code == 503
            and "still being read" in answer.text
            and get(application, "/healthz").status_code == 200
        )
        go.set()
        until(lambda: get(application, "/readyz").status_code == 200, 10)


@contextlib.contextmanager
def limited_server():
    """The port of a server that reads the whole body and says how long it was."""

    async def answers(scope, receive, send):
        length, more = 0, True
        while more:
            message = await receive()
            length, more = length + len(message.get("body", b"")), message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"well %d" % length})

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(
            answers,
            port=port,
            http=http.LimitedProtocol,
            loop="uvloop",
            lifespan="off",
            log_level="critical",
        )
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        yield port
    finally:
        server.should_exit = True
        thread.join()


GET, CHUNKED = (
    b"GET / HTTP/1.1\r\nHost: a\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
)


@pytest.mark.parametrize(
    "sent",
    [
        GET + b"X-A: " + b"a" * 10**7,  # of which there is no end
        GET + b"X-A: " + b"a" * 70_000 + b"\r\n\r\n",
        GET + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 1000) for n in range(70)) + b"\r\n",
        GET + b"".join(b"X-%d: a\r\n" % n for n in range(101)) + b"\r\n",
        b"GET /?" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        GET + b"a" * 10**6,  # a name
        CHUNKED + b"3\r\nabc\r\n0\r\nX-A: " + b"a" * 10**6,  # behind the body
        CHUNKED + b"3;" + b"a" * 10**6,
    ],
    ids=["endless", "one", "sum", "many", "address", "name", "trailer", "chunk"],
)
def test_a_head_that_is_too_large_is_refused_before_it_is_kept(sent):
    with limited_server() as port, socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(sent)
        answer = b""
        while block := client.recv(10_000):
            answer += block
        head, body = answer.split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 431 "), head
        assert (
            json.loads(body)["error"]["code"] == "too_large"
            and "65536 bytes" in json.loads(body)["error"]["message"]
        )


def test_large_bodies_and_many_requests_are_no_large_head():
    with limited_server() as port, httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        for _ in range(3):
            assert client.get("/", headers={"X-A": "a" * 60_000}).text == "well 0"
            assert client.get("/", headers={f"X-{n}": "a" for n in range(90)}).text == "well 0"
            assert client.post("/", content=b"a" * 10**6).text == "well 1000000"
            assert client.post("/", content=iter([b"a" * 7] * 20_000)).text == "well 140000"


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
        assert isinstance(done.exception, ValueError) and "restore it from a backup" in str(
            done.exception
        ), done.exception
    with contextlib.closing(Database(str(tmp_path / "a.db"))) as database:
        with database.write() as connection:
            connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(ValueError, match="newer version of tightrope"):
            database.migrate()


@pytest.mark.usefixtures("served_price")
def test_json_that_is_nested_deeply_is_refused(served):
    deep = b"[" * 100_000
    for path in (
        "",
        "/price/decisions",
        "/price/rewards",
        "/price/decisions:batch",
        "/price/arms",
        "/price/erase",
    ):
        for body in (deep, b'{"context": ' + deep, b'{"a":' * 30_000):
            assert served("POST", "/v1/experiments" + path, body).status_code in (400, 413, 422), (
                path
            )


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
    assert (
        served("POST", "/board/logout", b"token=" + token.encode(), None, Cookie=cookie).status_code
        == 303
    )
    assert served("GET", "/board", key=None, Cookie=cookie).status_code == 303
    other = keys.KeyRing(served.service.database)  # another process
    other.refresh()
    assert not other.knows_session(cookie.split("=", 1)[1])
    again = (
        served("POST", "/board/login", b"key=" + served.keys["read"].encode(), None)
        .headers["set-cookie"]
        .split(";")[0]
    )
    assert served("GET", "/board", key=None, Cookie=again).status_code == 200
    assert error(served("GET", "/board/experiments/price/parts", key=None, Cookie=cookie), 401)


def test_who_reads_the_database_cannot_make_a_cookie(served):
    """The table has the digest of a random cookie, so that nothing in it signs anybody in; and the
    session ends with its key or its time."""
    value = (
        served("POST", "/board/login", b"key=" + served.keys["admin"].encode(), None)
        .headers["set-cookie"]
        .split(";")[0]
        .split("=", 1)[1]
    )
    with served.service.database.read() as connection:
        rows = [
            tuple(row)
            for name in log.metadata.tables
            for row in connection.execute(sa.text(f"SELECT * FROM {name}"))
        ]
        (session,) = connection.execute(sa.select(log.sessions)).all()
    assert value not in repr(rows) and value.encode() not in [
        bytes(one) for row in rows for one in row if isinstance(one, bytes)
    ]
    stored = bytes(session.digest)
    for forged in (stored.hex(), base64.urlsafe_b64encode(stored).decode().rstrip("="), "", "1"):
        assert (
            served("GET", "/board", key=None, Cookie=f"tightrope_board={forged}").status_code == 303
        )
    other = keys.KeyRing(served.service.database)  # another process
    other.refresh()
    assert other.check_session(value, "admin").role == "admin"
    with served.service.database.write() as connection:
        connection.execute(sa.update(log.sessions).values(until=keys.wall_clock() - 1))
    other.refresh()
    refused(401, other.check_session, value, "admin", match="Sign in")
    served("POST", "/board/login", b"key=" + served.keys["read"].encode(), None)
    with served.service.database.read() as connection:
        assert [row.digest for row in connection.execute(sa.select(log.sessions))] != [
            session.digest
        ]  # old ones go


def test_sign_ins_that_fail_leave_rows_and_have_a_limit(served):
    answers = [served("POST", "/board/login", b"key=tr_wrong", None) for _ in range(13)]
    assert [one.status_code for one in answers] == [401] * 10 + [429] * 3
    assert "Too many sign-ins" in answers[-1].text
    assert (
        served("POST", "/board/login", b"key=" + served.keys["read"].encode(), None).status_code
        == 429
    )  # from this address
    with served.service.database.read() as connection:
        rows = [row for row in log.read_audit(connection) if row.action == "sign in refused"]
    assert len(rows) == 10 and all(
        row.key is None and "address" in row.detail and "tr_wrong" not in row.detail for row in rows
    )
    elsewhere = keys.KeyRing(served.service.database)
    for n in range(keys.MOST_ADDRESSES + 10):
        elsewhere._tries[f"a{n}"] = keys.Bucket(1.0, 1.0)
    elsewhere.fail_to_sign_in("b")
    elsewhere.check_tries("b")


def test_files_of_a_database_and_its_backup_are_their_owners_alone(tmp_path):
    former = os.umask(0)
    try:
        with structlog.testing.capture_logs() as lines, service_at(tmp_path / "a.db") as service:
            create(service)
            decide(service, "a")
            path = service.database.file
            if path is not None:
                assert {
                    oct(os.stat(path + end).st_mode & 0o777)
                    for end in ("", "-wal", "-shm", ".lock")
                } == {"0o600"}
            copy = tmp_path / "price.jsonl"
            with service.database.read() as connection:
                transfer.write_log(connection, 1, "price", copy)
            assert copy.stat().st_mode & 0o777 == 0o600
        assert not [line for line in lines if "readable" in line["event"]]
        if path is not None:
            os.chmod(path, 0o644)
            with structlog.testing.capture_logs() as lines, service_at(path):
                pass
            (line,) = [line for line in lines if "readable" in line["event"]]
            assert path in line["files"] and "chmod 600" in line["remedy"]
    finally:
        os.umask(former)
