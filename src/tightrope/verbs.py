"""The vocabulary: generic functions dispatched on the class of their first argument.

In plain Python a verb looks the class up in a table; in compiled code an overload reads the same table, so one
loop serves every policy and problem, and the kernels it compiles to are the ones a service calls one decision at a time.
`VERBS` holds every verb by name. One with a default need not be answered.

| who answers | must | may |
| --- | --- | --- |
| a policy | init, select, update | commit, withdraw, inform, explain, propensity, grow, merge, translate, reward_range, admit, event |
| a policy that stops | and stopped, recommend, evidence | tolerance |
| a problem | arms, observe, play, mean, regret | private, lower_bound |
| a monitor | begin, watch | admit |

One round is select (propose), commit (the action is taken), play, update (its reward is learned from).
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import types

from ._cache import answers
from ._jit import LEAN, PART, python_of
from ._parts import shared_overload


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


@dataclass(frozen=True)
class Verb:
    """What is known of a generic function: its argument names, its kernels by class, and what answers for all other classes."""

    name: str
    signature: tuple[str, ...]
    default: Callable[..., Any] | None  # None: a class must answer
    compiled: bool  # loops call it; otherwise only Python does
    optional: tuple[str, ...] = ()  # arguments after those of the signature, which a kernel may leave out
    table: dict[type, Any] = field(default_factory=dict)
    whole: set[type] = field(default_factory=set)  # classes whose kernel takes the optional arguments

    def register(self, cls: type) -> Callable[[Any], Any]:
        """Decorator: the kernel that answers this verb for `cls`."""

        def bind(kernel: Any) -> Any:
            got = tuple(inspect.signature(python_of(kernel)).parameters)
            if got not in (self.signature, self.signature + self.optional):
                raise TypeError(f"{self.name} takes {list(self.signature)}, but {cls.__name__}'s kernel takes {list(got)}.")
            self.table[cls] = kernel
            if self.optional and got != self.signature:
                self.whole.add(cls)
            else:
                self.whole.discard(cls)
            answers(cls, python_of(kernel))
            return kernel

        return bind

    def answers(self, instance: Any) -> bool:
        """Whether the class of `instance` has a kernel of its own."""
        return type(instance) in self.table


VERBS: dict[str, Verb] = {}


def verb(*, default: Callable[..., Any] | None = None, compiled: bool = True, lean: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Decorator that makes a generic function of a signature with a docstring.

    default: answers for classes without a kernel. compiled: loops call it. lean: its kernels all are `lean` and so is every call.
    """

    def make(signature: Callable[..., Any]) -> Any:
        parameters = inspect.signature(signature).parameters.values()
        name, names = signature.__name__, tuple(each.name for each in parameters if each.default is each.empty)
        optional = tuple(each.name for each in parameters if each.default is None)
        made = Verb(name, names, default, compiled, optional)
        arguments, first = ", ".join(names), names[0]
        # Written out by exec, because Numba needs the argument names themselves, not *args.
        source = f"""
def {name}({", ".join([arguments, *(f"{each}=None" for each in optional)])}):
    kernel = table.get(type({first}), default)
    if kernel is None:
        raise TypeError(f"{{type({first}).__name__}} does not answer the verb '{name}'.")
    {f"if type({first}) in whole: return kernel({', '.join([arguments, *optional])})" if optional else ""}
    return kernel({arguments})
def chosen({arguments}):
    kernel = table.get(getattr({first}, "instance_class", None), default)
    return None if kernel is None else python_of(kernel)
"""
        scope: dict[str, Any] = {"table": made.table, "whole": made.whole, "python_of": python_of, "default": default}
        exec(source, scope)
        generic = scope[name]
        generic.__doc__ = signature.__doc__
        generic.__module__ = signature.__module__
        if compiled:
            more = LEAN if lean else {}
            shared_overload(generic, PART | more)(scope["chosen"])
        generic.register, generic.table, generic.answers, generic.verb = made.register, made.table, made.answers, made
        if signature.__module__ == __name__:  # a family may have verbs of its own
            VERBS[name] = made
        return generic

    return make


# Defaults ----------------------------------------------------------------------------------------------------------------


def _nothing_to_record(policy, state, context, action):
    return state


def _as_update(policy, state, context, action, reward):
    return update(policy, state, context, action, reward)


def _no_explanation(policy, state, context, rng):
    raise ValueError(f"{type(policy).__name__} does not explain itself.")


def _by_drawing(policy, state, context, action, rng):
    """1 or 0 where `select` draws nothing; else the frequency in DRAWS selections."""
    wanted, hits, played = np.sort(np.atleast_1d(action)), 0, 0
    certain = False
    while played < DRAWS and not certain:
        before = rng.bit_generator.state
        hits += bool(np.array_equal(np.sort(np.atleast_1d(select(policy, state, context, rng))), wanted))
        played += 1
        certain = played == 1 and rng.bit_generator.state == before
    share = hits / played
    return share, 0.0 if certain else math.sqrt(max(share * (1.0 - share), 1.0 / played) / played)


def _cannot_grow(policy, state, arms):
    raise ValueError(f"{type(policy).__name__} cannot take in new arms; start a new session with all of them.")


def _as_stored(policy, stored):
    return stored


def _cannot_merge(policy, first, second):
    raise ValueError(f"{type(policy).__name__} does not learn by sums that could be added up; feed it one log after the other.")


def _any_finite_reward(policy):
    return -math.inf, math.inf


def _admits_all(policy, state, context):
    return None


def _own_choice(policy, state, action):
    return 0


def _exact(policy):
    return 0.0


def _as_it_is(problem):
    return problem


def _no_bound(problem):
    return None


DRAWS = 1000  # of the Monte Carlo estimate behind a propensity that nobody computes exactly

# What a policy answers -------------------------------------------------------------------------------------------------


@verb(compiled=False)
def init(policy, arms):
    """State before the first round, from an `Arms` description."""


@verb()
def select(policy, state, context, rng):
    """Arm (int) or super arm (int array) to play now. May draw from rng and write scratch; changes nothing else."""


@verb(default=_nothing_to_record)
def commit(policy, state, context, action):
    """State after an action was taken; it is open until `update` brings the reward. Updated in place; do not reuse the argument."""


@verb(default=_nothing_to_record)
def withdraw(policy, state, context, action):
    """State after an open decision was cancelled: undoes its `commit`. Updated in place; do not reuse the argument."""


@verb()
def update(policy, state, context, action, reward):
    """State after the reward of an open decision. Updated in place; do not reuse the argument."""


@verb(default=_as_update)
def inform(policy, state, context, action, reward):
    """State after a reward that no open decision stands for, such as a row of an old log. Updated in place; do not reuse the argument."""


@verb(compiled=False, default=_no_explanation)
def explain(policy, state, context, rng, draws=None):
    """Dict of per-arm arrays (mean, width, lower, upper, index, probability) and what the family adds; changes nothing.

    draws: how many random draws stand behind probabilities that are sampled; None: the policy's own number. A kernel without any may
    leave it out.
    """


@verb(compiled=False, default=_by_drawing)
def propensity(policy, state, context, action, rng):
    """(p, standard error): the chance that `select` chooses this action now; error 0.0 where it is exact. Changes nothing."""


@verb(compiled=False, default=_cannot_grow)
def grow(policy, state, arms):
    """State for a longer list of arms, the old ones first; everything learned stays. ValueError where the policy cannot."""


@verb(compiled=False, default=_cannot_merge)
def merge(policy, first, second):
    """State that has learned what both have, for states that are sums. ValueError where the policy cannot."""


@verb(compiled=False, default=_as_stored)
def translate(policy, stored):
    """Arrays of a state from a session file of format 1, by their path, under the names and in the form of today's state."""


@verb(compiled=False, default=_any_finite_reward)
def reward_range(policy):
    """(lowest, highest) reward the policy can take in; by default every finite one."""


@verb(compiled=False, default=_admits_all)
def admit(policy, state, context):
    """Raise ValueError where a round breaks what the policy (or monitor, with its tally) relies on; its kernels need not look."""


@verb(default=_own_choice)
def event(policy, state, action):
    """How the action of this round came about: 0 the learner's first choice, 1 a safe arm instead, 2 a baseline, 3 none was safe."""


@verb()
def stopped(policy, state):
    """Whether an identification policy has its answer."""


@verb()
def recommend(policy, state):
    """The arm an identification policy would name now."""


@verb(compiled=False)
def evidence(policy, state):
    """What supports the recommendation: a dict with `gap_bound`, `error` and `samples_remaining`, each a float."""


@verb(compiled=False, default=_exact)
def tolerance(policy):
    """By how much the mean of the recommended arm may fall short of the best and still be a right answer."""


# What a problem answers ------------------------------------------------------------------------------------------------


@verb(compiled=False)
def arms(problem):
    """The `Arms` description (without horizon) that policies are told."""


@verb(compiled=False, default=_as_it_is)
def private(problem):
    """A copy for one replication, for problems that write into their own arrays."""


@verb()
def observe(problem, t, rng):
    """Context of round t = 0, 1, ..; draws from the problem's stream."""


@verb()
def play(problem, context, action, rng):
    """Reward of an action: a float, or an array with one entry per arm of a set; draws from the noise stream.

    Where a set is looked at in its order and not to its end, the array has the rewards of its first arms only; no other is learned from.
    """


@verb()
def mean(problem, context, arm):
    """Expected reward of one arm in this round."""


@verb()
def regret(problem, context, action):
    """Pseudo-regret of an action: the best value of the round minus the action's."""


@verb(compiled=False, default=_no_bound)
def lower_bound(problem):
    """(C, a): no policy that is good on every such problem has regret below C ln T + a T as T grows; None where no bound is known."""


# What a monitor answers ------------------------------------------------------------------------------------------------


@verb(compiled=False)
def begin(monitor, arms, n_checkpoints):
    """Fresh arrays for one replication, as a NamedTuple."""


@verb()
def watch(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    """Record round t; `checkpoint` is the row to write at its end, or -1."""


# Helpers of kernels ----------------------------------------------------------------------------------------------------


def allowed(eligible, arm):
    """Whether a mask admits an arm; no mask admits all."""
    return eligible is None or bool(eligible[arm])


@shared_overload(allowed, PART, inline="always")
def _allowed(eligible, arm):
    if isinstance(eligible, np.ndarray) or hasattr(eligible, "dtype"):
        return lambda eligible, arm: eligible[arm]
    return lambda eligible, arm: True


def either(given, otherwise):
    """`given`, or `otherwise` where a round gives nothing."""
    return otherwise if given is None else given


@shared_overload(either, PART, inline="always")
def _either(given, otherwise):
    if isinstance(given, types.NoneType):
        return lambda given, otherwise: otherwise
    return lambda given, otherwise: given
