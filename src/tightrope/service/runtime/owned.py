"""An experiment that this process writes: its row, its fence, and entries that are not on disk yet."""

import math
import time
from collections import deque

from ..domain.experiment import Experiment
from ..log.entries import LogEntry
from ..log.journal import ExperimentJournal

LIGHT = 1500  # decisions and assignments in a snapshot that the writer packs itself; larger ones are made by another thread from the log
MARKS = 100  # in the time within which a decision may be cancelled
OPEN_WEIGHT = 4  # events for each decision that a snapshot writes: with many of them it is worth its time less often


class OwnedExperiment:
    """A live experiment that this process writes: its row in the database, its fence, and entries that are not on disk yet."""

    def __init__(self, row: int, fence: int, journal: ExperimentJournal, saved: int) -> None:
        self.row, self.fence, self.journal = row, fence, journal
        self.new: list[LogEntry] = []
        self.saved = saved  # of the last snapshot; what was replayed behind it counts towards the next one
        self.closing = False  # whether its windows are being closed
        self.at_risk: bool | None = None  # whether the budget was told to be below its least; None: since this process has it, neither
        self.looked, self.looked_at = 0, -math.inf  # the last event at the last look at all of it, and the count of seconds then
        self.shown = 0  # the last event that is surely longer ago than a decision may be cancelled, whatever the clock says
        self.marks = deque([(time.monotonic(), self.experiment.seq)])  # by the computer's count of seconds, which nobody sets

    @property
    def experiment(self) -> Experiment:
        return self.journal.experiment

    def mark(self) -> None:
        """Note how far the log is, to know later what is older than `cancel_within`."""
        experiment = self.experiment
        within, now = experiment.spec.cancel_within, time.monotonic()
        if within is None:
            return
        if not self.marks or now - self.marks[-1][0] >= within / MARKS:
            self.marks.append((now, experiment.seq))
        while self.marks and now - self.marks[0][0] > within:
            self.shown = self.marks.popleft()[1]

    def worth_a_look(self, seconds: float) -> bool:
        """Whether something is new since a look that is so long ago, or that was before the end."""
        now, archived = time.monotonic(), self.experiment.status == "archived"
        if self.experiment.seq == self.looked or not (archived or now - self.looked_at >= seconds):
            return False
        self.looked, self.looked_at = self.experiment.seq, now
        return True

    def due(self, every: int) -> bool:
        """Whether a snapshot is worth its time. It writes every open decision, and what the rollout keeps behind the oldest of them: that
        may be as many as there ever were, so for these alone the log at most doubles between two."""
        evidence_weight = min(OPEN_WEIGHT * len(self.experiment.rollout.evidence.waiting), self.saved)
        written = max(len(self.experiment.open), len(self.experiment.assignments))
        return self.experiment.seq - self.saved >= max(every, OPEN_WEIGHT * written, evidence_weight)

    @property
    def light(self) -> bool:
        experiment = self.experiment
        book = experiment.session._book
        kept = len(experiment.rollout.evidence.waiting) + len(experiment.assignments)
        return len(book.open) + len(book.closed) + kept <= LIGHT
