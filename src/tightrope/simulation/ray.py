"""Ray's workers, as an executor. `ray` comes with tightrope[ray]."""

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

from ..compiled.cache import cache_directory
from ..core.types import Arguments
from .worker import WorkerPool

try:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no request leaves the host
    import ray
except ImportError as error:
    raise ValueError(
        f"engine = 'ray' needs the extra tightrope[ray] ({error}); install it with pip install "
        "'tightrope[ray]'."
    ) from None

T = TypeVar("T")
DEATHS = 30  # of workers around one chunk before it is given up
QUIET: Arguments = {"logging_level": logging.ERROR, "log_to_driver": False}
BROKEN = (
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.OutOfMemoryError,
    ray.exceptions.NodeDiedError,
)


class RayExecutor(Executor):
    """Calls as tasks of this process's connection, on one core each."""

    def submit(
        self, function: Callable[..., T], /, *arguments: object, **named: object
    ) -> Future[T]:
        """Ask for a call; a future that is cancelled cancels its task."""
        reference = (
            ray.remote(function).options(num_cpus=1, max_retries=DEATHS).remote(*arguments, **named)
        )
        future: Future[T] = reference.future()
        future.add_done_callback(lambda ended: ray.cancel(reference) if ended.cancelled() else None)
        return future


@contextlib.contextmanager
def started(workers: int) -> Iterator[str]:
    """The address of a local cluster of so many processes of one thread."""
    _refuse_second("started")
    variables = {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "TIGHTROPE_CACHE": str(cache_directory()),
    }
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
def connected(address: str) -> Iterator[WorkerPool]:
    """The cluster at an address such as 10.0.0.1:6379 or "auto"; a connection of this process to it
    is used."""
    with contextlib.ExitStack() as leaving:
        if not (
            ray.is_initialized() and address in ("auto", ray.get_runtime_context().gcs_address)
        ):
            _refuse_second(f"connected to {address!r}")
            try:
                ray.init(address=address, **QUIET)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise ValueError(
                    f"address = {address!r}: no Ray cluster answers there ({error})."
                ) from None
            leaving.callback(ray.shutdown)
        yield WorkerPool(
            RayExecutor(), ray.put, broken=BROKEN
        )  # the recipe lies in Ray's store of objects


def _refuse_second(what: str) -> None:
    if ray.is_initialized():
        here = ray.get_runtime_context().gcs_address
        raise ValueError(
            f"engine = 'ray': this process is connected to {here!r}, so no other cluster can be "
            f"{what}; pass address = {here!r}."
        )
