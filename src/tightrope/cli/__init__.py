"""The command line: `main` listens for Ctrl-C and SIGTERM before anything that takes time is
imported."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .application import app as app

# How a command ends that Ctrl-C or SIGTERM stops: a sentence, the exit code of the signal, and
# nothing left behind.


GRACE_SECONDS = 10.0  # in which a stopped command may end by itself; a later signal ends it at once
AGAIN_SECONDS = 0.05  # after which a signal is raised once more whose exception was swallowed


class CommandStopped(KeyboardInterrupt):
    """Ctrl-C or SIGTERM. Python itself ends by the signal, whatever exit code was asked for, where
    a plain KeyboardInterrupt passed through `exec` of a string, which Numba calls; of a subclass it
    takes no notice."""


class StopSignals:
    """The handler of SIGINT and SIGTERM: the first raises CommandStopped, later ones are ignored
    while the command ends, and one after GRACE_SECONDS kills it."""

    def __init__(self) -> None:
        self.number: int | None = None  # of the signal that came first
        self.since = 0.0
        self._unraisable = sys.unraisablehook

    def install(self) -> None:
        for number, usual in (
            (signal.SIGINT, signal.default_int_handler),
            (signal.SIGTERM, signal.SIG_DFL),
        ):
            if signal.getsignal(number) is usual:
                signal.signal(number, self._stop)
        sys.unraisablehook = self._raise_again

    @property
    def code(self) -> int:
        return 128 + (signal.SIGINT if self.number is None else self.number)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.number is None:
            self.number, self.since = number, time.monotonic()
            raise CommandStopped
        if time.monotonic() > self.since + GRACE_SECONDS:
            for process in multiprocessing.active_children():
                process.kill()
            os.write(2, b"Stopped.\n")
            os._exit(self.code)

    def _raise_again(self, unraisable: "sys.UnraisableHookArgs") -> None:
        """Where Python clears up, exceptions are printed and forgotten; this one is raised once
        more a moment later."""
        if not issubclass(unraisable.exc_type, CommandStopped) or self.number is None:
            self._unraisable(unraisable)
            return
        number, self.number = self.number, None
        timer = threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), number))
        timer.daemon = True
        timer.start()

    def ignore(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


def __getattr__(name: str) -> object:
    """`app`, with all that its commands import."""
    if name == "app":
        from .application import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")


def main() -> None:
    """Entry point: errors are one line on stderr and exit code 2; Ctrl-C ends with 130, SIGTERM
    with 143, both with "Stopped."."""
    signals = StopSignals()
    signals.install()
    try:
        from .application import run_command

        code = run_command()
    except BaseException as error:
        if signals.number is None and not isinstance(
            error, KeyboardInterrupt
        ):  # `CommandStopped` and `Interrupted` are such
            raise
        code = signals.code
    signals.ignore()
    if (
        signals.number is not None or code == signals.code
    ):  # whatever became of the exception on its way
        print("Stopped.", file=sys.stderr)
        code = signals.code
    sys.exit(code)
