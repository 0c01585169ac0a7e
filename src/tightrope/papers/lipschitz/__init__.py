"""Magureanu, Combes, Proutiere 2014: Lipschitz bandits, regret lower bounds and optimal algorithms."""

from .contextual import contextual
from .continuous import continuous
from .discrete import discrete
from .slope import slope

TITLE = "Lipschitz bandits: regret lower bounds and optimal algorithms (Magureanu, Combes, Proutiere 2014)"
FIGURES = {"discrete": discrete, "slope": slope, "continuous": continuous, "contextual": contextual}

__all__ = ["FIGURES", "TITLE"]
