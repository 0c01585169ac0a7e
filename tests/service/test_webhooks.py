"""Webhooks: what is told, to whom, once and whatever happens; and to nobody inside."""

import base64
import contextlib
import functools
import http.server
import ipaddress
import json
import math
import pathlib
import re
import socket
import ssl
import threading
import time
import types

import pytest
from running import (
    PRICES,
    Process,
    ask,
    crash,
    create,
    decide,
    error,
    patiently,
    place,
    refused,
    reward,
    service_at,
    standing_and_history,
    until,
)
from test_scopes import two

from tightrope_service import commands, outbox, webhooks as sending
from tightrope_service.board_view import sentence_of
from tightrope_service.certificate import NOTICE_KINDS, Notice
from tightrope_service.events import Decided
from tightrope_service.requests import ModeChange
from tightrope_service.service import Histories
from tightrope_service.transfer import read_log, write_log
from tightrope_service.webhooks import Sender, notice_standing

assert two  # the fixture
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "service" / "operate.md"
HERE = ("127.0.0.0/8",)
GUARDED = PRICES | {
    "policy": "BetaThompson",
    "baseline": "low",
    "baseline_mean": 0.5,
    "alpha": 0.1,
    "guarantee": {"sigma": 0.5},
    "default_reward": None,
    "rollout": {"mode": "shadow"},
}


def genuine(secret, headers, body, now=None):
    """The receiver's lines of docs/service/operate.md."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names = {}
    exec(block, names)
    if now is not None:
        names["time"] = types.SimpleNamespace(time=lambda: now)
    return names["genuine"](secret, headers, body)


class Receiver:
    """A server that keeps what it is sent. status: that it answers. seconds: after which. location:
    where it redirects to."""

    def __init__(self, context=None):
        self.got, self.status, self.seconds, self.location = [], 200, 0.0, None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((self.path, dict(self.headers), body))
                time.sleep(outer.seconds)
                with contextlib.suppress(OSError):
                    self.send_response(outer.status)
                    if outer.location:
                        self.send_header("Location", outer.location)
                    self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server.server_address[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook?team=shop"

    @property
    def told(self):
        return [json.loads(body) for _, _, body in self.got]


@pytest.fixture
def receiver():
    found = Receiver()
    yield found
    found.server.shutdown()


@pytest.fixture
def service(tmp_path, clock):
    with service_at(tmp_path / "w.db", clock, webhook_networks=HERE) as running:
        yield running


def hook(service, url, events=NOTICE_KINDS, experiments=None):
    with service.database.write() as connection:
        return outbox.create(connection, service.settings.clock(), url, events, experiments, "")


def paused_hook(service, url):
    """A webhook that a paused experiment has a message for."""
    made = hook(service, url)
    create(service)
    ask(service, commands.change_status, "pause")
    return made


def watched(service):
    """Let the writer's tick look at all of the experiment, and tell what holds."""
    ask(service, commands.describe)  # so that the process has it
    owned = service.writer.owned["price"]
    service.writer.notice = functools.partial(notice_standing, service, Histories(service.database))
    owned.looked, owned.looked_at = -1, -math.inf
    until(lambda: owned.looked >= 0)
    for _ in range(2):  # what was lined up, and what it asked for
        ask(service, commands.describe)
        service.threads["noticing"].submit(lambda: None).result(30)
    ask(service, commands.describe)


def sent(service):
    """One attempt for each webhook with a message that is due."""
    for one in Sender(service).begin():
        one.result(30)


def rows(service, id=1):
    with service.database.read() as connection:
        return outbox.last_deliveries(connection, id, 100)


def test_each_kind_is_told_once_with_what_the_board_says(service, clock, receiver):
    made = hook(service, receiver.url)
    create(service, GUARDED | {"rollout": {"mode": "capped", "share": 0.5}})
    ask(service, commands.change_mode, ModeChange(mode="full", why="looks good."))
    watched(service)
    watched(service)
    sent(service)
    ((path, headers, body),) = receiver.got
    assert (path, headers["Host"]) == ("/hook?team=shop", f"127.0.0.1:{receiver.port}")
    assert genuine(outbox.shown_secret(made.secret), headers, body, clock.now / 1e6)
    told, data = receiver.told[0], receiver.told[0]["data"]
    assert told["type"] == "mode.changed" and told["timestamp"] == "2027-01-15T08:00:00.000000Z"
    assert (
        data["experiment"] == "price"
        and data["event"] == 2
        and (data["mode"], data["before"], data["by"]) == ("full", "capped", "command")
    )
    assert data["what"] == "The mode changed from capped to full, by command: looks good."
    assert data["board"] == "It cannot be said yet which arm leads: no reward has come."
    for status in ("pause", "resume", "archive"):
        ask(service, commands.change_status, status)
    watched(service)
    for _ in range(3):
        sent(service)
    assert [(one["type"], one["data"].get("status")) for one in receiver.told[1:]] == [
        ("experiment.stopped", "paused"),
        ("experiment.stopped", "archived"),
    ]
    assert [row.status for row in rows(service)] == ["delivered"] * 3
    assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 3


def test_a_winner_is_told_when_the_board_says_that_it_is_known(service, clock, receiver):
    hook(service, receiver.url, ("winner.known",))
    create(service, PRICES | {"policy": {"policy": "EpsilonGreedy", "epsilon": 1.0}})
    known = []
    for n in range(600):
        made = decide(service, f"d{n}")
        clock.now += 10**6
        reward(service, f"d{n}", float(made["arm"] == "high"))
        if n % 50 == 49:
            watched(service)
            sentence = sentence_of(*standing_and_history(service))
            known.append(("known now" in sentence, len(rows(service))))
    assert known[0] == (False, 0) and known[-1] == (True, 1)
    assert all(says == bool(number) for says, number in known)
    sent(service)
    (data,) = [one["data"] for one in receiver.told]
    assert data["arm"] == "high" and "the best arm is sure at 95 %" in data["board"]


def test_an_identification_policy_is_a_winner_by_its_own_rule(service, receiver):
    hook(service, receiver.url, ("winner.known",))
    create(service, PRICES | {"policy": {"policy": "UGapE", "noise": 0.5}})
    for n in range(300):
        made = decide(service, f"d{n}")
        reward(service, f"d{n}", float(made["arm"] == "mid"))
        if n in (5, 299):
            watched(service)
            assert len(rows(service)) == (n > 5)
    assert json.loads(rows(service)[0].body)["data"]["arm"] == "mid"


@pytest.mark.parametrize(
    ("least", "bounds", "told"),
    [
        (-1.0, [0.0, -0.9, -1.1, -1.2, -0.5, -1.3, 0.0, -1.5, None], [-1.1, -1.5]),
        (2.0, [3.0, 1.9, 1.0, 2.0, 1.5], [1.9, 1.5]),
        (-float("inf"), [-5.0, -50.0], []),
    ],
)
def test_a_promise_is_at_risk_when_the_budget_is_below_its_least_until_it_recovers(
    tmp_path, clock, least, bounds, told
):
    for number, bound in enumerate(bounds):  # each by a process of its own
        with service_at(tmp_path / "w.db", clock) as service:
            if number == 0:
                hook(service, "https://93.184.215.14/")
                create(service, GUARDED)
            event = Decided(f"d{number}", 0, "low", 1.0, 0.0, "", 0, None, None, bound, {})

            def decided(at, event=event):
                at.experiment.rollout.least_budgets[""] = least
                at._notify(event, types.SimpleNamespace(seq=at.experiment.seq, time=at.now))

            ask(service, decided)
            assert [
                json.loads(row.body)["data"]["bound"] for row in reversed(rows(service))
            ] == told[: len(rows(service))]
    with service_at(tmp_path / "w.db", clock) as service:
        assert len(rows(service)) == len(told)


def test_a_promise_is_at_risk_when_the_log_contradicts_what_it_rests_on(service, clock, receiver):
    hook(service, receiver.url, ("promise.at_risk",))
    create(service, GUARDED | {"baseline_mean": 0.9, "rollout": {"mode": "shadow"}})
    for n in range(400):
        decide(service, f"d{n}")
        clock.now += 10**6
        reward(service, f"d{n}", 0.0)
        if n == 3:
            watched(service)
            assert rows(service) == []
    watched(service)
    watched(service)
    told = [json.loads(row.body)["data"] for row in rows(service)]
    assert [one["because"] for one in told] == ["assumption"] and "0.9" in told[0][
        "assumption"
    ] + told[0]["why"]
    assert told[0]["what"].startswith("The log contradicts what the promise rests on: ")


def test_what_was_before_the_webhook_is_not_told_and_nor_is_what_happened_elsewhere(
    service, receiver, tmp_path
):
    create(service)
    ask(service, commands.change_status, "pause")
    hook(service, receiver.url)
    hook(service, receiver.url, experiments=("other-*",))
    watched(service)
    ask(service, commands.change_status, "resume")
    watched(service)
    assert rows(service) == []
    with service.database.read() as connection:
        write_log(connection, 1, "price", tmp_path / "log.jsonl")
    with service_at(tmp_path / "b.db") as second:
        hook(second, receiver.url)
        with second.database.write() as connection:
            read_log(connection, tmp_path / "log.jsonl")
        ask(second, commands.describe)
        watched(second)
        assert rows(second) == []
        ask(second, commands.change_status, "pause")
        watched(second)
        assert len(rows(second)) == 1
    ask(service, commands.change_status, "pause")
    watched(service)
    assert len(rows(service)) == 1 and rows(service, 2) == []


def test_a_receiver_that_is_down_gets_it_later_and_the_pauses_grow(service, clock, receiver):
    paused_hook(service, receiver.url)
    receiver.status = 500
    pauses = []
    while rows(service)[0].status == "waiting":
        clock.now = rows(service)[0].due
        sent(service)
        row = rows(service)[0]
        assert row.error == "status 500"
        pauses.append((row.due - clock.now) / 1e6)
    assert row.status == "failed" and 25 < row.attempts == len(pauses) == len(receiver.got) < 45
    assert all(0.8 * 5 * 2**k <= pause <= 1.2 * 5 * 2**k for k, pause in enumerate(pauses[:9]))
    assert all(0.8 * 3600 <= pause <= 1.2 * 3600 for pause in pauses[11:-1])
    assert (
        len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 1
    )  # so that it can tell that it has it already
    sent(service)
    assert len(receiver.got) == row.attempts  # no more
    with service.database.write() as connection:
        assert outbox.retry(connection, 1, clock.now, clock.now + outbox.RETRY_PERIOD) == 1
    receiver.status = 204
    sent(service)
    assert rows(service)[0].status == "delivered" and rows(service)[0].error is None


def test_nobody_there(service, receiver):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    hook(service, f"http://127.0.0.1:{free}/")
    paused_hook(service, receiver.url)
    sent(service)
    assert rows(service)[0].status == "waiting" and rows(service)[0].error.startswith(
        "ConnectionRefusedError"
    )
    assert len(receiver.got) == 1  # the other one is not kept waiting


def trickling(listener):
    """Send one byte of an answer every 50 ms, for ever."""
    connection, _ = listener.accept()
    with contextlib.suppress(OSError):
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10_000:
            connection.send(bytes([byte]))
            time.sleep(0.05)


def test_a_slow_receiver_keeps_no_decision_waiting(service, receiver, monkeypatch):
    monkeypatch.setattr(sending, "ATTEMPT_SECONDS", 0.6)
    receiver.seconds = 8.0
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=trickling, args=(listener,), daemon=True).start()
    hook(service, receiver.url)
    hook(service, f"http://127.0.0.1:{listener.getsockname()[1]}/")
    create(service)
    decide(service, "a")
    ask(service, commands.change_status, "pause")
    ask(service, commands.change_status, "resume")
    began = time.monotonic()
    attempts = Sender(service).begin()
    waits = []
    while not all(one.done() for one in attempts):
        decide(service)
        waits.append(time.monotonic() - began)
        time.sleep(0.01)
    assert time.monotonic() - began < 6.0  # neither waits for the end of what it is sent
    assert len(waits) > 5  # decisions that were made meanwhile
    for id in (1, 2):
        assert (
            rows(service, id)[0].status == "waiting" and rows(service, id)[0].error == sending.SLOW
        )


def test_redirects_are_not_followed(service, receiver):
    other = Receiver()
    receiver.status, receiver.location = 307, other.url
    paused_hook(service, receiver.url)
    sent(service)
    assert len(receiver.got) == 1 and other.got == []
    assert "redirects are not followed" in rows(service)[0].error


def test_a_forged_signature_an_old_one_and_another_body_are_known(service, clock, receiver):
    made = paused_hook(service, receiver.url)
    sent(service)
    ((_, headers, body),) = receiver.got
    secret, now = outbox.shown_secret(made.secret), clock.now / 1e6
    assert genuine(secret, headers, body, now)
    assert not genuine(secret, headers, body.replace(b"paused", b"killed"), now)
    assert not genuine(secret, headers, body, now + 301)
    assert not genuine(secret, headers | {"webhook-timestamp": str(int(now) + 1)}, body, now)
    assert not genuine(secret, headers | {"webhook-id": "msg_0"}, body, now)
    assert not genuine(outbox.shown_secret(bytes(32)), headers, body, now)


# What is between a commit and a delivery ----------------------------------------------------------


def test_a_kill_between_any_two_steps_loses_no_message(path, clock, receiver, monkeypatch):
    with service_at(
        path, clock, webhook_networks=HERE, lease=0.3
    ) as service:  # after the commit of the event
        paused_hook(service, receiver.url)
        crash(service)
    with service_at(
        path, clock, webhook_networks=HERE, lease=0.3
    ) as service:  # after the message is in the table
        patiently(ask, service, commands.describe)
        assert len(rows(service)) == 1
        crash(service)
    with service_at(
        path, clock, webhook_networks=HERE, lease=0.3
    ) as service:  # after the claim, before the receiver has it
        patiently(ask, service, commands.describe)
        assert len(rows(service)) == 1
        real = Sender.post
        monkeypatch.setattr(Sender, "post", lambda *given: (_ for _ in ()).throw(OSError("killed")))
        sent(service)
        monkeypatch.setattr(Sender, "post", real)
        assert receiver.got == [] and rows(service)[0].attempts == 1
        sent(service)
        assert receiver.got == []  # whoever has claimed it may still be at work
        clock.now += sending.CLAIM
        real_settle = outbox.settle
        monkeypatch.setattr(
            outbox, "settle", lambda *given: (_ for _ in ()).throw(OSError("killed"))
        )  # the receiver has it
        sent(service)
        monkeypatch.setattr(outbox, "settle", real_settle)
        assert len(receiver.got) == 1 and rows(service)[0].status == "waiting"
        crash(service)
    with service_at(path, clock, webhook_networks=HERE, lease=0.3) as service:
        patiently(ask, service, commands.describe)
        clock.now += sending.CLAIM
        sent(service)
        assert len(receiver.got) == 2 and rows(service)[0].status == "delivered"
        assert receiver.got[0][1]["webhook-id"] == receiver.got[1][1]["webhook-id"]


def test_two_senders_send_one_message_of_a_webhook_at_a_time_in_order(path, clock, receiver):
    with service_at(path, clock, webhook_networks=HERE) as service:
        hook(service, receiver.url)
        create(service)
        for what in ("pause", "resume", "pause", "archive"):
            ask(service, commands.change_status, what)
        receiver.seconds = 1.0
        first = Sender(service).begin()
        until(lambda: receiver.got)
        assert Sender(service).begin() == []
        for one in first:
            one.result(30)
        receiver.seconds = 0.0
        pair = [Sender(service) for _ in range(2)]
        while rows(service)[0].status == "waiting":
            for one in [attempt for each in pair for attempt in each.begin()]:
                one.result(30)
        assert [one["data"]["event"] for one in receiver.told] == [2, 4, 5]


def test_addresses_of_a_name_share_the_time_of_an_attempt(service, receiver, monkeypatch):
    monkeypatch.setattr(sending, "ATTEMPT_SECONDS", 3.0)
    kept, places = [], []
    for number in (2, 3, 4):  # who listens there takes no more connections
        listener = socket.create_server((f"127.0.0.{number}", receiver.port), backlog=0)
        kept.append(listener)
        for _ in range(3):
            kept.append(socket.socket())
            kept[-1].setblocking(False)
            kept[-1].connect_ex(listener.getsockname())
        places.append((socket.AF_INET, socket.SOCK_STREAM, 6, "", listener.getsockname()))
    places.append((socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", receiver.port)))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **more: places)
    made = paused_hook(service, f"http://many.example:{receiver.port}/")
    began = time.monotonic()
    assert Sender(service).post(made, rows(service)[0], 0) is None and receiver.got
    places.pop()
    assert Sender(service).post(made, rows(service)[0], 0) == sending.SLOW
    assert time.monotonic() - began < 7.0
    for one in kept:
        one.close()


def test_a_process_tells_and_after_kill_9_tells_the_rest(tmp_path, receiver):
    process = Process(place(tmp_path / "a.db"), tmp_path)
    process.command = [*process.command, "--webhook-network", "127.0.0.0/8"]
    with process, process.client() as client:
        made = client.create_webhook(receiver.url, ["experiment.stopped"])
        client.create(PRICES)
        client.pause()
        until(lambda: receiver.got)
        assert [one["type"] for one in receiver.told] == ["experiment.stopped"]
        assert genuine(made["secret"], receiver.got[0][1], receiver.got[0][2])
        client.resume()
        client.archive()
        process.kill()
    process.start()
    with process.client() as client:
        until(lambda: len(receiver.got) >= 2)
        assert [one["data"]["status"] for one in receiver.told] == ["paused", "archived"]
        until(lambda: not client.webhooks()[0]["waiting"], 5)
        assert [one["status"] for one in client.deliveries(made["id"])] == ["delivered"] * 2
        client.remove_webhook(made["id"])
        assert client.webhooks() == []
    assert process.stop() == 0


# Addresses ----------------------------------------------------------------------------------------

INSIDE = (
    "http://127.0.0.1/",
    "https://127.0.0.1/",
    "https://localhost/",
    "https://10.1.2.3/",
    "https://192.168.0.1/",
    "https://172.16.0.1/",
    "https://169.254.169.254/latest/meta-data",
    "https://[::1]/",
    "https://[fe80::1]/",
    "https://[fd00::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[64:ff9b::a00:1]/",
    "https://[2002:a00:1::]/",
    "https://0.0.0.0/",
    "https://100.64.0.1/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
)


@pytest.mark.parametrize("url", INSIDE)
def test_addresses_inside_are_refused_when_it_is_made_and_when_it_is_sent(two, url):
    assert (
        "not an address of the public internet"
        in error(two("POST", "/v1/webhooks", {"url": url}), 422)["message"]
    )
    scheme, host, port, _ = outbox.parts_of(url)
    refused(
        422, outbox.checked_addresses, scheme, host, port, [], match="not an address of the public"
    )


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example/",
        "https://",
        "nonsense",
        "https://a b/",
        "https://u:p@a.example/",
        "https://a.example/#x",
        "https://a:x/",
        f"https://{'a' * 70}.example/",
        "https://nowhere.invalid/",
    ],
)
def test_what_is_no_address_is_refused(two, url):
    assert error(two("POST", "/v1/webhooks", {"url": url}), 422)["field"] == "url"


def test_a_name_that_leads_inside_only_when_it_is_sent_is_refused(service, receiver, monkeypatch):
    """DNS rebinding: the check of the first answer says nothing about the second."""
    found = iter([("93.184.215.14", 443), ("127.0.0.1", receiver.port)])
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, port, **more: real(*next(found), **more)
    )
    url = f"https://rebound.example:{receiver.port}/"
    assert outbox.checked_addresses("https", "rebound.example", receiver.port, [])
    made = paused_hook(service, url)
    sender = Sender(service)
    sender.networks = []
    assert "leads to 127.0.0.1" in sender.post(made, rows(service)[0], 0)
    assert receiver.got == []


def test_plain_http_is_for_networks_that_the_operator_names():
    refused(
        422,
        outbox.checked_addresses,
        "http",
        "93.184.215.14",
        80,
        [],
        match="give one with https://",
    )
    named = outbox.networks_of(["93.184.215.0/24", "fd00::/8"])
    assert outbox.checked_addresses("http", "93.184.215.14", 80, named)
    with pytest.raises(ValueError, match="is not a network"):
        outbox.networks_of(["10.0.0.1/8"])


def certificate(folder, name):
    """A key and a certificate that signs itself."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    made = (
        x509.CertificateBuilder()
        .subject_name(issuer)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), False)
        .add_extension(x509.BasicConstraints(True, None), True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return folder / "cert.pem", folder / "key.pem"


@pytest.mark.parametrize("name", ["localhost", "somebody-else.example"])
def test_tls_is_checked_by_name(service, tmp_path, monkeypatch, name):
    public, private = certificate(tmp_path, name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    monkeypatch.setenv("SSL_CERT_FILE", str(public))
    secure = Receiver(context)
    hook(service, f"https://localhost:{secure.port}/")
    if all(
        ipaddress.ip_address(place[0]).version == 6
        for *_, place in socket.getaddrinfo("localhost", 1)
    ):
        pytest.skip("localhost is no IPv4 address here")
    create(service)
    ask(service, commands.change_status, "pause")
    sender = Sender(service)
    sender.networks = outbox.networks_of([*HERE, "::1/128"])
    for one in sender.begin():
        one.result(30)
    if name == "localhost":
        assert rows(service)[0].status == "delivered" and len(secure.got) == 1
    else:
        assert (
            rows(service)[0].status == "waiting"
            and "certificate verify failed" in rows(service)[0].error
            and secure.got == []
        )


# The API ------------------------------------------------------------------------------------------

PUBLIC = "https://93.184.215.14/hook"


def test_the_life_of_a_webhook(two):
    made = two("POST", "/v1/webhooks", {"url": PUBLIC, "events": ["winner.known"], "note": "shop"})
    assert made.status_code == 201
    told = made.json()
    assert len(base64.b64decode(told["secret"].removeprefix("whsec_"))) == 32
    listed = two("GET", "/v1/webhooks").json()
    assert listed["webhooks"] == [{key: value for key, value in told.items() if key != "secret"}]
    assert two("GET", f"/v1/webhooks/{told['id']}").json() == listed["webhooks"][0]
    assert two("GET", f"/v1/webhooks/{told['id']}/deliveries").json() == {"deliveries": []}
    assert two("POST", f"/v1/webhooks/{told['id']}/retry").json() == {"retried": 0}
    assert two("GET", "/v1/webhooks", None, "decide").status_code == 403
    assert two("DELETE", f"/v1/webhooks/{told['id']}").status_code == 204
    assert error(two("DELETE", f"/v1/webhooks/{told['id']}"), 404)["field"] == "webhook"
    entries = two("GET", "/v1/audit").json()["entries"]
    assert [row["action"] for row in entries[-2:]] == ["create webhook", "remove webhook"]
    assert told["secret"] not in str(entries) and "/hook" not in str(entries)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"events": ["nothing"]}, "events.0"),
        ({"events": []}, "events"),
        ({"experiments": ["a b"]}, "experiments"),
        ({"secret": "x"}, "secret"),
    ],
)
def test_what_a_webhook_cannot_be(two, wrong, field):
    assert error(two("POST", "/v1/webhooks", {"url": PUBLIC} | wrong), 422)["field"] == field


def test_a_key_for_some_experiments_makes_and_sees_webhooks_for_these(two):
    everywhere = two("POST", "/v1/webhooks", {"url": PUBLIC}).json()
    own = two("POST", "/v1/webhooks", {"url": PUBLIC}, "admin shop").json()
    assert own["experiments"] == ["shop-*", "checkout"]
    for allowed in (["shop-*"], ["shop-a", "checkout"]):
        assert (
            two(
                "POST", "/v1/webhooks", {"url": PUBLIC, "experiments": allowed}, "admin shop"
            ).status_code
            == 201
        )
    for beyond in (["*"], ["price"], ["shop-?"], ["checkout", "c*"]):
        assert (
            two(
                "POST", "/v1/webhooks", {"url": PUBLIC, "experiments": beyond}, "admin shop"
            ).status_code
            == 403
        )
    listed = two("GET", "/v1/webhooks", None, "admin shop").json()["webhooks"]
    assert everywhere["id"] not in [one["id"] for one in listed] and len(listed) == 3
    for method, path in (("GET", ""), ("GET", "/deliveries"), ("POST", "/retry"), ("DELETE", "")):
        assert (
            two(method, f"/v1/webhooks/{everywhere['id']}{path}", None, "admin shop").status_code
            == 403
        )
    assert two("DELETE", f"/v1/webhooks/{own['id']}", None, "admin shop").status_code == 204


def test_the_board_shows_webhooks_to_keys_that_may_admin(two):
    two("POST", "/v1/webhooks", {"url": PUBLIC, "note": "shop team"})
    with two.service.database.write() as connection:
        now = two.service.settings.clock()
        outbox.enqueue(connection, now, "price", Notice("winner.known", 1, now, "It is known.", {}))
        (one,) = outbox.ready(connection, now)
        outbox.settle(connection, one, 0, outbox.FAILED_STATUS, now, "status 500")
    for role, shown in (("admin", True), ("read", False), ("admin shop", False)):
        signed = two("POST", "/board/login", f"key={two.keys[role]}".encode(), None)
        page = two(
            "GET", "/board", None, None, Cookie=signed.headers["set-cookie"].split(";")[0]
        ).text
        assert ("shop team" in page and "status 500" in page) == shown
        assert "/hook" not in page  # an address may be a secret


def test_there_is_a_limit(two, monkeypatch):
    from tightrope_service import routes

    monkeypatch.setattr(routes, "MOST_WEBHOOKS", 1)
    assert two("POST", "/v1/webhooks", {"url": PUBLIC}).status_code == 201
    assert "remove one first" in error(two("POST", "/v1/webhooks", {"url": PUBLIC}), 409)["message"]
