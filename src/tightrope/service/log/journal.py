"""A live experiment and the head of its log, which move together: an event is sealed, applied, and handed out to be written to disk."""

from ..domain.deciding import Prepared
from ..domain.events import Event
from ..domain.experiment import Experiment
from .entries import START, LogEntry, sealed


class ExperimentJournal:
    """experiment: its state after the last entry. digest: of that entry."""

    def __init__(self, name: str) -> None:
        self.experiment = Experiment(name)
        self.digest = START

    def record(self, event: Event | Prepared, now: int) -> LogEntry:
        """Make an event happen, or a decision that `decide` has prepared. now: microseconds since 1970; the clock may jump back, the log's
        time does not. Raises ValueError, with nothing changed, for what the session refuses."""
        experiment = self.experiment
        happened, decision = event if isinstance(event, Prepared) else (event, None)
        entry = sealed(experiment.name, self.digest, experiment.seq + 1, max(now, experiment.time), happened)
        experiment.apply(happened, entry.seq, entry.time, decision)
        self.digest = entry.digest
        return entry

    def follow(self, entry: LogEntry) -> None:
        self.experiment.apply(entry.event, entry.seq, entry.time)
        self.digest = entry.digest
