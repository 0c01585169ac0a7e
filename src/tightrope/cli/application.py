"""All commands: those of the library, and of packages that are found by the entry points of
`tightrope.commands`."""

from importlib.metadata import entry_points
from typing import Annotated, cast

import typer

from .. import __version__
from ..core.extras import MissingExtra
from .options import INTERRUPTED_CODE, console, errors
from .run import evaluate, report, run
from .tools import bound, cite, policies

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Structured bandits: simulate, reproduce, report.",
)
for _command in (
    run,
    report,
    policies,
    cite,
    evaluate,
    bound,
):  # in the order of `tightrope --help`
    app.command()(_command)
for _point in entry_points(group="tightrope.commands"):
    _point.load()(app)


def run_command() -> int | None:
    try:
        # typer returns the code of an exit or of Ctrl-C instead of raising
        return cast("int | None", app(standalone_mode=False))
    except (ValueError, OSError, MissingExtra) as error:
        errors.print(f"error: {error}", style="red", soft_wrap=True)
        return 2
    except typer.Exit as leave:
        return leave.exit_code
    except typer.Abort:
        return INTERRUPTED_CODE
    except Exception as error:
        show = getattr(error, "show", None)  # click's own usage errors
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", 2))


def _version(wanted: bool) -> None:
    if wanted:
        console.print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Structured bandits: simulate, reproduce, report."""
