"""The ASGI application."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator
from importlib.metadata import version

import sqlalchemy as sa
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from .board.login import PATH
from .board.routes import router as board
from .domain.errors import Refused, not_valid
from .domain.times import MICROSECONDS
from .http import audit, decisions, experiments, health, reading, rollout, segments
from .http import webhooks as webhook_routes
from .http.common import refusal
from .http.fast_routes import FastRoutes
from .http.middleware import Limits
from .log.database import MOST_REWRITTEN
from .log.erasure import rewrite_owed
from .runtime.changes import compile_common
from .runtime.histories import Histories
from .runtime.service import Service
from .runtime.settings import Settings
from .runtime.telemetry import logger
from .webhooks.sending import Sender, look

LOOK_SECONDS = 600.0  # between two looks whether a file is to be written anew
DAY = 24 * 3600 * MICROSECONDS

ROUTERS = (
    experiments.router,
    decisions.router,
    reading.router,
    segments.router,
    rollout.router,
    rollout.public_router,
    audit.router,
    webhook_routes.router,
    health.router,
    board,
)


def create_app(settings: Settings, service: Service | None = None) -> FastAPI:
    """The application of a service. service: one that is running already; else it is opened and closed with the application."""
    served = Service(settings) if service is None else service

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if service is None:
            served.open()
        sender = Sender(served)
        sender.start()
        served.writer.look = functools.partial(look, served, Histories(served.database, most=None))
        tasks = [asyncio.create_task(_rewrite_daily(served))]
        if settings.own_process:
            tasks.append(asyncio.create_task(compile_common(served)))
        yield
        for task in tasks:
            task.cancel()
        sender.stop()
        if service is None:
            served.close()

    app = FastAPI(title="tightrope", version=version("tightrope"), lifespan=lifespan, docs_url=None, redoc_url=None,
                  description="Decisions by structured bandits, with a log that is the truth.")  # fmt: skip
    app.state.service = served
    for router in ROUTERS:
        app.include_router(router)
    app.add_api_route("/", _home, include_in_schema=False)
    app.add_exception_handler(Refused, _answer_refused)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(sa.exc.SQLAlchemyError, _outage)
    app.add_exception_handler(Exception, _internal)
    app.add_middleware(FastRoutes, routes=decisions.router.routes)
    app.add_middleware(Limits, most_bytes=settings.most_bytes, access_log=settings.access_log)
    return app


async def _rewrite_daily(service: Service) -> None:
    """Write SQLite's file anew once a day where erasures left that owed; others wait for up to a second then."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        with contextlib.suppress(Refused, sa.exc.SQLAlchemyError, OSError):  # tried again with the next look
            before = service.settings.clock() - DAY
            await service.in_thread("scrubbing", rewrite_owed, service.database, MOST_REWRITTEN, before)


async def _home() -> Response:
    return RedirectResponse(PATH, 307)


async def _answer_refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return refusal(error)


async def _not_valid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return refusal(not_valid([item | {"loc": item["loc"][1:] or item["loc"]} for item in error.errors()]))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, Refused):  # by `Limits`, while the body was read: FastAPI calls that a bad request
        return refusal(error.__cause__)
    words = {404: f"{request.url.path[:200]!r} is not an address of this service; see /openapi.json.",
             405: f"{request.method} is not a method of {request.url.path[:200]!r}."}  # fmt: skip
    answer = refusal(Refused(error.status_code, words.get(error.status_code, str(error.detail))))
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


async def _outage(request: Request, error: Exception) -> Response:
    logger().error("database failed", error=type(error).__name__, reason=str(getattr(error, "orig", None) or type(error)))
    return refusal(Refused(503, "The database could not be read; send the same request again.", retry_after=1))


async def _internal(request: Request, error: Exception) -> Response:
    logger().error("request failed", error=type(error).__name__, exc_info=error)
    return refusal(Refused(500, "The service met an error of its own; its log says more."))
