"""From the log back to a live experiment: the last snapshot and the events after it."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from .experiment import Experiment
from .snapshots import fingerprint, pack, restored
from .store import events as log
from .store.tables import snapshots
from .telemetry import logger

S = snapshots.c
NEWEST = 4  # snapshots that are kept; of older ones fewer and fewer


def rebuild(connection: Connection, row: int, name: str, until: int | None = None) -> Experiment:
    """The experiment as it was after an event (default: the last). Raises ValueError where the log has a gap or was erased there."""
    return recover(connection, row, name, until)[0]


def recover(connection: Connection, row: int, name: str, until: int | None = None) -> tuple[Experiment, int]:
    """The same, and the event whose snapshot it started from (0: none)."""
    live = newest(connection, row, name, until)
    started = live.seq
    for event in log.read(connection, row, live.seq, until):
        if event.seq != live.seq + 1:
            raise ValueError(f"event {live.seq + 1} of {name!r} is missing; restore the database from a backup.")
        live.apply(event)
    if live.seq == 0:
        raise ValueError(f"{name!r} has no events; restore the database from a backup.")
    return live, started


def newest(connection: Connection, row: int, name: str, until: int | None = None) -> Experiment:
    """The experiment of the newest snapshot that can be used; where none can, one to which nothing has happened yet."""
    query = sa.select(S.seq).where(S.experiment == row).order_by(S.seq.desc())
    for seq in connection.execute(query if until is None else query.where(S.seq <= until)).scalars().all():
        found = connection.execute(sa.select(S.session, S.rest, S.fingerprint).where(S.experiment == row, S.seq == seq)).one()
        try:
            return restored(name, found.session, found.rest, found.fingerprint)
        except ValueError as error:  # the log is the truth, a snapshot only shortens its replay
            logger().warning("snapshot not used", experiment=name, seq=seq, reason=str(error))
    return Experiment(name)


def write_snapshot(connection: Connection, row: int, live: Experiment) -> None:
    """Keep the experiment as it is now, and thin out the older snapshots."""
    session, rest = pack(live)
    connection.execute(sa.delete(snapshots).where(S.experiment == row, S.seq == live.seq))
    connection.execute(sa.insert(snapshots).values(
        experiment=row, seq=live.seq, fingerprint=fingerprint(live), rest=rest, session=session))  # fmt: skip
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
