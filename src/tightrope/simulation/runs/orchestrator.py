"""The one road of every experiment: a plan, an executor, a store."""

import pathlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...results.folder import remove_header
from ..replication import Progress
from .executors import Chunks, Engine, Recipe
from .interrupts import Interrupts
from .plan import Chunk, Experiment, Rows, planned
from .store import Store, opened

PATIENCE_SECONDS = 90.0  # a shared file system may tell this machine that late of a file which another one has written


@dataclass
class Outcome:
    """Rows of every finished replication by name. complete: False after an interruption."""

    rows: dict[str, dict[int, Rows]]
    complete: bool = True
    common: list[int] = field(default_factory=list)  # replications that every name has finished

    def settle(self) -> None:
        """Find what every name has finished."""
        self.common = sorted(set.intersection(*(set(done) for done in self.rows.values())))

    def take(self, more: "Outcome") -> None:
        """Add later replications of the same names."""
        for name, rows in more.rows.items():
            self.rows.setdefault(name, {}).update(rows)
        self.complete = self.complete and more.complete
        self.settle()


def carry_out(
    experiment: Experiment,
    replications: int,
    *,
    engine: Engine = "threads",
    address: str | None = None,
    workers: int | None = None,
    out: str | pathlib.Path | None = None,
    progress: Progress | None = None,
    begin: int = 0,
) -> Outcome:
    """Play replications begin .. replications - 1 that are not in the run folder `out` yet. On Ctrl-C what has finished is returned."""
    plan = planned(experiment, replications, digested=out is not None, begin=begin)
    store = opened(pathlib.Path(out), plan) if out is not None else None
    meter = _Meter(progress, len(experiment.names()) * (replications - begin) * experiment.rounds)
    outcome, left = Outcome({name: {} for name in experiment.names()}), set(range(len(plan.chunks)))

    def collect(number: int, rows: Rows | None) -> None:
        chunk = plan.chunks[number]
        rows = _left_in(store, chunk) if rows is None else rows
        for i in range(chunk.last - chunk.first):
            outcome.rows[chunk.name][chunk.first + i] = {key: array[i] for key, array in rows.items()}
        left.discard(number)

    chunks = Chunks(engine, Recipe(experiment, plan.chunks, store), workers, address, meter.advance)
    with Interrupts() as interrupts:
        try:
            for number in in_turn(plan.chunks):
                interrupts.check()
                stored = store.read(plan.chunks[number]) if store is not None else None
                if stored is None:
                    if store is not None:
                        remove_header(store.out)  # of an earlier result, which this run extends; its chunks stay
                    chunks.submit(number)
                else:
                    chunk = plan.chunks[number]
                    meter.advance((chunk.last - chunk.first) * experiment.rounds)
                    collect(number, stored)
            for number, rows in chunks.as_completed(interrupts.check):
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
            f"{len(left)} of {len(plan.chunks)} chunks were stopped from outside, by a run that shares the workers; run again"
            f"{'' if store is None else ', finished chunks are kept in out'}."
        )
    outcome.settle()
    return outcome


def in_turn(chunks: Sequence[Chunk]) -> list[int]:
    """Numbers of chunks in the order they are asked for: the first of each name before the others of the name before it, so that what a
    policy needs is compiled while the policy before it plays."""
    places: dict[str, int] = {}
    keys = []
    for chunk in chunks:
        first = chunk.name not in places
        place = places.setdefault(chunk.name, len(places))
        keys.append((place, 0) if first else (place + 1, 1))
    return sorted(range(len(chunks)), key=keys.__getitem__)


def _left_in(store: Store | None, chunk: Chunk) -> Rows:
    waited = time.monotonic() + PATIENCE_SECONDS
    while store is not None:
        if (rows := store.read(chunk)) is not None:
            return rows
        if store.path(chunk).exists() or time.monotonic() > waited:
            break
        time.sleep(0.2)
    raise OSError(f"A worker finished a chunk of {chunk.name!r} but its file cannot be read; run again to compute it anew.")


class _Meter:
    """Counts rounds from all workers."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done, self.lock = progress, total, 0, threading.Lock()

    def advance(self, rounds: int) -> None:
        if self.progress is not None and rounds:
            with self.lock:
                self.done += rounds
                self.progress(self.done, self.total)
