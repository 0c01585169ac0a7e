"""Dask's workers. `distributed` comes with tightrope[dask]."""

import contextlib
import logging
from collections.abc import Iterator

from ..compiled.cache import cache_directory
from .worker import PackedRecipe, WorkerPool

try:
    import dask.config
    import distributed
except ImportError as error:
    raise ValueError(
        f"engine = 'dask' needs the extra tightrope[dask] ({error}); install it with pip install "
        "'tightrope[dask]'."
    ) from None

DEATHS = 30  # of workers around one chunk before the scheduler gives it up
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
def connected(address: str) -> Iterator[WorkerPool]:
    try:
        client = distributed.Client(address, set_as_default=False)
        client.wait_for_workers(1, timeout=WAIT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(
            f"address = {address!r}: no Dask scheduler with workers answers there ({error})."
        ) from None

    def send(packed: PackedRecipe) -> object:
        """The recipe is the result of a task, which the scheduler can make again where the worker
        that holds it is lost."""
        return client.submit(_same, packed, key=f"tightrope-{packed.key}", pure=True)

    with client:
        yield WorkerPool(client.get_executor(pure=False), send, broken=(distributed.KilledWorker,))


def _same(packed: PackedRecipe) -> PackedRecipe:
    return packed
