"""One row of features for all arms: sent, logged, replayed and exported as one row; and refusals in
words that a client can act on."""

import numpy as np
import pytest
from running import ask, crash, create, decide, error, refused, reward, service_at, state

import tightrope as tr
from tightrope_service import log, transfer
from tightrope_service.client import Client
from tightrope_service.recovery import replay
from tightrope_service.service import warm_up
from tightrope_service.spec import ExperimentSpec

ARMS = [{"id": "a"}, {"id": "b"}, {"id": "c"}]
SPEC = {"name": "one", "policy": "LinUCB", "arms": ARMS, "dimension": 2, "seed": 4}
ROWS = [[0.25 * (n % 5) - 0.5, 0.5 - 0.125 * (n % 3)] for n in range(40)]


def test_a_row_for_all_arms_is_the_session_s_from_the_first_round_to_a_replay(tmp_path, clock):
    session = tr.Session(tr.LinUCB(), arms=3, dimension=2, names=["a", "b", "c"], seed=4)
    with service_at(tmp_path / "a.db", clock, snapshot_every=15) as service:
        create(service, SPEC)
        for n, row in enumerate(ROWS):
            mine, made = session.decide(row, id=str(n)), decide(service, str(n), "one", context=row)
            assert (made["arm"], made["propensity"]) == (mine.name, mine.propensity)
            session.reward(str(n), float(made["arm"] == "b"))
            reward(service, str(n), float(made["arm"] == "b"), "one")
        told = state(service, "one")
        assert ask(service, lambda at: at.experiment.session.arms.common, name="one")
        crash(service)
    with service_at(tmp_path / "a.db", clock) as service:
        assert state(service, "one") == told and decide(service, "3", "one", context=ROWS[3])["arm"]
        refused(
            409,
            decide,
            service,
            "3",
            "one",
            context=[ROWS[3]] * 3,
            match="was decided for another request",
        )
        with service.database.read() as connection:
            assert replay(connection, 1, "one").errors == ()
            (first,) = [
                entry.event
                for entry in log.read(connection, 1)
                if entry.decision == "0" and entry.kind == "decided"
            ]
            assert first.asked == {"context": ROWS[0]}
            table = transfer.table(connection, 1, replay(connection, 1, "one").journal.experiment)
            transfer.as_log(connection, 1, "one", (0.0, 1.0))
    assert table["features"][1] == [ROWS[1]] * 3


def test_refusals_say_what_a_client_can_do(service):
    create(service, SPEC)
    for n in range(20):
        decide(service, str(n), "one", context=[ROWS[n]] * 3)
    same = refused(422, decide, service, "20", "one", context=[ROWS[20]] * 3, field="context")
    assert "send it as one row, [..] instead of [[..], ..], from its first decision on" in same
    late = refused(422, decide, service, "21", "one", context=ROWS[21], field="context")
    assert "'one' began with a row for every arm" in late and "create a new experiment" in late
    create(service, SPEC | {"name": "all", "policy": {"policy": "LinUCB", "shared": True}})
    shared = refused(422, decide, service, "0", "all", context=ROWS[1], field="context")
    assert '{"policy": "LinUCB", "shared": false}' in shared
    create(service, {"name": "bring", "policy": "LinUCB", "dimension": 2})
    own = refused(422, decide, service, "0", "bring", context=ROWS[1], field="context")
    assert "send a row for each of them, by id" in own
    for sentence in (same, late, shared, own):
        assert not any(word in sentence for word in ("session", "(K, d)", "shared=", "(d,)"))


def test_over_http_and_by_the_client(served, monkeypatch):
    assert served("POST", "/v1/experiments", SPEC).status_code == 201
    made = served(
        "POST", "/v1/experiments/one/decisions", {"id": "v", "context": [0.5, 0.25]}, key="decide"
    )
    assert made.status_code == 200 and made.json()["arm"] in "abc"
    for wrong, words in (
        ([0.5, "x"], "valid number"),
        ([[0.5, 1.0], 2.0], "valid array"),
        ([], "at least 1"),
    ):
        assert (
            words
            in error(
                served("POST", "/v1/experiments/one/decisions", {"context": wrong}, key="decide"),
                422,
            )["message"]
        )
    assert (
        "2 columns"
        in error(
            served("POST", "/v1/experiments/one/decisions", {"context": [1.0] * 3}, key="decide"),
            422,
        )["message"]
    )
    assert served("GET", "/v1/experiments/one/explain?decision=v").status_code == 200
    client = Client("http://t", "tr_x", "one")
    sent = []
    monkeypatch.setattr(
        client, "_send", lambda *given, **more: sent.append(given[2]) or made.json()
    )
    client.decide(np.array([0.5, 0.25]), id="v")
    assert sent[0]["context"] == [0.5, 0.25]


def test_a_model_for_each_arm_counts_where_sizes_are_limited(service, monkeypatch):
    arms = [{"id": str(k)} for k in range(1000)]
    apart = {
        "name": "big",
        "policy": {"policy": "LinUCB", "shared": False},
        "arms": arms,
        "dimension": 400,
    }
    with pytest.raises(
        ValueError,
        match=r"dimension = 1000 arms with 400 features each takes about 2.6 "
        r"GB and .* "
        r"at most "
        r"0.26 GB",
    ):
        warm_up(ExperimentSpec.model_validate(apart))
    guarded = apart | {"baseline": "0", "baseline_mean": 0.5, "alpha": 0.1}
    with pytest.raises(ValueError, match=r"takes about 2\.6 GB"):
        warm_up(ExperimentSpec.model_validate(guarded))
    create(service, apart | {"policy": "LinUCB"})  # one regression for all
    refused(
        422,
        decide,
        service,
        "0",
        "big",
        context=[0.05] * 400,
        match=r"context = 1000 arms with 400 features each takes about 2.6 GB",
    )
    assert decide(service, "0", "big", context=[[0.05] * 399 + [k / 1e4] for k in range(1000)])[
        "arm"
    ]
