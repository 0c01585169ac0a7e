"""Fields: what a parameter of a policy, problem or monitor accepts, how it is checked and stored,
and how it is shown again.

Values are stored as floats, ints, bools, arrays or other policies, which compiled code can take;
every constructor coerces (`alpha=2` and `alpha=2.0` must not compile twice) and checks its range
once, here. Strings and `None` are encoded as numbers and shown as what the user wrote. Fields take
their default by name (`real(default=1.0)`), which is how type checkers know that a parameter may be
left out.
"""

import inspect
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import numpy as np
from numpy.typing import ArrayLike

from . import checks
from .types import Arms

Vector = Annotated[
    list[float], "ArrayLike"
]  # what a spec may hold, and the name of the type in Python
Matrix = Annotated[
    list[list[float]] | str, "ArrayLike"
]  # rows, or a .npy or .csv file beside the spec


G = TypeVar("G")
S = TypeVar("S")

Stored: TypeAlias = dict[str, Any]
"""Values of a policy's or problem's parameters by name, checked and encoded: what `complete` is
given and gives."""


class Given(Generic[G, S]):
    """A parameter that a constructor takes as G and stores as S; type checkers read what a
    descriptor takes and gives.

    For annotations only: no instance is ever made, so nothing below runs.
    """

    @overload
    def __get__(self, instance: None, owner: type) -> "Given[G, S]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> S: ...
    def __get__(self, instance: object, owner: type) -> object:
        raise NotImplementedError

    def __set__(self, instance: object, value: G) -> None:
        raise NotImplementedError


Array: TypeAlias = Given[ArrayLike, np.ndarray]
"""A parameter that may be anything NumPy reads as numbers, and is stored as a float64 array."""


@dataclass(frozen=True)
class Field:
    """One parameter: its default, what it accepts (in words and as a type), how it is checked and
    stored, how it is shown again.

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
class DerivedField:
    """A value that `complete` computes from the parameters. scratch: an array that `observe` writes
    into."""

    scratch: bool


Bound = float | None
Declared: TypeAlias = Any
"""A `Field` or `Derived` value where a parameter is declared: to type checkers of the type that the
annotation before it names."""


def _bounds(
    above: float | None, least: float | None, below: float | None, most: float | None
) -> str:
    low = f"({above:g}" if above is not None else "(-inf" if least is None else f"[{least:g}"
    high = f"{below:g})" if below is not None else "inf)" if most is None else f"{most:g}]"
    return f"{low}, {high}"


def real(
    default: float | str | None = None,
    *,
    above: Bound = None,
    least: Bound = None,
    below: Bound = None,
    most: Bound = None,
    none: str = "",
    words: tuple[str, ...] = (),
    kw_only: bool = False,
) -> Declared:
    """Field: a float, or where the declaration says so None (stored as NaN) or one of a few words
    (stored as numbers no parameter has).

    Parameters
    ----------
    default : float, str or None
        Where none is given; None: required, unless `none` says what None means.
    above, below : float
        Exclusive bounds, default none.
    least, most : float
        Inclusive bounds, default none.
    none : str
        What None means, for messages; default "": None is not accepted.
    words : tuple of str
        Words that are accepted, default none.
    kw_only : bool
        Whether the parameter must be given by its name, default False.

    Returns
    -------
    Field
    """
    accepted = f"number in {_bounds(above, least, below, most)}"
    if words:
        accepted += f", or {' or '.join(map(repr, words))}"

    def encode(name: str, value: object) -> float:
        if value is None and none:
            return math.nan
        if isinstance(value, str) and value in words:
            return -1e300 * (1 + words.index(value) / 16)
        try:
            return checks.real(name, value, above=above, least=least, below=below, most=most)
        except ValueError:
            if not words:
                raise
            raise ValueError(
                f"{name} = {checks.show(value)} is not a {accepted + _or_none(none)}."
            ) from None

    def decode(stored: float) -> float | str | None:
        if none and math.isnan(stored):
            return None
        return words[round((-stored / 1e300 - 1) * 16)] if words and stored <= -1e300 else stored

    schema: Any = float | Literal[words] if words else float
    return Field(
        default,
        accepted + _or_none(none),
        encode,
        decode,
        required=default is None and not none,
        schema=schema | None if none else schema,
        named=kw_only,
    )


def _or_none(none: str) -> str:
    return f", or None ({none})" if none else ""


def scale_bound(default: float, *, above: Bound = None, least: Bound = None) -> Declared:
    """A float that a guarantee rests on: a bound on the noise, which nobody learns silently."""

    def encode(name: str, value: object) -> float:
        if value is None:
            raise ValueError(
                f"{name} = None would be learned from the rewards, but the guarantee needs a "
                "bound on the noise beforehand; give its sub-Gaussian scale (1/2 for rewards in "
                "[0, 1]), or take UGapE(noise=None), whose guarantee holds for unknown variances."
            )
        return checks.real(name, value, above=above, least=least)

    return Field(default, f"number in {_bounds(above, least, None, None)}", encode, schema=float)


def integer(
    default: int | None = None,
    *,
    least: int | None = None,
    most: int | None = None,
    none: str = "",
    kept: bool = True,
    kw_only: bool = False,
) -> Declared:
    """Field: an int, or where the declaration says so None, which is stored as least - 1.

    Parameters
    ----------
    default : int or None
        Where none is given; None: required, unless `none` says what None means.
    least, most : int
        Inclusive bounds, default none.
    none : str
        What None means, for messages; default "": None is not accepted. It needs `least`.
    kept : bool
        Whether it is stored; otherwise only `complete` sees it. Default True.
    kw_only : bool
        Whether the parameter must be given by its name, default False.

    Returns
    -------
    Field
    """
    if none and least is None:
        raise TypeError("none is stored as least - 1, so least is needed.")
    missing = -1 if least is None else least - 1
    accepted = f"whole number from {'-inf' if least is None else least}"
    if most is not None or not none:
        accepted += f" to {'inf' if most is None else most}"
    return Field(
        default,
        accepted + _or_none(none),
        lambda name, value: (
            missing
            if none and value is None
            else checks.integer(name, value, least=least, most=most)
        ),
        lambda stored: None if none and stored == missing else stored,
        required=default is None and not none,
        schema=int | None if none else int,
        kept=kept,
        named=kw_only,
    )


def choice(
    *options: str, default: str | None = None, kw_only: bool = False, none: str = ""
) -> Declared:
    """Field: one of a few words, stored as its place.

    Parameters
    ----------
    *options : str
        The words.
    default : str
        Where none is given, default the first.
    kw_only : bool
        Whether the parameter must be given by its name, default False.
    none : str
        What None means, which is then the default and stored as -1.

    Returns
    -------
    Field
    """
    usual = options[0] if default is None and not none else default
    if usual is not None and usual not in options:
        raise TypeError(f"default = {usual!r} is not one of {', '.join(map(repr, options))}.")
    return Field(
        usual,
        " or ".join(map(repr, options)) + _or_none(none),
        lambda name, value: -1 if none and value is None else checks.choice(name, value, options),
        lambda stored: None if stored < 0 else options[stored],
        schema=Literal[options] | None if none else Literal[options],
        named=kw_only,
    )


def reward_ends(default: None = None, *, words: str) -> Declared:
    """Field: the lowest and the highest reward, or None, which is stored as (-inf, inf).

    Parameters
    ----------
    default : None
        Where none is given.
    words : str
        What None means, for messages.

    Returns
    -------
    Field
    """

    def encode(name: str, value: object) -> tuple[float, float]:
        if value is None:
            return -math.inf, math.inf
        ends = checks.floats(name, value)
        if ends.shape != (2,) or not -math.inf < ends[0] < ends[1] < math.inf:
            raise ValueError(
                f"{name} = {checks.show(value)} is not the lowest and the highest reward, two "
                "finite numbers such as (0, 1)."
            )
        return float(ends[0]), float(ends[1])

    return Field(
        default,
        f"(lowest, highest), or None ({words})",
        encode,
        lambda stored: None if math.isinf(stored[0]) else stored,
        schema=tuple[float, float] | None,
    )


def flag(default: bool | None = None, *, none: str = "") -> Declared:
    """Field: True or False, or where the declaration says so None; with None stored as 1, 0 and -1.

    Parameters
    ----------
    default : bool or None
        Where none is given; None: required, unless `none` says what None means.
    none : str
        What None means, for messages; default "": None is not accepted.

    Returns
    -------
    Field
    """
    if not none:
        return Field(default, "True or False", checks.flag, required=default is None, schema=bool)
    return Field(
        default,
        f"True, False{_or_none(none)}",
        lambda name, value: -1 if value is None else int(checks.flag(name, value)),
        lambda stored: None if stored < 0 else bool(stored),
        schema=bool | None,
    )


def vector(
    default: object = ...,
    *,
    least: float | None = None,
    most: float | None = None,
    words: str = "numbers",
    kept: bool = True,
) -> Declared:
    """Field: a float64 vector; without a default it is required.

    Parameters
    ----------
    default : None
        It may be left out and is then stored as an empty one.
    least, most : float
        Inclusive bounds of its entries, default none.
    words : str
        What it holds, for messages; default "numbers".
    kept : bool
        Whether it is stored; otherwise only `complete` sees it. Default True.

    Returns
    -------
    Field
    """

    def encode(name: str, value: object) -> np.ndarray:
        return (
            np.empty(0)
            if value is None and default is None
            else checks.vector(name, value, least=least, most=most)
        )

    return Field(
        default,
        f"{words}, or None" if default is None else words,
        encode,
        lambda stored: stored.tolist() if stored.size else None,
        required=default is ...,
        schema=Vector | None if default is None else Vector,
        kept=kept,
    )


def matrix(*, words: str = "rows of numbers", kept: bool = True) -> Declared:
    """Field: a float64 matrix, C-contiguous, with at least one row and column; required. In a spec
    also a .npy or .csv file beside it.

    Parameters
    ----------
    words : str
        What it holds, for messages; default "rows of numbers".
    kept : bool
        Whether it is stored; otherwise only `complete` sees it. Default True.

    Returns
    -------
    Field
    """
    return Field(
        ...,
        words,
        checks.matrix,
        lambda stored: stored.tolist(),
        required=True,
        schema=Matrix,
        kept=kept,
    )


def unchecked(
    default: object = ...,
    *,
    schema: object = Any,
    words: str = "",
    kept: bool = False,
    kw_only: bool = False,
) -> Declared:
    """Field: a parameter that only `complete` can check, because it depends on another one.

    Parameters
    ----------
    default : object
        Where none is given; left out: required.
    schema : type
        What a spec may say, default anything.
    words : str
        What it accepts, for messages.
    kept : bool
        Whether it is stored as it is given, default False.
    kw_only : bool
        Whether the parameter must be given by its name, default False.

    Returns
    -------
    Field
    """
    return Field(
        default,
        words,
        lambda name, value: value,
        required=default is ...,
        schema=schema,
        kept=kept,
        named=kw_only,
    )


def packed(value: object) -> np.ndarray:
    """Names and numbers that compiled code does not read: their JSON, as bytes."""
    return np.array(bytearray(json.dumps(value).encode()))


def opened(stored: np.ndarray) -> Any:
    return json.loads(stored.tobytes())


def document(
    default: object, words: str, encode: Callable[[str, object], object], schema: object
) -> Declared:
    """Field: what `encode` makes lists, dicts, names and numbers of, stored as `packed`."""
    return Field(
        default,
        words,
        lambda name, value: packed(encode(name, value)),
        opened,
        required=default is ...,
        schema=schema,
    )


def checkpoints(default: int = 1) -> Declared:
    """Field: rounds at which something is verified, every T-th or increasing ones.

    Parameters
    ----------
    default : int >= 1
        Where none is given, default every round.

    Returns
    -------
    Field
    """

    def decode(stored: np.ndarray) -> int | list[int]:
        return -int(stored[0]) if stored[0] < 0 else stored.tolist()

    words = "whole number T from 1 (every T rounds), or increasing rounds"
    return Field(
        default,
        words,
        checks.checkpoints,
        decode,
        schema=int | Annotated[list[int], "Iterable[int]"],
    )


def arm_set(words: str = "distinct arms") -> Declared:
    """A set of arms, at least one (stored as an increasing int64 array)."""

    return Field(
        ...,
        words,
        checks.arm_set,
        lambda stored: stored.tolist(),
        required=True,
        schema=Annotated[list[int], "ArrayLike"],
    )


def derived(*, init: Literal[False] = False) -> Declared:
    """Field: no parameter, but what `complete` computes, once.

    Parameters
    ----------
    init : False
        Tells type checkers that it cannot be given.

    Returns
    -------
    Field
    """
    return DerivedField(scratch=False)


def scratch(*, init: Literal[False] = False) -> Declared:
    """Field: no parameter, but an array from `complete` that `observe` writes this round into;
    every replication gets its own.

    Parameters
    ----------
    init : False
        Tells type checkers that it cannot be given.

    Returns
    -------
    Field
    """
    return DerivedField(scratch=True)


# Kinds: what the numbers of a state's field may be, said where the state is declared.


Limit: TypeAlias = float | Callable[[Any, Arms], float]
"""A number, or a function of the policy and its arms."""


@dataclass(frozen=True)
class Kind:
    """The numbers that an array may hold; `Annotated[np.ndarray, Kind(...)]` says it of a field.

    Parameters
    ----------
    finite : bool
        Whether NaN and infinities are refused.
    whole : bool
        Whether fractions are refused.
    least, most : float or callable
        Bounds, both allowed; or functions of the policy and its `Arms` that return them.
    derived : bool
        Whether `init` makes the array from the parameters and the arms, and nothing changes it.
    once : bool
        Whether the array holds each of 0, 1, .., its size - 1 once.
    rewards : str
        The field that counts the rewards of which this one, of the same shape, holds the sums; they
        must then be possible for the policy's `reward_range`. Empty: no such sums.
    noun : str
        What messages call such a number.

    Examples
    --------
    >>> from typing import Annotated, NamedTuple
    >>> import numpy as np
    >>> from tightrope.extend import Count, Kind
    >>> class State(NamedTuple):
    ...     pulls: Count
    ...     chances: Annotated[np.ndarray, Kind(least=0.0, most=1.0)]
    """

    finite: bool = False
    whole: bool = False
    least: Limit = -math.inf
    most: Limit = math.inf
    derived: bool = False
    once: bool = False
    rewards: str = ""
    noun: str = "number"


class Record:
    """Kinds of the parts of an array of records; `Annotated[np.ndarray, Record(leader=ArmIndex)]`.
    Parts left out may hold any number.

    Parameters
    ----------
    **parts
        By name of the part, `Count`, `ArmIndex`, .. or any `Annotated[np.ndarray, Kind(...)]`.
    """

    def __init__(self, **parts: object) -> None:
        self.kinds = {name: kind_in(hint) for name, hint in parts.items()}
        unknown = [name for name, kind in self.kinds.items() if not isinstance(kind, Kind)]
        if unknown:
            raise TypeError(
                f"{unknown[0]} = {parts[unknown[0]]!r} is no kind; give Count, ArmIndex or "
                "another of tightrope.extend."
            )


@dataclass(frozen=True)
class StateOf:
    """Mark of the state of a policy inside another, whose parameters its kinds are then about;
    `Annotated[Any, StateOf("inner")]`.

    Parameters
    ----------
    parameter : str
        The parameter that holds the inner policy.
    """

    parameter: str


def last_arm(policy: object, arms: Arms) -> float:
    return arms.number - 1


Finite: TypeAlias = Annotated[np.ndarray, Kind(finite=True)]
"""Numbers that are neither NaN nor infinite."""

Extended: TypeAlias = Annotated[np.ndarray, Kind()]
"""Any number, NaN and infinities too."""

Scratch: TypeAlias = Annotated[np.ndarray, Kind()]
"""Any number: written in every call before it is read."""

Flag: TypeAlias = Annotated[np.ndarray, Kind()]
"""True or False, as every array of bools."""

Count: TypeAlias = Annotated[np.ndarray, Kind(finite=True, least=0.0, noun="count")]
"""How often something happened, or a sum of weights: finite and not negative."""

NonNegative: TypeAlias = Annotated[np.ndarray, Kind(finite=True, least=0.0)]
"""Finite numbers that are not negative."""

Squarable: TypeAlias = Annotated[np.ndarray, Kind(finite=True, least=0.0, most=1e150)]
"""Numbers that are not negative and whose squares are finite."""

RewardSum: TypeAlias = Annotated[np.ndarray, Kind(finite=True, rewards="pulls")]
"""Sums of as many rewards as the field `pulls` says, in the policy's range; declare sums that are
weighted by importance as `Finite`."""

ArmIndex: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=0, most=last_arm)]
"""Arms, 0 to K - 1."""

ArmIndexOrNone: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=-1, most=last_arm)]
"""Arms, 0 to K - 1, or -1 for none."""

ArmOrder: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=0, most=last_arm, once=True)]
"""All arms, each once."""

Derived: TypeAlias = Annotated[np.ndarray, Kind(derived=True)]
"""An array that `init` makes of the parameters and the arms to the same bit on every machine, and
nothing changes."""


def kind_in(hint: Any) -> Kind | Record | StateOf | None:
    if get_origin(hint) is Annotated:
        for item in hint.__metadata__:
            if isinstance(item, Kind | Record | StateOf):
                return item
        return kind_in(hint.__origin__)
    if get_origin(hint) in (Union, UnionType):
        return next((kind for kind in map(kind_in, get_args(hint)) if kind is not None), None)
    return None


def kind_of(state_class: type, name: str) -> Kind | Record | StateOf | None:
    """The kind that a class of states declares for a field; None where it declares none.

    Raises
    ------
    ValueError
        Where the annotation is text that names something its module does not know.
    """
    for cls in state_class.__mro__:
        hint = inspect.get_annotations(cls).get(name)
        if hint is not None:
            names = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
            try:
                hints = get_type_hints(
                    SimpleNamespace(__annotations__={name: hint}),
                    globalns=dict(names),
                    include_extras=True,
                )
            except (NameError, AttributeError) as error:
                raise ValueError(
                    f"{cls.__name__}.{name} is annotated as {hint!r}, but {error}; import what it "
                    "names at the top of the module."
                ) from None
            return kind_in(hints[name])
    return None
