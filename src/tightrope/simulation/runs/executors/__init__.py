"""Where chunks are computed. The numbers are the same everywhere."""

from .chunks import Chunks
from .pools import ENGINES, Engine, shared
from .recipe import Recipe

__all__ = ["ENGINES", "Chunks", "Engine", "Recipe", "shared"]
