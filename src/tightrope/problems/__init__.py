"""What the world does: arms, contexts, rewards and the truth that regret is measured against."""

from . import data
from .bernoulli import Bernoulli
from .gaussian import Gaussian
from .linear import ContextualLinear, Linear
from .promotions import Promotions
from .semibandit import SemiBandit

__all__ = ["Bernoulli", "ContextualLinear", "Gaussian", "Linear", "Promotions", "SemiBandit", "data"]
