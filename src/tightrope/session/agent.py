"""A policy at work: its state and its random stream, in compiled code where the policy is compiled, and what a session asks of it."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from ..compiled.handle import KINDS, Handle, can_be_held
from ..compiled.kernels import compiled_for, is_kernel, jit
from ..core.policy import Policy, compiled
from ..core.rounds import PLAIN
from ..core.streams import same
from ..core.types import Action, State
from ..core.verbs import Arms, Context, allowed, commit, event, inform, select, stopped, update, withdraw

UNPLAYABLE = -1  # in place of the event, where `select` returned an arm that is not eligible


class Agent:
    """A policy with its state and its stream, by the verbs. What compiled code cannot hold is played by this class itself."""

    def __init__(self, policy: Policy, state: State, rng: np.random.Generator, number: int) -> None:
        self.policy, self.state, self.rng, self.number = policy, state, rng, number

    def propose(self, seen: Context, number: int) -> tuple[Action, int, bool]:
        """(action, event, certain): what `select` chooses among so many arms, how that came about, and whether it drew nothing.

        event: UNPLAYABLE for an arm that is not eligible; the stream is then where it was.
        """
        bits = self.rng.bit_generator
        before = bits.state
        try:
            action: Any = select(self.policy, self.state, seen, self.rng)
        except BaseException:  # an oracle may refuse after noise was drawn
            bits.state = before
            raise
        if isinstance(action, np.ndarray) and action.ndim:
            return action, event(self.policy, self.state, action), same(before, bits.state)
        action = int(action)
        if not 0 <= action < number or not (seen.eligible is None or seen.eligible[action]):
            bits.state = before
            return action, UNPLAYABLE, True
        return action, event(self.policy, self.state, action), same(before, bits.state)

    def commit(self, seen: Context, action: Action) -> None:
        """The action is taken."""
        self.state = commit(self.policy, self.state, seen, action)

    def withdraw(self, seen: Context, action: Action) -> None:
        """The action was never shown."""
        self.state = withdraw(self.policy, self.state, seen, action)

    def update(self, seen: Context, action: Action, reward: Any) -> None:
        """Learn the reward of an open decision."""
        self.state = update(self.policy, self.state, seen, action, reward)

    def inform(self, seen: Context, action: Action, reward: Any) -> None:
        """Learn a reward that no open decision stands for."""
        self.state = inform(self.policy, self.state, seen, action, reward)

    def stopped(self) -> bool:
        """Whether an identification policy has its answer."""
        return bool(stopped(self.policy, self.state))

    def choose(self) -> tuple[Action, int, bool]:
        """`propose` in a round like any other."""
        return self.propose(PLAIN, self.number)

    def learn(self, arm: int, reward: float) -> None:
        """`update` of such a round."""
        self.update(PLAIN, arm, reward)


class CompiledAgent(Agent):
    """The same, where all of it lives in compiled code and one pointer crosses in a call."""

    def __init__(self, policy: Policy, state: State, rng: np.random.Generator, number: int) -> None:
        self._handle = Handle(policy, state, rng)
        self._calls: dict[Any, Callable[..., Any]] = {}
        self.policy, self.rng, self.number = policy, rng, number

    @property
    def state(self) -> State:
        """The state as Python sees it."""
        return self._handle.state

    def propose(self, seen: Context, number: int) -> tuple[int, int, bool]:
        """As of the parent class."""
        answer: tuple[int, int, bool] = self._call(_propose, seen, types.int64)(*seen, number)
        return answer

    def commit(self, seen: Context, action: Action) -> None:
        """As of the parent class."""
        self._call(_commit, seen, types.int64)(*seen, action)

    def withdraw(self, seen: Context, action: Action) -> None:
        """As of the parent class."""
        self._call(_withdraw, seen, types.int64)(*seen, action)

    def update(self, seen: Context, action: Action, reward: float) -> None:
        """As of the parent class."""
        self._call(_update, seen, types.int64, types.float64)(*seen, action, reward)

    def inform(self, seen: Context, action: Action, reward: float) -> None:
        """As of the parent class."""
        self._call(_inform, seen, types.int64, types.float64)(*seen, action, reward)

    def stopped(self) -> bool:
        """As of the parent class."""
        return bool(self._call(_stopped, None)())

    def choose(self) -> tuple[int, int, bool]:
        """As of the parent class."""
        self.choose = functools.partial(self._call(_propose, PLAIN, types.int64), *PLAIN, self.number)  # type: ignore[method-assign]
        return self.choose()

    def learn(self, arm: int, reward: float) -> None:
        """As of the parent class."""
        self.learn = functools.partial(self._call(_update, PLAIN, types.int64, types.float64), *PLAIN)  # type: ignore[method-assign]
        self.learn(arm, reward)

    def _call(self, kernel: Any, seen: Context | None, *more: Any) -> Callable[..., Any]:
        """The machine code of a kernel for what a round shows."""
        shown = () if seen is None else (seen[0] is None, seen[1] is None, seen[2] is None, seen[3] is None)
        call = self._calls.get((kernel, shown))
        if call is None:
            kinds = [types.none if hidden else kind for hidden, kind in zip(shown, KINDS, strict=False)]
            made = compiled_for(kernel, (self._handle.type, *kinds, *more))
            self._calls[kernel, shown] = call = functools.partial(made.entry_point, self._handle.pointer)
        return call


def agent(policy: Policy, state: State, rng: np.random.Generator, arms: Arms) -> Agent:
    """The agent of a policy: compiled, where it plays single arms and its loop would be."""
    kernels = all(is_kernel(verb.verb.of(type(policy))) for verb in (select, update))
    fits = kernels and compiled(policy) and arms.oracle is None and can_be_held(state)
    return (CompiledAgent if fits else Agent)(policy, state, rng, arms.number)


# Kernels ---------------------------------------------------------------------------------------------------------------


@jit
def _propose(handle, features, eligible, baseline, baseline_mean, number):  # type: ignore[no-untyped-def]
    first, second, half = handle.place[0], handle.place[1], handle.half[0]
    arm = select(handle.policy, handle.state, Context(features, eligible, baseline, baseline_mean), handle.rng)
    if not 0 <= arm < number or not allowed(eligible, arm):
        handle.place[0], handle.place[1], handle.half[0] = first, second, half
        return arm, UNPLAYABLE, True
    certain = handle.place[0] == first and handle.place[1] == second and handle.half[0] == half
    return arm, event(handle.policy, handle.state, arm), certain


@jit
def _commit(handle, features, eligible, baseline, baseline_mean, arm):  # type: ignore[no-untyped-def]
    handle.state = commit(handle.policy, handle.state, Context(features, eligible, baseline, baseline_mean), arm)


@jit
def _withdraw(handle, features, eligible, baseline, baseline_mean, arm):  # type: ignore[no-untyped-def]
    handle.state = withdraw(handle.policy, handle.state, Context(features, eligible, baseline, baseline_mean), arm)


@jit
def _update(handle, features, eligible, baseline, baseline_mean, arm, reward):  # type: ignore[no-untyped-def]
    handle.state = update(handle.policy, handle.state, Context(features, eligible, baseline, baseline_mean), arm, reward)


@jit
def _inform(handle, features, eligible, baseline, baseline_mean, arm, reward):  # type: ignore[no-untyped-def]
    handle.state = inform(handle.policy, handle.state, Context(features, eligible, baseline, baseline_mean), arm, reward)


@jit
def _stopped(handle):  # type: ignore[no-untyped-def]
    return stopped(handle.policy, handle.state)
