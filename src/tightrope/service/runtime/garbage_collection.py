"""The garbage collector of a process that only serves: what lives long is not looked through again and again.

Open decisions are objects, a handful each. Left to itself the collector looks through all of them whenever their number has grown by a
quarter: a third of the time of a busy service, and answers that wait for as long as a pass takes.
"""

import contextlib
import gc
import threading
from collections.abc import Iterator

from .settings import Settings

RARE = (50_000, 20, 100)  # new objects before a look at the young ones, and how many of these before one at the older ones
FEW_EVENTS = 500  # events that are not worth a pass
MANY = 1_000_000  # events after which what was frozen is looked through once more

_one_at_a_time = threading.Lock()


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """The collector looks less often meanwhile: a replay makes many objects and hardly a ring, and takes a quarter less time."""
    usual = gc.get_threshold()
    gc.set_threshold(*RARE)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def freeze(settings: Settings, generation: int = 2) -> None:
    """Tell the collector that what exists now stays, after it has looked for rings that were left.

    Imports and compilation leave a million objects. To look through all of them again would halt every answer for a good part of a
    second, some time in a busy hour. generation: the oldest one that is looked through.
    """
    if settings.own_process:
        with _one_at_a_time:
            gc.collect(generation)
            gc.freeze()


class RegularFreeze:
    """Told of every event, it freezes the decisions of the last half second as well, before the collector looks through them twice.

    A frozen object is freed like any other when nothing refers to it; only a ring of objects is not, until the next look at all.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.events, self.since_full = 0, 0  # since the last freeze, and since the last look at all

    def tick(self) -> None:
        """Freeze what is new; now and then look through everything."""
        if not self.settings.own_process or self.events < FEW_EVENTS:
            return
        self.since_full += self.events
        self.events = 0
        if self.since_full < MANY:
            freeze(self.settings, generation=1)
        else:
            self.since_full = 0
            gc.unfreeze()
            freeze(self.settings)
