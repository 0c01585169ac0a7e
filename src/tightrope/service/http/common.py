"""Common parts of all routers: JSON answers, keys, documented errors."""

from typing import Annotated

from fastapi import Depends, Path, Request, Response, params
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from pydantic_core import to_json

from ...core.types import JsonObject
from ..domain.errors import Refused
from ..domain.requests import TEXT
from ..log.audit import Author
from ..runtime.keys import Key, Role
from ..runtime.service import Service
from .answers import Answer

Name = Annotated[str, Path(description="Name of the experiment.", max_length=100, pattern=TEXT)]
DecisionKey = Annotated[str, Path(description="Id of the decision.", max_length=200, pattern=TEXT)]
ArmKey = Annotated[str, Path(description="Id of the arm.", max_length=200, pattern=TEXT)]

bearer = HTTPBearer(auto_error=False, description="A key: Authorization: Bearer tr_...")


class ErrorDetail(BaseModel):
    """code: for programs. message: a sentence for people. field: the part of the request it is about, if any."""

    code: str
    message: str
    field: str | None


class ErrorAnswer(Answer):
    """Every error looks like this."""

    error: ErrorDetail


Replies = dict[int | str, JsonObject]


def replies(model: type[BaseModel] | None, *statuses: int, success: int = 200) -> Replies:
    """The answers of an operation: a model (None: text), errors of its own, and those that every operation has."""
    meanings = {
        401: "no key, or an unknown one", 403: "the key may not do this", 404: "unknown", 409: "conflict with what was done before",
        410: "too late", 413: "the request is too large", 422: "the request is not valid", 429: "too many requests; see Retry-After",
        400: "the request is not HTTP as it should be", 405: "another method is needed",
        500: "an error of the service itself", 503: "nothing was done, try again; see Retry-After",
    }  # fmt: skip
    every = sorted({400, 401, 403, 405, 413, 422, 429, 503, *statuses})
    text: JsonObject = {"description": "done"} if success == 204 else {"content": {"text/plain": {}}}
    responses: Replies = {success: text if model is None else {"model": model}}
    return responses | {status: {"model": ErrorAnswer, "description": meanings[status]} for status in every}


async def service(request: Request) -> Service:
    instance: Service = request.app.state.service
    return instance


Served = Annotated[Service, Depends(service)]


async def author(request: Request) -> Author:
    """Who sent the request, by its key: for routes behind `needs`."""
    key: Key = request.state.key
    return key.author


Who = Annotated[Author, Depends(author)]


def needs(role: Role) -> params.Depends:
    """A dependency: the request's key may do this, with the experiment that the path names."""

    async def check(request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> None:
        await check_key(request, None if credentials is None else credentials.credentials, role)

    return Depends(check)


async def check_key(request: Request, key: str | None, role: Role) -> Key:
    """The key, if it may do what the role says with the experiment that the path names; else Refused. Routes that name one elsewhere ask
    the key in request.state.key about it."""
    served: Service = request.app.state.service
    if served.keys.stale():
        await served.refresh_keys(served.keys.knows(key))
    checked_key: Key = served.keys.check(key, role, request.path_params.get("name"))
    request.state.key = checked_key
    return checked_key


def answer(data: object, status: int = 200) -> Response:
    """JSON; NaN becomes null."""
    return Response(to_json(data, inf_nan_mode="null"), status, media_type="application/json")


def refusal(error: Refused) -> Response:
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    if error.address is not None:
        headers["X-Tightrope-Served-By"] = error.address
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(to_json(error.body()), error.status, headers, media_type="application/json")
