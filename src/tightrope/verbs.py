"""The vocabulary: generic functions dispatched on the class of their first argument.

In plain Python a verb looks the class up in a table; in compiled code `numba.extending.overload` reads the same table, so one
loop serves every policy and problem, and the kernels it compiles to are the ones a service calls one decision at a time.

A policy answers `init`, `select`, `update` and `explain`, one that identifies the best arm also `stopped` and `recommend`, and
one that cannot take every reward `reward_range`.
A problem answers `arms`, `private`, `observe`, `play`, `mean` and `regret`. A monitor answers `begin` and `watch`.
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from ._jit import OPTIONS, python_of


class Context(NamedTuple):
    """What a round shows the policy. `None` fields cost nothing in compiled code."""

    features: Any = None  # (K, d) features of this round's arms; None: the fixed ones
    eligible: Any = None  # (K,) bool; None: all
    baseline: Any = None  # int: this round's baseline arm; None: the policy's own
    baseline_mean: Any = None  # float: its known mean this round


class Arms(NamedTuple):
    """What a policy is told about the arms before the first round."""

    number: int  # K
    features: Any = None  # (K / blocks, d); None: the arms have no features, or new ones every round
    dimension: int = 0  # d; 0: no features
    distances: Any = None  # (K, K) metric
    points: Any = None  # (K,) or (K, p) positions
    oracle: Any = None  # chooses sets; None: single arms
    horizon: int | None = None  # T, if known
    rewards: tuple[float, float] | None = None  # lowest and highest reward, if known
    blocks: int = 1  # arms per row of features: arm = row * blocks + block, one regression per block

    @property
    def rows(self) -> int:
        """Rows of features."""
        return self.number // self.blocks


class Verb:
    """A generic function with one kernel per class."""

    def __init__(self, names: list[str], generic: Callable[..., Any], table: dict[type, Any]) -> None:
        self.names, self.generic, self.table = names, generic, table

    def register(self, cls: type) -> Callable[[Any], Any]:
        """Decorator: the kernel that answers this verb for `cls`."""

        def bind(kernel: Any) -> Any:
            got = list(inspect.signature(python_of(kernel)).parameters)
            if got != self.names:
                raise TypeError(f"{self.generic.__name__} takes {self.names}, but {cls.__name__}'s kernel takes {got}.")
            self.table[cls] = kernel
            return kernel

        return bind


def _generic(signature: Callable[..., Any], compiled: bool, otherwise: Any = None, **more: Any) -> Any:
    # Written out by exec, because Numba needs the argument names themselves, not *args.
    table: dict[type, Any] = {}
    name, names = signature.__name__, list(inspect.signature(signature).parameters)
    arguments, first = ", ".join(names), names[0]
    source = f"""
def {name}({arguments}):
    kernel = table.get(type({first}), otherwise)
    if kernel is None:
        raise TypeError(f"{{type({first}).__name__}} does not answer the verb '{name}'.")
    return kernel({arguments})
def chosen({arguments}):
    kernel = table.get(getattr({first}, "instance_class", None), otherwise)
    return None if kernel is None else python_of(kernel)
"""
    scope: dict[str, Any] = {"table": table, "python_of": python_of, "otherwise": otherwise}
    exec(source, scope)
    generic = scope[name]
    generic.__doc__ = signature.__doc__
    generic.__module__ = __name__
    if compiled:
        overload(generic, jit_options=OPTIONS | {"forceinline": True} | more)(scope["chosen"])
    verb = Verb(names, generic, table)
    generic.register, generic.table = verb.register, table
    return generic


def verb(signature: Callable[..., Any]) -> Any:
    """Make a verb that compiled loops can call."""
    return _generic(signature, compiled=True)


def lean_verb(signature: Callable[..., Any]) -> Any:
    """A verb whose kernels all are `lean`."""
    return _generic(signature, compiled=True, _nrt=False)


def verb_or(otherwise: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a verb that compiled loops can call and that `otherwise` answers for every class without a kernel of its own."""
    return lambda signature: _generic(signature, compiled=True, otherwise=otherwise)


def python_verb(signature: Callable[..., Any]) -> Any:
    """Make a verb that only Python calls."""
    return _generic(signature, compiled=False)


# What a policy answers -------------------------------------------------------------------------------------------------


@python_verb
def init(policy, arms):
    """State before the first round, from an `Arms` description."""


@verb
def select(policy, state, context, rng):
    """Arm (int) or super arm (int array) to play now; may draw from rng."""


@verb
def update(policy, state, context, action, reward):
    """State after the reward of an action. Arrays are reused: the old state is dead."""


@python_verb
def explain(policy, state, context, rng):
    """Dict of per-arm arrays (mean, width, lower, upper, index, probability) and what the family adds; changes nothing."""


@python_verb
def reward_range(policy):
    """(lowest, highest) reward the policy can take in; policies that take any finite reward need not answer."""


@python_verb
def admit(policy, state, context):
    """Raise ValueError where a round breaks what the policy relies on; policies that rely on nothing need not answer."""


def _own_choice(policy, state, action):
    return 0


@verb_or(_own_choice)
def event(policy, state, action):
    """How the action of this round came about: 0 the learner's first choice, 1 another arm because that was not safe, 2 a baseline."""


@verb
def stopped(policy, state):
    """Whether an identification policy has its answer."""


@verb
def recommend(policy, state):
    """The arm an identification policy would name now."""


@python_verb
def evidence(policy, state):
    """What supports the recommendation: a dict with `gap_bound`, `error` and `samples_remaining`, each a float."""


# What a problem answers ------------------------------------------------------------------------------------------------


@python_verb
def arms(problem):
    """The `Arms` description (without horizon) that policies are told."""


@python_verb
def private(problem):
    """A copy for one replication, for problems that write into their own arrays; others need not answer."""


@verb
def observe(problem, t, rng):
    """Context of round t = 0, 1, ..; draws from the problem's stream."""


@verb
def play(problem, context, action, rng):
    """Reward of an action: a float, or an array with one entry per arm of a set; draws from the noise stream."""


@verb
def mean(problem, context, arm):
    """Expected reward of one arm in this round."""


@verb
def regret(problem, context, action):
    """Pseudo-regret of an action: the best value of the round minus the action's."""


@python_verb
def lower_bound(problem):
    """(C, a): no policy that is good on every such problem has regret below C ln T + a T as T grows, or None; need not be answered."""


# What a monitor answers ------------------------------------------------------------------------------------------------


@python_verb
def begin(monitor, arms, n_checkpoints):
    """Fresh arrays for one replication, as a NamedTuple."""


@verb
def watch(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    """Take note of round t; `checkpoint` is the row to write at its end, or -1."""


# Helpers of kernels ----------------------------------------------------------------------------------------------------


def allowed(eligible, arm):
    """Whether a mask admits an arm; no mask admits all."""
    return eligible is None or bool(eligible[arm])


@overload(allowed, jit_options=OPTIONS, inline="always")
def _allowed(eligible, arm):
    if isinstance(eligible, np.ndarray) or hasattr(eligible, "dtype"):
        return lambda eligible, arm: eligible[arm]
    return lambda eligible, arm: True


def either(given, otherwise):
    """What a round gives, or else what was agreed before."""
    return otherwise if given is None else given


@overload(either, jit_options=OPTIONS, inline="always")
def _either(given, otherwise):
    if isinstance(given, types.NoneType):
        return lambda given, otherwise: otherwise
    return lambda given, otherwise: given
