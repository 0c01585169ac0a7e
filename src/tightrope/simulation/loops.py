"""The two loops, written once for every policy, problem and monitor. Compiled by default;
`python_of` gives the interpreted twin."""

import bisect
import functools
import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeAlias, TypeGuard, TypeVar, cast

import numpy as np
from numba import literal_unroll, types

from ..compiled.kernels import PART, jit, python_of, returns_views, shared_overload
from ..core import checks
from ..core.policy import (
    Delay,
    Monitor,
    Policy,
    Problem,
    compiled,
    is_policy,
    is_policy_class,
    label,
    lateness,
)
from ..core.registry import check_fit
from ..core.streams import DELAY, NOISE, POLICY, PROBLEM, stream
from ..core.types import State, Tally
from ..core.verbs import (
    Arms,
    Context,
    admit,
    begin,
    commit,
    describe,
    entry_or_none,
    init,
    metric_value,
    observe,
    play,
    private,
    regret,
    select,
    stopped,
    update,
    watch,
)
from ..problems.arms import read_only
from .delays import Late, most_open
from .monitors import NoMonitor, WrongAction, checked, foreign_within, is_foreign, sentence

# Arguments of `simulate` and `identify`, checked once: problems, policies and monitors for every
# replication, sizes.


T = TypeVar("T")
Policies: TypeAlias = Mapping[str, Policy | Callable[..., Policy]] | Sequence[Policy] | Policy
Monitors: TypeAlias = (
    Mapping[str, Monitor | Callable[..., Monitor] | None] | Monitor | Callable[..., Monitor] | None
)


@dataclass(frozen=True)
class PerProblem(Generic[T]):
    """A policy or monitor for every problem, made once: the same for all, or what a function of the
    problem returned."""

    function: str | None  # its name; None: the same for all
    items: Sequence[T]

    @staticmethod
    def of(
        source: T | Callable[[Problem], T],
        worlds: Sequence["World"],
        is_item: Callable[[object], TypeGuard[T]],
    ) -> "PerProblem[T]":
        if is_item(source) or is_policy_class(source) or not callable(source):
            return PerProblem(None, [cast(T, source)])
        return PerProblem(
            getattr(source, "__qualname__", repr(source)),
            [source(_locked(world.problem)) for world in worlds],
        )

    def __getitem__(self, replication: int) -> T:
        return self.items[replication % len(self.items)]


def _locked(problem: Problem) -> Problem:
    """The problem as a function of it may read it: what its kernels write into is a copy,
    everything else is read-only."""
    written = getattr(problem, "WRITTEN", ())
    return (
        problem._replace(**{name: read_only(getattr(problem, name)) for name in written})
        if written
        else problem
    )


class World:
    """A problem as its replications meet it: described once, with what its first round shows.

    What a loop relies on is checked on that round: a kernel that may raise cannot be fast.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.arms = describe(private(problem))

    @functools.cached_property
    def first_round(self) -> Context:
        return observe(private(self.problem), 0, stream(0, 0, PROBLEM))


def check_round(problem: Problem, arms: Arms, context: Context) -> None:
    """Refuse a round that shows other features, masks or baselines than `arms` describes."""
    observe, K = f"{type(problem).__name__}'s observe", arms.number
    features, mask, baseline = context.features, context.eligible, context.baseline
    if features is not None and features.shape != (arms.rows, arms.dimension):
        raise ValueError(
            f"{observe} gave features of shape {features.shape}, but arms says "
            f"({arms.rows}, {arms.dimension})."
        )
    if mask is not None and (np.shape(mask) != (K,) or not np.any(mask)):
        raise ValueError(
            f"{observe} gave a mask of {np.size(mask)} entries of which {np.count_nonzero(mask)} "
            f"are eligible, but it needs {K} entries (bool) and at least one eligible arm."
        )
    if baseline is not None and not 0 <= baseline < K:
        raise ValueError(f"{observe} named baseline {baseline}, but arms are 0 to {K - 1}.")


def as_worlds(problem: Problem | Sequence[Problem]) -> Sequence[World]:
    several = isinstance(problem, list | tuple) and not hasattr(problem, "_fields")
    problems: list[Problem] = (
        list(problem) if several else [problem]  # type: ignore[list-item, arg-type]
    )
    if not problems:
        raise ValueError("problem is an empty list; it needs at least one problem.")
    for item in problems:
        if not describe.answers(item):
            raise ValueError(
                f"problem = {checks.show(item)} is not a problem; pass one such as "
                "problems.Bernoulli([0.3, 0.6])."
            )
    if len({type(item) for item in problems}) > 1:
        raise ValueError("problem is a list of different kinds; all of them must be of one class.")
    worlds = [World(item) for item in problems]
    for world in worlds:
        if is_foreign(world.problem):
            check_round(world.problem, world.arms, world.first_round)
    numbers = {world.arms.number for world in worlds}
    if len(numbers) > 1:
        raise ValueError(
            f"problem is a list with {min(numbers)} to {max(numbers)} arms; all of them must have "
            "as many."
        )
    return worlds


def as_policies(
    policies: Policies, worlds: Sequence[World], horizon: int | None
) -> dict[str, PerProblem[Policy]]:
    """Names and policies, given or made by functions of the problem, checked against what the
    problems offer and first show."""
    if is_policy(policies):
        policies = [policies]
    if isinstance(policies, list | tuple) and policies and all(map(is_policy, policies)):
        policies = _by_class(policies)
    if is_policy_class(policies):
        raise ValueError(
            f"policies = {policies.__name__} is a class; pass an instance: {policies.__name__}()."
        )
    if isinstance(policies, list | tuple) and any(map(is_policy_class, policies)):
        k = next(k for k, item in enumerate(policies) if is_policy_class(item))
        called = policies[k].__name__
        raise ValueError(f"policies[{k}] = {called} is a class; pass an instance: {called}().")
    if not isinstance(policies, Mapping) or not policies:
        forms = (
            "a policy, a list of policies such as [UCB(), KLUCB()], nor a dict of names and "
            "policies such as {'UCB': UCB()}"
        )
        raise ValueError(f"policies = {checks.show(policies)} is neither {forms}.")
    chosen = {}
    for name, policy in policies.items():
        if not isinstance(name, str):
            raise ValueError(f"policies has the name {name!r}, but names must be text.")
        if is_policy_class(policy):
            called = policy.__name__
            raise ValueError(
                f"policies[{name!r}] = {called} is a class; pass an instance: {called}()."
            )
        chosen[name] = PerProblem.of(policy, worlds, is_policy)
        for item, world in zip(chosen[name].items, worlds, strict=False):
            if not is_policy(item):
                what = checks.show(item)
                fault = (
                    f"= {what}"
                    if chosen[name].function is None
                    else f"makes {what} of a problem, which"
                )
                raise ValueError(
                    f"policies[{name!r}] {fault} is not a policy; pass an instance such as UCB()."
                )
            check_fit(item, world.arms)
            # `init` of those that stop may take minutes: see `prepare`
            if admit.answers(item) and not type(item).TRAITS.stops:
                state = init(item, world.arms._replace(horizon=horizon))
                admit(item, state, world.first_round)
    return chosen


def _by_class(policies: Sequence[Policy]) -> dict[str, Policy]:
    """Policies by the names of their classes, and by their parameters too where several are of one
    class."""
    classes = [type(item).__name__ for item in policies]
    names = [
        name if classes.count(name) == 1 else label(item)
        for name, item in zip(classes, policies, strict=True)
    ]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"policies has {name} twice; give a dict with a name for each, such as {{'first': "
                "UCB(), 'second': UCB()}."
            )
    return dict(zip(names, policies, strict=True))


def as_monitors(
    monitor: Monitors, names: Sequence[str], worlds: Sequence[World]
) -> dict[str, PerProblem[Monitor]]:
    """A monitor, given or made by a function of the problem, for every policy."""
    by_name = dict(monitor) if isinstance(monitor, Mapping) else dict.fromkeys(names, monitor)
    if by_name.keys() != set(names):
        raise ValueError(
            f"monitor has {', '.join(map(checks.show, by_name))}, but must have the names of the "
            f"policies, {', '.join(names)}."
        )
    monitors = {
        name: PerProblem.of(NoMonitor() if item is None else item, worlds, begin.answers)
        for name, item in by_name.items()
    }
    for item in itertools.chain.from_iterable(
        per_problem.items for per_problem in monitors.values()
    ):
        if not begin.answers(item):
            raise ValueError(
                f"monitor = {checks.show(item)} is not a monitor; pass one such as "
                "Budget(baseline=0)."
            )
    for per_problem in monitors.values():
        for item, world in zip(per_problem.items, worlds, strict=False):
            if admit.answers(item):
                admit(item, begin(item, world.arms, 1), world.first_round)
    return monitors


def as_rounds(name: str, value: object) -> int:
    return checks.integer(name, value, least=1, most=checks.MOST_ROUNDS)


# Rewards between their round and the update that learns from them. A run without a delay pays
# nothing for it.


class AtOnce(NamedTuple):
    """Every reward is learned in its own round."""

    unused: int = 0


COUNTS = np.dtype(
    [
        ("open", "i8"),  # rewards that are awaited
        (
            "latest",
            "i8",
        ),  # when the last of them is due, where they are taken in by order of decision
        ("lost", "i8"),  # rewards there was no room for; the run is then void
    ],
    align=True,
)


class PendingRewards(NamedTuple):
    """Rewards of single arms that are awaited: a heap of slots by (due, decided), and what each
    round showed."""

    delay: Late
    in_order: bool
    counts: np.ndarray  # (1,) COUNTS; of several metrics (M,), of which `latest` is by metric
    heap: np.ndarray  # (n,) slots: first the `open` taken ones as a heap, then the free ones
    due: np.ndarray  # (n,) round before whose choice it is learned
    decided: np.ndarray  # (n,) round of the decision
    arm: np.ndarray  # (n,)
    reward: np.ndarray  # (n,)
    features: np.ndarray | None  # (n, K, d) of its round, None where rounds show none; likewise:
    eligible: np.ndarray | None  # (n, K)
    baseline: np.ndarray | None  # (n,)
    baseline_mean: np.ndarray | None  # (n,)
    segment: np.ndarray | None  # (n,)
    metric: np.ndarray | None  # (n,) which one `reward` is a value of, None where there is one
    values: np.ndarray | None  # (M,) scratch


def new_pending(delay: Late, in_order: bool, horizon: int, world: World) -> "Pending":
    if world.arms.oracle is not None:
        return PendingSets(cast(Delay, delay), in_order, [])
    metrics, metric, values = world.arms.metrics, None, None
    n = most_open(delay, horizon, in_order)
    if metrics is not None:
        metric, values = np.zeros(n, dtype=np.int64), np.zeros(len(metrics))
    room = [
        None if value is None else np.zeros((n, *np.shape(value)), dtype=np.asarray(value).dtype)
        for value in world.first_round
    ]
    counts = np.zeros(len(metrics or "1"), dtype=COUNTS).view(np.recarray)
    due, decided, arm = (np.zeros(n, dtype=np.int64) for _ in range(3))
    first = delay, in_order, counts, np.arange(n), due, decided, arm, np.zeros(n)
    return PendingRewards._make((*first, *room, metric, values))


def check_room(delay: Late, in_order: bool, horizon: int, shown: Context) -> None:
    each = 40 + sum(np.asarray(value).nbytes for value in shown if value is not None)
    checks.fits_in_memory("delay: rewards open at once", most_open(delay, horizon, in_order), each)


@returns_views
def keep(kept, slot, value):
    if kept is not None:
        kept[slot] = value


@jit
def sooner(pending, one, other):
    if pending.due[one] != pending.due[other]:
        return pending.due[one] < pending.due[other]
    return pending.decided[one] < pending.decided[other]


@jit
def rise(pending, place):
    heap = pending.heap
    while place > 0 and sooner(pending, heap[place], heap[(place - 1) // 2]):
        above = (place - 1) // 2
        heap[place], heap[above] = heap[above], heap[place]
        place = above


@jit
def take_first(pending):
    """Take the first slot out of the heap; it is free from now on, and what it holds stays until it
    is used again."""
    heap, counts = pending.heap, pending.counts[0]
    counts.open -= 1
    last, place = counts.open, 0
    heap[0], heap[last] = heap[last], heap[0]
    while True:
        below = 2 * place + 1
        if below + 1 < last and sooner(pending, heap[below + 1], heap[below]):
            below += 1
        if below >= last or not sooner(pending, heap[below], heap[place]):
            return heap[last]
        heap[place], heap[below] = heap[below], heap[place]
        place = below


@jit
def deliver_pending(pending, policy, state, t):
    while pending.counts[0].open > 0 and pending.due[pending.heap[0]] <= t:
        slot = take_first(pending)
        context = Context(
            entry_or_none(pending.features, slot),
            entry_or_none(pending.eligible, slot),
            entry_or_none(pending.baseline, slot),
            entry_or_none(pending.baseline_mean, slot),
            entry_or_none(pending.segment, slot),
        )
        reward = value_among(pending.values, pending.metric, slot, pending.reward[slot])
        action = pending.arm[slot]
        state = update(policy, state, context, action, told(policy, action, reward))
    return state


def takes_metrics(policy):
    """Whether a policy learns from the values of several metrics; others learn the objective's."""
    kind = type(policy)
    return getattr(kind, "METRICS", False) or any(map(takes_metrics, filter(is_policy, policy)))


@shared_overload(takes_metrics, PART, inline="always")
def _takes_metrics(policy):
    answer = learns_metrics(policy)
    return lambda policy: answer


def learns_metrics(numba_type: Any) -> bool:
    kind = getattr(numba_type, "instance_class", None)
    return getattr(kind, "METRICS", False) or (
        kind is not None and any(map(learns_metrics, numba_type.types))
    )


def told(policy, action, reward):
    """What a policy is told of a reward: the objective's value where it takes no metrics."""
    several = np.ndim(action) > 0 or takes_metrics(policy)
    return reward if several else metric_value(reward, 0)


@shared_overload(told, PART, inline="always")
def _told(policy, action, reward):
    if hasattr(action, "dtype") or learns_metrics(policy):
        return lambda policy, action, reward: reward
    return lambda policy, action, reward: metric_value(reward, 0)


def value_among(values, metric, slot, reward):
    """The reward, or one value of several metrics among others that are not in."""
    return reward if values is None else alone(values, metric[slot], reward)


@shared_overload(value_among, PART, inline="always")
def _value_among(values, metric, slot, reward):
    if isinstance(values, types.NoneType):
        return lambda values, metric, slot, reward: reward
    return lambda values, metric, slot, reward: alone(values, metric[slot], reward)


@returns_views
def alone(values, m, value):
    values[:] = math.nan
    values[m] = value
    return values


@jit
def send_metrics(pending, policy, state, context, action, reward, t, rng):
    m = 0
    for delay in literal_unroll(pending.delay):
        if m == 0 or takes_metrics(policy):
            send_one(pending, delay, m, context, action, reward[m], t, rng)
        m += 1  # noqa: SIM113  enumerate() does not go with it
    return state


@jit
def send_pending(pending, policy, state, context, action, reward, t, rng):
    send_one(pending, pending.delay, 0, context, action, reward, t, rng)
    return state


@jit
def send_one(pending, delay, m, context, action, reward, t, rng):
    counts = pending.counts[0]
    due = t + 1 + lateness(delay, t, reward, rng)
    if pending.in_order:
        due = max(due, pending.counts[m].latest)
        pending.counts[m].latest = due
    if counts.open == pending.heap.shape[0]:
        counts.lost += 1
        return
    slot = pending.heap[counts.open]
    pending.due[slot], pending.decided[slot], pending.arm[slot], pending.reward[slot] = (
        due,
        t,
        action,
        reward,
    )
    keep(pending.features, slot, context.features)
    keep(pending.eligible, slot, context.eligible)
    keep(pending.baseline, slot, context.baseline)
    keep(pending.baseline_mean, slot, context.baseline_mean)
    keep(pending.segment, slot, context.segment)
    keep(pending.metric, slot, m)
    counts.open += 1
    rise(pending, counts.open - 1)


class _PendingSets(NamedTuple):
    delay: Delay
    in_order: bool
    waiting: list[tuple[int, int, Context, np.ndarray, np.ndarray]]


class PendingSets(_PendingSets):
    """Rewards of sets that are awaited, for rounds in Python: (due, decided, context, action,
    rewards) by due and decided."""

    __slots__ = ()
    COMPILED = False


Pending: TypeAlias = AtOnce | PendingRewards | PendingSets


def deliver_sets(pending, policy, state, t):
    while pending.waiting and pending.waiting[0][0] <= t:
        state = update(policy, state, *pending.waiting.pop(0)[2:])
    return state


def send_sets(pending, policy, state, context, action, reward, t, rng):
    due, waiting = (
        t + 1 + int(lateness(pending.delay, t, float(np.sum(reward)), rng)),
        pending.waiting,
    )
    if pending.in_order and waiting:
        due = max(due, waiting[-1][0])
    # decided later, so behind all that are due in the same round
    place = bisect.bisect_right(waiting, due, key=itemgetter(0))
    kept = Context(*(value.copy() if isinstance(value, np.ndarray) else value for value in context))
    waiting.insert(place, (due, t, kept, np.copy(action), np.copy(reward)))
    return state


def deliver(pending, policy, state, t):
    """State after the rewards that are due before round t, those of earlier decisions first."""
    if isinstance(pending, PendingRewards):
        return python_of(deliver_pending)(pending, policy, state, t)
    return deliver_sets(pending, policy, state, t) if isinstance(pending, PendingSets) else state


@shared_overload(
    deliver, PART, inline="always"
)  # a call that returned the state would count references to all its arrays
def _deliver(pending, policy, state, t):
    if pending.instance_class is AtOnce:
        return lambda pending, policy, state, t: state
    return lambda pending, policy, state, t: deliver_pending(pending, policy, state, t)


def send(pending, policy, state, context, action, reward, t, rng):
    """State after round t, whose reward is learned now or kept until it is due."""
    if isinstance(pending, PendingRewards):
        one = send_pending if pending.metric is None else send_metrics
        return python_of(one)(pending, policy, state, context, action, reward, t, rng)
    if isinstance(pending, PendingSets):
        return send_sets(pending, policy, state, context, action, reward, t, rng)
    return update(policy, state, context, action, told(policy, action, reward))


@shared_overload(send, PART, inline="always")
def _send(pending, policy, state, context, action, reward, t, rng):
    if pending.instance_class is AtOnce:
        return lambda pending, policy, state, context, action, reward, t, rng: update(
            policy, state, context, action, told(policy, action, reward)
        )
    single = isinstance(pending[pending.fields.index("metric")], types.NoneType)
    one = send_pending if single else send_metrics

    def later(pending, policy, state, context, action, reward, t, rng):
        return one(pending, policy, state, context, action, reward, t, rng)

    return later


class RunLog(NamedTuple):
    rounds: np.ndarray  # (n,) checkpoints, increasing
    regret: np.ndarray  # (n,) cumulative pseudo-regret at each
    total: np.ndarray  # (1,) cumulative pseudo-regret so far
    row: np.ndarray  # (1,) next checkpoint
    pulls: np.ndarray  # (K,) how often each arm was played


def new_log(rounds: np.ndarray, n_arms: int) -> RunLog:
    return RunLog(
        rounds, np.zeros(rounds.size), np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros(n_arms)
    )


def note(pulls, action):
    """Count the arm, or the arms of a set, that were played."""
    if np.ndim(action):
        for arm in action:
            pulls[arm] += 1.0
    else:
        pulls[action] += 1.0


@shared_overload(note, PART, inline="always")
def _note(pulls, action):
    if hasattr(action, "dtype"):

        def many(pulls, action):
            for i in range(action.shape[0]):
                pulls[action[i]] += 1.0

        return many

    def one(pulls, action):
        pulls[action] += 1.0

    return one


def rewarded_arms(action, reward):
    """The arms whose rewards are known: all that were played, or the first of a set whose others
    were not looked at."""
    return action[: len(reward)] if np.ndim(action) else action


@shared_overload(rewarded_arms, PART, inline="always")
def _rewarded_arms(action, reward):
    if hasattr(action, "dtype"):
        return lambda action, reward: action[: len(reward)]
    return lambda action, reward: action


@jit
def fixed_horizon(
    policy,
    state,
    problem,
    pending,
    monitor,
    tally,
    log,
    first,
    last,
    problem_rng,
    noise_rng,
    policy_rng,
    delay_rng,
):
    """Play rounds first .. last - 1 and return the state and `last`. Splitting a run into several
    calls changes nothing."""
    total, row = log.total[0], log.row[0]
    for t in range(first, last):
        state = deliver(pending, policy, state, t)
        context = observe(problem, t, problem_rng)
        action = select(policy, state, context, policy_rng)
        state = commit(policy, state, context, action)
        reward = play(problem, context, action, noise_rng)
        total += regret(problem, context, action)
        note(log.pulls, action)
        checkpoint = -1
        if row < log.rounds.shape[0] and t + 1 == log.rounds[row]:
            log.regret[row] = total
            checkpoint = row
            row += 1
        watch(monitor, tally, policy, state, problem, context, action, t, checkpoint)
        state = send(
            pending, policy, state, context, rewarded_arms(action, reward), reward, t, delay_rng
        )
    log.total[0], log.row[0] = total, row
    return state, last


@jit
def until_stop(
    policy, state, problem, log, may_stop, first, last, problem_rng, noise_rng, policy_rng
):
    """Play rounds first .. last - 1, or fewer if the policy may stop and has its answer; return the
    state and the rounds played so far."""
    t = first
    while t < last and not (may_stop and stopped(policy, state)):
        context = observe(problem, t, problem_rng)
        action = select(policy, state, context, policy_rng)
        state = commit(policy, state, context, action)
        reward = play(problem, context, action, noise_rng)
        note(log.pulls, action)
        state = update(
            policy, state, context, rewarded_arms(action, reward), told(policy, action, reward)
        )
        t += 1
    return state, t


# One replication: what it starts from, and how its rounds are played in slices that can be
# interrupted.


F = TypeVar("F", bound=Callable[..., object])

SLICE_SECONDS = 0.1  # how long a compiled loop runs before it looks up: progress, interruption
FIRST_SLICE = 64

Progress = Callable[[int, int], None]
Play = Callable[[int, int], int]  # (first, last) -> the round after the last one played


class Stopped(Exception):
    """Raised inside a worker after an interruption."""


class NotInLanes(ValueError):
    """Raised before a run, which processors can play and a GPU cannot."""


class Interrupted(KeyboardInterrupt):
    """The run was stopped.

    Attributes
    ----------
    result : Result, Identification, TrainedBeta or None
        The replications that every policy had finished; None if there is none.
    """

    def __init__(self, result: object) -> None:
        super().__init__("interrupted")
        self.result = result


class Slices:
    """Hands out loop ends so that one call lasts about SLICE_SECONDS; shared by the workers of one
    policy. least: rounds of a call."""

    def __init__(
        self,
        stopping: Callable[[], bool],
        advance: Callable[[int], None],
        least: int = FIRST_SLICE,
    ) -> None:
        self.size, self.least, self.stopping, self.advance = least, least, stopping, advance

    def run(self, play: Play, rounds: int) -> int:
        """Call play until `rounds` are done or it plays fewer than asked; returns how many were
        played."""
        first = 0
        while first < rounds:
            if self.stopping():
                raise Stopped
            last = min(first + self.size, rounds)
            started = time.perf_counter()
            played = play(first, last)
            elapsed = time.perf_counter() - started
            self.advance(played - first)
            if elapsed < SLICE_SECONDS / 2 and last - first == self.size:
                self.size *= 4 if elapsed < SLICE_SECONDS / 8 else 2
            elif elapsed > 2 * SLICE_SECONDS:
                self.size = max(self.least, self.size // 2)
            first = played
            if played < last:
                break
        return first


@dataclass
class Replication:
    """Everything one replication of one policy starts from; `state` is the current one."""

    policy: Policy
    state: State
    problem: Problem
    arms: Arms
    streams: tuple[
        np.random.Generator, np.random.Generator, np.random.Generator
    ]  # problem, noise, policy
    late: (
        np.random.Generator
    )  # stream of the delays; the policy's where no reward is late, which then draws nothing


def prepare(
    policy: Policy,
    world: World,
    seed: int,
    replication: int,
    horizon: int | None,
    late: bool = False,
) -> Replication:
    """A fresh state, a private copy of the problem and the streams. late: whether rewards may
    be."""
    arms = world.arms._replace(horizon=horizon)
    own = arms
    if foreign_within(policy) is not None:  # which may write into arrays that replications share
        changes = {
            name: value.copy()
            for name, value in zip(arms._fields, arms, strict=True)
            if isinstance(value, np.ndarray)
        }
        own = arms._replace(**changes)
    state = init(policy, own)
    if type(policy).TRAITS.stops and admit.answers(policy):
        admit(policy, state, world.first_round)
    problem_rng, noise_rng, policy_rng = (
        stream(seed, replication, role) for role in (PROBLEM, NOISE, POLICY)
    )
    return Replication(
        policy,
        state,
        private(world.problem),
        arms,
        (problem_rng, noise_rng, policy_rng),
        stream(seed, replication, DELAY) if late else policy_rng,
    )


def loop_for(loop: F, policy: Policy, problem: Problem, pending: Pending | None = None) -> F:
    """The compiled loop, or the interpreted one where the policy, the problem or the pending
    rewards ask for it."""
    fits = compiled(policy) and all(
        getattr(type(item), "COMPILED", True) for item in (problem, pending)
    )
    return loop if fits else cast(F, python_of(loop))


def to_horizon(
    run: Replication, monitor: Monitor, rounds: np.ndarray, pending: Pending | None = None
) -> tuple[RunLog, Tally, Play]:
    """The log, the monitor's tally and the function that plays rounds of a fixed horizon; pending:
    the rewards that are awaited, by default none."""
    pending = AtOnce() if pending is None else pending
    log, tally = new_log(rounds, run.arms.number), begin(monitor, run.arms, rounds.size)
    policy = checked(run.policy, run.problem, run.arms)
    loop = loop_for(fixed_horizon, run.policy, run.problem, pending)

    def play(first: int, last: int) -> int:
        try:
            run.state, played = loop(
                policy,
                run.state,
                run.problem,
                pending,
                monitor,
                tally,
                log,
                first,
                last,
                *run.streams,
                run.late,
            )
        except WrongAction as wrong:
            raise ValueError(sentence(wrong, run.policy, run.problem, run.arms)) from None
        if isinstance(pending, PendingRewards) and pending.counts[0]["lost"]:
            raise RuntimeError(
                f"delay had more than {pending.heap.size} rewards open at once, its `longest`; "
                "run it with another seed."
            )
        return int(played)

    return log, tally, play


def to_stop(run: Replication, may_stop: bool) -> tuple[RunLog, Play]:
    """The log and the function that plays rounds until the policy has its answer."""
    log = new_log(np.zeros(0, dtype=np.int64), run.arms.number)
    policy = checked(run.policy, run.problem, run.arms)
    loop = loop_for(until_stop, run.policy, run.problem)

    def play(first: int, last: int) -> int:
        try:
            run.state, played = loop(
                policy, run.state, run.problem, log, may_stop, first, last, *run.streams
            )
        except WrongAction as wrong:
            raise ValueError(sentence(wrong, run.policy, run.problem, run.arms)) from None
        return int(played)

    return log, play
