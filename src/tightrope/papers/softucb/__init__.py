"""Yang & Toni 2020: confidence widths learned by gradient ascent."""

from .comparison import fig2_jester, fig2_movielens, fig2_synthetic
from .curves import fig1
from .widths import table1

TITLE = "Differentiable linear bandit algorithm (Yang & Toni 2020)"
FIGURES = {
    "fig1": fig1,
    "table1": table1,
    "fig2-synthetic": fig2_synthetic,
    "fig2-movielens": fig2_movielens,
    "fig2-jester": fig2_jester,
}

__all__ = ["FIGURES", "TITLE"]
