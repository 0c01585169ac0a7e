"""Routes that answer thousands of requests a second: FastAPI documents them, they are read and answered here.

FastAPI's way through its layers and all its routes takes twice as long as the decision and its log together.
"""

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, get_type_hints

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from ...core.types import JsonObject
from ..domain.errors import Refused, not_valid
from ..domain.requests import BatchRequest
from .common import check_key, refusal

Answer = Callable[[Request], Coroutine[Any, Any, Response]]


class FastRoute(APIRoute):
    """A route whose endpoint takes parts of the path (text), at most one model as body, and `service`; its key may "decide"."""

    def get_route_handler(self) -> Answer:
        hints = get_type_hints(self.endpoint)
        names = list(inspect.signature(self.endpoint).parameters)
        models = {name: hints[name] for name in names if isinstance(hints[name], type) and issubclass(hints[name], BaseModel)}
        readers = {name: model.read if issubclass(model, BatchRequest) else model.model_validate_json for name, model in models.items()}
        parts = [name for name in names if name not in models and name != "service"]

        async def handle(request: Request) -> Response:
            try:
                scheme, _, key = request.headers.get("authorization", "").partition(" ")
                checked_key = await check_key(request, key if scheme.lower() == "bearer" else None, "decide")
                arguments: JsonObject = {name: request.path_params[name] for name in parts}
                for name, read in readers.items():
                    arguments[name] = read(await request.body())
                    if isinstance(arguments[name], BatchRequest):
                        request.app.state.service.keys.charge(checked_key, len(arguments[name]) - 1)
                answer: Response = await self.endpoint(**arguments, service=request.app.state.service)
            except Refused as error:
                return refusal(error)
            except ClientDisconnect:
                return refusal(Refused(400, "The connection was closed before the request had ended."))
            except ValidationError as error:
                return refusal(not_valid(error.errors(include_url=False, include_input=False, include_context=False)))
            return answer

        return handle


class FastRoutes:
    """ASGI middleware: requests of fast routes go to them at once, all others on to `app`."""

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self.app = app
        fast = [route for route in routes if isinstance(route, FastRoute)]
        self.routes = [(route.path_regex, route.methods or set(), route, route.get_route_handler()) for route in fast]

    def __call__(self, scope: Any, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and not scope.get("root_path"):
            for pattern, methods, route, handle in self.routes:
                match = pattern.match(scope["path"])
                if match is not None and scope["method"] in methods:
                    scope |= {"path_params": match.groupdict(), "route": route}
                    return self._answer(handle, scope, receive, send)
        passed_on: Awaitable[None] = self.app(scope, receive, send)
        return passed_on

    async def _answer(self, handle: Answer, scope: Scope, receive: Receive, send: Send) -> None:
        response = await handle(Request(scope, receive))
        await response(scope, receive, send)
