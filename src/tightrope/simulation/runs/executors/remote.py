"""Chunks on a cluster: what Dask and Ray share.

The driver keeps chunk numbers until the first result is asked for, so that a run that is found whole in its folder starts no cluster.
Then one warm-up task a node compiles the loops, and the chunks follow. Workers report when a chunk is done, not in between.
"""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from ..plan import Rows
from ..store import Store
from .node import Answer, Packed
from .recipe import Advance, Recipe
from .sending import interrupts_ignored, pickled


class Cluster(Protocol):
    """One engine's futures, connected."""

    def send(self, packed: Packed) -> None:
        """Bring the recipe to the cluster and warm up every node."""

    def start(self, number: int) -> None:
        """Ask for a chunk of it."""

    def finished(self) -> Iterable[tuple[int, Answer]]:
        """Wait for the next chunks; ChildProcessError where one ended its workers too often."""
        ...

    def collected(self) -> Iterable[tuple[int, Answer]]:
        """Chunks that are done, without waiting; the others are cancelled."""
        ...


@contextlib.contextmanager
def connected(engine: str, workers: int, address: str | None) -> Iterator[Cluster]:
    """The cluster at an address, or one of `workers` processes that lives as long as this context."""
    with contextlib.ExitStack() as leaving:
        if address is None:
            address = leaving.enter_context(started(engine, workers))
        if engine == "dask":
            from . import dask

            yield leaving.enter_context(dask.connected(address))
        else:
            from . import ray

            yield leaving.enter_context(ray.connected(address))


@contextlib.contextmanager
def started(engine: str, workers: int) -> Iterator[str]:
    """The address of a local cluster of so many processes, which do not hear Ctrl-C."""
    with contextlib.ExitStack() as leaving:
        if engine == "dask":
            from . import dask

            with interrupts_ignored():
                address = leaving.enter_context(dask.started(workers))
        else:
            from . import ray

            with interrupts_ignored():
                address = leaving.enter_context(ray.started(workers))
        yield address


class Remote:
    """The executor of both."""

    def __init__(self, engine: str, recipe: Recipe, workers: int, address: str | None, advance: Advance) -> None:
        store = None if recipe.store is None else Store(recipe.store.out.absolute())  # workers have folders of their own to be in
        self.packed = Packed.of(engine, pickled(engine, replace(recipe, store=store)))
        self.engine, self.recipe, self.workers, self.address, self.advance = engine, recipe, workers, address, advance
        self.waiting: list[int] = []
        self.open: set[int] = set()
        self.held: list[tuple[int, Answer]] = []  # done, and nobody has kept them yet: an interruption must not lose them
        self.cluster: Cluster | None = None
        self.leaving = contextlib.ExitStack()

    def submit(self, number: int) -> None:
        """Ask for a chunk."""
        self.waiting.append(number)

    def as_completed(self) -> Iterator[tuple[int, Rows | None]]:
        """Chunks as they finish."""
        if self.waiting:
            self.cluster = self.leaving.enter_context(connected(self.engine, self.workers, self.address))
            self.cluster.send(self.packed)
            while self.waiting:
                self.cluster.start(self.waiting[0])
                self.open.add(self.waiting.pop(0))
        while self.open and self.cluster is not None:
            for number, answer in self.cluster.finished():
                self.held.append((number, answer))
                self.open.discard(number)
                yield from self._handed_over()
        yield from self._handed_over()

    def _handed_over(self) -> Iterator[tuple[int, Rows | None]]:
        while self.held:
            number, answer = self.held[-1]
            if isinstance(answer, Exception):
                raise answer
            yield number, answer
            self.held.pop()
            chunk = self.recipe.chunks[number]
            self.advance((chunk.last - chunk.first) * self.recipe.experiment.rounds)

    def cancel(self) -> None:
        """Leave the cluster: one that was started here is shut down, another may still finish what it has begun."""
        self.waiting.clear()
        if self.cluster is not None:
            with contextlib.suppress(Exception):  # a cluster that is gone has nothing to collect
                self.held += [(number, answer) for number, answer in self.cluster.collected() if number in self.open]
        self.open.clear()
        self.cluster = None
        self.leaving.close()
