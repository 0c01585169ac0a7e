"""Executors, which compute chunks. The numbers are the same everywhere."""

import contextlib
import multiprocessing
import os
import pathlib
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import connection, resource_tracker
from typing import TYPE_CHECKING, TypeVar

from ..core import checks
from . import clusters, worker

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized
    from multiprocessing.synchronize import Event

__all__ = ["ENGINES", "Engine", "shared_workers"]

# The workers of each engine, all behind `concurrent.futures.Executor`.


T = TypeVar("T")
ENGINES = ("threads", "processes", "dask", "ray")
CLUSTERS = ("dask", "ray")  # engines that may be on other machines
THREADS_OF_ALGEBRA = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)  # libraries read them when they are loaded

Engine = str | Executor


def number_of_workers(engine: Engine, workers: int | None, address: str | None) -> int:
    """How many workers these arguments ask for; ValueError where they do not fit together."""
    if isinstance(engine, Executor):
        if workers is not None or address is not None:
            raise ValueError(
                "engine is an executor, which has its own workers; leave workers and address out."
            )
        return 1
    checks.choice("engine", engine, ENGINES)
    if address is not None and engine not in CLUSTERS:
        raise ValueError(
            f"address = {address!r} is of a cluster, but engine = {engine!r} works on this "
            "machine; use 'dask' or 'ray'."
        )
    if address is not None and workers is not None:
        raise ValueError(
            f"workers = {workers} has no meaning with address = {address!r}: a running cluster "
            "has its own; leave it out."
        )
    return (
        checks.integer("workers", workers, least=1) if workers is not None else os.cpu_count() or 1
    )


@contextlib.contextmanager
def open_workers(engine: Engine, workers: int, address: str | None) -> Iterator[worker.WorkerPool]:
    with contextlib.ExitStack() as leaving:
        if isinstance(engine, Executor):
            yield worker.WorkerPool(engine)
        elif engine == "threads":
            leaving.enter_context(one_thread_each())
            threads, stop = (
                ThreadPoolExecutor(workers, thread_name_prefix="tightrope"),
                threading.Event(),
            )
            leaving.callback(
                lambda: threads.shutdown(wait=not stop.is_set())
            )  # else one is left behind, see `Chunks.cancel`
            yield worker.WorkerPool(threads, stop=stop)
        elif engine == "processes":
            yield _shared[0] if _shared else leaving.enter_context(processes(workers))
        else:
            if address is None:
                with interrupts_ignored():
                    address = leaving.enter_context(clusters.STARTED[engine](workers))
            yield leaving.enter_context(clusters.CONNECTED[engine](address))


_shared: list[worker.WorkerPool] = []  # processes that several runs share; at most one pool


@contextlib.contextmanager
def shared_workers(
    engine: Engine, workers: int | None, address: str | None
) -> Iterator[str | None]:
    """Workers for many runs: the address of their cluster, and they end with this context. An
    address that is given stays.

    Where runs are in threads the processes are shared as well, for runs that ask for them; none
    starts before it is needed. Inside another such context its processes are used.
    """
    count = number_of_workers(engine, workers, address)
    with contextlib.ExitStack() as leaving:
        if engine in CLUSTERS and address is None:
            with interrupts_ignored():
                address = leaving.enter_context(clusters.STARTED[str(engine)](count))
        elif engine in ("threads", "processes") and not _shared:
            _shared.append(leaving.enter_context(processes(count)))
            leaving.callback(_shared.clear)
        yield address


@contextlib.contextmanager
def processes(workers: int) -> Iterator[worker.WorkerPool]:
    """New processes of this machine, for policies or problems whose rounds are Python. They start
    when they are first needed."""
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    stop, played = context.Event(), context.Value("q", 0)
    with (
        tempfile.TemporaryDirectory(prefix="tightrope-") as folder,
        _OurProcesses(workers, context, initializer=_begin, initargs=(stop, played)) as pool,
    ):

        def send(packed: worker.PackedRecipe) -> worker.PackedRecipe:
            """Each process reads the recipe once; what is sent for a chunk is the name of its
            file."""
            path = pathlib.Path(folder) / packed.key
            assert isinstance(packed.data, bytes)
            path.write_bytes(packed.data)
            return replace(packed, data=path)

        yield worker.WorkerPool(pool, send, stop, lambda: played.value)


class _OurProcesses(ProcessPoolExecutor):
    """A call of submit may start a process, which inherits that Ctrl-C is the driver's alone."""

    def submit(self, function: Callable[..., T], /, *call: object, **named: object) -> Future[T]:
        with interrupts_ignored():
            return super().submit(function, *call, **named)


def _begin(stop: "Event", played: "Synchronized[int]") -> None:
    """In a new process: it hears no Ctrl-C, ends with its driver, and shares two numbers with
    it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_driver()

    def advance(rounds: int) -> None:
        with played.get_lock():
            played.value += rounds

    worker.reports = worker.Reports(stop.is_set, advance)


@contextlib.contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Processes that are started in here do not hear Ctrl-C: they inherit that it is blocked. This
    process hears it a moment later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it unblocks Ctrl-C when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Threads of this process compute linear algebra in one thread each, for as long as this lasts;
    what the user has set stays.

    Where every core has one, the threads of one product wait for each other: small products took
    ten times as long. Processes see to it themselves, see `worker`.
    """
    if any(name in os.environ for name in THREADS_OF_ALGEBRA):
        yield
        return
    import scipy.linalg  # noqa: F401 - it loads a library of its own, to be limited
    import threadpoolctl

    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        yield


def end_with_driver() -> None:
    """Called in a process: it ends as soon as the one that started it is gone, because a killed
    driver asks for nothing any more."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    threading.Thread(target=_end_with, args=(driver.sentinel,), daemon=True).start()


def _end_with(driver: int) -> None:
    connection.wait([driver])
    os._exit(1)
