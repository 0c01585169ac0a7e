"""The watcher: a thread that reads the logs of the experiments that this process writes, and puts messages for webhooks into the database.

It reads what is on disk, beside the writer, which does not wait for it; a replay writes nothing into a log, so nobody is told of it.
"""

import concurrent.futures
import threading
import time
from collections.abc import Callable

import sqlalchemy as sa

from ...core.types import JsonObject
from ..domain.errors import Refused
from ..domain.history import History
from ..domain.notices import Notice, Watch, asks_for_log
from ..log import store, webhooks
from ..log.webhooks import RETRY_PERIOD, Webhook
from ..runtime import commands
from ..runtime.histories import Histories
from ..runtime.service import Service
from ..runtime.telemetry import logger
from ..runtime.writer import Command, Transaction
from .messages import body_of

PERIOD = 1.0  # seconds between two looks at the logs
LOOK_PERIOD = 10.0  # seconds between two looks at all of an experiment, which take longer
ARCHIVED_PERIOD = 60.0  # seconds between two searches for archived experiments
ANSWER_SECONDS = 30.0  # that the writer may take to say how an experiment stands
STORED_AFTER = 10_000  # events without a message after which the place in the log is written

Standing = JsonObject
Tell = Callable[[Standing, History], str]


class Place:
    """How far a log was looked at for a webhook. stored: the same in the database; None: it has none."""

    def __init__(self, stored: tuple[int, str] | None, least_budget: float) -> None:
        self.stored = stored
        self.seq, text = (0, "") if stored is None else stored
        self.watch = Watch.read(text, least_budget)

    @property
    def now(self) -> tuple[int, str]:
        """As the database has it."""
        return self.seq, self.watch.written()

    @property
    def worth_storing(self) -> bool:
        """Whether it is too far from the place in the database, or says something else."""
        before = (0, "") if self.stored is None else self.stored
        return self.seq - before[0] >= STORED_AFTER or (self.now[1] != (before[1] or Watch(0.0).written()))


class Watcher(threading.Thread):
    """See the module. tell: the sentence of the board's first card."""

    def __init__(self, service: Service, tell: Tell, period: float = PERIOD, look_period: float = LOOK_PERIOD) -> None:
        super().__init__(name="webhooks", daemon=True)
        self.service, self.tell, self.period, self.look_period = service, tell, period, look_period
        self.places: dict[tuple[int, int], Place] = {}  # by webhook and row of the experiment
        self.looked: dict[str, tuple[float, int]] = {}  # when an experiment was looked at as a whole, and its last event then
        self.histories = Histories(service.database, most=None)  # of its own: looking at many would push out those of the board
        self.searched = -ARCHIVED_PERIOD  # when archived experiments were looked for
        self.ending = threading.Event()

    def run(self) -> None:
        """Look until `stop`."""
        while not self.ending.wait(self.period):
            try:
                self.look()
            except Exception as error:
                outside = isinstance(error, (sa.exc.SQLAlchemyError, OSError))
                logger().warning("webhooks not watched", error=type(error).__name__, exc_info=not outside)
                self.places.clear()

    def stop(self) -> None:
        """End; what was not looked at is looked at after the next start."""
        self.ending.set()
        self.join(ANSWER_SECONDS)

    def look(self) -> None:
        """Look at every log that this process writes, and at all of an experiment where that was long ago."""
        with self.service.database.read() as connection:
            hooks = webhooks.all_webhooks(connection)
            heads = webhooks.heads(connection) if hooks else {}
            archived = webhooks.unread_archived(connection, hooks) if hooks and self._time_for_archived() else []
        for name in archived:
            self._ask_writer(name, commands.describe)  # so that the writer reads it
        owned = dict(self.service.writer.owned)
        for name in self.looked.keys() - owned.keys():  # another process writes it now
            self.histories.forget(name)
            del self.looked[name]
        ids = {hook.id for hook in hooks}
        self.places = {key: place for key, place in self.places.items() if key[0] in ids}
        for name, one in owned.items():
            covering = [hook for hook in hooks if hook.covers(name)]
            if covering and not self.ending.is_set() and self._has_news(name, one.row, heads.get(one.row, 0), covering):
                self._look_at(name, one.row, one.experiment.rollout.least_budget, covering)

    def _has_news(self, name: str, row: int, head: int, hooks: list[Webhook]) -> bool:
        """Whether there is something in the log that was not looked at, or that was not looked at as a whole."""
        places = [self.places.get((hook.id, row)) for hook in hooks]
        return any(place is None or place.seq < head for place in places) or self._time_for_whole(name, head, hooks)

    def _time_for_whole(self, name: str, head: int, hooks: list[Webhook]) -> bool:
        """Whether all of an experiment is to be looked at: somebody wants what follows from that, and it was long ago."""
        since, seq = self.looked.get(name, (-self.look_period, 0))
        has_readers = any(kind in hook.events for hook in hooks for kind in ("winner.known", "promise.at_risk"))
        return has_readers and head > seq and time.monotonic() - since >= self.look_period

    def _time_for_archived(self) -> bool:
        """Whether it is time to look for experiments that ended just before their process did."""
        if time.monotonic() - self.searched < ARCHIVED_PERIOD:
            return False
        self.searched = time.monotonic()
        return True

    def _look_at(self, name: str, row: int, least_budget: float, hooks: list[Webhook]) -> None:
        with self.service.database.read() as connection:
            places = {}
            for hook in hooks:
                place = self.places.get((hook.id, row))
                if place is None:
                    place = Place(webhooks.watch_of(connection, hook.id, row), least_budget)
                    self.places[hook.id, row] = place
                places[hook.id] = place
            notices: dict[int, list[Notice]] = {hook.id: [] for hook in hooks}
            for entry in store.read(connection, row, min(place.seq for place in places.values())):
                event = entry.event if asks_for_log(entry.kind, entry.text, least_budget) else None
                for id, place in places.items():
                    if entry.seq > place.seq:
                        notice = None if event is None else place.watch.take(event, entry.seq, entry.time)
                        notices[id] += [] if notice is None else [notice]
                        place.seq = entry.seq
        head = max(place.seq for place in places.values())
        sentence = None
        if self._time_for_whole(name, head, hooks) or any(notices.values()):
            whole = self._whole(name)
            if whole is not None:  # else the sentence is left out: that something happened is the greater part
                standing, history, lock = whole
                with lock:
                    for id, place in places.items():
                        notices[id] += place.watch.look(standing, history)
                    sentence = self.tell(standing, history) if any(notices.values()) else None
                    self.looked[name] = time.monotonic(), history.seq
        for hook in hooks:
            self._store(name, row, hook, places[hook.id], notices[hook.id], sentence)

    def _whole(self, name: str) -> "tuple[Standing, History, threading.Lock] | None":
        """How an experiment stands, and its history until then; None where nobody can say it now."""
        standing = self._ask_writer(name, commands.describe_standing)
        if standing is None:
            return None
        lock, history = self.histories.until(name, standing["seq"])
        return standing, history, lock

    def _ask_writer(self, name: str, act: Callable[[Transaction], JsonObject]) -> JsonObject | None:
        """Ask the writer; None where it cannot answer now."""
        ticket: concurrent.futures.Future[JsonObject] = concurrent.futures.Future()
        if self.service.closing or not self.service.writer.is_alive():
            return None
        self.service.writer.ask(Command(name, act, (), ticket))
        try:
            return ticket.result(ANSWER_SECONDS)
        except (Refused, TimeoutError):
            return None

    def _store(self, name: str, row: int, hook: Webhook, place: Place, notices: list[Notice], sentence: str | None) -> None:
        """Write the messages of a webhook, and how far its log was looked at, together."""
        if not notices and not place.worth_storing:
            return
        now = self.service.settings.clock()
        after = place.now
        with self.service.database.write() as connection:
            moved = webhooks.move_watch(connection, hook.id, row, place.stored, after)
            for notice in notices if moved else ():
                if notice.kind in hook.events:
                    body = body_of(notice, name, sentence)
                    webhooks.put(connection, hook.id, webhooks.new_message_id(), name, notice.kind, body, now, now + RETRY_PERIOD)
        if moved:
            place.stored = after
        else:  # another process was there first, or the webhook is gone: read again
            del self.places[hook.id, row]
