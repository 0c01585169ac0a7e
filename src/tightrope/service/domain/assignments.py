"""Sticky assignment: which decision a subject goes on with, and what has come of those whose rewards are summed."""

import heapq
from typing import NamedTuple

from ...core.types import JsonObject


class KeptDecision(NamedTuple):
    """A subject's decision. seq: of the event that made it. until: when the subject is decided for anew, microseconds since 1970."""

    decision: str
    seq: int
    arm: str
    until: int


class Assignments(dict[str, KeptDecision]):
    """Assignments by subject. Memory grows with the subjects of the last `lasts` seconds.

    totals: by open decision, where rewards are summed, their sum within the experiment's range, and as clients said it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.totals: dict[str, tuple[float, float]] = {}
        self._subjects: dict[int, str] = {}  # by the event that made the decision
        self._ends: list[tuple[int, int]] = []  # a heap: when, and that event; also of those that were forgotten

    def begin(self, subject: str, assignment: KeptDecision) -> None:
        self.forget(subject)
        self[subject] = assignment
        self._subjects[assignment.seq] = subject
        heapq.heappush(self._ends, (assignment.until, assignment.seq))

    def current(self, subject: str, now: int) -> KeptDecision | None:
        decision = self.get(subject)
        return decision if decision is not None and now < decision.until else None

    def forget(self, subject: str) -> None:
        """Drop the subject's decision, so that the next one is made anew."""
        decision = self.pop(subject, None)
        if decision is not None:
            del self._subjects[decision.seq]

    def forget_event(self, seq: int) -> None:
        if seq in self._subjects:
            self.forget(self._subjects[seq])

    def forget_all(self) -> None:
        self.clear()
        self._subjects.clear()
        self._ends.clear()

    def drop_old(self, now: int) -> None:
        """Let go of those whose time is over. Which these are depends on no other subject, as one of them may be erased."""
        while self._ends and self._ends[0][0] <= now:
            self.forget_event(heapq.heappop(self._ends)[1])

    def pack(self) -> JsonObject:
        return {"subjects": [[subject, *one] for subject, one in self.items()], "totals": [[id, *both] for id, both in self.totals.items()]}

    def unpack(self, packed: JsonObject) -> None:
        for subject, *fields in packed["subjects"]:
            self.begin(subject, KeptDecision(*fields))
        self.totals = {id: (total, said) for id, total, said in packed["totals"]}
