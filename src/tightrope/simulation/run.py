"""Runs of experiments: chunks are planned, dispatched to workers and collected; progress and
signals meanwhile.

The driver dispatches chunk numbers only when the first result is asked for, so that a run that is
found whole in its folder starts no worker."""

import contextlib
import pathlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Protocol

import numpy as np

from ..core import checks
from ..results import remove_header
from .executors import (
    IN_THREADS,
    LANES,
    Advance,
    Answer,
    Engine,
    PackedRecipe,
    RunRecipe,
    WorkerPool,
    compute,
    gpu,
    number_of_workers,
    open_workers,
)
from .lanes import check_lanes
from .loops import Progress, Slices, Stopped
from .store import Chunk, Replicable, Rows, open_store, plan_chunks

# The progress of a run while it plays.


class Meters(Protocol):
    """Makes what a run calls with its progress, under a label. known: whether all of the rounds
    will be played, or at most so many."""

    def __call__(self, label: str, known: bool = True) -> Progress | None:
        """The function to call with (done, total); None: none."""


def silent(label: str, known: bool = True) -> None:
    """Show no progress."""


@contextmanager
def showing(
    progress: Progress | bool | None, label: str, *, unit: str = "rounds", known: bool = True
) -> Iterator[Progress | None]:
    """`progress` as a run calls it; True is a bar under the label, which tells at the end what was
    done. unit, known: as for `Meters`."""
    if progress is None or (isinstance(progress, (bool, np.bool_)) and not progress):
        yield None
    elif isinstance(progress, (bool, np.bool_)):
        from .bars import Bars  # Rich takes a while to load

        with Bars() as bars:
            bar = bars.run(label, known, unit)
            try:
                yield lambda done, most: bars.advance_to(bar, done, most)
            finally:
                bars.stop()
                bars.end(bar)
    elif callable(progress):
        yield progress
    else:
        raise ValueError(
            f"progress = {checks.show(progress)} is not True, False or a function of ({unit} "
            f"done, {unit} in all)."
        )


# Ctrl-C and SIGTERM while a run is going: noted at once, and acted on where nothing is half done.


INTERRUPT_SECONDS = 10.0  # after which a signal is acted on wherever the run is


class Interrupts:
    """In this context the program's own handlers of signals are called by `check`, or at the end.
    Outside of the main thread Python tells nobody of signals, so nothing changes there; signals
    that the program leaves to the system stay with it.
    """

    def __init__(self) -> None:
        self.handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
        self.noted: int | None = None
        self.since = 0.0
        self.acted = False

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                if callable(handler):
                    self.handlers[number] = handler
                    signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.noted is not None and time.monotonic() > self.since + INTERRUPT_SECONDS:
            self.handlers[number](number, frame)
        if self.noted is None:
            self.noted, self.since = number, time.monotonic()

    def check(self) -> None:
        """Act on a signal that has come: its handler raises KeyboardInterrupt, unless the program
        has another one."""
        if self.noted is not None:
            number, self.noted, self.acted = self.noted, None, True
            self.handlers[number](number, None)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        if (
            kind is None and not self.acted
            # one that came too late to be acted on; a second one while a run ends asks for nothing
            # more
        ):
            self.check()


POLL_SECONDS = 0.1  # how often a driver looks up from waiting
WAITING_SECONDS = 1.0  # without a round after which progress is told of all the same
LEAVE_SECONDS = 2.0  # how long a driver that was interrupted waits for threads


@dataclass
class Outcome:
    """Rows of finished chunks by name and first replication. complete: False after an
    interruption."""

    rows: dict[str, dict[int, Rows]]
    complete: bool = True

    def take(self, more: "Outcome") -> None:
        for name, chunks in more.rows.items():
            self.rows.setdefault(name, {}).update(chunks)
        self.complete = self.complete and more.complete

    def replications(self, name: str) -> Iterator[Rows]:
        for _, rows in sorted(self.rows[name].items()):
            for i in range(len(next(iter(rows.values())))):
                yield {key: array[i] for key, array in rows.items()}

    def tables(self) -> dict[str, Rows]:
        # of the replications that every name has finished; empty if there are none
        firsts = sorted(set.intersection(*map(set, self.rows.values())))
        if not firsts:
            return {}
        return {
            name: {
                key: np.concatenate([chunks[first][key] for first in firsts])
                for key in chunks[firsts[0]]
            }
            for name, chunks in self.rows.items()
        }


def run_experiment(
    experiment: Replicable,
    replications: int,
    *,
    engine: Engine = "threads",
    address: str | None = None,
    workers: int | None = None,
    out: str | pathlib.Path | None = None,
    progress: Progress | None = None,
    begin: int = 0,
) -> Outcome:
    """Play replications begin .. replications - 1 that are not in the run folder `out` yet. On
    Ctrl-C what has finished is returned."""
    target = None
    if engine == "cuda":
        target = gpu()
        check_lanes(experiment)
    plan = plan_chunks(
        experiment,
        replications,
        digested=out is not None,
        begin=begin,
        least=1 if target is None else LANES,
    )
    store = open_store(pathlib.Path(out), plan) if out is not None else None
    meter = _Meter(progress, len(experiment.names()) * (replications - begin) * experiment.rounds)
    outcome, left = Outcome({name: {} for name in experiment.names()}), set(range(len(plan.chunks)))

    def collect(number: int, rows: Rows) -> None:
        chunk = plan.chunks[number]
        outcome.rows[chunk.name][chunk.first] = rows
        left.discard(number)

    chunks = Chunks(
        engine, RunRecipe(experiment, plan.chunks, store, target), workers, address, meter.advance
    )
    with Interrupts() as interrupts:
        try:
            for number in chunk_order(plan.chunks):
                interrupts.check()
                stored = store.read(plan.chunks[number]) if store is not None else None
                if stored is None:
                    if store is not None:
                        remove_header(
                            store.out
                        )  # of an earlier result, which this run extends; its chunks stay
                    chunks.waiting.append(number)
                else:
                    meter.advance(chunks.recipe.rounds(number))
                    collect(number, stored)

            def look_up() -> None:
                interrupts.check()
                meter.advance(0)

            for number, rows in chunks.as_completed(look_up):
                collect(number, rows)
        except KeyboardInterrupt:
            outcome.complete = False
            chunks.cancel()
            for number, rows in chunks.as_completed():
                collect(number, rows)
        finally:
            chunks.cancel()
    if left and outcome.complete:
        raise RuntimeError(
            f"{len(left)} of {len(plan.chunks)} chunks were stopped from outside, by a run that "
            "shares the workers; run "
            f"again{'' if store is None else ', finished chunks are kept in out'}."
        )
    return outcome


def chunk_order(chunks: Sequence[Chunk]) -> list[int]:
    """Numbers of chunks in the order they are asked for: the first of each name before the
    others of the name before it, so that what a policy needs is compiled while the policy before
    it plays."""
    places: dict[str, int] = {}
    keys = []
    for chunk in chunks:
        first = chunk.name not in places
        place = places.setdefault(chunk.name, len(places))
        keys.append((place, 0) if first else (place + 1, 1))
    return sorted(range(len(chunks)), key=keys.__getitem__)


class _Meter:
    """Counts rounds from all workers. A run that waits, as for a design, is told of too, once a
    second."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done, self.lock, self.last = (
            progress,
            total,
            0,
            threading.Lock(),
            time.monotonic(),
        )

    def advance(self, rounds: int) -> None:
        if self.progress is not None and (
            rounds or time.monotonic() - self.last >= WAITING_SECONDS
        ):
            with self.lock:
                self.done, self.last = self.done + rounds, time.monotonic()
                self.progress(self.done, self.total)


class Chunks:
    """The chunks of one recipe that are asked for, on the workers of one engine.

    workers: default all cores. address: of a running cluster; None: one of `workers` is started
    here.
    """

    def __init__(
        self,
        engine: Engine,
        recipe: RunRecipe,
        workers: int | None,
        address: str | None,
        advance: Advance,
    ) -> None:
        self.workers = number_of_workers(engine, workers, address)
        self.packed = (
            None
            if engine in IN_THREADS
            else PackedRecipe.of(
                engine if isinstance(engine, str) else type(engine).__name__, recipe
            )
        )
        self.engine, self.recipe, self.address, self.advance = engine, recipe, address, advance
        self.waiting: list[int] = []
        self.futures: dict[Future[Answer], int] = {}
        self.pool: WorkerPool | None = None
        self.played = 0  # rounds that the pool had counted when this run last looked
        self.leaving = contextlib.ExitStack()

    def as_completed(
        self, look_up: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[int, Rows]]:
        """Chunks as they finish, with their rows. Errors of workers are raised here.

        look_up: called several times a second while nothing else happens.
        """
        with self._worded():
            self._send()
            while self.futures:
                done, _ = wait(self.futures, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
                self._count()
                look_up()
                for future in done:
                    number = self.futures[future]
                    answer = self._answer(future)
                    if isinstance(answer, Exception):
                        del self.futures[future]
                        if not isinstance(answer, Stopped):
                            raise answer
                        continue
                    yield number, answer
                    del self.futures[future]  # only now: an interruption must not lose what is done
                    self._count(number)

    def _answer(self, future: Future[Answer]) -> Answer:
        try:
            return future.result()
        except CancelledError:
            return Stopped()
        except Exception as error:
            return error
        except BaseException:  # KeyboardInterrupt of a function that is called with the progress
            del self.futures[future]
            raise

    def _send(self) -> None:
        if not self.waiting:
            return
        self.pool = self.leaving.enter_context(
            open_workers(self.engine, self.workers, self.address)
        )
        if self.pool.played is not None:
            self.played = self.pool.played()
        submit = self._submitting(self.pool)
        while self.waiting:
            number = self.waiting.pop(0)
            self.futures[submit(number)] = number

    def _submitting(self, pool: WorkerPool) -> Callable[[int], Future[Answer]]:
        if self.packed is not None:
            recipe = pool.send(self.packed)
            return lambda number: pool.executor.submit(compute, recipe, number)
        assert pool.stop is not None
        slices = {
            name: Slices(pool.stop.is_set, self.advance) for name in self.recipe.experiment.names()
        }
        chunks = self.recipe.chunks
        return lambda number: pool.executor.submit(
            self.recipe.compute, number, slices[chunks[number].name]
        )

    def _count(self, number: int | None = None) -> None:
        """Pass on progress: of workers that count rounds now and then, of others when a chunk
        (number) is done."""
        if self.pool is None or self.packed is None:
            return
        if self.pool.played is not None:
            before, self.played = self.played, self.pool.played()
            self.advance(self.played - before)
        elif number is not None:
            self.advance(self.recipe.rounds(number))

    def cancel(self) -> None:
        """Stop what runs as fast as the engine can and forget the rest; what had finished can still
        be collected.

        A cluster that was started here is shut down; another may still finish what it has begun. A
        thread that is in compiled code which looks up at nothing, as a design of many arms, is left
        behind after LEAVE_SECONDS: it stops where it next looks up.
        """
        self.waiting.clear()
        pool, self.pool = self.pool, None
        if pool is not None and self.futures:
            for future in self.futures:
                future.cancel()
            if pool.stop is not None:
                pool.stop.set()
                if not wait(
                    self.futures, timeout=LEAVE_SECONDS if self.packed is None else None
                ).not_done:
                    pool.stop.clear()
            ended = {
                future: number
                for future, number in self.futures.items()
                if future.done() and not future.cancelled()
            }
            self.futures = {
                future: number for future, number in ended.items() if future.exception() is None
            }
        self.leaving.close()

    @contextlib.contextmanager
    def _worded(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if self.pool is None or not isinstance(error, self.pool.broken):
                raise
            assert self.packed is not None
            raise ChildProcessError(
                f"engine = {self.packed.engine!r}: a worker process ended before its chunk was "
                "done (memory, or a script without `if __name__ == '__main__':`). Finished chunks "
                "are kept in out, if it was given; engine = 'threads' needs no workers."
            ) from None
