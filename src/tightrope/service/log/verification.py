"""Is the log what was written? The chain of digests, and the state that a replay from the start finds."""

import hashlib
from typing import NamedTuple

import sqlalchemy as sa
from pydantic_core import from_json
from sqlalchemy.engine import Connection

from ..domain.events import Decided
from . import store
from .entries import START, chained
from .journal import ExperimentJournal
from .recovery import rebuild
from .snapshots import OtherVersion, check_version, fingerprint, restored
from .tables import experiments, snapshots

S = snapshots.c


class Verification(NamedTuple):
    """The result of following the chain. events: read. blanked: of them, bodies that were erased as the log says. digest: of the last.
    errors: sentences, none if all is well."""

    experiment: str
    events: int
    blanked: int
    digest: str
    errors: tuple[str, ...]


def verify(connection: Connection, row: int, name: str) -> Verification:
    """Follow the chain from the first event to the head that the database names."""
    digest, count = START, 0
    errors: list[str] = []
    blanked: dict[int, str] = {}  # digests of the bodies that do not match their own; "" once an erasure explains it
    for entry in store.read(connection, row):
        count += 1
        if entry.seq != count:
            errors.append(f"event {count} is missing: the next one is {entry.seq}.")
            break
        body_digest = hashlib.sha256(entry.text).digest()
        if body_digest != entry.body_digest:
            blanked[entry.seq] = body_digest.hex()
        elif entry.kind == "erased":
            for seq, left in entry.body["events"]:
                if blanked.get(seq) == left:
                    blanked[seq] = ""
        event = entry.event if entry.kind == Decided.kind and body_digest == entry.body_digest else None
        sealed_subject = event.subject if isinstance(event, Decided) else None
        if entry.subject != sealed_subject and (sealed_subject is not None or body_digest == entry.body_digest):
            errors.append(f"event {entry.seq} has another subject than its body, so that an erasure would miss it.")
        digest = chained(name, digest, entry.seq, entry.kind, entry.time, entry.decision, entry.body_digest)
        if digest != entry.digest:
            errors.append(
                f"event {entry.seq} ({entry.kind}) is not the one that was sealed: its digest does not follow from the one before."
            )
            break
    errors += [f"event {seq} has another body than was sealed, and no erasure explains it." for seq, left in blanked.items() if left]
    head = connection.execute(sa.select(experiments.c.seq, experiments.c.digest).where(experiments.c.id == row)).one()
    if not errors and (head.seq, head.digest) != (count, digest):
        errors.append(f"the log ends with event {count}, but its head was event {head.seq}: the end was cut off or changed.")
    return Verification(name, count, sum(not left for left in blanked.values()), digest.hex(), tuple(errors))


class Replay(NamedTuple):
    """A state that was computed from the log alone. compared: snapshots that it went through. disagreements: decisions that this machine
    would have drawn otherwise, which happens after a move to another kind of processor. errors: sentences. others: sentences about
    snapshots of other versions, which were not compared."""

    journal: ExperimentJournal
    fingerprint: str
    compared: int
    disagreements: int
    errors: tuple[str, ...]
    others: tuple[str, ...]


def replay(connection: Connection, row: int, name: str, until: int | None = None) -> Replay:
    """Compute the state from the first event on, and compare it with every snapshot on the way, bit for bit."""
    query = sa.select(S.seq, S.fingerprint).where(S.experiment == row).order_by(S.seq)
    stored = {int(seq): bytes(digest) for seq, digest in connection.execute(query).all() if until is None or seq <= until}
    errors: list[str] = []
    others: list[str] = []
    compared = 0
    erased = [seq for seq in erased_rounds(connection, row) if until is None or seq <= until]
    if erased:
        start = min((seq for seq in stored if seq > max(erased)), default=None)
        if start is None:
            where = "and there is no snapshot behind it" if until is None else f"and until = {until} is before the snapshot behind it"
            raise ValueError(f"event {max(erased)} was erased, {where}.")
        journal = rebuild(connection, row, name, start)
    else:
        journal = ExperimentJournal(name)
    for entry in store.read(connection, row, journal.experiment.seq, until):
        journal.follow(entry)
        if entry.seq in stored:
            if fingerprint(journal) != stored[entry.seq]:
                rest = connection.execute(sa.select(S.rest).where(S.experiment == row, S.seq == entry.seq)).scalar_one()
                try:
                    check_version(rest)
                except OtherVersion as other:
                    others.append(f"the snapshot of event {entry.seq} was not compared: {other}.")
                    continue
                errors.append(f"the state after event {entry.seq} differs from its snapshot.")
            compared += 1
    return Replay(journal, fingerprint(journal).hex(), compared, journal.experiment.disagreements, tuple(errors), tuple(others))


def erased_rounds(connection: Connection, row: int) -> list[int]:
    bodies = connection.execute(sa.select(store.C.body).where(store.C.experiment == row, store.C.kind == "erased")).scalars()
    return [seq for body in bodies for seq in from_json(body)["rounds"]]


def check_snapshots(connection: Connection, row: int, name: str) -> tuple[list[str], list[str]]:
    """Which snapshots do not hold the state that they say, and which are of other versions: a sentence for each."""
    errors: list[str] = []
    others: list[str] = []
    for seq, digest, session, rest in connection.execute(sa.select(S.seq, S.fingerprint, S.session, S.rest).where(S.experiment == row)):
        try:
            restored(name, session, rest, digest)
        except OtherVersion as other:
            others.append(f"the snapshot of event {seq} is not used: {other}.")
        except ValueError as error:
            errors.append(f"the snapshot of event {seq} is damaged: {error}.")
    return errors, others
