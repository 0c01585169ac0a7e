"""Leases: each experiment is written by one process. A fencing number, checked where events are appended, outlives every pause."""

import contextlib
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ..domain.errors import Refused
from ..log.claims import PATIENCE
from ..log.database import Database
from ..log.entries import START, worker_log, worker_number
from ..log.tables import events, experiments

X = experiments.c
JOINING = 50  # milliseconds for which a process that joins waits for a lock; its other experiments wait too
NOT_TO_BE_HAD = "55P03"  # PostgreSQL's number for a lock that was waited for in vain
STUCK = 300.0  # seconds without a sign of the writer after which its leases are left to run out
LIMITS = "SELECT set_config('idle_in_transaction_session_timeout', %s, true), set_config('lock_timeout', %s, true)"


class Fenced(Protocol):
    """An experiment that a process writes."""

    row: int
    fence: int


class Lease(NamedTuple):
    """A log that this process writes. row, fence: of it. ledger: of many workers the row of the experiment, and `worker` is the number of
    the one whose log it is; seq, digest: of its last event."""

    row: int
    fence: int
    ledger: int | None = None
    worker: int = 0
    seq: int = 0
    digest: bytes = START


class Leases:
    """The leases of this process. seconds: after which another process may take over one that is silent."""

    def __init__(self, database: Database, seconds: float, address: str | None = None) -> None:
        self.database, self.seconds, self.address = database, seconds, address
        self.owner = uuid.uuid4().hex
        self._ended, self._seen = threading.Event(), time.monotonic()
        self._thread: threading.Thread | None = None

    def take(self, connection: Connection, name: str) -> Lease | None:
        """The experiment that is this process's from now on, or of many workers a log of it; None: there is none of this name.

        Refused with 503 while another process writes it. An SQLite file is one process's as a whole.
        """
        query = sa.select(X.id, X.fence, X.owner, X.lease_until, X.address, X.workers)
        row = connection.execute(query.where(X.name == name, X.parent.is_(None))).one_or_none()
        if row is None:
            return None
        if row.workers is not None:
            return self.join(connection, row.id, name, row.workers)
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

    def join(self, connection: Connection, ledger: int, name: str, workers: int) -> Lease:
        """The log of one of many workers: one that nobody writes, or a new one. Refused with 503 where there are as many as may be, and
        while somebody else joins, or exchanges, for long."""
        limit_waits(connection, JOINING)
        with not_held(name):
            connection.execute(sa.select(X.id).where(X.id == ledger).with_for_update())  # others who join wait
        now, columns = self.database.now(connection), (X.id, X.name, X.fence, X.owner, X.lease_until, X.address, X.seq, X.digest)
        rows = connection.execute(sa.select(*columns).where(X.parent == ledger).order_by(X.id)).all()
        until = now + self.seconds
        for row in sorted(rows, key=lambda one: one.owner != self.owner):  # its own first, or its lease on that would never run out
            if row.owner in (None, self.owner) or row.lease_until <= now:
                changed = connection.execute(
                    sa.update(experiments).where(X.id == row.id, X.fence == row.fence).values(
                        fence=row.fence + 1, owner=self.owner, address=self.address, lease_until=until).returning(X.seq, X.digest)
                ).one()  # fmt: skip
                return Lease(row.id, row.fence + 1, ledger, worker_number(row.name), changed.seq, bytes(changed.digest))
        if len(rows) >= workers:
            raise Elsewhere(name, next((row.address for row in rows if row.address), None), self.seconds)
        number = max((worker_number(row.name) for row in rows), default=0) + 1
        inserted = connection.execute(sa.insert(experiments).values(
            name=worker_log(name, number), spec="", seq=0, digest=START, fence=1, owner=self.owner, address=self.address, lease_until=until,
            parent=ledger,
        ))  # fmt: skip
        assert inserted.inserted_primary_key is not None
        return Lease(int(inserted.inserted_primary_key[0]), 1, ledger, number)

    def silent(self, connection: Connection, ledger: int, but: int) -> "list[sa.Row[int, str, int, bytes]]":
        """Logs of workers that nobody writes any more. but: this process's own."""
        gone = sa.or_(X.owner.is_(None), X.lease_until < sa.func.extract("epoch", sa.func.clock_timestamp()))
        query = sa.select(X.id, X.name, X.seq, X.digest).where(X.parent == ledger, X.id != but, gone).with_for_update(skip_locked=True)
        return list(connection.execute(query).all())

    def fence_off(self, connection: Connection, row: int) -> None:
        """Whoever has written a log until now, and may believe that it still does, writes nothing any more."""
        free = {"owner": None, "address": None, "lease_until": None}
        connection.execute(sa.update(experiments).where(X.id == row).values(fence=X.fence + 1, **free))

    def create(self, connection: Connection, name: str, spec: str, workers: int = 1) -> Lease:
        """A new experiment; of many workers the ledger, which nobody owns, and the log of this process."""
        if workers > 1:
            ledger = connection.execute(
                sa.insert(experiments).values(name=name, spec=spec, seq=0, digest=START, fence=1, workers=workers)
            ).inserted_primary_key
            assert ledger is not None
            return self.join(connection, int(ledger[0]), name, workers)
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
        """Renew every lease of this process."""
        until = self.database.now(connection) + self.seconds
        connection.execute(sa.update(experiments).where(X.owner == self.owner).values(lease_until=until))

    def start(self) -> None:
        """Start renewing the lease, from a thread that waits for nothing else: the writer may replay, or compile, for longer than a
        lease."""
        if not self.database.sqlite:
            self._thread = threading.Thread(target=self._beat, name="leases", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop renewing the lease."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def mark_alive(self) -> None:
        """Note that the writer is at work."""
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
        rows = connection.execute(sa.select(X.name).where(idle, X.parent.is_(None), last != "archived"))
        return [row.name for row in rows if row.name not in names]

    def give_up(self, connection: Connection) -> None:
        """Let others take over at once."""
        connection.execute(sa.update(experiments).where(X.owner == self.owner).values(owner=None, lease_until=None))


def limit_waits(connection: Connection, milliseconds: int) -> None:
    """Wait no longer than that for a lock in this transaction of PostgreSQL, and let nobody wait for this process where it is stopped."""
    connection.exec_driver_sql(LIMITS, (str(PATIENCE), str(milliseconds)))


@contextlib.contextmanager
def not_held(name: str) -> Iterator[None]:
    """Refuse with 503 where a lock of an experiment was waited for in vain."""
    try:
        yield
    except sa.exc.OperationalError as error:
        if getattr(error.orig, "sqlstate", None) != NOT_TO_BE_HAD:
            raise
        raise Busy(name) from None


class Busy(Refused):
    """Another worker holds the ledger of an experiment for longer than a process that joins waits."""

    def __init__(self, name: str) -> None:
        super().__init__(
            503, f"experiment = {name!r} has workers that are telling each other just now, so that this one could not join; try again.",
            "experiment", retry_after=1,
        )  # fmt: skip


class Elsewhere(Refused):
    """Another process writes the experiment. address: where it can be reached, if it said so."""

    def __init__(self, name: str, address: str | None, seconds: float) -> None:
        super().__init__(503, f"experiment = {name!r} is served by another process just now; try again.", "experiment", retry_after=seconds)
        self.address = address
