"""Leases, by which one process writes an experiment, and its recovery from the log: the last
snapshot, then a replay of the events after it. Verification compares fingerprints of the state
with a replay from the first event."""

import contextlib
import hashlib
import threading
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

import numpy as np
import sqlalchemy as sa
import structlog
from pydantic_core import from_json, to_json
from sqlalchemy.engine import Connection

from tightrope import Session
from tightrope.core import streams
from tightrope.extend import flatten
from tightrope.session.store import version

from . import JsonObject, log
from .database import Database
from .errors import Refused
from .events import Created, Decided, OpenDecision
from .experiment import Experiment
from .log import START, ExperimentJournal, LogEntry, chained, events, experiments, snapshots

# Snapshots: a whole live experiment as bytes, which only shorten a replay; and the fingerprint of
# its state.


# of snapshots and of the states in them: raised where either changes, so that older ones are known
# as such
FORM = 2


def rest_of(journal: ExperimentJournal) -> JsonObject:
    experiment = journal.experiment
    sticky = (
        {} if experiment.spec.sticky is None else {"assignments": experiment.assignments.pack()}
    )
    return sticky | {
        "masks": [budget.pack() for budget in experiment.masked_budgets],
        "created": experiment.began.body,
        "status": experiment.status,
        "masked": sorted(experiment.masked),
        "open": [[id, *waiting] for id, waiting in experiment.open.items()],
        "came": experiment.came,
        "seq": experiment.seq,
        "digest": journal.digest.hex(),
        "time": experiment.time,
        "rollout": experiment.rollout.pack(),
    }


def written() -> str:
    return f"tightrope {version()} (form {FORM})"


class OtherVersion(ValueError):
    """A snapshot that another version wrote, which this one does not read: its states have other
    numbers. The log says it all anyway."""


def check_version(rest: str) -> None:
    """Raise OtherVersion for a snapshot, known by its rest, that this version did not write."""
    try:
        packed = from_json(rest)
    except ValueError:
        return
    by = packed.get("written") if isinstance(packed, dict) else None
    if by not in (None, written()):
        raise OtherVersion(f"it was written by {str(by)[:60]}, and {written()} does not use it")


def unpack(name: str, session: bytes, rest: str) -> ExperimentJournal:
    packed = from_json(rest)
    journal = ExperimentJournal(name)
    experiment = journal.experiment
    experiment.adopt(Created.read(packed["created"], None), Session.from_bytes(session))
    experiment.rollout.unpack(packed["rollout"])
    experiment.status, experiment.masked = packed["status"], set(packed["masked"])
    for id, *waiting in packed["open"]:
        experiment.open.begin(id, OpenDecision(*waiting))
    experiment.came = packed["came"]
    if experiment.spec.sticky is not None:
        experiment.assignments.unpack(packed["assignments"])
    for budget, masks in zip(experiment.masked_budgets, packed["masks"], strict=True):
        budget.unpack(masks)
    experiment.seq, experiment.time = packed["seq"], packed["time"]
    journal.digest = bytes.fromhex(packed["digest"])
    return journal


def restored(name: str, session: bytes, rest: str, stored: bytes) -> ExperimentJournal:
    """The experiment of a stored snapshot; stored: its fingerprint. Raises ValueError where it is
    damaged, OtherVersion where it is of another version and cannot be read by this one."""
    try:
        journal = unpack(name, session, rest)
        computed = fingerprint(journal)
    except Exception as error:  # whatever damaged bytes lead to
        check_version(rest)
        raise ValueError(f"it cannot be read ({type(error).__name__})") from error
    if computed != bytes(stored):
        check_version(rest)
        raise ValueError("its state has another fingerprint")
    return journal


def fingerprint(journal: ExperimentJournal) -> bytes:
    """SHA-256 over every bit that decides what the experiment does next: state, streams, open and
    remembered decisions."""
    session = journal.experiment.session
    digest = hashlib.sha256()
    for path, array in sorted(flatten(session.state).items()):
        digest.update(
            f"{path} {array.dtype} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes()
        )
    book = session._book
    decisions = [
        [
            (
                entry.decision.id,
                np.asarray(entry.decision.arm).tolist(),
                _plain(entry.answers),
                entry.ended,
                len(entry.held),
            )
            for entry in book.entries()
        ],
        [
            (id, np.asarray(ended.decision.arm).tolist(), _plain(ended.answers), ended.ended)
            for id, ended in book.closed.items()
        ],
    ]
    digest.update(
        to_json(
            [
                streams.pack(session._agent.rng),
                streams.pack(session._audit.stream),
                session.rounds,
                session.decided,
                session.retired,
                decisions,
                rest_of(journal),
            ]
        )
    )
    return digest.digest()


def _plain(answers: object) -> object:
    return sorted(answers.items()) if isinstance(answers, dict) else answers


S = snapshots.c
NEWEST = 4  # snapshots that are kept; of older ones fewer and fewer


def rebuild(
    connection: Connection, row: int, name: str, until: int | None = None
) -> ExperimentJournal:
    """The experiment as it was after an event (default: the last). Raises ValueError where the log
    has a gap or was erased there."""
    return recover(connection, row, name, until)[0]


def recover(
    connection: Connection, row: int, name: str, until: int | None = None
) -> tuple[ExperimentJournal, int]:
    """The same, and the event whose snapshot it started from (0: none)."""
    journal = newest_snapshot(connection, row, name, until)
    experiment = journal.experiment
    started = experiment.seq
    for entry in log.read(connection, row, started, until):
        if entry.seq != experiment.seq + 1:
            raise ValueError(
                f"event {experiment.seq + 1} of {name!r} is missing; restore the database from a "
                "backup."
            )
        journal.follow(entry)
    if experiment.seq == 0:
        raise ValueError(f"{name!r} has no events; restore the database from a backup.")
    return journal, started


def before_decision(
    connection: Connection, row: int, name: str, decision: str
) -> tuple[Experiment, LogEntry] | None:
    """The experiment just before the decision of an id, and the decision's entry; None where there
    is none of this id."""
    record = connection.execute(
        sa.select(*log.COLUMNS).where(
            log.C.experiment == row, log.C.key == decision, log.C.kind == Decided.kind
        )
    ).one_or_none()
    if record is None:
        return None
    entry = LogEntry(*record)
    return rebuild(connection, row, name, entry.seq - 1).experiment, entry


def newest_snapshot(
    connection: Connection, row: int, name: str, until: int | None = None
) -> ExperimentJournal:
    """The experiment of the newest snapshot that can be used; where none can, one to which nothing
    has happened yet."""
    query = sa.select(S.seq).where(S.experiment == row).order_by(S.seq.desc())
    for seq in (
        connection.execute(query if until is None else query.where(S.seq <= until)).scalars().all()
    ):
        stored = connection.execute(
            sa.select(S.session, S.rest, S.fingerprint).where(S.experiment == row, S.seq == seq)
        ).one()
        try:
            return restored(name, stored.session, stored.rest, stored.fingerprint)
        except ValueError as error:  # the log is the truth, a snapshot only shortens its replay
            structlog.get_logger().warning(
                "snapshot not used", experiment=name, seq=seq, reason=str(error)
            )
    return ExperimentJournal(name)


class Snapshot(NamedTuple):
    """A live experiment as bytes, with the event that it is the state after."""

    seq: int
    fingerprint: bytes
    rest: str
    session: bytes

    @classmethod
    def of(cls, journal: ExperimentJournal) -> Self:
        return cls(
            journal.experiment.seq,
            fingerprint(journal),
            to_json(rest_of(journal) | {"written": written()}).decode(),
            journal.experiment.session.to_bytes(),
        )

    def check(self, name: str) -> None:
        restored(name, self.session, self.rest, self.fingerprint)


def was_erased(connection: Connection, row: int, seq: int) -> bool:
    """Whether something was erased behind an event. No such thing can happen before the transaction
    has ended."""
    connection.execute(
        sa.select(experiments.c.seq).where(experiments.c.id == row).with_for_update()
    )  # SQLite: nobody else writes anyway
    return (
        connection.execute(
            sa.select(log.C.seq)
            .where(log.C.experiment == row, log.C.seq > seq, log.C.kind == "erased")
            .limit(1)
        ).first()
        is not None
    )


def write_snapshot(connection: Connection, row: int, snapshot: Snapshot) -> None:
    seq = snapshot.seq
    connection.execute(sa.delete(snapshots).where(S.experiment == row, S.seq == seq))
    connection.execute(sa.insert(snapshots).values(experiment=row, **snapshot._asdict()))
    seqs = [
        int(seq)
        for seq in connection.execute(
            sa.select(S.seq).where(S.experiment == row).order_by(S.seq.desc())
        ).scalars()
    ]
    surplus = thinned(seqs)
    if surplus:
        connection.execute(sa.delete(snapshots).where(S.experiment == row, S.seq.in_(surplus)))


def thinned(seqs: list[int]) -> list[int]:
    """Which of the snapshots (newest first) may go: the NEWEST stay, and before them one for every
    doubling of the distance."""
    surplus, distance = [], 0
    for seq in seqs[NEWEST:]:
        if seqs[0] - seq >= 2 * distance:
            distance = seqs[0] - seq
        else:
            surplus.append(seq)
    return surplus


# Is the log what was written? The chain of digests, and the state that a replay from the start
# finds.


class Verification(NamedTuple):
    """The result of following the chain. events: read. blanked: of them, bodies that were erased as
    the log says. digest: of the last.
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
    blanked: dict[
        int, str
    ] = {}  # digests of the bodies that do not match their own; "" once an erasure explains it
    for entry in log.read(connection, row):
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
        event = (
            entry.event if entry.kind == Decided.kind and body_digest == entry.body_digest else None
        )
        sealed_subject = event.subject if isinstance(event, Decided) else None
        if entry.subject != sealed_subject and (
            sealed_subject is not None or body_digest == entry.body_digest
        ):
            errors.append(
                f"event {entry.seq} has another subject than its body, so that an erasure would "
                "miss it."
            )
        digest = chained(
            name, digest, entry.seq, entry.kind, entry.time, entry.decision, entry.body_digest
        )
        if digest != entry.digest:
            errors.append(
                f"event {entry.seq} ({entry.kind}) is not the one that was sealed: its digest "
                "does not follow from the one before."
            )
            break
    errors += [
        f"event {seq} has another body than was sealed, and no erasure explains it."
        for seq, left in blanked.items()
        if left
    ]
    head = connection.execute(
        sa.select(experiments.c.seq, experiments.c.digest).where(experiments.c.id == row)
    ).one()
    if not errors and (head.seq, head.digest) != (count, digest):
        errors.append(
            f"the log ends with event {count}, but its head was event {head.seq}: the end was cut "
            "off or changed."
        )
    return Verification(
        name, count, sum(not left for left in blanked.values()), digest.hex(), tuple(errors)
    )


class Replay(NamedTuple):
    """A state that was computed from the log alone. compared: snapshots that it went through.
    disagreements: decisions that this machine would have drawn otherwise, which happens after a
    move to another kind of processor. errors: sentences. others: sentences about snapshots of other
    versions, which were not compared."""

    journal: ExperimentJournal
    fingerprint: str
    compared: int
    disagreements: int
    errors: tuple[str, ...]
    others: tuple[str, ...]


def replay(connection: Connection, row: int, name: str, until: int | None = None) -> Replay:
    """Compute the state from the first event on, and compare it with every snapshot on the way, bit
    for bit."""
    stored = {
        int(seq): bytes(digest)
        for seq, digest in connection.execute(
            sa.select(S.seq, S.fingerprint).where(S.experiment == row).order_by(S.seq)
        ).all()
        if until is None or seq <= until
    }
    errors: list[str] = []
    others: list[str] = []
    compared = 0
    erased = [seq for seq in erased_rounds(connection, row) if until is None or seq <= until]
    if erased:
        start = min((seq for seq in stored if seq > max(erased)), default=None)
        if start is None:
            where = (
                "and there is no snapshot behind it"
                if until is None
                else f"and until = {until} is before the snapshot behind it"
            )
            raise ValueError(f"event {max(erased)} was erased, {where}.")
        journal = rebuild(connection, row, name, start)
    else:
        journal = ExperimentJournal(name)
    for entry in log.read(connection, row, journal.experiment.seq, until):
        journal.follow(entry)
        if entry.seq in stored:
            if fingerprint(journal) != stored[entry.seq]:
                rest = connection.execute(
                    sa.select(S.rest).where(S.experiment == row, S.seq == entry.seq)
                ).scalar_one()
                try:
                    check_version(rest)
                except OtherVersion as other:
                    others.append(f"the snapshot of event {entry.seq} was not compared: {other}.")
                    continue
                errors.append(f"the state after event {entry.seq} differs from its snapshot.")
            compared += 1
    return Replay(
        journal,
        fingerprint(journal).hex(),
        compared,
        journal.experiment.disagreements,
        tuple(errors),
        tuple(others),
    )


def erased_rounds(connection: Connection, row: int) -> list[int]:
    return [
        seq
        for body in connection.execute(
            sa.select(log.C.body).where(log.C.experiment == row, log.C.kind == "erased")
        ).scalars()
        for seq in from_json(body)["rounds"]
    ]


def check_snapshots(connection: Connection, row: int, name: str) -> tuple[list[str], list[str]]:
    """Which snapshots do not hold the state that they say, and which are of other versions: a
    sentence for each."""
    errors: list[str] = []
    others: list[str] = []
    for seq, digest, session, rest in connection.execute(
        sa.select(S.seq, S.fingerprint, S.session, S.rest).where(S.experiment == row)
    ):
        try:
            restored(name, session, rest, digest)
        except OtherVersion as other:
            others.append(f"the snapshot of event {seq} is not used: {other}.")
        except ValueError as error:
            errors.append(f"the snapshot of event {seq} is damaged: {error}.")
    return errors, others


# Leases: each experiment is written by one process. A fencing number, checked where events are
# appended, outlives every pause.


X = experiments.c
STUCK = 300.0  # seconds without a sign of the writer after which its leases are left to run out


class Lease(NamedTuple):
    """The row of an experiment that this process writes, and its fence."""

    row: int
    fence: int


class Leases:
    """The leases of this process. seconds: after which another process may take over one that is
    silent."""

    def __init__(self, database: Database, seconds: float, address: str | None = None) -> None:
        self.database, self.seconds, self.address = database, seconds, address
        self.owner = uuid.uuid4().hex
        self._ended = threading.Event()
        self.seen = time.monotonic()  # when the writer was known to go on
        self._thread: threading.Thread | None = None

    def take(self, connection: Connection, name: str) -> Lease | None:
        """The experiment that is this process's from now on; None: there is none of this name.

        Refused with 503 while another process writes it. An SQLite file is one process's as a
        whole.
        """
        query = sa.select(X.id, X.fence, X.owner, X.lease_until, X.address)
        row = connection.execute(query.where(X.name == name)).one_or_none()
        if row is None:
            return None
        now = self.database.now(connection)
        if (
            row.owner not in (None, self.owner)
            and row.lease_until > now
            and not self.database.sqlite
        ):
            raise elsewhere(name, row.address, max(row.lease_until - now, 0.1))
        unchanged = (
            X.id == row.id,
            X.fence == row.fence,
            X.lease_until.is_not_distinct_from(row.lease_until),
        )  # nor renewed meanwhile
        changed = connection.execute(
            sa.update(experiments)
            .where(*unchanged)
            .values(
                fence=row.fence + 1,
                owner=self.owner,
                address=self.address,
                lease_until=now + self.seconds,
            )
        )
        if changed.rowcount != 1:
            raise elsewhere(name, None, self.seconds)
        return Lease(row.id, row.fence + 1)

    def create(self, connection: Connection, name: str, spec: str) -> Lease:
        inserted = connection.execute(
            sa.insert(experiments).values(
                name=name,
                spec=spec,
                seq=0,
                digest=START,
                fence=1,
                owner=self.owner,
                address=self.address,
                lease_until=self.database.now(connection) + self.seconds,
            )
        )
        assert inserted.inserted_primary_key is not None
        return Lease(int(inserted.inserted_primary_key[0]), 1)

    def renew(self, connection: Connection, held: Mapping[str, Lease]) -> list[str]:
        if self.database.sqlite or not held:
            return []
        mine = {
            row.id: row.fence
            for row in connection.execute(sa.select(X.id, X.fence).where(X.owner == self.owner))
        }
        self.extend(connection)
        return [name for name, lease in held.items() if mine.get(lease.row) != lease.fence]

    def extend(self, connection: Connection) -> None:
        # not of those that the writer is about to commit: to wait for one while others are locked
        # is a deadlock where the writer waits for one of these
        connection.execute(
            sa.update(experiments)
            .where(
                X.id.in_(
                    sa.select(X.id).where(X.owner == self.owner).with_for_update(skip_locked=True)
                )
            )
            .values(lease_until=self.database.now(connection) + self.seconds)
        )

    def start(self) -> None:
        """Start renewing the lease, from a thread that waits for nothing else: the writer may
        replay, or compile, for longer than a lease."""
        if not self.database.sqlite:
            self._thread = threading.Thread(target=self._beat, name="leases", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(self.seconds / 3):
            if time.monotonic() - self.seen < STUCK:
                with (
                    contextlib.suppress(sa.exc.SQLAlchemyError, OSError),
                    self.database.write() as connection,
                ):
                    self.extend(connection)

    def free(self, connection: Connection, owned: Iterable[str]) -> list[str]:
        """Experiments that go on and that no process writes, or this one only by its lease;
        somebody must close their windows."""
        names = set(owned)
        last = (
            sa.select(events.c.kind)
            .where(events.c.experiment == X.id, events.c.seq == X.seq)
            .scalar_subquery()
        )
        mine = sa.or_(
            X.owner.is_(None), X.owner == self.owner
        )  # its own: forgotten when a transaction failed
        idle = (
            sa.true()
            if self.database.sqlite
            else sa.or_(mine, X.lease_until < self.database.now(connection))
        )
        return [
            row.name
            for row in connection.execute(sa.select(X.name).where(idle, last != "archived"))
            if row.name not in names
        ]

    def give_up(self, connection: Connection) -> None:
        connection.execute(
            sa.update(experiments).where(X.owner == self.owner).values(owner=None, lease_until=None)
        )


def elsewhere(name: str, address: str | None, seconds: float) -> Refused:
    """Another process writes the experiment. address: where it can be reached, if it said so."""
    return Refused(
        503,
        f"experiment = {name!r} is served by another process just now; try again.",
        "experiment",
        seconds,
        address,
    )
