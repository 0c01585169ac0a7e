"""Ray's futures. `ray` comes with tightrope[ray]."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ....compiled.cache import cache_directory
from . import node

try:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no request leaves the host
    import ray
except ImportError as error:
    raise ValueError(f"engine = 'ray' needs the extra tightrope[ray] ({error}); install it with pip install 'tightrope[ray]'.") from None

DEATHS = 30  # of workers around one chunk before it is given up
QUIET: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}


@contextlib.contextmanager
def started(workers: int) -> Iterator[str]:
    """The address of a local cluster of so many processes of one thread."""
    _refuse_second("started")
    variables = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "TIGHTROPE_CACHE": str(cache_directory())}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)  # its processes inherit them
    try:
        ray.init(address="local", num_cpus=workers, include_dashboard=False, **QUIET)
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    try:
        yield ray.get_runtime_context().gcs_address
    finally:
        ray.shutdown()


@contextlib.contextmanager
def connected(address: str) -> Iterator["Cluster"]:
    """The cluster at an address such as 10.0.0.1:6379 or "auto"; a connection of this process to it is used."""
    if ray.is_initialized() and address in ("auto", ray.get_runtime_context().gcs_address):
        yield Cluster()
        return
    _refuse_second(f"connected to {address!r}")
    try:
        ray.init(address=address, **QUIET)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ValueError(f"address = {address!r}: no Ray cluster answers there ({error}).") from None
    try:
        yield Cluster()
    finally:
        ray.shutdown()


def _refuse_second(what: str) -> None:
    if ray.is_initialized():
        here = ray.get_runtime_context().gcs_address
        raise ValueError(
            f"engine = 'ray': this process is connected to {here!r}, so no other cluster can be {what}; pass address = {here!r}."
        )


class Cluster:
    """Chunks as futures of this process's connection."""

    def __init__(self) -> None:
        self.futures: dict[Any, int] = {}
        self.packed: Any = None
        self.task = ray.remote(node.compute).options(num_cpus=1, max_retries=DEATHS, retry_exceptions=[OSError])

    def send(self, packed: node.Packed) -> None:
        """The recipe lies in Ray's store of objects; a warm-up for every node that computes."""
        self.packed = ray.put(packed)
        warm = ray.remote(node.warm_up)
        tasks = []
        for place in ray.nodes():
            if place["Alive"] and place["Resources"].get("CPU", 0) >= 1:
                there = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(place["NodeID"], soft=True)
                tasks.append(warm.options(num_cpus=1, scheduling_strategy=there).remote(self.packed))
        ray.wait(tasks, num_returns=len(tasks))  # what goes wrong here goes wrong again in a chunk and comes out there

    def start(self, number: int) -> None:
        """Ask for a chunk."""
        self.futures[self.task.remote(self.packed, number)] = number

    def finished(self) -> Iterable[tuple[int, node.Answer]]:
        """Wait for the next chunk."""
        (future,), _ = ray.wait(list(self.futures), num_returns=1)
        try:
            answer = ray.get(future)
            yield self.futures.pop(future), answer
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError) as error:
            raise ChildProcessError(
                f"engine = 'ray': a chunk was given up after its workers ended again and again ({type(error).__name__}). Finished chunks "
                "are kept in out, if it was given."
            ) from None

    def collected(self) -> Iterable[tuple[int, node.Answer]]:
        """Chunks that are done; the others are cancelled."""
        if not self.futures:
            return []
        done, rest = ray.wait(list(self.futures), num_returns=len(self.futures), timeout=0)
        for future in rest:
            ray.cancel(future)
        found = []
        for future in done:
            with contextlib.suppress(Exception):  # one that failed leaves the others as they are
                found.append((self.futures.pop(future), ray.get(future)))
        return found
