"""`tightrope serve`: the application on a port, until it is told to stop."""

import dataclasses
import signal
import sys

import uvicorn

from . import keys
from .app import create_app
from .collector import keep_what_is_there, seldom
from .office import Office
from .settings import Settings
from .store.database import Database
from .telemetry import logger, start_logs

KEEP = 75  # seconds that an idle connection stays
GRACE = 10  # seconds that open requests have when the service stops


@seldom()
def serve(settings: Settings) -> None:
    """Serve until SIGTERM or Ctrl-C, then answer what is open, write snapshots and end."""
    start_logs()
    settings = dataclasses.replace(settings, own_process=True)
    office = Office(settings)
    office.open()
    try:
        first = first_key(office.database)
        office.gate.refresh()
        if first is not None:
            print(f"Admin key, shown only now: {first}", flush=True)
        print(f"Serving {office.database.url.render_as_string(hide_password=True)} on http://{settings.host}:{settings.port}", flush=True)
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn ends its requests first, then calls these
            signal.signal(number, lambda *_: None)
        sys.setswitchinterval(0.001)  # between the writer's thread and the one that answers
        config = uvicorn.Config(
            create_app(settings, office), host=settings.host, port=settings.port, loop="uvloop", http="httptools", log_config=None,
            access_log=False, timeout_graceful_shutdown=GRACE,
            timeout_keep_alive=KEEP, server_header=False, date_header=False, backlog=4096,
        )  # fmt: skip
        server = uvicorn.Server(config)
        keep_what_is_there(settings)
        office.ending = lambda: server.should_exit
        server.run()
    finally:
        office.close()
        logger().info("stopped")


def first_key(database: Database) -> str | None:
    """An admin key for a database that has no keys yet."""
    with database.write() as connection:
        database.alone(connection)
        return None if keys.listed(connection) else keys.create(connection, "admin", "made at the first start")
