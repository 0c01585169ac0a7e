"""Dask's and Ray's workers, as executors. The libraries come with tightrope[dask] and
tightrope[ray]; both start as many processes of one thread as a local cluster is asked for."""

import contextlib
import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from ..compiled.cache import cache_directory
from ..core.types import Arguments
from .worker import PackedRecipe, WorkerPool

T = TypeVar("T")
DEATHS = 30  # of workers around one chunk before it is given up
WAIT_SECONDS = 60  # for the first worker of Dask's
QUIET: Arguments = {"logging_level": logging.ERROR, "log_to_driver": False}


def library(engine: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(
            f"engine = {engine!r} needs the extra tightrope[{engine}] ({error}); install it with "
            f"pip install 'tightrope[{engine}]'."
        ) from None


@contextlib.contextmanager
def started_dask(workers: int) -> Iterator[str]:
    distributed = library("dask", "distributed")
    with (
        library("dask", "dask").config.set({"distributed.scheduler.allowed-failures": DEATHS}),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=None,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            env={"TIGHTROPE_CACHE": str(cache_directory())},
        ) as cluster,
    ):
        yield cluster.scheduler_address


@contextlib.contextmanager
def connected_dask(address: str) -> Iterator[WorkerPool]:
    distributed = library("dask", "distributed")
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


class RayExecutor(Executor):
    """Calls as tasks of this process's connection, on one core each."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray

    def submit(
        self, function: Callable[..., T], /, *arguments: object, **named: object
    ) -> Future[T]:
        """Ask for a call; a future that is cancelled cancels its task."""
        task = self.ray.remote(function).options(num_cpus=1, max_retries=DEATHS)
        reference = task.remote(*arguments, **named)
        future: Future[T] = reference.future()
        future.add_done_callback(
            lambda ended: self.ray.cancel(reference) if ended.cancelled() else None
        )
        return future


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no request leaves the host
    return library("ray", "ray")


@contextlib.contextmanager
def started_ray(workers: int) -> Iterator[str]:
    ray = _ray()
    _refuse_second(ray, "started")
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
def connected_ray(address: str) -> Iterator[WorkerPool]:
    """address: such as 10.0.0.1:6379, or "auto"; a connection of this process to it is used."""
    ray = _ray()
    errors = ray.exceptions
    with contextlib.ExitStack() as leaving:
        if not (
            ray.is_initialized() and address in ("auto", ray.get_runtime_context().gcs_address)
        ):
            _refuse_second(ray, f"connected to {address!r}")
            try:
                ray.init(address=address, **QUIET)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise ValueError(
                    f"address = {address!r}: no Ray cluster answers there ({error})."
                ) from None
            leaving.callback(ray.shutdown)
        broken = errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError
        yield WorkerPool(RayExecutor(ray), ray.put, broken=broken)  # the recipe lies in its store


def _refuse_second(ray: Any, what: str) -> None:
    if ray.is_initialized():
        here = ray.get_runtime_context().gcs_address
        raise ValueError(
            f"engine = 'ray': this process is connected to {here!r}, so no other cluster can be "
            f"{what}; pass address = {here!r}."
        )


STARTED = {"dask": started_dask, "ray": started_ray}  # the address of a local cluster
CONNECTED = {"dask": connected_dask, "ray": connected_ray}  # the workers at an address
