"""A policy at work: its state, its random stream and its counts, in compiled code where the policy
is compiled.

A proposal remembers where the stream was. One that is not taken is as if it had never been made:
the next one draws from the same place. What changes the state is a `Step`, which is prepared first
and made by its only iteration.
"""

import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterable
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

T = TypeVar("T")
Kernel: TypeAlias = Callable[..., object]

# A change of a policy's state, made by the only iteration of a `for`. Python looks for signals
# after a call and at the end of a loop's body, but not between an iteration and the body. So the
# lines of a body that calls nothing are taken together with the change, or neither is.
Step: TypeAlias = Iterable[object]
NO_CHANGE: Step = (None,)


def one_step(*parts: Iterable[object]) -> Step:
    """What several iterators do, all in one iteration."""
    return map(deque, (itertools.chain(*parts),), (0,))


NO_FIELDS_SHOWN = (True,) * len(PLAIN)
UNPLAYABLE = -1  # in place of the event, where `select` returned an arm that is not eligible
# Places of a tally: decisions taken, rewards learned, decisions only counted, the decision for
# which the stream was last drawn, and number and arm of the last one only counted, as long as it is
# open.
DECIDED, REWARDS, PLAYED, PROPOSED, SELECTED, SELECTED_ARM = range(6)


def new_tally() -> np.ndarray:
    tally = np.zeros(6, dtype=np.int64)
    tally[SELECTED] = -1
    return tally


class Agent:
    """A policy with its state and its stream, by the verbs. What compiled code cannot hold is
    played by this class itself, each step in a copy of the state.

    Parameters
    ----------
    policy, state
        The policy, and what `init` made of it.
    stream : Stream
        The policy's own; all agents of a session share it.
    number : int
        Arms in a round; what kernels are called with is compared with it.
    tally : (6,) int64 array
        Counts of a session, see `DECIDED`.
    """

    def __init__(
        self, policy: Policy, state: State, stream: Stream, number: int, tally: np.ndarray
    ) -> None:
        self.policy, self.stream, self.number, self.tally = policy, stream, number, tally
        self.counts: memoryview = tally.data  # read as Python's numbers
        self.commits = commit.answers(policy)
        self._hold(state)

    def _hold(self, state: State) -> None:
        self.state = state

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
        if not isinstance(action, np.ndarray) or not action.ndim:
            action = int(action)
            if not 0 <= action < self.number or not allowed(context.eligible, action):
                self.rewind()
                return action, UNPLAYABLE, True
        return action, event(self.policy, self.state, action), not self.stream.moved()

    def step(self, verb: Kernel, context: Context, action: Action, *reward: Any) -> Step:
        """What `commit` or `withdraw` makes of a decision, or `update` or `inform` of a reward."""
        state = verb(self.policy, copied(self.state), context, action, *reward)
        return map(setattr, (self,), ("state",), (state,))

    def taking(self, context: Context, action: Action) -> Step:
        return self.step(commit, context, action) if self.commits else NO_CHANGE

    def stopped(self) -> bool:
        return bool(stopped(self.policy, self.state))

    def play(self) -> tuple[Action, int, bool]:
        """`propose`, and take it at once, in a round that shows nothing; the decision is only
        counted."""
        action, why, certain = self.propose(PLAIN)
        if why != UNPLAYABLE:
            counts, arm = self.counts, int(action)
            for _ in self.taking(PLAIN, action):
                counts[DECIDED] += 1
                counts[PLAYED] += 1
                counts[SELECTED] = counts[DECIDED]
                counts[SELECTED_ARM] = arm
        return action, why, certain

    def selected(self) -> int | None:
        """The arm of the last decision, where that is only counted and waits for its reward."""
        counts = self.counts
        return counts[SELECTED_ARM] if counts[SELECTED] == counts[DECIDED] else None

    def learn(self, arm: int, reward: float | np.ndarray) -> bool:
        """Learn the reward of the last decision; False: `play` did not make it, or it is answered,
        or of another arm."""
        if self.selected() != arm:
            return False
        counts = self.counts
        for _ in self.step(update, PLAIN, arm, reward):
            counts[SELECTED] = -1
            counts[REWARDS] += 1
        return True


class CompiledAgent(Agent):
    """The same, where all of it lives in compiled code and one pointer crosses in a call."""

    def _hold(self, state: State) -> None:
        self._handle = Handle(self.policy, state, self.stream, self.tally)
        self._calls: dict[tuple[Kernel, tuple[bool, ...]], Callable[..., Any]] = {}

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

    # The first call of each of these three puts what it calls in its own place.

    def _propose_plain(self) -> tuple[int, int, bool]:
        call = functools.partial(
            self._call(_propose, PLAIN, types.int64, types.boolean), *PLAIN, self.number, False
        )
        self._propose_plain = call  # type: ignore[method-assign]
        return call()

    def play(self) -> tuple[int, int, bool]:
        call = functools.partial(
            self._call(_propose, PLAIN, types.int64, types.boolean), *PLAIN, self.number, True
        )
        self.play = call  # type: ignore[method-assign]
        return call()

    def learn(self, arm: int, reward: float | np.ndarray) -> bool:
        call = self._call(_learn, None, types.int64, kind_of_reward(reward))
        self.learn = call  # type: ignore[method-assign]
        return bool(call(arm, reward))

    def step(self, verb: Kernel, context: Context, action: Action, *reward: Any) -> Step:
        kinds = (types.int64, types.int64, *map(kind_of_reward, reward))
        call = self._call(STEPS[verb], context, *kinds)
        return itertools.starmap(call, ((*context, self.number, action, *reward),))

    def stopped(self) -> bool:
        return bool(self._call(_stopped, None)())

    def many(self, kernel: Callable[..., T], *values: object) -> Callable[[], T]:
        """A call of a kernel of `batches` for many rounds at once; values: numbers, arrays and
        None."""
        compiled = compiled_for(kernel, (self._handle.type, *map(typeof, values)))
        return functools.partial(compiled.entry_point, self._handle.pointer, *values)

    def _call(
        self, kernel: Callable[..., T], context: Context | None, *more: types.Type
    ) -> Callable[..., T]:
        if context is PLAIN:
            hidden = NO_FIELDS_SHOWN
        else:
            hidden = () if context is None else tuple(item is None for item in context)
        call = self._calls.get((kernel, hidden))
        if call is None:
            kinds = [
                types.none if left_out else kind
                for left_out, kind in zip(hidden, KINDS, strict=False)
            ]
            compiled = compiled_for(kernel, (self._handle.type, *kinds, *more))
            self._calls[kernel, hidden] = call = functools.partial(
                compiled.entry_point, self._handle.pointer
            )
        return call


def kind_of_reward(reward: float | np.ndarray) -> types.Type:
    return types.float64[::1] if isinstance(reward, np.ndarray) else types.float64


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
def _check_fit(features, eligible, number, arm):  # type: ignore[no-untyped-def]
    """Refuse an arm and a round that are not of so many arms: kernels check no index."""
    if (
        not 0 <= arm < number
        or (features is not None and features.shape[0] != number)
        or (eligible is not None and eligible.shape[0] != number)
    ):
        raise ValueError("the arm or its round is not of this session's arms; nothing was changed.")


@jit
def _propose(  # type: ignore[no-untyped-def]
    handle, features, eligible, baseline, baseline_mean, segment, number, counted
):
    """counted: take what is proposed at once, in a round whose decision is only counted."""
    _check_fit(features, eligible, number, 0)
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
def _commit(  # type: ignore[no-untyped-def]
    handle, features, eligible, baseline, baseline_mean, segment, number, arm
):
    _check_fit(features, eligible, number, arm)
    context = Context(features, eligible, baseline, baseline_mean, segment)
    handle.state = commit(handle.policy, handle.state, context, arm)


@jit
def _withdraw(  # type: ignore[no-untyped-def]
    handle, features, eligible, baseline, baseline_mean, segment, number, arm
):
    _check_fit(features, eligible, number, arm)
    context = Context(features, eligible, baseline, baseline_mean, segment)
    handle.state = withdraw(handle.policy, handle.state, context, arm)


@jit
def _update(  # type: ignore[no-untyped-def]
    handle, features, eligible, baseline, baseline_mean, segment, number, arm, reward
):
    _check_fit(features, eligible, number, arm)
    context = Context(features, eligible, baseline, baseline_mean, segment)
    handle.state = update(handle.policy, handle.state, context, arm, reward)


@jit
def _inform(  # type: ignore[no-untyped-def]
    handle, features, eligible, baseline, baseline_mean, segment, number, arm, reward
):
    _check_fit(features, eligible, number, arm)
    context = Context(features, eligible, baseline, baseline_mean, segment)
    handle.state = inform(handle.policy, handle.state, context, arm, reward)


STEPS: dict[Any, Kernel] = {
    commit: _commit,
    withdraw: _withdraw,
    update: _update,
    inform: _inform,
}


@jit
def _learn(handle, arm, reward):  # type: ignore[no-untyped-def]
    """Learn the reward of the last decision, which was only counted; False is returned where it is
    not open, or of another arm."""
    tally = handle.tally
    if tally[SELECTED] != tally[DECIDED] or tally[SELECTED_ARM] != arm:
        return False
    context = Context(None, None, None, None, None)
    handle.state = update(handle.policy, handle.state, context, arm, reward)
    tally[SELECTED] = -1
    tally[REWARDS] += 1
    return True


@jit
def _stopped(handle):  # type: ignore[no-untyped-def]
    return stopped(handle.policy, handle.state)
