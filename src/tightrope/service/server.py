"""`tightrope serve`: the application on a port, until it is told to stop."""

import dataclasses
import gc
import os
import signal
import sys

import uvicorn

from .app import create_app
from .http.patience import LimitedProtocol
from .log.database import Database
from .runtime import keys
from .runtime.service import Service
from .runtime.settings import Settings
from .runtime.telemetry import logger, start_logs

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
        print(f"Serving {service.database.url.render_as_string(hide_password=True)} on http://{settings.host}:{settings.port}", flush=True)
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn ends its requests first, then calls these
            signal.signal(number, lambda *_: None)
        sys.setswitchinterval(0.001)  # between the writer's thread and the one that answers
        config = uvicorn.Config(
            create_app(settings, service), host=settings.host, port=settings.port, loop="uvloop", http=LimitedProtocol, log_config=None,
            access_log=False, timeout_graceful_shutdown=GRACE,
            timeout_keep_alive=KEEP, forwarded_allow_ips=[*LOOPBACK, *settings.proxies],
            server_header=False, date_header=False, backlog=4096,
        )  # fmt: skip
        server = uvicorn.Server(config)
        service.ending = lambda: server.should_exit
        server.run()
    finally:
        service.close()
        logger().info("stopped")


def first_key(database: Database, path: str | None = None) -> str | None:
    """An admin key for a database that has no keys yet. path: of a new file that it is written to, for its owner alone. Raises ValueError
    where there cannot be one."""
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
                    f"admin_key_file = {path!r} cannot be written ({error.strerror}); give the path of a file that is not there yet."
                ) from None
        return key
