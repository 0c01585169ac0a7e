"""Judging any policy on an experiment's log, in a process of its own."""

import base64

import numpy as np
import pytest
from running import error, refused

import tightrope as tr
from tightrope_service.requests import EvaluationRequest
from tightrope_service.service import judge_apart

MEANS = {"low": 0.2, "mid": 0.4, "high": 0.8}
ARMS = [*MEANS]
UNIFORM = {
    "name": "coin",
    "policy": {"policy": "Explore", "inner": {"policy": "UCB"}, "floor": 1 / 3},
    "arms": [{"id": arm} for arm in ARMS],
}


@pytest.fixture
def coin(served):
    """A service with a log of 600 decisions whose arms were drawn uniformly."""
    assert served("POST", "/v1/experiments", UNIFORM).status_code == 201
    rng = np.random.default_rng(0)
    made = served(
        "POST",
        "/v1/experiments/coin/decisions:batch",
        {"decisions": [{} for _ in range(600)]},
        "decide",
    ).json()["results"]
    answers = [one["answer"] for one in made]
    told = [
        {"decision_id": one["id"], "value": float(rng.random() < MEANS[one["arm"]])}
        for one in answers
    ]
    served("POST", "/v1/experiments/coin/rewards:batch", {"rewards": told}, "decide")
    return served


def judged(served, body, status=200, key="read"):
    answer = served("POST", "/v1/experiments/coin/evaluate", body, key)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_policy_that_learns_is_judged_as_by_the_library(coin):
    found = judged(coin, {"policy": {"policy": "UCB", "alpha": 0.5}, "method": "replay", "seed": 3})
    assert (
        0.6 < found["value"] < 0.9
        # it learns that "high" is best, which a policy that always plays one arm would show as .2,
        # .4 or .8
    )
    log = coin("GET", "/v1/experiments/coin/log?limit=2000").json()["events"]
    decided = [one for one in log if one["kind"] == "decided"]
    values = {one["decision"]: one["body"]["value"] for one in log if one["kind"] == "rewarded"}
    table = {
        "arm": [one["body"]["name"] for one in decided],
        "reward": [values[one["decision"]] for one in decided],
        "propensity": [one["body"]["propensity"] for one in decided],
    }
    same = tr.evaluate_learner(
        tr.logs.from_frame(table, arms=ARMS), tr.UCB(alpha=0.5), method="replay", seed=3
    )
    assert found["value"] == pytest.approx(same.value, abs=1e-12)


def test_probabilities_arms_and_sessions_are_judged(coin):
    by_arm = {arm: judged(coin, {"policy": {"arm": arm}})["value"] for arm in MEANS}
    assert all(abs(by_arm[arm] - mean) < 0.12 for arm, mean in MEANS.items())
    assert by_arm["high"] == pytest.approx(
        coin("GET", "/v1/experiments/coin/evaluate?arm=high").json()["value"], abs=1e-12
    )
    mixed = judged(coin, {"policy": {"probabilities": [0.0, 0.5, 0.5]}})["value"]
    assert mixed == pytest.approx((by_arm["mid"] + by_arm["high"]) / 2, abs=1e-9)
    uniform = judged(coin, {"policy": {"probabilities": "uniform"}})["value"]
    assert uniform == pytest.approx(sum(by_arm.values()) / 3, abs=1e-9)
    session = tr.Session(tr.UCB(), arms=ARMS)
    for _ in range(30):
        decision = session.decide()
        session.reward(decision.id, MEANS[decision.name])
    saved = judged(coin, {"session": base64.b64encode(session.to_bytes()).decode()})["value"]
    assert saved == pytest.approx(by_arm[session.decide().name], abs=1e-9)


@pytest.mark.parametrize(
    "body, words",
    [
        ({}, "give one of them"),
        ({"policy": {"arm": "low"}, "session": "AAAA"}, "give one of them"),
        ({"policy": {}}, "exactly one of policy, probabilities and arm"),
        ({"policy": {"policy": "UCB"}}, "method = 'replay'"),
        ({"policy": {"policy": "Nobody"}, "method": "replay"}, "Nobody"),
        ({"policy": {"policy": "UCB", "alpha": -1}, "method": "replay"}, "alpha = -1"),
        ({"policy": {"arm": "huge"}}, "huge"),
        ({"policy": {"arm": "low"}, "method": "replay"}, "leave it out"),
        ({"policy": {"probabilities": [0.5, 0.5]}}, "must be (n, K) = (600, 3)"),
        ({"session": base64.b64encode(b"no session").decode()}, "not a session file"),
        ({"session": "not base64"}, "session is not base64"),
    ],
)
def test_what_cannot_be_judged_is_a_sentence(coin, body, words):
    assert (
        words in error(coin("POST", "/v1/experiments/coin/evaluate", body, "read"), 422)["message"]
    )


def test_a_policy_that_takes_too_long_is_left_and_its_process_ended(monkeypatch):
    log = tr.logs.from_frame(
        {"arm": [0, 1] * 50, "reward": [0.0, 1.0] * 50, "propensity": [0.5] * 100}
    )
    asked = EvaluationRequest(policy={"policy": "UCB"}, method="replay")
    refused(
        422,
        judge_apart,
        log,
        asked,
        None,
        seconds=0.01,
        match="export the log and judge it with tightrope evaluate",
    )
    assert judge_apart(log, asked, None)["value"] > 0.0


def test_judging_needs_a_key_that_may_read(coin):
    assert (
        coin(
            "POST", "/v1/experiments/coin/evaluate", {"policy": {"arm": "low"}}, key=None
        ).status_code
        == 401
    )
