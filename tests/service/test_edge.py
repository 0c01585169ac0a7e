"""The edge: what a request, a database or a client far away may do wrong without harm to others."""

import asyncio
import time

import httpx
import pytest
import sqlalchemy as sa
from running import PRICES, error, full, until

from tightrope_service import keys, log, writer
from tightrope_service.client import Client, Rejected
from tightrope_service.http import Limits
from tightrope_service.settings import metrics

EXPERIMENT = "/v1/experiments/price"


# A database that is away --------------------------------------------------------------------------


def away(*given):
    raise sa.exc.OperationalError("SELECT 1", {}, OSError("connection refused"))


@pytest.mark.usefixtures("served_price")
@pytest.mark.parametrize(
    "path",
    [
        "/v1/experiments",
        f"{EXPERIMENT}/log",
        f"{EXPERIMENT}/state?seq=1",
        f"{EXPERIMENT}/explain?decision=a",
    ],
)
def test_an_outage_of_the_database_is_told_as_one(served, path, monkeypatch):
    monkeypatch.setattr(served.service.database, "read", away)
    answer = served("GET", path)
    assert error(answer, 503)["code"] == "unavailable" and int(answer.headers["Retry-After"]) >= 1


@pytest.mark.usefixtures("served_price")
def test_keys_are_remembered_for_a_moment_while_the_database_is_away(served, monkeypatch):
    now = keys.time.monotonic()
    clock = {"now": now}
    monkeypatch.setattr(keys.time, "monotonic", lambda: clock["now"])
    with monkeypatch.context() as outage:
        for database in (served.service.database, served.service.own):
            outage.setattr(database, "read", away)
        clock["now"] = now + keys.FRESH_SECONDS + 1  # less than keys.KEPT_SECONDS
        assert served("POST", f"{EXPERIMENT}/decisions", {}, "decide").status_code == 200
        assert served("GET", EXPERIMENT).status_code == 200
        clock["now"] = now + keys.KEPT_SECONDS + 1  # a key may have been revoked meanwhile
        for answer in (
            served("POST", f"{EXPERIMENT}/decisions", {}, "decide"),
            served("GET", EXPERIMENT),
        ):
            assert error(answer, 503) and int(answer.headers["Retry-After"]) >= 1
    clock["now"] += keys.FRESH_SECONDS + 1
    assert served("POST", f"{EXPERIMENT}/decisions", {}, "decide").status_code == 200


def test_an_error_of_the_service_itself_is_json(served, monkeypatch):
    monkeypatch.setattr(served.service.database, "read", lambda: 1 / 0)
    assert error(served("GET", "/v1/experiments"), 500)["code"] == "internal"


def answering(*given, **more):
    """A client whose service always answers this."""
    client = Client("http://shop", "tr_x", "price", attempts=2)
    client._http = httpx.Client(
        transport=httpx.MockTransport(lambda request: httpx.Response(*given, **more))
    )
    return client


@pytest.mark.parametrize(
    ("status", "text"),
    [(500, "Internal Server Error"), (404, "<html>"), (200, "<html>"), (200, "[1]"), (400, '"no"')],
)
def test_a_client_says_that_an_answer_is_not_the_services(status, text):
    with pytest.raises(Rejected, match=f"status {status}") as refused:
        answering(status, text=text).decide()
    assert refused.value.status == status and "http://shop" in str(refused.value)


# Texts that no database takes ---------------------------------------------------------------------


@pytest.mark.usefixtures("served_price")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/decisions", {"subject": "a\0b"}),
        ("POST", "/rewards", {"decision_id": "a", "value": 1.0, "reward_id": "a\0b"}),
        ("POST", "/erase", {"subject": "a\0b"}),
        ("GET", "/explain?decision=a%00b", None),
    ],
)
def test_nul_is_refused_in_texts(served, method, path, body):
    error(served(method, EXPERIMENT + path, body), 422)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/experiments/a%00b/decisions"),
        ("POST", f"{EXPERIMENT}/decisions/a%00b/activate"),
        ("DELETE", f"{EXPERIMENT}/decisions/a%00b"),
        ("GET", "/v1/experiments/a%00b"),
        ("GET", "/v1/experiments/a%00b/log"),
        ("PATCH", f"{EXPERIMENT}/arms/a%00b"),
        ("POST", "/events/a%00b/reward"),
        ("GET", "/board/experiments/a%00b"),
    ],
)
def test_nul_in_a_path_is_no_address(served, method, path, monkeypatch):
    def ask(command):
        raise AssertionError(command.experiment)

    monkeypatch.setattr(served.service.writer, "ask", ask)
    error(served(method, path, {"status": "active"} if method == "PATCH" else {}), 404)


# Ids with slashes ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("served_price")
@pytest.mark.parametrize("id", ["user/77", "a/activate", "/", "a//b"])
def test_ids_may_have_slashes(served, id):
    quoted = id.replace("/", "%2F")
    for asked in ({"id": id, "deferred": True}, {"id": id + "2"}):
        assert served("POST", f"{EXPERIMENT}/decisions", asked, "decide").status_code == 200
    assert (
        served("POST", f"{EXPERIMENT}/decisions/{quoted}/activate", None, "decide").json()["id"]
        == id
    )
    assert served("DELETE", f"{EXPERIMENT}/decisions/{quoted}2", None, "decide").json() == {
        "id": id + "2",
        "cancelled": True,
    }
    assert "/v1/experiments/{name}/decisions/{id}" in served.app.openapi()["paths"]


# Sets without arms --------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [[1], None, "two", 0, {"a": 1}])
def test_an_oracle_that_makes_no_sense_is_refused(served, k):
    spec = {"name": "sets", "policy": "C2UCB", "dimension": 2, "oracle": {"oracle": "TopK", "k": k}}
    assert "k" in error(served("POST", "/v1/experiments", spec), 422)["message"]


def test_large_sets_are_not_rehearsed(served):
    spec = {
        "name": "sets",
        "policy": "C2UCB",
        "dimension": 2,
        "oracle": {"oracle": "TopK", "k": 10**9},
    }
    assert served("POST", "/v1/experiments", spec).status_code == 201


# Counting and sizes -------------------------------------------------------------------------------


def counted(status, route="other"):
    return (
        metrics().registry.get_sample_value(
            "tightrope_requests_total", {"route": route, "status": str(status)}
        )
        or 0.0
    )


def test_requests_that_end_with_an_exception_are_counted():
    async def broken(scope, receive, send):
        raise RuntimeError

    before = counted(500)
    with pytest.raises(RuntimeError):
        asyncio.run(Limits(broken, 10)({"type": "http", "headers": [], "path": "/"}, None, None))
    assert counted(500) == before + 1


def test_a_client_that_goes_before_its_request_has_ended_is_no_error_of_the_service(served):
    async def gone():
        return {"type": "http.disconnect"}

    async def send(message):
        pass

    route = "/v1/experiments/{name}/decisions"
    before = counted(500, route)
    headers = [(b"authorization", f"Bearer {served.keys['decide']}".encode())]
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"{EXPERIMENT}/decisions",
        "headers": headers,
        "query_string": b"",
    }
    asyncio.run(served.app(scope, gone, send))
    assert counted(500, route) == before


@pytest.mark.parametrize(
    "path", ["/v1/experiments", f"{EXPERIMENT}/decisions", f"{EXPERIMENT}/rewards"]
)
def test_bodies_that_do_not_say_their_size_are_limited_too(served, path):
    async def sent():
        async def parts():
            for _ in range(30):
                yield b" " * 10_000

        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(served.app), base_url="http://t"
        ) as client:
            given = {
                "Authorization": f"Bearer {served.keys['admin']}",
                "Content-Type": "application/json",
            }
            return await client.post(path, content=parts(), headers=given)

    assert "200000 bytes" in error(asyncio.run(sent()), 413)["message"]


def test_commands_of_a_group_are_counted(served):
    def count():
        return metrics().registry.get_sample_value("tightrope_group_commands_count")

    before = count()
    served("POST", "/v1/experiments", PRICES)
    served("POST", f"{EXPERIMENT}/decisions", {}, "decide")
    assert count() >= before + 2


@pytest.mark.usefixtures("served_price")
def test_open_decisions_are_told_by_who_holds_the_experiment(served):
    served("POST", f"{EXPERIMENT}/decisions", {}, "decide")
    line = 'tightrope_open_decisions{experiment="price"} 1.0'
    assert line in served("GET", "/metrics", key=None).text

    def told_after_a_takeover():
        served.service.writer.owned.clear()  # another worker took it over
        return line in served("GET", "/metrics", key=None).text

    assert not all(
        told_after_a_takeover() for _ in range(10)
    )  # the writer takes back what nobody holds, at any of its ticks


# Batches ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("served_price")
def test_an_item_of_a_batch_that_is_not_valid_is_refused_alone(served):
    asked = [
        {"id": "a"},
        {"id": 7},
        "b",
        {"id": "c", "colour": "red"},
        {"id": "d"},
        {"id": "e", "baseline_mean": 10**400},
    ]
    answer = served("POST", f"{EXPERIMENT}/decisions:batch", {"decisions": asked}, "decide")
    results = answer.json()["results"]
    assert answer.status_code == 200 and [one["status"] for one in results] == [
        200,
        422,
        422,
        422,
        200,
        422,
    ]
    assert (
        results[1]
        == {"status": 422} | served("POST", f"{EXPERIMENT}/decisions", {"id": 7}, "decide").json()
    )
    assert results[3]["error"]["field"] == "colour"
    told = [
        {"decision_id": "a", "value": 1},
        {"decision_id": "d", "value": "much"},
        {"decision_id": "zzz", "value": 1},
        None,
    ]
    results = served("POST", f"{EXPERIMENT}/rewards:batch", {"rewards": told}, "decide").json()[
        "results"
    ]
    assert [one["status"] for one in results] == [200, 422, 404, 422]


@pytest.mark.usefixtures("served_price")
@pytest.mark.parametrize(
    "body",
    [
        {"decisions": []},
        {"decisions": {}},
        {"decisions": [{"id": 7}], "more": 1},
        {},
        [],
        b"{",
        {"decisions": [7] * 10_001},
    ],
)
def test_a_batch_that_is_not_one_is_refused_as_a_whole(served, body):
    error(served("POST", f"{EXPERIMENT}/decisions:batch", body, "decide"), 422)


def test_the_client_names_what_a_session_has_and_it_has_not():
    import tightrope as tr

    missing = {
        name for name in dir(tr.Session) if not name.startswith("_") and not hasattr(Client, name)
    }
    assert not [name for name in missing if f"`{name}`" not in Client.__doc__]


# What two readers would take for two things -------------------------------------------------------


@pytest.mark.usefixtures("served_price")
def test_two_equal_names_in_a_body_are_refused(served):
    twice = b'"excluded": ["low"], "excluded": ["mid"]'
    for method, path, body in (
        ("POST", f"{EXPERIMENT}/decisions", b'{"id": "a", %s}' % twice),
        ("POST", f"{EXPERIMENT}/decisions", b'{"id": "a", "context": {"x": 1, "x": 2}}'),
        ("POST", f"{EXPERIMENT}/decisions:batch", b'{"decisions": [{}, {%s}]}' % twice),
        (
            "POST",
            f"{EXPERIMENT}/decisions:batch",
            b'{"decisions": [%s{%s}]}' % (b"{}, " * 20_000, twice),
        ),
        ("POST", f"{EXPERIMENT}/rewards", b'{"decision_id": "a", "value": 1, "value": 0}'),
        ("POST", f"{EXPERIMENT}/erase", b'{"subject": "a", "sub\\u006aect": "b"}'),
        (
            "POST",
            "/v1/experiments",
            b'{"name": "p", "policy": "UCB", "policy": "LinUCB", "arms": '
            b'[{"id": '
            b'"a"}, {"id": '
            b'"b"}]}',
        ),
        ("PATCH", f"{EXPERIMENT}/arms/low", b'{"status": "masked", "status": "active"}'),
    ):
        told = error(served(method, path, body), 422)
        assert "stands twice" in told["message"] and "give it once" in told["message"], body
    assert served("GET", EXPERIMENT).json()["decisions"] == 0
    assert (
        served(
            "POST", f"{EXPERIMENT}/decisions:batch", b'{"decisions": [{"id": "a"}, {"id": "b"}]}'
        ).status_code
        == 200
    )


@pytest.mark.usefixtures("served_price")
@pytest.mark.parametrize("id", [".", ".."])
def test_ids_that_clients_fold_away_are_refused_at_creation(served, id):
    for path, body in (
        ("/v1/experiments", PRICES | {"name": "other", "arms": [*PRICES["arms"], {"id": id}]}),
        (f"{EXPERIMENT}/arms", {"arms": [{"id": id}]}),
        (f"{EXPERIMENT}/decisions", {"id": id}),
    ):
        assert "fold it away" in error(served("POST", path, body), 422)["message"]
    batch = served(
        "POST", f"{EXPERIMENT}/decisions:batch", {"decisions": [{"id": id}, {"id": f"{id}a"}]}
    ).json()["results"]
    assert [one["status"] for one in batch] == [422, 200]


def test_it_is_not_ready_while_nothing_can_be_written(served, monkeypatch):
    """Reads go on, and say nothing of a disk that is full."""
    served("POST", "/v1/experiments", PRICES)
    real = log.append
    monkeypatch.setattr(log, "append", full)
    for _ in range(10):
        assert served("POST", f"{EXPERIMENT}/decisions", {}).status_code == 503
        assert served("GET", f"{EXPERIMENT}/state").status_code == 200
        time.sleep(0.05)
        assert "last commit failed" in error(served("GET", "/readyz"), 503)["message"]
    monkeypatch.setattr(writer, "try_writing", full)
    time.sleep(writer.RETRY_SECONDS + 0.2)
    assert served("GET", "/readyz").status_code == 503  # with nobody who asks
    monkeypatch.undo()
    assert log.append is real
    until(lambda: served("GET", "/readyz").status_code == 200, 10)
    assert served("POST", f"{EXPERIMENT}/decisions", {}).status_code == 200
