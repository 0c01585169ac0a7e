"""How a policy declares itself: `@policy` turns an annotated class into a checked, keyword-only NamedTuple and registers it.

A NamedTuple is what compiled code can take apart; its values are floats, ints, bools, arrays or other policies, so every
constructor coerces (`alpha=2` and `alpha=2.0` must not compile twice) and checks its range once, here. Strings and `None` are
encoded as numbers and shown as what the user wrote.
"""

import inspect
import math
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from . import checks
from .verbs import Arms, reward_range

T = TypeVar("T")


@dataclass(frozen=True)
class Field:
    """One parameter: its default, what it accepts (in words), how it is checked and stored, how it is shown again."""

    default: Any
    words: str
    encode: Callable[[str, Any], Any]
    decode: Callable[[Any], Any] = lambda stored: stored
    required: bool = False
    positional: bool = False


Bound = float | None


def _bounds(above: float | None, least: float | None, below: float | None, most: float | None) -> str:
    low = f"({above:g}" if above is not None else "(-inf" if least is None else f"[{least:g}"
    high = f"{below:g})" if below is not None else "inf)" if most is None else f"{most:g}]"
    return f"{low}, {high}"


def real(default: Bound = None, *, above: Bound = None, least: Bound = None, below: Bound = None, most: Bound = None) -> Any:
    """A float; without a default it is required."""

    def encode(name: str, value: Any) -> float:
        return checks.real(name, value, above=above, least=least, below=below, most=most)

    return Field(default, f"number in {_bounds(above, least, below, most)}", encode, required=default is None)


def optional_real(*, above: Bound = None, least: Bound = None, below: Bound = None, most: Bound = None, words: str = "") -> Any:
    """A float or None (stored as NaN). words: what None means."""

    def encode(name: str, value: Any) -> float:
        return math.nan if value is None else checks.real(name, value, above=above, least=least, below=below, most=most)

    text = f"number in {_bounds(above, least, below, most)}, or None{f' ({words})' if words else ''}"
    return Field(None, text, encode, lambda stored: None if math.isnan(stored) else stored)


def real_or(
    default: float | str, words: tuple[str, ...], *, above: float | None = None, least: float | None = None, most: float | None = None
) -> Any:
    """A float, or one of a few words (stored as -inf, the word's place encoded as -1, -2, .. below it)."""
    accepted = f"number in {_bounds(above, least, None, most)}, or {' or '.join(map(repr, words))}"

    def encode(name: str, value: Any) -> float:
        if isinstance(value, str) and value in words:
            return -1e300 * (1 + words.index(value) / 16)
        try:
            return checks.real(name, value, above=above, least=least, most=most)
        except ValueError:
            raise ValueError(f"{name} = {checks.show(value)} is not a {accepted}.") from None

    def decode(stored: float) -> Any:
        return words[round((-stored / 1e300 - 1) * 16)] if stored <= -1e300 else stored

    return Field(default, accepted, encode, decode)


def integer(default: int | None = None, *, least: int | None = None, most: int | None = None) -> Any:
    """An int; without a default it is required."""
    return Field(default, f"whole number from {'-inf' if least is None else least} to {'inf' if most is None else most}",
                 lambda name, value: checks.integer(name, value, least=least, most=most), required=default is None)  # fmt: skip


def optional_integer(*, least: int = 1, most: int | None = None, words: str = "") -> Any:
    """An int or None (stored as least - 1)."""
    return Field(None, f"whole number from {least}, or None{f' ({words})' if words else ''}",
                 lambda name, value: least - 1 if value is None else checks.integer(name, value, least=least, most=most),
                 lambda stored: None if stored < least else stored)  # fmt: skip


def choice(default: str, *options: str) -> Any:
    """One of a few words (stored as its place)."""
    words = (default, *(option for option in options if option != default))
    return Field(
        default, " or ".join(map(repr, words)), lambda name, value: checks.choice(name, value, words), lambda stored: words[stored]
    )


def flag(default: bool) -> Any:
    """True or False."""
    return Field(default, "True or False", checks.flag)


def vector(default: Any = None, *, least: float | None = None, most: float | None = None, words: str = "numbers") -> Any:
    """A float64 vector; None is stored as an empty one."""

    def encode(name: str, value: Any) -> np.ndarray:
        return np.empty(0) if value is None else checks.vector(name, value, least=least, most=most)

    return Field(
        default, f"{words}, or None" if default is None else words, encode, lambda stored: stored.tolist() if stored.size else None
    )


def checkpoints(default: int = 1) -> Any:
    """Rounds at which something is verified: every T-th, or increasing rounds (stored as `checks.checkpoints` encodes them)."""

    def decode(stored: np.ndarray) -> Any:
        return -int(stored[0]) if stored[0] < 0 else stored.tolist()

    return Field(default, "whole number T from 1 (every T rounds), or increasing rounds", checks.checkpoints, decode)


def inner_policy() -> Any:
    """Another policy; it may be given without its name."""

    def encode(name: str, value: Any) -> Any:
        if not is_policy(value):
            raise ValueError(f"{name} = {checks.show(value)} is not a policy; pass an instance such as UCB().")
        if type(value).TRAITS.stops:
            raise ValueError(f"{name} = {label(value)} looks for the best arm and then stops; pass a policy that plays on, such as UCB().")
        return value

    return Field(None, "a policy", encode, required=True, positional=True)


@dataclass(frozen=True)
class Traits:
    """What the engine, the service and the documentation know of a policy class."""

    accepts: tuple[str, ...]
    paper: str
    stops: bool
    compiled: bool


KINDS = ("arms", "features", "contexts", "points", "line", "sets")
REGISTRY: dict[str, Any] = {}


@dataclass_transform(kw_only_default=True, field_specifiers=(
    real, optional_real, real_or, integer, optional_integer, choice, flag, vector, checkpoints, inner_policy))  # fmt: skip
def policy(*accepts: str, paper: str, stops: bool = False, compiled: bool = True) -> Callable[[type[T]], type[T]]:
    """Class decorator that makes and registers a policy.

    accepts: what it can be given: "arms" (K arms without features), "features" (fixed (K, d)), "contexts" (new features every
    round), "points" (a metric), "line" (points on the line), "sets" (super arms from an oracle). paper: its source. stops: it
    answers `stopped` and `recommend`. compiled: False when a round is dominated by BLAS or a solver, so that the loop runs interpreted.
    """
    unknown = set(accepts) - set(KINDS)
    if unknown:
        raise ValueError(f"accepts has {sorted(unknown)}, but must be among {KINDS}.")

    def build(cls: type[T]) -> type[T]:
        made = _named_tuple(cls, Traits(accepts, paper, stops, compiled))
        REGISTRY[cls.__name__] = made
        return made

    return build


def _named_tuple(cls: type, traits: Traits) -> Any:
    fields: dict[str, Field] = {}
    for parent in reversed(cls.__mro__):  # parameters that several policies share may stand in a plain base class
        for name in inspect.get_annotations(parent):
            field = parent.__dict__.get(name)
            if not isinstance(field, Field):
                raise TypeError(f"{cls.__name__}.{name} needs a field such as real(1.0) as its value.")
            fields[name] = field
    base: Any = namedtuple(cls.__name__, list(fields))  # type: ignore[misc]
    settle = getattr(cls, "settle", None)

    leading = [name for name, field in fields.items() if field.positional]

    def __new__(klass: Any, *unnamed: Any, **given: Any) -> Any:
        if len(unnamed) > len(leading) or any(name in given for name in leading[: len(unnamed)]):
            raise TypeError(f"{cls.__name__} takes {', '.join(leading) or 'nothing'} without a name; name the other parameters.")
        given |= zip(leading, unnamed, strict=False)
        unknown = [name for name in given if name not in fields]
        if unknown:
            raise TypeError(f"{cls.__name__} has no parameter {unknown[0]!r}; it takes {', '.join(fields) or 'none'}.")
        missing = [name for name, field in fields.items() if field.required and name not in given]
        if missing:
            raise TypeError(f"{cls.__name__} needs {', '.join(missing)}.")
        stored = {name: field.encode(name, given.get(name, field.default)) for name, field in fields.items()}
        if settle is not None:
            stored = settle(stored)
        made = base.__new__(klass, **stored)
        if traits.accepts and not accepts(made):
            inner = " and ".join(type(item).__name__ for item in made if is_policy(item))
            raise ValueError(f"{cls.__name__} plays {' or '.join(traits.accepts)}, but {inner} does not.")
        return made

    def __repr__(self: Any) -> str:
        return f"{cls.__name__}({', '.join(f'{name}={value!r}' for name, value in shown(self).items())})"

    def __reduce__(self: Any) -> Any:
        return type(self)._make, (tuple(self),)

    kept = {
        name: value
        for name, value in vars(cls).items()
        if name not in fields and name not in ("__dict__", "__weakref__", "__annotations__")
    }
    signature = inspect.Signature([
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD if field.positional else inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.required else field.default,
        )
        for name, field in sorted(fields.items(), key=lambda item: not item[1].positional)
    ])  # fmt: skip
    members = kept | {
        "__slots__": (), "__new__": __new__, "__repr__": __repr__, "__reduce__": __reduce__,
        "__signature__": signature, "FIELDS": fields, "TRAITS": traits,
    }  # fmt: skip
    return type(cls.__name__, (base,), members)


def is_policy(value: Any) -> bool:
    """Whether a value is an instance of a registered policy class."""
    return hasattr(type(value), "TRAITS") and hasattr(type(value), "FIELDS")


def is_policy_class(value: Any) -> bool:
    """Whether a value is a registered class or a preset, which makes policies when called."""
    return hasattr(value, "TRAITS") and hasattr(value, "FIELDS") and not is_policy(value)


def shown(value: Any) -> dict[str, Any]:
    """Parameters of a policy as the user wrote them."""
    return {name: field.decode(stored) for (name, field), stored in zip(type(value).FIELDS.items(), value, strict=True)}


def label(value: Any) -> str:
    """A policy in short: its name and the parameters that differ from their defaults."""
    fields = type(value).FIELDS
    given = [
        label(item) if is_policy(item) else f"{name}={item!r}"
        for name, item in shown(value).items()
        if fields[name].required or item != fields[name].default
    ]
    return type(value).__name__ + (f"({', '.join(given)})" if given else "")


def described(value: Any) -> dict[str, Any]:
    """A policy as JSON-ready data that `built` turns back into it."""

    def plain(item: Any) -> Any:
        return described(item) if is_policy(item) else item

    return {"policy": type(value).__name__, **{name: plain(item) for name, item in shown(value).items()}}


def built(data: dict[str, Any]) -> Any:
    """The policy that `described` wrote down, or that a YAML file asks for: {"policy": name, parameter: value, ..}."""
    if not isinstance(data, dict) or "policy" not in data:
        raise ValueError(f"{checks.show(data)} does not name a policy; write it as {{policy: UCB, alpha: 2}}.")
    parameters = {
        name: built(item) if isinstance(item, dict) and "policy" in item else item for name, item in data.items() if name != "policy"
    }
    try:
        return find(data["policy"])(**parameters)
    except TypeError as error:
        raise ValueError(str(error)) from None


def find(name: str) -> Any:
    """Registered policy class or preset of a name; a misspelt one is refused with the nearest."""
    if isinstance(name, str) and name in REGISTRY:
        return REGISTRY[name]
    import difflib

    by_letters = {known.casefold(): known for known in REGISTRY}
    near = difflib.get_close_matches(str(name).casefold(), by_letters, n=1, cutoff=0.5)
    hint = f" Did you mean {by_letters[near[0]]!r}?" if near else ""
    raise ValueError(f"policy = {checks.show(name)} is not one of {', '.join(sorted(REGISTRY))}.{hint}")


class Preset:
    """A policy class under another name with other defaults; every parameter can still be given.

    plays: what it makes use of among what the class accepts; None: all.
    """

    def __init__(self, name: str, base: Any, doc: str, plays: tuple[str, ...] | None = None, **defaults: Any) -> None:
        self.__name__, self.base, self.__doc__, self.defaults = name, base, doc, defaults
        self.__module__ = base.__module__
        self.FIELDS, self.TRAITS = base.FIELDS, replace(base.TRAITS, accepts=plays or base.TRAITS.accepts)
        self.__signature__ = inspect.Signature([
            parameter.replace(default=defaults.get(parameter.name, parameter.default))
            for parameter in inspect.signature(base).parameters.values()
        ])  # fmt: skip
        REGISTRY[name] = self

    def __call__(self, *unnamed: Any, **given: Any) -> Any:
        return self.base(*unnamed, **(self.defaults | given))

    def __repr__(self) -> str:
        return f"<preset {self.__name__} of {self.base.__name__}>"


def registered() -> Iterator[tuple[str, Any]]:
    """Names and classes (or presets), by name."""
    yield from sorted(REGISTRY.items())


def offers(arms: Arms) -> tuple[str, ...]:
    """Which kinds of policy fit arms of this description."""
    if arms.oracle is not None:
        return ("sets",)
    if arms.distances is not None:
        return ("points", "line", "arms") if arms.points is not None and arms.points.ndim == 1 else ("points", "arms")
    if arms.features is not None:
        return ("features", "arms")
    return ("contexts",) if arms.dimension else ("arms",)


def accepts(policy: Any) -> tuple[str, ...]:
    """Kinds of arms a policy can be given: those of its class that the policies inside it take as well."""
    kinds = type(policy).TRAITS.accepts
    for item in policy:
        if is_policy(item):
            kinds = tuple(kind for kind in kinds if kind in accepts(item))
    return kinds


def compiled(policy: Any) -> bool:
    """Whether the loop runs compiled for this policy and those inside it."""
    return type(policy).TRAITS.compiled and all(compiled(item) for item in policy if is_policy(item))


def check_fit(policy: Any, arms: Arms) -> None:
    """Refuse a policy on arms it cannot play."""
    if arms.rewards is not None:
        low, high = reward_range(policy)
        if arms.rewards[0] < low or arms.rewards[1] > high:
            raise ValueError(f"{policy!r} takes rewards in [{low:g}, {high:g}], but this problem pays rewards in {arms.rewards}.")
    fits, kinds = offers(arms), accepts(policy)
    if not set(fits) & set(kinds):
        raise ValueError(f"{type(policy).__name__} plays {' or '.join(kinds)}, but these arms offer {' or '.join(fits)}.")


def check_question(policy: Any, arms: Arms) -> None:
    """Refuse to look for the best of fewer than two arms."""
    if arms.number < 2:
        name = type(policy).__name__
        raise ValueError(
            f"arms has {arms.number} row, but {name} needs at least 2 to choose from; a single arm is the best without a sample."
        )
