"""Problems: arms, contexts, rewards and the truth that regret is measured against."""

from typing import TYPE_CHECKING

from ..core import checks
from . import data
from .arms import Bernoulli, Cascade, Drifting, FromFunction, Gaussian, from_function
from .structured import (
    Classification,
    ContextualLinear,
    ContextualLipschitz,
    ContextualSpread,
    Linear,
    Lipschitz,
    Metrics,
    Promotions,
    SemiBandit,
    classification,
    spread_arms,
)

__all__ = [
    "Bernoulli",
    "Cascade",
    "Classification",
    "ContextualLinear",
    "ContextualLipschitz",
    "ContextualSpread",
    "Drifting",
    "FromFunction",
    "Gaussian",
    "Linear",
    "Lipschitz",
    "Metrics",
    "Promotions",
    "SemiBandit",
    "classification",
    "data",
    "from_function",
    "spread_arms",
]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # which knows the names

    def __getattr__(name: str) -> object:
        raise AttributeError(
            f"module 'tightrope.problems' has no attribute {name!r}.{checks.hint(name, __all__)}"
        )
