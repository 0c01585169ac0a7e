"""Xu, Honda, Sugiyama 2018: a fully adaptive algorithm for pure exploration in linear bandits."""

from .coverage import coverage
from .figures import fig1, fig2, fig3, table1

TITLE = "A fully adaptive algorithm for pure exploration in linear bandits (Xu, Honda, Sugiyama 2018)"
FIGURES = {"fig1": fig1, "table1": table1, "fig2": fig2, "fig3": fig3, "coverage": coverage}

__all__ = ["FIGURES", "TITLE"]
