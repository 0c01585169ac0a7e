"""Problems: arms, contexts, rewards and the truth that regret is measured against."""

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


def __dir__() -> list[str]:
    """The public names only."""
    return __all__
