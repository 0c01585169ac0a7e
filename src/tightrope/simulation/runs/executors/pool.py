"""Workers that are there, as `Chunks` sees them."""

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .worker import Packed

if TYPE_CHECKING:
    import threading
    from multiprocessing.synchronize import Event


@dataclass(frozen=True)
class Pool:
    """Workers that are there.

    send: brings a recipe to them once, and returns what each chunk is asked for with. stop: ends what they play within a slice; None
    where nobody can tell them. played: rounds that they have counted so far; None where they only say when a chunk is done. broken:
    exceptions that say that workers ended too often.
    """

    executor: Executor
    send: Callable[[Packed], Any] = lambda packed: packed
    stop: "Event | threading.Event | None" = None
    played: Callable[[], int] | None = None
    broken: tuple[type[BaseException], ...] = (BrokenExecutor,)
