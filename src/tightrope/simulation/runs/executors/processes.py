"""New processes of this machine, for policies or problems whose rounds are Python."""

import contextlib
import multiprocessing
import pathlib
import pickle
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..plan import Rows
from .pool import Pool
from .recipe import Advance, Recipe
from .sending import end_with_driver, interrupts_ignored, one_thread_of_algebra, pickled

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized
    from multiprocessing.synchronize import Event


@dataclass(frozen=True)
class Crew:
    """Processes that wait for chunks, which start when they are first needed. folder: where they find recipes."""

    pool: ProcessPoolExecutor
    stop: "Event"
    played: "Synchronized[int]"
    folder: pathlib.Path


_held: list[Crew] = []  # at most one


@contextlib.contextmanager
def crew(workers: int) -> Iterator[Crew]:
    """So many processes; they end with this context."""
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    stop, played = context.Event(), context.Value("q", 0)
    with (
        tempfile.TemporaryDirectory(prefix="tightrope-") as folder,
        ProcessPoolExecutor(max_workers=workers, mp_context=context, initializer=_adopt, initargs=(stop, played)) as pool,
    ):
        yield Crew(pool, stop, played, pathlib.Path(folder))


@contextlib.contextmanager
def held(workers: int) -> Iterator[None]:
    """All runs in this context share processes, which keep what they have imported and compiled; inside another one, its processes."""
    if _held:
        yield
        return
    with crew(workers) as found:
        _held.append(found)
        try:
            yield
        finally:
            _held.remove(found)


class Processes(Pool):
    """The recipe is read by each process once, chunks are sent by number."""

    def __init__(self, recipe: Recipe, workers: int, advance: Advance) -> None:
        super().__init__()
        packed = pickled("processes", recipe)
        self.leaving = contextlib.ExitStack()
        self.crew = _held[0] if _held else self.leaving.enter_context(crew(workers))
        self.seen, self.advance = self.crew.played.value, advance
        with tempfile.NamedTemporaryFile(dir=self.crew.folder, delete=False) as file:
            file.write(packed)
        self.path = pathlib.Path(file.name)
        self.leaving.callback(self.path.unlink, missing_ok=True)

    def submit(self, number: int) -> None:
        """Ask for a chunk."""
        # A call may start a worker, which inherits this: Ctrl-C is the driver's alone.
        with interrupts_ignored(), one_thread_of_algebra(), _told():
            self.futures[self.crew.pool.submit(_compute, str(self.path), number)] = number

    def look_up(self) -> None:
        """Pass on the workers' progress."""
        played = self.crew.played.value
        self.advance(played - self.seen)
        self.seen = played

    def as_completed(self) -> Iterator[tuple[int, Rows | None]]:
        """Chunks as they finish."""
        with _told():
            yield from super().as_completed()

    def cancel(self) -> None:
        """Stop and wait until nothing runs."""
        if self.futures:  # others that share the processes are not held up by a run that has come to its end
            self.crew.stop.set()
        for future in self.futures:
            future.cancel()
        wait(self.futures)
        self.forget_cancelled()
        self.crew.stop.clear()
        self.leaving.close()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Say in words that a worker is gone."""
    try:
        yield
    except BrokenProcessPool:
        raise ChildProcessError(
            "engine = 'processes': a worker process ended before its chunk was done (memory, or a script without "
            "`if __name__ == '__main__':`). Finished chunks are kept in out, if it was given; engine = 'threads' needs no workers."
        ) from None


_worker: dict[str, Any] = {}  # of a worker process: what the driver sent, and what was made of it


def _adopt(stop: "Event", played: "Synchronized[int]") -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_driver()
    _worker.update(stop=stop, played=played, path=None)


def _compute(path: str, number: int) -> Rows | None:
    if _worker["path"] != path:
        _worker["recipe"] = pickle.loads(pathlib.Path(path).read_bytes())
        _worker["slices"] = _worker["recipe"].slices(_worker["stop"].is_set, _advance)
        _worker["path"] = path
    recipe: Recipe = _worker["recipe"]
    rows = recipe.compute(number, _worker["slices"][recipe.chunks[number].name])
    return None if recipe.store is not None else rows


def _advance(rounds: int) -> None:
    with _worker["played"].get_lock():
        _worker["played"].value += rounds
