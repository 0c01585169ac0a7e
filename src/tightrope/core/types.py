"""What the package passes around, by name, where no class says it: data that belongs to each policy, problem or monitor alone."""

from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

G = TypeVar("G")
S = TypeVar("S")

State: TypeAlias = Any
"""What a policy knows: a NamedTuple of arrays and numbers of a class of its own, made by `init`, which only its verbs take apart."""

Tally: TypeAlias = Any
"""What a monitor has recorded: a NamedTuple of arrays of a class of its own, made by `begin`, which only `watch` takes apart."""

Monitor: TypeAlias = Any
"""What records a run: an instance of a class that answers `begin` and `watch`."""

Stored: TypeAlias = dict[str, Any]
"""Values of a policy's or problem's parameters by name, checked and encoded: what `complete` is given and gives."""

Explanation: TypeAlias = dict[str, Any]
"""Answer of `explain`: per-arm arrays (mean, width, lower, upper, index, probability), and the arrays and numbers of the family."""

Action: TypeAlias = int | np.ndarray
"""What is played: an arm, or the arms of a set."""

Oracle: TypeAlias = Callable[..., ArrayLike]
"""Chooses a set: arms (or pairs) for scores and, if it takes one, a mask of those that are `eligible`."""


class Given(Generic[G, S]):
    """A parameter that a constructor takes as G and stores as S; type checkers read what a descriptor takes and gives.

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
