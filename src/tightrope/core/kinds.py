"""Kinds: what the numbers of a state's field may be, said where the state is declared.

Compiled kernels check no index, and a saved state may come from anybody. So a field says what its numbers are, `pulls: Count`, and a
file is refused where they are not. A field declared as a plain array may hold any number of its type.
"""

import inspect
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

from .rounds import Arms

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
        The field that counts the rewards of which this one, of the same shape, holds the sums; they must then be possible for the policy's
        `reward_range`. Empty: no such sums.
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
    """Kinds of the parts of an array of records; `Annotated[np.ndarray, Record(leader=ArmIndex)]`. Parts left out may hold any number.

    Parameters
    ----------
    **parts
        By name of the part, `Count`, `ArmIndex`, .. or any `Annotated[np.ndarray, Kind(...)]`.
    """

    def __init__(self, **parts: object) -> None:
        self.kinds = {name: kind_in(hint) for name, hint in parts.items()}
        unknown = [name for name, kind in self.kinds.items() if not isinstance(kind, Kind)]
        if unknown:
            raise TypeError(f"{unknown[0]} = {parts[unknown[0]]!r} is no kind; give Count, ArmIndex or another of tightrope.extend.")


@dataclass(frozen=True)
class StateOf:
    """Mark of the state of a policy inside another, whose parameters its kinds are then about; `Annotated[Any, StateOf("inner")]`.

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

RewardSum: TypeAlias = Annotated[np.ndarray, Kind(finite=True, rewards="pulls")]
"""Sums of as many rewards as the field `pulls` says, in the policy's range; declare sums that are weighted by importance as `Finite`."""

ArmIndex: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=0, most=last_arm)]
"""Arms, 0 to K - 1."""

ArmIndexOrNone: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=-1, most=last_arm)]
"""Arms, 0 to K - 1, or -1 for none."""

ArmOrder: TypeAlias = Annotated[np.ndarray, Kind(whole=True, least=0, most=last_arm, once=True)]
"""All arms, each once."""

Derived: TypeAlias = Annotated[np.ndarray, Kind(derived=True)]
"""An array that `init` makes of the parameters and the arms to the same bit on every machine, and nothing changes."""


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
                hints = get_type_hints(SimpleNamespace(__annotations__={name: hint}), globalns=dict(names), include_extras=True)
            except (NameError, AttributeError) as error:
                raise ValueError(
                    f"{cls.__name__}.{name} is annotated as {hint!r}, but {error}; import what it names at the top of the module."
                ) from None
            return kind_in(hints[name])
    return None
