"""Watching the clock: windows close by it, so whoever runs the service must hear when it jumps."""

import time
from collections.abc import Iterable

from ..domain.times import MICROSECONDS
from .settings import Settings
from .telemetry import logger, metrics

JUMP = 60.0  # seconds that a clock may gain between two looks; more is no drift
BEHIND = 1.0  # seconds that it may be behind the log; time servers correct less than that


class ClockWatch:
    """Compares the clock with the time of the logs, and with the computer's count of seconds, which nobody sets."""

    def __init__(self, settings: Settings) -> None:
        self.clock = settings.clock
        self.last: tuple[int, float] | None = None  # clock and count at the last look
        self.behind = False

    def look(self, times: Iterable[int]) -> None:
        """Warn where the clock has jumped. times: of the last events of the experiments."""
        now, count = self.clock(), time.monotonic()
        if self.last is not None:
            gained = (now - self.last[0]) / MICROSECONDS - (count - self.last[1])
            if gained > JUMP:
                logger().warning(
                    "clock jumped forward", seconds=round(gained, 1), remedy="windows close by it: stop the service, set it right"
                )
        self.last = now, count
        seconds = max((at - now for at in times), default=0) / MICROSECONDS
        metrics().behind.set(max(seconds, 0.0))
        if seconds > BEHIND and not self.behind:
            logger().warning("clock is behind the log", seconds=round(seconds, 1), remedy="it was set back: check its time server")
        self.behind = seconds > BEHIND
