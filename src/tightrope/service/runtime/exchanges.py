"""Exchanges: how the workers of one experiment tell each other what they did, and get their leases. Nobody coordinates them.

An exchange is a part of a transaction that locks the experiment's row, so that the exchanges of an experiment have an order. It takes in
what the others told since the last one, then what this worker did, writes one event into the ledger, and goes on from there. A worker that
finds the row locked tries again a little later; meanwhile it decides on. What others told is taken in before the lock is asked for, so that
it is held for a worker's own events only; where others told much, those who wait for decisions get them before the exchange goes on.

Under the lock a worker looks whether its own log still is as it left it. Another one may have taken it for gone and told what it did, or a
new process may write its log now; then it tells nothing, and reads everything again.
"""

import math
import time

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ..domain.errors import Refused
from ..domain.events import Decided, Event, Expired
from ..domain.windows import OpenDecision
from ..log import store
from ..log.claims import PATIENCE
from ..log.entries import LogEntry, worker_number
from ..log.journal import ExperimentJournal, WorkerJournal
from ..log.tables import experiments
from .leases import Lease, Leases
from .owned import OPEN_WEIGHT, OwnedExperiment
from .settings import Settings
from .telemetry import metrics

X = experiments.c
SPREAD = 4.0  # a lease is asked for as many decisions as since the last exchange: standard deviations of a Poisson count above that
LEAST_ASKED = 5
RETRY = 0.1  # of the time between two exchanges, after which a worker that found another one at it tries again
MUCH = 50  # events of others, behind which decisions have their turn
LOCK = (
    "SELECT seq, fence, set_config('idle_in_transaction_session_timeout', %s, true), set_config('lock_timeout', %s, true) "
    "FROM experiments WHERE id = %s FOR NO KEY UPDATE"
)
OWN = "SELECT fence, seq, digest FROM experiments WHERE id = %s"
GRACE = 10 * 10**6  # microseconds after which a window is closed that the worker which decided has left open


class SharedExperiment(OwnedExperiment):
    """An experiment of many workers, of which this process is one. lease: of this worker's log. ledger: what all of them have told."""

    journal: WorkerJournal

    def __init__(self, lease: Lease, ledger: ExperimentJournal, saved: int, leases: Leases, settings: Settings) -> None:
        assert lease.ledger is not None
        self.worker, self.leases, self.settings = lease.worker, leases, settings
        self.mine: dict[str, None] = {}  # open decisions of this process, the oldest first
        self.fresh = False  # whether it was created in the part that is under way
        self.alone = False  # whether it decided what no other worker may before it knows of it, so that this part ends with an exchange
        self.crossed = False  # whether an exchange of this worker has passed a number at which a snapshot is due
        self.exchanged = -math.inf  # when the last one was, by the computer's count of seconds
        self.heard = False  # whether it has heard much for the exchange that is due
        self.looked = -math.inf  # when it looked for workers that are gone
        super().__init__(lease.row, lease.fence, WorkerJournal(ledger, lease.worker, lease.seq, lease.digest), saved, lease.ledger)

    @property
    def ledger(self) -> ExperimentJournal:
        return self.journal.ledger

    def due(self, every: int) -> bool:
        return self.crossed

    # Exchanges ------------------------------------------------------------------------------------------------------------

    def exchange_due(self) -> bool:
        """Whether it is time to tell the others, and to hear of them."""
        waited, every = time.monotonic() - self.exchanged, self.settings.exchange
        pending = len(self.journal.pending)
        if not pending and not self.experiment.lease:
            return waited >= max(every, self.settings.tick)  # only to hear of the others
        return waited >= every or pending >= self.settings.exchange_every

    def look_due(self) -> bool:
        """Whether it is time to look for workers that are gone, also where nobody asks this one for anything."""
        return time.monotonic() - self.looked >= self.leases.seconds / 4

    def exchange(self, connection: Connection, now: int, wait: int = 0, leaving: bool = False, busy: bool = False) -> bool:
        """Tell and hear, in the caller's transaction; this worker's events must be in it. False where it is to be called again: another
        worker is at it, or others told much while somebody waits for a decision.

        wait: until another worker has done, at most so many milliseconds. leaving: no lease is wanted any more. busy: whether somebody
        waits for a decision. Raises Overtaken where this worker's log is not as it left it.
        """
        self.exchanged = time.monotonic()
        # Most of it while nobody waits for the lock; decisions rest on what was known before until this succeeds.
        if self._hear(connection) > MUCH and busy and not self.heard:
            self.heard, self.exchanged = True, -math.inf
            return False
        lock = LOCK if wait else f"{LOCK} SKIP LOCKED"
        row = connection.exec_driver_sql(lock, (str(PATIENCE), str(wait), self.root)).one_or_none()
        if row is None:
            self.exchanged -= (1.0 - RETRY) * self.settings.exchange
            return False
        self._check_own(connection)
        if row.seq != self.ledger.experiment.seq:
            self._hear(connection)
        before = self.ledger.experiment.seq
        if row.seq != before:
            raise ValueError(f"the ledger of {self.ledger.experiment.name!r} ends with event {row.seq}, but {before} was read.")
        self._tell_of_silent(connection, now, row.fence)
        experiment, pending = self.ledger.experiment, self.journal.pending
        decided = sum(entry.kind == Decided.kind for entry in pending)
        demand = 0 if leaving or not decided else max(LEAST_ASKED, math.ceil(decided + SPREAD * math.sqrt(decided)))
        accounts = experiment.accounts
        assert accounts is not None
        if pending or demand or accounts.leases.get(self.worker):
            known = self.experiment.known
            assert known is not None
            self._write(connection, row.fence, pending, self.journal.digest, known, demand, now)
        self.alone = False
        step = snapshot_step(self.settings.snapshot_every, len(experiment.open))
        self.crossed = self.crossed or before // step < experiment.seq // step
        self.go_on()
        metrics().exchanges.observe(time.monotonic() - self.exchanged)
        return True

    def _check_own(self, connection: Connection) -> None:
        """Raise Overtaken where somebody else has told of this worker, or writes its log: both hold the lock that is held now."""
        own = connection.exec_driver_sql(OWN, (self.row,)).one()
        if (own.fence, own.seq, bytes(own.digest)) != (self.fence, self.journal.seq, self.journal.digest):
            raise store.Overtaken(self.row)

    def hear(self, connection: Connection) -> None:
        """Take in what others told, where this worker has nothing to tell: without a lock."""
        self.exchanged = time.monotonic()
        self._hear(connection)
        if self.ledger.experiment.seq != self.experiment.known:
            self.go_on()

    def go_on(self) -> None:
        """Rest on what the ledger knows now."""
        self.journal.go_on(self.experiment)
        self.heard = False

    def _hear(self, connection: Connection) -> int:
        """Take in what others told since the last time; returns how many events."""
        before = self.ledger.experiment.seq
        for entry in store.read_together(connection, self.root, before):
            self.ledger.follow(entry)
        return self.ledger.experiment.seq - before

    def _write(
        self, connection: Connection, fence: int, entries: list[LogEntry], head: bytes, known: int, demand: int, now: int,
        worker: int | None = None, ended: str | None = None,
    ) -> None:  # fmt: skip
        before, events = self.ledger.experiment.seq, self.journal.happened if worker is None else None
        entry = self.ledger.exchange(self.worker if worker is None else worker, entries, head, known, demand, now, ended, events)
        store.append(connection, self.root, fence, [entry], before)

    def _tell_of_silent(self, connection: Connection, now: int, fence: int) -> None:
        """Tell what workers did that are gone, and take back their leases. Their fence rises first: they write nothing any more."""
        accounts = self.ledger.experiment.accounts
        assert accounts is not None
        if not self.look_due():
            return
        self.looked = time.monotonic()
        for row in self.leases.silent(connection, self.root, self.row):
            number = worker_number(row.name)
            taken, lease = accounts.taken.get(number, 0), accounts.leases.get(number, 0)
            if row.seq > taken or lease:
                self.leases.fence_off(connection, row.id)
                entries = list(store.read_one(connection, row.id, taken, row.seq))
                self._write(
                    connection,
                    fence,
                    entries,
                    row.digest,
                    rests_on(entries, self.ledger.experiment.seq),
                    0,
                    now,
                    number,
                    "its process is gone",
                )

    def tell_former(self, connection: Connection) -> None:
        """Have what the process that wrote this worker's log before has not told, so that the next exchange tells it."""
        accounts = self.ledger.experiment.accounts
        assert accounts is not None
        taken = accounts.taken.get(self.worker, 0)
        self.journal.pending = list(store.read_one(connection, self.row, taken, self.journal.seq))
        self.journal.time = self.journal.pending[-1].time if self.journal.pending else 0
        self.experiment.known = rests_on(self.journal.pending, self.ledger.experiment.seq)

    def change(self, connection: Connection, event: Event, now: int) -> LogEntry:
        """An event of the whole experiment, right behind an exchange of the same transaction."""
        fence = connection.execute(sa.select(X.fence).where(X.id == self.root)).scalar_one()
        before = self.ledger.experiment.seq
        entry = self.ledger.record(event, now)
        store.append(connection, self.root, fence, [entry], before)
        self.go_on()
        return entry

    # Decisions ------------------------------------------------------------------------------------------------------------

    def open_elsewhere(self, entries: list[LogEntry]) -> OpenDecision | None:
        """The open decision of another worker that the ledger does not have yet, by all that the logs have about it."""
        decision_entry = next((entry for entry in entries if entry.kind == Decided.kind), None)
        if decision_entry is None or any(entry.kind in ("rewarded", "expired", "cancelled", "closed") for entry in entries):
            return None
        event, within = decision_entry.event, self.experiment.spec.cancel_within
        assert isinstance(event, Decided)
        cancel_until = None if within is None else (decision_entry.time if event.made is None else event.made) + int(within * 10**6)
        return OpenDecision(event.deadline, False, store.LAST, cancel_until)

    def close(self, id: str) -> Event:
        return Expired(id, self.experiment.spec.default_reward)

    def due_windows(self, now: int, most: int) -> list[str]:
        """Decisions whose windows have closed: this worker's own, and after a while those that nobody else has closed."""
        ids: list[str] = []
        ledger, working = self.ledger.experiment.open, self.experiment.open
        for id in list(self.mine):
            waits = working.get(id) or ledger.get(id)
            if waits is None or id in self.journal.ended:
                del self.mine[id]
            elif waits.deadline is None or waits.deadline > now or len(ids) >= most:
                break
            else:
                ids.append(id)
        for id, waits in ledger.items():
            if len(ids) >= most or waits.deadline is None or waits.deadline + GRACE > now:
                break
            if id not in self.mine and id not in self.journal.ended:
                ids.append(id)
        return ids


def snapshot_step(every: int, open: int) -> int:
    """Events between two snapshots, each of which the worker writes that passes a multiple of it: twice as many, or twice that, and so on,
    where many decisions are open."""
    step = every
    while step < OPEN_WEIGHT * open:
        step *= 2
    return step


def rests_on(entries: list[LogEntry], otherwise: int) -> int:
    """The ledger's event that a worker's events rest on, as its decisions say."""
    for entry in entries:
        event = entry.event
        if isinstance(event, Decided) and event.known is not None:
            return event.known
    return otherwise


def refuse_of_many(owned: OwnedExperiment, field: str, why: str) -> None:
    """Refuse what an experiment of many workers does not have."""
    if isinstance(owned, SharedExperiment):
        name = owned.experiment.name
        raise Refused(409, f"experiment = {name!r} has many workers, {why}.", field)
