"""Nobody waits for what others ask for: the writer works in parts, and serves others between
them."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from running import (
    HOUR,
    Process,
    ask,
    batch,
    check_replay,
    create,
    decide,
    probed,
    refused,
    reward,
    service_at,
    state,
    until,
)

from tightrope_service import (
    commands,
    experiment as deciding,
    log,
    service as warm_up,
    writer,
)
from tightrope_service.recovery import check_snapshots, replay, verify
from tightrope_service.spec import ExperimentSpec

TWO = [{"id": "a"}, {"id": "b"}]
SPEC = {"name": "e", "policy": "UCB", "arms": TWO}
OTHER = {"name": "other", "policy": "UCB", "arms": TWO}


@pytest.fixture
def two(service):
    create(service, OTHER)
    decide(service, None, "other")
    return service


def slowed(monkeypatch, seconds):
    """Decisions of experiment e that take long."""
    real = deciding.decide

    def slow(experiment, *given):
        if experiment.name == "e":
            time.sleep(seconds)
        return real(experiment, *given)

    monkeypatch.setattr(commands, "draw", slow)


def test_a_batch_of_slow_decisions_is_made_in_parts_between_which_others_are_served(
    two, monkeypatch
):
    create(two, SPEC)
    slowed(monkeypatch, 0.02)
    with probed(two) as waits:
        found = ask(two, batch(150), name="e")
    assert [one["status"] for one in found["results"]] == [200] * 150 and len(
        {one["answer"]["event"] for one in found["results"]}
    ) == 150
    assert len(waits) > 10 and max(waits) < 1.0  # the batch takes 3 s and more
    assert ask(two, batch(150), name="e") == found


def test_many_single_decisions_of_one_experiment_do_not_stand_before_those_of_another(
    two, monkeypatch
):
    create(two, SPEC)
    slowed(monkeypatch, 0.02)
    with probed(two) as waits, ThreadPoolExecutor(100) as pool:
        list(pool.map(lambda n: decide(two, f"s{n}", "e"), range(100)))
    assert state(two, "e")["decisions"] == 100 and max(waits) < 1.0


def test_a_part_that_could_not_be_written_takes_nothing_back_of_those_before(two, monkeypatch):
    create(two, SPEC)
    slowed(monkeypatch, 0.01)
    real, calls = log.append, []

    def failing(connection, row, fence, new):
        calls.append(new[0].kind)
        if calls.count("decided") == 3:
            raise OSError("full")
        real(connection, row, fence, new)

    monkeypatch.setattr(log, "append", failing)
    found = two.ask_now("e", batch(60))["results"]
    done = [one for one in found if one["status"] == 200]
    assert 0 < len(done) < 60 and {one["status"] for one in found[len(done) :]} == {503}
    assert state(two, "e")["decisions"] == len(done)
    monkeypatch.setattr(log, "append", real)
    again = ask(two, batch(60), name="e")["results"]
    assert again[: len(done)] == done and {one["status"] for one in again} == {200}


def test_one_late_reward_closes_its_own_window_and_the_others_close_in_parts(
    tmp_path, clock, monkeypatch
):
    with service_at(tmp_path / "a.db", clock, tick=30.0) as service:
        create(service, OTHER)
        create(service, SPEC | {"window": "1h", "default_reward": 0.0})
        ask(service, batch(2000), name="e")
        clock.now += HOUR + 1
        refused(410, reward, service, "1999", 1.0, "e", match="waited for its reward until")
        assert state(service, "e")["open"] == 1999
        monkeypatch.setattr(writer, "GROUP_SECONDS", 0.002)
        parts = []
        real = log.append
        monkeypatch.setattr(log, "append", lambda *entries: parts.append(1) or real(*entries))
        service.writer._ticked = 0.0  # the clock's turn
        until(lambda: not state(service, "e")["open"], 30.0)
        assert len(parts) > 3
        check_replay(service, "e")


@pytest.mark.parametrize("heavy", [False, True])
def test_an_erasure_is_done_in_parts_and_holds(heavy, two, monkeypatch):
    monkeypatch.setattr(writer, "LIGHT", 10 if heavy else 10**6)
    monkeypatch.setattr(writer, "GROUP_SECONDS", 0.01)
    create(two, {"name": "e", "policy": "LinUCB", "arms": TWO, "dimension": 2, "window": None})
    rows = {"context": [[0.125, 0.5], [0.25, 1.0]]}
    ask(two, batch(300, "u", subject="u", **rows), name="e")
    ask(two, batch(300, "v", subject="v", **rows), name="e")
    for n in range(0, 300, 7):
        reward(two, f"u{n}", 0.5, "e")
    with probed(two) as waits:
        done = ask(two, commands.Erasure("u"), name="e")
    assert done["erased"] == 300 and waits
    assert ask(two, commands.Erasure("u"), name="e") == {"erased": 0, "event": None}
    decide(two, "after", "e", **rows)
    told = state(two, "e")
    assert told["open"] == 301
    with two.database.read() as connection:
        row = {name: row for row, name in log.rows_and_names(connection)}["e"]
        assert (
            verify(connection, row, "e").errors == ()
            and verify(connection, row, "e").blanked == 300
        )
        assert replay(connection, row, "e").fingerprint == told["fingerprint"]
        assert check_snapshots(connection, row, "e") == ([], [])
        assert not [
            entry
            for entry in log.read(connection, row)
            if entry.subject == "u" or b'"u"' in entry.text
        ]


def test_a_large_snapshot_is_made_beside_the_writer_and_not_after_an_erasure(
    tmp_path, clock, monkeypatch
):
    monkeypatch.setattr(writer, "LIGHT", 5)
    with service_at(tmp_path / "a.db", clock, snapshot_every=20) as service:
        create(service, SPEC)
        for n in range(60):
            decide(service, str(n), "e", subject="u", excluded=["a"])
            reward(service, str(n), 0.5, "e")
        service.writer.copies.submit(lambda: None).result()
        with service.database.read() as connection:
            assert (
                check_snapshots(connection, 1, "e") == ([], [])
                and replay(connection, 1, "e").compared >= 2
            )
        ask(service, commands.Erasure("u"), name="e")
        service.writer._copy_snapshot("e", 1, 100)  # one that was under way
        with service.database.read() as connection:
            assert replay(connection, 1, "e").errors == ()
            from sqlalchemy import select

            from tightrope_service.log import snapshots

            assert min(connection.execute(select(snapshots.c.seq)).scalars()) > 120


def test_what_a_decision_costs_is_measured_where_chances_are_drawn_and_where_arms_are_added(
    served, monkeypatch
):
    """A decision that is cheap while only the baseline is played, and takes long once chances are
    drawn."""
    real, drawn = warm_up.decide, []

    def slow(experiment, *given):
        decided = real(experiment, *given)
        if np.any(np.asarray(decided.propensity_se) > 0.0) and len(experiment.numbers) > 3:
            drawn.append(1)
            time.sleep(0.15)
        return decided

    monkeypatch.setattr(warm_up, "decide", slow)
    monkeypatch.setattr(commands, "FEW_ARMS", 4)
    arms = [{"id": f"a{k}", "features": [0.5, 0.125 * k]} for k in range(5)]
    spec = {
        "name": "e",
        "policy": "LinTS",
        "baseline": "a0",
        "baseline_mean": 0.3,
        "alpha": 0.1,
        "guarantee": {"sigma": 0.1},
    }
    refused = served("POST", "/v1/experiments", spec | {"arms": arms})
    assert (
        refused.status_code == 422
        and "s for a decision among 5 arms" in refused.json()["error"]["message"]
        and drawn
    )
    assert served("POST", "/v1/experiments", spec | {"arms": arms[:3]}).status_code == 201
    refused = served("POST", "/v1/experiments/e/arms", {"arms": arms[3:]})
    assert (
        refused.status_code == 422
        and "s for a decision among 5 arms" in refused.json()["error"]["message"]
    )
    monkeypatch.setattr(warm_up, "decide", real)
    assert served("POST", "/v1/experiments/e/arms", {"arms": arms[3:]}).status_code == 201


def test_batches_whose_bodies_come_late_are_charged_when_they_come(tmp_path):
    import json
    import re
    import socket
    import subprocess
    import sys

    with Process(tmp_path / "a.db", tmp_path) as server:
        made = subprocess.run(
            [
                sys.executable,
                "-m",
                "tightrope",
                "keys",
                "create",
                "decide",
                "--per-second",
                "3",
                "--db",
                server.db,
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        limited = re.search(r"(tr_\S{20,})", made.stdout).group(1)
        with server.client() as client:
            client.create({"name": "k", "policy": "UCB", "arms": TWO})
            time.sleep(2.5)  # until the key is known
            body, held = json.dumps({"decisions": [{}] * 500}).encode(), []
            for _ in range(3):
                one = socket.create_connection(("127.0.0.1", server.port))
                held.append(one)
                head = (
                    f"POST "
                    f"/v1/experiments/k/decisions:batch "
                    f"HTTP/1.1\r\nHost: "
                    f"x\r\nAuthorization: "
                    f"Bearer {limited}\r\n"
                )
                one.sendall(
                    (
                        f"{head}Content-Type: "
                        f"application/json\r\nContent-Length: "
                        f"{len(body)}\r\n\r\n"
                    ).encode()
                )
            time.sleep(0.5)
            for one in held:
                one.sendall(body)
            statuses = sorted(one.recv(64)[9:12].decode() for one in held)
            assert statuses == ["200", "429", "429"] and client.describe()["decisions"] == 500


def test_the_least_budget_leaves_room_where_rounds_bring_features_and_the_baseline_is_learned():
    rounds = {
        "name": "e",
        "policy": "LinUCB",
        "arms": TWO,
        "dimension": 2,
        "baseline": "a",
        "alpha": 0.1,
    }
    assert ExperimentSpec.model_validate(rounds).least_budgets[""] == -np.inf
    assert ExperimentSpec.model_validate(rounds | {"baseline_mean": 0.5}).least_budgets[""] == -1.0
    assert (
        ExperimentSpec.model_validate(rounds | {"rollout": {"least_budget": -3.0}}).least_budgets[
            ""
        ]
        == -3.0
    )


PAIR = {
    "name": "c",
    "arms": TWO,
    "baseline": "a",
    "baseline_mean": 0.5,
    "alpha": 0.1,
    "rewards": [0, 1],
    "default_reward": 0,
}


@pytest.mark.parametrize(
    "promised",
    [
        {"policy": {"policy": "CUCB2T", "checkpoint": 500}},
        {"policy": {"policy": "CUCB2T"}, "guarantee": {"checkpoint": [40, 500]}},
        {"policy": "UCB", "guarantee": {"checkpoint": 500}},
        {"policy": "UCB", "guarantee": {"min_gap": 30}},
    ],
)
def test_a_promise_at_checkpoints_is_not_sent_back_between_them(promised, service):
    """Nothing is broken there: a bound below 0 is what such a promise allows."""
    create(service, PAIR | promised)
    lowest = 0.0
    for n in range(30):
        arm = decide(service, f"d{n}", "c")["arm"]
        reward(service, f"d{n}", float(arm == "a" and n % 2), "c")
        mode = ask(service, commands.describe_rollout, name="c")
        lowest = min(lowest, mode["budget_bound"])
        assert mode["mode"] == "full" and mode["least_budget"] is None
    assert lowest < -1.0
    assert (
        ExperimentSpec.model_validate(
            PAIR | promised | {"rollout": {"least_budget": -9.0}}
        ).least_budgets[""]
        == -9.0
    )
