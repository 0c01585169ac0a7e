"""What a worker is given: an experiment, its chunks and the folder that keeps them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...replication import Slices
from ..plan import Chunk, Experiment, Rows
from ..store import Store

Advance = Callable[[int], None]  # is told how many rounds more were played


@dataclass(frozen=True)
class Recipe:
    """All that a worker needs to compute any chunk of an experiment."""

    experiment: Experiment
    chunks: list[Chunk]
    store: Store | None

    def compute(self, number: int, slices: Slices) -> Rows:
        """Play a chunk's replications and keep the rows in the store if there is one, unless someone else has done so meanwhile."""
        chunk = self.chunks[number]
        if self.store is not None and (stored := self.store.read(chunk, warn=False)) is not None:
            return stored
        each = [self.experiment.replicate(chunk.name, r, slices) for r in range(chunk.first, chunk.last)]
        rows = {key: np.stack([one[key] for one in each]) for key in each[0]}
        if self.store is not None:
            self.store.write(chunk, rows, [self.experiment.label(chunk.name, r) for r in range(chunk.first, chunk.last)])
        return rows

    def rounds(self, number: int) -> int:
        """The most rounds that a chunk can have."""
        return (self.chunks[number].last - self.chunks[number].first) * self.experiment.rounds
