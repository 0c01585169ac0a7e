"""Figure 7: budgets with linear rewards, to the end and at the beginning, of the runs of Figure 3 (bottom), draw "spread"."""

from matplotlib.figure import Figure

from ..experiment import Run
from ..scoring import Row
from . import fig3_linear
from .measures import budget_panels, budgets


def data(run: Run) -> fig3_linear.Data:
    """The runs of Figure 3."""
    return fig3_linear.play(run, "spread")


def score(found: fig3_linear.Data) -> list[Row]:
    """Order of the final budgets, and who breaks the constraint."""
    return budgets(found.result, "LinUCB", "CLUCB", "CLUCB2")


def plot(found: fig3_linear.Data) -> dict[str, Figure]:
    """Budgets of the worst, average and best model."""
    return budget_panels(*found, zoom=max(100, int(found.result.rounds[-1]) // 10))
