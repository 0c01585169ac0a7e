"""The writer: one thread that decides and appends. What it answers is on disk.

Commands wait in a queue. The thread takes all that wait, applies them one after the other to the live experiments and appends their
events in one transaction; only then are they answered, and meanwhile the next ones gather. If the transaction fails, nobody is told
that anything happened, and the experiments are read from the database again before they go on: memory never runs ahead of the log.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from .collector import Keeper, keep_what_is_there
from .errors import Refused, invalid, unknown_experiment
from .experiment import Experiment
from .leases import Leases
from .log import Event
from .recovery import recover, write_snapshot
from .settings import Settings
from .spec import ExperimentSpec
from .store import events as log
from .store.database import Database
from .telemetry import logger, metrics

OPEN_WEIGHT = 4  # events for each decision that a snapshot writes: with many of them it is worth its time less often

Answer = Any
Done = Callable[[Sequence[tuple[Any, Answer]]], None]  # (ticket, answer or exception) of every command of a group
Act = Callable[["Desk"], Answer]


class Command:
    """Something to do with an experiment. act: does it. ids: decisions that it names, which may be looked up together. spec: creates
    the experiment where there is none."""

    __slots__ = ("act", "experiment", "ids", "spec", "ticket")

    def __init__(self, experiment: str, act: Act, ids: Iterable[str] = (), ticket: Any = None, spec: ExperimentSpec | None = None) -> None:
        self.experiment, self.act, self.ids, self.ticket, self.spec = experiment, act, ids, ticket, spec


class Held:
    """A live experiment that this process holds: its row in the database, its fence, and events that are not on disk yet."""

    def __init__(self, row: int, fence: int, live: Experiment, saved: int) -> None:
        self.row, self.fence, self.live = row, fence, live
        self.new: list[Event] = []
        self.saved = saved  # of the last snapshot; what was replayed behind it counts towards the next one

    def due(self, every: int) -> bool:
        """Whether a snapshot is worth its time. It writes every open decision, and what the rollout keeps behind the oldest of them: that
        may be as many as there ever were, so for these alone the log at most doubles between two."""
        kept = min(OPEN_WEIGHT * len(self.live.rollout.gate.waiting), self.saved)
        return self.live.seq - self.saved >= max(every, OPEN_WEIGHT * len(self.live.open), kept)


class Desk:
    """What an act sees: the experiment, the time, and what the log knows of a decision."""

    def __init__(self, writer: "Writer", held: Held, now: int, connection: Callable[[], Connection]) -> None:
        self.writer, self.held, self.now, self.connection = writer, held, now, connection
        self.live = held.live
        self.looked_up: dict[str, list[Event]] = {}

    def record(self, kind: str, body: dict[str, Any], key: str | None = None) -> Event:
        """Make an event happen."""
        return self.keep(self.live.record(kind, self.now, body, key))

    def keep(self, event: Event) -> Event:
        """Bring an event that happened to disk with this group."""
        self.held.new.append(event)
        if event.key is not None and event.key in self.looked_up:
            self.looked_up[event.key].append(event)
        return event

    def flush(self) -> None:
        """Append what happened so far, in the transaction of this group."""
        self.writer.append(self.connection(), self.held)

    def look_up(self, ids: Iterable[str]) -> None:
        """Read what the log knows of decisions, all at once."""
        wanted = {id for id in ids if id not in self.looked_up}
        if wanted:
            self.looked_up |= {id: [] for id in wanted}
            for event in [*log.about(self.connection(), self.held.row, wanted), *(e for e in self.held.new if e.key in wanted)]:
                self.looked_up[str(event.key)].append(event)

    def may_know(self, id: str) -> bool:
        """Whether the log may know a decision: it was not looked up, or it is there."""
        return id in self.live.open or id not in self.looked_up or bool(self.looked_up[id])

    def history(self, id: str) -> list[Event]:
        """All events about a decision."""
        self.look_up((id,))
        return self.looked_up[id]


class Writer(threading.Thread):
    """See the module. done: is given a group's answers in the writer's thread."""

    def __init__(self, database: Database, settings: Settings, leases: Leases, done: Done) -> None:
        super().__init__(name="writer", daemon=True)
        self.database, self.settings, self.leases, self.done = database, settings, leases, done
        self.queue: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self.held: dict[str, Held] = {}
        self.keeper = Keeper(settings)
        self.failing: str | None = None  # why the last transaction failed
        self.broken: dict[str, str] = {}  # experiments whose log could not be replayed, and why
        self._fresh: set[str] = set()  # created, or appended to, in the transaction that is under way
        self._ending = False
        self._ticked = 0.0

    def ask(self, command: Command) -> None:
        """Put a command into the queue."""
        self.queue.put(command)

    def stop(self) -> None:
        """Work off what waits, write snapshots, give up the leases and end."""
        self.queue.put(None)
        self.join()

    # The loop -------------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve groups until `stop`."""
        while not self._ending:
            group = self._next_group()
            if group:
                self._serve(group)
            if time.monotonic() - self._ticked >= self.settings.tick:
                self._tick()
                self.keeper.tick()
                self._ticked = time.monotonic()
        self._leave()

    def _next_group(self) -> list[Command]:
        """All commands that wait, at least one unless the clock's turn comes first."""
        found: list[Command] = []
        with contextlib.suppress(queue.Empty):
            command = self.queue.get(timeout=max(self.settings.tick - (time.monotonic() - self._ticked), 0.001))
            while True:
                if command is None:
                    self._ending = True
                else:
                    found.append(command)
                if len(found) >= self.settings.group:
                    break
                command = self.queue.get_nowait()
        return found

    def _serve(self, group: list[Command]) -> None:
        """Do a group's commands, bring their events to disk, answer."""
        answers: list[tuple[Any, Answer]] = []
        try:
            by_name: dict[str, list[Command]] = {}
            for command in group:
                by_name.setdefault(command.experiment, []).append(command)
            for name in [name for name in by_name if name not in self.held]:
                try:
                    self._take(name)
                except Refused as error:
                    answers += [(command.ticket, error) for command in by_name.pop(name)]
            with self.database.write() as connection:
                for name, commands in by_name.items():
                    answers += self._serve_one(connection, name, commands)
                self._append(connection)
            self.failing = None
            metrics().group.observe(len(group))
        except Exception as error:
            refused = self._failed(error, {command.experiment for command in group})
            answers = [(command.ticket, refused) for command in group]
        self._after()
        self.done(answers)

    def _serve_one(self, connection: Connection, name: str, commands: list[Command]) -> list[tuple[Any, Answer]]:
        held = self.held.get(name)
        if held is None:
            try:
                held = self._create(connection, name, next((command.spec for command in commands if command.spec is not None), None))
            except Refused as error:
                return [(command.ticket, error) for command in commands]
        desk = Desk(self, held, self.settings.clock(), lambda: connection)
        desk.look_up(id for command in commands for id in command.ids if id not in held.live.open)
        answers: list[tuple[Any, Answer]] = []
        for command in commands:
            try:
                answers.append((command.ticket, command.act(desk)))
            except Refused as error:
                answers.append((command.ticket, error))
        return answers

    def _append(self, connection: Connection) -> None:
        for held in self.held.values():
            self.append(connection, held)

    def append(self, connection: Connection, held: Held) -> None:
        """Append an experiment's new events. Until the commit they can still be lost with the transaction."""
        if held.new:
            log.append(connection, held.row, held.fence, held.new)
            metrics().events.inc(len(held.new))
            self.keeper.new += len(held.new)
            held.new = []
            self._fresh.add(held.live.name)

    def _failed(self, error: Exception, touched: set[str]) -> Refused:
        """Nothing of the group happened: forget what memory thinks, and say so."""
        outside = isinstance(error, (sa.exc.SQLAlchemyError, OSError, log.Overtaken))
        self.failing = type(error).__name__
        logger().error("group failed", error=self.failing, reason=str(getattr(error, "orig", None) or type(error)), exc_info=not outside)
        metrics().failures.inc()
        overtaken = isinstance(error, log.Overtaken)
        self.held = {name: held for name, held in self.held.items() if name not in touched | self._fresh and not held.new and not overtaken}
        self._fresh.clear()
        if not outside:
            return Refused(500, "The service met an error of its own, so nothing was done; its log says more.")
        return Refused(503, "The log could not be written, so nothing was done; send the same request again.", retry_after=1)

    def _after(self) -> None:
        """What was appended is on disk: count it, and shorten the next start where it is time."""
        self._fresh.clear()
        for held in list(self.held.values()):
            if held.due(self.settings.snapshot_every):
                self._snapshot(held)

    def _snapshot(self, held: Held) -> None:
        try:
            with self.database.write() as connection:
                write_snapshot(connection, held.row, held.live)
        except (sa.exc.DBAPIError, OSError) as error:  # only the next start takes longer
            logger().warning("snapshot failed", experiment=held.live.name, error=type(error).__name__)
        held.saved = held.live.seq

    # Experiments ----------------------------------------------------------------------------------------------------------

    def _take(self, name: str) -> None:
        """Hold an experiment that the database has, if it has it: from its last snapshot and the events behind it.

        The lease is on disk before the replay begins and is renewed while it lasts: a replay may take longer than a lease.
        """
        if name in self.broken:
            raise self._unreadable(name)
        with self.database.write() as connection:
            found = self.leases.take(connection, name)
        if found is None:
            return
        row, fence = found
        try:
            with self.leases.kept(), self.database.read() as connection:
                live, saved = recover(connection, row, name)
        except ValueError as error:
            self.broken[name] = str(error)
            logger().error("replay failed", experiment=name, reason=str(error))
            raise self._unreadable(name) from None
        self.held[name] = Held(row, fence, live, saved)

    def _unreadable(self, name: str) -> Refused:
        return Refused(503, f"experiment = {name!r} could not be read from its log: {self.broken[name]}", "experiment", retry_after=60)

    def _create(self, connection: Connection, name: str, spec: ExperimentSpec | None) -> Held:
        """An experiment that the database does not have, by its spec."""
        if spec is None:
            raise unknown_experiment(name)
        live = Experiment(name)
        try:
            created = live.record("created", self.settings.clock(), {"spec": spec.plain()})
        except ValueError as error:
            raise invalid(error) from None
        held = Held(*self.leases.create(connection, name, created.text.decode()), live, live.seq)
        held.new.append(created)
        self._fresh.add(name)
        self.held[name] = held
        return held

    def _leave(self) -> None:
        """The last thing before the process ends: snapshots, and leases for others to take."""
        for held in self.held.values():
            if held.live.seq > held.saved:
                self._snapshot(held)
        with contextlib.suppress(sa.exc.SQLAlchemyError, OSError), self.database.write() as connection:
            self.leases.give_up(connection)

    # The clock ------------------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Renew leases, take over what nobody holds, close windows."""
        try:
            with self.database.write() as connection:
                for name in self.leases.renew(connection, self.held):
                    del self.held[name]
                free = self.leases.free(connection, self.held)
            before = len(self.held)
            for name in free:
                with contextlib.suppress(Refused):
                    self._take(name)
            self.failing = None  # else who sends nothing to a service that is not ready would wait for ever
        except Exception as error:
            self._failed(error, set(self.held))
            return
        self._after()
        if len(self.held) > before:
            keep_what_is_there(self.settings)
        now = self.settings.clock()
        for name, held in list(self.held.items()):
            if held.live.due(now) is not None:
                self._serve([Command(name, close_windows)])


def close_windows(desk: Desk) -> bool:
    """Close the windows that are due, not all at once where there are many: others wait too."""
    for _ in range(desk.writer.settings.group):
        event = desk.live.close_due(desk.now)
        if event is None:
            break
        desk.keep(event)
    return True
