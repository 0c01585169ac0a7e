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


# Personalizer's features ------------------------------------------------------------------------------------------------------------------


def test_features_are_hashed_outside_the_writers_thread(served, monkeypatch):
    served("POST", "/v1/experiments", HASHED)
    hashed, threads = personalizer.hashed, set()
    monkeypatch.setattr(personalizer, "hashed", lambda *given: threads.add(threading.current_thread()) or hashed(*given))
    assert served("POST", "/rank", wide(2, 2, 2), "decide").status_code == 201
    assert threads and served.office.writer not in threads


@pytest.mark.parametrize(("actions", "own", "context"), [(2, 999, 999), (500, 25, 19), (32, 0, 0)])
def test_products_of_features_are_bounded(served, actions, own, context, monkeypatch):
    monkeypatch.setattr(personalizer, "MOST_NUMBERS", 1000 if actions == 32 else 10**6)
    served("POST", "/v1/experiments", HASHED)
    told = error(served("POST", "/rank", wide(actions, own, context), "decide"), 422)
    assert told["field"] == "actions" and "at most" in told["message"] and "fewer" in told["message"], told


def test_a_number_larger_than_any_float_is_refused():
    request = RankRequest(actions=[{"id": "a", "features": [{"price": 10**400}]}])
    with pytest.raises(ValueError, match="not finite"):
        personalizer.asked(request, 8, None)
