"""Problems: arms, contexts, rewards and the truth that regret is measured against."""

from typing import TYPE_CHECKING

from ..core import checks
from . import data
from .bernoulli import Bernoulli
from .cascade import Cascade
from .classification import Classification, classification
from .drifting import Drifting
from .function import FromFunction, from_function
from .gaussian import Gaussian
from .linear import ContextualLinear, Linear
from .lipschitz import ContextualLipschitz, Lipschitz
from .promotions import Promotions
from .semibandit import SemiBandit
from .spread import ContextualSpread, spread_arms

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
    "Promotions",
    "SemiBandit",
    "classification",
    "data",
    "from_function",
    "spread_arms",
]


for _module in ("bernoulli", "cascade", "drifting", "gaussian", "linear", "lipschitz", "promotions", "semibandit"):
    del globals()[_module]  # `problems.bernoulli([0.3])` asks for the class, and a module cannot say so


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # which knows the names

    def __getattr__(name: str) -> object:
        raise AttributeError(f"module 'tightrope.problems' has no attribute {name!r}.{checks.hint(name, __all__)}")
