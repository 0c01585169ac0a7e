"""The shapes of Azure Personalizer, for clients that lost their service: /rank and /events.

Personalizer learns from named features of a context and of each action, of any kind. Here they are hashed into d numbers: an action's
own features, and its features crossed with the context's, so that a context can speak for one action and against another. The
experiment is one without fixed arms whose dimension is d; larger d, fewer collisions.
"""

import hashlib
import math
from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ...core.types import JsonObject
from ..domain.requests import DecisionRequest
from ..domain.strict import Addressable, Strict
from ..http.answers import example

Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00/]+$")]
DEEPEST = 8  # objects inside objects
MOST_FEATURES = 1000  # of a context or an action
MOST_CROSSED = 200_000  # of a request: features of actions, each by itself and with each of the context's
MOST_NUMBERS = 1_000_000  # of a request: d for each action


class Action(Strict):
    """Something that can be shown."""

    id: Id
    features: list[JsonObject] = Field(default_factory=list, max_length=100)


class RankRequest(Strict):
    """Which action to show."""

    model_config = ConfigDict(json_schema_extra={"examples": [{
        "contextFeatures": [{"daypart": "evening"}],
        "actions": [{"id": "pasta", "features": [{"kind": "hot", "price": 12}]}, {"id": "salad"}],
        "excludedActions": [], "eventId": "visit-8124", "deferActivation": False,
    }]})  # fmt: skip

    actions: Annotated[list[Action], Field(min_length=1, max_length=1000)]
    contextFeatures: list[JsonObject] = Field(default_factory=list, max_length=100)
    excludedActions: list[Id] = Field(default_factory=list, max_length=1000)
    eventId: Annotated[Id, Addressable] | None = None
    deferActivation: bool = False


class RewardValue(Strict):
    """The reward of an event."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": 1.0}]})

    value: Annotated[float, Field(allow_inf_nan=False)]


class RankedAction(BaseModel):
    """An action with the probability that it is shown; null: not computed."""

    id: str
    probability: float | None


class RankAnswer(BaseModel):
    """rewardActionId: the action to show."""

    model_config = example(
        ranking=[{"id": "pasta", "probability": 0.7}, {"id": "salad", "probability": None}], eventId="visit-8124", rewardActionId="pasta"
    )

    ranking: list[RankedAction]
    eventId: str
    rewardActionId: str


def decision_request(request: RankRequest, dimension: int, id: str | None) -> DecisionRequest:
    """A rank request as a decision's. Raises ValueError where features are nested too deeply or are too many. Takes up to a second."""
    if len(request.actions) * dimension > MOST_NUMBERS:
        raise ValueError(
            f"actions has {len(request.actions)} actions of {dimension} numbers, but at most {MOST_NUMBERS} numbers are taken; send fewer "
            "actions, or create the experiment with a smaller dimension."
        )
    context = list(flat("contextFeatures", request.contextFeatures))
    own: dict[str, list[tuple[str, float]]] = {}
    count = 0
    for action in request.actions:  # all are counted before the first is hashed
        if action.id in own:
            raise ValueError("actions has an id twice; every action needs an id of its own.")
        own[action.id] = list(flat("features", action.features))
        count += (1 + len(own[action.id])) * (1 + len(context))
        if count > MOST_CROSSED:
            raise ValueError(
                f"actions has more than {MOST_CROSSED} features when each is crossed with the {len(context)} of contextFeatures, but at "
                f"most {MOST_CROSSED} are taken; send fewer actions or fewer features."
            )
    rows = {id: row(context, mine, id, dimension) for id, mine in own.items()}
    return DecisionRequest(id=id, context=rows, excluded=request.excludedActions or None, deferred=request.deferActivation)


def flat(field: str, features: list[JsonObject]) -> Iterator[tuple[str, float]]:
    """Named numbers of features of any kind: a number has its value, a text or truth value is a name with 1."""
    todo: list[tuple[str, object, int]] = [(field, item, 0) for item in reversed(features)]
    count = 0
    while todo:
        path, value, depth = todo.pop()
        if isinstance(value, dict | list):
            if depth >= DEEPEST:
                raise ValueError(f"{field} is nested more than {DEEPEST} deep.")
            items = sorted(value.items()) if isinstance(value, dict) else [("", item) for item in value]
            todo += [(f"{path}.{key}" if key else path, item, depth + 1) for key, item in reversed(items)]
            continue
        if value is None:
            continue
        count += 1
        if count > MOST_FEATURES:
            raise ValueError(f"{field} has more than {MOST_FEATURES} values.")
        if isinstance(value, bool) or not isinstance(value, int | float):
            yield f"{path}={value}", 1.0
        elif abs(value) > 1e300 or not math.isfinite(value):  # whole numbers may be larger than any float
            raise ValueError(f"{field} holds a number that is not finite.")
        else:
            yield path, float(value)


def row(context: list[tuple[str, float]], own: list[tuple[str, float]], id: str, dimension: int) -> list[float]:
    """An action's d numbers, of length 1 at most: itself, its features, and each of them with each of the context's."""
    numbers = [0.0] * dimension
    mine = [("id=" + id, 1.0), *own]
    for name, value in mine:
        place, sign = hashed(name, dimension)
        numbers[place] += sign * squashed(value)
    for name, value in mine:
        for other, weight in context:
            place, sign = hashed(f"{name}&{other}", dimension)
            numbers[place] += sign * squashed(value) * squashed(weight)
    length = math.sqrt(sum(value * value for value in numbers))
    return [value / max(length, 1.0) for value in numbers]


def squashed(value: float) -> float:
    """A number of any size as one in (-1, 1): prices and ages beside truth values would drown them."""
    return value / (1.0 + abs(value)) if abs(value) > 1.0 else value


def hashed(name: str, dimension: int) -> tuple[int, float]:
    """A place and a sign, the same on every machine."""
    number = int.from_bytes(hashlib.blake2b(name.encode(errors="replace"), digest_size=8).digest(), "big")
    return number % dimension, 1.0 if number >> 63 else -1.0
