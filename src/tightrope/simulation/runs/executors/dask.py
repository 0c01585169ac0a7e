"""Dask's futures. `distributed` comes with tightrope[dask]."""

import contextlib
import logging
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from ....compiled.cache import cache_directory
from . import node

try:
    import dask.config
    import distributed
except ImportError as error:
    raise ValueError(f"engine = 'dask' needs the extra tightrope[dask] ({error}); install it with pip install 'tightrope[dask]'.") from None

DEATHS = 30  # of workers around one chunk before the scheduler gives it up
RETRIES = 2  # of a chunk whose file could not be written
WAIT_SECONDS = 60  # for the first worker of a cluster


@contextlib.contextmanager
def started(workers: int) -> Iterator[str]:
    """The address of a local cluster of so many processes of one thread."""
    settings = {"distributed.scheduler.allowed-failures": DEATHS}
    environment = {"TIGHTROPE_CACHE": str(cache_directory())}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=None,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            env=environment,
        ) as cluster,
    ):
        yield cluster.scheduler_address


@contextlib.contextmanager
def connected(address: str) -> Iterator["Cluster"]:
    """The cluster at an address such as tcp://10.0.0.1:8786."""
    try:
        client = distributed.Client(address, set_as_default=False)
        client.wait_for_workers(1, timeout=WAIT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(f"address = {address!r}: no Dask scheduler with workers answers there ({error}).") from None
    with client:
        yield Cluster(client)


class Cluster:
    """Chunks as futures of one client."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.futures: dict[str, int] = {}
        self.packed: Any = None
        self.done: Any = distributed.as_completed(loop=client.loop)

    def send(self, packed: node.Packed) -> None:
        """The recipe is the result of a task, which the scheduler can make again where the worker that holds it is lost."""
        self.packed = self.client.submit(_same, packed, key=f"tightrope-{packed.key}", pure=True)
        hosts: dict[str, list[str]] = {}
        for worker in self.client.nthreads():
            hosts.setdefault(urlsplit(worker).hostname or worker, []).append(worker)
        warm = [
            self.client.submit(node.warm_up, self.packed, workers=workers, allow_other_workers=True, pure=False)
            for workers in hosts.values()
        ]
        for future in warm:
            future.exception()  # waits; what goes wrong here goes wrong again in a chunk and comes out there

    def start(self, number: int) -> None:
        """Ask for a chunk."""
        future = self.client.submit(node.compute, self.packed, number, pure=False, retries=RETRIES)
        self.futures[future.key] = number
        self.done.add(future)

    def finished(self) -> Iterable[tuple[int, node.Answer]]:
        """Wait for the next chunks."""
        while not self.done.is_empty():
            future = next(self.done)
            try:
                yield self.futures.pop(future.key), future.result()
            except distributed.KilledWorker:
                raise ChildProcessError(
                    "engine = 'dask': a chunk was given up after its workers ended again and again (memory?). Finished chunks are kept "
                    "in out, if it was given."
                ) from None

    def collected(self) -> Iterable[tuple[int, node.Answer]]:
        """Chunks that are done; the others are cancelled."""
        found = []
        while not self.done.is_empty() and self.done.has_ready():
            for future in self.done.next_batch(block=False):
                with contextlib.suppress(Exception):  # one that failed leaves the others as they are
                    found.append((self.futures.pop(future.key), future.result()))
        self.client.cancel([future for future in self.done.futures if not future.done()])
        return found


def _same(packed: node.Packed) -> node.Packed:
    return packed
