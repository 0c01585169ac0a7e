"""Flags over HTTP, as OpenFeature's remote evaluation protocol asks for them."""

import pytest
import sqlalchemy as sa
from running import PRICES, error

from tightrope_service import commands, keys

FLAGS = "/ofrep/v1/evaluate/flags"


@pytest.fixture
def flags(served):
    """A function that evaluates a flag, or all of them, and says what the answer is."""

    def evaluate(name=None, key="decide", status=200, **context):
        path = FLAGS if name is None else f"{FLAGS}/{name}"
        found = served("POST", path, {"context": context}, key)
        assert found.status_code == status, found.text
        return found.json()

    return evaluate


def create(served, **spec):
    assert served("POST", "/v1/experiments", PRICES | spec).status_code == 201


def events(served, name="price"):
    return [
        (event["kind"], event["body"])
        for event in served("GET", f"/v1/experiments/{name}/log").json()["events"]
    ]


def reward(served, flag, value=1.0):
    body = {"decision_id": flag["metadata"]["decision_id"], "value": value}
    return served("POST", f"/v1/experiments/{flag['key']}/rewards", body, "decide")


def failed(answer, code, key="price"):
    assert (answer["errorCode"], answer["key"]) == (code, key)
    assert answer["errorDetails"].endswith(".")
    return answer["errorDetails"]


@pytest.mark.usefixtures("served_price")
def test_an_evaluation_is_one_decision_whose_reward_reaches_its_arm(served, flags):
    flag = flags("price", targetingKey="user-77", plan="gold")
    assert set(flag) == {"key", "reason", "variant", "value", "metadata"}
    assert flag["key"] == "price" and flag["value"] == flag["variant"] in ("low", "mid", "high")
    assert flag["reason"] == "SPLIT" and 0.0 < flag["metadata"]["propensity"] < 1.0
    assert reward(served, flag, 0.75).json()["learned"]
    (_, (kind, decided), (last, rewarded)) = events(served)
    assert (kind, last, rewarded["value"]) == ("decided", "rewarded", 0.75)
    assert decided["name"] == flag["variant"] and decided["asked"] == {"subject": "user-77"}
    explained = served("GET", "/v1/experiments/price/explain").json()
    mean = dict(zip(explained["arms"], explained["explanation"]["mean"], strict=True))
    assert mean[flag["variant"]] == 0.75


def test_an_evaluation_asks_what_a_decision_asks(served, flags):
    known = {"features": {"country": "category", "age": "number"}, "segments": {"plan": ["gold"]}}
    for name in ("flag", "named", "decision"):
        create(served, **known, name=name, policy="LinTS")
    context, segments = {"country": "de", "age": 31}, {"plan": "gold"}
    who = {"targetingKey": "user-1", "decision_id": "visit-1", "excluded": ["low"]}
    body = {"id": "visit-1", "subject": "user-1", "excluded": ["low"]}
    body |= {"context": context, "segments": segments}
    path = "/v1/experiments/decision/decisions"
    made = served("POST", path, body, "decide").json()
    flat = flags("flag", **who, **context, **segments, city="Ulm")
    given = flags("named", **who, context=context, segments=segments)
    (asked,) = [body["asked"] for kind, body in events(served, "decision") if kind == "decided"]
    for flag in (flat, given):
        assert [body["asked"] for _, body in events(served, flag["key"])[1:]] == [asked]
        assert flag["variant"] == made["arm"]
        assert flag["metadata"] == {
            "decision_id": made["id"],
            "propensity": made["propensity"],
            "event": made["event"],
            "why": made["reason"],
        }
    assert flags("flag", **who, **context, **segments) == flat and len(events(served, "flag")) == 2
    failed(flags("flag", status=400, **who), "GENERAL", "flag")  # the id was decided for another


@pytest.mark.parametrize(
    ("arms", "values"),
    [
        (("low", "high"), ["low", "high"]),
        (("true", "false"), [True, False]),
        (("On", "off"), [True, False]),
        (("9", "11"), [9, 11]),
        (("9.90", "11.90"), [9.9, 11.9]),
        (("9", "11.90"), [9.0, 11.9]),
        (('{"colour": "red"}', "{}"), [{"colour": "red"}, {}]),
        (("[1]", "null"), ["[1]", "null"]),
        (("9", "none"), ["9", "none"]),
        (("true", "1"), ["true", "1"]),
        (("NaN", "1"), ["NaN", "1"]),
    ],
)
def test_a_value_is_of_the_kind_of_all_arms(served, flags, arms, values):
    create(served, policy="UCB", arms=[{"id": arm} for arm in arms])
    made = []
    for _ in arms:  # UCB plays each once
        made.append(flags("price"))
        reward(served, made[-1])
    assert [flag["variant"] for flag in made] == list(arms)
    assert {flag["reason"] for flag in made} == {"TARGETING_MATCH"}
    found = [flag["value"] for flag in made]
    assert found == values and [*map(type, found)] == [*map(type, values)]


def test_a_new_arm_of_another_kind_makes_all_of_them_text(served, flags):
    create(served, policy="UCB", arms=[{"id": "9"}, {"id": "11"}])
    flag = flags("price")
    assert flag["value"] == 9
    served("POST", "/v1/experiments/price/arms", {"arms": [{"id": "free"}]})
    reward(served, flag)
    assert flags("price")["value"] == "11"


def test_a_set_of_arms_is_an_object(served, flags):
    arms = [{"id": id, "features": row} for id, row in (("a", [1, 0]), ("b", [0, 1]))]
    create(served, policy="C2UCB", arms=arms, oracle={"oracle": "TopK", "k": 2})
    flag = flags("price")
    assert sorted(flag["value"]["arms"]) == ["a", "b"]
    assert flag["variant"] == ", ".join(flag["value"]["arms"])
    assert flag["metadata"]["propensity"] <= 1.0


def test_a_sticky_flag_is_one_decision_for_many_evaluations(served, flags):
    create(served, sticky={"lasts": "1h", "reward": "sum"}, rewards=[0, 9])
    assert len({str(flags("price", targetingKey="user-1")) for _ in range(8)}) == 1
    assert [kind for kind, _ in events(served)] == ["created", "decided"]
    flags("price", targetingKey="user-2")
    assert len(events(served)) == 3
    for nobody in ({}, {"targetingKey": ""}, {"targetingKey": None}):
        told = failed(flags("price", status=400, **nobody), "TARGETING_KEY_MISSING")
        assert "'price' is sticky" in told


@pytest.mark.usefixtures("served_price")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "PARSE_ERROR"),
        (b"", "PARSE_ERROR"),
        ([], "PARSE_ERROR"),
        ({"context": 7}, "INVALID_CONTEXT"),
        ({"context": {"targetingKey": 7}}, "INVALID_CONTEXT"),
        ({"context": {"decision_id": ".."}}, "INVALID_CONTEXT"),
        ({"context": {"eligible": ["none"]}}, "INVALID_CONTEXT"),
        ({"context": {"segments": {"country": "de"}}}, "INVALID_CONTEXT"),
        ({"context": {"context": [1.0, 2.0]}}, "INVALID_CONTEXT"),
        (b'{"context": {"targetingKey": "a", "targetingKey": "b"}}', "INVALID_CONTEXT"),
    ],
)
def test_what_is_not_an_evaluation_is_refused(served, body, code):
    found = served("POST", f"{FLAGS}/price", body, "decide")
    assert found.status_code == 400 and failed(found.json(), code)
    if code == "PARSE_ERROR":  # for all flags at once there is no key to name
        found = served("POST", FLAGS, body, "decide")
        assert (found.status_code, found.json()["errorCode"]) == (400, code)
        assert "key" not in found.json()
    assert len(events(served)) == 1


@pytest.mark.usefixtures("served_price")
@pytest.mark.parametrize("body", [{}, {"context": None}, {"context": {}, "more": 1}])
def test_a_context_may_be_left_out(served, body):
    assert served("POST", f"{FLAGS}/price", body, "decide").status_code == 200


@pytest.mark.usefixtures("served_price")
def test_an_experiment_that_does_not_run_has_no_value(served, flags):
    assert "does not exist" in failed(flags("nothing", status=404), "FLAG_NOT_FOUND", "nothing")
    for action, told in (("pause", "resume it first"), ("archive", "is archived")):
        served("POST", f"/v1/experiments/price/{action}")
        assert told in failed(flags("price", status=400), "GENERAL")


@pytest.mark.usefixtures("served_price")
def test_keys_hold_as_elsewhere(served):
    def send(path, key):
        return served("POST", path, {}, key)

    with served.service.database.write() as connection:
        served.keys["shop"] = keys.create(connection, "decide", experiments=["shop-*"])
    served.service.keys.refresh()
    create(served, name="shop-a", sticky={"lasts": "1h"})
    for path in (FLAGS, f"{FLAGS}/price"):
        assert error(send(path, None), 401) and error(send(path, "tr_unknown"), 401)
        assert "may read" in error(send(path, "read"), 403)["message"]
    assert "is for experiments shop-*" in error(send(f"{FLAGS}/price", "shop"), 403)["message"]
    assert send(f"{FLAGS}/shop-a", "shop").json()["errorCode"] == "TARGETING_KEY_MISSING"
    assert [flag["key"] for flag in send(FLAGS, "shop").json()["flags"]] == ["shop-a"]
    slow = [send(f"{FLAGS}/price", "slow") for _ in range(4)]
    assert slow[0].status_code == 200
    assert error(slow[-1], 429) and int(slow[-1].headers["Retry-After"]) >= 1


@pytest.mark.usefixtures("served_price")
def test_an_error_of_the_service_has_the_body_of_the_protocol(served, monkeypatch):
    def fail(*given):
        raise RuntimeError("planted")

    monkeypatch.setattr(commands, "decide", fail)  # in the writer's thread
    monkeypatch.setattr("tightrope_service.ofrep.covered", fail)  # and beside it
    for path in (f"{FLAGS}/price", FLAGS):
        found = served("POST", path, {}, "decide")
        assert found.status_code == 500 and found.json().keys() == {"errorDetails"}

    def away(*given):
        raise sa.exc.OperationalError("SELECT 1", {}, OSError("connection refused"))

    monkeypatch.setattr("tightrope_service.ofrep.covered", away)
    assert int(served("POST", FLAGS, {}, "decide").headers["Retry-After"]) >= 1


def test_all_flags_are_those_that_keep_their_arm_and_count_once_shown(served, flags):
    create(served, name="sticky", sticky={"lasts": "1h"})
    create(served, name="drawn")
    create(served, name="ended", sticky={"lasts": "1h"})
    served("POST", "/v1/experiments/ended/pause")
    create(served, name="other", sticky={"lasts": "1h"}, segments={"plan": ["gold"]})
    first = flags(targetingKey="user-1", plan=7)["flags"]
    assert [one["key"] for one in first] == ["other", "sticky"]
    assert "plan" in failed(first[0], "INVALID_CONTEXT", "other")
    assert [kind for kind, _ in events(served, "sticky")] == ["created", "decided"]
    assert "activate it" in error(reward(served, first[1]), 409)["message"]
    id = first[1]["metadata"]["decision_id"]
    path = f"/v1/experiments/sticky/decisions/{id}/activate"
    assert [served("POST", path, None, "decide").status_code for _ in range(2)] == [200, 200]
    assert reward(served, first[1]).json()["learned"]
    assert [kind for kind, _ in events(served, "sticky")][2:] == ["activated", "rewarded"]
    for name in ("drawn", "ended"):
        assert [kind for kind, _ in events(served, name) if kind == "decided"] == []
    codes = {one["errorCode"] for one in flags()["flags"]}
    assert codes == {"TARGETING_KEY_MISSING"}


def test_a_flag_that_was_among_all_counts_once_it_is_evaluated(served, flags):
    create(served, sticky={"lasts": "1h"})
    (listed,) = flags(targetingKey="user-1")["flags"]
    assert flags("price", targetingKey="user-1") == listed
    assert [kind for kind, _ in events(served)] == ["created", "decided", "activated"]
    assert reward(served, listed).json()["learned"]


def test_the_same_flags_are_not_sent_twice(served):
    def send(subject, tag):
        body = {"context": {"targetingKey": subject}}
        return served("POST", FLAGS, body, "decide", **{"If-None-Match": tag})

    create(served, sticky={"lasts": "1h"})
    first = send("user-1", "")
    same = send("user-1", f'"other", {first.headers["ETag"]}')
    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["ETag"] == first.headers["ETag"]
    assert send("user-2", first.headers["ETag"]).status_code == 200
    assert len(events(served)) == 3


def test_all_flags_count_one_by_one_against_the_limit_of_a_key(served):
    for number in range(4):
        create(served, name=f"flag-{number}", sticky={"lasts": "1h"})
    body = {"context": {"targetingKey": "user-1"}}
    assert len(served("POST", FLAGS, body, "slow").json()["flags"]) == 4
    assert error(served("POST", FLAGS, body, "slow"), 429)
