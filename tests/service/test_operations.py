"""What clients can do, without HTTP, on a clock that the test moves."""

import time

import numpy as np
import pytest
from running import HOUR, PRICES, ask, crash, create, decide, office_at, reward, state

from tightrope.service import operations
from tightrope.service.erase import erase
from tightrope.service.errors import Refused
from tightrope.service.requests import ArmChange, ArmsRequest
from tightrope.service.store import events as log


def refused(status, call, *arguments, **more):
    with pytest.raises(Refused) as error:
        call(*arguments, **more)
    assert error.value.status == status, error.value.message
    return error.value.message


def until(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_same_experiment_is_created_once(office):
    assert create(office)[0] is True
    assert create(office)[0] is False
    assert "another spec" in refused(409, create, office, PRICES | {"seed": 4})
    assert "nothing" in refused(404, decide, office, name="nothing")


def test_an_id_has_one_answer_also_after_the_session_has_forgotten_it(office, monkeypatch):
    monkeypatch.setattr("tightrope.serving.decisions.REMEMBERED", 2)
    create(office)
    first = decide(office, "a", excluded=["low"])
    reward(office, "a", 1.0)
    for n in range(5):
        decide(office, f"b{n}")
        reward(office, f"b{n}", 0.0)
    before = state(office)
    assert decide(office, "a", excluded=["low"]) == first
    assert "another request" in refused(409, decide, office, "a", excluded=["mid"])
    assert reward(office, "a", 1.0)["learned"] is False
    assert "rewarded otherwise" in refused(409, reward, office, "a", 0.5)
    assert "not a decision" in refused(404, reward, office, "c", 0.5)
    assert state(office) == before  # nothing of it was drawn or logged


def test_nothing_is_drawn_or_logged_where_a_request_is_refused(office):
    create(office)
    before = state(office)
    assert "no arm left" in refused(422, decide, office, "a", excluded=["low", "mid", "high"])
    assert "'tiny' is not" in refused(422, decide, office, "a", eligible=["tiny"])
    decide(office, "b")
    opened = state(office)
    assert opened["seq"] == before["seq"] + 1
    assert "is not a number" in refused(422, reward, office, "b", {"low": 1.0})
    assert state(office) == opened


def test_windows_close_by_the_clock_and_late_rewards_are_logged_but_not_learned(office, clock):
    create(office)
    for id in "abc":
        decide(office, id)
    reward(office, "a", 1.0)
    clock.now += HOUR - 1
    decide(office, "d")
    clock.now += 2
    until(lambda: state(office)["open"] == 1)
    assert state(office)["rewards"] == 3  # one reward and twice the default
    before = state(office)
    assert "logged, not learned" in refused(410, reward, office, "b", 1.0)
    refused(410, reward, office, "b", 1.0)  # sent again: logged once
    after = state(office)
    assert (after["seq"], after["rewards"]) == (before["seq"] + 1, before["rewards"])
    clock.now += HOUR
    assert "until" in refused(410, reward, office, "d", 1.0)  # also before the writer has looked at the clock


def test_a_clock_that_jumps_back_does_no_harm(office, clock):
    create(office)
    decide(office, "a")
    clock.now -= 5 * HOUR
    made = decide(office, "b")
    events = ask(office, lambda desk: desk.history("a") + desk.history("b"))
    assert events[0].time <= events[1].time
    assert made["expires_at"] == decide(office, "a")["expires_at"]
    assert reward(office, "a", 1.0)["learned"]
    clock.now += 7 * HOUR
    until(lambda: state(office)["open"] == 0)


def test_a_deferred_decision_counts_once_it_is_activated(office, clock):
    create(office)
    decide(office, "shown", deferred=True)
    decide(office, "unseen", deferred=True)
    assert "activate it" in refused(409, reward, office, "shown", 1.0)
    clock.now += HOUR // 2
    later = ask(office, operations.activate, "shown")["expires_at"]
    assert ask(office, operations.activate, "shown")["expires_at"] == later  # once more: the same
    clock.now += HOUR // 2 + 1
    until(lambda: state(office)["open"] == 1)
    assert state(office)["rewards"] == 0  # the unseen one was cancelled: it teaches nothing
    assert "cancelled" in refused(409, reward, office, "unseen", 1.0)
    assert reward(office, "shown", 1.0)["learned"]
    assert "cancelled" in refused(410, ask, office, operations.activate, "unseen")


def test_a_cancelled_decision_leaves_no_trace(office):
    create(office)
    decide(office, "a")
    assert ask(office, operations.cancel, "a") == ask(office, operations.cancel, "a")
    assert state(office)["open"] == 0
    assert "cancelled" in refused(409, reward, office, "a", 1.0)
    decide(office, "b")
    reward(office, "b", 0.5)
    assert "rewarded" in refused(409, ask, office, operations.cancel, "b")


def test_a_decision_whose_subject_was_erased_takes_no_reward(office):
    create(office)
    decide(office, "a", subject="user-77")
    decide(office, "b")
    assert ask(office, erase, "user-77")["erased"] == 1
    before = state(office)
    assert "its subject was erased" in refused(410, reward, office, "a", 1.0)
    assert "was closed" in refused(410, ask, office, operations.activate, "a")
    assert "was closed" in refused(409, ask, office, operations.cancel, "a")
    assert state(office) == before
    assert reward(office, "b", 1.0)["learned"]


def test_how_a_decision_ended_is_told_also_behind_a_late_reward(office, clock):
    create(office)
    decide(office, "a")
    clock.now += 2 * HOUR
    refused(410, reward, office, "a", 1.0)
    assert "was expired" in refused(409, ask, office, operations.cancel, "a")
    assert "was expired" in refused(410, ask, office, operations.activate, "a")


def test_reward_ids(office):
    create(office)
    decide(office, "a")
    assert reward(office, "a", 1.0, reward_id="r1")["learned"]
    assert not reward(office, "a", 1.0, reward_id="r1")["learned"]
    assert "'r1' was given with another value" in refused(409, reward, office, "a", 0.0, reward_id="r1")
    assert "one reward" in refused(409, reward, office, "a", 1.0, reward_id="r2")


def test_arms_come_and_go(office):
    create(office, PRICES | {"baseline": "low", "policy": "UCB"})
    decide(office, "a")
    assert ask(office, operations.add_arms, ArmsRequest(arms=[{"id": "huge"}]))["arms"][3] == {"id": "huge", "status": "active"}
    seq = state(office)["seq"]
    ask(office, operations.add_arms, ArmsRequest(arms=[{"id": "huge"}]))  # sent again
    ask(office, operations.change_arm, "mid", ArmChange(status="masked"))
    ask(office, operations.change_arm, "mid", ArmChange(status="masked"))
    ask(office, operations.change_arm, "huge", ArmChange(status="retired"))
    assert state(office)["seq"] == seq + 2
    assert "baseline" in refused(409, ask, office, operations.change_arm, "low", ArmChange(status="retired"))
    assert decide(office, excluded=["low"])["arm"] == "high"
    assert "retired" in refused(422, decide, office, eligible=["huge", "mid"])
    ask(office, operations.change_arm, "huge", ArmChange(status="active"))
    assert [arm["status"] for arm in state(office)["arms"]] == ["active", "masked", "active", "active"]
    assert decide(office, eligible=["huge", "mid"])["arm"] == "huge"


def test_an_arm_that_is_there_is_left_alone_only_if_it_is_the_same(office):
    arms = [{"id": "a", "features": [1.0, 0.0]}, {"id": "b", "features": [0.0, 1.0]}]
    create(office, {"name": "rows", "policy": "LinUCB", "arms": arms})
    before = state(office, "rows")

    def add(name, *given):
        return ask(office, operations.add_arms, ArmsRequest(arms=list(given)), name=name)

    assert len(add("rows", *arms)["arms"]) == 2
    assert "'b' with other features" in refused(409, add, "rows", {"id": "b", "features": [0.5, 0.5]})
    assert "other features" in refused(409, add, "rows", {"id": "b"})
    assert "no positions" in refused(422, add, "rows", {"id": "c", "features": [0.5, 0.5], "point": 0.5})
    assert state(office, "rows") == before
    create(office)
    assert "other features" in refused(409, add, "price", {"id": "low", "features": [1.0]})
    assert "no positions" in refused(422, add, "price", {"id": "huge", "point": 2.0})
    points = [{"id": str(k), "point": k / 3} for k in range(4)]
    create(office, {"name": "line", "policy": {"policy": "CKLUCB", "lipschitz": 1.0}, "arms": points})
    assert len(add("line", *points)["arms"]) == 4
    assert "'1' with other point" in refused(409, add, "line", {"id": "1", "point": 0.5})
    assert "cannot be added to" in refused(422, add, "line", {"id": "5", "point": 0.5})


def test_one_arm_of_production_stays(office):
    create(office, PRICES | {"rollout": {"production": {"low": 0.5, "mid": 0.5}}})
    ask(office, operations.change_arm, "low", ArmChange(status="masked"))
    for status in ("masked", "retired"):
        assert "last arm of rollout.production" in refused(409, ask, office, operations.change_arm, "mid", ArmChange(status=status))
    ask(office, operations.change_arm, "high", ArmChange(status="retired"))
    assert decide(office)["arm"] == "mid"
    ask(office, operations.change_arm, "low", ArmChange(status="active"))
    ask(office, operations.change_arm, "mid", ArmChange(status="retired"))


def test_reading_fails_alone(office):
    """A baseline that every round brings, an identification policy that plays no mask, estimates that broke down: read, beside a decision."""
    create(office, PRICES | {"name": "rounds", "policy": {"policy": "CUCB2", "alpha": 0.1}, "baseline": None})
    assert ask(office, operations.describe_rollout, name="rounds")["budget_bound"] == 0.0
    decide(office, "a", "rounds", baseline="mid", baseline_mean=0.5)
    assert ask(office, operations.standing, name="rounds")["holdings"]["alpha"] == 0.1
    arms = [{"id": str(k), "features": row} for k, row in enumerate(np.eye(3).tolist())]
    create(office, {"name": "best", "policy": {"policy": "P1RAGE"}, "arms": arms, "horizon": 1000})
    assert ask(office, operations.standing, name="best")["identified"]["status"] == "not certified yet"
    ask(office, operations.change_arm, "1", ArmChange(status="masked"), name="best")
    assert ask(office, operations.standing, name="best")["identified"] is None


@pytest.mark.parametrize("read", [operations.standing, operations.describe_rollout, operations.glimpse])
def test_what_the_library_refuses_to_read_does_not_fail_a_group(office, monkeypatch, read):
    create(office)
    monkeypatch.setattr(office.writer.held["price"].live, "holdings", broken)
    monkeypatch.setattr(office.writer.held["price"].live.session, "view", broken, raising=False)
    assert "broke down" in refused(422, ask, office, read)
    assert office.writer.failing is None


def broken():
    raise ValueError("estimates broke down.")


def test_pausing_and_archiving(office):
    create(office)
    decide(office, "a")
    ask(office, operations.change_status, "pause")
    assert "resume it" in refused(409, decide, office)
    assert decide(office, "a")["id"] == "a" and reward(office, "a", 1.0)["learned"]  # what was decided goes on
    ask(office, operations.change_status, "resume")
    decide(office, "b")
    ask(office, operations.change_status, "archive")
    assert "archived" in refused(409, reward, office, "b", 1.0)
    assert "archived" in refused(409, ask, office, operations.change_status, "resume")


def test_sets_of_arms_take_rewards_in_parts(office, clock):
    features = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [0.5, -0.5]]
    arms = [{"id": f"f{k}", "features": row} for k, row in enumerate(features)]
    create(
        office, {"name": "set", "policy": "C2UCB", "arms": arms, "oracle": {"oracle": "TopK", "k": 2}, "window": 60, "default_reward": 0.0}
    )
    made = decide(office, "a", name="set")
    first, second = made["arm"]
    assert len(made["propensity"]) == 2
    assert reward(office, "a", {first: 1.0}, name="set")["learned"]
    assert not reward(office, "a", {first: 1.0}, name="set")["learned"]
    assert "otherwise" in refused(409, reward, office, "a", {first: 0.5}, name="set")
    assert "not in decision" in refused(422, reward, office, "a", {"f9": 0.5}, name="set")
    assert reward(office, "a", {second: 0.0}, name="set")["learned"]
    decide(office, "b", name="set")
    clock.now += 61 * 10**6
    until(lambda: state(office, "set")["open"] == 0)
    assert state(office, "set")["rewards"] == 4 - 1  # updates: two parts, and one default for a whole set


def test_candidates_that_come_with_every_call(office):
    create(office, {"name": "news", "policy": {"policy": "LinUCB"}, "dimension": 2, "window": None})
    made = decide(office, "a", name="news", context={"x": [1.0, 0.0], "y": [0.0, 1.0]}, excluded=["x"])
    assert made["arm"] == "y" and made["expires_at"] is None
    assert reward(office, "a", 1.0, name="news")["learned"]
    assert decide(office, "b", name="news", context={"x": [1.0, 0.0], "z": [0.0, 1.0], "y": [0.3, 0.1]})["arm"] in ("x", "y", "z")
    assert "context is missing" in refused(422, decide, office, "c", name="news")


def test_a_guarantee_around_the_policy(office):
    create(office, PRICES | {"policy": "UCB", "baseline": "mid", "baseline_mean": 0.5, "alpha": 0.05, "guarantee": {"sigma": 0.5}})
    played = [decide(office) for _ in range(40)]
    assert "baseline is played" in played[0]["reason"]
    assert sum(one["arm"] != "mid" for one in played) <= 2  # each round of the baseline earns alpha times its mean
    assert "sigmo" in refused(422, create, office, PRICES | {"name": "b", "alpha": 0.05, "guarantee": {"sigmo": 1}})


def test_a_group_is_one_transaction(office):
    create(office)
    commits = []
    real = office.writer.database.write

    def counted():
        commits.append(1)
        return real()

    office.writer.settings.__dict__["tick"] = 60.0  # frozen; the clock's own transactions would be counted too
    time.sleep(0.1)
    office.writer.database.write = counted
    import threading

    made = []
    threads = [threading.Thread(target=lambda: made.extend(decide(office)["event"] for _ in range(10))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == list(range(2, 162))
    assert len(commits) < 120, len(commits)


def test_a_commit_that_fails_acknowledges_nothing_and_memory_goes_back(office, monkeypatch):
    create(office)
    decide(office, "a")
    before = state(office)
    real = log.append

    def full(*arguments):
        real(*arguments)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log, "append", full)
    assert "nothing was done" in refused(503, decide, office, "b")
    assert "nothing was done" in refused(503, reward, office, "a", 1.0)
    monkeypatch.setattr(log, "append", real)
    assert state(office) == before
    assert decide(office, "b")["event"] == before["seq"] + 1


def test_a_restart_finds_the_same_bits_with_and_without_a_snapshot(tmp_path, clock):
    for name, settings in (("without", {}), ("with", {"snapshot_every": 7})):
        path = tmp_path / f"{name}.db"
        with office_at(path, clock, **settings) as first:
            create(first, PRICES | {"policy": {"policy": "BetaThompson"}})
            for n in range(40):
                decide(first, f"d{n}", excluded=["low"] if n % 5 == 0 else None)
                if n % 3:
                    reward(first, f"d{n}", float(n % 2))
            before = state(first)
            crash(first)
        with office_at(path, clock) as second:
            assert state(second) == before
