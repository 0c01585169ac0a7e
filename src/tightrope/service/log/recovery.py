"""From the log back to a live experiment: the last snapshot and the entries after it."""

from typing import NamedTuple, Self

import sqlalchemy as sa
import structlog
from sqlalchemy.engine import Connection

from ..domain.events import Decided
from ..domain.experiment import Experiment
from . import store
from .entries import LogEntry
from .journal import ExperimentJournal
from .snapshots import fingerprint, pack, restored
from .tables import experiments, snapshots

S = snapshots.c
NEWEST = 4  # snapshots that are kept; of older ones fewer and fewer


def rebuild(connection: Connection, row: int, name: str, until: int | None = None) -> ExperimentJournal:
    """The experiment as it was after an event (default: the last). Raises ValueError where the log has a gap or was erased there."""
    return recover(connection, row, name, until)[0]


def recover(connection: Connection, row: int, name: str, until: int | None = None) -> tuple[ExperimentJournal, int]:
    """The same, and the event whose snapshot it started from (0: none)."""
    journal = newest_snapshot(connection, row, name, until)
    experiment = journal.experiment
    started = experiment.seq
    for entry in store.read(connection, row, started, until):
        if entry.seq != experiment.seq + 1:
            raise ValueError(f"event {experiment.seq + 1} of {name!r} is missing; restore the database from a backup.")
        journal.follow(entry)
    if experiment.seq == 0:
        raise ValueError(f"{name!r} has no events; restore the database from a backup.")
    return journal, started


def before_decision(connection: Connection, row: int, name: str, decision: str) -> tuple[Experiment, LogEntry] | None:
    """The experiment just before the decision of an id, and the decision's entry; None where there is none of this id."""
    query = sa.select(*store.COLUMNS).where(store.C.experiment == row, store.C.key == decision, store.C.kind == Decided.kind)
    record = connection.execute(query).one_or_none()
    if record is None:
        return None
    entry = LogEntry(*record)
    return rebuild(connection, row, name, entry.seq - 1).experiment, entry


def newest_snapshot(connection: Connection, row: int, name: str, until: int | None = None) -> ExperimentJournal:
    """The experiment of the newest snapshot that can be used; where none can, one to which nothing has happened yet."""
    query = sa.select(S.seq).where(S.experiment == row).order_by(S.seq.desc())
    for seq in connection.execute(query if until is None else query.where(S.seq <= until)).scalars().all():
        stored = connection.execute(sa.select(S.session, S.rest, S.fingerprint).where(S.experiment == row, S.seq == seq)).one()
        try:
            return restored(name, stored.session, stored.rest, stored.fingerprint)
        except ValueError as error:  # the log is the truth, a snapshot only shortens its replay
            structlog.get_logger().warning("snapshot not used", experiment=name, seq=seq, reason=str(error))
    return ExperimentJournal(name)


class Snapshot(NamedTuple):
    """A live experiment as bytes, with the event that it is the state after."""

    seq: int
    fingerprint: bytes
    rest: str
    session: bytes

    @classmethod
    def of(cls, journal: ExperimentJournal) -> Self:
        session, rest = pack(journal)
        return cls(journal.experiment.seq, fingerprint(journal), rest, session)

    def check(self, name: str) -> None:
        restored(name, self.session, self.rest, self.fingerprint)


def was_erased(connection: Connection, row: int, seq: int) -> bool:
    """Whether something was erased behind an event. No such thing can happen before the transaction has ended."""
    connection.execute(sa.select(experiments.c.seq).where(experiments.c.id == row).with_for_update())  # SQLite: nobody else writes anyway
    query = sa.select(store.C.seq).where(store.C.experiment == row, store.C.seq > seq, store.C.kind == "erased").limit(1)
    return connection.execute(query).first() is not None


def write_snapshot(connection: Connection, row: int, snapshot: Snapshot) -> None:
    seq = snapshot.seq
    connection.execute(sa.delete(snapshots).where(S.experiment == row, S.seq == seq))
    connection.execute(sa.insert(snapshots).values(experiment=row, **snapshot._asdict()))
    seqs = [int(seq) for seq in connection.execute(sa.select(S.seq).where(S.experiment == row).order_by(S.seq.desc())).scalars()]
    surplus = thinned(seqs)
    if surplus:
        connection.execute(sa.delete(snapshots).where(S.experiment == row, S.seq.in_(surplus)))


def thinned(seqs: list[int]) -> list[int]:
    """Which of the snapshots (newest first) may go: the NEWEST stay, and before them one for every doubling of the distance."""
    surplus, distance = [], 0
    for seq in seqs[NEWEST:]:
        if seqs[0] - seq >= 2 * distance:
            distance = seqs[0] - seq
        else:
            surplus.append(seq)
    return surplus
