"""What the service says must be true: rewards stay in their range, nobody renames the baseline,
cancellations are told."""

import asyncio
import math

import numpy as np
import pytest
from running import (
    PRICES,
    ask,
    check_replay,
    create,
    decide,
    history_of,
    refused,
    reward,
    standing_and_history,
    state,
)

from tightrope_service import commands
from tightrope_service.board_view import page_of
from tightrope_service.commands import issue
from tightrope_service.errors import Refused
from tightrope_service.requests import ArmsRequest

GUARD = PRICES | {
    "policy": "UCB",
    "baseline": "mid",
    "baseline_mean": 0.5,
    "alpha": 0.1,
    "guarantee": {"sigma": 0.5},
}
SHADOW = {"mode": "shadow", "rewards": [-1.0, 2.0]}


@pytest.mark.parametrize(
    ("more", "low", "high"),
    [
        ({}, 0.0, 1.0),  # a guarantee
        ({"alpha": None, "guarantee": {}, "rewards": [0.0, 12.0]}, 0.0, 12.0),
        ({"rewards": [0.0, 0.5]}, 0.0, 0.5),
        ({"alpha": None, "guarantee": {}, "rollout": SHADOW, "default_reward": -1.0}, -1.0, 2.0),
        (
            {"policy": "CUCB2", "guarantee": {}, "baseline_mean": 0.5},
            0.0,
            1.0,
        ),  # a policy that keeps a budget by itself
    ],
)
def test_a_reward_outside_its_range_is_refused_and_nothing_is_learned(service, more, low, high):
    create(service, GUARD | more)
    decide(service, "a")
    before = state(service)
    for value in (low - 0.01, high + 0.01, 1e308, -1e308):
        refused(422, reward, service, "a", value, match="is outside rewards", field="value")
    assert state(service) == before
    assert reward(service, "a", high)["learned"]


def test_every_reward_of_a_set_is_in_the_range(service):
    rows = [
        {"id": f"f{k}", "features": row}
        for k, row in enumerate([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
    ]
    create(
        service,
        {
            "name": "set",
            "policy": "C2UCB",
            "arms": rows,
            "oracle": {"oracle": "TopK", "k": 2},
            "rewards": [0.0, 1.0],
        },
    )
    first, second = decide(service, "a", "set")["arm"]
    refused(
        422,
        reward,
        service,
        "a",
        {first: 0.5, second: 1.5},
        "set",
        match="1.5 is outside rewards",
        field="value",
    )
    assert reward(service, "a", {first: 0.5, second: 1.0}, "set")["learned"]


@pytest.mark.usefixtures("price")
def test_an_experiment_without_a_promise_and_without_a_range_takes_any_reward(service):
    decide(service, "a")
    assert reward(service, "a", 250.0)["learned"]


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"default_reward": 2.0}, "default_reward = 2"),
        ({"rewards": [1.0, 0.0]}, "rewards = "),
        ({"rewards": [0.0, 2.0], "rollout": SHADOW}, "rollout.rewards"),
        ({"guarantee": {"sigma": 0.5, "alpha": 0.9}}, "guarantee.alpha"),
        ({"policy": {"policy": "CUCB2", "alpha": 0.9}, "guarantee": {}}, "policy.alpha"),
    ],
)
def test_a_spec_that_says_two_things_is_refused(service, more, match):
    with pytest.raises((Refused, ValueError), match=match):
        create(service, GUARD | more)


@pytest.mark.parametrize(
    "asked",
    [
        {"baseline": "low"},
        {"baseline": "mid"},
        {"baseline_mean": 0.0},
        {"baseline": "low", "baseline_mean": 0.0},
    ],
)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"rollout": {"mode": "capped"}},
        {"alpha": None, "guarantee": {}, "rollout": {"mode": "shadow"}},
    ],
)
def test_a_request_does_not_rename_the_baseline(service, more, asked):
    create(service, GUARD | more)
    before = state(service)
    refused(
        422,
        decide,
        service,
        "a",
        match="in every round; leave it out",
        field=next(iter(asked)),
        **asked,
    )
    assert state(service) == before


def test_a_request_does_not_replace_what_production_plays(service):
    create(
        service, PRICES | {"rollout": {"mode": "shadow", "production": {"low": 0.5, "mid": 0.5}}}
    )
    refused(
        422, decide, service, "a", match="rollout.production", field="baseline", baseline="high"
    )


def test_a_rounds_own_baseline_comes_with_its_own_mean(service):
    create(service, PRICES | {"policy": {"policy": "CUCB2", "alpha": 0.1}, "baseline_mean": 0.9})
    refused(
        422,
        decide,
        service,
        "a",
        match="say what 'low' earns on average",
        field="baseline_mean",
        baseline="low",
    )
    assert decide(service, "b", baseline="low", baseline_mean=0.2)["arm"] == "low"
    assert ask(service, commands.describe_rollout)["mode"] == "full"


def test_the_certificate_counts_cancelled_decisions_and_says_what_that_assumes(service):
    create(service, GUARD)
    decide(service, "a")
    before = asyncio.run(issue(service, "price"))
    assert before["cancelled"] == 0 and not any(
        "cancelled" in one["says"] for one in before["assumptions"]
    )
    ask(service, commands.cancel, "a")
    after = asyncio.run(issue(service, "price"))
    assert after["cancelled"] == 1
    assert any(one["says"].startswith("1 cancelled decision ") for one in after["assumptions"])


def certified(service, name="price"):
    return asyncio.run(issue(service, name))


def verdict(found, words):
    """Verdict and reason of the one assumption that has these words."""
    (one,) = [one for one in found["assumptions"] if words in one["says"]]
    return one["verdict"], one["why"]


def drive(service, clock, means, rounds, delay=lambda arm, value: 1, seed=0, **asked):
    """Rounds of an experiment whose arms earn 0 or 1 with these means. delay: seconds until a
    reward comes."""
    draws = np.random.default_rng(seed)
    for n in range(rounds):
        clock.now += 10**6
        made = decide(service, f"{seed}-{n}", **asked)
        value = float(draws.random() < means[made["arm"]])
        clock.now += int(delay(made["arm"], value) * 10**6)
        reward(service, made["id"], value)


def test_what_is_outside_the_range_is_clipped_where_that_was_asked_for_and_counted(service):
    create(service, GUARD | {"outside": "clip"})
    for id, value in (("a", 11.9), ("b", -3.0), ("c", 1.0)):
        decide(service, id)
        assert reward(service, id, value)["learned"] and not reward(service, id, value)["learned"]
    refused(409, reward, service, "a", 12.0, match="rewarded otherwise")
    assert history_of(service, "price", 7).total == 2.0  # 1, 0 and 1
    found = certified(service)
    assert found["clipped"] == 2 and verdict(found, "is worth as much as the end")[0] == "unseen"
    with pytest.raises((Refused, ValueError), match="outside = 'clip' has no range"):
        create(service, PRICES | {"name": "other", "outside": "clip"})


def test_a_log_that_is_as_was_assumed_contradicts_nothing(service, clock):
    create(service, GUARD)
    drive(service, clock, {"low": 0.3, "mid": 0.5, "high": 0.6}, 500)
    found = certified(service)
    assert {one["verdict"] for one in found["assumptions"]} <= {"holds", "agrees", "unseen"}, found[
        "assumptions"
    ]
    assert (
        verdict(found, "The baseline earns 0.5")[0] == "agrees"
        and "do not rely" not in found["promise"]
    )


@pytest.mark.parametrize(
    ("more", "means", "words"),
    [
        ({"baseline_mean": 0.9}, {"low": 0.2, "mid": 0.2, "high": 0.2}, "The baseline earns 0.9"),
        (
            {"guarantee": {"sigma": 0.1, "martingale": "freedman"}},
            {"low": 0.5, "mid": 0.5, "high": 0.5},
            "sigma = 0.1",
        ),
    ],
)
def test_a_false_assumption_is_found_in_the_log_and_the_promise_says_so(
    service, clock, more, means, words
):
    create(service, GUARD | more)
    drive(service, clock, means, 300)
    found = certified(service)
    assert verdict(found, words)[0] == "contradicted"
    assert "do not rely on it" in found["promise"] and verdict(found, words)[1] in found["promise"]


def test_rewards_below_0_are_within_the_promise_where_they_were_declared(service, clock):
    create(service, GUARD | {"rewards": [-1.0, 1.0], "policy": "EpsilonGreedy"})
    drive(service, clock, {"low": 0.5, "mid": 0.5, "high": 0.5}, 300)
    decide(service, "below")
    reward(service, "below", -0.5)
    found = certified(service)
    assert (
        found["budget"]["rewards"] == [-1.0, 1.0]
        and verdict(found, "within the declared range")[0] == "holds"
    )
    assert "do not rely" not in found["promise"]


def test_means_that_change_are_found(service, clock):
    create(service, GUARD)
    drive(service, clock, {"low": 0.9, "mid": 0.9, "high": 0.9}, 130)
    drive(service, clock, {"low": 0.1, "mid": 0.1, "high": 0.1}, 400, seed=1)
    assert verdict(certified(service), "does not change during")[0] == "contradicted"


def test_delays_that_tell_the_reward_are_found(service, clock):
    create(service, GUARD | {"guarantee": {"sigma": 0.5, "open": "lower"}})
    drive(
        service,
        clock,
        {"low": 0.5, "mid": 0.5, "high": 0.5},
        200,
        lambda arm, value: 2 if value else 100,
    )
    assert verdict(certified(service), "When a reward arrives")[0] == "contradicted"


def test_rounds_without_the_baseline_are_counted(service, clock):
    create(service, GUARD)
    drive(service, clock, {"low": 0.5, "mid": 0.5, "high": 0.5}, 3, excluded=["mid"])
    drive(service, clock, {"low": 0.5, "mid": 0.5, "high": 0.5}, 3, seed=1, eligible=["low", "mid"])
    assert verdict(certified(service), "can be played in every round") == (
        "contradicted",
        "It was not eligible in 3 rounds.",
    )


def test_a_decision_is_cancelled_before_its_arm_was_shown_or_not_at_all(service, clock):
    create(service, GUARD | {"cancel_within": "30s"})
    for id in ("a", "b"):
        decide(service, id)
    clock.now += 30 * 10**6
    ask(service, commands.cancel, "a")
    clock.now += 1
    refused(
        409,
        ask,
        service,
        commands.cancel,
        "b",
        match=r"could be cancelled until .* report its reward",
    )
    decide(service, "c", deferred=True)
    decide(service, "d", deferred=True)
    clock.now += 600 * 10**6
    ask(service, commands.cancel, "c")
    ask(service, commands.activate, "d")
    refused(409, ask, service, commands.cancel, "d", match="was activated, so it was shown")


def test_who_cancels_what_did_not_sell_is_told_on_the_certificate_and_the_board(service, clock):
    """The attack: visits that were not sold are cancelled. The bound says so even where nothing
    else can be seen."""
    create(
        service,
        GUARD | {"policy": {"policy": "EpsilonGreedy", "epsilon": 0.5}, "baseline_mean": 0.9},
    )
    draws = np.random.default_rng(0)
    true_budget, means = 0.0, {"low": 0.1, "mid": 0.9, "high": 0.2}
    for n in range(900):
        arm = decide(service, f"d{n}")["arm"]
        true_budget += means[arm] - 0.9 * 0.9
        if draws.random() < means[arm]:
            reward(service, f"d{n}", 1.0)
        else:
            ask(service, commands.cancel, f"d{n}")
    found = certified(service)
    assert (
        found["budget"]["bound"]
        > true_budget + 5.0
        > found["budget"]["bound_if_cancelled_were_shown"] + 5.0
    )
    assert verdict(found, "cancelled decisions count for nothing")[0] == "contradicted"
    shown = page_of(*standing_and_history(service))
    assert any("cancelled" in one.says for one in shown["warnings"])


def test_new_arms_come_under_a_promise_and_the_log_replays(service, clock):
    create(service, GUARD)
    drive(service, clock, {"low": 0.4, "mid": 0.5, "high": 0.6}, 60)
    told = ask(service, commands.add_arms, ArmsRequest(arms=[{"id": "bold"}]))
    assert [arm["id"] for arm in told["arms"]] == ["low", "mid", "high", "bold"]
    drive(service, clock, {"low": 0.4, "mid": 0.5, "high": 0.6, "bold": 0.9}, 200, seed=1)
    found, now = certified(service), state(service)
    assert found["budget"]["bound"] >= 0.0 and "do not rely" not in found["promise"]
    assert history_of(service, "price", now["seq"]).arms["bold"].plays > 0
    check_replay(service)


def test_sentences_call_arms_by_their_ids(service):
    spec = {
        "name": "price",
        "policy": "LinUCB",
        "baseline": "mid",
        "baseline_mean": 0.5,
        "alpha": 0.1,
    }
    arms = [{"id": "low", "features": [0.1, 0.5]}, {"id": "mid", "features": [0.5, 0.5]}]
    refused(
        422,
        create,
        service,
        spec | {"arms": [*arms, {"id": "high", "features": [3.0, 4.0]}]},
        match="arm 'high' has norm 5,",
    )
    create(service, spec | {"arms": arms})
    refused(
        422,
        ask,
        service,
        commands.add_arms,
        ArmsRequest(arms=[{"id": "huge", "features": [6.0, 8.0]}]),
        match="arm 'huge' has norm 10,",
    )
    create(service, {"name": "own", "policy": "LinUCB", "dimension": 2, "alpha": 0.1})
    with pytest.raises(Refused, match="arm 'far' has norm 5,"):
        context = {"near": [0.1, 0.1], "far": [3.0, 4.0]}
        decide(service, "a", "own", context=context, baseline="near", baseline_mean=0.5)


def test_never_below_is_the_minimum_over_all_decisions(service, clock):
    create(service, GUARD | {"policy": {"policy": "EpsilonGreedy", "epsilon": 0.5}})
    draws, lowest = np.random.default_rng(3), math.inf
    for n in range(150):
        clock.now += 10**6
        made = decide(service, f"d{n}")
        lowest = min(
            lowest,
            ask(service, lambda transaction: transaction.experiment.holdings())["budget_bound"],
        )
        if n % 3:
            reward(service, made["id"], float(draws.random() < 0.3))
    assert certified(service)["budget"]["lowest_bound"] == lowest < 0.1
