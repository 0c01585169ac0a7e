"""The audit trail: who changed what, beside decisions and rewards, which the log has. A row is written in the transaction of its effect."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ...core.types import JsonObject
from ..domain import events
from ..domain.times import timestamp
from .database import Database
from .tables import audit

LISTED = 20  # arms that a row names
PAGE = 1000  # rows read at once
LOCKS = 8_367_456  # a number for PostgreSQL's advisory locks of transactions that write rows, each with the last number before its own
CLAIM = f"SELECT pg_advisory_xact_lock_shared({LOCKS}, (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM audit_id_seq)::int)"
UNDER_WAY = (
    f"SELECT min(objid::bigint) FROM pg_locks WHERE locktype = 'advisory' AND classid = {LOCKS} AND objsubid = 2 "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
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


ACTIONS: dict[type, tuple[str, Callable[[Any], JsonObject]]] = {  # what is a change by somebody, and what is told of it
    events.Created: ("create", lambda event: {"policy": event.spec["policy"]}),
    events.ArmsAdded: (
        "add arms",
        lambda event: {"count": len(event.arms), "arms": [arm["id"] for arm in event.arms[:LISTED]]},
    ),
    events.ArmChanged: ("change arm", lambda event: {"arm": event.arm, "status": event.status}),
    events.ModeChanged: (
        "change mode",
        lambda event: {name: getattr(event, name) for name in ("mode", "share", "before", "why")},
    ),
    events.Paused: ("pause", lambda event: {}),
    events.Resumed: ("resume", lambda event: {}),
    events.Archived: ("archive", lambda event: {}),
    events.Erased: ("erase", lambda event: {"events": len(event.events)}),
}


def note_event(connection: Connection, time: int, author: Author, experiment: str, seq: int, event: object) -> None:
    """Write who made an event of the log happen, if it is a change by somebody: what decisions and rewards bring, and rules do, is not."""
    entry = ACTIONS.get(type(event))
    if entry is not None and not (isinstance(event, events.ModeChanged) and event.by == "rule"):
        action, tell = entry
        note(connection, time, author, experiment, action, tell(event) | {"event": seq})


def note(connection: Connection, time: int, author: Author, experiment: str | None, action: str, detail: JsonObject) -> None:
    """Write a row. PostgreSQL numbers rows before they are committed, so a lock, which others may share, says from where on one is under
    way."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(CLAIM)
    connection.execute(sa.insert(audit).values(
        time=time, key=author.key, note=author.note, experiment=experiment, action=action, detail=json.dumps(detail)))  # fmt: skip


def last_settled(database: Database) -> int:
    """The last row before which none comes any more. It is found before the rows are read: whoever had a lower number then has either
    committed by that time, or holds the lock here."""
    with database.read() as connection:
        last = int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(audit.c.id), 0))).scalar_one())
        if database.sqlite:
            return last
        under_way = connection.exec_driver_sql(UNDER_WAY).scalar_one()
        return last if under_way is None else min(last, int(under_way))


def read(
    connection: Connection, first: int = 1, experiment: str | None = None, since: int | None = None, last: int | None = None
) -> Iterator[AuditEntry]:
    """Rows in their order. first: the number of the first one. experiment: of this one only. since: not from before this time. last: the
    number of the last one (see `last_settled`)."""
    query = sa.select(audit).order_by(audit.c.id).limit(PAGE)
    if last is not None:
        query = query.where(audit.c.id <= last)
    if experiment is not None:
        query = query.where(audit.c.experiment == experiment)
    if since is not None:
        query = query.where(audit.c.time >= since)
    while True:
        rows = connection.execute(query.where(audit.c.id >= first)).all()
        yield from map(AuditEntry._make, rows)
        if len(rows) < PAGE:
            return
        first = rows[-1].id + 1
