"""All commands: one group of them a file, registered here."""

from typing import Annotated

import typer

from .. import __version__
from ..core.extras import MissingExtra
from ..service import cli as service
from .options import INTERRUPTED_CODE, console, errors
from .run import demo, evaluate, report, reproduce, run
from .tools import bound, cite, policies

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
                  help="Structured bandits: simulate, reproduce, report.")  # fmt: skip
COMMANDS = (demo, run, report, policies, cite, reproduce, evaluate, bound)  # in the order of `tightrope --help`
for _command in COMMANDS:
    app.command()(_command)
service.register(app)


def run_command() -> int | None:
    """Carry out a command and return its exit code."""
    try:
        code: int | None = app(standalone_mode=False)  # typer returns the code of an exit or of Ctrl-C instead of raising
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
    return code


def _version(wanted: bool) -> None:
    if wanted:
        console.print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Structured bandits: simulate, reproduce, report."""
