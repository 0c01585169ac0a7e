"""Shared by all routes: keys, refusals, limits, fast routes."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Annotated, Any, get_type_hints

from fastapi import Depends, Path, Request, Response, params
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from . import JsonObject
from .errors import Refused, RepeatedName, once_each
from .keys import Key, Role
from .log import Author
from .requests import TEXT, BatchRequest, invalid_request
from .service import Service
from .settings import logger, metrics

Name = Annotated[str, Path(description="Name of the experiment.", max_length=100, pattern=TEXT)]
DecisionKey = Annotated[str, Path(description="Id of the decision.", max_length=200, pattern=TEXT)]
ArmKey = Annotated[str, Path(description="Id of the arm.", max_length=200, pattern=TEXT)]

bearer = HTTPBearer(auto_error=False, description="A key: Authorization: Bearer tr_...")


Replies = dict[int | str, JsonObject]


def described(answer: str, description: str | None = None) -> JsonObject:
    """A reply in OpenAPI, by the name of its answer in answers.yaml."""
    schema = {"schema": {"$ref": f"#/components/schemas/{answer}"}}
    about = {} if description is None else {"description": description}
    return about | {"content": {"application/json": schema}}


def replies(answer: str | None, *statuses: int, success: int = 200) -> Replies:
    """The answers of an operation: JSON (None: text), errors of its own, and those that every
    operation has."""
    meanings = {
        401: "no key, or an unknown one",
        403: "the key may not do this",
        404: "unknown",
        409: "conflict with what was done before",
        410: "too late",
        413: "the request is too large",
        422: "the request is not valid",
        429: "too many requests; see Retry-After",
        400: "the request is not HTTP as it should be",
        405: "another method is needed",
        500: "an error of the service itself",
        503: "nothing was done, try again; see Retry-After",
    }
    every = sorted({400, 401, 403, 405, 413, 422, 429, 503, *statuses})
    text: JsonObject = (
        {"description": "done"} if success == 204 else {"content": {"text/plain": {}}}
    )
    responses: Replies = {success: text if answer is None else described(answer)}
    return responses | {status: described("ErrorAnswer", meanings[status]) for status in every}


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def service(request: Request) -> Service:  # not in a thread, as FastAPI asks others
    return service_of(request)


Served = Annotated[Service, Depends(service)]


async def author(request: Request) -> Author:
    key: Key = request.state.key
    return key.author


Who = Annotated[Author, Depends(author)]


def needs(role: Role) -> params.Depends:
    """A dependency: the request's key may do this, with the experiment that the path names."""

    async def check(request: Request, _: Annotated[object, Depends(bearer)]) -> None:
        await check_key(request, role)

    return Depends(check)


async def check_key(request: Request, role: Role) -> Key:
    """The key, if it may do what the role says with the experiment that the path names; else
    Refused. Routes that name one elsewhere ask the key in request.state.key about it."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    key = text if scheme.lower() == "bearer" else None
    served = service_of(request)
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


# Checks of a request's address and size before it is read, and the time that its answer took.


LONG_BYTES = 50_000  # bytes of a body that is looked at in a thread, so that nobody waits


class Limits:
    """ASGI middleware: refuses bodies that are too large, also those that do not say so, and paths
    that no database takes; measures, and notes every request where that is asked for."""

    def __init__(self, app: ASGIApp, most_bytes: int, access_log: bool = False) -> None:
        self.app, self.most_bytes, self.access_log = app, most_bytes, access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, received, status = time.perf_counter(), 0, 500
        too_large = Refused(
            413, f"The request has more than {self.most_bytes} bytes; send less at once."
        )

        pieces: list[bytes] = []

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            piece = message.get("body", b"")
            received += len(piece)
            if received > self.most_bytes:
                raise too_large
            if piece:
                pieces.append(piece)
            if pieces and not message.get("more_body", False):
                await check_names(pieces)
            return message

        async def measured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        said = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        try:
            if said.isdigit() and int(said) > self.most_bytes:
                await refusal(too_large)(scope, receive, measured)
            elif "\0" in scope["path"]:
                await refusal(
                    Refused(
                        404,
                        f"{scope['path'][:200]!r} is not an address of this service: it has a NUL.",
                    )
                )(scope, receive, measured)
            else:
                await self.app(scope, limited, measured)
        finally:  # also where it ended with an error of the service, which is answered further out
            route = getattr(scope.get("route"), "path_format", "other")
            metrics().requests.labels(route, status).inc()
            seconds = time.perf_counter() - began
            metrics().seconds.labels(route).observe(seconds)
            if self.access_log:
                # the route and the experiment, and no ids, features or subjects
                key, client = scope.get("state", {}).get("key"), scope.get("client")
                who = {} if key is None else {"key": key.id, "note": key.note}
                logger().info(
                    "request",
                    method=scope["method"],
                    route=route,
                    experiment=scope.get("path_params", {}).get("name"),
                    status=status,
                    milliseconds=round(1000.0 * seconds, 3),
                    client=client[0] if client else None,
                    **who,
                )


async def check_names(pieces: list[bytes]) -> None:
    """Refuse a body of JSON that has two equal names in one object. What is no JSON is left to
    whoever reads it."""
    body = b"".join(pieces)
    pieces.clear()
    if body.lstrip()[:1] not in (b"{", b"["):
        return
    try:
        if len(body) > LONG_BYTES:
            await asyncio.to_thread(once_each, body)
        else:
            once_each(body)
    except RepeatedName as error:
        raise Refused(422, str(error)) from None
    except (ValueError, RecursionError):
        pass


# Routes that answer thousands of requests a second: FastAPI documents them, they are read and
# answered here.


FastAnswer = Callable[[Request], Coroutine[Any, Any, Response]]


class FastRoute(APIRoute):
    """A route whose endpoint takes parts of the path (text), at most one model as body, the request
    itself, and `service`; its key may "decide"."""

    @staticmethod
    def refuse(request: Request, error: Refused) -> Response:
        return refusal(error)

    def get_route_handler(self) -> FastAnswer:
        hints = get_type_hints(self.endpoint)
        names = list(inspect.signature(self.endpoint).parameters)
        models = {
            name: hints[name]
            for name in names
            if isinstance(hints[name], type) and issubclass(hints[name], BaseModel)
        }
        readers = {
            name: model.read if issubclass(model, BatchRequest) else model.model_validate_json
            for name, model in models.items()
        }
        parts = [name for name in names if hints[name] is str]
        whole = [name for name in names if hints[name] is Request]

        async def handle(request: Request) -> Response:
            try:
                checked_key = await check_key(request, "decide")
                arguments: JsonObject = {name: request.path_params[name] for name in parts}
                arguments |= dict.fromkeys(whole, request)
                for name, read in readers.items():
                    arguments[name] = read(await request.body())
                    if isinstance(arguments[name], BatchRequest):
                        request.app.state.service.keys.charge(checked_key, len(arguments[name]) - 1)
                answer: Response = await self.endpoint(
                    **arguments, service=request.app.state.service
                )
            except Refused as error:
                return self.refuse(request, error)
            except ClientDisconnect:
                return self.refuse(
                    request, Refused(400, "The connection was closed before the request had ended.")
                )
            except ValidationError as error:
                return self.refuse(request, invalid_request(error))
            return answer

        return handle


class FastRoutes:
    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self.app = app
        self.routes = [
            (route.path_regex, route.methods or set(), route, route.get_route_handler())
            for route in [route for route in routes if isinstance(route, FastRoute)]
        ]

    def __call__(self, scope: Any, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and not scope.get("root_path"):
            for pattern, methods, route, handle in self.routes:
                match = pattern.match(scope["path"])
                if match is not None and scope["method"] in methods:
                    scope |= {"path_params": match.groupdict(), "route": route}
                    return self._answer(handle, scope, receive, send)
        passed_on: Awaitable[None] = self.app(scope, receive, send)
        return passed_on

    async def _answer(self, handle: FastAnswer, scope: Scope, receive: Receive, send: Send) -> None:
        response = await handle(Request(scope, receive))
        await response(scope, receive, send)


# Requests whose address and headers are too large: refused before these are kept.


MOST_HEAD = 64 * 1024  # bytes of a request's address and headers
MOST_HEADERS = 100
SLICE = 8 * 1024  # bytes that are parsed before the head is measured again
LINGER = 2.0  # seconds in which who is refused may read why; what else it sends is not kept


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which keeps headers of any size."""

    _refused = False
    _head = 0  # bytes since the last request, body or part of a body began

    def data_received(self, data: bytes) -> None:
        for first in range(0, len(data), SLICE):
            if self._refused or self.parser is None or self.transport.is_closing():
                return
            piece = data[first : first + SLICE]
            self._head += len(piece)
            super().data_received(piece)
            if self._head > MOST_HEAD:
                self._refuse_head()

    def on_headers_complete(self) -> None:
        self._head = 0
        head = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if head > MOST_HEAD or len(self.headers) > MOST_HEADERS:
            self._refuse_head()
            raise ValueError("The head is too large.")  # so that the parser ends
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head = 0
        super().on_body(body)

    def on_chunk_complete(self) -> None:
        self._head = 0

    def send_400_response(self, msg: str) -> None:
        if not self._refused:
            super().send_400_response(msg)

    def _refuse_head(self) -> None:
        if self._refused:
            return
        self._refused = True
        body = to_json(
            Refused(
                431,
                f"The request has more than {MOST_HEAD} bytes of address and headers, or more than "
                f"{MOST_HEADERS} headers; send fewer.",
            ).body()
        )
        head = (
            "HTTP/1.1 431 Request Header "
            "Fields Too "
            "Large\r\ncontent-type: "
            "application/json\r\nconnection: close\r\n"
        )
        self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER, self.transport.close)
