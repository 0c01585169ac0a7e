"""The recipe of a run and the workers that compute its chunks: threads of this process, or
processes and clusters, which receive the recipe once."""

import contextlib
import functools
import hashlib
import importlib
import logging
import multiprocessing
import os
import pathlib
import pickle
import platform
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from dataclasses import dataclass, field, replace
from multiprocessing import connection, resource_tracker
from typing import TYPE_CHECKING, Any, TypeVar

from ..compiled.cache import cache_directory
from ..core import checks
from ..core.types import Arguments
from .lanes import replicate_in_lanes
from .loops import Slices
from .store import CODE, Chunk, Replicable, Rows, Store, stacked

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event
if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized
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
    target: Any = None  # where an experiment plays replications side by side

    def compute(self, number: int, slices: Slices) -> Rows:
        """Play a chunk's replications and keep the rows in the store if there is one, unless
        someone else has done so meanwhile."""
        chunk = self.chunks[number]
        if self.store is not None and (stored := self.store.read(chunk, warn=False)) is not None:
            return stored
        numbers = range(chunk.first, chunk.last)
        if self.target is None:
            rows = stacked([self.experiment.replicate(chunk.name, r, slices) for r in numbers])
        else:
            experiment: Any = self.experiment
            rows = replicate_in_lanes(experiment, chunk.name, numbers, slices, self.target)
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


# Dask's and Ray's workers, as executors. The libraries come with tightrope[dask] and
# tightrope[ray]; both start as many processes of one thread as a local cluster is asked for.


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


# The workers of each engine, all behind `concurrent.futures.Executor`. The numbers are the same
# everywhere.


ENGINES = ("threads", "processes", "dask", "ray", "cuda")
IN_THREADS = ("threads", "cuda")  # engines that send nothing to other processes
LANES = 2**16  # replications at least that a GPU plays side by side, where there are so many
CLUSTERS = ("dask", "ray")  # engines that may be on other machines
THREADS_OF_ALGEBRA = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)  # libraries read them when they are loaded

Engine = str | Executor


@functools.cache
def gpu() -> Any:
    return library("cuda", "tightrope.compiled.cuda").Device()


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
    if engine == "cuda":
        if workers not in (None, 1):
            raise ValueError(
                f"workers = {workers}, but engine = 'cuda' plays on one GPU; leave it out."
            )
        return 1
    return (
        checks.integer("workers", workers, least=1) if workers is not None else os.cpu_count() or 1
    )


@contextlib.contextmanager
def open_workers(engine: Engine, workers: int, address: str | None) -> Iterator[WorkerPool]:
    with contextlib.ExitStack() as leaving:
        if isinstance(engine, Executor):
            yield WorkerPool(engine)
        elif engine in IN_THREADS:
            leaving.enter_context(one_thread_each())
            threads, stop = (
                ThreadPoolExecutor(workers, thread_name_prefix="tightrope"),
                threading.Event(),
            )
            leaving.callback(
                lambda: threads.shutdown(wait=not stop.is_set())
            )  # else one is left behind, see `Chunks.cancel`
            yield WorkerPool(threads, stop=stop)
        elif engine == "processes":
            yield _shared[0] if _shared else leaving.enter_context(processes(workers))
        else:
            if address is None:
                with interrupts_ignored():
                    address = leaving.enter_context(STARTED[engine](workers))
            yield leaving.enter_context(CONNECTED[engine](address))


_shared: list[WorkerPool] = []  # processes that several runs share; at most one pool


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
                address = leaving.enter_context(STARTED[str(engine)](count))
        elif engine in ("threads", "processes") and not _shared:
            _shared.append(leaving.enter_context(processes(count)))
            leaving.callback(_shared.clear)
        yield address


@contextlib.contextmanager
def processes(workers: int) -> Iterator[WorkerPool]:
    """New processes of this machine, for policies or problems whose rounds are Python. They start
    when they are first needed."""
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    stop, played = context.Event(), context.Value("q", 0)
    with (
        tempfile.TemporaryDirectory(prefix="tightrope-") as folder,
        _OurProcesses(workers, context, initializer=_begin, initargs=(stop, played)) as pool,
    ):

        def send(packed: PackedRecipe) -> PackedRecipe:
            """Each process reads the recipe once; what is sent for a chunk is the name of its
            file."""
            path = pathlib.Path(folder) / packed.key
            assert isinstance(packed.data, bytes)
            path.write_bytes(packed.data)
            return replace(packed, data=path)

        yield WorkerPool(pool, send, stop, lambda: played.value)


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

    global reports
    reports = Reports(stop.is_set, advance)


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
    ten times as long. Processes see to it themselves, see `_prepare`.
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
