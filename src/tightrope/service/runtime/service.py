"""A running service without its HTTP: asynchronous requests on one side, the writer's thread on the other."""

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, TypeVarTuple

from ..domain.errors import Refused
from ..domain.spec import ExperimentSpec
from ..log.audit import UNKNOWN, Author
from ..log.database import Database
from ..log.secrets import CERTIFYING, secret
from .histories import Histories
from .keys import KeyRing
from .leases import Leases
from .settings import Settings
from .telemetry import logger
from .warm_up import warm_up
from .writer import Answer, Answered, Command, Ticket, Transaction, Unfinished, Writer

THREADS = {
    "keys": 1,
    "reading": 2,
    "start": 1,  # compiles what is common, beside what somebody waits for
    "warm-up": 1,
    "scrubbing": 1,
    "judging": 1,
    "names": 2,
    "noticing": 1,
}  # for work that takes long: it waits for its like, and nothing else for it


Parts = TypeVarTuple("Parts")
T = TypeVar("T")


class Service:
    """Database, keys and writer of one process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.database = Database(settings.db)
        self.own = Database(settings.db)  # connections of the writer and the keys, which must not wait until somebody has read
        self.leases = Leases(self.own, settings.lease, settings.address)
        self.writer = Writer(self.own, settings, self.leases, self._deliver, self._rehearse)
        self.keys = KeyRing(self.own)
        self.threads = {kind: concurrent.futures.ThreadPoolExecutor(number, kind) for kind, number in THREADS.items()}
        self._refreshing: asyncio.Future[None] | None = None  # the reading of the keys that is under way
        self.histories = Histories(self.database)
        self.private_key = b""  # what certificates are signed with
        self.creating: dict[str, asyncio.Future[Any]] = {}  # experiments that wait for their kernels, by spec
        self.closing = False
        self.ending: Callable[[], bool] = lambda: self.closing  # whether answers that never end must end

    def open(self) -> None:
        """Make the tables, read the keys, start the writer. Raises ValueError where another process has the file."""
        self.database.lock()
        self.database.migrate()
        if files := self.database.readable_files():
            logger().warning("database readable by other users", files=files, remedy=f"it holds private keys: chmod 600 {' '.join(files)}")
        with self.database.write() as connection:
            self.private_key = secret(connection, CERTIFYING)
        self.keys.refresh()
        self.leases.start()
        self.writer.start()

    def close(self) -> None:
        self.closing = True
        if self.writer.is_alive():
            self.writer.stop()
        self.leases.stop()
        for pool in self.threads.values():
            pool.shutdown(wait=False, cancel_futures=True)
        self.own.close()
        self.database.close()

    async def ask(
        self, experiment: str, act: Callable[[Transaction], T | Unfinished], ids: Iterable[str] = (), spec: ExperimentSpec | None = None,
        author: Author = UNKNOWN,
    ) -> T:  # fmt: skip
        """The answer to a command, once its events are on disk. author: who is to be named in the audit trail. Raises
        Refused."""
        if self.closing or not self.writer.is_alive():
            raise shutting_down()
        ticket = asyncio.get_running_loop().create_future()
        self.writer.ask(Command(experiment, act, ids, ticket, spec, getattr(act, "failed", None), author))
        return await ticket

    async def in_thread(self, kind: str, work: Callable[[*Parts], T], *arguments: *Parts) -> T:
        """The value of a function that takes long, run in a thread for its kind (see THREADS). Raises what it raises."""
        if self.closing:
            raise shutting_down()
        return await asyncio.get_running_loop().run_in_executor(self.threads[kind], work, *arguments)

    async def refresh_keys(self, known: bool) -> None:
        """Read the keys again, once at a time; a request whose key is known does not wait for the reading that another began."""
        if self._refreshing is None:
            self._refreshing = asyncio.ensure_future(self.in_thread("keys", self.keys.refresh))
            self._refreshing.add_done_callback(self._refreshed)
        elif known:
            return
        await asyncio.shield(self._refreshing)

    def _refreshed(self, _: object) -> None:
        self._refreshing = None

    def ask_now(
        self, experiment: str, act: Callable[[Transaction], T | Unfinished], ids: Iterable[str] = (), spec: ExperimentSpec | None = None
    ) -> T:
        ticket: concurrent.futures.Future[T] = concurrent.futures.Future()
        self.writer.ask(Command(experiment, act, ids, ticket, spec, getattr(act, "failed", None)))
        return ticket.result()

    def _rehearse(self, spec: ExperimentSpec) -> None:
        """Compile, beside the writer, what requests of an experiment can reach that its log did not."""
        if self.settings.own_process:
            with contextlib.suppress(RuntimeError):  # the service is shutting down
                self.threads["warm-up"].submit(warm_up, spec)

    def _deliver(self, answers: Sequence[Answered]) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[tuple[Ticket, Answer]]] = {}
        for ticket, answer in answers:
            if isinstance(ticket, asyncio.Future):
                loops.setdefault(ticket.get_loop(), []).append((ticket, answer))
            elif ticket is not None:
                settle(ticket, answer)
        for loop, ready in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle_all, ready)


def shutting_down() -> Refused:
    return Refused(503, "The service is shutting down; send the same request again.", retry_after=1)


def _settle_all(ready: Sequence[tuple[Ticket, Answer]]) -> None:
    for ticket, answer in ready:
        if not ticket.done():  # the client may have gone
            settle(ticket, answer)


def settle(ticket: Ticket, answer: Answer) -> None:
    put: Callable[[Any], None] = ticket.set_exception if isinstance(answer, BaseException) else ticket.set_result
    put(answer)
