"""Rewards between their round and the update that learns from them. A run without a delay pays nothing for it."""

from typing import NamedTuple, TypeAlias

import numpy as np

from ..compiled.kernels import PART, jit, python_of, returns_views
from ..compiled.parts import shared_overload
from ..core import checks
from ..core.delay import Delay, lateness
from ..core.problem import Problem
from ..core.verbs import Context, describe, entry_or_none, update
from .arguments import first_round
from .delays import most_open


class AtOnce(NamedTuple):
    """Every reward is learned in its own round."""

    unused: int = 0


COUNTS = np.dtype(
    [
        ("open", "i8"),  # rewards that are awaited
        ("latest", "i8"),  # when the last of them is due, where they are taken in by order of decision
        ("lost", "i8"),  # rewards there was no room for; the run is then void
    ],
    align=True,
)


class PendingRewards(NamedTuple):
    """Rewards of single arms that are awaited: a heap of slots by (due, decided), and what each round showed."""

    delay: Delay
    in_order: bool
    counts: np.ndarray  # (1,) COUNTS
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


def new_pending(delay: Delay, in_order: bool, horizon: int, problem: Problem) -> "Pending":
    """Room for the rewards that a run of so many rounds awaits."""
    if describe(problem).oracle is not None:
        return PendingSets(delay, in_order, [])
    n = most_open(delay, horizon, in_order)
    room = [None if value is None else np.zeros((n, *np.shape(value)), dtype=np.asarray(value).dtype) for value in first_round(problem)]
    counts = np.zeros(1, dtype=COUNTS).view(np.recarray)
    due, decided, arm = (np.zeros(n, dtype=np.int64) for _ in range(3))
    return PendingRewards(delay, in_order, counts, np.arange(n), due, decided, arm, np.zeros(n), *room)


def check_room(delay: Delay, in_order: bool, horizon: int, shown: Context) -> None:
    """Refuse a delay whose open rounds this machine cannot hold."""
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
    """Take the first slot out of the heap; it is free from now on, and what it holds stays until it is used again."""
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
        state = update(policy, state, context, pending.arm[slot], pending.reward[slot])
    return state


@jit
def send_pending(pending, policy, state, context, action, reward, t, rng):
    counts = pending.counts[0]
    due = t + 1 + lateness(pending.delay, t, reward, rng)
    if pending.in_order:
        due = max(due, counts.latest)
        counts.latest = due
    if counts.open == pending.heap.shape[0]:
        counts.lost += 1
        return state
    slot = pending.heap[counts.open]
    pending.due[slot], pending.decided[slot], pending.arm[slot], pending.reward[slot] = due, t, action, reward
    keep(pending.features, slot, context.features)
    keep(pending.eligible, slot, context.eligible)
    keep(pending.baseline, slot, context.baseline)
    keep(pending.baseline_mean, slot, context.baseline_mean)
    keep(pending.segment, slot, context.segment)
    counts.open += 1
    rise(pending, counts.open - 1)
    return state


class _PendingSets(NamedTuple):
    delay: Delay
    in_order: bool
    waiting: list[tuple[int, int, Context, np.ndarray, np.ndarray]]


class PendingSets(_PendingSets):
    """Rewards of sets that are awaited, for rounds in Python: (due, decided, context, action, rewards) by due and decided."""

    __slots__ = ()
    COMPILED = False


Pending: TypeAlias = AtOnce | PendingRewards | PendingSets


def deliver_sets(pending, policy, state, t):
    while pending.waiting and pending.waiting[0][0] <= t:
        state = update(policy, state, *pending.waiting.pop(0)[2:])
    return state


def send_sets(pending, policy, state, context, action, reward, t, rng):
    due, waiting = t + 1 + int(lateness(pending.delay, t, float(np.sum(reward)), rng)), pending.waiting
    if pending.in_order and waiting:
        due = max(due, waiting[-1][0])
    place = len(waiting)
    while place and waiting[place - 1][0] > due:  # decided later, so behind all that are due in the same round
        place -= 1
    kept = Context(*(value.copy() if isinstance(value, np.ndarray) else value for value in context))
    waiting.insert(place, (due, t, kept, np.copy(action), np.copy(reward)))
    return state


def deliver(pending, policy, state, t):
    """State after the rewards that are due before round t, those of earlier decisions first."""
    if isinstance(pending, PendingRewards):
        return python_of(deliver_pending)(pending, policy, state, t)
    return deliver_sets(pending, policy, state, t) if isinstance(pending, PendingSets) else state


@shared_overload(deliver, PART, inline="always")  # a call that returned the state would count references to all its arrays
def _deliver(pending, policy, state, t):
    if pending.instance_class is AtOnce:
        return lambda pending, policy, state, t: state
    return lambda pending, policy, state, t: deliver_pending(pending, policy, state, t)


def send(pending, policy, state, context, action, reward, t, rng):
    """State after round t, whose reward is learned now or kept until it is due."""
    if isinstance(pending, PendingRewards):
        return python_of(send_pending)(pending, policy, state, context, action, reward, t, rng)
    if isinstance(pending, PendingSets):
        return send_sets(pending, policy, state, context, action, reward, t, rng)
    return update(policy, state, context, action, reward)


@shared_overload(send, PART, inline="always")
def _send(pending, policy, state, context, action, reward, t, rng):
    if pending.instance_class is AtOnce:
        return lambda pending, policy, state, context, action, reward, t, rng: update(policy, state, context, action, reward)

    def later(pending, policy, state, context, action, reward, t, rng):
        return send_pending(pending, policy, state, context, action, reward, t, rng)

    return later
