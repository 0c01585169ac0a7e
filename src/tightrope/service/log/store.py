"""The log in the database: appending and reading entries, finding experiments."""

import functools
from collections.abc import Iterable, Iterator, Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from .entries import LogEntry
from .tables import events, experiments

C = events.c
COLUMNS = (C.seq, C.kind, C.time, C.key, C.subject, C.body, C.body_digest, C.digest)  # in the order of LogEntry
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


def append(connection: Connection, experiment: int, fence: int, new: Sequence[LogEntry]) -> None:
    """Append entries in the caller's transaction. Raises Overtaken where this process is not the one that writes any more."""
    last, before = new[-1], new[0].seq - 1
    moved = connection.execute(ADVANCE, {"which": experiment, "held": fence, "before": before, "after": last.seq, "head": last.digest})
    if moved.rowcount != 1:
        raise Overtaken(experiment)
    connection.exec_driver_sql(insertion(connection.dialect), [(experiment, *event) for event in new])


@functools.cache
def insertion(dialect: sa.Dialect) -> str:
    """The statement for rows (experiment, *LogEntry) as the driver takes it: one call for thousands of rows."""
    names = ["experiment", *(column.name for column in COLUMNS)]
    return f"INSERT INTO events ({', '.join(names)}) VALUES ({', '.join([placeholder(dialect)] * len(names))})"


def read(connection: Connection, experiment: int, after: int = 0, until: int | None = None) -> Iterator[LogEntry]:
    last = LAST if until is None else until
    while True:  # the driver's own rows: SQLAlchemy's cost as much again
        with connection.exec_driver_sql(selection(connection.dialect), (experiment, after, last)) as result:
            assert result.cursor is not None
            rows = result.cursor.fetchall()
        yield from map(LogEntry._make, rows)
        if len(rows) < PAGE:
            return
        after = rows[-1][0]


@functools.cache
def selection(dialect: sa.Dialect) -> str:
    """The statement for a page of entries, in the order of LogEntry: after one seq, until another."""
    place = placeholder(dialect)
    return (
        f"SELECT {', '.join(column.name for column in COLUMNS)} FROM events "
        f"WHERE experiment = {place} AND seq > {place} AND seq <= {place} ORDER BY seq LIMIT {PAGE}"
    )


def placeholder(dialect: sa.Dialect) -> str:
    return "?" if dialect.paramstyle == "qmark" else "%s"


def about(connection: Connection, experiment: int, decisions: Iterable[str]) -> list[LogEntry]:
    """All entries about some decisions, in their order.

    They are sorted here: for an order by number SQLite would go through the whole log, which is in that order, and leave the index alone.
    """
    entries: list[LogEntry] = []
    listed = list(decisions)
    for first in range(0, len(listed), AT_ONCE):
        part = listed[first : first + AT_ONCE]
        query = sa.select(*COLUMNS).where(C.experiment == experiment, C.key.in_(part))
        entries += [LogEntry(*row) for row in connection.execute(query)]
    return sorted(entries, key=lambda entry: entry.seq)


def row_of(connection: Connection, name: str) -> int | None:
    query = sa.select(experiments.c.id).where(experiments.c.name == name)
    return connection.execute(query).scalar_one_or_none()


def rows_and_names(connection: Connection, name: str | None = None) -> list[tuple[int, str]]:
    """Rows and names of all experiments, or of one. Raises ValueError where it does not exist."""
    query = sa.select(experiments.c.id, experiments.c.name).order_by(experiments.c.name)
    rows = connection.execute(query).all()
    pairs = [(row.id, row.name) for row in rows if name in (None, row.name)]
    if name is not None and not pairs:
        raise ValueError(f"experiment = {name!r} is not in this database; it has {', '.join(row.name for row in rows) or 'none'}.")
    return pairs


def digest_at(connection: Connection, name: str, seq: int) -> str | None:
    """The digest of an entry, in hexadecimal; None where the log has no such entry."""
    row = row_of(connection, name)
    digest = None if row is None else connection.execute(
        sa.select(C.digest).where(C.experiment == row, C.seq == seq)).scalar_one_or_none()  # fmt: skip
    return None if digest is None else bytes(digest).hex()
