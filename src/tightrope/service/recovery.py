"""From the log back to a live experiment: the last snapshot and the events after it."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from .experiment import Experiment
from .snapshots import fingerprint, pack, unpack
from .store import events as log
from .store.tables import snapshots

S = snapshots.c
NEWEST = 4  # snapshots that are kept; of older ones fewer and fewer


def rebuild(connection: Connection, row: int, name: str, until: int | None = None, from_start: bool = False) -> Experiment:
    """The experiment as it was after an event (default: the last). Raises ValueError where the log has a gap or was erased there.

    from_start: without snapshots, to check them.
    """
    query = sa.select(S.seq, S.session, S.rest).where(S.experiment == row).order_by(S.seq.desc()).limit(1)
    if until is not None:
        query = query.where(S.seq <= until)
    found = None if from_start else connection.execute(query).one_or_none()
    live = Experiment(name) if found is None else unpack(name, found.session, found.rest)
    for event in log.read(connection, row, live.seq, until):
        if event.seq != live.seq + 1:
            raise ValueError(f"event {live.seq + 1} of {name!r} is missing; restore the database from a backup.")
        live.apply(event)
    if live.seq == 0:
        raise ValueError(f"{name!r} has no events; restore the database from a backup.")
    return live


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
