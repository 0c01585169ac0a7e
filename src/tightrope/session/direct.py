"""Calls of a session's kernels that do not ask Numba anew for the types of what they are given.

To find out the types of a policy and its state, array by array, takes several times as long as all the rest of a call. A session calls
with one policy and one generator, and the state is the one that the kernel before returned, whose types are known. Where the round shows
nothing of its own (no features, mask or baseline), nothing is left to be found out.
"""

import dis
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compiled.kernels import python_of
from ..core.policy import Policy
from ..core.types import State
from ..core.verbs import Context, commit, select, update

PATIENCE = 16  # calls by way of Numba before types are looked at again, where a policy's states change them


class Direct:
    """`select`, `commit` and `update` of one policy. A state that did not come from here is looked at by Numba, and remembered.

    The compiled function is called as it is, without a check, so its types must be right: the state is the very object that was looked
    at, or was returned by a function whose type says that it returns the same kind; everything else is None, an int, a float or the
    one generator type.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._commits = commit.answers(policy)
        self._state: State | None = None  # the state whose types are known
        self._type: Any = None  # what Numba calls them
        self._compiled: dict[Any, Callable[..., Any]] = {}  # for these types, by verb
        self._waits: dict[Any, int] = {}  # calls until types are looked at again, by verb

    def select(self, state: State, seen: Context, rng: np.random.Generator) -> Any:
        """As the verb."""
        if shows_nothing(seen):
            if state is self._state and select in self._compiled:
                return self._compiled[select](self.policy, state, seen, rng)
            action = select(self.policy, state, seen, rng)
            self._look(select, state, seen, rng)
            return action
        return select(self.policy, state, seen, rng)

    def commit(self, state: State, seen: Context, action: Any) -> State:
        """As the verb."""
        if not self._commits:
            return state
        if type(action) is int and shows_nothing(seen):
            return self._next(commit, state, seen, action)
        made: State = commit(self.policy, state, seen, action)
        return made

    def update(self, state: State, seen: Context, action: Any, reward: Any) -> State:
        """As the verb."""
        if type(action) is int and type(reward) is float and shows_nothing(seen):
            return self._next(update, state, seen, action, reward)
        made: State = update(self.policy, state, seen, action, reward)
        return made

    def _next(self, verb: Any, state: State, seen: Context, *rest: Any) -> State:
        """The state that a verb makes of another one."""
        made: State
        if state is self._state and verb in self._compiled:
            self._state = made = self._compiled[verb](self.policy, state, seen, *rest)
            return made
        made = verb(self.policy, state, seen, *rest)
        if made is not self._state:
            self._look(verb, made, seen, *rest)
        return made

    def _look(self, verb: Any, state: State, *rest: Any) -> None:
        """Remember a state's types, and what is compiled for them."""
        waits = self._waits.get(verb, 0)
        if waits > 0:
            self._waits[verb] = waits - 1
            return
        self._waits[verb] = PATIENCE
        kernel = verb.verb.of(type(self.policy))
        if not hasattr(kernel, "overloads"):  # interpreted
            return
        kind = kernel.typeof_pyval(state)
        if kind != self._type:
            self._type, self._compiled = kind, {}
        self._state = state
        made = kernel.overloads.get((kernel.typeof_pyval(self.policy), kind, *map(kernel.typeof_pyval, rest)))
        if made is not None and (verb is select or made.signature.return_type == kind):
            self._compiled[verb] = made.entry_point


def may_draw(policy: Policy) -> bool:
    """Whether `select` may take from the random stream: its kernel does something with its argument `rng`.

    Where it does not, the stream need not be looked at before and after each choice, which takes a third of a decision's time.
    """
    return any("rng" in step.argrepr for step in dis.get_instructions(python_of(select.verb.of(type(policy)))))


def shows_nothing(seen: Context) -> bool:
    """Whether a round is like any other."""
    return seen.features is None and seen.eligible is None and seen.baseline is None and seen.baseline_mean is None
