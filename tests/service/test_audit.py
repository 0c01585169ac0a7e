"""The audit trail: every change has a row with who made it, in the transaction of the change, and
nothing of anybody's data."""

import json

import pytest
from running import PRICES, ask, crash, create, decide, full, place, refused, reward, service_at
from test_scopes import operations, two
from typer.testing import CliRunner

from tightrope.cli.application import app
from tightrope_service import commands, keys, log as audit, log as store

assert two  # the fixture


def rows(service, **wanted):
    with service.database.read() as connection:
        return list(audit.read_audit(connection, **wanted))


CHANGES = [  # what is asked for, the action, and a part of what is told
    ("POST", "", PRICES | {"baseline": "low"}, "create", {"policy": PRICES["policy"]}),
    ("POST", "/price/arms", {"arms": [{"id": "huge"}]}, "add arms", {"count": 1, "arms": ["huge"]}),
    (
        "PATCH",
        "/price/arms/huge",
        {"status": "masked"},
        "change arm",
        {"arm": "huge", "status": "masked"},
    ),
    (
        "POST",
        "/price/mode",
        {"mode": "shadow", "why": "a look"},
        "change mode",
        {"mode": "shadow", "before": "full", "why": "a look"},
    ),
    ("POST", "/price/pause", None, "pause", {}),
    ("POST", "/price/resume", None, "resume", {}),
    ("POST", "/price/erase", {"subject": "somebody-17"}, "erase", {"events": 1}),
    ("POST", "/price/archive", None, "archive", {}),
]


def test_every_change_is_a_row_and_a_repetition_is_none(served):
    service = served.service
    with service.database.read() as connection:
        admin = next(key for key in keys.all_keys(connection) if key.role == "admin")
    before = len(rows(service))
    for number, (method, path, body, action, told) in enumerate(CHANGES, 1):
        if action == "erase":
            decide(service, "a", subject="somebody-17")
        for _ in range(2):
            assert served(method, f"/v1/experiments{path}", body).status_code < 300
        found = rows(service)[before:]
        assert len(found) == number
        last = found[-1].to_dict()
        assert (last["key"], last["experiment"], last["action"]) == (admin.id, "price", action)
        assert last["detail"].items() >= told.items()
    log = served("GET", "/v1/experiments/price/log").json()["events"]
    kinds = {entry["seq"]: entry["kind"] for entry in log}
    pointed = [kinds[json.loads(row.detail)["event"]] for row in rows(service)[before:]]
    assert pointed == [
        "created",
        "arms added",
        "arm changed",
        "mode changed",
        "paused",
        "resumed",
        "erased",
        "archived",
    ]
    assert "somebody-17" not in str(rows(service)) and all(
        key not in str(rows(service)) for key in served.keys.values()
    )


def test_no_operation_of_the_schema_changes_something_without_a_row(two):
    """Whatever other route comes: an event that is not of a decision has a row with a key."""
    for method, _, concrete, body in sorted(
        operations(two.app), key=lambda one: one[2].endswith("/archive")
    ):
        two(method.upper(), concrete, body, "admin")
    with two.service.database.read() as connection:
        changes = [
            (row, entry.seq)
            for row in (1, 2)
            for entry in store.read(connection, row)
            if type(entry.event) in audit.ACTIONS
        ]
    found = [row for row in rows(two.service) if row.experiment is not None]
    assert len(found) == len(changes) >= 7
    assert all(row.key is not None for row in found)


def test_decisions_rewards_and_rules_are_none(service):
    create(
        service,
        PRICES
        | {
            "baseline": "low",
            "rollout": {"mode": "apprentice", "promote": {"apprentice": {"after": 3}}},
        },
    )
    before = len(rows(service))
    for n in range(45):
        decide(service, str(n))
        reward(service, str(n), 1.0)
    decide(service, "c")
    ask(service, commands.cancel, "c")
    assert ask(service, commands.describe)["mode"] == "shadow"
    assert len(rows(service)) == before


def test_a_row_is_written_with_its_effect_or_not_at_all(tmp_path, monkeypatch):
    with service_at(tmp_path / "a.db") as service:
        create(service)
        before = rows(service)
        real = store.append
        monkeypatch.setattr(store, "append", full)
        refused(503, ask, service, commands.change_status, "pause")
        assert rows(service) == before
        monkeypatch.setattr(store, "append", real)
        ask(service, commands.change_status, "pause")
        monkeypatch.setattr(audit, "note", full)
        refused(503, ask, service, commands.change_status, "resume")
        assert ask(service, commands.describe)["status"] == "paused"
        monkeypatch.undo()
        crash(service)
    with service_at(tmp_path / "a.db") as service:
        assert [row.action for row in rows(service)] == ["create", "pause"]
        assert ask(service, commands.describe)["status"] == "paused"


@pytest.mark.usefixtures("price")
def test_an_erasure_in_parts_has_one_row(service):
    for n in range(450):
        decide(service, str(n), subject="u")
    service.ask_now("price", commands.Erasure("u"))
    assert [json.loads(row.detail)["events"] for row in rows(service) if row.action == "erase"] == [
        450
    ]


def test_reading(two):
    for name in ("shop-a", "shop-b"):
        two("POST", "/v1/experiments", PRICES | {"name": name}, "admin shop")
    two("POST", "/v1/experiments/shop-a/pause", None, "admin shop")
    whole = two("GET", "/v1/audit").json()
    assert {"create key", "create"} <= {row["action"] for row in whole["entries"]} and whole[
        "next"
    ] is None
    own = two("GET", "/v1/audit", None, "admin shop").json()["entries"]
    assert [(row["experiment"], row["action"]) for row in own] == [
        ("shop-a", "create"),
        ("shop-b", "create"),
        ("shop-a", "pause"),
    ]
    assert len({row["key"] for row in own}) == 1 and own[0]["key"] is not None
    pages, first = [], 1
    while first is not None:
        part = two("GET", f"/v1/audit?from={first}&limit=2", None, "admin shop").json()
        pages, first = pages + part["entries"], part["next"]
    assert pages == own
    assert [
        row["action"] for row in two("GET", "/v1/audit?experiment=shop-a").json()["entries"]
    ] == ["create", "pause"]
    assert two("GET", "/v1/audit?experiment=price", None, "admin shop").status_code == 403
    for time, count in (
        ("2020-01-01T00:00:00Z", len(whole["entries"])),
        ("2999-01-01T00:00:00%2B01:00", 0),
    ):
        assert len(two("GET", f"/v1/audit?since={time}").json()["entries"]) == count
    assert two("GET", "/v1/audit?since=2020-01-01T00:00:00").status_code == 422  # of which zone?
    assert two("GET", "/v1/audit", None, "decide").status_code == 403


def test_signing_in_is_a_row(two):
    before = len(rows(two.service))
    assert two("POST", "/board/login", b"key=tr_wrong", None).status_code == 401
    assert two("POST", "/board/login", f"key={two.keys['read']}".encode(), None).status_code == 303
    refused, row = rows(two.service)[before:]
    assert refused.action == "sign in refused" and refused.key is None
    assert row.action == "sign in" and row.key == 1


def test_the_command_line(tmp_path):
    db = place(tmp_path / "a.db")

    def run(*arguments):
        return CliRunner().invoke(app, [*arguments, "--db", db])

    run("keys", "create", "read", "--note", "shop", "--experiments", "shop-*")
    run("keys", "revoke", "1")
    lines = [json.loads(line) for line in run("audit").output.splitlines()]
    assert [(line["action"], line["note"], line["key"]) for line in lines] == [
        ("create key", "command line", None),
        ("revoke key", "command line", None),
    ]
    assert lines[0]["detail"] == {
        "key": 1,
        "role": "read",
        "note": "shop",
        "experiments": ["shop-*"],
    }
    assert (
        run("audit", "--since", "2999-01-01").output == ""
        and len(run("audit", "--since", "2020-01-01").output.splitlines()) == 2
    )
    assert "is not a time" in str(run("audit", "--since", "soon").exception)


@pytest.mark.usefixtures("price")
@pytest.mark.parametrize("count", [1, 25])
def test_a_row_stays_short(service, count):
    from tightrope_service.requests import ArmsRequest

    ask(service, commands.add_arms, ArmsRequest(arms=[{"id": f"arm {k}"} for k in range(count)]))
    told = json.loads(rows(service)[-1].detail)
    assert told["count"] == count and len(told["arms"]) == min(count, 20)


def test_who_follows_the_pages_misses_no_row_that_is_committed_late(path):
    """On PostgreSQL a row has its number before it is committed; SQLite has one writer."""
    with service_at(path) as service:
        create(service)
        database = service.database

        def page(first):
            last = audit.last_settled(database)
            with database.read() as connection:
                return [row.id for row in audit.read_audit(connection, first, last=last)]

        before = page(1)
        if database.sqlite:
            assert before == [1]
            return
        with database.write() as slow:
            audit.note(slow, 0, audit.UNKNOWN, None, "slow", {})
            with database.write() as quick:
                audit.note(quick, 0, audit.UNKNOWN, None, "quick", {})
            assert page(1) == before  # the quick one waits for the slow one
        assert page(before[-1] + 1) == [before[-1] + 1, before[-1] + 2]
