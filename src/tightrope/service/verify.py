"""Is the log what was written? The chain of digests, and the state that a replay from the start finds."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import sqlalchemy as sa
from pydantic_core import from_json
from sqlalchemy.engine import Connection

from .experiment import Experiment
from .log import START, chained
from .recovery import rebuild
from .snapshots import fingerprint, restored
from .store import events as log
from .store.tables import experiments, snapshots

S = snapshots.c


class Verdict(NamedTuple):
    """What was found. wrong: sentences, none if all is well. events: read. blanked: of them, bodies that were erased as the log says."""

    experiment: str
    events: int
    blanked: int
    digest: str
    wrong: tuple[str, ...]


def names(connection: Connection, wanted: str | None = None) -> Iterator[tuple[int, str]]:
    """Rows and names of all experiments, or of one. Raises ValueError where it does not exist."""
    rows = connection.execute(sa.select(experiments.c.id, experiments.c.name).order_by(experiments.c.name)).all()
    found = [(row.id, row.name) for row in rows if wanted in (None, row.name)]
    if wanted is not None and not found:
        raise ValueError(f"experiment = {wanted!r} is not in this database; it has {', '.join(row.name for row in rows) or 'none'}.")
    yield from found


def verify(connection: Connection, row: int, name: str) -> Verdict:
    """Follow the chain from the first event to the head that the database names."""
    digest, count = START, 0
    wrong: list[str] = []
    blanked: dict[int, str] = {}  # digests of the bodies that do not match their own
    for event in log.read(connection, row):
        count += 1
        if event.seq != count:
            wrong.append(f"event {count} is missing: the next one is {event.seq}.")
            break
        body_digest = hashlib.sha256(event.text).digest()
        if body_digest != event.body_digest:
            blanked[event.seq] = body_digest.hex()
        elif event.kind == "erased":
            for seq, left in event.body["events"]:
                if blanked.get(seq) == left:
                    blanked[seq] = ""
        digest = chained(name, digest, event.seq, event.kind, event.time, event.key, event.body_digest)
        if digest != event.digest:
            wrong.append(
                f"event {event.seq} ({event.kind}) is not the one that was sealed: its digest does not follow from the one before."
            )
            break
    wrong += [f"event {seq} has another body than was sealed, and no erasure explains it." for seq, left in blanked.items() if left]
    head = connection.execute(sa.select(experiments.c.seq, experiments.c.digest).where(experiments.c.id == row)).one()
    if not wrong and (head.seq, head.digest) != (count, digest):
        wrong.append(f"the log ends with event {count}, but its head was event {head.seq}: the end was cut off or changed.")
    return Verdict(name, count, sum(not left for left in blanked.values()), digest.hex(), tuple(wrong))


def head_at(connection: Connection, name: str, seq: int) -> str | None:
    """The digest of an event, in hexadecimal; None where the log has no such event."""
    row = connection.execute(sa.select(experiments.c.id).where(experiments.c.name == name)).scalar_one_or_none()
    found = None if row is None else connection.execute(
        sa.select(log.C.digest).where(log.C.experiment == row, log.C.seq == seq)).scalar_one_or_none()  # fmt: skip
    return None if found is None else bytes(found).hex()


class Replay(NamedTuple):
    """A state that was computed from the log alone. compared: snapshots that it went through. other_arms: decisions that this machine
    would have drawn otherwise, which happens after a move to another kind of processor."""

    live: Experiment
    fingerprint: str
    compared: int
    other_arms: int
    wrong: tuple[str, ...]


def replay(connection: Connection, row: int, name: str, until: int | None = None) -> Replay:
    """Compute the state from the first event on, and compare it with every snapshot on the way, bit for bit."""
    query = sa.select(S.seq, S.fingerprint).where(S.experiment == row).order_by(S.seq)
    stored = {int(seq): bytes(found) for seq, found in connection.execute(query).all() if until is None or seq <= until}
    live, wrong, compared = Experiment(name), [], 0
    gone = [seq for seq in erased_rounds(connection, row) if until is None or seq <= until]
    if gone:
        start = min((seq for seq in stored if seq > max(gone)), default=None)
        if start is None:
            where = "and there is no snapshot behind it" if until is None else f"and until = {until} is before the snapshot behind it"
            raise ValueError(f"event {max(gone)} was erased, {where}.")
        live = rebuild(connection, row, name, start)
    for event in log.read(connection, row, live.seq, until):
        live.apply(event)
        if event.seq in stored:
            compared += 1
            if fingerprint(live) != stored[event.seq]:
                wrong.append(f"the state after event {event.seq} differs from its snapshot.")
    return Replay(live, fingerprint(live).hex(), compared, live.disagreed, tuple(wrong))


def erased_rounds(connection: Connection, row: int) -> list[int]:
    """Events whose rounds were erased, so that no replay passes them."""
    found = connection.execute(sa.select(log.C.body).where(log.C.experiment == row, log.C.kind == "erased")).scalars()
    return [seq for body in found for seq in from_json(body)["rounds"]]


def check_snapshots(connection: Connection, row: int, name: str) -> list[str]:
    """Which snapshots do not hold the state that they say."""
    wrong = []
    for seq, found, session, rest in connection.execute(sa.select(S.seq, S.fingerprint, S.session, S.rest).where(S.experiment == row)):
        try:
            restored(name, session, rest, found)
        except ValueError as error:
            wrong.append(f"the snapshot of event {seq} is damaged: {error}.")
    return wrong
