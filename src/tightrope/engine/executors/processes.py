"""New processes of this machine, for policies or problems whose rounds are Python."""

import multiprocessing
import pickle
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from ..plan import Rows
from .pool import Pool
from .recipe import Advance, Recipe
from .sending import interrupts_ignored, pickled

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized
    from multiprocessing.synchronize import Event


class Processes(Pool):
    """The recipe is sent to each process once, chunks by number."""

    def __init__(self, recipe: Recipe, workers: int, advance: Advance) -> None:
        super().__init__()
        context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        self.stop, self.played, self.seen, self.advance = context.Event(), context.Value("q", 0), 0, advance
        self.pool = ProcessPoolExecutor(
            max_workers=workers, mp_context=context, initializer=_adopt, initargs=(pickled("processes", recipe), self.stop, self.played)
        )

    def submit(self, number: int) -> None:
        """Ask for a chunk."""
        with interrupts_ignored():  # the first call starts the workers, which inherit this: Ctrl-C is the driver's alone
            self.futures[self.pool.submit(_compute, number)] = number

    def look_up(self) -> None:
        """Pass on the workers' progress."""
        played = self.played.value
        self.advance(played - self.seen)
        self.seen = played

    def as_completed(self) -> Iterator[tuple[int, Rows | None]]:
        """Chunks as they finish."""
        try:
            yield from super().as_completed()
        except BrokenProcessPool:
            raise ChildProcessError(
                "engine = 'processes': a worker process ended before its chunk was done (memory, or a script without "
                "`if __name__ == '__main__':`). Finished chunks are kept in out, if it was given; engine = 'threads' needs no workers."
            ) from None

    def cancel(self) -> None:
        """Stop and wait until nothing runs."""
        self.stop.set()
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.forget_cancelled()


_worker: dict[str, Any] = {}  # of a worker process: what the driver sent, and what was made of it


def _adopt(packed: bytes, stop: "Event", played: "Synchronized[int]") -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker.update(packed=packed, stop=stop, played=played)


def _compute(number: int) -> Rows | None:
    if "recipe" not in _worker:  # here and not in `_adopt`, so that an error reaches the driver
        played = _worker["played"]

        def advance(rounds: int) -> None:
            with played.get_lock():
                played.value += rounds

        _worker["recipe"] = pickle.loads(_worker.pop("packed"))
        _worker["slices"] = _worker["recipe"].slices(_worker["stop"].is_set, advance)
    recipe: Recipe = _worker["recipe"]
    rows = recipe.compute(number, _worker["slices"][recipe.chunks[number].name])
    return None if recipe.store is not None else rows
