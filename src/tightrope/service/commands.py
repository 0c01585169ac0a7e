"""Commands of the service. What they need is loaded when one of them runs, so that `tightrope --help` stays quick."""

from typing import Annotated

import typer

Db = Annotated[str, typer.Option(envvar="TIGHTROPE_DB", help="An SQLite file, or postgresql://user@host/name.")]


def serve(
    db: Db = "tightrope.db",
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8080,
) -> None:
    """Serve decisions over HTTP; the first start prints an admin key."""
    from .needs import check

    check()
    from .run import serve as run
    from .settings import Settings

    run(Settings(db=db, host=host, port=port))


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(serve)
