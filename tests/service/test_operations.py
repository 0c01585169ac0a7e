"""What clients can do, without HTTP, on a clock that the test moves."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from running import HOUR, PRICES, ask, create, decide, full, refused, reward, state, until

from tightrope_service import commands, log
from tightrope_service.errors import timestamp
from tightrope_service.requests import ArmChange, ArmsRequest


def test_the_same_experiment_is_created_once(service):
    assert create(service)[0] is True
    assert create(service)[0] is False
    assert "another spec" in refused(409, create, service, PRICES | {"seed": 4})
    assert "nothing" in refused(404, decide, service, name="nothing")


def test_an_id_has_one_answer_also_after_the_session_has_forgotten_it(service, monkeypatch):
    monkeypatch.setattr("tightrope.session.decisions.REMEMBERED", 2)
    create(service)
    first = decide(service, "a", excluded=["low"])
    reward(service, "a", 1.0)
    for n in range(5):
        decide(service, f"b{n}")
        reward(service, f"b{n}", 0.0)
    before = state(service)
    assert decide(service, "a", excluded=["low"]) == first
    assert "another request" in refused(409, decide, service, "a", excluded=["mid"])
    assert reward(service, "a", 1.0)["learned"] is False
    assert "rewarded otherwise" in refused(409, reward, service, "a", 0.5)
    assert "not a decision" in refused(404, reward, service, "c", 0.5)
    assert state(service) == before  # nothing of it was drawn or logged


@pytest.mark.usefixtures("price")
def test_nothing_is_drawn_or_logged_where_a_request_is_refused(service):
    before = state(service)
    assert "no arm left" in refused(422, decide, service, "a", excluded=["low", "mid", "high"])
    assert "'tiny' is not" in refused(422, decide, service, "a", eligible=["tiny"])
    decide(service, "b")
    opened = state(service)
    assert opened["seq"] == before["seq"] + 1
    assert "is not a number" in refused(422, reward, service, "b", {"low": 1.0})
    assert state(service) == opened


@pytest.mark.usefixtures("price")
def test_windows_close_by_the_clock_and_late_rewards_are_logged_but_not_learned(service, clock):
    for id in "abc":
        decide(service, id)
    reward(service, "a", 1.0)
    clock.now += HOUR - 1
    decide(service, "d")
    clock.now += 2
    until(lambda: state(service)["open"] == 1)
    assert state(service)["rewards"] == 3  # one reward and twice the default
    before = state(service)
    assert "logged, not learned" in refused(410, reward, service, "b", 1.0)
    refused(410, reward, service, "b", 1.0)  # sent again: logged once
    after = state(service)
    assert (after["seq"], after["rewards"]) == (before["seq"] + 1, before["rewards"])
    clock.now += HOUR
    assert "until" in refused(
        410, reward, service, "d", 1.0
    )  # also before the writer has looked at the clock


@pytest.mark.usefixtures("price")
def test_a_clock_that_jumps_back_does_no_harm(service, clock):
    decide(service, "a")
    clock.now -= 5 * HOUR
    made = decide(service, "b")
    events = ask(service, lambda transaction: transaction.entries("a") + transaction.entries("b"))
    assert events[0].time <= events[1].time
    assert made["expires_at"] == timestamp(
        clock.now + HOUR
    )  # a window is as long as was said, by the clock
    assert reward(service, "a", 1.0)["learned"]
    clock.now += 7 * HOUR
    until(lambda: state(service)["open"] == 0)


@pytest.mark.usefixtures("price")
def test_a_deferred_decision_counts_once_it_is_activated(service, clock):
    decide(service, "shown", deferred=True)
    decide(service, "unseen", deferred=True)
    assert "activate it" in refused(409, reward, service, "shown", 1.0)
    clock.now += HOUR // 2
    later = ask(service, commands.activate, "shown")["expires_at"]
    assert ask(service, commands.activate, "shown")["expires_at"] == later  # once more: the same
    clock.now += HOUR // 2 + 1
    until(lambda: state(service)["open"] == 1)
    assert state(service)["rewards"] == 0  # the unseen one was cancelled: it teaches nothing
    assert "cancelled" in refused(409, reward, service, "unseen", 1.0)
    assert reward(service, "shown", 1.0)["learned"]
    assert "cancelled" in refused(410, ask, service, commands.activate, "unseen")


@pytest.mark.usefixtures("price")
def test_a_cancelled_decision_leaves_no_trace(service):
    decide(service, "a")
    assert ask(service, commands.cancel, "a") == ask(service, commands.cancel, "a")
    assert state(service)["open"] == 0
    assert "cancelled" in refused(409, reward, service, "a", 1.0)
    decide(service, "b")
    reward(service, "b", 0.5)
    assert "rewarded" in refused(409, ask, service, commands.cancel, "b")


@pytest.mark.usefixtures("price")
def test_a_decision_whose_subject_was_erased_takes_no_reward(service):
    decide(service, "a", subject="user-77")
    decide(service, "b")
    assert ask(service, commands.Erasure("user-77"))["erased"] == 1
    before = state(service)
    assert "its subject was erased" in refused(410, reward, service, "a", 1.0)
    assert "was closed" in refused(410, ask, service, commands.activate, "a")
    assert "was closed" in refused(409, ask, service, commands.cancel, "a")
    assert state(service) == before
    assert reward(service, "b", 1.0)["learned"]


@pytest.mark.usefixtures("price")
def test_how_a_decision_ended_is_told_also_behind_a_late_reward(service, clock):
    decide(service, "a")
    clock.now += 2 * HOUR
    refused(410, reward, service, "a", 1.0)
    assert "was expired" in refused(409, ask, service, commands.cancel, "a")
    assert "was expired" in refused(410, ask, service, commands.activate, "a")


@pytest.mark.usefixtures("price")
def test_reward_ids(service):
    decide(service, "a")
    assert reward(service, "a", 1.0, reward_id="r1")["learned"]
    assert not reward(service, "a", 1.0, reward_id="r1")["learned"]
    assert "'r1' was given with another value" in refused(
        409, reward, service, "a", 0.0, reward_id="r1"
    )
    assert "one reward" in refused(409, reward, service, "a", 1.0, reward_id="r2")


def test_arms_come_and_go(service):
    create(service, PRICES | {"baseline": "low", "policy": "UCB"})
    decide(service, "a")
    assert ask(service, commands.add_arms, ArmsRequest(arms=[{"id": "huge"}]))["arms"][3] == {
        "id": "huge",
        "status": "active",
    }
    seq = state(service)["seq"]
    ask(service, commands.add_arms, ArmsRequest(arms=[{"id": "huge"}]))  # sent again
    ask(service, commands.change_arm, "mid", ArmChange(status="masked"))
    ask(service, commands.change_arm, "mid", ArmChange(status="masked"))
    ask(service, commands.change_arm, "huge", ArmChange(status="retired"))
    assert state(service)["seq"] == seq + 2
    assert "baseline" in refused(
        409, ask, service, commands.change_arm, "low", ArmChange(status="retired")
    )
    assert decide(service, excluded=["low"])["arm"] == "high"
    assert "retired" in refused(422, decide, service, eligible=["huge", "mid"])
    ask(service, commands.change_arm, "huge", ArmChange(status="active"))
    assert [arm["status"] for arm in state(service)["arms"]] == [
        "active",
        "masked",
        "active",
        "active",
    ]
    assert decide(service, eligible=["huge", "mid"])["arm"] == "huge"


def test_an_arm_that_is_there_is_left_alone_only_if_it_is_the_same(service):
    arms = [{"id": "a", "features": [1.0, 0.0]}, {"id": "b", "features": [0.0, 1.0]}]
    create(service, {"name": "rows", "policy": "LinUCB", "arms": arms})
    before = state(service, "rows")

    def add(name, *given):
        return ask(service, commands.add_arms, ArmsRequest(arms=list(given)), name=name)

    assert len(add("rows", *arms)["arms"]) == 2
    assert "'b' with other features" in refused(
        409, add, "rows", {"id": "b", "features": [0.5, 0.5]}
    )
    assert "other features" in refused(409, add, "rows", {"id": "b"})
    assert "no positions" in refused(
        422, add, "rows", {"id": "c", "features": [0.5, 0.5], "point": 0.5}
    )
    assert state(service, "rows") == before
    create(service)
    assert "other features" in refused(409, add, "price", {"id": "low", "features": [1.0]})
    assert "no positions" in refused(422, add, "price", {"id": "huge", "point": 2.0})
    points = [{"id": str(k), "point": k / 3} for k in range(4)]
    create(
        service, {"name": "line", "policy": {"policy": "CKLUCB", "lipschitz": 1.0}, "arms": points}
    )
    assert len(add("line", *points)["arms"]) == 4
    assert "'1' with other point" in refused(409, add, "line", {"id": "1", "point": 0.5})
    assert "cannot be added to" in refused(422, add, "line", {"id": "5", "point": 0.5})


def test_one_arm_of_production_stays(service):
    create(service, PRICES | {"rollout": {"production": {"low": 0.5, "mid": 0.5}}})
    ask(service, commands.change_arm, "low", ArmChange(status="masked"))
    for status in ("masked", "retired"):
        assert "last arm of rollout.production" in refused(
            409, ask, service, commands.change_arm, "mid", ArmChange(status=status)
        )
    ask(service, commands.change_arm, "high", ArmChange(status="retired"))
    assert decide(service)["arm"] == "mid"
    ask(service, commands.change_arm, "low", ArmChange(status="active"))
    ask(service, commands.change_arm, "mid", ArmChange(status="retired"))


def test_reading_fails_alone(service):
    """A baseline that every round brings, an identification policy that plays no mask, estimates
    that broke down: read, beside a decision."""
    create(
        service,
        PRICES | {"name": "rounds", "policy": {"policy": "CUCB2", "alpha": 0.1}, "baseline": None},
    )
    assert ask(service, commands.describe_rollout, name="rounds")["budget_bound"] == 0.0
    decide(service, "a", "rounds", baseline="mid", baseline_mean=0.5)
    assert ask(service, commands.describe_standing, name="rounds")["holdings"]["alpha"] == 0.1
    arms = [{"id": str(k), "features": row} for k, row in enumerate(np.eye(3).tolist())]
    create(service, {"name": "best", "policy": {"policy": "P1RAGE"}, "arms": arms, "horizon": 1000})
    assert (
        ask(service, commands.describe_standing, name="best")["identified"]["status"]
        == "not certified yet"
    )
    ask(service, commands.change_arm, "1", ArmChange(status="masked"), name="best")
    assert ask(service, commands.describe_standing, name="best")["identified"] is None


@pytest.mark.usefixtures("price")
@pytest.mark.parametrize(
    "read", [commands.describe_standing, commands.describe_rollout, commands.session_view]
)
def test_what_the_library_refuses_to_read_does_not_fail_a_group(service, monkeypatch, read):
    monkeypatch.setattr(service.writer.owned["price"].experiment, "holdings", broken)
    monkeypatch.setattr(
        service.writer.owned["price"].experiment.session, "view", broken, raising=False
    )
    assert "broke down" in refused(422, ask, service, read)
    assert service.writer.failing is None


def broken(*_):
    raise ValueError("estimates broke down.")


@pytest.mark.usefixtures("price")
def test_pausing_and_archiving(service):
    decide(service, "a")
    ask(service, commands.change_status, "pause")
    assert "resume it" in refused(409, decide, service)
    assert (
        decide(service, "a")["id"] == "a" and reward(service, "a", 1.0)["learned"]
    )  # what was decided goes on
    ask(service, commands.change_status, "resume")
    decide(service, "b")
    ask(service, commands.change_status, "archive")
    assert "archived" in refused(409, reward, service, "b", 1.0)
    assert "archived" in refused(409, ask, service, commands.change_status, "resume")


def test_sets_of_arms_take_rewards_in_parts(service, clock):
    features = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [0.5, -0.5]]
    arms = [{"id": f"f{k}", "features": row} for k, row in enumerate(features)]
    create(
        service,
        {
            "name": "set",
            "policy": "C2UCB",
            "arms": arms,
            "oracle": {"oracle": "TopK", "k": 2},
            "window": 60,
            "default_reward": 0.0,
        },
    )
    made = decide(service, "a", name="set")
    first, second = made["arm"]
    assert len(made["propensity"]) == 2
    assert reward(service, "a", {first: 1.0}, name="set")["learned"]
    assert not reward(service, "a", {first: 1.0}, name="set")["learned"]
    assert "otherwise" in refused(409, reward, service, "a", {first: 0.5}, name="set")
    assert "not in decision" in refused(422, reward, service, "a", {"f9": 0.5}, name="set")
    assert reward(service, "a", {second: 0.0}, name="set")["learned"]
    decide(service, "b", name="set")
    clock.now += 61 * 10**6
    until(lambda: state(service, "set")["open"] == 0)
    assert (
        state(service, "set")["rewards"] == 4 - 1
    )  # updates: two parts, and one default for a whole set


def test_candidates_that_come_with_every_call(service):
    create(
        service, {"name": "news", "policy": {"policy": "LinUCB"}, "dimension": 2, "window": None}
    )
    made = decide(
        service, "a", name="news", context={"x": [1.0, 0.0], "y": [0.0, 1.0]}, excluded=["x"]
    )
    assert made["arm"] == "y" and made["expires_at"] is None
    assert reward(service, "a", 1.0, name="news")["learned"]
    rows = {"x": [1.0, 0.0], "z": [0.0, 1.0], "y": [0.3, 0.1]}
    assert decide(service, "b", name="news", context=rows)["arm"] in rows
    assert "context is missing" in refused(422, decide, service, "c", name="news")


def test_a_guarantee_around_the_policy(service):
    create(
        service,
        PRICES
        | {
            "policy": "UCB",
            "baseline": "mid",
            "baseline_mean": 0.5,
            "alpha": 0.05,
            "guarantee": {"sigma": 0.5},
        },
    )
    played = [decide(service) for _ in range(40)]
    assert "baseline is played" in played[0]["reason"]
    assert (
        sum(one["arm"] != "mid" for one in played) <= 2
    )  # each round of the baseline earns alpha times its mean
    assert "sigmo" in refused(
        422, create, service, PRICES | {"name": "b", "alpha": 0.05, "guarantee": {"sigmo": 1}}
    )


@pytest.mark.usefixtures("price")
def test_a_group_is_one_transaction(service):
    commits = []
    real = service.writer.database.write

    def counted():
        commits.append(1)
        return real()

    service.writer.settings.__dict__["tick"] = (
        60.0  # frozen; the clock's own transactions would be counted too
    )
    time.sleep(0.1)
    service.writer.database.write = counted
    with ThreadPoolExecutor(16) as pool:
        made = pool.map(lambda _: decide(service)["event"], range(160))
    assert sorted(made) == list(range(2, 162))
    assert len(commits) < 120, len(commits)


@pytest.mark.usefixtures("price")
@pytest.mark.parametrize("appended", [False, True])
def test_a_commit_that_fails_acknowledges_nothing_and_memory_goes_back(
    service, monkeypatch, appended
):
    decide(service, "a")
    before, real = state(service), log.append

    def fails(*arguments):
        if appended:
            real(*arguments)
        full()

    monkeypatch.setattr(log, "append", fails)
    monkeypatch.setattr(service.leases, "take", full)
    for n in range(3):
        assert "nothing was done" in refused(503, decide, service, f"b{n}")
        # reads are answered, and what is known is answered again
        assert state(service) == before and decide(service, "a")["event"] == 2
    assert "nothing was done" in refused(503, reward, service, "a", 1.0)
    monkeypatch.setattr(log, "append", real)
    assert state(service) == before
    assert decide(service, "b0")["event"] == before["seq"] + 1
