"""Takemura & Ito 2019: arm-wise randomisation for combinatorial linear semi-bandits."""

from .fig2 import fig2
from .movielens import fig3, fig4, table1

TITLE = "Arm-wise randomisation for combinatorial linear semi-bandits (Takemura & Ito 2019)"
FIGURES = {"fig2": fig2, "fig3": fig3, "table1": table1, "fig4": fig4}

__all__ = ["FIGURES", "TITLE"]
