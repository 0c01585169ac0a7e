"""HTTP: shapes, keys, limits, and that nothing undocumented is ever answered."""

import asyncio

import httpx
import pytest
import structlog
from running import PRICES, conforms, error, service_at, until

from tightrope_service import keys
from tightrope_service.app import create_app
from tightrope_service.certificate import check
from tightrope_service.client import Client
from tightrope_service.settings import Settings, start_logs


def test_every_operation_answers(served):
    here = "/v1/experiments/price"
    for status, method, path, body in (
        (201, "POST", "/v1/experiments", PRICES),
        (200, "POST", "/v1/experiments", PRICES),
        (200, "GET", "/v1/experiments", None),
        (200, "POST", f"{here}/decisions", {"id": "a"}),
        (200, "POST", f"{here}/rewards", {"decision_id": "a", "value": 1}),
        (200, "POST", f"{here}/decisions", {"id": "b", "deferred": True}),
        (200, "POST", f"{here}/decisions/b/activate", None),
        (200, "GET", f"{here}/open", None),
        (200, "POST", f"{here}/decisions", {"id": "c"}),
        (200, "DELETE", f"{here}/decisions/c", None),
        (201, "POST", f"{here}/arms", {"arms": [{"id": "huge"}]}),
        (200, "PATCH", f"{here}/arms/huge", {"status": "masked"}),
        (200, "GET", f"{here}/state", None),
        (200, "GET", f"{here}/state?seq=2", None),
        (200, "GET", f"{here}/explain?decision=a", None),
        (200, "GET", f"{here}/log?from=2&limit=2", None),
        (200, "GET", f"{here}/evaluate?arm=low", None),
        (200, "POST", f"{here}/erase", {"subject": "x"}),
        (200, "POST", f"{here}/pause", None),
    ):
        answer = served(method, path, body)
        assert answer.status_code == status, answer.text
    assert served("GET", "/v1/experiments/price/log?from=2&limit=2").json()["next"] == 4
    assert "tightrope_events_total" in served("GET", "/metrics", key=None).text
    shown, certificate = (
        served("GET", "/v1/public-key", key=None),
        served("GET", "/v1/experiments/price/certificate").json(),
    )
    assert check(certificate, shown.content) == [] and b"PUBLIC KEY" in shown.content
    assert (
        served("GET", "/healthz", key=None).json()
        == served("GET", "/readyz", key=None).json()
        == {"status": "ok"}
    )


@pytest.mark.usefixtures("served_price")
def test_batches_answer_each_item_and_commit_once(served):
    asked = [
        {"id": "a"},
        {"id": "a", "excluded": ["low"]},
        {"excluded": ["low", "mid", "high"]},
        {"id": "a"},
        {},
    ]
    results = served(
        "POST", "/v1/experiments/price/decisions:batch", {"decisions": asked}, "decide"
    ).json()["results"]
    assert [one["status"] for one in results] == [200, 409, 422, 200, 200]
    assert results[0] == results[3] and results[2]["error"]["field"] == "eligible"
    told = [
        {"decision_id": "a", "value": 1},
        {"decision_id": "a", "value": 0},
        {"decision_id": "zzz", "value": 1},
    ]
    results = served(
        "POST", "/v1/experiments/price/rewards:batch", {"rewards": told}, "decide"
    ).json()["results"]
    assert [one["status"] for one in results] == [200, 409, 404]


@pytest.mark.usefixtures("served_price")
def test_keys(served):
    assert error(served("GET", "/v1/experiments", key=None), 401)["code"] == "unauthorized"
    assert served("GET", "/v1/experiments", key=None).headers["www-authenticate"] == "Bearer"
    error(served("POST", "/v1/experiments/price/decisions", {}, "tr_wrong"), 401)
    assert (
        "may read"
        in error(served("POST", "/v1/experiments/price/decisions", {}, "read"), 403)["message"]
    )
    error(served("POST", "/v1/experiments", PRICES, "decide"), 403)
    batch = {"decisions": [{} for _ in range(40)]}
    assert served("POST", "/v1/experiments/price/decisions:batch", batch, "slow").status_code == 200
    paid = served(
        "POST", "/v1/experiments/price/decisions", {}, "slow"
    )  # a batch counts its items: 39 too many at 2 a second
    assert 15 <= int(paid.headers["Retry-After"]) <= 20 and error(paid, 429)
    served.service.keys._buckets.clear()
    slow = [served("POST", "/v1/experiments/price/decisions", {}, "slow") for _ in range(4)]
    assert slow[0].status_code == 200
    assert int(slow[-1].headers["Retry-After"]) >= 1 and error(slow[-1], 429)
    with served.service.database.write() as connection:
        (decide,) = [
            key.id
            for key in keys.all_keys(connection)
            if key.role == "decide" and key.per_second > 2
        ]
        keys.revoke(connection, decide)
        stored = [bytes(key.digest) for key in keys.all_keys(connection)]
    assert all(made.encode() not in b"".join(stored) for made in served.keys.values())
    asked = ("POST", "/v1/experiments/price/decisions", {}, "decide")
    until(lambda: served(*asked).status_code == 401, 5)


@pytest.mark.usefixtures("served_price")
@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field"),
    [
        (
            "POST",
            "/v1/experiments",
            PRICES | {"policy": {"policy": "EpsilonGreedy", "epsilon": 2}},
            422,
            "epsilon",
        ),
        ("POST", "/v1/experiments", PRICES | {"policy": {"policy": "Nothing"}}, 422, "policy"),
        ("POST", "/v1/experiments", PRICES | {"window": "soon"}, 422, "window"),
        ("POST", "/v1/experiments", PRICES | {"colour": 1}, 422, "colour"),
        ("POST", "/v1/experiments", PRICES | {"arms": [{"id": "a"}, {"id": "a"}]}, 422, "arms"),
        ("POST", "/v1/experiments", PRICES | {"name": "a b"}, 422, "name"),
        ("POST", "/v1/experiments", PRICES | {"floor": 0.5}, 422, "floor"),
        ("POST", "/v1/experiments", b"{", 422, None),
        (
            "POST",
            "/v1/experiments/price/decisions",
            b'{"baseline_mean": NaN}',
            422,
            "baseline_mean",
        ),
        (
            "POST",
            "/v1/experiments/price/decisions",
            b'{"baseline_mean": 1e999}',
            422,
            "baseline_mean",
        ),
        ("POST", "/v1/experiments/price/decisions", b"\xff", 422, None),
        ("POST", "/v1/experiments/price/decisions", {"id": ""}, 422, "id"),
        ("POST", "/v1/experiments/price/decisions", b" " * 200_001, 413, None),
        ("POST", "/v1/experiments/nothing/decisions", {}, 404, "experiment"),
        (
            "POST",
            "/v1/experiments/price/rewards",
            {"decision_id": "zzz", "value": "1"},
            422,
            "value.float",
        ),
        ("PUT", "/v1/experiments/price", None, 405, None),
        ("GET", "/v2", None, 404, None),
        ("GET", "/v1/experiments/price/state?seq=99", None, 404, "seq"),
        ("GET", "/v1/experiments/price/state?seq=x", None, 422, "seq"),
        ("PATCH", "/v1/experiments/price/arms/huge", {"status": "retired"}, 404, "arm"),
    ],
)
def test_errors_are_sentences(served, method, path, body, status, field):
    told = error(served(method, path, body), status)
    assert field is None or told["field"] == field, told


def test_openapi_lists_every_error_and_an_example_of_every_answer_that_is_valid(served):
    found = served.app.openapi()
    schemas = found["components"]["schemas"]
    for path, commands in found["paths"].items():
        for method, operation in commands.items():
            statuses = set(operation["responses"])
            assert {"401", "405", "413", "422", "429", "503"} <= statuses, (path, method)
            if path.startswith("/v1/experiments/{name}"):
                assert "404" in statuses
            for status, reply in operation["responses"].items():
                schema = reply.get("content", {}).get("application/json", {}).get("schema", {})
                if status.startswith("2") and "$ref" in schema:  # else text
                    name = schema["$ref"].rpartition("/")[2]
                    (example,) = schemas[name].get("examples", ()) or [None]
                    assert conforms(example, schema, schemas), (path, name)
    for name in ("ExperimentSpec", "DecisionRequest", "RewardRequest", "DecisionAnswer"):
        assert schemas[name]["examples"], name
    spec = schemas["ExperimentSpec"]["examples"][0]
    assert served("POST", "/v1/experiments", spec).status_code == 201


def test_logs_hold_neither_keys_nor_contexts(served, capsys):
    start_logs()
    served("POST", "/v1/experiments", PRICES)
    served.service.writer.append = lambda connection, owned: 1 / 0
    assert (
        error(served("POST", "/v1/experiments/price/decisions", {"subject": "somebody"}), 500)[
            "code"
        ]
        == "internal"
    )
    structlog.reset_defaults()
    said = capsys.readouterr()
    assert "group failed" in said.out + said.err
    assert "somebody" not in said.out + said.err and all(
        key not in said.out + said.err for key in served.keys.values()
    )


def test_a_client_says_what_is_missing():
    with pytest.raises(ValueError, match="experiment is missing"):
        Client("http://127.0.0.1:9", "k").decide()
    with pytest.raises(ValueError, match="at least one address"):
        Client([], "k")


def test_what_an_identification_policy_recommends(served):
    def passed_on(request):
        found = served(request.method, request.url.raw_path.decode(), key="read")
        return httpx.Response(found.status_code, content=found.content)

    served("POST", "/v1/experiments", PRICES)
    assert (
        "minimises regret"
        in error(served("GET", "/v1/experiments/price/recommendation"), 422)["message"]
    )
    served(
        "POST",
        "/v1/experiments",
        PRICES | {"name": "best", "policy": {"policy": "UGapE", "epsilon": 0.1}},
    )
    client = Client("http://t", "k", "best")
    client._http = httpx.Client(transport=httpx.MockTransport(passed_on))
    assert (
        client.recommend()["status"] == "not certified yet"
        and client.recommend()["samples_remaining"] is None
    )
    for n in range(30):
        made = served("POST", "/v1/experiments/best/decisions", {"id": f"d{n}"}).json()
        served(
            "POST",
            "/v1/experiments/best/rewards",
            {"decision_id": made["id"], "value": float(made["arm"] == "mid")},
        )
    told = client.recommend()
    assert (
        told["arm"] == "mid"
        and told["gap_bound"] > 0.0
        and told["samples_range"][0] <= told["samples_remaining"]
    )


def test_an_access_log_says_who_asked_for_what_and_nothing_else(tmp_path):
    asked = {"id": "visit-17", "subject": "somebody"}
    requests = [
        ("POST", "/v1/experiments", PRICES),
        ("POST", "/v1/experiments/price/decisions", asked),
        ("GET", "/v1/experiments/price/explain?decision=visit-17", None),
        ("GET", "/nowhere", None),
    ]

    async def send(application, key):
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://t", headers={"Authorization": f"Bearer {key}"}
        ) as client:
            return [
                (await client.request(method, path, json=body)).status_code
                for method, path, body in requests
            ]

    with service_at(tmp_path / "a.db") as service:
        with service.database.write() as connection:
            key = keys.create(connection, "admin", "team shop")
        service.keys.refresh()
        noted = {}
        for wanted in (False, True):
            with structlog.testing.capture_logs() as lines:
                statuses = asyncio.run(send(create_app(Settings(access_log=wanted), service), key))
            assert statuses == [200 if wanted else 201, 200, 200, 404]
            noted[wanted] = [line for line in lines if line["event"] == "request"]
    assert noted[False] == []
    assert [
        (one["method"], one["route"], one["experiment"], one["status"], one.get("note"))
        for one in noted[True]
    ] == [
        ("POST", "/v1/experiments", None, 200, "team shop"),
        ("POST", "/v1/experiments/{name}/decisions", "price", 200, "team shop"),
        ("GET", "/v1/experiments/{name}/explain", "price", 200, "team shop"),
        ("GET", "other", None, 404, None),
    ]
    assert all(one["milliseconds"] > 0 and one["client"] == "127.0.0.1" for one in noted[True])
    assert not any(text in str(noted) for text in ("visit-17", "somebody", key))
