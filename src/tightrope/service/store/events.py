"""Reading and appending events."""

import functools
from collections.abc import Iterable, Iterator, Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ..log import Event
from .tables import events, experiments

C = events.c
EVENT = (C.seq, C.kind, C.time, C.key, C.subject, C.body, C.body_digest, C.digest)  # in the order of Event
PAGE = 10_000
AT_ONCE = 500  # variables of one statement
ADVANCE = (
    sa.update(experiments)
    .where(
        experiments.c.id == sa.bindparam("which"), experiments.c.fence == sa.bindparam("held"), experiments.c.seq == sa.bindparam("before")
    )
    .values(seq=sa.bindparam("after"), digest=sa.bindparam("head"))
)


class Overtaken(Exception):
    """Another process has taken over the experiment."""


def append(connection: Connection, experiment: int, fence: int, new: Sequence[Event]) -> None:
    """Append events in the caller's transaction. Raises Overtaken where this process is not the one that writes any more."""
    last = new[-1]
    moved = connection.execute(
        ADVANCE, {"which": experiment, "held": fence, "before": new[0].seq - 1, "after": last.seq, "head": last.digest}
    )
    if moved.rowcount != 1:
        raise Overtaken(experiment)
    connection.exec_driver_sql(insertion(connection.dialect), [(experiment, *event) for event in new])


@functools.cache
def insertion(dialect: sa.Dialect) -> str:
    """The statement for rows (experiment, *Event) as the driver takes it: one call for thousands of rows."""
    names = ["experiment", *(column.name for column in EVENT)]
    place = "?" if dialect.paramstyle == "qmark" else "%s"
    return f"INSERT INTO events ({', '.join(names)}) VALUES ({', '.join([place] * len(names))})"


def read(connection: Connection, experiment: int, after: int = 0, until: int | None = None) -> Iterator[Event]:
    """Events in their order: those after one seq, until another (included)."""
    query = sa.select(*EVENT).where(C.experiment == experiment, C.seq > sa.bindparam("after")).order_by(C.seq).limit(PAGE)
    if until is not None:
        query = query.where(C.seq <= until)
    while True:
        rows = connection.execute(query, {"after": after}).all()
        for row in rows:
            yield Event(*row)
        if len(rows) < PAGE:
            return
        after = rows[-1].seq


def about(connection: Connection, experiment: int, keys: Iterable[str]) -> list[Event]:
    """All events about some decisions, in their order."""
    found: list[Event] = []
    listed = list(keys)
    for first in range(0, len(listed), AT_ONCE):
        part = listed[first : first + AT_ONCE]
        query = sa.select(*EVENT).where(C.experiment == experiment, C.key.in_(part)).order_by(C.seq)
        found += [Event(*row) for row in connection.execute(query)]
    return found
