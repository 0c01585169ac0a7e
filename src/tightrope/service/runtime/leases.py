"""Leases: each experiment is written by one process. A fencing number, checked where events are appended, outlives every pause."""

import contextlib
import threading
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ..domain.errors import Refused
from ..log.database import Database
from ..log.entries import START
from ..log.tables import events, experiments

X = experiments.c
STUCK = 300.0  # seconds without a sign of the writer after which its leases are left to run out


class Fenced(Protocol):
    """An experiment that a process writes."""

    row: int
    fence: int


class Lease(NamedTuple):
    """The row of an experiment that this process writes, and its fence."""

    row: int
    fence: int


class Leases:
    """The leases of this process. seconds: after which another process may take over one that is silent."""

    def __init__(self, database: Database, seconds: float, address: str | None = None) -> None:
        self.database, self.seconds, self.address = database, seconds, address
        self.owner = uuid.uuid4().hex
        self._ended, self._seen = threading.Event(), time.monotonic()
        self._thread: threading.Thread | None = None

    def take(self, connection: Connection, name: str) -> Lease | None:
        """The experiment that is this process's from now on; None: there is none of this name.

        Refused with 503 while another process writes it. An SQLite file is one process's as a whole.
        """
        query = sa.select(X.id, X.fence, X.owner, X.lease_until, X.address)
        row = connection.execute(query.where(X.name == name)).one_or_none()
        if row is None:
            return None
        now = self.database.now(connection)
        if row.owner not in (None, self.owner) and row.lease_until > now and not self.database.sqlite:
            raise Elsewhere(name, row.address, max(row.lease_until - now, 0.1))
        unchanged = X.id == row.id, X.fence == row.fence, X.lease_until.is_not_distinct_from(row.lease_until)  # nor renewed meanwhile
        changed = connection.execute(sa.update(experiments).where(*unchanged).values(
            fence=row.fence + 1, owner=self.owner, address=self.address, lease_until=now + self.seconds,
        ))  # fmt: skip
        if changed.rowcount != 1:
            raise Elsewhere(name, None, self.seconds)
        return Lease(row.id, row.fence + 1)

    def create(self, connection: Connection, name: str, spec: str) -> Lease:
        until = self.database.now(connection) + self.seconds
        inserted = connection.execute(sa.insert(experiments).values(
            name=name, spec=spec, seq=0, digest=START, fence=1, owner=self.owner, address=self.address, lease_until=until,
        ))  # fmt: skip
        assert inserted.inserted_primary_key is not None
        return Lease(int(inserted.inserted_primary_key[0]), 1)

    def renew(self, connection: Connection, owned: Mapping[str, Fenced]) -> list[str]:
        """Extend the leases of what this process writes; returns what others have taken over."""
        if self.database.sqlite or not owned:
            return []
        mine = {row.id: row.fence for row in connection.execute(sa.select(X.id, X.fence).where(X.owner == self.owner))}
        self.extend(connection)
        return [name for name, item in owned.items() if mine.get(item.row) != item.fence]

    def extend(self, connection: Connection) -> None:
        until = self.database.now(connection) + self.seconds
        connection.execute(sa.update(experiments).where(X.owner == self.owner).values(lease_until=until))

    def start(self) -> None:
        """Start renewing the lease, from a thread that waits for nothing else: the writer may replay, or compile, for longer than a
        lease."""
        if not self.database.sqlite:
            self._thread = threading.Thread(target=self._beat, name="leases", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def mark_alive(self) -> None:
        self._seen = time.monotonic()

    def _beat(self) -> None:
        while not self._ended.wait(self.seconds / 3):
            if time.monotonic() - self._seen < STUCK:
                with contextlib.suppress(sa.exc.SQLAlchemyError, OSError), self.database.write() as connection:
                    self.extend(connection)

    def free(self, connection: Connection, owned: Iterable[str]) -> list[str]:
        """Experiments that go on and that no process writes, or this one only by its lease; somebody must close their windows."""
        names = set(owned)
        last = sa.select(events.c.kind).where(events.c.experiment == X.id, events.c.seq == X.seq).scalar_subquery()
        mine = sa.or_(X.owner.is_(None), X.owner == self.owner)  # its own: forgotten when a transaction failed
        idle = sa.true() if self.database.sqlite else sa.or_(mine, X.lease_until < self.database.now(connection))
        rows = connection.execute(sa.select(X.name).where(idle, last != "archived"))
        return [row.name for row in rows if row.name not in names]

    def give_up(self, connection: Connection) -> None:
        connection.execute(sa.update(experiments).where(X.owner == self.owner).values(owner=None, lease_until=None))


class Elsewhere(Refused):
    """Another process writes the experiment. address: where it can be reached, if it said so."""

    def __init__(self, name: str, address: str | None, seconds: float) -> None:
        super().__init__(503, f"experiment = {name!r} is served by another process just now; try again.", "experiment", retry_after=seconds)
        self.address = address
