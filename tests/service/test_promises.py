"""What the service says must be true: rewards stay in their range, nobody renames the baseline, cancellations are told."""

import asyncio

import pytest
from running import PRICES, ask, create, decide, reward, state

from tightrope.service.domain.errors import Refused
from tightrope.service.runtime import commands
from tightrope.service.runtime.certificates import issue

GUARD = PRICES | {"policy": "UCB", "baseline": "mid", "baseline_mean": 0.5, "alpha": 0.1, "guarantee": {"sigma": 0.5}}
SHADOW = {"mode": "shadow", "rewards": [-1.0, 2.0]}


def refused(call, *arguments, match, field, **more):
    with pytest.raises(Refused, match=match) as error:
        call(*arguments, **more)
    assert (error.value.status, error.value.field) == (422, field)


@pytest.mark.parametrize(
    ("more", "low", "high"),
    [
        ({}, 0.0, 1.0),  # a guarantee
        ({"alpha": None, "guarantee": {}, "rewards": [0.0, 12.0]}, 0.0, 12.0),
        ({"rewards": [0.0, 0.5]}, 0.0, 0.5),
        ({"alpha": None, "guarantee": {}, "rollout": SHADOW, "default_reward": -1.0}, -1.0, 2.0),
        ({"policy": "CUCB2", "guarantee": {}, "baseline_mean": 0.5}, 0.0, 1.0),  # a policy that keeps a budget by itself
    ],
)
def test_a_reward_outside_its_range_is_refused_and_nothing_is_learned(service, more, low, high):
    create(service, GUARD | more)
    decide(service, "a")
    before = state(service)
    for value in (low - 0.01, high + 0.01, 1e308, -1e308):
        refused(reward, service, "a", value, match="is outside rewards", field="value")
    assert state(service) == before
    assert reward(service, "a", high)["learned"]


def test_every_reward_of_a_set_is_in_the_range(service):
    rows = [{"id": f"f{k}", "features": row} for k, row in enumerate([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])]
    spec = {"name": "set", "policy": "C2UCB", "arms": rows, "oracle": {"oracle": "TopK", "k": 2}, "rewards": [0.0, 1.0]}
    create(service, spec)
    first, second = decide(service, "a", "set")["arm"]
    refused(reward, service, "a", {first: 0.5, second: 1.5}, "set", match="1.5 is outside rewards", field="value")
    assert reward(service, "a", {first: 0.5, second: 1.0}, "set")["learned"]


def test_an_experiment_without_a_promise_and_without_a_range_takes_any_reward(service):
    create(service)
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
    "asked", [{"baseline": "low"}, {"baseline": "mid"}, {"baseline_mean": 0.0}, {"baseline": "low", "baseline_mean": 0.0}]
)
@pytest.mark.parametrize("more", [{}, {"rollout": {"mode": "capped"}}, {"alpha": None, "guarantee": {}, "rollout": {"mode": "shadow"}}])
def test_a_request_does_not_rename_the_baseline(service, more, asked):
    create(service, GUARD | more)
    before = state(service)
    refused(decide, service, "a", match="in every round; leave it out", field=next(iter(asked)), **asked)
    assert state(service) == before


def test_a_request_does_not_replace_what_production_plays(service):
    create(service, PRICES | {"rollout": {"mode": "shadow", "production": {"low": 0.5, "mid": 0.5}}})
    refused(decide, service, "a", match="rollout.production", field="baseline", baseline="high")


def test_a_rounds_own_baseline_comes_with_its_own_mean(service):
    create(service, PRICES | {"policy": {"policy": "CUCB2", "alpha": 0.1}, "baseline_mean": 0.9})
    refused(decide, service, "a", match="say what 'low' earns on average", field="baseline_mean", baseline="low")
    assert decide(service, "b", baseline="low", baseline_mean=0.2)["arm"] == "low"
    assert ask(service, commands.describe_rollout)["mode"] == "full"


def test_the_certificate_counts_cancelled_decisions_and_says_what_that_assumes(service):
    create(service, GUARD)
    decide(service, "a")
    before = asyncio.run(issue(service, "price"))
    assert before["cancelled"] == 0 and not any("cancelled" in sentence for sentence in before["assumptions"])
    ask(service, commands.cancel, "a")
    after = asyncio.run(issue(service, "price"))
    assert after["cancelled"] == 1
    assert any(sentence.startswith("1 cancelled decision ") for sentence in after["assumptions"])
