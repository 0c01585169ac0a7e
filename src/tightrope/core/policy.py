"""`Policy`: what every policy answers, and `@policy`, which makes one of a class with parameters, a state and verbs."""

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeGuard, TypeVar, dataclass_transform

import numpy as np

from . import checks, notebook
from .declaration import check_methods, declared, named_tuple
from .dispatch import Verb, required, verb
from .fields import (
    Declared,
    Field,
    arm_set,
    checkpoints,
    choice,
    flag,
    integer,
    real,
    reward_ends,
    vector,
)  # fmt: skip
from .names import REGISTRY, add, check_free
from .sampled import Sampled
from .types import Stored

T = TypeVar("T")

DRAWS = 1000  # of the Monte Carlo estimate behind a propensity that nobody computes exactly
KINDS = ("arms", "features", "contexts", "points", "line", "sets", "sets of lasting arms")


@dataclasses.dataclass(frozen=True)
class Traits:
    """A policy class as the engine, the service and the documentation know it."""

    accepts: tuple[str, ...]
    paper: str
    stops: bool
    compiled: bool
    base: "type[Policy] | None" = None  # of a preset: the class whose instances it makes


def inner_policy(*, kw_only: Literal[False] = False) -> Declared:
    """Field: another policy; it may be given without its name."""

    def encode(name: str, value: object) -> "Policy":
        if not is_policy(value):
            raise ValueError(f"{name} = {checks.show(value)} is not a policy; pass an instance such as UCB().")
        if type(value).TRAITS.stops:
            raise ValueError(f"{name} = {label(value)} looks for the best arm and then stops; pass a policy that plays on, such as UCB().")
        return value

    return Field(None, "a policy", encode, required=True, positional=True, schema=Policy)


@dataclass_transform(kw_only_default=True, field_specifiers=(
    real, integer, choice, flag, vector, arm_set, checkpoints, reward_ends,
    inner_policy))  # fmt: skip
class Policy:
    """The base of every policy class, which `@policy` makes a NamedTuple of its parameters with these verbs.

    A policy must answer init, select and update; one that stops also stopped, recommend and evidence. One round is select (propose),
    commit (the action is taken), and update when its reward comes.
    """

    __slots__ = ()
    DECLARES: ClassVar[bool] = True  # annotations here are no parameters
    FIELDS: ClassVar[Mapping[str, Field]]  # its parameters, by name
    TRAITS: ClassVar[Traits]  # what the engine, the service and the documentation know of it

    @required
    def init(self, arms):
        """State before the first round, from an `Arms` description."""

    @required
    def select(self, state, context, rng):
        """Arm (int) or super arm (int array) to play now. May draw from rng and write scratch; changes nothing else."""

    def commit(self, state, context, action):
        """State after an action was taken; it is open until `update` brings the reward. Updated in place; do not reuse the argument."""
        return state

    def withdraw(self, state, context, action):
        """State after an open decision was cancelled: undoes its `commit`. Updated in place; do not reuse the argument."""
        return state

    @required
    def update(self, state, context, action, reward):
        """State after the reward of an open decision. Updated in place; do not reuse the argument."""

    def inform(self, state, context, action, reward):
        """State after a reward that no open decision stands for, as a row of an old log. Updated in place; do not reuse the argument."""
        return update(self, state, context, action, reward)

    def event(self, state, action):
        """How the action of this round came about: 0 the learner's first choice, 1 a safe arm instead, 2 a baseline, 3 none was safe."""
        return 0

    def explain(self, state, context, rng, draws=None):
        """Dict of per-arm arrays (mean, width, lower, upper, index, probability) and what the family adds; changes nothing.

        draws: how many random draws stand behind probabilities that are sampled; None: the policy's own number. A policy without any may
        leave it out.
        """
        raise ValueError(f"{type(self).__name__} does not explain itself.")

    def propensity(self, state, context, action, rng, draws=None):
        """(p, standard error): the chance that `select` chooses this action now; error 0.0 where it is exact. Changes nothing.

        draws: how many random draws stand behind a chance that is sampled; None: the policy's own number. A policy whose chances are all
        exact may leave it out. A sampled one is a `Sampled(p, error, draws)`, so that decisions say so. Without an answer of its own:
        1 or 0 where `select` draws nothing, else the frequency in DRAWS selections.
        """
        most = DRAWS if draws is None else draws
        wanted, hits, played = np.sort(np.atleast_1d(action)), 0, 0
        certain = False
        while played < most and not certain:
            before = rng.bit_generator.state
            hits += bool(np.array_equal(np.sort(np.atleast_1d(self.select(state, context, rng))), wanted))
            played += 1
            certain = played == 1 and rng.bit_generator.state == before
        share = hits / played
        return (share, 0.0) if certain else Sampled(share, math.sqrt(max(share * (1.0 - share), 1.0 / played) / played), played)

    def chances(self, state, context, out):
        """Fill out (K,) with the chance that `select` plays each arm now, and say whether it did; False where kernels cannot compute it.

        For logs of many rounds: what `propensity` says of one arm at a time, up to rounding. Writes scratch, changes nothing else.
        """
        return False

    def grow(self, state, arms):
        """State for a longer list of arms, the old ones first; everything learned stays. ValueError where the policy cannot."""
        raise ValueError(f"{type(self).__name__} cannot take in new arms; start a new session with all of them.")

    def merge(self, first, second):
        """State that has learned what both have, for states that are sums. ValueError where the policy cannot."""
        raise ValueError(f"{type(self).__name__} does not learn by sums that could be added up; feed it one log after the other.")

    def reward_range(self):
        """(lowest, highest) reward the policy can take in; by default every finite one."""
        return -math.inf, math.inf

    def with_rewards(self, arms):
        """The policy for arms that pay such rewards, where it needs their range and does not say it itself; by default itself."""
        return self

    def admit(self, state, context):
        """Raise ValueError where a round breaks what the policy relies on; its kernels need not look."""
        return

    @required
    def stopped(self, state):
        """Whether an identification policy has its answer."""

    @required
    def recommend(self, state):
        """The arm an identification policy would name now."""

    @required
    def evidence(self, state):
        """The grounds of the recommendation: a dict with `gap_bound`, `error` and `samples_remaining`, each a float."""

    def tolerance(self):
        """By how much the mean of the recommended arm may fall short of the best and still be a right answer."""
        return 0.0

    def _repr_html_(self) -> str:
        kind = type(self)
        what = (kind.__doc__ or "").strip().splitlines()[0]
        rows = [[name, repr(value), kind.FIELDS[name].words] for name, value in parameters(self).items()]
        return notebook.table(f"{kind.__name__}: {what}", ["parameter", "value", "range"], rows, kind.TRAITS.paper)

    if TYPE_CHECKING:  # what a NamedTuple of its parameters has

        def __init__(self, *unnamed: object, **parameters: object) -> None: ...
        def __iter__(self) -> Iterator[object]: ...
        @classmethod
        def _make(cls, values: Iterable[object]) -> Self: ...
        def _replace(self, **changes: object) -> Self: ...


update = verb(Policy.update)
VERBS: dict[str, Verb] = {
    name: verb(method, compiled=False).verb for name, method in vars(Policy).items() if inspect.isfunction(method) and name[0] != "_"
}  # by name, to check classes against
NEEDED = ("init", "select", "update")
NEEDED_TO_STOP = ("stopped", "recommend", "evidence")


def is_policy(value: object) -> TypeGuard[Policy]:
    """Whether a value is an instance of a registered policy class."""
    return isinstance(value, Policy)


def parameters(value: Policy) -> dict[str, object]:
    return {name: field.decode(getattr(value, name)) for name, field in type(value).FIELDS.items()}


def label(value: Policy) -> str:
    """A policy in short: its name and the parameters that differ from their defaults."""
    fields = type(value).FIELDS
    settings = [
        label(item) if is_policy(item) else f"{name}={item!r}"
        for name, item in parameters(value).items()
        if fields[name].required or item != fields[name].default
    ]
    return type(value).__name__ + (f"({', '.join(settings)})" if settings else "")


def accepts(policy: Policy) -> tuple[str, ...]:
    """Kinds of arms a policy can be given: those of its class that the policies inside it take as well."""
    return common(type(policy).TRAITS.accepts, [item for item in policy if is_policy(item)])


def common(kinds: tuple[str, ...], inside: list[Policy]) -> tuple[str, ...]:
    return tuple(kind for kind in kinds if all(kind in accepts(item) for item in inside))


def compiled(policy: Policy) -> bool:
    """Whether the loop runs compiled for this policy and those inside it."""
    return type(policy).TRAITS.compiled and all(compiled(item) for item in policy if is_policy(item))


@dataclass_transform(kw_only_default=True, field_specifiers=(
    real, integer, choice, flag, vector, arm_set, checkpoints, reward_ends,
    inner_policy))  # fmt: skip
def policy(*accepts: str, paper: str, stops: bool = False, compiled: bool = True, public: bool = True) -> Callable[[type[T]], type[T]]:
    """Class decorator that makes and registers a policy.

    Parameters are annotated fields; methods named after verbs answer them (see `Policy`), with `@jit` where the loop runs compiled;
    other methods begin with an underscore. A static method `complete` may check and change the stored values together (a dict, by name);
    one called `variant` may name another policy class that is made instead, by the parameters that were given (a dict, by name).

    Parameters
    ----------
    accepts : str
        What it can be given: "arms" (K arms without features), "features" (fixed (K, d)), "contexts" (new features every round),
        "points" (a metric), "line" (points on the line), "sets" (super arms from an oracle), "sets of lasting arms" (super arms of
        arms that are the same every round, with features or without).
    paper : str
        Its source.
    stops : bool
        Whether it answers `stopped`, `recommend` and `evidence`.
    compiled : bool
        False when a round is dominated by BLAS or a solver, so that the loop runs interpreted.
    public : bool
        Whether it is found by its name, in specs and files.

    Raises
    ------
    TypeError
        Where a method is misspelt, takes other arguments than its verb, or is missing.
    ValueError
        Where another policy has this name.
    """
    unknown = set(accepts) - set(KINDS)
    if unknown:
        raise ValueError(f"accepts has {sorted(unknown)}, but must be among {KINDS}.")

    def build(cls: type[T]) -> type[T]:
        if public:
            check_free(REGISTRY, cls.__name__, cls)
        policy_class = _policy_class(cls, Traits(accepts, paper, stops, compiled))
        if public:
            add(REGISTRY, cls.__name__, policy_class)
        return policy_class

    return build


def _policy_class(cls: type, traits: Traits) -> Any:
    def complete(arguments: Stored) -> Stored:
        stored = getattr(cls, "complete", dict)(arguments)
        inside = [item for item in stored.values() if is_policy(item)]
        if traits.accepts and not common(traits.accepts, inside):
            names = " and ".join(type(item).__name__ for item in inside)
            raise ValueError(f"{cls.__name__} plays {' or '.join(traits.accepts)}, but {names} does not.")
        plain = next((item for item in inside if not compiled(item)), None)
        if traits.compiled and plain is not None:
            raise ValueError(f"{cls.__name__} is compiled code, which cannot call {label(plain)}: its rounds are Python.")
        return stored

    check_methods(cls, VERBS, NEEDED + (NEEDED_TO_STOP if traits.stops else ()))
    leading = [name for name, field in declared(cls)[0].items() if field.positional]
    policy_class = named_tuple(cls, Policy, leading, complete)
    policy_class.TRAITS = traits
    policy_class.__repr__ = lambda self: f"{cls.__name__}({', '.join(f'{name}={value!r}' for name, value in parameters(self).items())})"
    return policy_class


def preset(*plays: str, **defaults: object) -> Callable[[type[T]], type[T]]:
    """Class decorator: the policy that the class stands on, under another name with other defaults.

    It is a subclass that makes instances of its base, so that both share compiled code, their name in files, and equality. Every parameter
    can still be given; of those that a class names in NEEDED one must be.

    Parameters
    ----------
    plays : str
        What it makes use of among what the base accepts; nothing: all.
    defaults : object
        Parameters of the base by name, with their new defaults.

    Raises
    ------
    TypeError
        Where the class does not stand on a policy, or the policy has no parameter of such a name.
    ValueError
        Where another policy has this name.
    """

    def build(cls: type[T]) -> type[T]:
        base: Any = cls.__bases__[0]
        if not is_policy_class(base):
            raise TypeError(f"{cls.__name__} stands on {base.__name__}, but must stand on a policy, whose defaults it changes.")
        unknown = sorted(defaults.keys() - base.FIELDS.keys())
        if unknown:
            raise TypeError(f"{cls.__name__} has defaults for {', '.join(unknown)}, but {base.__name__} takes {', '.join(base.FIELDS)}.")

        needed: dict[str, None] = dict.fromkeys(getattr(cls, "NEEDED", ()))

        def make(_: object, *unnamed: object, **parameters: object) -> Policy:
            if needed and not needed.keys() & parameters.keys():
                raise ValueError(
                    f"{cls.__name__} needs {' or '.join(needed)}, without which it is another policy; give {next(iter(needed))}."
                )
            policy: Policy = base(*unnamed, **(defaults | parameters))
            return policy

        changed: Any = cls
        changed.__new__ = make
        changed.FIELDS = {
            name: dataclasses.replace(field, default=defaults[name], required=False) if name in defaults else field
            for name, field in base.FIELDS.items()
        }
        changed.TRAITS = dataclasses.replace(base.TRAITS, accepts=plays or base.TRAITS.accepts, base=base)
        changed.__signature__ = inspect.Signature([
            parameter.replace(default=defaults.get(parameter.name, parameter.default))
            for parameter in inspect.signature(base).parameters.values()
        ])  # fmt: skip
        lines = (f"    {line}" for line in parameter_lines(changed))
        changed.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", f"{base.__name__} with other defaults:", *lines])
        add(REGISTRY, cls.__name__, changed)
        return cls

    return build


def is_policy_class(value: object) -> TypeGuard[type[Policy]]:
    """Whether a value is a registered class, which makes policies when called."""
    return isinstance(value, type) and issubclass(value, Policy)


def base_of(item: type[Policy]) -> type[Policy]:
    """The class whose instances a class makes: of a preset the one that it stands on."""
    return item.TRAITS.base or item


def parameter_lines(item: type[Policy]) -> list[str]:
    """A line for each parameter of a class: its name, default and range."""
    return [f"{name} = {'required' if field.required else repr(field.default)}   {field.words}" for name, field in item.FIELDS.items()]
