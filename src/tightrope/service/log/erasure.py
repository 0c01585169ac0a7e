"""Erasing a person's data from the log: bodies are blanked, digests stay, and the chain still holds.

A blanked round cannot be replayed. So the state of now must be kept by a snapshot in the same transaction, and the snapshots between the
first blanked event and now, whose open decisions may hold the person's features, are removed with it.
"""

import hashlib
from typing import Any

import sqlalchemy as sa
from pydantic_core import to_json
from sqlalchemy.engine import Connection

from ..domain.events import Erased
from ..domain.rounds import lacks_baseline, longest_row
from . import store
from .entries import LogEntry
from .tables import events, snapshots

KEPT = ("deferred", "baseline", "baseline_mean")  # of what was asked: what replays and certificates need and what is no data of a person


def entries_of(connection: Connection, row: int, subject: str) -> list[LogEntry]:
    """The decisions of a subject that were not erased yet."""
    query = sa.select(*store.COLUMNS).where(store.C.experiment == row, store.C.subject == subject).order_by(store.C.seq)
    return [LogEntry(*item) for item in connection.execute(query)]


def blank(connection: Connection, row: int, entries: list[LogEntry], baseline: str | list[str] | None) -> Erased:
    """Blank features, marks and the subject itself in decisions. baseline: the experiment's. Returns the event that says so."""
    blanked: list[list[Any]] = []
    rounds: list[int] = []
    longest = 0.0
    for entry in entries:
        body = entry.body
        asked = body.pop("asked")
        body["asked"] = {name: asked[name] for name in KEPT if name in asked}
        if asked.keys() - {"subject", *KEPT}:
            body["asked"]["erased"] = True
            rounds.append(entry.seq)
            longest = max(longest, longest_row(asked.get("context", ())))
            if lacks_baseline(asked, baseline, ()):  # what a certificate counts outlives the body
                body["without_baseline"] = True
        text = to_json(body)
        blanked.append([entry.seq, hashlib.sha256(text).hexdigest()])
        this = store.C.experiment == row, store.C.seq == entry.seq
        connection.execute(sa.update(events).where(*this).values(body=text, subject=None))
    return Erased(blanked, rounds, longest)


def drop_snapshots(connection: Connection, row: int, first: int) -> None:
    """Remove the snapshots from an event on."""
    connection.execute(sa.delete(snapshots).where(snapshots.c.experiment == row, snapshots.c.seq >= first))
