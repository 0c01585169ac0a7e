"""Leases: each experiment is written by one process. A fencing number, checked where events are
appended, outlives every pause."""

import contextlib
import math
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from .database import Database
from .errors import Refused
from .experiment import Experiment
from .log import START, ExperimentJournal, LogEntry, events, experiments

X = experiments.c
STUCK = 300.0  # seconds without a sign of the writer after which its leases are left to run out


class Lease(NamedTuple):
    """The row of an experiment that this process writes, and its fence."""

    row: int
    fence: int


class Leases:
    """The leases of this process. seconds: after which another process may take over one that is
    silent."""

    def __init__(self, database: Database, seconds: float, address: str | None = None) -> None:
        self.database, self.seconds, self.address = database, seconds, address
        self.owner = uuid.uuid4().hex
        self._ended = threading.Event()
        self.seen = time.monotonic()  # when the writer was known to go on
        self._thread: threading.Thread | None = None

    def take(self, connection: Connection, name: str) -> Lease | None:
        """The experiment that is this process's from now on; None: there is none of this name.

        Refused with 503 while another process writes it. An SQLite file is one process's as a
        whole.
        """
        query = sa.select(X.id, X.fence, X.owner, X.lease_until, X.address)
        row = connection.execute(query.where(X.name == name)).one_or_none()
        if row is None:
            return None
        now = self.database.now(connection)
        if (
            row.owner not in (None, self.owner)
            and row.lease_until > now
            and not self.database.sqlite
        ):
            raise elsewhere(name, row.address, max(row.lease_until - now, 0.1))
        unchanged = (
            X.id == row.id,
            X.fence == row.fence,
            X.lease_until.is_not_distinct_from(row.lease_until),
        )  # nor renewed meanwhile
        changed = connection.execute(
            sa.update(experiments)
            .where(*unchanged)
            .values(
                fence=row.fence + 1,
                owner=self.owner,
                address=self.address,
                lease_until=now + self.seconds,
            )
        )
        if changed.rowcount != 1:
            raise elsewhere(name, None, self.seconds)
        return Lease(row.id, row.fence + 1)

    def create(self, connection: Connection, name: str, spec: str) -> Lease:
        inserted = connection.execute(
            sa.insert(experiments).values(
                name=name,
                spec=spec,
                seq=0,
                digest=START,
                fence=1,
                owner=self.owner,
                address=self.address,
                lease_until=self.database.now(connection) + self.seconds,
            )
        )
        assert inserted.inserted_primary_key is not None
        return Lease(int(inserted.inserted_primary_key[0]), 1)

    def renew(self, connection: Connection, owned: "Mapping[str, OwnedExperiment]") -> list[str]:
        """Extend the leases of what this process writes; returns what others have taken over."""
        if self.database.sqlite or not owned:
            return []
        mine = {
            row.id: row.fence
            for row in connection.execute(sa.select(X.id, X.fence).where(X.owner == self.owner))
        }
        self.extend(connection)
        return [name for name, item in owned.items() if mine.get(item.row) != item.lease.fence]

    def extend(self, connection: Connection) -> None:
        connection.execute(
            sa.update(experiments)
            .where(X.owner == self.owner)
            .values(lease_until=self.database.now(connection) + self.seconds)
        )

    def start(self) -> None:
        """Start renewing the lease, from a thread that waits for nothing else: the writer may
        replay, or compile, for longer than a lease."""
        if not self.database.sqlite:
            self._thread = threading.Thread(target=self._beat, name="leases", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(self.seconds / 3):
            if time.monotonic() - self.seen < STUCK:
                with (
                    contextlib.suppress(sa.exc.SQLAlchemyError, OSError),
                    self.database.write() as connection,
                ):
                    self.extend(connection)

    def free(self, connection: Connection, owned: Iterable[str]) -> list[str]:
        """Experiments that go on and that no process writes, or this one only by its lease;
        somebody must close their windows."""
        names = set(owned)
        last = (
            sa.select(events.c.kind)
            .where(events.c.experiment == X.id, events.c.seq == X.seq)
            .scalar_subquery()
        )
        mine = sa.or_(
            X.owner.is_(None), X.owner == self.owner
        )  # its own: forgotten when a transaction failed
        idle = (
            sa.true()
            if self.database.sqlite
            else sa.or_(mine, X.lease_until < self.database.now(connection))
        )
        return [
            row.name
            for row in connection.execute(sa.select(X.name).where(idle, last != "archived"))
            if row.name not in names
        ]

    def give_up(self, connection: Connection) -> None:
        connection.execute(
            sa.update(experiments).where(X.owner == self.owner).values(owner=None, lease_until=None)
        )


def elsewhere(name: str, address: str | None, seconds: float) -> Refused:
    """Another process writes the experiment. address: where it can be reached, if it said so."""
    return Refused(
        503,
        f"experiment = {name!r} is served by another process just now; try again.",
        "experiment",
        seconds,
        address,
    )


# An experiment that this process writes: its row, its fence, and entries that are not on disk yet.


# decisions and assignments in a snapshot that the writer packs itself; larger ones are made by
# another thread from the log
LIGHT = 1500
MARKS = 100  # in the time within which a decision may be cancelled
# events for each decision that a snapshot writes: with many of them it is worth its time less often
OPEN_WEIGHT = 4


class OwnedExperiment:
    """A live experiment that this process writes: its row in the database, its fence, and entries
    that are not on disk yet."""

    def __init__(self, lease: Lease, journal: ExperimentJournal, saved: int) -> None:
        self.lease, self.row, self.journal = lease, lease.row, journal
        self.new: list[LogEntry] = []
        self.saved = (
            saved  # of the last snapshot; what was replayed behind it counts towards the next one
        )
        self.closing = False  # whether its windows are being closed
        self.at_risk: bool | None = (
            # whether the budget was told to be below its least; None: since this process has it,
            # neither
            None
        )
        self.looked, self.looked_at = (
            0,
            -math.inf,
        )  # the last event at the last look at all of it, and the count of seconds then
        # the last event that is surely longer ago than a decision may be cancelled, whatever the
        # clock says
        self.shown = 0
        self.marks = deque(
            [(time.monotonic(), self.experiment.seq)]
        )  # by the computer's count of seconds, which nobody sets

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

    def due_for_notice(self, seconds: float) -> bool:
        """Whether something is new since a look that is so long ago, or that was before the end."""
        now, archived = time.monotonic(), self.experiment.status == "archived"
        if self.experiment.seq == self.looked or not (archived or now - self.looked_at >= seconds):
            return False
        self.looked, self.looked_at = self.experiment.seq, now
        return True

    def due(self, every: int) -> bool:
        """Whether a snapshot is worth its time. It writes every open decision, and what the rollout
        keeps behind the oldest of them: that may be as many as there ever were, so for these alone
        the log at most doubles between two."""
        evidence_weight = min(
            OPEN_WEIGHT * len(self.experiment.rollout.evidence.waiting), self.saved
        )
        written = max(len(self.experiment.open), len(self.experiment.assignments))
        return self.experiment.seq - self.saved >= max(
            every, OPEN_WEIGHT * written, evidence_weight
        )

    @property
    def light(self) -> bool:
        experiment = self.experiment
        book = experiment.session._book
        kept = len(experiment.rollout.evidence.waiting) + len(experiment.assignments)
        return len(book.open) + len(book.closed) + kept <= LIGHT
