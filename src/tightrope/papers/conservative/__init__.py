"""Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020: improved algorithms for conservative exploration in bandits."""

from .checkpoints import fig4
from .linear import e2, fig3_linear, fig7
from .mab import fig1, fig3_mab, fig6
from .measures import explained
from .ratings import fig5, fig8

TITLE = "Improved algorithms for conservative exploration in bandits (Garcelon et al. 2020)"
FIGURES = {
    name: explained(figure)
    for name, figure in {
        "fig1": fig1, "fig3-mab": fig3_mab, "fig6": fig6, "fig3-linear": fig3_linear, "fig7": fig7, "e2": e2,
        "fig4": fig4, "fig5": fig5, "fig8": fig8,
    }.items()
}  # fmt: skip

__all__ = ["FIGURES", "TITLE"]
