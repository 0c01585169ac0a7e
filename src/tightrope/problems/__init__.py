"""What the world does: arms, contexts, rewards and the truth that regret is measured against."""

from . import data
from .bernoulli import Bernoulli
from .gaussian import Gaussian
from .linear import ContextualLinear, Linear

__all__ = ["Bernoulli", "ContextualLinear", "Gaussian", "Linear", "data"]
