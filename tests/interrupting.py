"""Processes that get Ctrl-C in the tests."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence

INTERRUPT = signal.SIGINT
SAMPLE_SECONDS = 0.2  # of processor time, by which `crowding` judges


def _as_under_a_terminal() -> None:
    """A group of its own, and signals as a terminal leaves them. A process inherits those that its
    parent ignores: a background shell ignores SIGINT, and a process that has called
    `tightrope.cli.main` ignores both."""
    os.setsid()
    signal.signal(INTERRUPT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def started(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[str]"]:
    """A process with its output in pipes. It and its children are gone when the block ends, in
    whatever way."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=_as_under_a_terminal,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def interrupt(process: "subprocess.Popen[str]") -> None:
    """Ctrl-C, as a terminal sends it: to the process and its children."""
    os.killpg(process.pid, INTERRUPT)


def crowding() -> float:
    """How many times its processor time something takes here and now, from 1: other processes, or
    other machines on the same host, wait for nobody's deadline."""
    began, worked = time.monotonic(), time.process_time()
    while time.process_time() - worked < SAMPLE_SECONDS:
        pass
    return max(1.0, (time.monotonic() - began) / SAMPLE_SECONDS)
