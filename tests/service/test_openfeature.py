"""The OpenFeature provider against a running service."""

import pytest
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.flag_evaluation import ErrorCode
from openfeature.track import TrackingEventDetails
from running import PRICES, Process

from tightrope_service.openfeature import TightropeProvider


def test_evaluating_decides_and_tracking_rewards(tmp_path):
    with Process(tmp_path / "a.db", tmp_path) as service, service.client() as client:
        client.create(PRICES | {"name": "colour", "window": None, "default_reward": None})
        client.create({"name": "price", "policy": "UCB", "arms": [{"id": "9.90"}, {"id": "11.90"}]})
        client.create({"name": "banner", "policy": "UCB", "arms": [{"id": "on"}, {"id": "off"}]})
        provider = TightropeProvider(
            service.url, service.key, events={"purchase": "price"}, attempts=2
        )
        api.set_provider(provider)
        flags, who = api.get_client(), EvaluationContext("user-1")
        found = flags.get_string_details("colour", "low", who)
        assert (
            found.value == found.variant
            and found.value in ("low", "mid", "high")
            and found.reason in ("SPLIT", "TARGETING_MATCH")
        )
        assert 0 < found.flag_metadata["propensity"] <= 1
        assert flags.get_float_value("price", 1.0, who) == 9.9  # UCB's first arm
        flags.track("purchase", who, TrackingEventDetails(value=0.75))
        flags.track("purchase", EvaluationContext("user-2"))  # nobody decided for them
        client.experiment = "price"
        rewards = [event["body"]["value"] for event in client.log() if event["kind"] == "rewarded"]
        assert rewards == [0.75] and client.describe()["open"] == 0
        assert flags.get_boolean_value("banner", False, who) is True
        assert flags.get_object_value("price", {}, who)["arm"] == "11.90"
        wrong = flags.get_integer_details("colour", 7, who)
        assert wrong.value == 7 and wrong.error_code == ErrorCode.TYPE_MISMATCH
        missing = flags.get_string_details("nothing", "default", who)
        assert missing.value == "default" and missing.error_code == ErrorCode.FLAG_NOT_FOUND
        with pytest.raises(ValueError, match="not a decision"):
            client.reward("zzz", 1.0)
        api.shutdown()


def test_a_sticky_flag_is_one_decision_for_many_evaluations(tmp_path):
    sticky = {"lasts": "1d", "reward": "sum"}
    with Process(tmp_path / "a.db", tmp_path) as service, service.client() as client:
        client.create(
            {
                "name": "price",
                "policy": "UCB",
                "arms": [{"id": "9"}, {"id": "11"}],
                "sticky": sticky,
                "rewards": [0, 100],
            }
        )
        api.set_provider(
            TightropeProvider(service.url, service.key, events={"purchase": "price"}, attempts=2)
        )
        flags, who = api.get_client(), EvaluationContext("user-1")
        assert len({flags.get_integer_value("price", 0, who) for _ in range(8)}) == 1
        flags.track("purchase", who, TrackingEventDetails(value=9.0))
        for _ in range(2):  # the same order, told twice
            flags.track(
                "purchase",
                who,
                TrackingEventDetails(value=20.0, attributes={"reward_id": "order-7"}),
            )
        client.experiment = "price"
        kinds = [event["kind"] for event in client.log()]
        assert kinds == ["created", "decided", "added", "added"]
        assert [event["body"]["total"] for event in client.log() if event["kind"] == "added"] == [
            9.0,
            29.0,
        ]
        api.shutdown()
