"""Checks of a request's address and size before it is read, and the time that its answer took."""

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..domain.errors import Refused
from ..domain.strict import RepeatedName, once_each
from ..runtime.telemetry import logger, metrics
from .common import refusal

LONG_BYTES = 50_000  # bytes of a body that is looked at in a thread, so that nobody waits


class Limits:
    """ASGI middleware: refuses bodies that are too large, also those that do not say so, and paths that no database takes; measures,
    and notes every request where that is asked for."""

    def __init__(self, app: ASGIApp, most_bytes: int, access_log: bool = False) -> None:
        self.app, self.most_bytes, self.access_log = app, most_bytes, access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, received, status = time.perf_counter(), 0, 500
        too_large = Refused(413, f"The request has more than {self.most_bytes} bytes; send less at once.")

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
                no_address = Refused(404, f"{scope['path'][:200]!r} is not an address of this service: it has a NUL.")
                await refusal(no_address)(scope, receive, measured)
            else:
                await self.app(scope, limited, measured)
        finally:  # also where it ended with an error of the service, which is answered further out
            route = getattr(scope.get("route"), "path_format", "other")
            metrics().requests.labels(route, status).inc()
            seconds = time.perf_counter() - began
            metrics().seconds.labels(route).observe(seconds)
            if self.access_log:
                note(scope, route, status, seconds)


async def check_names(pieces: list[bytes]) -> None:
    """Refuse a body of JSON that has two equal names in one object. What is no JSON is left to whoever reads it."""
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


def note(scope: Scope, route: str, status: int, seconds: float) -> None:
    """Write who asked for what: the route and the experiment, and no ids, features or subjects."""
    key = scope.get("state", {}).get("key")
    who = {} if key is None else {"key": key.id, "note": key.note}
    client = scope.get("client")
    logger().info(
        "request", method=scope["method"], route=route, experiment=scope.get("path_params", {}).get("name"), status=status,
        milliseconds=round(1000.0 * seconds, 3), client=client[0] if client else None, **who,
    )  # fmt: skip
