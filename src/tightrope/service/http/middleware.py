"""What is checked before a request is read: its address and its size. And how long its answer took."""

import time
from typing import Any

from ..domain.errors import Refused
from ..runtime.telemetry import metrics
from .common import refusal


class Limits:
    """ASGI middleware: refuses bodies that are too large, also those that do not say so, and paths that no database takes; measures."""

    def __init__(self, app: Any, most_bytes: int) -> None:
        self.app, self.most_bytes = app, most_bytes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, received, status = time.perf_counter(), 0, 500
        too_large = Refused(413, f"The request has more than {self.most_bytes} bytes; send less at once.")

        async def limited() -> Any:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.most_bytes:
                raise too_large
            return message

        async def measured(message: Any) -> None:
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
            metrics().seconds.labels(route).observe(time.perf_counter() - began)
