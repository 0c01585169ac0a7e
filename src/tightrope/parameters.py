"""How a policy or a problem declares itself: `@policy` turns an annotated class into a checked NamedTuple and registers it.

A NamedTuple is what compiled code can take apart; its values are floats, ints, bools, arrays or other policies, so every
constructor coerces (`alpha=2` and `alpha=2.0` must not compile twice) and checks its range once, here. Strings and `None` are
encoded as numbers and shown as what the user wrote. Fields take their default by name (`real(default=1.0)`), which is how type
checkers know that a parameter may be left out.
"""

import inspect
import math
from collections import namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform

import numpy as np

from . import checks
from .matching import common, compiled
from .registry import REGISTRY, Policy, Problem, Recipe, add, is_policy, label, shown
from .types import Stored

T = TypeVar("T")

Vector = Annotated[list[float], "ArrayLike"]  # what a spec may hold, and the name of the type in Python
Matrix = Annotated[list[list[float]] | str, "ArrayLike"]  # rows, or a .npy or .csv file beside the spec


@dataclass(frozen=True)
class Field:
    """One parameter: its default, what it accepts (in words and as a type), how it is checked and stored, how it is shown again.

    kept: whether it is stored as it is; otherwise only `complete` sees it. named: keyword only.
    """

    default: object
    words: str
    encode: Callable[[str, object], object]
    decode: Callable[[Any], object] = lambda stored: stored
    required: bool = False
    positional: bool = False
    schema: object = Any
    kept: bool = True
    named: bool = False


@dataclass(frozen=True)
class Derived:
    """What `complete` computes from the parameters. scratch: an array that `observe` writes into."""

    scratch: bool


Bound = float | None


def _bounds(above: float | None, least: float | None, below: float | None, most: float | None) -> str:
    low = f"({above:g}" if above is not None else "(-inf" if least is None else f"[{least:g}"
    high = f"{below:g})" if below is not None else "inf)" if most is None else f"{most:g}]"
    return f"{low}, {high}"


def real(
    default: Bound = None, *, above: Bound = None, least: Bound = None, below: Bound = None, most: Bound = None, kw_only: bool = False
) -> Any:
    """A float; without a default it is required. above, below: exclusive bounds; least, most: inclusive ones."""

    def encode(name: str, value: object) -> float:
        return checks.real(name, value, above=above, least=least, below=below, most=most)

    text = f"number in {_bounds(above, least, below, most)}"
    return Field(default, text, encode, required=default is None, schema=float, named=kw_only)


def optional_real(
    default: None = None, *, above: Bound = None, least: Bound = None, below: Bound = None, most: Bound = None, words: str = ""
) -> Any:
    """A float or None (stored as NaN). words: what None means."""

    def encode(name: str, value: object) -> float:
        return math.nan if value is None else checks.real(name, value, above=above, least=least, below=below, most=most)

    text = f"number in {_bounds(above, least, below, most)}, or None{f' ({words})' if words else ''}"
    return Field(default, text, encode, lambda stored: None if math.isnan(stored) else stored, schema=float | None)


def real_or(
    default: float | str, words: tuple[str, ...], *, above: float | None = None, least: float | None = None, most: float | None = None
) -> Any:
    """A float, or one of a few words (stored as -inf, the word's place encoded as -1, -2, .. below it)."""
    accepted = f"number in {_bounds(above, least, None, most)}, or {' or '.join(map(repr, words))}"

    def encode(name: str, value: object) -> float:
        if isinstance(value, str) and value in words:
            return -1e300 * (1 + words.index(value) / 16)
        try:
            return checks.real(name, value, above=above, least=least, most=most)
        except ValueError:
            raise ValueError(f"{name} = {checks.show(value)} is not a {accepted}.") from None

    def decode(stored: float) -> float | str:
        return words[round((-stored / 1e300 - 1) * 16)] if stored <= -1e300 else stored

    return Field(default, accepted, encode, decode, schema=float | Literal[words])


def integer(
    default: int | None = None, *, least: int | None = None, most: int | None = None, kept: bool = True, kw_only: bool = False
) -> Any:
    """An int; without a default it is required."""
    return Field(default, f"whole number from {'-inf' if least is None else least} to {'inf' if most is None else most}",
                 lambda name, value: checks.integer(name, value, least=least, most=most),
                 required=default is None, schema=int, kept=kept, named=kw_only)  # fmt: skip


def optional_integer(default: None = None, *, least: int = 1, most: int | None = None, words: str = "") -> Any:
    """An int or None (stored as least - 1)."""
    return Field(default, f"whole number from {least}, or None{f' ({words})' if words else ''}",
                 lambda name, value: least - 1 if value is None else checks.integer(name, value, least=least, most=most),
                 lambda stored: None if stored < least else stored, schema=int | None)  # fmt: skip


def choice(*options: str, default: str | None = None, kw_only: bool = False) -> Any:
    """One of a few words (stored as its place). default: the first where none is given."""
    usual = options[0] if default is None else default
    if usual not in options:
        raise TypeError(f"default = {usual!r} is not one of {', '.join(map(repr, options))}.")
    return Field(
        usual, " or ".join(map(repr, options)), lambda name, value: checks.choice(name, value, options), lambda stored: options[stored],
        schema=Literal[options], named=kw_only,
    )  # fmt: skip


def flag(default: bool) -> Any:
    """True or False."""
    return Field(default, "True or False", checks.flag, schema=bool)


def vector(
    default: object = ..., *, least: float | None = None, most: float | None = None, words: str = "numbers", kept: bool = True
) -> Any:
    """A float64 vector; without a default it is required, with the default None it may be left out (stored as an empty one)."""

    def encode(name: str, value: object) -> np.ndarray:
        return np.empty(0) if value is None and default is None else checks.vector(name, value, least=least, most=most)

    return Field(
        default, f"{words}, or None" if default is None else words, encode, lambda stored: stored.tolist() if stored.size else None,
        required=default is ..., schema=Vector | None if default is None else Vector, kept=kept,
    )  # fmt: skip


def matrix(*, words: str = "rows of numbers", kept: bool = True) -> Any:
    """A float64 matrix (C-contiguous, at least one row and column); required. In a spec also a .npy or .csv file beside it."""
    return Field(..., words, checks.matrix, lambda stored: stored.tolist(), required=True, schema=Matrix, kept=kept)


def unchecked(default: object = ..., *, schema: object = Any, words: str = "", kept: bool = False, kw_only: bool = False) -> Any:
    """What only `complete` can check, because it depends on another parameter."""
    return Field(default, words, lambda name, value: value, required=default is ..., schema=schema, kept=kept, named=kw_only)


def checkpoints(default: int = 1) -> Any:
    """Rounds at which something is verified: every T-th, or increasing rounds (stored as `checks.checkpoints` encodes them)."""

    def decode(stored: np.ndarray) -> int | list[int]:
        return -int(stored[0]) if stored[0] < 0 else stored.tolist()

    words = "whole number T from 1 (every T rounds), or increasing rounds"
    return Field(default, words, checks.checkpoints, decode, schema=int | Annotated[list[int], "Iterable[int]"])


def arm_set(words: str = "distinct arms") -> Any:
    """A set of arms, at least one (stored as an increasing int64 array)."""

    return Field(..., words, checks.arm_set, lambda stored: stored.tolist(), required=True, schema=Annotated[list[int], "ArrayLike"])


def inner_policy() -> Any:
    """Another policy; it may be given without its name."""

    def encode(name: str, value: object) -> Policy:
        if not is_policy(value):
            raise ValueError(f"{name} = {checks.show(value)} is not a policy; pass an instance such as UCB().")
        if type(value).TRAITS.stops:
            raise ValueError(f"{name} = {label(value)} looks for the best arm and then stops; pass a policy that plays on, such as UCB().")
        return value

    return Field(None, "a policy", encode, required=True, positional=True, schema=Policy)


def derived(*, init: Literal[False] = False) -> Any:
    """No parameter: what `complete` computes, once."""
    return Derived(scratch=False)


def scratch(*, init: Literal[False] = False) -> Any:
    """No parameter: an array from `complete` that `observe` writes this round into; every replication gets its own."""
    return Derived(scratch=True)


@dataclass(frozen=True)
class Traits:
    """What the engine, the service and the documentation know of a policy class."""

    accepts: tuple[str, ...]
    paper: str
    stops: bool
    compiled: bool


KINDS = ("arms", "features", "contexts", "points", "line", "sets", "sets of lasting arms")


@dataclass_transform(kw_only_default=True, field_specifiers=(
    real, optional_real, real_or, integer, optional_integer, choice, flag, vector, checkpoints, inner_policy))  # fmt: skip
def policy(*accepts: str, paper: str, stops: bool = False, compiled: bool = True, public: bool = True) -> Callable[[type[T]], type[T]]:
    """Class decorator that makes and registers a policy.

    accepts: what it can be given: "arms" (K arms without features), "features" (fixed (K, d)), "contexts" (new features every
    round), "points" (a metric), "line" (points on the line), "sets" (super arms from an oracle), "sets of lasting arms" (super arms of arms
    that are the same every round, with features or without). paper: its source. stops: it answers `stopped` and `recommend`.
    compiled: False when a round is dominated by BLAS or a solver, so that the loop runs interpreted. public: whether it is found by its
    name, in specs and files.
    A function `complete` in the class may check and change the stored values together (a dict, by name).

    Raises ValueError where another policy has this name.
    """
    unknown = set(accepts) - set(KINDS)
    if unknown:
        raise ValueError(f"accepts has {sorted(unknown)}, but must be among {KINDS}.")

    def build(cls: type[T]) -> type[T]:
        made = _policy_class(cls, Traits(accepts, paper, stops, compiled))
        if public:
            add(REGISTRY, cls.__name__, made)
        return made

    return build


def _policy_class(cls: type, traits: Traits) -> Any:
    def complete(given: Stored) -> Stored:
        stored = getattr(cls, "complete", dict)(given)
        inside = [item for item in stored.values() if is_policy(item)]
        if traits.accepts and not common(traits.accepts, inside):
            names = " and ".join(type(item).__name__ for item in inside)
            raise ValueError(f"{cls.__name__} plays {' or '.join(traits.accepts)}, but {names} does not.")
        plain = next((item for item in inside if not compiled(item)), None)
        if traits.compiled and plain is not None:
            raise ValueError(f"{cls.__name__} is compiled code, which cannot call {label(plain)}: its rounds are Python.")
        return stored

    leading = [name for name, field in declared(cls)[0].items() if field.positional]
    made = named_tuple(cls, Policy, leading, complete)
    made.TRAITS = traits
    made.__repr__ = lambda self: f"{cls.__name__}({', '.join(f'{name}={value!r}' for name, value in shown(self).items())})"
    return made


def declared(cls: type) -> tuple[dict[str, Field], dict[str, Derived]]:
    """Parameters and derived values of an annotated class; those that several classes share may stand in a plain base class."""
    fields: dict[str, Field] = {}
    others: dict[str, Derived] = {}
    for parent in reversed(cls.__mro__):
        for name in inspect.get_annotations(parent) if parent not in (Policy, Problem) else ():
            item = parent.__dict__.get(name)
            if isinstance(item, Field):
                fields[name] = item
            elif isinstance(item, Derived):
                others[name] = item
            else:
                raise TypeError(f"{cls.__name__}.{name} needs a field such as real(default=1.0) as its value.")
    return fields, others


def named_tuple(cls: type, marker: type, leading: list[str], complete: Callable[[Stored], Stored], more: Iterable[str] = ()) -> Any:
    """The class of checked NamedTuples that `cls` declares.

    leading: parameters that may be given without a name. complete: turns the dict of checked parameters into the dict of stored
    values. more: derived values that have no annotation.
    """
    fields, others = declared(cls)
    hints = {name: hint for parent in reversed(cls.__mro__) for name, hint in inspect.get_annotations(parent).items()}
    stored_types = {name: hints[name] for name in [*(name for name, field in fields.items() if field.kept), *others]}
    base: Any = namedtuple(cls.__name__, [*(name for name, field in fields.items() if field.kept), *others, *more])  # type: ignore[misc]

    def __new__(klass: Any, *unnamed: Any, **given: Any) -> Any:
        if len(unnamed) > len(leading) or any(name in given for name in leading[: len(unnamed)]):
            raise TypeError(f"{cls.__name__} takes {', '.join(leading) or 'nothing'} without a name; name the other parameters.")
        given |= zip(leading, unnamed, strict=False)
        unknown = [name for name in given if name not in fields]
        if unknown:
            raise TypeError(
                f"{cls.__name__} has no parameter {unknown[0]!r}; it takes {', '.join(fields) or 'none'}.{checks.hint(unknown[0], fields)}"
            )
        missing = [name for name, field in fields.items() if field.required and name not in given]
        if missing:
            raise TypeError(f"{cls.__name__} needs {', '.join(missing)}.")
        stored = {name: field.encode(name, given.get(name, field.default)) for name, field in fields.items()}
        return base.__new__(klass, **complete(stored))

    def __reduce__(self: Any) -> Any:
        return type(self)._make, (tuple(self),)

    hidden = {*fields, *others, "complete", "__dict__", "__weakref__", "__annotations__", "__module__", "__doc__", "__slots__"}
    signature = inspect.Signature([
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD if name in leading else inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.required else field.default,
        )
        for name, field in sorted(fields.items(), key=lambda item: item[0] not in leading)
    ])  # fmt: skip
    members = {name: value for name, value in vars(cls).items() if name not in hidden} | {
        "__slots__": (), "__new__": __new__, "__reduce__": __reduce__, "__signature__": signature, "FIELDS": fields,
        "STORED": stored_types, "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__,
    }  # fmt: skip
    return type(cls.__name__, (base, marker), members)


def recipe_of(kind: str, made: type[Problem]) -> Recipe:
    """What a spec may say of a problem class: its parameters."""
    return Recipe(kind, made, {name: (field.schema, ... if field.required else field.default) for name, field in made.FIELDS.items()})
