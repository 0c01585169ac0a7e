"""Keys for some experiments only: nothing else is shown to them or changed by them."""

import re

import pytest
from running import PRICES, place, state
from typer.testing import CliRunner

from tightrope.cli.application import app
from tightrope_service import keys

BODIES = {
    ("post", "/v1/experiments"): PRICES | {"seed": 9},
    ("post", "/v1/experiments/{name}/decisions:batch"): {"decisions": [{}]},
    ("post", "/v1/experiments/{name}/rewards"): {"decision_id": "open", "value": 1.0},
    ("post", "/v1/experiments/{name}/rewards:batch"): {
        "rewards": [{"decision_id": "open", "value": 1.0}]
    },
    ("post", "/v1/experiments/{name}/arms"): {"arms": [{"id": "huge"}]},
    ("patch", "/v1/experiments/{name}/arms/{arm}"): {"status": "masked"},
    ("post", "/v1/experiments/{name}/erase"): {"subject": "somebody"},
    ("post", "/v1/experiments/{name}/mode"): {"mode": "full"},
    ("post", "/v1/webhooks"): {"url": "https://192.0.2.1/", "experiments": ["price"]},
}
OPEN_TO_ALL = {"/healthz", "/readyz", "/metrics", "/v1/public-key"}
FLAGS = "/ofrep/v1/evaluate/flags"
LISTS = {("get", f"/v1/{what}") for what in ("experiments", "audit", "webhooks")} | {
    ("post", FLAGS)
}


@pytest.fixture
def two(served):
    """A service with the experiment price, which has an open decision, and keys for shop-* and
    checkout alone."""
    with served.service.database.write() as connection:
        for role in keys.ROLES:
            served.keys[f"{role} shop"] = keys.create(
                connection, role, experiments=["shop-*", "checkout"]
            )
    served.service.keys.refresh()
    assert served("POST", "/v1/experiments", PRICES).status_code == 201
    asked = {"id": "open", "subject": "somebody"}
    assert served("POST", "/v1/experiments/price/decisions", asked).status_code == 200
    return served


def operations(application):
    """Every operation of the schema as (method, path as documented, path of the foreign
    experiments, body)."""
    for path, methods in application.openapi()["paths"].items():
        for method in methods:
            concrete = (
                path.replace("{name}", "price")
                .replace("{id}", "open")
                .replace("{arm}", "low")
                .replace("{webhook}", "1")
            )
            assert "{" not in concrete, f"{path} has a part that this test does not know"
            yield (
                method,
                path,
                concrete,
                BODIES.get((method, path), {} if method == "post" else None),
            )


def test_no_route_shows_or_changes_another_experiment(two):
    before = state(two.service)
    tried = 0
    for method, path, concrete, body in operations(two.app):
        if path in OPEN_TO_ALL:
            continue
        query = "?arm=low" if concrete.endswith("/evaluate") else ""
        answer = two(method.upper(), concrete + query, body, "admin shop")
        if (method, path) in LISTS:
            assert answer.status_code == 200 and "price" not in answer.text
        else:
            assert answer.status_code == 403, (method, path, answer.status_code, answer.text)
            assert "is for experiments shop-*, checkout" in answer.json()["error"]["message"]
        tried += 1
    assert tried > 25
    assert state(two.service) == before
    nobody = two("GET", "/v1/experiments/nobody", None, "read shop")
    assert nobody.status_code == 403  # whether it exists is not told either


def test_the_same_requests_are_answered_to_a_key_that_is_for_all(two):
    """The test before would also pass if its requests were refused for something else."""
    shown = 0
    for method, _, concrete, body in operations(two.app):
        if method == "get" and "recommendation" not in concrete:
            query = "?arm=low" if concrete.endswith("/evaluate") else ""
            shown += two("GET", concrete + query, body, "admin").status_code in (200, 422)
        elif concrete.endswith(("/pause", "/mode", "/erase", "/arms", "/decisions", "batch")):
            answer = two(method.upper(), concrete, body, "admin")
            assert answer.status_code != 403, answer.text
    assert shown > 10


def test_what_such_a_key_may_do(two):
    for name in ("shop-a", "checkout"):
        assert (
            two("POST", "/v1/experiments", PRICES | {"name": name}, "admin shop").status_code == 201
        )
        assert (
            two("POST", f"/v1/experiments/{name}/decisions", {}, "decide shop").status_code == 200
        )
        assert two("POST", f"/v1/experiments/{name}/pause", None, "admin shop").status_code == 200
    listed = two("GET", "/v1/experiments", None, "read shop").json()["experiments"]
    assert [one["name"] for one in listed] == ["checkout", "shop-a"]
    assert len(two("GET", "/v1/experiments", None, "read").json()["experiments"]) == 3
    for name in ("shop", "a-shop-", "Shop-a", "checkout2"):
        assert (
            two("POST", "/v1/experiments", PRICES | {"name": name}, "admin shop").status_code == 403
        )
    assert (
        "may read"
        in two("POST", "/v1/experiments/price/decisions", {}, "read shop").json()["error"][
            "message"
        ]
    )


def test_a_key_is_made_in_a_new_database_only_where_that_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIGHTROPE_DB", raising=False)
    told = CliRunner().invoke(app, ["keys", "create", "read"])
    assert "does not exist; give the file that `tightrope serve` writes" in str(
        told.exception
    ) and not list(tmp_path.iterdir())
    assert (
        CliRunner()
        .invoke(app, ["keys", "create", "read", "--db", "tightrope.db"])
        .output.startswith("tr_")
    )
    assert (
        CliRunner().invoke(app, ["keys", "create", "read"]).output.startswith("tr_")
    )  # now it is there


def test_the_board_shows_only_these(two):
    two("POST", "/v1/experiments", PRICES | {"name": "shop-a"})
    signed = two("POST", "/board/login", f"key={two.keys['admin shop']}".encode(), None)
    cookie = {"Cookie": signed.headers["set-cookie"].split(";")[0]}
    page = two("GET", "/board", None, None, **cookie)
    assert page.status_code == 200 and "shop-a" in page.text and "price" not in page.text
    assert two("GET", "/board/experiments/shop-a", None, None, **cookie).status_code == 200
    for path in ("", "/parts", "/certificate", "/certificate.json"):
        foreign = two("GET", f"/board/experiments/price{path}", None, None, **cookie)
        assert foreign.status_code == 403 and "is for experiments shop-*" in foreign.text
    token = re.search(r'name="token" value="([0-9a-f]+)"', page.text)[1]
    before = state(two.service)
    assert (
        two(
            "POST", "/board/experiments/price/pause", f"token={token}".encode(), None, **cookie
        ).status_code
        == 403
    )
    assert state(two.service) == before


def test_patterns_on_the_command_line(tmp_path):
    db = place(tmp_path / "a.db")

    def run(*arguments):
        return CliRunner().invoke(app, ["keys", *arguments, "--db", db])

    assert run(
        "create", "read", "--experiments", "shop-*", "--experiments", "checkout"
    ).output.startswith("tr_")
    assert run("create", "read").output.startswith("tr_")
    lines = run("list").output.splitlines()
    assert "shop-*, checkout" in lines[0] and "all experiments" in lines[1]
    for wrong in ("a b", "", "x" * 101, "shop/*"):
        refused = run("create", "read", "--experiments", wrong)
        assert isinstance(refused.exception, ValueError) and "neither a name" in str(
            refused.exception
        )
    assert len(run("list").output.splitlines()) == 2
