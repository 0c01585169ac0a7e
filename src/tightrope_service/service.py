"""The running service without its HTTP: asynchronous requests on one side, the writer's thread on
the other; threads for reading, processes for judging, and the compilation of kernels before an
experiment begins."""

import asyncio
import base64
import concurrent.futures
import contextlib
import hashlib
import math
import multiprocessing
import os
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeVar, TypeVarTuple

import numpy as np

from tightrope.extend import label
from tightrope.logs import Log

from . import JsonObject, log
from .database import Database
from .errors import Refused, invalid, unknown_experiment
from .events import ArmsAdded, Cancelled, Decided, Expired, ModeChanged, Rewarded
from .experiment import created, decide
from .history import History
from .keys import KeyRing
from .log import CERTIFYING, UNKNOWN, Author, ExperimentJournal, secret
from .recovery import Leases
from .requests import DecisionRequest, EvaluationRequest
from .settings import Settings, logger
from .spec import ArmSpec, ExperimentSpec, Mode, check_size, made_oracle
from .writer import Answer, Answered, Command, Ticket, Transaction, Unfinished, Writer

# The histories that are being read, kept so that only new events are read again.


MOST_HISTORIES = 20  # experiments


class Histories:
    """Histories by experiment, the last ones that were asked for. Called from threads that may wait
    for the database. most: that are kept;
    None: all."""

    def __init__(self, database: Database, most: int | None = MOST_HISTORIES) -> None:
        self.database, self.most = database, most
        self._kept: OrderedDict[str, tuple[threading.Lock, History]] = OrderedDict()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def until(self, name: str, seq: int, exactly: bool = False) -> Iterator[History]:
        """The history of an experiment up to an event at least, or exactly, for one reader at a
        time."""
        with self._lock:
            lock, history = self._kept.setdefault(name, (threading.Lock(), History()))
            self._kept.move_to_end(name)
            while self.most is not None and len(self._kept) > self.most:
                self._kept.popitem(last=False)
        with lock:
            if exactly and history.seq > seq:
                history = History()
            if history.seq < seq:
                self._read(history, name, seq)
            yield history

    def _read(self, history: History, name: str, seq: int) -> None:
        with self.database.read() as connection:
            row = log.row_of(connection, name)
            if row is None:
                raise unknown_experiment(name)
            for entry in log.read(connection, row, history.seq, seq):
                history.take(entry.event, entry.seq, entry.time)


# Judging a policy on an experiment's log, in a process of its own: kernels that it compiles and
# worlds that it fits make nobody wait.


LONGEST = 120.0  # seconds
NICENESS = 10  # of the process, so that decisions go first
REMEDY = "export the log and judge it with tightrope evaluate, where nobody waits"


def judge_apart(
    log: Log, request: EvaluationRequest, baseline: str | None, seconds: float = LONGEST
) -> JsonObject:
    """The result of `tr.evaluate`, or for a policy that learns of `tr.evaluate_learner`. baseline:
    an arm that it would replace.

    Raises Refused with the library's sentence, and where it takes longer than so many seconds.
    """
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_judge, args=(theirs, log, request, baseline), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            raise Refused(
                422, f"policy takes longer than {seconds:g} s to judge; {REMEDY}.", "policy"
            )
        refused, answer = ours.recv()
    except EOFError:
        raise Refused(
            422,
            f"policy could not be judged: its process ended, for want of memory perhaps; {REMEDY}.",
            "policy",
        ) from None
    finally:
        process.kill()
        process.join()
        ours.close()
    if refused:
        raise invalid(ValueError(answer))
    record: JsonObject = answer
    return record


def _judge(
    connection: Connection, log: Log, request: EvaluationRequest, baseline: str | None
) -> None:
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # a Ctrl-C is the service's, which ends this process
    os.nice(NICENESS)
    try:
        connection.send((False, _record(log, request, baseline)))
    except ValueError as error:
        connection.send((True, str(error)))


def _record(log: Log, request: EvaluationRequest, baseline: str | None) -> JsonObject:
    from tightrope import Session, evaluate, evaluate_learner
    from tightrope.evaluation.targets import policy_to_judge
    from tightrope.extend import is_policy, label

    if request.session is not None:
        try:
            data = base64.b64decode(request.session, validate=True)
        except ValueError:
            raise ValueError(
                "session is not base64; encode the bytes that Session.to_bytes, or a file of "
                "Session.save, has."
            ) from None
        target: Any = Session.from_bytes(data)
    else:
        target = policy_to_judge(request.policy, log, "policy")
    if is_policy(target):
        if request.method is None:
            raise ValueError(
                f"method is missing: {label(target)} learns while it plays. Give method = "
                "'replay' (for logs whose arms were drawn uniformly) or 'simulate' (worlds fitted "
                "to the log), or a session, which is judged at its present state."
            )
        return evaluate_learner(
            log,
            target,
            method=request.method,
            alpha=request.alpha,
            bootstraps=request.bootstraps,
            seed=request.seed,
        ).record()
    if request.method is not None:
        raise ValueError(
            f"method = {request.method!r} is for a policy that learns while it plays; leave it out."
        )
    return evaluate(
        log, target, baseline=baseline, estimator=request.estimator, alpha=request.alpha
    ).record()


# Rehearsals: what requests can reach of an experiment's policy is compiled before the experiment
# begins, and not in the writer's thread.


CANDIDATES = 3  # of a decision that brings its own
LENGTH = 0.1  # of its features, which policies with a promise bound
TRIES, MOST_SECONDS = (
    5,
    0.1,
)  # that are timed, and what one decision may take, which nothing can divide into parts
MOST_TRIES, MOST_LOOKING = 200, 2.0  # decisions, and seconds, until chances are drawn
FEW_ARMS = 1000  # arms that are not timed when they are added
# candidates of a rehearsal; a policy that plays more in a set is left to its first decision
MOST_CANDIDATES = 1000

_ARMS: JsonObject = {"arms": [{"id": "a"}, {"id": "b"}]}
_PROMISE: JsonObject = {"baseline": "a", "baseline_mean": 0.5, "alpha": 0.1, "rollout": {}}
COMMON: tuple[
    JsonObject, ...
] = (  # kinds that are compiled when a service starts, the commonest first
    {"policy": {"policy": "EpsilonGreedy", "epsilon": 0.1}} | _PROMISE,
    {"policy": "BetaThompson"} | _PROMISE,
    {"policy": "BetaThompson"},
    {
        "policy": {"policy": "EpsilonGreedy", "epsilon": 0.1},
        "baseline": "a",
        "baseline_mean": {"revenue": 0.5, "sale": 0.5},
        "metrics": {"revenue": [0, 1], "sale": [0, 1]},
        "promises": [{"alpha": 0.1}, {"metric": "sale", "alpha": 0.1}],
    },
    {"policy": "UCB"},
    {"policy": "UCB"} | _PROMISE,
    {"policy": "LinUCB", "dimension": 2},
    {"policy": "LinTS", "dimension": 2},
)

_one_at_a_time = (
    threading.Lock()
)  # a client that asks again while the first request compiles must not compile beside it
_rehearsed: set[bytes] = set()  # digests of specs, without what compiles nothing


def warm_up(spec: ExperimentSpec) -> None:
    """Play rounds of an experiment that nobody sees: its kernels are then compiled, or read from
    their cache.

    Takes some seconds the first time that a kind of policy runs on a machine, else milliseconds.
    What cannot be tried is left to the first decision. Raises ValueError where the spec describes
    no session.
    """
    kind = hashlib.sha256(
        spec.model_copy(update={"name": "any", "seed": 0}).model_dump_json().encode()
    ).digest()
    with _one_at_a_time:
        if kind in _rehearsed:
            return
        created(spec)  # raises where it is none
        spec = spec.in_numbers()
        # whether all arms may be shown one row: a regression for all arms, or one for each
        fits = spec.dimension is not None and spec.oracle is None and len(spec.arms or ()) > 1
        for mode in modes(spec):
            for one_row in (False, True) if fits else (False,):
                journal = journal_of(spec, mode)
                for number, request in enumerate(sample_requests(spec, one_row)):
                    rehearse(journal, request, str(number))
                read_once(journal)
                check_seconds(journal, spec, one_row)
        _rehearsed.add(kind)


def journal_of(spec: ExperimentSpec, mode: Mode) -> ExperimentJournal:
    journal = ExperimentJournal(spec.name)
    journal.record(created(spec), 0)
    before = journal.experiment.rollout.mode
    if mode != before:
        journal.record(ModeChanged(mode, 0.5, False, "command", "", before), 0)
    return journal


def common_specs() -> list[ExperimentSpec]:
    return [ExperimentSpec.model_validate({"name": "any"} | _ARMS | one) for one in COMMON]


def check_growth(spec: ExperimentSpec, more: list[ArmSpec]) -> None:
    """Raise ValueError where a decision among more arms takes too long, or their state too much.
    spec: of the experiment as it began. more: arms that were, or will be, added to it."""
    arms = len(spec.arms or ()) + len(more)
    spec = spec.in_numbers()
    with _one_at_a_time:
        journal = journal_of(spec, "full")
        check_size(spec, journal.experiment.session.policy, arms)
        journal.record(ArmsAdded([arm.model_dump(exclude_none=True) for arm in more]), 0)
        check_seconds(
            journal,
            spec if spec.arms is None else spec.model_copy(update={"arms": [*spec.arms, *more]}),
        )


def check_seconds(journal: ExperimentJournal, spec: ExperimentSpec, one_row: bool = False) -> None:
    """Raise ValueError where a decision takes so long, now that nothing has to be compiled, that
    others would wait for it.

    A policy that keeps a budget plays its baseline first, which is cheap. So decisions are rewarded
    as well as can be until some are made whose chances are drawn.
    """
    request = next(sample_requests(spec, one_row))
    seconds: dict[bool, list[float]] = {
        False: [],
        True: [],
    }  # of decisions, and of those whose chances were drawn
    ended = time.perf_counter() + MOST_LOOKING
    for number in range(MOST_TRIES):
        began = time.perf_counter()
        try:
            event = decide(journal.experiment, f"timed {number}", request, 0)
        except (Refused, ValueError):
            return
        took = time.perf_counter() - began
        has_draws = bool(np.any(np.asarray(event.propensity_se) > 0.0))
        seconds[has_draws].append(took)
        enough = len(seconds[True]) >= TRIES or (
            journal.experiment.holdings() is None and number >= TRIES
        )
        if enough or began > ended:
            break
        journal.record(event, 0)
        journal.record(rewarded(event, spec, good=True), 0)
    least = min(seconds[True] or seconds[False])
    if least <= MOST_SECONDS:
        return
    raise ValueError(
        f"policy = {label(journal.experiment.session.policy)} takes {least:.2g} s for a decision "
        f"among {len(spec.arms or ()):,} arms, in which all other requests wait; {MOST_SECONDS:g} "
        "s are allowed. Use fewer arms, fewer features or a policy that draws nothing, such as "
        "LinUCB."
    )


def modes(spec: ExperimentSpec) -> list[Mode]:
    """Modes in which an experiment decides by other calls: beside a baseline, whose own chance it
    measures or not, and alone."""
    if spec.oracle is not None or (
        spec.arms is not None and spec.rollout is None and not isinstance(spec.baseline, str)
    ):
        return ["full"]
    return ["full", "capped"]


def rehearse(journal: ExperimentJournal, request: DecisionRequest, id: str) -> None:
    spec = journal.experiment.spec
    for ending in range(3):
        with contextlib.suppress(Refused, ValueError):
            event = decide(journal.experiment, f"{id} {ending}", request, 0)
            journal.record(event, 0)
            journal.record(
                (
                    (
                        rewarded(event, spec, good=False),
                        Cancelled(event.decision),
                        Expired(event.decision, spec.default_reward),
                    )
                )[ending],
                0,
            )


def rewarded(event: Decided, spec: ExperimentSpec, good: bool) -> Rewarded:
    if spec.metrics is None:
        value = (spec.reward_range or (0.0, 1.0))[good]
        several = not isinstance(event.arm, int)
        return Rewarded(event.decision, dict.fromkeys(event.name, value) if several else value)
    low_is_good = {one.metric for one in spec.kept if one.bounds_above}
    values = {name: ends[good != (name in low_is_good)] for name, ends in spec.metrics.items()}
    return Rewarded(event.decision, values)


def read_once(journal: ExperimentJournal) -> None:
    experiment = journal.experiment
    readings: list[Callable[[], object]] = [
        experiment.holdings,
        lambda: experiment.session.view().explain(),
    ]
    if type(experiment.session.policy).TRAITS.stops:
        readings.append(lambda: experiment.session.view().recommend())
    for reading in readings:
        with contextlib.suppress(ValueError):
            reading()


def sample_requests(spec: ExperimentSpec, one_row: bool = False) -> Iterator[DecisionRequest]:
    """Requests of every kind that fit the spec; what does not fit after all is refused when it is
    tried. one_row: for all arms."""
    fields: JsonObject = {}
    ids = [arm.id for arm in spec.arms or ()]
    if spec.dimension is not None:
        if spec.arms is None:
            oracle = made_oracle(spec)
            size = 0 if oracle is None else int(getattr(oracle, "size", 0))
            ids = [str(k) for k in range(CANDIDATES + min(size, MOST_CANDIDATES))]
        short = LENGTH / math.sqrt(spec.dimension)
        rows = {id: [short / (k + 1)] * spec.dimension for k, id in enumerate(ids)}
        fields = {"context": [short] * spec.dimension if one_row else rows}
    spare = next(
        (id for id in reversed(ids) if id != spec.baseline and id not in (spec.baseline or ())),
        None,
    )
    masks: list[JsonObject] = [{}] if spare is None or len(ids) < 2 else [{}, {"excluded": [spare]}]
    baselines: list[JsonObject] = [{}]
    if spec.rounds_have_baselines and ids:
        baselines += [{"baseline": ids[0]}, {"baseline": ids[0], "baseline_mean": 0.5}]
    for baseline in baselines:
        for mask in masks:
            yield DecisionRequest(**fields, **mask, **baseline)


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
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.database = Database(settings.db)
        self.own = Database(
            settings.db
        )  # connections of the writer and the keys, which must not wait until somebody has read
        self.leases = Leases(self.own, settings.lease, settings.address)
        self.writer = Writer(self.own, settings, self.leases, self._deliver, self._rehearse)
        self.keys = KeyRing(self.own)
        self.threads = {
            kind: concurrent.futures.ThreadPoolExecutor(number, kind)
            for kind, number in THREADS.items()
        }
        self._refreshing: asyncio.Future[None] | None = None  # the last reading of the keys
        self.histories = Histories(self.database)
        self.private_key = b""  # what certificates are signed with
        self.creating: dict[
            str, asyncio.Future[Any]
        ] = {}  # experiments that wait for their kernels, by spec
        self.closing = False

    def open(self) -> None:
        """Make the tables, read the keys, start the writer. Raises ValueError where another process
        has the file."""
        self.database.lock()
        self.database.migrate()
        if files := self.database.readable_files():
            logger().warning(
                "database readable by other users",
                files=files,
                remedy=f"it holds private keys: chmod 600 {' '.join(files)}",
            )
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
        self,
        experiment: str,
        act: Callable[[Transaction], T | Unfinished],
        ids: Iterable[str] = (),
        spec: ExperimentSpec | None = None,
        author: Author = UNKNOWN,
    ) -> T:
        """The answer to a command, once its events are on disk. author: who is to be named in the
        audit trail. Raises Refused."""
        if self.closing or not self.writer.is_alive():
            raise shutting_down()
        ticket = asyncio.get_running_loop().create_future()
        self.writer.ask(
            Command(experiment, act, ids, ticket, spec, getattr(act, "failed", None), author)
        )
        return await ticket

    async def in_thread(self, kind: str, work: Callable[[*Parts], T], *arguments: *Parts) -> T:
        """The value of a function that takes long, run in a thread for its kind (see THREADS).
        Raises what it raises."""
        if self.closing:
            raise shutting_down()
        return await asyncio.get_running_loop().run_in_executor(
            self.threads[kind], work, *arguments
        )

    async def read_history(
        self, name: str, seq: int, read: Callable[[History], T], exactly: bool = False
    ) -> T:
        """The value of a function of an experiment's history (see `Histories.until`), computed in a
        thread for reading."""

        def work() -> T:
            with self.histories.until(name, seq, exactly) as history:
                return read(history)

        return await self.in_thread("reading", work)

    async def refresh_keys(self, known: bool) -> None:
        """Read the keys again, once at a time; a request whose key is known does not wait for the
        reading that another began."""
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.ensure_future(self.in_thread("keys", self.keys.refresh))
        elif known:
            return
        await asyncio.shield(self._refreshing)

    def ask_now(
        self,
        experiment: str,
        act: Callable[[Transaction], T | Unfinished],
        ids: Iterable[str] = (),
        spec: ExperimentSpec | None = None,
    ) -> T:
        ticket: concurrent.futures.Future[T] = concurrent.futures.Future()
        self.writer.ask(Command(experiment, act, ids, ticket, spec, getattr(act, "failed", None)))
        return ticket.result()

    def _rehearse(self, spec: ExperimentSpec) -> None:
        """Compile, beside the writer, what requests of an experiment can reach that its log did
        not."""
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
    put: Callable[[Any], None] = (
        ticket.set_exception if isinstance(answer, BaseException) else ticket.set_result
    )
    put(answer)
