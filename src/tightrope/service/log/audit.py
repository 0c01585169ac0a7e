"""The audit trail: who changed what, beside decisions and rewards, which the log has. A row is written in the transaction of its effect."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ...core.types import JsonObject
from ..domain import events
from ..domain.times import timestamp
from .tables import audit

LISTED = 20  # arms that a row names
PAGE = 1000  # rows read at once


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
        """As programs read it."""
        return self._asdict() | {"time": timestamp(self.time), "detail": json.loads(self.detail)}


def arms_added(event: events.ArmsAdded) -> JsonObject:
    """New arms, by name as far as they are few."""
    return {"count": len(event.arms), "arms": [arm["id"] for arm in event.arms[:LISTED]]}


def mode_changed(event: events.ModeChanged) -> JsonObject:
    """A mode and where it came from."""
    return {"mode": event.mode, "share": event.share, "before": event.before, "why": event.why}


ACTIONS: dict[type, tuple[str, Callable[[Any], JsonObject]]] = {  # what is a change by somebody, and what is told of it
    events.Created: ("create", lambda event: {"policy": event.spec["policy"]}),
    events.ArmsAdded: ("add arms", arms_added),
    events.ArmChanged: ("change arm", lambda event: {"arm": event.arm, "status": event.status}),
    events.ModeChanged: ("change mode", mode_changed),
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
    """Write a row."""
    connection.execute(sa.insert(audit).values(
        time=time, key=author.key, note=author.note, experiment=experiment, action=action, detail=json.dumps(detail)))  # fmt: skip


def read(connection: Connection, first: int = 1, experiment: str | None = None, since: int | None = None) -> Iterator[AuditEntry]:
    """Rows in their order. first: the number of the first one. experiment: of this one only. since: not from before this time."""
    query = sa.select(audit).order_by(audit.c.id).limit(PAGE)
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
