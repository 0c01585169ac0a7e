"""Erasing a person's data from the log: bodies are blanked, digests stay, and the chain still holds.

A blanked round cannot be replayed. So a state behind all of them must be kept by a snapshot in the transaction that says so, and the
snapshots since the first blanked event, whose open decisions may hold the person's features, are removed with it. Bodies are blanked behind
that, in parts; where a process ends in between, the same request again goes on.
"""

import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa
from pydantic_core import to_json
from sqlalchemy.engine import Connection

from ..domain.experiment import Experiment
from ..domain.features import numbers_of
from ..domain.rounds import lacks_baseline, longest_row
from . import store
from .database import Database
from .entries import LogEntry
from .tables import events, secrets, snapshots

OWED = "rewriting owed"  # a row of the table of secrets: since when SQLite's file has unused bytes with what was erased
KEPT_FIELDS = (
    "deferred", "baseline", "baseline_mean", "segments",
)  # fmt: skip  # of what was asked: what replays, certificates and results by segment need and what is no data of a person


class Blanked(NamedTuple):
    """A decision without what is a subject's. text: of its body. round: whether its round is gone. longest: norm of its features."""

    seq: int
    text: bytes
    round: bool
    longest: float

    @property
    def digest(self) -> str:
        """SHA-256 of the body, as the log notes it."""
        return hashlib.sha256(self.text).hexdigest()


def decisions_of(connection: Connection, row: int, subject: str, after: int) -> list[int]:
    """Numbers of the decisions of a subject behind an event that were not erased yet."""
    query = sa.select(store.C.seq).where(store.C.experiment == row, store.C.subject == subject)
    return sorted(seq for seq in connection.execute(query).scalars() if seq > after)  # here, as in `store.about`


def entries_at(connection: Connection, row: int, seqs: Sequence[int]) -> list[LogEntry]:
    query = sa.select(*store.COLUMNS).where(store.C.experiment == row, store.C.seq.in_(seqs)).order_by(store.C.seq)
    return [LogEntry(*item) for item in connection.execute(query)]


def without_subject(entry: LogEntry, experiment: Experiment) -> Blanked:
    """A decision of an experiment without features, marks and the subject itself."""
    body = entry.body
    question = body.pop("asked")
    body["asked"] = {name: question[name] for name in KEPT_FIELDS if name in question}
    gone = bool(question.keys() - {"subject", *KEPT_FIELDS})
    if gone:
        body["asked"]["erased"] = True
        if lacks_baseline(question, experiment.spec.baseline, ()):  # what a certificate counts outlives the body
            body["without_baseline"] = True
    context = numbers_of(experiment.reader, question.get("context"), experiment.name)
    return Blanked(entry.seq, to_json(body), gone, longest_row(context or ()))


def blank(connection: Connection, row: int, blanked: Sequence[Blanked]) -> None:
    this = (
        sa.update(events)
        .where(store.C.experiment == row, store.C.seq == sa.bindparam("which"))
        .values(body=sa.bindparam("text"), subject=None)
    )
    connection.execute(this, [{"which": one.seq, "text": one.text} for one in blanked])


def drop_snapshots(connection: Connection, row: int, first: int) -> None:
    connection.execute(sa.delete(snapshots).where(snapshots.c.experiment == row, snapshots.c.seq >= first))


def owe(connection: Connection, now: int) -> None:
    """Note that SQLite's file is to be written anew: something was blanked in it."""
    forget_owed(connection)
    connection.execute(sa.insert(secrets).values(name=OWED, value=str(now).encode()))


def owed_since(connection: Connection) -> int | None:
    """When something was blanked last for which the file was not written anew; None: it was."""
    value = connection.execute(sa.select(secrets.c.value).where(secrets.c.name == OWED)).scalar_one_or_none()
    return None if value is None else int(value)


def forget_owed(connection: Connection, since: int | None = None) -> None:
    """The file was written anew. since: what was owed then; None: whatever."""
    this = sa.delete(secrets).where(secrets.c.name == OWED)
    connection.execute(this if since is None else this.where(secrets.c.value == str(since).encode()))


def rewrite_owed(database: Database, most: float, before: float = math.inf) -> tuple[bool, bool] | None:
    """Write the file anew if that is owed since before a time (see `Database.rewrite`). Whether that was done, and whether it is still
    owed; None where a failure or a reader is in the way, and it can be tried again."""
    with database.read() as connection:
        since = owed_since(connection)
    if since is None or since >= before:
        return False, since is not None
    done = database.rewrite(most)
    if done is None or not database.scrub():  # the write-ahead log has copies too
        return None
    if done:
        with database.write() as connection:
            forget_owed(connection, since)
    return done, not done
