"""A live experiment and the head of its log, which move together: an event is sealed, applied, and handed out to be written to disk."""

from collections.abc import Mapping, Sequence

from ..domain.deciding import Prepared
from ..domain.events import Decided, DecisionEvent, Event, Exchanged
from ..domain.experiment import Experiment, apply, apply_as_worker
from .entries import START, LogEntry, sealed, worker_log


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
        apply(experiment, happened, entry.seq, entry.time, decision)
        self.digest = entry.digest
        return entry

    def follow(self, entry: LogEntry) -> None:
        """Take in an entry of the log, as in a replay."""
        apply(self.experiment, entry.event, entry.seq, entry.time)
        self.digest = entry.digest

    def exchange(
        self, worker: int, entries: Sequence[LogEntry], head: bytes, known: int, demand: int, now: int, ended: str | None = None,
        happened: Mapping[int, Event] | None = None,
    ) -> LogEntry:  # fmt: skip
        """Of many workers: take in what one did since its last exchange, and grant it a lease. This is their ledger.

        head: the digest of the last event of its log. known: the ledger's event that these rest on. demand: decisions that it may want to
        explore with until its next exchange. ended: why somebody else tells it, where that is so. happened: events by their number in the
        worker's log, where they need not be read from their entries.
        """
        experiment = self.experiment
        accounts = experiment.accounts
        assert accounts is not None
        known_events = happened or {}
        for place, entry in enumerate(entries, experiment.seq + 1):
            apply(experiment, known_events.get(entry.seq) or entry.event, place, entry.time)
        first, lease, out, bound = accounts.taken.get(worker, 0) + 1, 0, 0, None
        if experiment.promises:
            rounds, out = experiment.known_rounds(), accounts.out - accounts.leases.get(worker, 0)
            lease = rounds.room(out, demand)
            out += lease
            bound = rounds.bound(out)
        event = Exchanged(worker, first, first + len(entries) - 1, head.hex(), known, lease, out, bound, ended)
        return self.record(event, now)


class WorkerJournal(ExperimentJournal):
    """One of many workers: what it knows, and its own log. ledger: of all of them, as this process knows it. seq, digest: of its log's last
    event. pending: entries that the ledger does not have. happened: their events by number, of those that this process made. ended:
    decisions of the ledger that they end."""

    def __init__(self, ledger: ExperimentJournal, worker: int, seq: int, digest: bytes) -> None:
        self.ledger, self.worker, self.seq, self.digest = ledger, worker, seq, digest
        self.name, self.time = worker_log(ledger.experiment.name, worker), 0
        self.go_on(None)

    def go_on(self, former: Experiment | None) -> None:
        """Rest on what the ledger knows now. former: what this rested on before, which is used no more."""
        self.experiment = self.ledger.experiment.branch(self.worker, former)
        self.pending: list[LogEntry] = []
        self.happened: dict[int, Event] = {}
        self.ended: set[str] = set()

    def record(self, event: Event | Prepared, now: int) -> LogEntry:
        """As of the parent class, in this worker's log."""
        happened, decision = (event.event, event.drawn) if isinstance(event, Prepared) else (event, None)
        entry = sealed(self.name, self.digest, self.seq + 1, max(now, self.time), happened)
        apply_as_worker(self.experiment, self.ledger.experiment, happened, entry.time, decision)
        self.seq, self.time, self.digest = entry.seq, entry.time, entry.digest
        self.pending.append(entry)
        self.happened[entry.seq] = happened
        if isinstance(happened, DecisionEvent) and not isinstance(happened, Decided):
            self.ended.add(happened.decision)
        return entry

    def borrow(self, id: str) -> None:
        """Know an open decision of the ledger, if it has it and nothing here has ended it."""
        if id not in self.experiment.open and id not in self.ended:
            self.experiment.borrow(id, self.ledger.experiment)
