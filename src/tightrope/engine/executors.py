"""Where chunks are computed: threads of this process, or other processes. The numbers are the same.

An executor is made for one recipe and then takes chunk numbers; what comes back is a chunk's rows, or None where the worker left
them in the store.
"""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .. import checks
from .plan import Chunk, Experiment, Rows
from .runner import Slices, Stopped
from .store import Store

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized
    from multiprocessing.synchronize import Event

POLL_SECONDS = 0.1  # how often a driver looks up from waiting

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Recipe:
    """All that a worker needs to compute any chunk of an experiment."""

    experiment: Experiment
    chunks: list[Chunk]
    store: Store | None

    def compute(self, number: int, slices: Slices) -> Rows:
        """Play a chunk's replications and keep the rows in the store if there is one."""
        chunk = self.chunks[number]
        each = [self.experiment.replicate(chunk.name, r, slices) for r in range(chunk.first, chunk.last)]
        rows = {key: np.stack([one[key] for one in each]) for key in each[0]}
        if self.store is not None:
            self.store.write(chunk, rows, [self.experiment.label(chunk.name, r) for r in range(chunk.first, chunk.last)])
        return rows

    def slices(self, stopping: Callable[[], bool], advance: Advance) -> dict[str, Slices]:
        """One set of slices a name: policies differ in speed."""
        return {name: Slices(stopping, advance) for name in self.experiment.names()}


class Executor(Protocol):
    """Computes chunks somewhere."""

    def submit(self, number: int) -> None:
        """Ask for a chunk."""

    def as_completed(self) -> Iterator[tuple[int, Rows | None]]:
        """Chunks as they finish, with their rows, or None for rows left in the store. Errors of workers come out here."""
        ...

    def cancel(self) -> None:
        """Stop what runs within about a tenth of a second and forget the rest; what had finished can still be collected."""


class _Pool:
    """What threads and processes share: futures by chunk number."""

    def __init__(self) -> None:
        self.futures: dict[Future[Rows | None], int] = {}

    def look_up(self) -> None:
        """Called while waiting."""

    def forget_cancelled(self) -> None:
        """Chunks that were never begun are not waited for."""
        self.futures = {future: number for future, number in self.futures.items() if not future.cancelled()}

    def as_completed(self) -> Iterator[tuple[int, Rows | None]]:
        """Chunks as they finish."""
        while self.futures:
            done, _ = wait(self.futures, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
            self.look_up()
            for future in done:
                number = self.futures.pop(future)
                with contextlib.suppress(Stopped, CancelledError):
                    yield number, future.result()


class Threads(_Pool):
    """Threads of this process; compiled loops release the interpreter's lock."""

    def __init__(self, recipe: Recipe, workers: int, advance: Advance) -> None:
        super().__init__()
        self.recipe, self.stop = recipe, threading.Event()
        self.slices = recipe.slices(self.stop.is_set, advance)
        self.pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="tightrope")

    def submit(self, number: int) -> None:
        """Ask for a chunk."""
        slices = self.slices[self.recipe.chunks[number].name]
        self.futures[self.pool.submit(self.recipe.compute, number, slices)] = number

    def cancel(self) -> None:
        """Stop and wait until nothing runs."""
        self.stop.set()
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.forget_cancelled()


class Processes(_Pool):
    """New processes, for policies or problems whose rounds are Python. The recipe is sent to each once, chunks by number."""

    def __init__(self, recipe: Recipe, workers: int, advance: Advance) -> None:
        super().__init__()
        context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        self.stop, self.played, self.seen, self.advance = context.Event(), context.Value("q", 0), 0, advance
        self.pool = ProcessPoolExecutor(
            max_workers=workers, mp_context=context, initializer=_adopt, initargs=(_packed(recipe), self.stop, self.played)
        )

    def submit(self, number: int) -> None:
        """Ask for a chunk."""
        with _interrupts_ignored():  # the first call starts the workers, which inherit this: Ctrl-C is the driver's alone
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


def _packed(recipe: Recipe) -> bytes:
    try:
        return pickle.dumps(recipe)
    except Exception as error:
        raise ValueError(
            f"engine = 'processes' sends the experiment to other processes, but a part of it cannot be sent ({error}); "
            "define its functions and classes in a module, or use engine = 'threads'."
        ) from None


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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


EXECUTORS: dict[str, Callable[[Recipe, int, Advance], Executor]] = {"threads": Threads, "processes": Processes}


def executor(engine: str, recipe: Recipe, workers: int | None, advance: Advance) -> Executor:
    """The executor of that name. workers: default all cores."""
    checks.choice("engine", engine, tuple(EXECUTORS))
    count = checks.integer("workers", workers, least=1) if workers is not None else os.cpu_count() or 1
    return EXECUTORS[engine](recipe, count, advance)
