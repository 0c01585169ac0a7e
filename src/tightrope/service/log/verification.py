"""Is the log what was written? The chain of digests, and the state that a replay from the start finds."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import sqlalchemy as sa
from pydantic_core import from_json
from sqlalchemy.engine import Connection

from ..domain.events import Decided, Exchanged
from ..domain.experiment import apply_as_worker
from . import store
from .entries import START, LogEntry, chained, worker_log
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
    """Follow the chain from the first event to the head that the database names; of many workers those of all their logs."""
    return (verify_many if store.has_many_workers(connection, row) else verify_one)(connection, row, name)


class Chain:
    """Follows the chain of one log. count, digest: of the last event that held."""

    def __init__(self, connection: Connection, row: int, name: str) -> None:
        self.connection, self.row, self.name = connection, row, name
        self.count, self.digest = 0, START

    def follow(self, until: int | None, ledger: bool = False) -> Iterator[LogEntry | str]:
        """The entries until one, each after its check, or the sentence that says what is wrong, which is the last. ledger: numbers may be
        left out."""
        for entry in store.read_one(self.connection, self.row, self.count, until):
            if entry.seq != self.count + 1 and not ledger:
                yield f"event {self.count + 1} of {self.name!r} is missing: the next one is {entry.seq}."
                return
            if hashlib.sha256(entry.text).digest() != entry.body_digest:
                yield f"event {entry.seq} of {self.name!r} has another body than was sealed."
                return
            digest = chained(self.name, self.digest, entry.seq, entry.kind, entry.time, entry.decision, entry.body_digest)
            if digest != entry.digest:
                yield f"event {entry.seq} ({entry.kind}) of {self.name!r} is not the one that was sealed: its digest does not follow."
                return
            self.count, self.digest = entry.seq, digest
            yield entry

    def check_head(self) -> str | None:
        """A sentence where the database names another end."""
        head = self.connection.execute(sa.select(experiments.c.seq, experiments.c.digest).where(experiments.c.id == self.row)).one()
        if (head.seq, bytes(head.digest)) == (self.count, self.digest):
            return None
        return f"{self.name!r} ends with event {self.count}, but its head was event {head.seq}: the end was cut off or changed."


def verify_many(connection: Connection, row: int, name: str) -> Verification:
    """Follow the ledger of many workers and the log of each, which the ledger names digests of."""
    ledger, errors, events = Chain(connection, row, name), [], 0
    logs = {number: Chain(connection, one, worker_log(name, number)) for number, one in store.worker_rows(connection, row).items()}
    for entry in ledger.follow(None, ledger=True):
        if isinstance(entry, str):
            errors.append(entry)
            break
        events, event = events + 1, entry.event
        if not isinstance(event, Exchanged):
            continue
        log = logs.get(event.worker)
        if log is None:
            errors.append(f"event {entry.seq} takes in the log of worker {event.worker}, which is missing.")
            break
        wrong = [one for one in log.follow(event.last) if isinstance(one, str)]
        events += event.count
        if not wrong and (log.count, log.digest.hex()) != (event.last, event.head):
            wrong = [f"event {entry.seq} takes in {log.name!r} until another event {event.last} than it has."]
        errors += wrong
        if wrong:
            break
    for log in [] if errors else logs.values():  # what the ledger has not taken in yet
        for one in log.follow(None):
            events += 1
            errors += [one] if isinstance(one, str) else []
    if not errors:
        errors = [said for chain in (ledger, *logs.values()) if (said := chain.check_head()) is not None]
    return Verification(name, events, 0, ledger.digest.hex(), tuple(errors))


def verify_one(connection: Connection, row: int, name: str) -> Verification:
    """Follow the chain of one log."""
    digest, count = START, 0
    errors: list[str] = []
    blanked: dict[int, str] = {}  # digests of the bodies that do not match their own; "" once an erasure explains it
    for entry in store.read_one(connection, row):
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
    workers = WorkerReplay(connection, row, journal, until) if store.has_many_workers(connection, row) else None
    for entry in store.read(connection, row, journal.experiment.seq, until):
        if workers is not None:
            errors += workers.check_grant(entry)
        journal.follow(entry)
        if workers is not None:
            errors += workers.follow_from(entry)
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
    disagreements = journal.experiment.disagreements if workers is None else workers.disagreements
    return Replay(journal, fingerprint(journal).hex(), compared, disagreements, tuple(errors), tuple(others))


class WorkerReplay:
    """The decisions of each of many workers, replayed from what it knew: the state of their ledger then, its lease, its own stream.

    disagreements: decisions that this machine would have drawn otherwise.
    """

    def __init__(self, connection: Connection, row: int, journal: ExperimentJournal, until: int | None) -> None:
        self.connection, self.journal, self.rows = connection, journal, store.worker_rows(connection, row)
        self.resting: dict[int, list[Exchanged]] = defaultdict(list)  # exchanges by the ledger's event that they rest on
        self.disagreements = 0
        for entry in store.read_one(connection, row, journal.experiment.seq, until):
            event = entry.event
            if isinstance(event, Exchanged) and event.count:
                self.resting[event.known].append(event)

    def check_grant(self, entry: LogEntry) -> list[str]:
        """Sentences about a lease that was not to be had, before its exchange is followed."""
        event, experiment = entry.event, self.journal.experiment
        if not isinstance(event, Exchanged) or not experiment.promises or experiment.accounts is None:
            return []
        rounds, out = experiment.known_rounds(), experiment.accounts.out - experiment.accounts.leases.get(event.worker, 0)
        if event.out != out + event.lease or event.bound != rounds.bound(event.out) or event.lease > rounds.room(out, event.lease):
            return [f"event {entry.seq} grants worker {event.worker} a lease of {event.lease}, which what is known does not carry."]
        return []

    def follow_from(self, entry: LogEntry) -> list[str]:
        """Sentences about workers that went on from an event of the ledger."""
        errors = []
        for event in self.resting.pop(entry.seq, ()):
            worker = self.journal.experiment.branch(event.worker)
            for one in store.read_one(self.connection, self.rows[event.worker], event.first - 1, event.last):
                worker_event = one.event
                if isinstance(worker_event, Decided) and (worker_event.known, worker_event.lease) != (worker.known, worker.lease):
                    errors.append(f"decision {worker_event.decision!r} says that it rests on another lease than worker {event.worker} had.")
                apply_as_worker(worker, self.journal.experiment, worker_event, one.time)
                if worker.lease is not None and worker.lease < 0:
                    errors.append(f"decision {one.decision!r} explores, but the lease of worker {event.worker} was used up.")
            self.disagreements += worker.disagreements
        return errors


def erased_rounds(connection: Connection, row: int) -> list[int]:
    """Events whose rounds were erased, so that no replay passes them."""
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
