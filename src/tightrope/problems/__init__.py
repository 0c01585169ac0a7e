"""What the world does: arms, contexts, rewards and the truth that regret is measured against. A file added here is found by itself."""

from ..registry import PROBLEMS, import_all
from . import data
from .classification import classification
from .function import from_function
from .spread import spread_arms

__all__ = ["classification", "data", "from_function", "spread_arms", *import_all(__path__, __name__, PROBLEMS)]
globals().update(PROBLEMS)
