"""Erasing a person's data: bodies are blanked, digests stay, and the chain still holds.

A blanked round cannot be replayed. So the state of now is kept by a snapshot in the same transaction, and the snapshots between the
first blanked event and now, whose open decisions may hold the person's features, are removed with it.
"""

import hashlib
from typing import Any

import sqlalchemy as sa
from pydantic_core import to_json

from .log import Event
from .operations import Json
from .recovery import write_snapshot
from .store import events as log
from .store.tables import events, snapshots
from .writer import Desk


def erase(desk: Desk, subject: str) -> Json:
    """Blank what the log knows of a subject: features, marks and the subject itself of every decision. Safe to repeat."""
    desk.flush()
    connection, row = desk.connection(), desk.held.row
    query = sa.select(*log.EVENT).where(log.C.experiment == row, log.C.subject == subject).order_by(log.C.seq)
    found = [Event(*item) for item in connection.execute(query)]
    if not found:
        return {"erased": 0, "event": None}
    for event in found:
        if event.key in desk.live.open:
            desk.record("closed", {"why": "its subject was erased"}, event.key)
    blanked: list[list[Any]] = []
    rounds: list[int] = []  # events whose round is gone
    for event in found:
        body = event.body
        asked = body.pop("asked")
        body["asked"] = {"deferred": True} if asked.get("deferred") else {}
        if asked.keys() - {"subject", "deferred"}:
            body["asked"]["erased"] = True
            rounds.append(event.seq)
        text = to_json(body)
        blanked.append([event.seq, hashlib.sha256(text).hexdigest()])
        connection.execute(sa.update(events).where(log.C.experiment == row, log.C.seq == event.seq).values(body=text, subject=None))
    done = desk.record("erased", {"events": blanked, "rounds": rounds})
    desk.flush()
    if rounds:
        connection.execute(sa.delete(snapshots).where(snapshots.c.experiment == row, snapshots.c.seq >= found[0].seq))
    write_snapshot(connection, row, desk.live)
    desk.held.saved = desk.live.seq
    return {"erased": len(found), "event": done.seq}
