"""Types of data that belong to each policy, problem or monitor alone, and of parameters that take one type and store another."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

G = TypeVar("G")
S = TypeVar("S")


class Fields(Protocol):
    """A NamedTuple of any class."""

    @property
    def _fields(self) -> tuple[str, ...]: ...
    def _asdict(self) -> dict[str, Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


State: TypeAlias = Fields
"""The memory of a policy: arrays and numbers of a class of its own, made by `init`, which only its verbs take apart."""

Tally: TypeAlias = Fields
"""The record of a monitor: arrays of a class of its own, made by `begin`, which only `watch` takes apart."""

JsonObject: TypeAlias = dict[str, Any]
"""An object of JSON: text, numbers, truths, None, lists and such objects by name."""

Arguments: TypeAlias = dict[str, Any]
"""Arguments of a call, by name: what stands behind two stars."""

Stored: TypeAlias = dict[str, Any]
"""Values of a policy's or problem's parameters by name, checked and encoded: what `complete` is given and gives."""

Explanation: TypeAlias = dict[str, Any]
"""Answer of `explain`: per-arm arrays (mean, width, lower, upper, index, probability), and the arrays and numbers of the family."""

Action: TypeAlias = int | np.ndarray
"""A choice that is played: an arm, or the arms of a set."""

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
