"""A subject keeps its arm: one decision for a stated time, whose reward is the first or the sum,
exactly accounted."""

import time

import pytest
import sqlalchemy as sa
from running import (
    HOUR,
    PRICES,
    Clock,
    ask,
    check_replay,
    crash,
    create,
    decide,
    error,
    refused,
    reward,
    service_at,
    state,
    until,
)

from tightrope_service import commands, log, writer
from tightrope_service.log import snapshots
from tightrope_service.requests import ArmChange, ModeChange
from tightrope_service.spec import ExperimentSpec, check_spec

STICKY = PRICES | {"window": "10h", "sticky": {"lasts": "2h"}}
SUMMED = STICKY | {"sticky": {"lasts": "2h", "reward": "sum"}, "rewards": [0.0, 10.0]}


def kinds(service):
    with service.database.read() as connection:
        return [entry.kind for entry in log.read(connection, 1)]


def close_windows(service, clock, microseconds):
    clock.now += microseconds
    until(lambda: ask(service, lambda at: at.experiment.closing(clock.now)) is None)


def test_eight_visits_of_a_subject_are_one_decision(service, clock):
    create(service, STICKY)
    answers = []
    for visit in range(8):
        clock.now += HOUR // 10
        answers.append(decide(service, f"visit-{visit}", subject="user"))
    assert all(one == answers[0] for one in answers)
    assert answers[0]["id"] == "visit-0"
    others = [decide(service, subject=f"other {n}") for n in range(3)]
    assert len({one["id"] for one in [answers[0], *others]}) == 4
    decide(service)  # of nobody
    assert kinds(service).count("decided") == 5
    reward(service, answers[-1]["id"], 1.0)
    assert decide(service, subject="user") == answers[0]  # also when its reward is in
    assert kinds(service).count("rewarded") == 1
    clock.now += 2 * HOUR
    assert decide(service, "later", subject="user")["id"] == "later"
    close_windows(service, clock, 11 * HOUR)
    assert (kinds(service).count("rewarded"), kinds(service).count("expired")) == (1, 5)
    check_replay(service)


def test_an_assignment_outlives_a_crash_and_a_snapshot(tmp_path, clock):
    for every in (1, 1000):
        path = tmp_path / f"{every}.db"
        with service_at(path, clock, snapshot_every=every) as service:
            create(service, SUMMED)
            first = decide(service, "first", subject="user")
            reward(service, "first", 3.0, reward_id="a")
            crash(service)
        with service_at(path, clock, snapshot_every=every) as service:
            assert decide(service, "second", subject="user") == first
            reward(service, "first", 4.0, reward_id="b")
            close_windows(service, clock, 10 * HOUR)
            check_replay(service)
            with service.database.read() as connection:
                (learned,) = [
                    entry.event for entry in log.read(connection, 1) if entry.kind == "rewarded"
                ]
            assert learned.value == 7.0


def test_an_arm_that_cannot_be_played_is_not_kept(service):
    create(service, STICKY)
    first = decide(service, subject="user")
    assert decide(service, subject="user", eligible=[first["arm"]]) == first
    other = decide(service, subject="user", excluded=[first["arm"]])
    assert other["arm"] != first["arm"]
    assert decide(service, subject="user") == other
    ask(service, commands.change_arm, other["arm"], ArmChange(status="masked"))
    third = decide(service, subject="user")
    assert third["arm"] != other["arm"]
    ask(service, commands.cancel, third["id"])
    assert decide(service, subject="user")["id"] != third["id"]  # it was never shown
    refused(
        422,
        decide,
        service,
        subject="user",
        excluded=["nothing"],
        match="'nothing' is not the id of an arm",
    )
    ask(service, commands.change_status, "pause")
    refused(409, decide, service, subject="user", match="is paused")
    check_replay(service)


def test_a_deferred_decision_counts_once_it_is_asked_for_to_be_shown(service):
    create(service, STICKY)
    first = decide(service, subject="user", deferred=True)
    assert decide(service, subject="user", deferred=True) == first
    refused(409, reward, service, first["id"], 1.0, match="is deferred and was not activated")
    assert decide(service, subject="user") == first
    assert reward(service, first["id"], 1.0)["learned"]
    check_replay(service)


def test_going_back_to_production_ends_assignments_and_going_on_does_not(service):
    guard = {
        "baseline": "low",
        "baseline_mean": 0.5,
        "alpha": 0.5,
        "guarantee": {"sigma": 0.5},
        "rollout": {"mode": "capped", "share": 0.5},
    }
    create(service, STICKY | guard)
    before = {n: decide(service, subject=f"user {n}") for n in range(20)}
    ask(service, commands.change_mode, ModeChange(mode="full"))
    assert all(decide(service, subject=f"user {n}") == one for n, one in before.items())
    ask(service, commands.change_mode, ModeChange(mode="shadow"))
    assert {decide(service, subject=f"user {n}")["arm"] for n in range(20)} == {"low"}
    check_replay(service)


def test_rewards_are_summed_until_the_window_closes(service, clock):
    create(service, SUMMED)
    id = decide(service, subject="user")["id"]
    for name, value in (("order 1", 2.5), ("order 2", 4.0)):
        assert reward(service, id, value, reward_id=name)["learned"]
    assert not reward(service, id, 4.0, reward_id="order 2")["learned"]  # a retry
    for status, words, value, more in (
        (409, "reward_id = 'order 2' was given with another value", 1.0, {"reward_id": "order 2"}),
        (422, r"reward_id is missing.*a retry would count twice", 1.0, {}),
        (422, r"value = 10\.5 is outside rewards = \[0, 10\]", 4.0, {"reward_id": "order 3"}),
    ):
        refused(status, reward, service, id, value, **more, match=words)
    assert state(service)["rewards"] == 0
    close_windows(service, clock, 10 * HOUR)
    assert state(service)["rewards"] == 1
    for _ in range(2):
        refused(410, reward, service, id, 1.0, reward_id="order 4", match="was logged, not learned")
    assert kinds(service).count("late") == 1
    check_replay(service)


def test_a_sum_is_clipped_as_a_whole(service, clock):
    create(service, SUMMED | {"outside": "clip"})
    id = decide(service, subject="user")["id"]
    for name, value in (("a", 8.0), ("b", 5.0), ("c", -6.0), ("d", 6.0)):
        reward(service, id, value, reward_id=name)
    close_windows(service, clock, 10 * HOUR)
    with service.database.read() as connection:
        (learned,) = [entry.event for entry in log.read(connection, 1) if entry.kind == "rewarded"]
    assert (learned.value, learned.given) == (10.0, 13.0)
    check_replay(service)


def test_what_was_erased_is_not_kept(service):
    create(service, SUMMED)
    first = decide(service, subject="user")
    kept = decide(service, subject="other")
    reward(service, first["id"], 1.0, reward_id="a")
    ask(service, commands.Erasure("user"))
    assert decide(service, subject="user")["id"] != first["id"]
    assert decide(service, subject="other") == kept
    check_replay(service)


@pytest.mark.parametrize(
    "most", [writer.LIGHT, -1]
)  # a snapshot that the writer packs, and one from the log
def test_no_snapshot_names_a_subject_that_was_erased(tmp_path, monkeypatch, most):
    monkeypatch.setattr(writer, "LIGHT", most)
    with service_at(tmp_path / "a.db", Clock(), snapshot_every=1) as service:
        create(service, STICKY)
        for n in range(6):
            decide(service, subject=f"whose-{n % 2}", **({"excluded": ["low"]} if n == 2 else {}))
        time.sleep(0.2)
        ask(service, commands.Erasure("whose-0"))
        ask(service, commands.Erasure("whose-1"))
        for n in range(3):
            decide(service, subject=f"another {n}")
        check_replay(service)
        with service.database.read() as connection:
            kept = [row.rest for row in connection.execute(sa.select(snapshots.c.rest))]
        assert kept and not [rest for rest in kept if "whose" in rest]


def test_memory_holds_the_subjects_of_the_last_while_only(service, clock):
    create(service, STICKY)
    for n in range(60):
        clock.now += HOUR // 10
        decide(service, subject=f"user {n}")
    assert ask(service, lambda at: len(at.experiment.assignments)) == 20


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"sticky": {"lasts": "2h", "reward": "sum"}, "window": None},
            "sticky.reward = 'sum' needs a window",
        ),
        (
            SUMMED | {"policy": "BetaThompson"},
            r"learns sums in \[0, 10\], but BetaThompson takes rewards in \[0, 1\]",
        ),
        (
            {"sticky": SUMMED["sticky"], "policy": "BetaThompson"},
            r"but BetaThompson takes rewards in",
        ),
        ({"oracle": {"oracle": "TopK", "k": 1}, "policy": "CombUCB1"}, "has sets of arms"),
        (
            {"arms": None, "dimension": 2, "policy": "LinTS"},
            "has candidates of every decision's own",
        ),
        ({"alpha": 0.1}, "has rounds with baselines of their own"),
    ],
)
def test_what_cannot_be_sticky_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        check_spec(ExperimentSpec.model_validate(STICKY | change))


def test_over_http(served):
    assert served("POST", "/v1/experiments", SUMMED).status_code == 201
    error(
        served("POST", "/v1/experiments", SUMMED | {"name": "other", "sticky": {"lasts": 0}}), 422
    )
    path = "/v1/experiments/price"
    first = served("POST", f"{path}/decisions", {"subject": "user"}).json()
    batch = served(
        "POST",
        f"{path}/decisions:batch",
        {"decisions": [{"subject": "user"}, {"subject": "new"}, {"subject": "new"}]},
    )
    same, new, again = (one["answer"] for one in batch.json()["results"])
    assert same == first and new == again != first
    given = {"decision_id": first["id"], "value": 1.0}
    assert error(served("POST", f"{path}/rewards", given), 422)["field"] == "reward_id"
    assert served("POST", f"{path}/rewards", given | {"reward_id": "a"}).json()["learned"]
