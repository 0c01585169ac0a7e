"""What the world does: arms, contexts, rewards and the truth that regret is measured against."""

from . import data
from .bernoulli import Bernoulli
from .gaussian import Gaussian
from .linear import ContextualLinear, Linear
from .lipschitz import ContextualLipschitz, Lipschitz
from .promotions import Promotions
from .semibandit import SemiBandit
from .spread import ContextualSpread, spread_arms

__all__ = [
    "Bernoulli",
    "ContextualLinear",
    "ContextualLipschitz",
    "ContextualSpread",
    "Gaussian",
    "Linear",
    "Lipschitz",
    "Promotions",
    "SemiBandit",
    "data",
    "spread_arms",
]
