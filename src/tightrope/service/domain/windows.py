"""Open decisions, and which of them end by the clock: the first to be made is the first to end, whatever the clock did meanwhile."""

import heapq
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NamedTuple

SLACK = 1000  # deadlines of ended decisions that are kept at least


class OpenDecision(NamedTuple):
    """A decision that waits for its reward. deadline: microseconds since 1970; None: it waits for ever. deferred: it was not activated yet.
    seq: of the event that made it. shown: when it counts as shown, so that it cannot be cancelled any more; None: when it is activated,
    or its window closes."""

    deadline: int | None
    deferred: bool
    seq: int
    shown: int | None


class OpenDecisions(OrderedDict[str, OpenDecision]):
    """Open decisions by id, in the order in which their windows began.

    Deadlines are by the wall clock, windows are equally long, and real time does not go back. So when a window has closed, all that began
    before it have closed too, also those whose deadlines a clock that was ahead has put into the future.
    """

    def __init__(self) -> None:
        super().__init__()
        self._deadlines: list[tuple[int, str]] = []  # a heap; also of decisions that have ended

    def begin(self, id: str, decision: OpenDecision) -> None:
        self[id] = decision
        self.move_to_end(id)
        if decision.deadline is not None:
            if len(self._deadlines) > 2 * len(self) + SLACK:
                self._deadlines = [(one.deadline, each) for each, one in self.items() if one.deadline is not None]
                heapq.heapify(self._deadlines)
            else:
                heapq.heappush(self._deadlines, (decision.deadline, id))

    def begin_all(self, packed: Iterable[list[Any]]) -> None:
        for id, *fields in packed:
            self.begin(id, OpenDecision(*fields))

    def first_due(self, now: int) -> str | None:
        """The decision whose window began first, if the window of any has closed."""
        heap = self._deadlines
        while heap and heap[0][0] <= now:
            deadline, id = heap[0]
            if id in self and self[id].deadline == deadline:
                return next(iter(self))
            heapq.heappop(heap)
        return None
