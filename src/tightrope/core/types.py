"""Types that rooms share, a round's arms and context, and sampled values."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .checks import show


class Fields(Protocol):
    """A NamedTuple of any class."""

    @property
    def _fields(self) -> tuple[str, ...]: ...
    def _asdict(self) -> dict[str, Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


State: TypeAlias = Fields
"""The memory of a policy: arrays and numbers of a class of its own, made by `init`, which only its
verbs take apart."""

Tally: TypeAlias = Fields
"""The record of a monitor: arrays of a class of its own, made by `begin`, which only `watch` takes
apart."""

JsonObject: TypeAlias = dict[str, Any]
"""An object of JSON: text, numbers, truths, None, lists and such objects by name."""

Arguments: TypeAlias = dict[str, Any]
"""Arguments of a call, by name: what stands behind two stars."""

Explanation: TypeAlias = dict[str, Any]
"""Answer of `explain`: per-arm arrays (mean, width, lower, upper, index, probability), and the
arrays and numbers of the family."""

Action: TypeAlias = int | np.ndarray
"""A choice that is played: an arm, or the arms of a set."""

Oracle: TypeAlias = Callable[..., ArrayLike]
"""Chooses a set: arms (or pairs) for scores and, if it takes one, a mask of those that are
`eligible`."""


# A policy's view of its world: the arms before the first round, and the context of each round.


class Context(NamedTuple):
    """The part of a round that the policy sees. `None` fields cost nothing in compiled code.

    Parameters
    ----------
    features : (K, d) array
        Of this round's arms; None: the fixed ones.
    eligible : (K,) array of bool
        Arms that may be played; None: all.
    baseline : int
        This round's baseline arm; None: the policy's own.
    baseline_mean : float
        Its known mean this round, in units of reward.
    segment : int
        Which of a policy's segments the round belongs to, counted from 0; None: of none.
    """

    features: np.ndarray | None = None
    eligible: np.ndarray | None = None
    baseline: int | None = None
    baseline_mean: float | None = None
    segment: int | None = None

    def __repr__(self) -> str:
        given = self._asdict().items()
        return f"Context({', '.join(f'{k}={show(each)}' for k, each in given if each is not None)})"


PLAIN = Context()  # a round like any other, which shows nothing of its own


class Arms(NamedTuple):
    """The arms as a policy knows them before the first round.

    Attributes
    ----------
    number : int >= 1
        How many there are, K.
    features : (K / blocks, d) array or None
        A row for each arm, or for each block of arms. None: the arms have no features, or new ones
        every round.
    dimension : int >= 0
        Features of an arm, d; 0 where there are none.
    distances : (K, K) array or None
        The metric, for Lipschitz policies.
    points : (K,) or (K, p) array or None
        Positions of the arms on the line, or in p dimensions.
    oracle : oracle or None
        What chooses the best set for given scores. None: single arms are played.
    horizon : int >= 1 or None
        Number of rounds, T, where it is known.
    rewards : (float, float) or None
        Lowest and highest reward, where they are known.
    blocks : int >= 1
        Arms that share a row of features: arm = row * blocks + block, with a regression for each
        block.
    common : bool
        Whether a round shows all arms one row of features, (d,), so that only a model for each arm
        tells them apart.
    metrics : tuple of str or None
        What a decision is rewarded with, the objective first; None: by one reward.
    """

    number: int
    features: np.ndarray | None = None
    dimension: int = 0
    distances: np.ndarray | None = None
    points: np.ndarray | None = None
    oracle: Oracle | None = None
    horizon: int | None = None
    rewards: tuple[float, float] | None = None
    blocks: int = 1
    common: bool = False
    metrics: tuple[str, ...] | None = None

    @property
    def rows(self) -> int:
        """Rows of features."""
        return self.number // self.blocks


# A chance that was counted over random draws, with their number.


Chance: TypeAlias = float | np.ndarray  # of an arm, or of every arm of a set


class Sampled(tuple[Chance, Chance]):
    """The answer of `propensity` where it samples: (p, standard error), as for an exact chance, and
    the number of `draws`.

    A frequency of 0 or 1 has no standard error, and only its draws tell it from a chance that is
    exact.
    """

    draws: int

    def __new__(cls, p: Chance, error: Chance, draws: int) -> "Sampled":
        chance = super().__new__(cls, (p, error))
        chance.draws = draws
        return chance


def draws_of(stated: tuple[Chance, Chance]) -> int | None:
    """How many random draws stand behind what `propensity` answered; None: it is exact, or its
    policy does not say."""
    return stated.draws if isinstance(stated, Sampled) else None
