"""Xu, Honda, Sugiyama 2018: a fully adaptive algorithm for pure exploration in linear bandits."""

TITLE = (
    "A fully adaptive algorithm for pure exploration in linear bandits (Xu, Honda, Sugiyama 2018)"
)
