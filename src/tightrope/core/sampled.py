"""A chance that was counted over random draws, with their number."""

from typing import TypeAlias

import numpy as np

Chance: TypeAlias = float | np.ndarray  # of an arm, or of every arm of a set


class Sampled(tuple[Chance, Chance]):
    """The answer of `propensity` where it samples: (p, standard error), as for an exact chance, and the number of `draws`.

    A frequency of 0 or 1 has no standard error, and only its draws tell it from a chance that is exact.
    """

    draws: int

    def __new__(cls, p: Chance, error: Chance, draws: int) -> "Sampled":
        chance = super().__new__(cls, (p, error))
        chance.draws = draws
        return chance


def draws_of(stated: tuple[Chance, Chance]) -> int | None:
    """How many random draws stand behind what `propensity` answered; None: it is exact, or its policy does not say."""
    return stated.draws if isinstance(stated, Sampled) else None
