"""Ctrl-C and SIGTERM while a run is going: noted at once, and acted on where nothing is half done.

An exception that a signal raises at any line may leave a process half started or a lock taken, or be swallowed where Python clears up.
"""

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType

PATIENCE_SECONDS = 10.0  # after which a signal is acted on wherever the run is


class Interrupts:
    """In this context the program's own handlers of signals are called by `check`, or at the end. Outside of the main thread Python tells
    nobody of signals, so nothing changes there; signals that the program leaves to the system stay with it.
    """

    def __init__(self) -> None:
        self.handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
        self.noted: int | None = None
        self.since = 0.0
        self.acted = False

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if callable(handler):
                    self.handlers[number] = handler
                    signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.noted is not None and time.monotonic() > self.since + PATIENCE_SECONDS:
            self.handlers[number](number, frame)
        if self.noted is None:
            self.noted, self.since = number, time.monotonic()

    def check(self) -> None:
        """Act on a signal that has come: its handler raises KeyboardInterrupt, unless the program has another one."""
        if self.noted is not None:
            number, self.noted, self.acted = self.noted, None, True
            self.handlers[number](number, None)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        if kind is None and not self.acted:  # one that came too late to be acted on; a second one while a run ends asks for nothing more
            self.check()
