"""Magureanu, Combes, Proutiere 2014: Lipschitz bandits, regret lower bounds and optimal
algorithms."""

TITLE = (
    "Lipschitz bandits: regret lower bounds and optimal algorithms (Magureanu, Combes, Proutiere "
    "2014)"
)
