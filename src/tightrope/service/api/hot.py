"""Routes that answer thousands of requests a second: FastAPI documents them, their requests are read here."""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, get_type_hints

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from ..errors import Refused, not_valid
from .common import check_key, refusal


class HotRoute(APIRoute):
    """A route whose endpoint takes parts of the path (text), at most one model as body, and `office`; its key may "decide"."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What is called for each request."""
        hints = get_type_hints(self.endpoint)
        names = list(inspect.signature(self.endpoint).parameters)
        models = {name: hints[name] for name in names if isinstance(hints[name], type) and issubclass(hints[name], BaseModel)}
        parts = [name for name in names if name not in models and name != "office"]

        async def handle(request: Request) -> Response:
            try:
                scheme, _, key = request.headers.get("authorization", "").partition(" ")
                await check_key(request, key if scheme.lower() == "bearer" else None, "decide")
                given: dict[str, Any] = {name: request.path_params[name] for name in parts}
                for name, model in models.items():
                    given[name] = model.model_validate_json(await request.body())
                answer: Response = await self.endpoint(**given, office=request.app.state.office)
            except Refused as error:
                return refusal(error)
            except ValidationError as error:
                return refusal(not_valid(error.errors(include_url=False, include_input=False, include_context=False)))
            return answer

        return handle
