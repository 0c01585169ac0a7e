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
LAST = 2**63 - 1  # the greatest number that the database takes
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
    return f"INSERT INTO events ({', '.join(names)}) VALUES ({', '.join([placeholder(dialect)] * len(names))})"


def read(connection: Connection, experiment: int, after: int = 0, until: int | None = None) -> Iterator[Event]:
    """Events in their order: those after one seq, until another (included)."""
    last = LAST if until is None else until
    while True:  # the driver's own rows: SQLAlchemy's cost as much again
        with connection.exec_driver_sql(selection(connection.dialect), (experiment, after, last)) as result:
            assert result.cursor is not None
            rows = result.cursor.fetchall()
        yield from map(Event._make, rows)
        if len(rows) < PAGE:
            return
        after = rows[-1][0]


@functools.cache
def selection(dialect: sa.Dialect) -> str:
    """The statement for a page of events, in the order of Event: after one seq, until another."""
    place = placeholder(dialect)
    return (
        f"SELECT {', '.join(column.name for column in EVENT)} FROM events "
        f"WHERE experiment = {place} AND seq > {place} AND seq <= {place} ORDER BY seq LIMIT {PAGE}"
    )


def placeholder(dialect: sa.Dialect) -> str:
    """How the driver writes a variable."""
    return "?" if dialect.paramstyle == "qmark" else "%s"


def about(connection: Connection, experiment: int, keys: Iterable[str]) -> list[Event]:
    """All events about some decisions, in their order."""
    found: list[Event] = []
    listed = list(keys)
    for first in range(0, len(listed), AT_ONCE):
        part = listed[first : first + AT_ONCE]
        query = sa.select(*EVENT).where(C.experiment == experiment, C.key.in_(part)).order_by(C.seq)
        found += [Event(*row) for row in connection.execute(query)]
    return found
