"""From the log back to a live experiment: the last snapshot and the entries after it."""

import sqlalchemy as sa
import structlog
from sqlalchemy.engine import Connection

from . import store
from .journal import Journal
from .snapshots import fingerprint, pack, restored
from .tables import snapshots

S = snapshots.c
NEWEST = 4  # snapshots that are kept; of older ones fewer and fewer


def rebuild(connection: Connection, row: int, name: str, until: int | None = None) -> Journal:
    """The experiment as it was after an event (default: the last). Raises ValueError where the log has a gap or was erased there."""
    return recover(connection, row, name, until)[0]


def recover(connection: Connection, row: int, name: str, until: int | None = None) -> tuple[Journal, int]:
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


def newest_snapshot(connection: Connection, row: int, name: str, until: int | None = None) -> Journal:
    """The experiment of the newest snapshot that can be used; where none can, one to which nothing has happened yet."""
    query = sa.select(S.seq).where(S.experiment == row).order_by(S.seq.desc())
    for seq in connection.execute(query if until is None else query.where(S.seq <= until)).scalars().all():
        stored = connection.execute(sa.select(S.session, S.rest, S.fingerprint).where(S.experiment == row, S.seq == seq)).one()
        try:
            return restored(name, stored.session, stored.rest, stored.fingerprint)
        except ValueError as error:  # the log is the truth, a snapshot only shortens its replay
            structlog.get_logger().warning("snapshot not used", experiment=name, seq=seq, reason=str(error))
    return Journal(name)


def check_saveable(journal: Journal) -> None:
    """Raise ValueError where a snapshot of the experiment could not be read back."""
    restored(journal.experiment.name, *pack(journal), fingerprint(journal))


def write_snapshot(connection: Connection, row: int, journal: Journal, only: bool = False) -> None:
    """Keep the experiment as it is now, and thin out the older snapshots. only: no replay will find this state again, so it is read back
    first; raises ValueError where it cannot be."""
    if only:
        check_saveable(journal)
    session, rest = pack(journal)
    seq = journal.experiment.seq
    connection.execute(sa.delete(snapshots).where(S.experiment == row, S.seq == seq))
    connection.execute(sa.insert(snapshots).values(
        experiment=row, seq=seq, fingerprint=fingerprint(journal), rest=rest, session=session))  # fmt: skip
    kept = [int(seq) for seq in connection.execute(sa.select(S.seq).where(S.experiment == row).order_by(S.seq.desc())).scalars()]
    surplus = thinned(kept)
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
