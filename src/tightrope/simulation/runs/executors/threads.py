"""Threads of this process; compiled loops release the interpreter's lock."""

import threading
from concurrent.futures import ThreadPoolExecutor

from .pool import Pool
from .recipe import Advance, Recipe


class Threads(Pool):
    """Chunks in threads, which stop within a slice."""

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
