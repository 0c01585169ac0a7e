"""The garbage collector of a process that only serves: what lives long is not looked through again and again.

Open decisions are objects, a handful each. Left to itself the collector looks through all of them whenever their number has grown by a
quarter: a third of the time of a busy service, and answers that wait for as long as a pass takes.
"""

import contextlib
import gc
import threading
from collections.abc import Iterator

from .settings import Settings

SELDOM = (50_000, 20, 100)  # new objects before a look at the young ones, and how many of these before one at the older ones
FEW = 500  # events that are not worth a pass
MANY = 1_000_000  # events after which what was told to stay is looked through once more

_one_at_a_time = threading.Lock()


@contextlib.contextmanager
def seldom() -> Iterator[None]:
    """The collector looks less often meanwhile: a replay makes many objects and hardly a ring, and takes a quarter less time."""
    usual = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def keep_what_is_there(settings: Settings, look: int = 2) -> None:
    """Tell the collector that what exists now stays, after it has looked for rings that were left.

    Imports and compilation leave a million objects. To look through all of them again would halt every answer for a good part of a
    second, some time in a busy hour. look: the oldest generation of the collector that is looked through.
    """
    if settings.own_process:
        with _one_at_a_time:
            gc.collect(look)
            gc.freeze()


class Keeper:
    """Told of every event, it lets the decisions of the last half second stay as well, before the collector looks through them twice.

    An object that stays is freed like any other when nothing refers to it; only a ring of objects is not, until the next look at all.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.new, self.since = 0, 0  # events since the last time that something was kept, and since the last look at all

    def tick(self) -> None:
        """Keep what is new; now and then look through everything."""
        if not self.settings.own_process or self.new < FEW:
            return
        self.since += self.new
        self.new = 0
        if self.since < MANY:
            keep_what_is_there(self.settings, look=1)
        else:
            self.since = 0
            gc.unfreeze()
            keep_what_is_there(self.settings)
