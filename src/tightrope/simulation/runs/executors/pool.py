"""What threads and processes share: futures of the standard library."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, wait

from ...replication import Stopped
from ..plan import Rows

POLL_SECONDS = 0.1  # how often a driver looks up from waiting


class Pool:
    """Futures by chunk number."""

    def __init__(self) -> None:
        self.futures: dict[Future[Rows | None], int] = {}

    def look_up(self) -> None:
        """Called while waiting."""

    def forget_cancelled(self) -> None:
        """Chunks that were never begun are not waited for."""
        self.futures = {future: number for future, number in self.futures.items() if not future.cancelled()}

    def as_completed(self) -> Iterator[tuple[int, Rows | None]]:
        """Chunks as they finish."""
        while self.futures:
            done, _ = wait(self.futures, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
            self.look_up()
            for future in done:
                number = self.futures.pop(future)
                with contextlib.suppress(Stopped, CancelledError):
                    yield number, future.result()
