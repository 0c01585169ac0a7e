"""The writer: one thread that decides and appends. A command is answered once its events are on
disk.

Commands are queued per experiment. The thread dispatches them in groups of about GROUP_SECONDS: it
visits the queues in turn, gives each a share of the time, applies commands to the live experiments
and appends their events in one transaction. Commands are answered after the commit, and meanwhile
the next group gathers. A long command, such as a batch, yields when its time is over and continues
in a later group, behind the others, so that nobody waits for more than a group or two. If the
transaction fails, none of its commands happened, and its experiments are recovered from the
database before they go on: memory never runs ahead of the log.
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import itertools
import math
import queue
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from . import certificate, log as audit, log as store, outbox
from .certificate import Notice
from .database import Database
from .errors import MICROSECONDS, Refused, invalid, unknown_experiment
from .events import Decided, Event
from .experiment import Experiment, created
from .log import UNKNOWN, Author, ExperimentJournal, LogEntry, secrets_table
from .recovery import Lease, Leases, Snapshot, rebuild, recover, was_erased, write_snapshot
from .rollout import bounds_by_metric
from .settings import Settings, logger, metrics
from .spec import ExperimentSpec

GROUP_SECONDS = 0.05  # seconds of work between two commits
LEAST_SHARE = 0.002  # seconds that an experiment gets in a group
RETRY_SECONDS = (
    1.0  # seconds without a failure after which a service tries by itself whether it can write
)
READ_AGAIN = 5.0  # seconds after which a log that could not be read is read again, at least
READ_SHARE = 20.0  # of the time that reading took, or it would keep the others waiting all the time
NOTICE_SECONDS = 10.0  # between two looks at all of an experiment, which take long
AT_ONCE = 200  # commands whose decisions are looked up together

Answer = object
Ticket = asyncio.Future[Any] | Future[Any]  # of one answer, whatever it is
Answered = tuple[Ticket | None, Answer]  # answer or exception of a command
Done = Callable[[Sequence[Answered]], None]  # of every command of a group
Act = Callable[["Transaction"], Answer]


class Unfinished(NamedTuple):
    """The answer of an act whose time is over: it is called again in a later group. until: not
    before this is done; None: at once."""

    until: "Future[Snapshot] | None" = None


UNFINISHED = Unfinished()


class Command:
    """Something to do with an experiment. act: does it, or a part of it (see `Unfinished`). ids:
    decisions that it names, which may be looked up together. spec: creates the experiment where
    there is none. failed: what a command that is done in parts answers where a part could not be
    written; None: the refusal itself. author: who asks for it."""

    __slots__ = ("act", "author", "experiment", "failed", "ids", "spec", "ticket")

    def __init__(
        self,
        experiment: str,
        act: Act,
        ids: Iterable[str] = (),
        ticket: Ticket | None = None,
        spec: ExperimentSpec | None = None,
        failed: Callable[[Refused], Answer] | None = None,
        author: Author = UNKNOWN,
    ) -> None:
        self.experiment, self.act, self.ids, self.ticket, self.spec, self.failed = (
            experiment,
            act,
            ids,
            ticket,
            spec,
            failed,
        )
        self.author = author


# decisions and assignments in a snapshot that the writer packs itself; larger ones are made by
# another thread from the log
LIGHT = 1500
MARKS = 100  # in the time within which a decision may be cancelled
# events for each decision that a snapshot writes: with many of them it is worth its time less often
OPEN_WEIGHT = 4


class OwnedExperiment:
    """A live experiment that this process writes: its row in the database, its fence, and entries
    that are not on disk yet."""

    def __init__(self, lease: Lease, journal: ExperimentJournal, saved: int) -> None:
        self.lease, self.row, self.journal = lease, lease.row, journal
        self.new: list[LogEntry] = []
        self.saved = (
            saved  # of the last snapshot; what was replayed behind it counts towards the next one
        )
        self.closing = False  # whether its windows are being closed
        # metrics whose budget was told to be below its least; None: since this process has it,
        # nothing was told
        self.at_risk: set[str] | None = None
        self.looked, self.looked_at = (
            0,
            -math.inf,
        )  # the last event at the last look at all of it, and the count of seconds then
        # the last event that is surely longer ago than a decision may be cancelled, whatever the
        # clock says
        self.shown = 0
        self.marks = deque(
            [(time.monotonic(), self.experiment.seq)]
        )  # by the computer's count of seconds, which nobody sets

    @property
    def experiment(self) -> Experiment:
        return self.journal.experiment

    def mark(self) -> None:
        """Note how far the log is, to know later what is older than `cancel_within`."""
        experiment = self.experiment
        within, now = experiment.spec.cancel_within, time.monotonic()
        if within is None:
            return
        if not self.marks or now - self.marks[-1][0] >= within / MARKS:
            self.marks.append((now, experiment.seq))
        while self.marks and now - self.marks[0][0] > within:
            self.shown = self.marks.popleft()[1]

    def due_for_notice(self, seconds: float) -> bool:
        """Whether something is new since a look that is so long ago, or that was before the end."""
        now, archived = time.monotonic(), self.experiment.status == "archived"
        if self.experiment.seq == self.looked or not (archived or now - self.looked_at >= seconds):
            return False
        self.looked, self.looked_at = self.experiment.seq, now
        return True

    def due(self, every: int) -> bool:
        """Whether a snapshot is worth its time. It writes every open decision, and what the rollout
        keeps behind the oldest of them: that may be as many as there ever were, so for these alone
        the log at most doubles between two."""
        evidence_weight = min(
            OPEN_WEIGHT * len(self.experiment.rollout.evidence.waiting), self.saved
        )
        written = max(len(self.experiment.open), len(self.experiment.assignments))
        return self.experiment.seq - self.saved >= max(
            every, OPEN_WEIGHT * written, evidence_weight
        )

    @property
    def light(self) -> bool:
        experiment = self.experiment
        book = experiment.session._book
        kept = len(experiment.rollout.evidence.waiting) + len(experiment.assignments)
        return len(book.open) + len(book.closed) + kept <= LIGHT


class Transaction:
    """A command's view: the experiment, the time, and the log's entries about a decision. What it
    records is committed with its part.
    until: when the command's time is over, by the computer's count of seconds."""

    def __init__(
        self,
        writer: "Writer",
        owned: OwnedExperiment,
        now: int,
        connection: Connection,
        until: float = math.inf,
    ) -> None:
        self.writer, self.owned, self.now, self.connection, self.until = (
            writer,
            owned,
            now,
            connection,
            until,
        )
        self.experiment = owned.experiment
        self.author = UNKNOWN  # of the command that is being done
        self.looked_up: dict[str, list[LogEntry]] = {}

    def record(self, event: Event) -> LogEntry:
        entry = self.owned.journal.record(event, self.now)
        self.owned.new.append(entry)
        audit.note_event(
            self.connection, self.now, self.author, self.experiment.name, entry.seq, event
        )
        self._notify(event, entry)
        if entry.decision is not None and entry.decision in self.looked_up:
            self.looked_up[entry.decision].append(entry)
        return entry

    def _notify(self, event: Event, entry: LogEntry) -> None:
        if not isinstance(event, Decided):
            notice = certificate.of_event(event, entry.seq, entry.time)
            if notice is not None:
                outbox.enqueue(self.connection, self.now, self.experiment.name, notice)
                self.writer.new_messages = True
        elif bounds := bounds_by_metric(event):
            least, before = self.experiment.rollout.least_budgets, self.owned.at_risk
            risky = {metric for metric, bound in bounds.items() if bound < least[metric]}
            unclear = {
                metric for metric, bound in bounds.items() if bound < max(least[metric], 0.0)
            } - risky
            if before is None and unclear and not risky:
                return
            risky |= unclear & (before or set())
            if risky != before:
                notices = {
                    metric: certificate.of_bound(
                        metric, bounds[metric], least[metric], entry.seq, entry.time
                    )
                    for metric in risky
                }
                self.notify_lasting("budget", notices)
                self.owned.at_risk = risky

    def notify_lasting(self, scope: str, holding: dict[str, Notice]) -> None:
        row, name = self.owned.row, self.experiment.name
        outbox.enqueue_lasting(self.connection, self.now, row, name, scope, holding)
        self.writer.new_messages = True

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.until

    def flush(self) -> None:
        self.writer.append(self.connection, self.owned)

    def look_up(self, ids: Iterable[str]) -> None:
        ids_to_read = {id for id in ids if id not in self.looked_up}
        if ids_to_read:
            self.looked_up |= {id: [] for id in ids_to_read}
            unwritten = (entry for entry in self.owned.new if entry.decision in ids_to_read)
            for entry in [*store.about(self.connection, self.owned.row, ids_to_read), *unwritten]:
                self.looked_up[str(entry.decision)].append(entry)

    def entries(self, id: str) -> list[LogEntry]:
        self.look_up((id,))
        return self.looked_up[id]


class Writer(threading.Thread):
    """The writer's thread. done: receives a group's answers, in this thread. acquired: receives the
    spec of each experiment that the writer acquires."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        leases: Leases,
        done: Done,
        acquired: Callable[[ExperimentSpec], None],
    ) -> None:
        super().__init__(name="writer", daemon=True)
        self.database, self.settings, self.leases, self.done, self.acquired = (
            database,
            settings,
            leases,
            done,
            acquired,
        )
        self.intake: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self.owned: dict[str, OwnedExperiment] = {}
        self.replayed = False  # whether all experiments that nobody else writes were read once
        # why the last transaction failed; None: something was written since
        self.failing: str | None = None
        self.failed = 0.0  # when that was, by the computer's count of seconds
        # leases of experiments that stay this process's, as all of an SQLite file
        self.held: dict[str, Lease] = {}
        # experiments that cannot be acquired before a time, and what is answered meanwhile
        self.unavailable: dict[str, tuple[float, Refused]] = {}
        self._written: set[str] = set()  # created or appended to in the current transaction
        # commands by experiment; the one served last goes to the end
        self.pending: OrderedDict[str, deque[Command]] = OrderedDict()
        self.copies = concurrent.futures.ThreadPoolExecutor(1, "snapshots")
        # done every NOTICE_SECONDS for each experiment with new events
        self.notice: Act | None = None
        self.outbox_ready = threading.Event()  # there are new messages for webhooks
        self.new_messages = False  # in the current transaction
        self._ending = False
        self._ticked = 0.0

    def ask(self, command: Command) -> None:
        self.intake.put(command)

    def stop(self) -> None:
        """Work off what waits, write snapshots, give up the leases and end."""
        self.intake.put(None)
        self.join()

    # The loop -------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until `stop`, and then until no command is pending."""
        while not self._ending or self.pending:
            self.leases.seen = time.monotonic()
            self._drain_queue()
            if self.pending:
                self._serve()
            if time.monotonic() - self._ticked >= self.settings.tick:
                self._tick()
                self._ticked = time.monotonic()
        self._shut_down()

    def _drain_queue(self) -> None:
        """Move new commands to their experiments' queues; where none is pending, wait for one until
        the next tick."""
        with contextlib.suppress(queue.Empty):
            pause = max(self.settings.tick - (time.monotonic() - self._ticked), 0.001)
            command = self.intake.get_nowait() if self.pending else self.intake.get(timeout=pause)
            while True:
                if command is None:
                    self._ending = True
                else:
                    self.pending.setdefault(command.experiment, deque()).append(command)
                command = self.intake.get_nowait()

    def _serve(self) -> None:
        answers: list[Answered] = []
        settled: list[Answered] = []  # answers that do not depend on the transaction
        started: list[Command] = []
        only_first = (
            self.failing is not None and self.database.sqlite
        )  # reads are answered while a full disk takes no events
        try:
            for name in [name for name in self.pending if name not in self.owned]:
                try:
                    self._acquire(name)
                except Refused as error:
                    answers += [(command.ticket, error) for command in self.pending.pop(name)]
            settled = list(answers)
            with self.database.write() as connection:
                began, share = (
                    time.monotonic(),
                    max(GROUP_SECONDS / max(len(self.pending), 1), LEAST_SHARE),
                )
                for name in list(self.pending):
                    answers += self._serve_one(
                        connection, name, started, time.monotonic() + share, only_first
                    )
                    self.pending.move_to_end(name)
                    if not self.pending[name]:
                        del self.pending[name]
                    if only_first or time.monotonic() - began >= GROUP_SECONDS:
                        break
                for owned in self.owned.values():
                    self.append(connection, owned)
            if self._written:  # what only reads says nothing of a disk that is full
                self.failing = None
            metrics().group.observe(len(answers))
        except Exception as error:
            refused = self._failed(error, {command.experiment for command in started})
            for name in {command.experiment for command in started} & self.pending.keys():
                self.pending[name] = deque(
                    command for command in self.pending[name] if command not in started
                )
            self.pending = OrderedDict(
                (name, queued) for name, queued in self.pending.items() if queued
            )
            for one in started:
                one.act = given_up  # also where it waits for something
            answers = [
                *settled,
                *(
                    (one.ticket, refused if one.failed is None else one.failed(refused))
                    for one in started
                ),
            ]
        self._after_commit()
        self.done(answers)

    def _serve_one(
        self,
        connection: Connection,
        name: str,
        started: list[Command],
        until: float,
        only_first: bool,
    ) -> Sequence[Answered]:
        """Run queued commands of one experiment until `until`; started ones are appended to
        `started`. only_first: run one command."""
        queued, owned = self.pending[name], self.owned.get(name)
        if owned is None:
            creating = next((command for command in queued if command.spec is not None), None)
            try:
                owned = self._create(connection, name, creating)
            except Refused as error:
                refused = [(command.ticket, error) for command in queued]
                queued.clear()
                return refused
            except Exception:
                started.extend(queued)  # they have their answer, or would be tried for ever
                queued.clear()
                raise
        transaction = Transaction(self, owned, self.settings.clock(), connection, until)
        answers: list[Answered] = []
        later: list[Command] = []
        for number in range(1 if only_first else min(len(queued), self.settings.group)):
            if number % AT_ONCE == 0:
                first = list(itertools.islice(queued, AT_ONCE))
                transaction.look_up(
                    id for command in first for id in command.ids if id not in owned.experiment.open
                )
            command = queued.popleft()
            started.append(command)
            transaction.author = command.author
            try:
                answer = command.act(transaction)
            except Refused as error:
                answer = error
            if not isinstance(answer, Unfinished):
                answers.append((command.ticket, answer))
            elif answer.until is None:
                later.append(command)
            else:
                answer.until.add_done_callback(functools.partial(self._requeue, command))
            if transaction.over:
                break
        queued.extend(later)
        return answers

    def _requeue(self, command: Command, done: "Future[Snapshot]") -> None:
        if command.act is given_up:
            command.ticket = None
        self.intake.put(command)

    def append(self, connection: Connection, owned: OwnedExperiment) -> None:
        """Append an experiment's new events. Until the commit they can still be lost with the
        transaction."""
        if owned.new:
            store.append(connection, owned.row, owned.lease.fence, owned.new)
            metrics().events.inc(len(owned.new))
            owned.new = []
            self._written.add(owned.experiment.name)

    def _failed(self, error: Exception, touched: set[str]) -> Refused:
        """Nothing of the group happened: forget what memory thinks, and say so."""
        outside = isinstance(error, (sa.exc.SQLAlchemyError, OSError, store.Overtaken))
        self.failing, self.failed = type(error).__name__, time.monotonic()
        logger().error(
            "group failed",
            error=self.failing,
            reason=str(getattr(error, "orig", None) or type(error)),
            exc_info=not outside,
        )
        metrics().failures.inc()
        overtaken = isinstance(error, store.Overtaken)
        self.owned = {
            name: owned
            for name, owned in self.owned.items()
            if name not in touched | self._written and not owned.new and not overtaken
        }
        self._written.clear()
        if not outside:
            return Refused(
                500, "The service met an error of its own, so nothing was done; its log says more."
            )
        return Refused(
            503,
            "The log could not be written, so nothing was done; send the same request again.",
            retry_after=1,
        )

    def _after_commit(self) -> None:
        if self.database.sqlite:
            self.held |= {
                name: self.owned[name].lease for name in self._written if name in self.owned
            }
        self._written.clear()
        if self.new_messages:
            self.new_messages = False
            self.outbox_ready.set()
        for owned in list(self.owned.values()):
            if owned.due(self.settings.snapshot_every):
                self._snapshot(owned)

    def _snapshot(self, owned: OwnedExperiment, here: bool = False) -> None:
        seq = owned.saved = owned.experiment.seq
        if here or owned.light:
            self._write_snapshot(owned.experiment.name, owned.row, Snapshot.of(owned.journal))
        else:
            self.copies.submit(self._copy_snapshot, owned.experiment.name, owned.row, seq)

    def _copy_snapshot(self, name: str, row: int, seq: int) -> None:
        with contextlib.suppress(
            ValueError, sa.exc.SQLAlchemyError
        ):  # the writer reads the log itself where it must, and says what is wrong
            self._write_snapshot(name, row, self.copied(name, row, seq))

    def copied(self, name: str, row: int, seq: int, event: Event | None = None) -> Snapshot:
        """The snapshot of an event, from the log, with another one behind it; not in the writer's
        thread. Raises ValueError where it could not be read back."""
        with self.database.read() as connection:
            journal = rebuild(connection, row, name, seq)
        if event is not None:
            journal.experiment.step(event, seq, journal.experiment.time)
        snapshot = Snapshot.of(journal)
        snapshot.check(name)
        return snapshot

    def _write_snapshot(self, name: str, row: int, snapshot: Snapshot) -> None:
        try:
            with self.database.write() as connection:
                if was_erased(
                    connection, row, snapshot.seq
                ):  # behind it, so that it may hold what was erased
                    return
                write_snapshot(connection, row, snapshot)
        except (sa.exc.DBAPIError, OSError) as error:  # only the next start takes longer
            logger().warning("snapshot failed", experiment=name, error=type(error).__name__)

    # Experiments ----------------------------------------------------------------------------------

    def _acquire(self, name: str) -> None:
        """Hold an experiment that the database has, if it has it: from its last snapshot and the
        events behind it.

        The lease is on disk before the replay begins and is renewed while it lasts: a replay may
        take longer than a lease.
        """
        until, refused = self.unavailable.get(name, (0.0, None))
        if refused is not None and time.monotonic() < until:
            raise refused
        lease = self.held.get(name)
        if lease is None:
            with self.database.write() as connection:
                lease = self.leases.take(connection, name)
            if lease is None:
                return
            if self.database.sqlite:
                self.held[name] = lease
        journal, saved = self._read(name, lease)
        self.owned[name] = OwnedExperiment(lease, journal, saved)
        self.unavailable.pop(name, None)
        self.acquired(self.owned[name].experiment.spec)

    def _read(self, name: str, lease: Lease) -> tuple[ExperimentJournal, int]:
        """An experiment from its log, and the event of the snapshot that it began with. Where the
        log cannot be read, it is tried again after a while, as somebody may have restored it."""
        began = time.monotonic()
        try:
            with self.database.read() as connection:
                return recover(connection, lease.row, name)
        except ValueError as error:
            pause = max(READ_AGAIN, READ_SHARE * (time.monotonic() - began))
            refused = Refused(
                503,
                f"experiment = {name!r} could not be read from its log: {error}",
                "experiment",
                retry_after=pause,
            )
            self.unavailable[name] = time.monotonic() + pause, refused
            logger().error("replay failed", experiment=name, reason=str(error))
            raise refused from None

    def _create(
        self, connection: Connection, name: str, command: Command | None
    ) -> OwnedExperiment:
        if command is None or command.spec is None:
            raise unknown_experiment(name)
        spec, journal = command.spec, ExperimentJournal(name)
        try:
            event = created(spec)
            first = journal.record(event, self.settings.clock())
        except ValueError as error:
            raise invalid(error, [arm.id for arm in spec.arms or ()]) from None
        lease = self.leases.create(connection, name, first.text.decode())
        owned = OwnedExperiment(lease, journal, first.seq)
        owned.new.append(first)
        audit.note_event(connection, first.time, command.author, name, first.seq, event)
        self._written.add(name)
        self.owned[name] = owned
        return owned

    def _shut_down(self) -> None:
        self.copies.shutdown(cancel_futures=True)
        for owned in self.owned.values():
            if owned.experiment.seq > owned.saved:
                self._snapshot(owned, here=True)
        with (
            contextlib.suppress(sa.exc.SQLAlchemyError, OSError),
            self.database.write() as connection,
        ):
            self.leases.give_up(connection)

    # The clock ------------------------------------------------------------------------------------

    def _tick(self) -> None:
        try:
            with self.database.write() as connection:
                held = {name: owned.lease for name, owned in self.owned.items()}
                for name in self.leases.renew(connection, held):
                    del self.owned[name]
                free = self.leases.free(connection, self.owned)
                calm = self.failing is not None and time.monotonic() - self.failed >= RETRY_SECONDS
                if calm:
                    try_writing(connection, self.leases.owner)
            for name in free:
                with contextlib.suppress(Refused):
                    self._acquire(name)
            self.replayed = True
            if calm:  # a service that is not ready gets no requests, so none of them could clear it
                self.failing = None
        except Exception as error:
            self._failed(error, set(self.owned))
            return
        self._after_commit()
        for owned in self.owned.values():
            owned.mark()
        now = self.settings.clock()
        last = max((owned.experiment.time for owned in self.owned.values()), default=0)
        metrics().behind.set(max(last - now, 0) / MICROSECONDS)
        for name, owned in list(self.owned.items()):
            if owned.experiment.open.first_due(now) is not None and not owned.closing:
                owned.closing = True
                self.pending.setdefault(name, deque()).append(Command(name, close_windows))
            if self.notice is not None and owned.due_for_notice(NOTICE_SECONDS):
                self.pending.setdefault(name, deque()).append(Command(name, self.notice))


def try_writing(connection: Connection, owner: str) -> None:
    """Write something that leaves nothing behind; it fails with the transaction where nothing can
    be written."""
    name = f"probe {owner}"[:40]
    connection.execute(sa.insert(secrets_table).values(name=name, value=bytes(2000)))
    connection.execute(sa.delete(secrets_table).where(secrets_table.c.name == name))


def given_up(transaction: Transaction) -> None:
    """The act of a command that already has its answer: nothing."""


def close_windows(transaction: Transaction) -> Unfinished | bool:
    while (event := transaction.experiment.closing(transaction.now)) is not None:
        transaction.record(event)
        if transaction.over:
            return UNFINISHED
    transaction.owned.closing = False
    return True
