"""The command line: `main` listens for Ctrl-C and SIGTERM before anything that takes time is imported."""

import sys
from typing import TYPE_CHECKING

from .way_out import WayOut

if TYPE_CHECKING:
    from .application import app as app


def __getattr__(name: str) -> object:
    """`app`, with all that its commands import."""
    if name == "app":
        from .application import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")


def main() -> None:
    """Entry point: errors are one line on stderr and exit code 2; Ctrl-C ends with 130, SIGTERM with 143, both with "Stopped."."""
    way_out = WayOut()
    way_out.open()
    try:
        from .application import run_command

        code = run_command()
    except BaseException as error:
        if way_out.number is None and not isinstance(error, KeyboardInterrupt):  # `CommandStopped` and `Interrupted` are such
            raise
        code = way_out.code
    way_out.close()
    if way_out.number is not None or code == way_out.code:  # whatever became of the exception on its way
        print("Stopped.", file=sys.stderr)
        code = way_out.code
    sys.exit(code)
