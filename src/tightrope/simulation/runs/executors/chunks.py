"""Chunks as futures of one engine's workers.

The driver keeps chunk numbers until the first result is asked for, so that a run that is found whole in its folder starts no worker.
"""

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, wait
from typing import Any

from ...replication import Slices, Stopped
from ..plan import Rows
from . import worker
from .pool import Pool
from .pools import Engine, checked, opened
from .recipe import Advance, Recipe
from .worker import Answer, Packed

POLL_SECONDS = 0.1  # how often a driver looks up from waiting


class Chunks:
    """The chunks of one recipe that are asked for, on the workers of one engine.

    workers: default all cores. address: of a running cluster; None: one of `workers` is started here.
    """

    def __init__(self, engine: Engine, recipe: Recipe, workers: int | None, address: str | None, advance: Advance) -> None:
        self.workers = checked(engine, workers, address)
        self.packed = None if engine == "threads" else Packed.of(engine if isinstance(engine, str) else type(engine).__name__, recipe)
        self.engine, self.recipe, self.address, self.advance = engine, recipe, address, advance
        self.waiting: list[int] = []
        self.futures: dict[Future[Answer], int] = {}
        self.pool: Pool | None = None
        self.played = 0  # rounds that the pool had counted when this run last looked
        self.leaving = contextlib.ExitStack()

    def submit(self, number: int) -> None:
        """Ask for a chunk."""
        self.waiting.append(number)

    def as_completed(self, look_up: Callable[[], None] = lambda: None) -> Iterator[tuple[int, Rows | None]]:
        """Chunks as they finish, with their rows, or None for rows left in the store. Errors of workers are raised here.

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
        self.pool = self.leaving.enter_context(opened(self.engine, self.workers, self.address))
        if self.pool.played is not None:
            self.played = self.pool.played()
        submit = self._submitting(self.pool)
        while self.waiting:
            number = self.waiting.pop(0)
            self.futures[submit(number)] = number

    def _submitting(self, pool: Pool) -> Callable[[int], Future[Any]]:
        """What asks the pool for a chunk."""
        if self.packed is not None:
            recipe = pool.send(self.packed)
            return lambda number: pool.executor.submit(worker.compute, recipe, number)
        assert pool.stop is not None
        slices = {name: Slices(pool.stop.is_set, self.advance) for name in self.recipe.experiment.names()}
        chunks = self.recipe.chunks
        return lambda number: pool.executor.submit(self.recipe.compute, number, slices[chunks[number].name])

    def _count(self, number: int | None = None) -> None:
        """Pass on progress: of workers that count rounds now and then, of others when a chunk (number) is done."""
        if self.pool is None or self.packed is None:
            return
        if self.pool.played is not None:
            before, self.played = self.played, self.pool.played()
            self.advance(self.played - before)
        elif number is not None:
            self.advance(self.recipe.rounds(number))

    def cancel(self) -> None:
        """Stop what runs as fast as the engine can and forget the rest; what had finished can still be collected.

        A cluster that was started here is shut down; another may still finish what it has begun.
        """
        self.waiting.clear()
        pool, self.pool = self.pool, None
        if pool is not None and self.futures:
            for future in self.futures:
                future.cancel()
            if pool.stop is not None:
                pool.stop.set()
                wait(self.futures)
                pool.stop.clear()
            ended = {future: number for future, number in self.futures.items() if future.done() and not future.cancelled()}
            self.futures = {future: number for future, number in ended.items() if future.exception() is None}
        self.leaving.close()

    @contextlib.contextmanager
    def _worded(self) -> Iterator[None]:
        """Say in words that workers are gone."""
        try:
            yield
        except Exception as error:
            if self.pool is None or not isinstance(error, self.pool.broken):
                raise
            assert self.packed is not None
            raise ChildProcessError(
                f"engine = {self.packed.engine!r}: a worker process ended before its chunk was done (memory, or a script without "
                "`if __name__ == '__main__':`). Finished chunks are kept in out, if it was given; engine = 'threads' needs no workers."
            ) from None
