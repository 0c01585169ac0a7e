"""The spec of a new experiment as it is typed: JSON that begins with a template, and is refused in the API's words."""

import json
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from ...core.types import JsonObject
from ..domain.errors import Refused, not_valid
from ..domain.requests import ArmsRequest
from ..domain.spec import ExperimentSpec
from ..domain.strict import RepeatedName, once_each

M = TypeVar("M", bound=BaseModel)


class Template(NamedTuple):
    """A spec to begin with. question: that it answers. note: how it does."""

    question: str
    note: str
    spec: JsonObject

    @property
    def text(self) -> str:
        return json.dumps(self.spec, indent=2, ensure_ascii=False)


ARMS = [{"id": "9.90"}, {"id": "11.90"}]
WAITING = {"window": "7d", "default_reward": 0}
TEMPLATES = {
    "safe": Template(
        "Which is best, safely?",
        "Thompson sampling within a promise: of what the baseline would have earned, at most the share alpha is lost, at any time.",
        {"name": "", "policy": "BetaThompson", "arms": ARMS, "baseline": "9.90", "alpha": 0.05} | WAITING,
    ),
    "whom": Template(
        "Which is best for whom?",
        "Every decision brings features of the visitor, and the arm follows from them.",
        {
            "name": "", "policy": "LinTS", "arms": [{"id": "sale"}, {"id": "news"}],
            "features": {"country": {"kind": "category", "levels": ["de", "fr"]}, "age": {"kind": "number", "range": [18, 80]}},
        } | WAITING,
    ),
    "test": Template(
        "I only want to test",
        "A test that says when it knows the best arm (within epsilon, wrong with probability delta at most), and then has an answer.",
        {"name": "", "policy": {"policy": "UGapE", "epsilon": 0.02, "delta": 0.05}, "arms": ARMS, "rewards": [0, 1]} | WAITING,
    ),
}  # fmt: skip


def spec_of(text: str) -> ExperimentSpec:
    """The spec of a text. Raises Refused with the API's sentence."""
    try:
        value = once_each(text)
    except RepeatedName as error:
        raise Refused(422, f"spec: {error}", "spec") from None
    except (ValueError, RecursionError) as error:
        where = f": {error.msg} at line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise Refused(422, f'spec is not JSON{where}; it must be an object such as {{"name": ..}}.', "spec") from None
    if not isinstance(value, dict):
        raise Refused(422, 'spec must be a JSON object such as {"name": ..}.', "spec")
    return read_as(ExperimentSpec, value)


def arms_request(text: str) -> ArmsRequest:
    """New arms, a line each: an id, or JSON. Raises Refused with the API's sentence."""
    arms: list[JsonObject] = []
    for one in filter(None, map(str.strip, text.split("\n"))):
        try:
            arms.append(json.loads(one) if one.startswith("{") else {"id": one})
        except (ValueError, RecursionError):
            raise Refused(422, f"arms has the line {one[:100]!r}, which begins like JSON and is not; give an id a line.", "arms") from None
    return read_as(ArmsRequest, {"arms": arms})


def read_as(model: type[M], value: JsonObject) -> M:
    """A value as the API reads it. Raises Refused with its sentence."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise not_valid(error.errors(include_url=False, include_input=False)) from None
