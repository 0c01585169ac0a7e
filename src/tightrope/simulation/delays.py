"""Rewards that come late. One that is d rounds late is learned before the choice of the round that
is d after the next."""

import math
from collections.abc import Collection
from typing import TypeAlias

from ..compiled.kernels import lean
from ..core import checks
from ..core.fields import integer, real
from ..core.policy import Delay, delay, longest

__all__ = ["Batched", "ByReward", "Fixed", "Geometric"]


def __dir__() -> list[str]:
    return __all__


@delay
class Fixed(Delay):
    """Every reward is as many rounds late.

    Parameters
    ----------
    rounds : int
        Rounds, 0 or more; 0 is as without a delay.

    Examples
    --------
    >>> import tightrope as tr
    >>> problem = tr.problems.Bernoulli([0.3, 0.6])
    >>> result = tr.simulate(problem, tr.UCB(), horizon=100, delay=tr.delays.Fixed(10))
    """

    rounds: int = integer(least=0, most=checks.MOST_ROUNDS)

    @lean
    def lateness(self, t, reward, rng):
        return self.rounds

    def longest(self, horizon, in_order):
        return self.rounds


@delay
class Geometric(Delay):
    """A reward arrives in each round with the same chance, so it is a geometric number of rounds
    late.

    Parameters
    ----------
    mean : float
        Rounds on average, 0 or more.
    """

    mean: float = real(least=0, most=checks.MOST_ROUNDS)

    @lean
    def lateness(self, t, reward, rng):
        return rng.geometric(1.0 / (1.0 + self.mean)) - 1

    def longest(self, horizon, in_order):
        # So many rewards are open at once that more are in less than one run of 10^15. In order of
        # decision a reward waits for the latest before it; otherwise the number of open ones is a
        # sum of independent indicators (Bernstein).
        return (
            (self.mean + 1) * (math.log(horizon) + 40)
            if in_order
            else self.mean + 12 * math.sqrt(self.mean) + 64
        )


@delay
class Batched(Delay):
    """Rewards arrive together: those of rounds j * every + 1 to (j + 1) * every before the round
    that follows.

    Parameters
    ----------
    every : int
        Rounds of a batch, 1 or more.
    """

    every: int = integer(least=1, most=checks.MOST_ROUNDS)

    @lean
    def lateness(self, t, reward, rng):
        return self.every - 1 - t % self.every

    def longest(self, horizon, in_order):
        return self.every - 1


@delay
class ByReward(Delay):
    """High rewards are learned at another time than low ones, as purchases that are reported at
    once.

    Parameters
    ----------
    early : int
        How many rounds late rewards above 1/2 (of a set: in all) are, 0 or more.
    late : int
        How many rounds late the others are, 0 or more.
    """

    early: int = integer(least=0, most=checks.MOST_ROUNDS)
    late: int = integer(least=0, most=checks.MOST_ROUNDS)

    @lean
    def lateness(self, t, reward, rng):
        return self.late if reward <= 0.5 else self.early

    def longest(self, horizon, in_order):
        return max(self.early, self.late)


Late: TypeAlias = Delay | tuple[Delay, ...]
"""When rewards are learned; of several metrics when the values of each are."""


def as_delay(value: object, metrics: Collection[str]) -> Late | None:
    for name, item in value.items() if isinstance(value, dict) else ():
        if name not in metrics or not isinstance(item, Delay):
            raise ValueError(
                f"delay[{name!r}] = {checks.show(item)} is not the delay of a metric; they are "
                f"{', '.join(metrics) or 'none'}, and one is delays.Fixed(100)."
            )
    if value is not None and not isinstance(value, Delay | dict):
        raise ValueError(
            f"delay = {checks.show(value)} is not a delay; pass None or one such as "
            "delays.Fixed(100)."
        )
    if isinstance(value, dict):
        return tuple(value.get(name, Fixed(0)) for name in metrics)
    return (value,) * len(metrics) if value is not None and metrics else value


def most_open(delay: Late, horizon: int, in_order: bool) -> int:
    if isinstance(delay, tuple) and not isinstance(delay, Delay):
        return sum(most_open(item, horizon, in_order) for item in delay)
    return int(min(longest(delay, horizon, in_order) + 1, horizon))
