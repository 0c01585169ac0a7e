"""What runs on a worker of Dask or Ray: the driver's recipe, unpacked once a process."""

import contextlib
import hashlib
import os
import pickle
import platform
import threading
from dataclasses import dataclass

from ....compiled.cache import cache_directory
from ...replication import Slices, Stopped
from ..digest import CODE
from ..plan import Rows
from .recipe import Recipe

Answer = Rows | Exception | None  # rows, None where they are in the store, or what went wrong


@dataclass(frozen=True)
class Packed:
    """A recipe on its way. code: of the driver, which the worker's must equal. key: of the bytes, by which a worker knows them."""

    engine: str
    code: tuple[str, ...]
    key: str
    data: bytes

    @staticmethod
    def of(engine: str, data: bytes) -> "Packed":
        """A pickled recipe with its key."""
        return Packed(engine, tuple(CODE), hashlib.sha256(data).hexdigest(), data)


@dataclass(frozen=True)
class _Adopted:
    key: str
    recipe: Recipe
    slices: dict[str, Slices]


_adopted: _Adopted | None = None
_lock = threading.Lock()


def compute(packed: Packed, number: int) -> Answer:
    """Play a chunk. Errors are returned, since they would only happen again; OSError is raised for the engine to try once more."""
    try:
        mine = _adopt(packed)
        rows = mine.recipe.compute(number, mine.slices[mine.recipe.chunks[number].name])
        return None if mine.recipe.store is not None else rows
    except OSError:
        raise
    except Exception as error:
        return error


def warm_up(packed: Packed) -> None:
    """Compile what the chunks need by a round of each name, so that the workers of a node do not all do it at once."""
    mine = _adopt(packed)
    for name in mine.recipe.experiment.names():
        played: list[int] = []
        slices = Slices(lambda played=played: bool(played), played.append)  # type: ignore[misc]
        slices.size = 1
        with contextlib.suppress(Stopped):
            mine.recipe.experiment.replicate(name, 0, slices)


def _adopt(packed: Packed) -> _Adopted:
    global _adopted
    with _lock:
        if _adopted is None or _adopted.key != packed.key:
            _prepare(packed)
            recipe = _unpacked(packed)
            _adopted = _Adopted(packed.key, recipe, recipe.slices(lambda: False, lambda rounds: None))
        return _adopted


def _prepare(packed: Packed) -> None:
    """One thread a worker in linear algebra, and a folder of compiled kernels that no other node writes to."""
    import scipy.linalg  # noqa: F401 - it brings a library of its own, which must be there to be told
    import threadpoolctl

    threadpoolctl.threadpool_limits(1)
    os.environ.setdefault("TIGHTROPE_CACHE", str(cache_directory() / platform.node()))
    if tuple(CODE) != packed.code:
        raise ValueError(
            f"engine = {packed.engine!r}: a worker on {platform.node()} has {', '.join(CODE)}, but the driver has "
            f"{', '.join(packed.code)}; their numbers may differ, so install the same versions on all of them."
        )


def _unpacked(packed: Packed) -> Recipe:
    try:
        recipe: Recipe = pickle.loads(packed.data)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"engine = {packed.engine!r}: a worker on {platform.node()} does not find a part of the experiment ({error}); "
            "put its functions and classes into a module that the workers can import (PYTHONPATH), not into the script itself."
        ) from None
    if recipe.store is not None and not (recipe.store.out / "plan.json").exists():
        raise ValueError(
            f"engine = {packed.engine!r}: out = {str(recipe.store.out)!r} is not there on {platform.node()}; pass a folder that all "
            "machines share under the same name, or call without out, so that rows come back through the engine."
        )
    return recipe
