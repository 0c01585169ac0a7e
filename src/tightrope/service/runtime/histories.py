"""The histories that are being read, kept so that only new events are read again."""

import threading
from collections import OrderedDict

from ..domain.errors import unknown_experiment
from ..domain.history import History
from ..log import store
from ..log.database import Database

MOST_HISTORIES = 20  # experiments


class Histories:
    """Histories by experiment, the last ones that were asked for. Called from threads that may wait for the database. most: that are kept;
    None: all."""

    def __init__(self, database: Database, most: int | None = MOST_HISTORIES) -> None:
        self.database, self.most = database, most
        self._kept: OrderedDict[str, tuple[threading.Lock, History]] = OrderedDict()
        self._lock = threading.Lock()

    def until(self, name: str, seq: int) -> tuple[threading.Lock, History]:
        """The history of an experiment up to an event at least; hold the lock while you read it."""
        with self._lock:
            lock, history = self._kept.setdefault(name, (threading.Lock(), History()))
            self._kept.move_to_end(name)
            while self.most is not None and len(self._kept) > self.most:
                self._kept.popitem(last=False)
        with lock:
            if history.seq < seq:
                self._read(history, name, seq)
        return lock, history

    def exactly(self, name: str, seq: int) -> History:
        history = History()
        self._read(history, name, seq)
        return history

    def _read(self, history: History, name: str, seq: int) -> None:
        with self.database.read() as connection:
            row = store.row_of(connection, name)
            if row is None:
                raise unknown_experiment(name)
            for entry in store.read(connection, row, history.seq, seq):
                history.take(entry.event, entry.seq, entry.time)
