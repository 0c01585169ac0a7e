"""What every executor is given, and what it must do with it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...replication import Slices
from ..plan import Chunk, Experiment, Rows
from ..store import Store

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Recipe:
    """All that a worker needs to compute any chunk of an experiment."""

    experiment: Experiment
    chunks: list[Chunk]
    store: Store | None

    def compute(self, number: int, slices: Slices) -> Rows:
        """Play a chunk's replications and keep the rows in the store if there is one, unless someone else has done so meanwhile."""
        chunk = self.chunks[number]
        if self.store is not None and (found := self.store.read(chunk, warn=False)) is not None:
            return found
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
        """Stop what runs as fast as the engine can and forget the rest; what had finished can still be collected."""
