"""Rewards that come late. One that is d rounds late is learned before the choice of the round that is d after the next."""

import math
from typing import NamedTuple

from ..core import checks

__all__ = ["Batched", "ByReward", "Fixed", "Geometric"]


def __dir__() -> list[str]:
    """What is public, and nothing else."""
    return __all__


FIXED, GEOMETRIC, BATCHED, BY_REWARD = range(4)


class Terms(NamedTuple):
    """What kernels see of a delay: one type for all, so that a loop is compiled once."""

    kind: int
    first: float
    second: float


class _Fixed(NamedTuple):
    rounds: int


class Fixed(_Fixed):
    """Every reward is as many rounds late.

    Parameters
    ----------
    rounds : int >= 0
        0 is as without a delay.
    """

    __slots__ = ()

    def __new__(cls, rounds: int) -> "Fixed":
        return super().__new__(cls, checks.integer("rounds", rounds, least=0, most=checks.MOST_ROUNDS))

    def terms(self) -> Terms:
        """For kernels."""
        return Terms(FIXED, float(self.rounds), 0.0)

    def longest(self, horizon: int, in_order: bool) -> float:
        """The most rounds that a reward is open."""
        return self.rounds


class _Geometric(NamedTuple):
    mean: float


class Geometric(_Geometric):
    """A reward is a geometric number of rounds late: each round it arrives with the same chance.

    Parameters
    ----------
    mean : float >= 0
        Rounds on average; 0 at least.
    """

    __slots__ = ()

    def __new__(cls, mean: float) -> "Geometric":
        return super().__new__(cls, checks.real("mean", mean, least=0, most=checks.MOST_ROUNDS))

    def terms(self) -> Terms:
        """For kernels."""
        return Terms(GEOMETRIC, self.mean, 0.0)

    def longest(self, horizon: int, in_order: bool) -> float:
        """So many rewards are open at once that more are in less than one run of 10^15.

        In order a reward waits for the latest before it; else the number of open ones is a sum of independent indicators (Bernstein).
        """
        return (self.mean + 1) * (math.log(horizon) + 40) if in_order else self.mean + 12 * math.sqrt(self.mean) + 64


class _Batched(NamedTuple):
    every: int


class Batched(_Batched):
    """Rewards of rounds j * every + 1 .. (j + 1) * every arrive together, before the next round.

    Parameters
    ----------
    every : int >= 1
        Rounds.
    """

    __slots__ = ()

    def __new__(cls, every: int) -> "Batched":
        return super().__new__(cls, checks.integer("every", every, least=1, most=checks.MOST_ROUNDS))

    def terms(self) -> Terms:
        """For kernels."""
        return Terms(BATCHED, float(self.every), 0.0)

    def longest(self, horizon: int, in_order: bool) -> float:
        """The most rounds that a reward is open."""
        return self.every - 1


class _ByReward(NamedTuple):
    early: int
    late: int


class ByReward(_ByReward):
    """Rewards above 1/2 (of a set: in all) come earlier or later than others, as purchases that are reported at once.

    Parameters
    ----------
    early : int >= 0
        Rounds by which rewards above 1/2 are late.
    late : int >= 0
        Rounds by which others are.
    """

    __slots__ = ()

    def __new__(cls, early: int, late: int) -> "ByReward":
        rounds = (checks.integer(name, value, least=0, most=checks.MOST_ROUNDS) for name, value in (("early", early), ("late", late)))
        return super().__new__(cls, *rounds)

    def terms(self) -> Terms:
        """For kernels."""
        return Terms(BY_REWARD, float(self.early), float(self.late))

    def longest(self, horizon: int, in_order: bool) -> float:
        """The most rounds that a reward is open."""
        return max(self.early, self.late)


Delay = Fixed | Geometric | Batched | ByReward


def as_delay(value: object) -> Delay | None:
    """The delay a caller asked for, checked."""
    if value is not None and not isinstance(value, Delay):
        raise ValueError(f"delay = {checks.show(value)} is not a delay; pass None or one such as delays.Fixed(100).")
    return value


def most_open(delay: Delay, horizon: int, in_order: bool) -> int:
    """How many rewards can be awaited at once."""
    return int(min(delay.longest(horizon, in_order) + 1, horizon))
