"""The ASGI application."""

import asyncio
import contextlib
import dataclasses
import functools
import gc
import importlib.resources
import os
import signal
import sys
from collections.abc import AsyncIterator
from importlib.metadata import version

import sqlalchemy as sa
import uvicorn
import yaml
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse

from . import JsonObject, keys, ofrep, routes
from .board import PATH, router as board
from .commands import compile_common
from .database import MOST_REWRITTEN, Database
from .errors import MICROSECONDS, Refused, not_valid
from .http import FastRoute, FastRoutes, LimitedProtocol, Limits, refusal
from .service import Histories, Service
from .settings import Settings, logger, start_logs
from .transfer import rewrite_owed
from .webhooks import Sender, notice_standing

LOOK_SECONDS = 600.0  # between two looks whether a file is to be written anew
DAY = 24 * 3600 * MICROSECONDS

ROUTERS = (
    routes.experiments_router,
    routes.decisions_router,
    ofrep.router,
    routes.reading_router,
    routes.segments_router,
    routes.rollout_router,
    routes.public_router,
    routes.audit_router,
    routes.webhooks_router,
    routes.health_router,
    board,
)


class Application(FastAPI):
    def openapi(self) -> JsonObject:
        if self.openapi_schema is None:
            answers = importlib.resources.files("tightrope_service") / "answers.yaml"
            super().openapi()["components"]["schemas"] |= yaml.safe_load(answers.read_text("utf-8"))
        return super().openapi()


def create_app(settings: Settings, service: Service | None = None) -> FastAPI:
    """The application of a service. service: one that is running already; else it is opened and
    closed with the application."""
    served = Service(settings) if service is None else service

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if service is None:
            served.open()
        sender = Sender(served)
        sender.start()
        served.writer.notice = functools.partial(
            notice_standing, served, Histories(served.database, most=None)
        )
        tasks = [asyncio.create_task(_rewrite_daily(served))]
        if settings.own_process:
            tasks.append(asyncio.create_task(compile_common(served)))
        yield
        for task in tasks:
            task.cancel()
        sender.stop()
        if service is None:
            served.close()

    app = Application(
        title="tightrope",
        version=version("tightrope"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        description="Decisions by structured bandits, with a log that is the truth.",
        exception_handlers={
            Refused: _answer_refused,
            RequestValidationError: _not_valid,
            HTTPException: _http,
            sa.exc.SQLAlchemyError: _outage,
            Exception: _internal,
        },
        middleware=[
            Middleware(Limits, most_bytes=settings.most_bytes, access_log=settings.access_log),
            Middleware(FastRoutes, routes=[*routes.decisions_router.routes, *ofrep.FAST]),
        ],
    )
    app.state.service = served
    for router in ROUTERS:
        app.include_router(router)
    app.add_api_route("/", _home, include_in_schema=False)
    return app


async def _rewrite_daily(service: Service) -> None:
    """Write SQLite's file anew once a day where erasures left that owed; others wait for up to a
    second then."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        with contextlib.suppress(
            Refused, sa.exc.SQLAlchemyError, OSError
        ):  # tried again with the next look
            await service.in_thread(
                "scrubbing",
                rewrite_owed,
                service.database,
                MOST_REWRITTEN,
                service.settings.clock() - DAY,
            )


async def _home() -> Response:
    return RedirectResponse(PATH, 307)


async def _answer_refused(request: Request, error: Refused) -> Response:
    return refusal(error)


async def _not_valid(request: Request, error: RequestValidationError) -> Response:
    return refusal(
        not_valid([item | {"loc": item["loc"][1:] or item["loc"]} for item in error.errors()])
    )


async def _http(request: Request, error: HTTPException) -> Response:
    if isinstance(
        error.__cause__, Refused
    ):  # by `Limits`, while the body was read: FastAPI calls that a bad request
        return refusal(error.__cause__)
    words = {
        404: f"{request.url.path[:200]!r} is not an address of this service; see /openapi.json.",
        405: f"{request.method} is not a method of {request.url.path[:200]!r}.",
    }
    answer = refusal(Refused(error.status_code, words.get(error.status_code, str(error.detail))))
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


async def _outage(request: Request, error: Exception) -> Response:
    logger().error(
        "database failed",
        error=type(error).__name__,
        reason=str(getattr(error, "orig", None) or type(error)),
    )
    return refusal(
        Refused(503, "The database could not be read; send the same request again.", retry_after=1)
    )


async def _internal(request: Request, error: Exception) -> Response:
    logger().error("request failed", error=type(error).__name__, exc_info=error)
    refused = Refused(500, "The service met an error of its own; its log says more.")
    route = ofrep.FlagRoute if request.url.path.startswith(ofrep.PATH) else FastRoute
    return route.refuse(request, refused)


# `tightrope serve`: the application on a port, until it is told to stop.


KEEP = 75  # seconds that an idle connection stays
LOOPBACK = ("127.0.0.0/8", "::1")  # whoever speaks from there is on this machine
RARE_COLLECTIONS = (50_000, 20, 100)  # open decisions are many objects and hardly a ring
GRACE = 10  # seconds that open requests have when the service stops


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or Ctrl-C, then answer what is open, write snapshots and end."""
    start_logs()
    gc.set_threshold(*RARE_COLLECTIONS)
    settings = dataclasses.replace(settings, own_process=True)
    service = Service(settings)
    service.open()
    try:
        first = first_key(service.database, settings.admin_key_file)
        service.keys.refresh()
        if first is not None and settings.admin_key_file is not None:
            print(f"Admin key: in {settings.admin_key_file}", flush=True)
        elif first is not None:
            print(f"Admin key, shown only now: {first}", flush=True)
        print(
            f"Serving {service.database.url.render_as_string(hide_password=True)} on "
            f"http://{settings.host}:{settings.port}",
            flush=True,
        )
        for number in (
            signal.SIGTERM,
            signal.SIGINT,
        ):  # uvicorn ends its requests first, then calls these
            signal.signal(number, lambda *_: None)
        sys.setswitchinterval(0.001)  # between the writer's thread and the one that answers
        uvicorn.Server(
            uvicorn.Config(
                create_app(settings, service),
                host=settings.host,
                port=settings.port,
                loop="uvloop",
                http=LimitedProtocol,
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=GRACE,
                timeout_keep_alive=KEEP,
                forwarded_allow_ips=[*LOOPBACK, *settings.proxies],
                server_header=False,
                date_header=False,
                backlog=4096,
            )
        ).run()
    finally:
        service.close()
        logger().info("stopped")


def first_key(database: Database, path: str | None = None) -> str | None:
    """An admin key for a database that has no keys yet. path: of a new file that it is written to,
    for its owner alone. Raises ValueError where there cannot be one."""
    with database.write() as connection:
        database.alone(connection)
        if keys.all_keys(connection):
            return None
        key = keys.create(connection, "admin", "made at the first start")
        if path is not None:
            try:
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                    file.write(key + "\n")
            except OSError as error:
                raise ValueError(
                    f"admin_key_file = {path!r} cannot be written ({error.strerror}); give the "
                    "path of a file that is not there yet."
                ) from None
        return key
