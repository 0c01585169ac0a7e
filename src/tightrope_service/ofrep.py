"""OpenFeature's remote evaluation protocol (OFREP): a flag is an experiment, and evaluating it is a
decision."""

import asyncio
import functools
import hashlib

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from . import JsonObject, commands, new_id
from .errors import Refused
from .experiment import Experiment
from .http import FastRoute, Name, Served, answer, described, needs, refusal, replies
from .keys import covered
from .requests import DecisionRequest, invalid_request
from .writer import Transaction

PATH = "/ofrep/v1/evaluate/flags"
TRUTH = {"true": True, "on": True, "false": False, "off": False}
PASSED_ON = (401, 403, 413, 429, 503)  # statuses of which the protocol says no body
CODES = {"targetingKey": "TARGETING_KEY_MISSING", "the request": "PARSE_ERROR"}  # by field


class FlagRequest(BaseModel):
    """A question which value a flag has."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"context": {"targetingKey": "user-77", "country": "de"}}]}
    )

    context: JsonObject | None = Field(
        None,
        description="targetingKey: the subject. decision_id: your id of the decision. context, "
        "segments, eligible, excluded: as in a decision; features and segments that the spec "
        "names may also stand here by their own names. All else is left out.",
    )


def refuse(request: Request, error: Refused) -> Response:
    if error.status in PASSED_ON:
        return refusal(error)
    key, status = request.path_params.get("name"), error.status
    failed = {"errorDetails": error.message} if status == 500 else failure(error, key)
    return answer(failed, status if status in (404, 500) else 400)


class FlagRoute(FastRoute):
    refuse = staticmethod(refuse)


def failure(error: Refused, key: str | None) -> JsonObject:
    codes = {404: "FLAG_NOT_FOUND", 422: CODES.get(error.field or "", "INVALID_CONTEXT")}
    about = {"errorCode": codes.get(error.status, "GENERAL"), "errorDetails": error.message}
    return about if key is None else {"key": key} | about


router = APIRouter(
    prefix=PATH, tags=["flags"], route_class=FlagRoute, dependencies=[needs("decide")]
)
FAILURES = {400: described("FlagRefusal"), 500: described("FlagFailure")}


@router.post(
    "/{name}", responses=replies("FlagAnswer", 404) | FAILURES | {404: described("FlagRefusal")}
)
async def evaluate_flag(name: Name, asked: FlagRequest, service: Served) -> Response:
    """A decision of the experiment of this name. The value is the arm's id, as JSON where the ids
    of all its arms are numbers, truth values or objects."""
    return answer(await service.ask(name, lambda at: evaluate(at, asked.context or {})))


FAST = [*router.routes]  # the next reads the database, whose outage only FastAPI answers


@router.post(
    "",
    responses=replies("FlagsAnswer")
    | FAILURES
    | {304: {"description": "the answer is the one that If-None-Match names"}},
)
async def evaluate_flags(request: Request, asked: FlagRequest, service: Served) -> Response:
    """Running experiments that are sticky, for one subject. Who asks for all flags has not shown
    them: decisions are deferred, so that each counts once it is activated."""
    key, context = request.state.key, asked.context or {}

    def if_sticky(at: Transaction) -> JsonObject | None:
        wanted = at.experiment.spec.sticky is not None and at.experiment.status == "running"
        return evaluate(at, context, deferred=True) if wanted else None

    async def one(name: str) -> JsonObject | None:
        try:
            return await service.ask(name, if_sticky)
        except Refused as error:
            return failure(error, name)

    names = [row["name"] for row in await asyncio.to_thread(covered, service.database, key)]
    flags = [flag for flag in await asyncio.gather(*map(one, names)) if flag is not None]
    service.keys.charge(key, len(flags) - 1)
    found = answer({"flags": flags})
    found.headers["ETag"] = f'"{hashlib.sha256(found.body).hexdigest()}"'
    if found.headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": found.headers["ETag"]})
    return found


def evaluate(transaction: Transaction, context: JsonObject, deferred: bool = False) -> JsonObject:
    experiment = transaction.experiment
    request = question(experiment, context, deferred)
    decision = commands.decide(transaction, request.id or new_id(), request)
    arm, propensity = decision["arm"], decision["propensity"]
    several = isinstance(arm, list)
    return {
        "key": experiment.name,
        "reason": "TARGETING_MATCH" if propensity == 1.0 else "SPLIT",
        "variant": ", ".join(map(str, arm)) if several else str(arm),
        "value": {"arms": arm} if several else values(tuple(experiment.numbers)).get(arm, arm),
        "metadata": {
            "decision_id": decision["id"],
            "propensity": min(propensity) if several else propensity,
            "event": decision["event"],
            "why": decision["reason"],
        },
    }


def question(experiment: Experiment, context: JsonObject, deferred: bool) -> DecisionRequest:
    """What an evaluation asks. Raises Refused."""
    subject = context.get("targetingKey") or None
    if subject is None and experiment.spec.sticky is not None:
        raise Refused(
            422,
            f"targetingKey is missing: experiment {experiment.name!r} is sticky, so it must know "
            "whose arm is kept; send the customer's id, or a pseudonym.",
            "targetingKey",
        )
    asked = {"id": context.get("decision_id"), "subject": subject, "deferred": deferred}
    named = {
        "context": () if experiment.reader is None else experiment.reader.kinds,
        "segments": experiment.spec.segments or (),
        "eligible": (),
        "excluded": (),
    }
    for field, names in named.items():
        row = {name: context[name] for name in names if context.get(name) is not None}
        asked[field] = context.get(field, row or None)
    try:
        return DecisionRequest.model_validate(asked)
    except ValidationError as error:
        raise invalid_request(error) from None


@functools.lru_cache(maxsize=256)
def values(arms: tuple[str, ...]) -> JsonObject:
    """The values of arms by their ids, where all ids are of one kind of JSON; else none: they are
    text."""
    try:
        read = [
            TRUTH[arm.lower()] if arm.lower() in TRUTH else from_json(arm, allow_inf_nan=False)
            for arm in arms
        ]
    except ValueError:
        return {}
    kinds = {type(value) for value in read}
    if kinds == {int, float}:
        read = [float(value) for value in read]
    alike = kinds <= {int, float} or kinds in ({bool}, {dict})
    return dict(zip(arms, read, strict=True)) if alike else {}
