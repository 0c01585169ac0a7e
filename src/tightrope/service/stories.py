"""The chronicles that are being read, kept so that only new events are read again."""

import threading
from collections import OrderedDict

import sqlalchemy as sa

from .chronicle import Chronicle
from .errors import unknown_experiment
from .store import events as log
from .store.database import Database
from .store.tables import experiments

KEPT = 20  # experiments


class Stories:
    """Chronicles by experiment, the last ones that were asked for. Called from threads that may wait for the database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._kept: OrderedDict[str, tuple[threading.Lock, Chronicle]] = OrderedDict()
        self._lock = threading.Lock()

    def until(self, name: str, seq: int) -> tuple[threading.Lock, Chronicle]:
        """The chronicle of an experiment up to an event at least; hold the lock while you read it."""
        with self._lock:
            lock, story = self._kept.setdefault(name, (threading.Lock(), Chronicle()))
            self._kept.move_to_end(name)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        with lock:
            if story.seq < seq:
                self._read(story, name, seq)
        return lock, story

    def fresh(self, name: str, seq: int) -> Chronicle:
        """A chronicle that ends with an event exactly."""
        story = Chronicle()
        self._read(story, name, seq)
        return story

    def _read(self, story: Chronicle, name: str, seq: int) -> None:
        with self.database.read() as connection:
            row = connection.execute(sa.select(experiments.c.id).where(experiments.c.name == name)).scalar_one_or_none()
            if row is None:
                raise unknown_experiment(name)
            story.read(log.read(connection, row, story.seq, seq))
