"""The log of events: tables, sealed entries, reading and appending, audit, secrets."""

import contextlib
import functools
import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from pydantic_core import from_json, to_json
from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    text,
)
from sqlalchemy.engine import Connection

from . import JsonObject, events as domain_events
from .database import Database
from .errors import timestamp
from .events import TYPES, Decided, Event
from .experiment import Experiment

# The tables. `migrations/` makes them; a test compares both.


metadata = MetaData()
DECIDED, SUBJECT = text("kind = 'decided'"), text("subject IS NOT NULL")

experiments = Table(
    "experiments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("spec", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),  # of its last event
    Column("digest", LargeBinary, nullable=False),  # of its last event
    Column(
        "fence", BigInteger, nullable=False
    ),  # grows with every change of the process that writes
    Column("owner", String(40)),  # the process that writes
    Column("address", Text),  # where other processes reach it
    Column("lease_until", Float),  # seconds since 1970, by the database's clock
)

events = Table(
    "events",
    metadata,
    Column("experiment", Integer, ForeignKey("experiments.id"), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("time", BigInteger, nullable=False),  # microseconds since 1970
    Column("key", String(200)),  # the decision it is about
    Column("subject", String(200)),  # whose data it is, until it is erased
    Column("body", LargeBinary, nullable=False),  # JSON
    Column("body_digest", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    PrimaryKeyConstraint("experiment", "seq"),
    Index("events_of_decision", "experiment", "key"),
    Index(
        "one_decision",
        "experiment",
        "key",
        unique=True,
        sqlite_where=DECIDED,
        postgresql_where=DECIDED,
    ),
    Index(
        "events_of_subject", "experiment", "subject", sqlite_where=SUBJECT, postgresql_where=SUBJECT
    ),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("experiment", Integer, ForeignKey("experiments.id"), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("rest", Text, nullable=False),  # JSON: what the session does not hold
    Column("session", LargeBinary, nullable=False),
    PrimaryKeyConstraint("experiment", "seq"),
)

keys = Table(
    "keys",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),  # SHA-256 of the key
    Column("role", String(10), nullable=False),
    Column("note", String(200), nullable=False),
    Column("per_second", Float, nullable=False),  # requests
    Column("created", BigInteger, nullable=False),
    Column("revoked", BigInteger),
    Column("experiments", Text),  # JSON: names and patterns of the experiments it is for; null: all
)

sessions = Table(
    "sessions",
    metadata,  # of the board
    Column("digest", LargeBinary, primary_key=True),  # SHA-256 of the cookie
    Column("key", Integer, nullable=False),  # that somebody signed in with
    Column("until", BigInteger, nullable=False),  # microseconds since 1970
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("time", BigInteger, nullable=False),  # microseconds since 1970
    Column("key", Integer),  # null: none was needed
    Column("note", String(200), nullable=False),  # of the key, as it was
    Column("experiment", String(100)),
    Column("action", String(40), nullable=False),
    Column("detail", Text, nullable=False),  # JSON
    Index("audit_of_experiment", "experiment", "id"),
)

secrets_table = Table(
    "secrets",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", LargeBinary, nullable=False),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("url", Text, nullable=False),
    Column("events", Text, nullable=False),  # JSON: kinds of messages
    Column("experiments", Text),  # JSON: names and patterns of the experiments it is for; null: all
    Column("secret", LargeBinary, nullable=False),  # that messages are signed with
    Column("note", String(200), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("busy_until", BigInteger, nullable=False),  # a process sends to it
)

webhook_told = Table(
    "webhook_told",
    metadata,  # what lasts and was told, until it ends
    Column("webhook", Integer, nullable=False),
    Column("experiment", Integer, nullable=False),
    Column("scope", String(20), nullable=False),  # budget, assumption or winner
    Column("about", Text, nullable=False),  # the arm, or the sentence
    PrimaryKeyConstraint("webhook", "experiment", "scope", "about"),
)

outbox = Table(
    "outbox",
    metadata,  # messages, each written in the transaction of its event
    Column("id", Integer, primary_key=True),
    Column(
        "message", String(40), nullable=False
    ),  # id that the receiver sees, the same in every attempt
    Column("webhook", Integer, nullable=False),
    Column("experiment", String(100), nullable=False),
    Column("event", String(40), nullable=False),
    Column("body", LargeBinary, nullable=False),  # JSON
    Column("created", BigInteger, nullable=False),  # microseconds since 1970, as the next two
    Column("due", BigInteger, nullable=False),  # of the next attempt
    Column("until", BigInteger, nullable=False),  # no attempt after it
    Column("attempts", Integer, nullable=False),
    Column("status", String(10), nullable=False),  # waiting, delivered or failed
    Column("error", Text),  # of the last attempt
    Index("outbox_due", "status", "due"),
    Index("outbox_of_webhook", "webhook", "id"),
)


# Entries of the log: events with their number and time, each sealed by a digest over the one
# before.


START = bytes(32)  # the digest before the first entry


class LogEntry(NamedTuple):
    """One line of the log. time: microseconds since 1970 (UTC). decision: the id of the one it is
    about, if any. subject: whose data it is.
    text: the event's body in JSON."""

    seq: int
    kind: str
    time: int
    decision: str | None
    subject: str | None
    text: bytes
    body_digest: bytes
    digest: bytes

    @property
    def body(self) -> JsonObject:
        body: JsonObject = from_json(self.text)
        return body

    @property
    def blanked(self) -> bool:
        return hashlib.sha256(self.text).digest() != self.body_digest

    @property
    def event(self) -> Event:
        """The event of this entry. Raises ValueError where another version wrote it that had other
        fields or kinds."""
        try:
            return TYPES[self.kind].read(from_json(self.text), self.decision)
        except (KeyError, msgspec.ValidationError):
            raise ValueError(
                f"event {self.seq} ({self.kind}) has not the fields that this version of "
                "tightrope reads."
            ) from None


def sealed(experiment: str, before: bytes, seq: int, time: int, event: Event) -> LogEntry:
    text, decision = to_json(event.body), getattr(event, "decision", None)
    subject = event.subject if isinstance(event, Decided) else None
    body_digest = hashlib.sha256(text).digest()
    return LogEntry(
        seq,
        event.kind,
        time,
        decision,
        subject,
        text,
        body_digest,
        chained(experiment, before, seq, event.kind, time, decision, body_digest),
    )


def chained(
    experiment: str,
    before: bytes,
    seq: int,
    kind: str,
    time: int,
    decision: str | None,
    body_digest: bytes,
) -> bytes:
    """SHA-256 over the digest before and the entry. The body enters by its own digest, so that it
    can be blanked without a break."""
    return hashlib.sha256(
        before + body_digest + to_json([experiment, seq, kind, time, decision])
    ).digest()


C = events.c
COLUMNS = (
    C.seq,
    C.kind,
    C.time,
    C.key,
    C.subject,
    C.body,
    C.body_digest,
    C.digest,
)  # in the order of LogEntry
PAGE = 10_000
LAST = 2**63 - 1  # the greatest number that the database takes
AT_ONCE = 500  # variables of one statement
ADVANCE = (
    sa.update(experiments)
    .where(
        experiments.c.id == sa.bindparam("which"),
        experiments.c.fence == sa.bindparam("held"),
        experiments.c.seq == sa.bindparam("before"),
    )
    .values(seq=sa.bindparam("after"), digest=sa.bindparam("head"))
)


class Overtaken(Exception):
    """Another process has taken over the experiment."""


def append(connection: Connection, experiment: int, fence: int, new: Sequence[LogEntry]) -> None:
    """Append entries in the caller's transaction. Raises Overtaken where this process is not the
    one that writes any more."""
    last, before = new[-1], new[0].seq - 1
    moved = connection.execute(
        ADVANCE,
        {
            "which": experiment,
            "held": fence,
            "before": before,
            "after": last.seq,
            "head": last.digest,
        },
    )
    if moved.rowcount != 1:
        raise Overtaken(experiment)
    connection.exec_driver_sql(
        insertion(connection.dialect), [(experiment, *event) for event in new]
    )


@functools.cache
def insertion(dialect: sa.Dialect) -> str:
    """The statement for rows (experiment, *LogEntry) as the driver takes it: one call for thousands
    of rows."""
    names = ["experiment", *(column.name for column in COLUMNS)]
    return (
        f"INSERT INTO events ({', '.join(names)}) VALUES "
        f"({', '.join([placeholder(dialect)] * len(names))})"
    )


def read(
    connection: Connection, experiment: int, after: int = 0, until: int | None = None
) -> Iterator[LogEntry]:
    last = LAST if until is None else until
    while True:  # the driver's own rows: SQLAlchemy's cost as much again
        with connection.exec_driver_sql(
            selection(connection.dialect), (experiment, after, last)
        ) as result:
            assert result.cursor is not None
            rows = result.cursor.fetchall()
        yield from map(LogEntry._make, rows)
        if len(rows) < PAGE:
            return
        after = rows[-1][0]


@functools.cache
def selection(dialect: sa.Dialect) -> str:
    """The statement for a page of entries, in the order of LogEntry: after one seq, until
    another."""
    place = placeholder(dialect)
    return (
        f"SELECT {', '.join(column.name for column in COLUMNS)} FROM events "
        f"WHERE experiment = {place} AND seq > {place} AND seq <= {place} ORDER BY seq LIMIT {PAGE}"
    )


def placeholder(dialect: sa.Dialect) -> str:
    return "?" if dialect.paramstyle == "qmark" else "%s"


def about(connection: Connection, experiment: int, decisions: Iterable[str]) -> list[LogEntry]:
    """All entries about some decisions, in their order.

    They are sorted here: for an order by number SQLite would go through the whole log, which is in
    that order, and leave the index alone.
    """
    entries: list[LogEntry] = []
    listed = list(decisions)
    for first in range(0, len(listed), AT_ONCE):
        part = listed[first : first + AT_ONCE]
        entries += [
            LogEntry(*row)
            for row in connection.execute(
                sa.select(*COLUMNS).where(C.experiment == experiment, C.key.in_(part))
            )
        ]
    return sorted(entries, key=lambda entry: entry.seq)


def row_of(connection: Connection, name: str) -> int | None:
    return connection.execute(
        sa.select(experiments.c.id).where(experiments.c.name == name)
    ).scalar_one_or_none()


def rows_and_names(connection: Connection, name: str | None = None) -> list[tuple[int, str]]:
    """Rows and names of all experiments, or of one. Raises ValueError where it does not exist."""
    rows = connection.execute(
        sa.select(experiments.c.id, experiments.c.name).order_by(experiments.c.name)
    ).all()
    pairs = [(row.id, row.name) for row in rows if name in (None, row.name)]
    if name is not None and not pairs:
        raise ValueError(
            f"experiment = {name!r} is not in this database; it has "
            f"{', '.join(row.name for row in rows) or 'none'}."
        )
    return pairs


def digest_at(connection: Connection, name: str, seq: int) -> str | None:
    """The digest of an entry, in hexadecimal; None where the log has no such entry."""
    digest = connection.execute(
        sa.select(C.digest).join(experiments).where(experiments.c.name == name, C.seq == seq)
    ).scalar_one_or_none()
    return None if digest is None else bytes(digest).hex()


# A live experiment and the head of its log, which move together: an event is sealed, applied, and
# handed out to be written to disk.


class ExperimentJournal:
    """experiment: its state after the last entry. digest: of that entry."""

    def __init__(self, name: str) -> None:
        self.experiment = Experiment(name)
        self.digest = START

    def record(self, event: Event, now: int) -> LogEntry:
        """Make an event happen. now: microseconds since 1970; the clock may jump back, the log's
        time does not. Raises ValueError, with nothing changed, for what the session refuses."""
        experiment = self.experiment
        entry = sealed(
            experiment.name, self.digest, experiment.seq + 1, max(now, experiment.time), event
        )
        experiment.apply(event, entry.seq, entry.time)
        self.digest = entry.digest
        return entry

    def follow(self, entry: LogEntry) -> None:
        self.experiment.apply(entry.event, entry.seq, entry.time)
        self.digest = entry.digest


# The audit trail: who changed what, beside decisions and rewards, which the log has. A row is
# written in the transaction of its effect.


LISTED = 20  # arms that a row names
AUDIT_PAGE = 1000  # rows read at once
# a number for PostgreSQL's advisory locks of transactions that write rows, each with the last
# number before its own
LOCKS = 8_367_456
CLAIM = (
    f"SELECT pg_advisory_xact_lock_shared({LOCKS}, (SELECT CASE WHEN is_called THEN last_value "
    "ELSE 0 END FROM audit_id_seq)::int)"
)
UNDER_WAY = (
    f"SELECT min(objid::bigint) FROM pg_locks WHERE locktype = 'advisory' AND classid = {LOCKS} "
    "AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = "
    "current_database())"
)


class Author(NamedTuple):
    """Who does something. key: the number of a key, None without one. note: whose the key is."""

    key: int | None
    note: str


COMMAND_LINE = Author(None, "command line")
UNKNOWN = Author(None, "this process")  # a program that has the service in itself


class AuditEntry(NamedTuple):
    """A row. time: microseconds since 1970. detail: JSON, without anybody's data."""

    id: int
    time: int
    key: int | None
    note: str
    experiment: str | None
    action: str
    detail: str

    def to_dict(self) -> JsonObject:
        return self._asdict() | {"time": timestamp(self.time), "detail": json.loads(self.detail)}


ACTIONS: dict[
    type, tuple[str, Callable[[Any], JsonObject]]
] = {  # what is a change by somebody, and what is told of it
    domain_events.Created: ("create", lambda event: {"policy": event.spec["policy"]}),
    domain_events.ArmsAdded: (
        "add arms",
        lambda event: {
            "count": len(event.arms),
            "arms": [arm["id"] for arm in event.arms[:LISTED]],
        },
    ),
    domain_events.ArmChanged: (
        "change arm",
        lambda event: {"arm": event.arm, "status": event.status},
    ),
    domain_events.ModeChanged: (
        "change mode",
        lambda event: {name: getattr(event, name) for name in ("mode", "share", "before", "why")},
    ),
    domain_events.Paused: ("pause", lambda event: {}),
    domain_events.Resumed: ("resume", lambda event: {}),
    domain_events.Archived: ("archive", lambda event: {}),
    domain_events.Erased: ("erase", lambda event: {"events": len(event.events)}),
}


def note_event(
    connection: Connection, time: int, author: Author, experiment: str, seq: int, event: object
) -> None:
    """Write who made an event of the log happen, if it is a change by somebody: what decisions and
    rewards bring, and rules do, is not."""
    entry = ACTIONS.get(type(event))
    if entry is not None and not (
        isinstance(event, domain_events.ModeChanged) and event.by == "rule"
    ):
        action, tell = entry
        note(connection, time, author, experiment, action, tell(event) | {"event": seq})


def note(
    connection: Connection,
    time: int,
    author: Author,
    experiment: str | None,
    action: str,
    detail: JsonObject,
) -> None:
    """Write a row. PostgreSQL numbers rows before they are committed, so a lock, which others may
    share, says from where on one is under way."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(CLAIM)
    connection.execute(
        sa.insert(audit).values(
            time=time,
            key=author.key,
            note=author.note,
            experiment=experiment,
            action=action,
            detail=json.dumps(detail),
        )
    )


def last_settled(database: Database) -> int:
    """The last row before which none comes any more. It is found before the rows are read: whoever
    had a lower number then has either committed by that time, or holds the lock here."""
    with database.read() as connection:
        last = int(
            connection.execute(sa.select(sa.func.coalesce(sa.func.max(audit.c.id), 0))).scalar_one()
        )
        if database.sqlite:
            return last
        under_way = connection.exec_driver_sql(UNDER_WAY).scalar_one()
        return last if under_way is None else min(last, int(under_way))


def read_audit(
    connection: Connection,
    first: int = 1,
    experiment: str | None = None,
    since: int | None = None,
    last: int | None = None,
) -> Iterator[AuditEntry]:
    """Rows in their order. first: the number of the first one. experiment: of this one only. since:
    not from before this time. last: the number of the last one (see `last_settled`)."""
    query = sa.select(audit).order_by(audit.c.id).limit(AUDIT_PAGE)
    if last is not None:
        query = query.where(audit.c.id <= last)
    if experiment is not None:
        query = query.where(audit.c.experiment == experiment)
    if since is not None:
        query = query.where(audit.c.time >= since)
    while True:
        rows = connection.execute(query.where(audit.c.id >= first)).all()
        yield from map(AuditEntry._make, rows)
        if len(rows) < AUDIT_PAGE:
            return
        first = rows[-1].id + 1


# The service's own secrets: made at first need, kept in the database.


# the private key for Ed25519 that certificates are signed with: any 32 bytes are one
CERTIFYING = "certificates"


def secret(connection: Connection, name: str) -> bytes:
    """256 random bits of this name; the same for all processes on the database. The connection must
    be one that writes."""
    query = sa.select(secrets_table.c.value).where(secrets_table.c.name == name)
    value = connection.execute(query).scalar_one_or_none()
    if value is None:
        made = sa.insert(secrets_table).values(name=name, value=secrets.token_bytes(32))
        # refused where another process was first
        with contextlib.suppress(sa.exc.IntegrityError), connection.begin_nested():
            connection.execute(made)
        value = connection.execute(query).scalar_one()
    return bytes(value)
