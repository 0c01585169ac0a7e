"""The recipe of a run and the workers that compute its chunks: threads of this process, or
processes and clusters, which receive the recipe once."""

import hashlib
import os
import pathlib
import pickle
import platform
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiled.cache import cache_directory
from .loops import Slices
from .store import CODE, Chunk, Replicable, Rows, Store

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

Advance = Callable[[int], None]  # is told how many rounds more were played
Answer = Rows | Exception  # rows, or what went wrong
WRITES = 3  # how often a chunk whose file cannot be written is tried


@dataclass(frozen=True)
class RunRecipe:
    """All that a worker needs to compute any chunk of an experiment."""

    experiment: Replicable
    chunks: list[Chunk]
    store: Store | None

    def compute(self, number: int, slices: Slices) -> Rows:
        """Play a chunk's replications and keep the rows in the store if there is one, unless
        someone else has done so meanwhile."""
        chunk = self.chunks[number]
        if self.store is not None and (stored := self.store.read(chunk, warn=False)) is not None:
            return stored
        each = [
            self.experiment.replicate(chunk.name, r, slices) for r in range(chunk.first, chunk.last)
        ]
        rows = {key: np.stack([one[key] for one in each]) for key in each[0]}
        if self.store is not None:
            self.store.write(
                chunk,
                rows,
                [self.experiment.label(chunk.name, r) for r in range(chunk.first, chunk.last)],
            )
        return rows

    def rounds(self, number: int) -> int:
        return (self.chunks[number].last - self.chunks[number].first) * self.experiment.rounds


@dataclass(frozen=True)
class PackedRecipe:
    """A recipe on its way. code: of the driver, which the worker's must equal. key: of the bytes,
    by which a worker knows them.
    data: the bytes, or the file that has them. driver: the process that sends it.
    """

    engine: str
    code: tuple[str, ...]
    key: str
    data: bytes | pathlib.Path
    driver: tuple[str, int]

    @staticmethod
    def of(engine: str, recipe: RunRecipe) -> "PackedRecipe":
        """A recipe as bytes; ValueError where a part of it has no name that another process could
        find."""
        store = (
            None if recipe.store is None else Store(recipe.store.out.absolute())
        )  # workers have folders of their own to be in
        try:
            data = pickle.dumps(replace(recipe, store=store))
        except Exception as error:
            raise ValueError(
                f"engine = {engine!r} sends the experiment to other processes, but a part of it "
                f"cannot be sent ({error}); define its functions and classes in a module, or use "
                "engine = 'threads'."
            ) from None
        return PackedRecipe(
            engine,
            tuple(CODE),
            hashlib.sha256(data).hexdigest(),
            data,
            (platform.node(), os.getpid()),
        )


@dataclass(frozen=True)
class WorkerPool:
    """Workers that are there.

    send: brings a recipe to them once, and returns what each chunk is asked for with. stop: ends
    what they play within a slice; None where nobody can tell them. played: rounds that they have
    counted so far; None where they only say when a chunk is done. broken: exceptions that say that
    workers ended too often.
    """

    executor: Executor
    send: Callable[[PackedRecipe], Any] = lambda packed: packed
    stop: "Event | threading.Event | None" = None
    played: Callable[[], int] | None = None
    broken: tuple[type[BaseException], ...] = (BrokenExecutor,)


@dataclass(frozen=True)
class Reports:
    """How a worker and its driver speak with each other while a chunk runs. On a cluster they do
    not: a chunk is done or not."""

    stopping: Callable[[], bool] = lambda: False
    advance: Advance = lambda rounds: None


reports = Reports()  # of this worker; a process of a driver's own pool has others


@dataclass
class _Adopted:
    """The recipe of this worker, and by name how long its slices are."""

    key: str
    recipe: RunRecipe
    slices: dict[str, Slices] = field(default_factory=dict)

    def compute(self, number: int) -> Rows:
        name = self.recipe.chunks[number].name
        slices = self.slices.setdefault(name, Slices(reports.stopping, reports.advance))
        return self.recipe.compute(number, slices)


_adopted: _Adopted | None = None
_lock = threading.Lock()


def compute(packed: PackedRecipe, number: int) -> Answer:
    """Play a chunk. Errors are returned, so that all engines hand them over in the same way."""
    for attempt in range(WRITES):
        try:
            return _adopt(packed).compute(number)
        except OSError as error:
            if attempt == WRITES - 1:
                return error
        except Exception as error:
            return error
    raise AssertionError("unreachable")


def _adopt(packed: PackedRecipe) -> _Adopted:
    global _adopted
    with _lock:
        if _adopted is None or _adopted.key != packed.key:
            if packed.driver != (platform.node(), os.getpid()):
                _prepare(packed)
            _adopted = _Adopted(packed.key, _unpacked(packed))
        return _adopted


def _prepare(packed: PackedRecipe) -> None:
    """One thread a worker in linear algebra, and a folder of compiled kernels that no other machine
    writes to."""
    import scipy.linalg  # noqa: F401 - it loads a library of its own, to be limited
    import threadpoolctl

    threadpoolctl.threadpool_limits(1)
    if platform.node() != packed.driver[0]:
        os.environ.setdefault("TIGHTROPE_CACHE", str(cache_directory() / platform.node()))
    if tuple(CODE) != packed.code:
        raise ValueError(
            f"engine = {packed.engine!r}: a worker on {platform.node()} has {', '.join(CODE)}, "
            f"but the driver has {', '.join(packed.code)}; their numbers may differ, so install "
            "the same versions on all of them."
        )


def _unpacked(packed: PackedRecipe) -> RunRecipe:
    data = packed.data if isinstance(packed.data, bytes) else packed.data.read_bytes()
    try:
        recipe: RunRecipe = pickle.loads(data)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"engine = {packed.engine!r}: a worker on {platform.node()} does not find a part of "
            f"the experiment ({error}); put its functions and classes into a module that the "
            "workers can import (PYTHONPATH), not into the script itself."
        ) from None
    if recipe.store is not None and not (recipe.store.out / "plan.json").exists():
        raise ValueError(
            f"engine = {packed.engine!r}: out = {str(recipe.store.out)!r} is not there on "
            f"{platform.node()}; pass a folder that all machines share under the same name, or "
            "call without out, so that rows come back through the engine."
        )
    return recipe
