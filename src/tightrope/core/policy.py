"""`Policy`: what every policy answers, and `@policy`, which makes one of a class with parameters, a
state and verbs."""

import dataclasses
import functools
import inspect
import math
import sys
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeGuard,
    TypeVar,
    cast,
    dataclass_transform,
)

import numpy as np

from ..compiled.kernels import LEAN, PART, is_kernel, python_of, shared_overload
from . import checks, files
from .fields import (
    Declared,
    DerivedField,
    Field,
    Stored,
    arm_set,
    checkpoints,
    choice,
    flag,
    integer,
    opened,
    real,
    reward_ends,
    unchecked,
    vector,
)
from .types import Arguments, JsonObject, Sampled

# Which policies, problems and problems of specs there are, by name. Classes enter themselves when
# their modules are imported.


T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class ProblemRecipe:
    """A problem that a YAML file can ask for: what makes it, and its parameters with their types
    and defaults (`...`: required)."""

    kind: str
    make: "Callable[..., Problem | Sequence[Problem]]"
    parameters: Mapping[str, tuple[object, object]]


REGISTRY: dict[str, Any] = {}  # policy classes and presets, by name
PROBLEMS: dict[str, Any] = {}  # problem classes, by name
RECIPES: dict[str, ProblemRecipe] = {}  # problems, by the kind that a spec names


def check_free(names: Mapping[str, object], name: str, item: object) -> None:
    """Refuse a name that another item has; the same definition may run again, as in a notebook."""
    before = names.get(name)
    if before is not None and _place(before) != _place(item):
        where, what = _place(before)
        raise ValueError(
            f"the name {name!r} is taken by {what} in {where}; call {_place(item)[1]} in "
            f"{_place(item)[0]} something else."
        )


def add(names: dict[str, T], name: str, item: T) -> None:
    """Register a policy or a recipe under a free name; the same definition, run again, replaces
    itself."""
    check_free(names, name, item)
    names[name] = item


def _place(item: object) -> tuple[str, str]:
    origin: Any = getattr(item, "make", item)
    file = getattr(sys.modules.get(origin.__module__), "__file__", None)
    return file or origin.__module__, getattr(origin, "__qualname__", origin.__name__)


# Verbs: functions whose answer is a method of their first argument's class, in plain Python and in
# compiled code alike.


F = TypeVar("F", bound=Callable[..., object])


@dataclasses.dataclass(frozen=True)
class Verb:
    """A verb: its argument names, and the method that answers for classes without one of their
    own."""

    name: str
    signature: tuple[str, ...]  # after the object itself
    default: Callable[..., object] | None  # None: a class must answer
    compiled: bool  # loops call it; otherwise only Python does
    optional: tuple[
        str, ...
    ] = ()  # arguments after those of the signature, which a method may leave out

    def of(self, cls: type) -> Callable[..., Any] | None:
        method = getattr(cls, self.name, self.default)  # a bare NamedTuple may answer verbs, too
        return None if getattr(method, "required", False) else method

    def answers(self, instance: object) -> bool:
        method = self.of(type(instance))
        return method is not None and method is not self.default

    def check(self, owner: str, method: Callable[..., object]) -> None:
        arguments = tuple(inspect.signature(python_of(method)).parameters)[1:]
        if arguments not in (self.signature, self.signature + self.optional):
            raise TypeError(
                f"{owner}.{self.name} takes {list(arguments)} after self, but must take "
                f"{list(self.signature)}."
            )


def required(method: F) -> F:
    """Decorator of a base class's method that every class must have itself."""

    @functools.wraps(method)
    def missing(self: object, *arguments: object, **named: object) -> object:
        raise TypeError(f"{type(self).__name__} does not answer the verb '{method.__name__}'.")

    missing.required = True  # type: ignore[attr-defined]
    return cast(F, missing)


def verb(method: Callable[..., object], *, compiled: bool = True, lean: bool = False) -> Any:
    """The verb of a base class's method, or of a bare signature with a docstring, which every class
    must answer.

    compiled: loops call it. lean: its kernels all are `lean` and so is every call.
    """
    parameters = list(inspect.signature(method).parameters.values())
    names = tuple(each.name for each in parameters[1:] if each.default is each.empty)
    optional = tuple(each.name for each in parameters[1:] if each.default is None)
    default = (
        None if getattr(method, "required", False) or "." not in method.__qualname__ else method
    )
    described = Verb(method.__name__, names, default, compiled, optional)
    whole = len(names) + len(optional)

    @functools.cache
    def leaves_out(kernel: Callable[..., object]) -> bool:
        return len(inspect.signature(python_of(kernel)).parameters) <= len(names) + 1

    @functools.wraps(method)
    def call(first: object, *rest: object) -> object:
        kernel = described.of(type(first))
        if kernel is None:
            raise TypeError(f"{type(first).__name__} does not answer the verb '{described.name}'.")
        if optional and len(rest) == whole and leaves_out(kernel):
            rest = rest[: len(names)]
        return kernel(first, *rest)

    def choose(first: object, *rest: object) -> Callable[..., object] | None:
        kernel = described.of(getattr(first, "instance_class", type(None)))
        return None if kernel is None else python_of(kernel)

    choose.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        parameters[: len(names) + 1],
    )
    if compiled:
        shared_overload(call, PART | (LEAN if lean else {}), strict=False)(choose)
    call.__dict__.pop("required", None)
    call.verb, call.answers = described, described.answers  # type: ignore[attr-defined]
    return call


def lean_verb(method: Callable[..., object]) -> Any:
    return verb(method, lean=True)


# How an annotated class becomes a checked NamedTuple that keeps the class's methods.


HOOKS = (
    "complete",
    "made_instead",
)  # static methods that a class may have beside its verbs, see `named_tuple`


def declared(cls: type) -> tuple[dict[str, Field], dict[str, DerivedField]]:
    fields: dict[str, Field] = {}
    others: dict[str, DerivedField] = {}
    for parent in reversed(cls.__mro__):
        for name in inspect.get_annotations(parent) if "DECLARES" not in vars(parent) else ():
            item = parent.__dict__.get(name)
            if isinstance(item, Field):
                fields[name] = item
            elif isinstance(item, DerivedField):
                others[name] = item
            else:
                raise TypeError(
                    f"{cls.__name__}.{name} needs a field such as real(default=1.0) as its value."
                )
    for name in getattr(cls, "WITHOUT", ()):  # of a parent's, what the class has no use for
        del fields[name]
    return fields, others


def check_methods(cls: type, verbs: dict[str, Verb], needed: Iterable[str]) -> None:
    """Refuse methods that answer no verb or take other arguments, and a class that lacks a verb it
    must answer."""
    for parent in cls.__mro__:
        if parent is object or "DECLARES" in vars(parent):
            continue
        for name, method in vars(parent).items():
            if (
                name.startswith("_")
                or name in HOOKS
                or not (inspect.isfunction(method) or is_kernel(method))
            ):
                continue
            if name not in verbs:
                raise TypeError(
                    f"{cls.__name__}.{name} is no verb of "
                    f"{', '.join(sorted(verbs))}.{checks.hint(name, verbs)} Put helpers outside "
                    "the class, or begin their names with an underscore."
                )
            verbs[name].check(cls.__name__, method)
    missing = [name for name in needed if verbs[name].of(cls) is None]
    if missing:
        raise TypeError(
            f"{cls.__name__} needs the method{'s' if len(missing) > 1 else ''} "
            f"{', '.join(missing)}."
        )


def equal(one: Any, other: Any) -> bool:
    """Whether two stored values are the same; NaN, which stands for None, is itself."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other) or (
        isinstance(one, float)
        and isinstance(other, float)
        and math.isnan(one)
        and math.isnan(other)
    )


def hashed(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return None if isinstance(value, float) and math.isnan(value) else value


def named_tuple(
    cls: type,
    marker: type,
    leading: list[str],
    complete: Callable[[Stored], Stored],
    more: Iterable[str] = (),
) -> Any:
    """The class of checked NamedTuples that `cls` declares; it stands on the classes that `cls`
    stands on.

    marker: the base class, where `cls` names none. leading: parameters that may be given without a
    name. complete: turns the dict of checked parameters into the dict of stored values. more:
    derived values that have no annotation. A static method `variant` of `cls` may name another
    class that is made instead, by the parameters that were given (a dict, by name).
    """
    fields, others = declared(cls)
    hints = {
        name: hint
        for parent in reversed(cls.__mro__)
        for name, hint in inspect.get_annotations(parent).items()
    }
    stored_types = {
        name: hints[name]
        for name in [*(name for name, field in fields.items() if field.kept), *others]
    }
    base: Any = namedtuple(  # type: ignore[misc]
        cls.__name__, [*(name for name, field in fields.items() if field.kept), *others, *more]
    )

    made_instead: Callable[[Arguments], Callable[..., object] | None] = getattr(
        cls, "made_instead", lambda arguments: None
    )

    def make(klass: type, *unnamed: object, **arguments: object) -> object:
        if len(unnamed) > len(leading) or any(
            name in arguments for name in leading[: len(unnamed)]
        ):
            raise TypeError(
                f"{cls.__name__} takes {', '.join(leading) or 'nothing'} without a name; name the "
                "other parameters."
            )
        arguments |= zip(leading, unnamed, strict=False)
        other = made_instead(arguments)
        if other is not None:
            return other(**arguments)
        unknown = [name for name in arguments if name not in fields]
        if unknown:
            raise TypeError(
                f"{cls.__name__} has no parameter {unknown[0]!r}; it takes "
                f"{', '.join(fields) or 'none'}.{checks.hint(unknown[0], fields)}"
            )
        missing = [
            name for name, field in fields.items() if field.required and name not in arguments
        ]
        if missing:
            raise TypeError(f"{cls.__name__} needs {', '.join(missing)}.")
        stored = {
            name: field.encode(name, arguments.get(name, field.default))
            for name, field in fields.items()
        }
        return base.__new__(klass, **complete(stored))

    def __reduce__(self: Any) -> tuple[object, ...]:
        return type(self)._make, (tuple(self),)

    def __eq__(self: tuple[object, ...], other: object) -> bool:
        return type(other) is type(self) and all(
            equal(one, another) for one, another in zip(self, other, strict=True)
        )

    def __ne__(self: object, other: object) -> bool:  # a tuple has its own
        return not self == other

    def __hash__(self: tuple[object, ...]) -> int:
        return hash((type(self), *map(hashed, self)))

    hidden = {
        *fields,
        *others,
        *HOOKS,
        "__dict__",
        "__weakref__",
        "__annotations__",
        "__module__",
        "__doc__",
        "__slots__",
    }
    signature = inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD
                if name in leading
                else inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.required else field.default,
            )
            for name, field in sorted(fields.items(), key=lambda item: item[0] not in leading)
        ]
    )
    members = {
        "__slots__": (),
        "__new__": make,
        "__reduce__": __reduce__,
        "__eq__": __eq__,
        "__ne__": __ne__,
        "__hash__": __hash__,
        "__signature__": signature,
        "FIELDS": fields,
        "STORED": stored_types,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
    }
    members |= {
        name: value
        for name, value in vars(cls).items()
        if name not in hidden and name not in members
    }
    parents = [parent for parent in cls.__bases__ if parent is not object]
    if not any(issubclass(parent, marker) for parent in parents):
        parents.append(marker)
    return type(cls.__name__, (base, *parents), members)


def parameters_of(declared_class: Any) -> dict[str, tuple[object, object]]:
    """The parameters that a spec may give: types and defaults (`...`: required)."""
    return {
        name: (field.schema, ... if field.required else field.default)
        for name, field in declared_class.FIELDS.items()
    }


DRAWS = 1000  # of the Monte Carlo estimate behind a propensity that nobody computes exactly
KINDS = ("arms", "features", "contexts", "points", "line", "sets", "sets of lasting arms")


# parameters of instances as in a spec, or a function of the problem for those that know the truth
Examples = Sequence[JsonObject] | Callable[[Any], Sequence[JsonObject]]


@dataclasses.dataclass(frozen=True)
class Traits:
    """A policy class as the engine, the service and the documentation know it."""

    accepts: tuple[str, ...]
    paper: str
    stops: bool | Literal["plan"]
    compiled: bool
    examples: Examples = ()
    rewards: tuple[float, float] = (-math.inf, math.inf)
    base: "type[Policy] | None" = None  # of a preset: the class whose instances it makes


def inner_policy(default: "Policy | None" = None, *, kw_only: Literal[False] = False) -> Declared:
    """Field: another policy; it may be given without its name, and must be without a default."""

    def encode(name: str, value: object) -> "Policy":
        if not is_policy(value):
            raise ValueError(
                f"{name} = {checks.show(value)} is not a policy; pass an instance such as UCB()."
            )
        if type(value).TRAITS.stops:
            raise ValueError(
                f"{name} = {label(value)} looks for the best arm and then stops; pass a policy "
                "that plays on, such as UCB()."
            )
        return value

    required = default is None
    return Field(default, "a policy", encode, required=required, positional=True, schema=Policy)


@dataclass_transform(
    kw_only_default=True,
    field_specifiers=(
        real,
        integer,
        choice,
        flag,
        vector,
        arm_set,
        checkpoints,
        reward_ends,
        inner_policy,
    ),
)
class Policy:
    """The base of every policy class, which `@policy` makes a NamedTuple of its parameters with
    these verbs.

    A policy must answer init, select and update; one that stops also stopped, recommend and
    evidence. One round is select (propose), commit (the action is taken), and update when its
    reward comes.
    """

    __slots__ = ()
    DECLARES: ClassVar[bool] = True  # annotations here are no parameters
    FIELDS: ClassVar[Mapping[str, Field]]  # its parameters, by name
    TRAITS: ClassVar[Traits]  # what the engine, the service and the documentation know of it
    METRICS: ClassVar[bool] = False  # whether a reward may be an array of several metrics' values

    @required
    def init(self, arms):
        """State before the first round, from an `Arms` description."""

    @required
    def select(self, state, context, rng):
        """Arm (int) or super arm (int array) to play now. May draw from rng and write scratch;
        changes nothing else."""

    def commit(self, state, context, action):
        """State after an action was taken; it is open until `update` brings the reward. Updated in
        place; do not reuse the argument."""
        return state

    def withdraw(self, state, context, action):
        """State after an open decision was cancelled: undoes its `commit`. Updated in place; do not
        reuse the argument."""
        return state

    @required
    def update(self, state, context, action, reward):
        """State after the reward of an open decision. Updated in place; do not reuse the
        argument."""

    def inform(self, state, context, action, reward):
        """State after a reward that no open decision stands for, as a row of an old log. Updated in
        place; do not reuse the argument."""
        return update(self, state, context, action, reward)

    def event(self, state, action):
        """How the action of this round came about: 0 the learner's first choice, 1 a safe arm
        instead, 2 a baseline, 3 none was safe."""
        return 0

    def explain(self, state, context, rng, draws=None):
        """Dict of per-arm arrays (mean, width, lower, upper, index, probability) and what the
        family adds; changes nothing.

        draws: how many random draws stand behind probabilities that are sampled; None: the policy's
        own number. A policy without any may leave it out.
        """
        raise ValueError(f"{type(self).__name__} does not explain itself.")

    def propensity(self, state, context, action, rng, draws=None):
        """(p, standard error): the chance that `select` chooses this action now; error 0.0 where it
        is exact. Changes nothing.

        draws: how many random draws stand behind a chance that is sampled; None: the policy's own
        number. A policy whose chances are all exact may leave it out. A sampled one is a
        `Sampled(p, error, draws)`, so that decisions say so. Without an answer of its own: 1 or 0
        where `select` draws nothing, else the frequency in DRAWS selections.
        """
        most = DRAWS if draws is None else draws
        wanted, hits, played = np.sort(np.atleast_1d(action)), 0, 0
        certain = False
        while played < most and not certain:
            before = rng.bit_generator.state
            hits += bool(
                np.array_equal(np.sort(np.atleast_1d(self.select(state, context, rng))), wanted)
            )
            played += 1
            certain = played == 1 and rng.bit_generator.state == before
        share = hits / played
        return (
            (share, 0.0)
            if certain
            else Sampled(
                share, math.sqrt(max(share * (1.0 - share), 1.0 / played) / played), played
            )
        )

    def chances(self, state, context, out):
        """Fill out (K,) with the chance that `select` plays each arm now, and say whether it did;
        False where kernels cannot compute it.

        For logs of many rounds: what `propensity` says of one arm at a time, up to rounding. Writes
        scratch, changes nothing else.
        """
        return False

    def grow(self, state, arms):
        """State for a longer list of arms, the old ones first; everything learned stays. ValueError
        where the policy cannot."""
        raise ValueError(
            f"{type(self).__name__} cannot take in new arms; start a new session with all of them."
        )

    def merge(self, first, second):
        """State that has learned what both have, for states that are sums. ValueError where the
        policy cannot."""
        raise ValueError(
            f"{type(self).__name__} does not learn by sums that could be added up; feed it one "
            "log after the other."
        )

    def reward_range(self):
        """(lowest, highest) reward the policy can take in; by default as its decorator says."""
        return self.TRAITS.rewards

    def with_rewards(self, arms):
        """The policy for arms that pay such rewards, where it needs their range and does not say it
        itself; by default itself."""
        return self

    def admit(self, state, context):
        """Raise ValueError where a round breaks what the policy relies on; its kernels need not
        look."""
        return

    @required
    def stopped(self, state):
        """Whether an identification policy has its answer."""

    @required
    def recommend(self, state):
        """The arm an identification policy would name now."""

    @required
    def evidence(self, state):
        """The grounds of the recommendation: a dict with `gap_bound`, `error` and
        `samples_remaining`, each a float."""

    def tolerance(self):
        """By how much the mean of the recommended arm may fall short of the best and still be a
        right answer."""
        return 0.0

    def _repr_html_(self) -> str:
        kind = type(self)
        what = (kind.__doc__ or "").strip().splitlines()[0]
        rows = [
            [name, repr(value), kind.FIELDS[name].words] for name, value in parameters(self).items()
        ]
        return files.table(
            f"{kind.__name__}: {what}", ["parameter", "value", "range"], rows, kind.TRAITS.paper
        )

    if TYPE_CHECKING:  # what a NamedTuple of its parameters has

        def __init__(self, *unnamed: object, **parameters: object) -> None: ...
        def __iter__(self) -> Iterator[object]: ...
        @classmethod
        def _make(cls, values: Iterable[object]) -> Self: ...
        def _replace(self, **changes: object) -> Self: ...


update = verb(Policy.update)
POLICY_VERBS: dict[str, Verb] = {
    name: verb(method, compiled=False).verb
    for name, method in vars(Policy).items()
    if inspect.isfunction(method) and name[0] != "_"
}  # by name, to check classes against
NEEDED = ("init", "select", "update")
NEEDED_TO_STOP = ("stopped", "recommend", "evidence")


def metrics_of(policy: Policy) -> dict[str, list[float]] | None:
    """The metrics of a decision by name, with their ends, the objective first; None: it has one
    reward."""
    inside = (metrics_of(item) for item in policy if is_policy(item))
    found: dict[str, list[float]] | None = (
        opened(policy.metrics) if policy.METRICS else None  # type: ignore[attr-defined]
    )
    return found or next((each for each in inside if each), None)


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
    """Kinds of arms a policy can be given: those of its class that the policies inside it take as
    well."""
    return common(type(policy).TRAITS.accepts, [item for item in policy if is_policy(item)])


def common(kinds: tuple[str, ...], inside: list[Policy]) -> tuple[str, ...]:
    return tuple(kind for kind in kinds if all(kind in accepts(item) for item in inside))


def compiled(policy: Policy) -> bool:
    """Whether the loop runs compiled for this policy and those inside it."""
    return type(policy).TRAITS.compiled and all(
        compiled(item) for item in policy if is_policy(item)
    )


@dataclass_transform(
    kw_only_default=True,
    field_specifiers=(
        real,
        integer,
        choice,
        flag,
        vector,
        arm_set,
        checkpoints,
        reward_ends,
        inner_policy,
    ),
)
def policy(
    *accepts: str,
    paper: str,
    stops: bool | Literal["plan"] = False,
    compiled: bool = True,
    public: bool = True,
    examples: Examples = (),
    rewards: tuple[float, float] = (-math.inf, math.inf),
) -> Callable[[type[T]], type[T]]:
    """Class decorator that makes and registers a policy.

    Parameters are annotated fields; methods named after verbs answer them (see `Policy`), with
    `@jit` where the loop runs compiled; other methods begin with an underscore. A static method
    `complete` may check and change the stored values together (a dict, by name); one called
    `variant` may name another policy class that is made instead, by the parameters that were given
    (a dict, by name).

    Parameters
    ----------
    accepts : str
        What it can be given: "arms" (K arms without features), "features" (fixed (K, d)),
        "contexts" (new features every round), "points" (a metric), "line" (points on the line),
        "sets" (super arms from an oracle), "sets of lasting arms" (super arms of arms that are the
        same every round, with features or without).
    paper : str
        Its source.
    stops : bool or "plan"
        Whether it answers `stopped`, `recommend` and `evidence`; "plan": it stops when the samples
        that it was given are taken, and certifies nothing.
    compiled : bool
        False when a round is dominated by BLAS or a solver, so that the loop runs interpreted.
    public : bool
        Whether it is found by its name, in specs and files.
    examples : dicts, or a function of a problem
        Parameters of instances that tests and benchmarks play, as in a spec; default the class
        with its defaults.
    rewards : (float, float)
        The lowest and the highest reward that it can take in; default every finite one.

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
        policy_class = _policy_class(
            cls, Traits(accepts, paper, stops, compiled, examples, rewards)
        )
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
            raise ValueError(
                f"{cls.__name__} plays {' or '.join(traits.accepts)}, but {names} does not."
            )
        plain = next((item for item in inside if not compiled(item)), None)
        if traits.compiled and plain is not None:
            raise ValueError(
                f"{cls.__name__} is compiled code, which cannot call {label(plain)}: its rounds "
                "are Python."
            )
        return stored

    check_methods(cls, POLICY_VERBS, NEEDED + (NEEDED_TO_STOP if traits.stops else ()))
    leading = [name for name, field in declared(cls)[0].items() if field.positional]
    policy_class = named_tuple(cls, Policy, leading, complete)
    policy_class.TRAITS = traits
    policy_class.__repr__ = lambda self: (
        f"{cls.__name__}"
        f"({', '.join(f'{name}={value!r}' for name, value in parameters(self).items())})"
    )
    return policy_class


def preset(*plays: str, **defaults: object) -> Callable[[type[T]], type[T]]:
    """Class decorator: the policy that the class stands on, under another name with other defaults.

    It is a subclass that makes instances of its base, so that both share compiled code, their name
    in files, and equality. Every parameter can still be given; of those that a class names in
    NEEDED one must be.

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
            raise TypeError(
                f"{cls.__name__} stands on {base.__name__}, but must stand on a policy, whose "
                "defaults it changes."
            )
        unknown = sorted(defaults.keys() - base.FIELDS.keys())
        if unknown:
            raise TypeError(
                f"{cls.__name__} has defaults for {', '.join(unknown)}, but {base.__name__} takes "
                f"{', '.join(base.FIELDS)}."
            )

        needed: dict[str, None] = dict.fromkeys(getattr(cls, "NEEDED", ()))

        def make(_: object, *unnamed: object, **parameters: object) -> Policy:
            if needed and not needed.keys() & parameters.keys():
                raise ValueError(
                    f"{cls.__name__} needs {' or '.join(needed)}, without which it is another "
                    f"policy; give {next(iter(needed))}."
                )
            policy: Policy = base(*unnamed, **(defaults | parameters))
            return policy

        changed: Any = cls
        changed.__new__ = make
        changed.FIELDS = {
            name: dataclasses.replace(field, default=defaults[name], required=False)
            if name in defaults
            else field
            for name, field in base.FIELDS.items()
        }
        changed.TRAITS = dataclasses.replace(
            base.TRAITS, accepts=plays or base.TRAITS.accepts, base=base
        )
        changed.__signature__ = inspect.Signature(
            [
                parameter.replace(default=defaults.get(parameter.name, parameter.default))
                for parameter in inspect.signature(base).parameters.values()
            ]
        )
        lines = (f"    {line}" for line in parameter_lines(changed))
        changed.__doc__ = "\n".join(
            [
                inspect.cleandoc(cls.__doc__ or ""),
                "",
                f"{base.__name__} with other defaults:",
                *lines,
            ]
        )
        add(REGISTRY, cls.__name__, changed)
        return cls

    return build


def is_policy_class(value: object) -> TypeGuard[type[Policy]]:
    return isinstance(value, type) and issubclass(value, Policy)


def base_of(item: type[Policy]) -> type[Policy]:
    """The class whose instances a class makes: of a preset the one that it stands on."""
    return item.TRAITS.base or item


def parameter_lines(item: type[Policy]) -> list[str]:
    """A line for each parameter of a class: its name, default and range."""
    return [
        f"{name} = {'required' if field.required else repr(field.default)}   {field.words}"
        for name, field in item.FIELDS.items()
    ]


# `Problem`: what every problem answers.


class Problem:
    """The base of every problem class, which `@problem` makes a NamedTuple of its parameters with
    these verbs.

    A problem must answer play; describe, observe, mean and regret have answers where it has
    `means`.
    """

    __slots__ = ()
    DECLARES: ClassVar[bool] = True  # annotations here are no parameters
    FIELDS: ClassVar[Mapping[str, Field]]
    COMPILED: ClassVar[bool]  # whether its kernels are
    WRITTEN: ClassVar[tuple[str, ...]] = ()  # arrays that `observe` writes into

    @required
    def describe(self):
        """The `Arms` description (without horizon) that policies are told."""

    def private(self):
        """A copy for one replication: of a problem that writes into its own arrays, with copies of
        those."""
        written = getattr(self, "WRITTEN", ())
        values = [(name, getattr(self, name)) for name in getattr(self, "_fields", ())]
        changes = {
            name: value.base  # kernels that only read it are compiled for arrays to write in
            for name, value in values
            if isinstance(value, np.ndarray)
            and not value.flags.writeable
            and isinstance(value.base, np.ndarray)
        } | {name: np.copy(getattr(self, name)) for name in written}
        return self._replace(**changes) if changes else self

    def __str__(self) -> str:
        means = np.ravel(getattr(self, "means", ()))
        first = [f"{k} with mean {means[k]:.3g}" for k in np.argsort(-means, kind="stable")[:2]]
        return (
            f"{self!r}\n {self.describe().number:,} arms, best "
            f"{', then '.join(first) or 'another in every round'}\n next: tr.simulate(problem, "
            "policies, horizon=...)"
        )

    def _repr_html_(self) -> str:
        rows = [
            [name, checks.show(field.decode(getattr(self, name))), field.words]
            for name, field in type(self).FIELDS.items()
            if field.kept
        ]
        return files.table(str(self), ["parameter", "value", "range"], rows)

    @required
    def observe(self, t, rng):
        """Context of round t = 0, 1, ..; draws from the problem's stream."""

    @required
    def play(self, context, action, rng):
        """Reward of an action: a float, or an array with one entry per arm of a set; draws from the
        noise stream.

        Where a set is looked at in its order and not to its end, the array has the rewards of its
        first arms only; no other is learned from. Of several metrics, see `Arms`, an array with
        one entry for each.
        """

    @required
    def mean(self, context, arm):
        """Expected reward of one arm in this round."""

    def metric_mean(self, context, arm, m):
        """Expected value of metric m of one arm in this round, the objective's where m is 0."""
        return mean(self, context, arm)

    @required
    def regret(self, context, action):
        """Pseudo-regret of an action: the best value of the round minus the action's."""

    def lower_bound(self):
        """(C, a): no policy that is good on every such problem has regret below C ln T + a T as T
        grows; None where no bound is known."""
        return

    if TYPE_CHECKING:

        def __init__(self, *unnamed: object, **parameters: object) -> None: ...

        @property
        def _fields(self) -> tuple[str, ...]: ...
        def __iter__(self) -> Iterator[object]: ...
        def _replace(self, **changes: object) -> Self: ...
        def _asdict(self) -> dict[str, object]: ...


mean = verb(Problem.mean)


# `Monitor`: what records a run besides regret and pulls, and `@monitor`, which makes one of a
# class.


class Monitor:
    """The base of every monitor class, which `@monitor` makes a NamedTuple of its parameters with
    these verbs."""

    __slots__ = ()
    DECLARES: ClassVar[bool] = True  # annotations here are no parameters
    FIELDS: ClassVar[Mapping[str, Field]]

    @required
    def begin(self, arms, n_checkpoints):
        """Fresh arrays for one replication, as a NamedTuple."""

    @required
    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        """Record round t; `checkpoint` is the row to write at its end, or -1."""

    def admit(self, tally, context):
        """Raise ValueError where a round breaks what the monitor relies on."""
        return

    if TYPE_CHECKING:

        def __init__(self, *unnamed: object, **parameters: object) -> None: ...


MONITOR_VERBS: dict[str, Verb] = {
    name: verb(method, compiled=False).verb
    for name, method in vars(Monitor).items()
    if inspect.isfunction(method)
}


@dataclass_transform(field_specifiers=(real, integer, checkpoints, unchecked))
def monitor(cls: type[T]) -> type[T]:
    """Class decorator that makes a monitor.

    Parameters
    ----------
    cls : class
        Its annotated fields are the parameters; its methods answer the verbs of `Monitor`.

    Returns
    -------
    class
        A named tuple with checked parameters.

    Raises
    ------
    TypeError
        Where a method is misspelt, takes other arguments than its verb, or is missing.
    """
    check_methods(cls, MONITOR_VERBS, ("begin", "watch"))
    monitor_class: type[T] = named_tuple(
        cls, Monitor, list(declared(cls)[0]), getattr(cls, "complete", dict)
    )
    return monitor_class


# `Delay`: when the reward of a decision is learned, and `@delay`, which makes a delay of a class.


class Delay:
    """The base of every delay class, which `@delay` makes a NamedTuple of its parameters with these
    verbs.

    A reward that is d rounds late is learned before the choice of the round that is d after the
    next.
    """

    __slots__ = ()
    DECLARES: ClassVar[bool] = True  # annotations here are no parameters
    FIELDS: ClassVar[Mapping[str, Field]]

    @required
    def lateness(self, t, reward, rng):
        """How many rounds late, 0 at least, the reward of round t = 0, 1, .. is. reward: of a set
        its sum. rng: the delay's own stream."""

    @required
    def longest(self, horizon, in_order):
        """The most rounds that a reward is open, which says for how many room is made; a run that
        needs more ends with an error."""

    if TYPE_CHECKING:

        def __init__(self, *unnamed: object, **parameters: object) -> None: ...


lateness = verb(Delay.lateness)
longest = verb(Delay.longest, compiled=False)
DELAY_VERBS: dict[str, Verb] = {"lateness": lateness.verb, "longest": longest.verb}


@dataclass_transform(field_specifiers=(real, integer))
def delay(cls: type[T]) -> type[T]:
    """Class decorator that makes a delay.

    Parameters
    ----------
    cls : class
        Its annotated fields are the parameters; its methods answer the verbs of `Delay`.

    Returns
    -------
    class
        A named tuple with checked parameters.

    Raises
    ------
    TypeError
        Where a method is misspelt, takes other arguments than its verb, or is missing.
    """
    check_methods(cls, DELAY_VERBS, DELAY_VERBS)
    delay_class: type[T] = named_tuple(
        cls, Delay, list(declared(cls)[0]), getattr(cls, "complete", dict)
    )
    return delay_class
