"""The command line: one group of commands a file, registered here."""

import signal
import sys
from typing import Annotated, NoReturn

import typer

from .. import __version__
from ..core.extras import MissingExtra
from ..service import cli as service
from .bench import bench
from .bound import bound
from .catalogue import policies
from .cite import cite
from .evaluate import evaluate
from .experiments import demo, report, run
from .query import query
from .reproduce import reproduce
from .shared import INTERRUPTED, console, errors

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
                  help="Structured bandits: simulate, reproduce, report.")  # fmt: skip
COMMANDS = (demo, run, report, query, policies, cite, bench, reproduce, evaluate, bound)  # in the order of `tightrope --help`
for _command in COMMANDS:
    app.command()(_command)
service.register(app)


class Stopped(KeyboardInterrupt):
    """Ctrl-C. Python itself ends by the signal, whatever exit code was asked for, where a plain KeyboardInterrupt passed through `exec`
    of a string, which Numba calls; of a subclass it takes no notice."""


def _stop(number: int, frame: object) -> NoReturn:
    raise Stopped


def main() -> None:
    """Entry point: errors are one line on stderr and exit code 2; Ctrl-C exits with 130."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    try:
        code = app(standalone_mode=False)  # typer returns the code of an exit or of Ctrl-C instead of raising
    except (ValueError, OSError, MissingExtra) as error:
        errors.print(f"error: {error}", style="red", soft_wrap=True)
        sys.exit(2)
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except (KeyboardInterrupt, typer.Abort):  # `Stopped` and `Interrupted` are such
        code = INTERRUPTED
    except Exception as error:
        show = getattr(error, "show", None)  # click's own usage errors
        if show is None:
            raise
        show()
        sys.exit(getattr(error, "exit_code", 2))
    if code == INTERRUPTED:
        errors.print("Stopped.")
    sys.exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        console.print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Structured bandits: simulate, reproduce, report."""
