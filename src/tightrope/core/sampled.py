"""A chance that was counted over random draws, with their number."""

from typing import Any


class Sampled(tuple[Any, Any]):
    """What `propensity` answers where it samples: (p, standard error), as an exact chance is told, that also says its `draws`.

    A frequency of 0 or 1 has no standard error, and only its draws tell it from a chance that is exact.
    """

    draws: int

    def __new__(cls, p: Any, error: Any, draws: int) -> "Sampled":
        made = super().__new__(cls, (p, error))
        made.draws = draws
        return made


def draws_of(stated: tuple[Any, Any]) -> int | None:
    """How many random draws stand behind what `propensity` answered; None: it is exact, or its policy does not say."""
    return stated.draws if isinstance(stated, Sampled) else None
