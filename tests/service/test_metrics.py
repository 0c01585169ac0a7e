"""Experiments that are rewarded with several metrics and keep several promises about them."""

import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from running import (
    ask,
    check_replay,
    crash,
    create,
    decide,
    error,
    place,
    refused,
    service_at,
    standing_and_history,
    state,
)

from tightrope_service import commands
from tightrope_service.certificate import certificate
from tightrope_service.requests import RewardRequest
from tightrope_service.spec import ExperimentSpec, check_spec, made_session
from tightrope_service.transfer import write_dsjson, write_parquet
from tightrope_service.writer import close_windows

SHOP = {
    "name": "price",
    "policy": "GaussianThompson",
    "arms": [{"id": "low"}, {"id": "mid"}, {"id": "high"}],
    "baseline": "mid",
    "metrics": {"revenue": [0, 500], "conversion": [0, 1], "cost": [0, 20]},
    "baseline_mean": {"conversion": 0.2, "cost": 1.0},
    "promises": [
        {"alpha": 0.1},
        {"metric": "conversion", "alpha": 0.2},
        {"metric": "cost", "ceiling": 1.5},
    ],
    "window": None,
    "seed": 4,
}
REWARDS, DECISIONS = "/v1/experiments/price/rewards", "/v1/experiments/price/decisions"
ALL = {"revenue": 40.0, "conversion": 1.0, "cost": 2.0}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"promises": None}, "metrics was given without promises"),
        ({"alpha": 0.1}, "alpha was given beside promises"),
        ({"rewards": [0, 1]}, "rewards was given beside metrics"),
        ({"metrics": None, "baseline_mean": 0.5}, "metric = 'conversion' is not in metrics"),
        ({"baseline_mean": 0.5}, "baseline_mean = 0.5 does not say of which metric"),
        ({"baseline_mean": {"visits": 1.0}}, "baseline_mean has 'visits', which is not in metrics"),
        ({"baseline_mean": {"conversion": 0.2}}, "baseline_mean of cost is missing"),
        ({"baseline_mean": {"cost": {"de": 1.0}}}, "baseline_means was given without promise_by"),
        ({"baseline_mean": {"conversion": 0.2, "cost": 1.6}}, "itself breaks the promise"),
        ({"default_reward": {"revenue": 0.0}}, "default_reward lacks conversion, cost"),
        ({"default_reward": dict.fromkeys(SHOP["metrics"], -1.0)}, "is outside rewards = [0, 500]"),
        ({"baseline": None}, "promises need one arm that is the baseline"),
        ({"policy": "CUCB2"}, "a policy that keeps a budget itself"),
        ({"policy": "KLUCB"}, "KLUCB takes rewards in [0, 1]"),
        ({"promises": [{"alpha": 0.1, "by": "country"}]}, "by = 'country' is not in segments"),
        ({"promises": [{"alpha": 0.1, "floor": 0.1}]}, "exactly one of alpha, ceiling and floor"),
        (
            {"sticky": {"lasts": "1d", "reward": "sum"}, "window": "1d"},
            "sticky.reward = 'sum' was given beside metrics",
        ),
        ({"rollout": {"least_budget": {"visits": 0.0}}}, "rollout.least_budget has 'visits'"),
    ],
)
def test_what_cannot_be_promised_is_refused(change, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        spec = ExperimentSpec.model_validate(SHOP | change)
        check_spec(spec)
        made_session(spec)


def test_values_come_one_by_one_over_http(served):
    assert served("POST", "/v1/experiments", SHOP).status_code == 201
    for id in ("a", "b", "c"):
        assert served("POST", DECISIONS, {"id": id}, "decide").json()["arm"] == "mid"

    def told(status=200, **body):
        answer = served("POST", REWARDS, {"decision_id": "a"} | body, "decide")
        return answer.json() if status == 200 else error(answer, status)

    assert told(values={"conversion": 1.0})["learned"]
    assert not told(values={"conversion": 1.0})["learned"]
    assert "was rewarded otherwise" in told(409, values={"conversion": 0.0})["message"]
    assert "does not say of which metric" in told(422, value=40.0)["message"]
    assert "'visits', which is not a metric" in told(422, values={"visits": 1.0})["message"]
    assert "is outside rewards = [0, 1]" in told(422, values={"conversion": 2.0})["message"]
    assert "are both missing" in told(422)["message"]
    assert "are both given" in told(422, value=1.0, values=ALL)["message"]
    standing = served("GET", "/v1/experiments/price", None, "read").json()
    assert standing["open"] == 3
    assert told(values={"revenue": 40.0, "cost": 2.0})["learned"]
    batch = {"rewards": [{"decision_id": id, "values": ALL} for id in ("b", "c")]}
    assert served("POST", f"{REWARDS}:batch", batch, "decide").status_code == 200
    standing = served("GET", "/v1/experiments/price", None, "read").json()
    assert standing["open"] == 0
    rollout = served("GET", "/v1/experiments/price/mode", None, "read").json()
    assert (
        rollout["budget_bound"].keys() == SHOP["metrics"].keys() == rollout["least_budget"].keys()
    )
    report = served("GET", "/v1/experiments/price/certificate", None, "read").json()
    assert (
        "all of this holds at once, in every round: (1) the expected revenue of all decisions"
        in (report["promise"])
    )
    assert (
        "(2) the expected conversion of all decisions so far is at least 0.8 times"
        in (report["promise"])
    )
    assert (
        "(3) the expected cost of all decisions so far is at most 1.5 a decision"
        in (report["promise"])
    )
    assert "may be used for good" in report["promise"]
    assert [one["metric"] for one in report["budget"]["promises"]] == [*SHOP["metrics"]]
    signed = served("POST", "/board/login", f"key={served.keys['read']}".encode(), None)
    cookie = {"Cookie": signed.headers["set-cookie"].split(";")[0]}
    page = served("GET", "/board/experiments/price", None, None, **cookie).text
    assert page.count("</strong> in hand") == 3
    report = served("GET", "/board/experiments/price/certificate", None, None, **cookie).text
    assert report.count("</strong>, never below <strong>") == 3
    assert "expected cost of all decisions so far is at most 1.5 a decision" in page
    one = SHOP | {"name": "one", "promises": [SHOP["promises"][2]]}
    assert served("POST", "/v1/experiments", one).status_code == 201
    page = served("GET", "/board/experiments/one", None, None, **cookie).text
    assert "cost in hand, expected cost of all decisions so far is at most 1.5 a decision" in page


def rewarded(service, id, values):
    return ask(service, commands.reward, RewardRequest(decision_id=id, values=values))


MEANS = {"low": (30.0, 0.30, 0.8), "mid": (30.0, 0.20, 1.0), "high": (60.0, 0.05, 1.2)}


def played(service, clock, number, seed=1, late=30):
    """Visits; conversion is told at once, cost later, revenue last. Returns the true budgets."""
    rng, true, waiting = np.random.default_rng(seed), np.zeros(3), []
    for n in range(number):
        id = f"{seed}-{n}"
        revenue, conversion, cost = MEANS[decide(service, id)["arm"]]
        true += [revenue - 0.9 * 30.0, conversion - 0.8 * 0.2, 1.5 - cost]
        rewarded(service, id, {"conversion": float(rng.random() < conversion)})
        waiting.append(
            (id, 500.0 * (rng.random() < revenue / 500), 20 * (rng.random() < cost / 20))
        )
        clock.now += 10**6
        if len(waiting) > late:
            told, r, c = waiting.pop(0)
            rewarded(service, told, {"cost": float(c)})
            rewarded(service, told, {"revenue": float(r)})
    return true


def test_every_promise_has_a_budget_below_the_truth_and_assumptions_of_its_metric(service, clock):
    create(service, SHOP)
    true = played(service, clock, 600)
    standing, history = standing_and_history(service)
    made = certificate(standing, history, b"k" * 32, 0)
    for one, budget in zip(made["budget"]["promises"], true, strict=True):
        assert one["lowest_bound"] <= one["bound"] <= budget + 1e-9
    assert {one.metric: one.rewards for one in (history, *history.others.values())} == {
        "revenue": 570,
        "conversion": 600,
        "cost": 570,
    }
    said = {one["says"]: one["verdict"] for one in made["assumptions"]}
    assert said["cost: Every reward is within the declared range."] == "holds"
    assert (
        said["conversion: The baseline earns 0.2 on average, or what a round said that it earns."]
        == "agrees"
    )
    assert said["revenue: The baseline's mean is learned."] == "holds"


def test_a_wrong_mean_of_one_metric_is_contradicted_and_named(service, clock):
    create(service, SHOP | {"baseline_mean": {"conversion": 0.6, "cost": 1.0}})
    played(service, clock, 400)
    standing, history = standing_and_history(service)
    made = certificate(standing, history, b"k" * 32, 0)
    (broken,) = [one for one in made["assumptions"] if one["verdict"] == "contradicted"]
    assert broken["says"].startswith("conversion: The baseline earns 0.6")
    assert "do not rely on it" in made["promise"]


def test_a_default_stands_for_each_value_that_is_missing(service, clock):
    create(service, SHOP | {"window": "1h", "default_reward": dict.fromkeys(SHOP["metrics"], 0.0)})
    decide(service, "a")
    rewarded(service, "a", {"revenue": 20.0})
    clock.now += 2 * 3600 * 10**6
    ask(service, commands.describe)
    ask(service, close_windows)
    standing, history = standing_and_history(service)
    assert standing["open"] == 0 and history.total == 20.0
    assert standing["rollout"]["rewards_in_mode"] == 1
    assert [one.defaulted for one in (history, *history.others.values())] == [0, 1, 1]
    refused(410, rewarded, service, "a", {"conversion": 1.0}, match="logged, not learned")
    assert standing_and_history(service)[1].others["conversion"].late == 1
    check_replay(service)


def test_a_restart_a_replay_and_an_export_keep_every_value(tmp_path, clock):
    path = place(tmp_path / "a.db")
    with service_at(path, clock) as first:
        create(first, SHOP | {"outside": "clip"})
        played(first, clock, 50)
        decide(first, "clipped")
        rewarded(first, "clipped", {"revenue": 900.0, "conversion": 0.5})
        before = ask(first, commands.describe_standing), state(first)
        crash(first)
    with service_at(path, clock) as second:
        after = ask(second, commands.describe_standing), state(second)
        assert after[0]["holdings"]["promises"] == before[0]["holdings"]["promises"]
        assert after[1] == before[1]
        check_replay(second)
        with second.database.read() as connection:
            write_parquet(connection, 1, "price", tmp_path / "a.parquet")
            write_dsjson(connection, 1, "price", tmp_path / "a.json")
    rows = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert len(rows) == 51 and {one["reward"] == one["metric_revenue"] for one in rows} == {True}
    assert (rows[-1]["reward"], rows[-1]["metric_conversion"], rows[-1]["metric_cost"]) == (
        500.0,
        0.5,
        None,
    )
    assert len((tmp_path / "a.json").read_text().splitlines()) == 21


def test_a_rule_goes_back_when_the_budget_of_any_metric_falls(service, clock):
    levels = {"conversion": 5.0, "revenue": -1e9, "cost": -1e9}
    known = {"revenue": 50.0, "conversion": 0.2, "cost": 1.0}
    rollout = {"mode": "full", "least_budget": levels}
    create(service, SHOP | {"rollout": rollout, "baseline_mean": known})
    bad = False
    for n in range(600):
        id = f"d{n}"
        arm = decide(service, id)["arm"]
        bad = bad or ask(service, commands.describe_rollout)["budget_bound"]["conversion"] > 8
        conversion = 0.0 if bad and arm != "mid" else 1.0
        revenue = 50.0 if arm == "mid" else 500.0
        rewarded(service, id, {"revenue": revenue, "conversion": conversion, "cost": 0.0})
        clock.now += 10**6
        if ask(service, commands.describe_rollout)["held"]:
            break
    _, history = standing_and_history(service)
    assert history.modes[-1]["mode"] == "shadow"
    assert "the lower bound of the budget of conversion" in history.modes[-1]["why"]
