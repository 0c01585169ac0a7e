"""Rewards that come late: how long each takes. A reward of round t that is d rounds late is learned before the choice of round t + 1 + d.

A class of your own is a delay if it answers `lateness`, which may draw from the stream it is given.
"""

import math
from typing import Any, NamedTuple

from .. import checks
from .._jit import lean
from ..verbs import verb


@verb()
def lateness(delay, t, reward, rng):
    """How many rounds late the reward of round t = 0, 1, .. is; draws from the delays' own stream."""


class _Fixed(NamedTuple):
    rounds: int


class Fixed(_Fixed):
    """Every reward is `rounds` >= 0 rounds late; 0 is as without a delay."""

    __slots__ = ()

    def __new__(cls, rounds: int) -> "Fixed":
        return super().__new__(cls, checks.integer("rounds", rounds, least=0, most=checks.MOST_ROUNDS))

    def longest(self) -> float:
        """The most rounds that a reward is late."""
        return self.rounds


class _Geometric(NamedTuple):
    mean: float


class Geometric(_Geometric):
    """A reward is a geometric number of rounds late, 0 at least and `mean` on average: each round it arrives with the same chance."""

    __slots__ = ()

    def __new__(cls, mean: float) -> "Geometric":
        return super().__new__(cls, checks.real("mean", mean, least=0, most=checks.MOST_ROUNDS))

    def longest(self) -> float:
        """The most rounds that a reward is late."""
        return math.inf


class _Batched(NamedTuple):
    every: int


class Batched(_Batched):
    """Rewards of rounds j * every + 1 .. (j + 1) * every arrive together, before the next round; every >= 1."""

    __slots__ = ()

    def __new__(cls, every: int) -> "Batched":
        return super().__new__(cls, checks.integer("every", every, least=1, most=checks.MOST_ROUNDS))

    def longest(self) -> float:
        """The most rounds that a reward is late."""
        return self.every - 1


class _ByReward(NamedTuple):
    early: int
    late: int


class ByReward(_ByReward):
    """Rewards above 1/2 (of a set: in all) are `early` rounds late, others `late`: what a purchase reported at once does."""

    __slots__ = ()

    def __new__(cls, early: int, late: int) -> "ByReward":
        rounds = (checks.integer(name, value, least=0, most=checks.MOST_ROUNDS) for name, value in (("early", early), ("late", late)))
        return super().__new__(cls, *rounds)

    def longest(self) -> float:
        """The most rounds that a reward is late."""
        return max(self.early, self.late)


@lateness.register(Fixed)
@lean
def lateness_fixed(delay, t, reward, rng):
    return delay.rounds


@lateness.register(Geometric)
@lean
def lateness_geometric(delay, t, reward, rng):
    return rng.geometric(1.0 / (1.0 + delay.mean)) - 1


@lateness.register(Batched)
@lean
def lateness_batched(delay, t, reward, rng):
    return delay.every - 1 - t % delay.every


@lateness.register(ByReward)
@lean
def lateness_byreward(delay, t, reward, rng):
    return delay.early if reward > 0.5 else delay.late


def as_delay(value: Any) -> Any:
    """The delay a caller asked for, checked."""
    if value is not None and not lateness.answers(value):
        raise ValueError(f"delay = {checks.show(value)} is not a delay; pass None or one such as delays.Fixed(100).")
    return value


def most_open(delay: Any, horizon: int, in_order: bool) -> int:
    """How many rewards can be awaited at once; where that is a matter of chance, more than that in less than one run of 10^15."""
    longest = getattr(delay, "longest", lambda: math.inf)()
    if isinstance(delay, Geometric):
        # In order a reward waits for the latest before it; else the number of open ones is a sum of independent indicators (Bernstein).
        longest = (delay.mean + 1) * (math.log(horizon) + 40) if in_order else delay.mean + 12 * math.sqrt(delay.mean) + 64
    return int(min(longest + 1, horizon))
