"""The whole way, with real processes: serve, create, decide, reward, kill -9, restart."""

import socket
import subprocess
import sys
import threading
from contextlib import closing

import httpx
import numpy as np
import pytest
from running import PRICES, Process, until
from typer.testing import CliRunner

import tightrope as tr
from tightrope.cli.application import app
from tightrope_service import keys
from tightrope_service.app import first_key
from tightrope_service.client import Rejected, Unavailable
from tightrope_service.database import Database


def test_what_was_acknowledged_survives_kill_9_and_goes_on_as_if_nothing_had_happened(tmp_path):
    twin = tr.Session(
        tr.EpsilonGreedy(epsilon=0.5),
        arms=3,
        names=["low", "mid", "high"],
        seed=3,
        default_reward=0.0,
    )
    service = Process(tmp_path / "a.db", tmp_path)
    with service, service.client() as client:
        client.create(PRICES)
        for n in range(30):
            made = client.decide(id=f"v{n}")
            wanted = twin.decide(id=f"v{n}")
            assert (made.arm, made.propensity) == (wanted.name, wanted.propensity)
            if n % 3:
                assert client.reward(made.id, n % 2) == twin.reward(made.id, n % 2)
        before, fingerprint = client.decide(id="v7"), client.state()["fingerprint"]
        service.kill()
        service.start()
        assert client.state()["fingerprint"] == fingerprint
        assert client.decide(id="v7") == before  # an old id, the old answer
        assert client.reward("v7", 1.0) is False
        with pytest.raises(Rejected, match="v7") as refused:
            client.reward("v7", 0.0)
        assert refused.value.status == 409
        for n in range(30, 40):
            assert client.decide(id=f"v{n}").arm == twin.decide(id=f"v{n}").name
        assert client.open == list(twin.open)
        np.testing.assert_array_equal(client.explain()["mean"], twin.explain()["mean"])
        first = service.process.pid
        assert service.stop() == 0  # a graceful end leaves a snapshot
        service.start()
        assert service.process.pid != first and client.open == list(twin.open)
        for command, words in (("verify", "price: 61 events"), ("replay", "1 snapshots compared")):
            done = subprocess.run(
                [sys.executable, "-m", "tightrope", "log", command, "--db", service.db],
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0 and words in done.stdout, done.stdout + done.stderr


def test_a_second_process_on_the_same_file_is_refused(tmp_path):
    with Process(tmp_path / "a.db", tmp_path):
        done = subprocess.run(
            [sys.executable, "-m", "tightrope", "serve", "--db", str(tmp_path / "a.db")],
            capture_output=True,
            text=True,
        )
    assert done.returncode == 2 and "served by another process" in done.stderr


def test_requests_that_are_under_way_when_it_is_told_to_stop_are_answered(tmp_path):
    service = Process(tmp_path / "a.db", tmp_path)
    answered, failed = [], []
    with service:
        service.client().create(PRICES)

        def work(number):
            client = service.client("price", attempts=1)
            for n in range(10_000):
                try:
                    answered.append(client.decide(id=f"{number}-{n}").id)
                except (Unavailable, ValueError) as error:
                    failed.append(error)
                    return

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: len(answered) >= 200, 120)
        assert service.stop() == 0
        for thread in threads:
            thread.join()
        assert failed and all(isinstance(error, Unavailable) for error in failed)
        service.start()
        kept = {
            event["decision"]
            for event in service.client("price").log()
            if event["kind"] == "decided"
        }
    assert set(answered) <= kept


def test_a_client_that_lost_its_answer_asks_again_and_gets_it(tmp_path):
    service = Process(tmp_path / "a.db", tmp_path)
    with service:
        client = service.client(attempts=20)
        client.create(PRICES)
        service.kill()
        threading.Timer(1.0, service.start).start()
        made = client.decide(id="late")  # waits while nobody answers
        assert client.decide(id="late") == made
        nobody = service.client("price", attempts=2)
        service.kill()
        with pytest.raises(Unavailable, match="after 2 attempts"):
            nobody.decide()


def test_the_first_key_goes_to_a_file_of_its_owner(tmp_path):
    path = tmp_path / "admin.key"
    command = [sys.executable, "-m", "tightrope", "serve", "--admin-key-file", str(path)]
    with Process(tmp_path / "a.db", tmp_path, command) as process:
        assert process.key == "" and path.stat().st_mode & 0o777 == 0o600
        process.key = path.read_text().strip()
        process.client().create(PRICES)
        assert process.stop() == 0
    with Process(
        tmp_path / "a.db", tmp_path, command
    ) as process:  # it has keys, so nothing is written
        process.key = path.read_text().strip()
        assert process.client("price").describe()["name"] == "price"


def test_an_admin_key_file_that_is_there_is_refused_and_no_key_is_made(tmp_path):
    path = tmp_path / "admin.key"
    path.write_text("precious")
    with closing(Database(str(tmp_path / "a.db"))) as database:
        database.migrate()
        with pytest.raises(
            ValueError, match=r"admin_key_file = .* cannot be written .*not there yet"
        ):
            first_key(database, str(path))
        assert path.read_text() == "precious"
        with database.read() as connection:
            assert keys.all_keys(connection) == []


@pytest.mark.parametrize("trusted", [True, False])
def test_the_cookie_is_secure_behind_a_trusted_proxy_and_else_a_warning_says_why_not(
    tmp_path, trusted
):
    """The proxy is on another machine, as far as addresses say so."""
    own = own_address()
    command = [
        sys.executable,
        "-m",
        "tightrope",
        "serve",
        "--host",
        "0.0.0.0",
        *(["--proxy", f"{own}/32"] if trusted else []),
    ]
    with Process(tmp_path / "a.db", tmp_path, command) as process:
        sources = {"loopback": "127.0.0.2", "own": own}
        secure = {}
        for name, source in sources.items():
            proxy = httpx.Client(
                transport=httpx.HTTPTransport(local_address=source),
                headers={"X-Forwarded-Proto": "https"},
                timeout=30,
            )
            answer = proxy.post(
                f"http://{source}:{process.port}/board/login", data={"key": process.key}
            )
            secure[name] = "Secure" in answer.headers["set-cookie"]
        assert secure == {"loopback": True, "own": trusted}
        log = (tmp_path / f"serve-{process.port}.log").read_text()
        assert ("not of a trusted proxy" in log and f"--proxy {own}" in log) == (not trusted)


def own_address():
    """An address of this machine that is not one of its loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            pytest.skip("this machine has no address but its loopback")
        return probe.getsockname()[0]


def test_a_proxy_that_is_no_network_is_refused():
    done = CliRunner().invoke(app, ["serve", "--proxy", "10.0.0.1/8"])
    assert done.exit_code and "proxy = '10.0.0.1/8' is not a network" in str(
        done.exception or done.output
    )
