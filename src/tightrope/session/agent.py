"""A policy at work: its state, its random stream and its counts, in compiled code where the policy
is compiled.

A signal's exception comes between two steps of Python, never within a call of compiled code. What
belongs together is therefore one call: a proposal remembers where the stream was, taking it counts
the decision, and learning counts the reward. A proposal that is not taken is as if it had never
been made: the next one draws from the same place.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numba import typeof, types

from ..compiled.handle import KINDS, Handle, Stream, can_be_held
from ..compiled.kernels import PART, compiled_for, is_kernel, jit, shared_overload
from ..core.policy import Policy, compiled
from ..core.types import PLAIN, Action, State
from ..core.verbs import (
    Arms,
    Context,
    allowed,
    commit,
    event,
    inform,
    select,
    stopped,
    update,
    withdraw,
)
from ..numerics.states import copied
from .decisions import Reward

T = TypeVar("T")
Kernel: TypeAlias = Callable[..., object]

PLAINLY = (True,) * len(PLAIN)  # which of a context's fields a round does not show
ARM = (types.int64,)  # kinds of what a kernel is told after the number of arms
ARM_AND_REWARD = (types.int64, types.float64)
COUNTED_ARM_AND_REWARD = (types.boolean, types.int64, types.float64)
UNPLAYABLE = -1  # in place of the event, where `select` returned an arm that is not eligible
# Places of a tally: decisions taken, rewards learned, decisions only counted, the decision for
# which the stream was last drawn, decisions withdrawn by this process, which no file needs, and
# number and arm of the last one only counted, as long as it is open.
DECIDED, REWARDS, PLAYED, PROPOSED, WITHDRAWN, SELECTED, SELECTED_ARM = range(7)


def new_tally() -> np.ndarray:
    tally = np.zeros(7, dtype=np.int64)
    tally[SELECTED] = -1
    return tally


class Agent:
    """A policy with its state and its stream, by the verbs. What compiled code cannot hold is
    played by this class itself.

    A step is made in a copy of the state. The lines that then take it over call nothing, so that no
    signal's exception comes between them.

    Parameters
    ----------
    policy, state
        The policy, and what `init` made of it.
    stream : Stream
        The policy's own; all agents of a session share it.
    number : int
        Arms in a round; what kernels are called with is compared with it.
    tally : (7,) int64 array
        Counts of a session, see `DECIDED`.
    """

    def __init__(
        self, policy: Policy, state: State, stream: Stream, number: int, tally: np.ndarray
    ) -> None:
        self.policy, self.state, self.stream, self.number, self.tally = (
            policy,
            state,
            stream,
            number,
            tally,
        )
        self.counts: memoryview = tally.data  # read as Python's numbers
        self.commits = commit.answers(policy)

    @property
    def rng(self) -> np.random.Generator:
        """The stream, as the next proposal finds it."""
        self.rewind()
        return self.stream.rng

    def rewind(self) -> None:
        if self.counts[PROPOSED] == self.counts[DECIDED] + 1:
            self.stream.rewind()
            self.counts[PROPOSED] = 0

    def propose(self, context: Context) -> tuple[Action, int, bool]:
        """(action, event, certain): what `select` chooses, how that came about, and whether it drew
        nothing.

        event: UNPLAYABLE for an arm that is not eligible; the stream is then where it was.
        """
        self.rewind()
        self.stream.mark()
        self.counts[PROPOSED] = self.counts[DECIDED] + 1
        action: Action = select(self.policy, self.state, context, self.stream.rng)
        if isinstance(action, np.ndarray) and action.ndim:
            return action, event(self.policy, self.state, action), not self.stream.moved()
        action = int(action)
        if not 0 <= action < self.number or not (
            context.eligible is None or context.eligible[action]
        ):
            self.rewind()
            return action, UNPLAYABLE, True
        return action, event(self.policy, self.state, action), not self.stream.moved()

    def take(self, context: Context, action: Action) -> None:
        """The action is taken: a decision."""
        state = self._committed(context, action)
        self.state = state
        self.counts[DECIDED] += 1

    def _committed(self, context: Context, action: Action) -> State:
        return (
            commit(self.policy, copied(self.state), context, action) if self.commits else self.state
        )

    def withdraw(self, context: Context, action: Action) -> None:
        """The action was never shown."""
        state = withdraw(self.policy, copied(self.state), context, action)
        self.state = state
        self.counts[WITHDRAWN] += 1

    def update(self, context: Context, action: Action, reward: Any) -> None:
        """Learn the reward of an open decision."""
        state = update(self.policy, copied(self.state), context, action, reward)
        self.state = state
        self.counts[REWARDS] += 1

    def inform(self, context: Context, action: Action, reward: Reward) -> None:
        """Learn a reward that no open decision stands for."""
        state = inform(self.policy, copied(self.state), context, action, reward)
        self.state = state
        self.counts[REWARDS] += 1

    def stopped(self) -> bool:
        """Whether an identification policy has its answer."""
        return bool(stopped(self.policy, self.state))

    def play(self) -> tuple[Action, int, bool]:
        """`propose`, and take it at once, in a round that shows nothing; the decision is only
        counted."""
        action, why, certain = self.propose(PLAIN)
        if why != UNPLAYABLE:
            state = self._committed(PLAIN, action)
            self.state = state
            self.counts[DECIDED] += 1
            self.counts[PLAYED] += 1
            self.counts[SELECTED] = self.counts[DECIDED]
            self.counts[SELECTED_ARM] = int(action)
        return action, why, certain

    def selected(self) -> int | None:
        """The arm of the last decision, where that is only counted and waits for its reward."""
        counts = self.counts
        return counts[SELECTED_ARM] if counts[SELECTED] == counts[DECIDED] else None

    def learn(self, arm: int, reward: float) -> bool:
        """Learn the reward of the last decision; False: `play` did not make it, or it is answered,
        or of another arm."""
        if self.selected() != arm:
            return False
        state = update(self.policy, copied(self.state), PLAIN, arm, reward)
        self.state = state
        self.counts[SELECTED] = -1
        self.counts[REWARDS] += 1
        return True


class CompiledAgent(Agent):
    """The same, where all of it lives in compiled code and one pointer crosses in a call."""

    def __init__(
        self, policy: Policy, state: State, stream: Stream, number: int, tally: np.ndarray
    ) -> None:
        self._handle = Handle(policy, state, stream, tally)
        self._calls: dict[tuple[Kernel, tuple[bool, ...]], Callable[..., Any]] = {}
        self.commits = commit.answers(policy)
        self.policy, self.stream, self.number, self.tally = policy, stream, number, tally
        self.counts = tally.data

    @property
    def state(self) -> State:  # type: ignore[override]
        return self._handle.state

    def propose(self, context: Context) -> tuple[int, int, bool]:
        answer: tuple[int, int, bool]
        if context is PLAIN:
            answer = self._propose_plain()
        else:
            answer = self._call(_propose, context, types.int64, types.boolean)(
                *context, self.number, False
            )
        return answer

    def _propose_plain(self) -> tuple[int, int, bool]:
        call = functools.partial(
            self._call(_propose, PLAIN, types.int64, types.boolean), *PLAIN, self.number, False
        )
        self._propose_plain = call  # type: ignore[method-assign]
        return call()

    def take(self, context: Context, action: Action) -> None:
        if self.commits:
            self._checked(_take, context, ARM, action)
        else:
            self.counts[DECIDED] += 1

    def withdraw(self, context: Context, action: Action) -> None:
        self._checked(_withdraw, context, ARM, action)

    def update(self, context: Context, action: Action, reward: float) -> None:
        self._checked(_update, context, COUNTED_ARM_AND_REWARD, False, action, reward)

    def inform(self, context: Context, action: Action, reward: Reward) -> None:
        self._checked(_inform, context, ARM_AND_REWARD, action, reward)

    def stopped(self) -> bool:
        return bool(self._call(_stopped, None)())

    def play(self) -> tuple[int, int, bool]:
        call = functools.partial(
            self._call(_propose, PLAIN, types.int64, types.boolean), *PLAIN, self.number, True
        )
        self.play = call  # type: ignore[method-assign]
        return call()

    def learn(self, arm: int, reward: float) -> bool:
        call = functools.partial(
            self._call(_update, PLAIN, types.int64, *COUNTED_ARM_AND_REWARD),
            *PLAIN,
            self.number,
            True,
        )
        self.learn = call  # type: ignore[method-assign]
        return call(arm, reward)

    def many(self, kernel: Callable[..., T], *values: object) -> T:
        """Call a kernel of `batches` for many rounds at once; values: numbers, arrays and None."""
        return compiled_for(kernel, (self._handle.type, *map(typeof, values))).entry_point(
            self._handle.pointer, *values
        )

    def _checked(
        self, kernel: Kernel, context: Context, kinds: tuple[types.Type, ...], *values: object
    ) -> None:
        """Call a kernel that changes the state; it refuses what is not about its own arms. kinds:
        of the values, as ARM."""
        if not self._call(kernel, context, types.int64, *kinds)(*context, self.number, *values):
            arm = values[kinds.index(types.int64)]
            raise ValueError(
                f"arm = {arm} or its round is not of these {self.number} arms; nothing was changed."
            )

    def _call(
        self, kernel: Callable[..., T], context: Context | None, *more: types.Type
    ) -> Callable[..., T]:
        shown = (
            PLAINLY
            if context is PLAIN
            else ()
            if context is None
            else tuple(item is None for item in context)
        )
        call = self._calls.get((kernel, shown))
        if call is None:
            kinds = [
                types.none if hidden else kind for hidden, kind in zip(shown, KINDS, strict=False)
            ]
            compiled = compiled_for(kernel, (self._handle.type, *kinds, *more))
            self._calls[kernel, shown] = call = functools.partial(
                compiled.entry_point, self._handle.pointer
            )
        return call


def agent(policy: Policy, state: State, stream: Stream, arms: Arms, tally: np.ndarray) -> Agent:
    """The agent of a policy: compiled, where it plays single arms and its loop would be."""
    kernels = all(is_kernel(verb.verb.of(type(policy))) for verb in (select, update))
    fits = kernels and compiled(policy) and arms.oracle is None and can_be_held(state)
    return (CompiledAgent if fits else Agent)(policy, state, stream, arms.number, tally)


# Kernels ------------------------------------------------------------------------------------------


@jit
def _ready(handle):  # type: ignore[no-untyped-def]
    """Before a proposal: the stream goes back to where one that was not taken found it."""
    before, tally = handle.before, handle.tally
    if tally[PROPOSED] == tally[DECIDED] + 1:
        handle.place[0], handle.place[1], handle.half[0] = before[0], before[1], before[2]
    before[0], before[1], before[2] = handle.place[0], handle.place[1], handle.half[0]
    tally[PROPOSED] = tally[DECIDED] + 1


def mask_of(masks: np.ndarray | None, i: int) -> np.ndarray | None:
    """Which arms may be played in round i: None where nothing is said, and not only in some rounds,
    which is another type."""
    return None if masks is None else masks[i % masks.shape[0]]


@shared_overload(mask_of, PART, inline="always")
def _mask_of(masks, i):  # type: ignore[no-untyped-def]
    if hasattr(masks, "dtype"):
        return lambda masks, i: masks[i % masks.shape[0]]
    return lambda masks, i: None


@jit
def propose_many(  # type: ignore[no-untyped-def]
    handle, features, masks, row, number, arms, events, certain
):
    """arms, events, certain <- what `_propose` says in many rounds between which nothing is
    learned; all are one proposal.

    Returns the first round whose arm is not eligible, where the stream goes back to before all of
    them, or their number. features: (n, K, d), (n, d) that all arms are shown, or None; masks: (n,
    K), (1, K) for all, or None; row: (K, d), rewritten, or None; number: K.
    """
    _ready(handle)
    before, n = handle.before, arms.shape[0]
    for i in range(n):
        low, high, half = handle.place[0], handle.place[1], handle.half[0]
        if features is not None:
            show(features, i, row)
        mask = mask_of(masks, i)
        arms[i], events[i] = _choose(handle, row, mask, number)
        if arms[i] < 0:
            handle.place[0], handle.place[1], handle.half[0] = before[0], before[1], before[2]
            handle.tally[PROPOSED] = 0
            return i
        certain[i] = handle.place[0] == low and handle.place[1] == high and handle.half[0] == half
    return n


@jit
def learn_many(handle, features, masks, row, rows, arms, rewards):  # type: ignore[no-untyped-def]
    """Learn rewards of decisions of a batch, in this order. rows: (m,), of features and masks, as
    `propose_many` has them."""
    for j in range(rows.shape[0]):
        i = rows[j]
        if features is not None:
            show(features, i, row)
        mask = mask_of(masks, i)
        handle.state = update(
            handle.policy, handle.state, Context(row, mask, None, None), arms[j], rewards[j]
        )
        handle.tally[REWARDS] += 1


@jit
def _choose(handle, features, mask, number):  # type: ignore[no-untyped-def]
    """(arm, event) of a round, or (-1, UNPLAYABLE)."""
    arm = int(select(handle.policy, handle.state, Context(features, mask, None, None), handle.rng))
    if not 0 <= arm < number or not allowed(mask, arm):
        return -1, UNPLAYABLE
    return arm, int(event(handle.policy, handle.state, arm))


@jit
def show(features, i, row):  # type: ignore[no-untyped-def]
    """row (K, d) <- what round i shows."""
    for k in range(row.shape[0]):
        for j in range(row.shape[1]):
            row[k, j] = features[i, k, j] if features.ndim == 3 else features[i, j]


@jit
def _fits(features, eligible, number, arm):  # type: ignore[no-untyped-def]
    """Whether an arm and what a round shows are of so many arms: kernels check no index."""
    return (
        0 <= arm < number
        and (features is None or features.shape[0] == number)
        and (eligible is None or eligible.shape[0] == number)
    )


@jit
def _propose(  # type: ignore[no-untyped-def]
    handle, features, eligible, baseline, baseline_mean, segment, number, counted
):
    """counted: take what is proposed at once, in a round whose decision is only counted."""
    if not _fits(features, eligible, number, 0):
        return -1, UNPLAYABLE, True
    _ready(handle)
    before, context = handle.before, Context(features, eligible, baseline, baseline_mean, segment)
    arm = int(select(handle.policy, handle.state, context, handle.rng))
    if not 0 <= arm < number or not allowed(eligible, arm):
        handle.place[0], handle.place[1], handle.half[0] = before[0], before[1], before[2]
        handle.tally[PROPOSED] = 0
        return arm, UNPLAYABLE, True
    certain = (
        handle.place[0] == before[0]
        and handle.place[1] == before[1]
        and handle.half[0] == before[2]
    )
    why = int(event(handle.policy, handle.state, arm))
    if counted:
        handle.state = commit(handle.policy, handle.state, context, arm)
        handle.tally[DECIDED] += 1
        handle.tally[PLAYED] += 1
        handle.tally[SELECTED] = handle.tally[DECIDED]
        handle.tally[SELECTED_ARM] = arm
    return arm, why, certain


@jit
def _take(  # type: ignore[no-untyped-def]
    handle, features, eligible, baseline, baseline_mean, segment, number, arm
):
    if not _fits(features, eligible, number, arm):
        return False
    handle.state = commit(
        handle.policy,
        handle.state,
        Context(features, eligible, baseline, baseline_mean, segment),
        arm,
    )
    handle.tally[DECIDED] += 1
    return True


@jit
def _withdraw(  # type: ignore[no-untyped-def]
    handle, features, eligible, baseline, baseline_mean, segment, number, arm
):
    if not _fits(features, eligible, number, arm):
        return False
    handle.state = withdraw(
        handle.policy,
        handle.state,
        Context(features, eligible, baseline, baseline_mean, segment),
        arm,
    )
    handle.tally[WITHDRAWN] += 1
    return True


@jit
def _update(  # type: ignore[no-untyped-def]
    handle, features, eligible, baseline, baseline_mean, segment, number, counted, arm, reward
):
    """counted: the reward of the last decision, which was only counted; False is returned where it
    is not open, or of another arm."""
    tally = handle.tally
    if not _fits(features, eligible, number, arm) or (
        counted and (tally[SELECTED] != tally[DECIDED] or tally[SELECTED_ARM] != arm)
    ):
        return False
    handle.state = update(
        handle.policy,
        handle.state,
        Context(features, eligible, baseline, baseline_mean, segment),
        arm,
        reward,
    )
    if counted:
        tally[SELECTED] = -1
    tally[REWARDS] += 1
    return True


@jit
def _inform(  # type: ignore[no-untyped-def]
    handle, features, eligible, baseline, baseline_mean, segment, number, arm, reward
):
    if not _fits(features, eligible, number, arm):
        return False
    handle.state = inform(
        handle.policy,
        handle.state,
        Context(features, eligible, baseline, baseline_mean, segment),
        arm,
        reward,
    )
    handle.tally[REWARDS] += 1
    return True


@jit
def _stopped(handle):  # type: ignore[no-untyped-def]
    return stopped(handle.policy, handle.state)
