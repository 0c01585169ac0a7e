"""The edge: what a request, a database or a client far away may do wrong without harm to others."""

import asyncio
import json
import logging
import threading

import httpx
import pytest
import sqlalchemy as sa
from pydantic import TypeAdapter
from running import PRICES, error, office_at

from tightrope.service import answers, keys, personalizer
from tightrope.service.client import Client, Rejected, Unavailable
from tightrope.service.middleware import Limits
from tightrope.service.personalizer import RankRequest
from tightrope.service.telemetry import metrics

HASHED = {"name": "personalizer", "policy": {"policy": "LinTS", "scale": 0.3}, "dimension": 32, "window": "1h"}
EXPERIMENT = "/v1/experiments/price"


def wide(actions, own, context):
    """A rank request with so many actions, features of each, and features of the context."""
    return {
        "contextFeatures": [{f"c{k}": k for k in range(context)}],
        "actions": [{"id": f"a{n}", "features": [{f"f{k}": k for k in range(own)}]} for n in range(actions)],
    }


# Sets without arms ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [[1], None, "two", 0, {"a": 1}])
def test_an_oracle_that_makes_no_sense_is_refused(served, k):
    spec = {"name": "sets", "policy": "C2UCB", "dimension": 2, "oracle": {"oracle": "TopK", "k": k}}
    assert "k" in error(served("POST", "/v1/experiments", spec), 422)["message"]


def test_large_sets_are_not_rehearsed(served):
    spec = {"name": "sets", "policy": "C2UCB", "dimension": 2, "oracle": {"oracle": "TopK", "k": 10**9}}
    assert served("POST", "/v1/experiments", spec).status_code == 201
