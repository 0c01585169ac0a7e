"""Colours and small drawing habits shared by all figures."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Distinguishable with the common colour deficiencies and in grey.
COLOURS = ("#0b6e99", "#d1495b", "#2a9d6f", "#e08e0b", "#6a4c93", "#5c5c5c", "#00a6d6", "#9c3848", "#7a9e1f", "#b07aa1")
LINES = ("-", "--", "-.", ":")
INK = "#22303c"


def colour(number: int) -> str:
    """Colour of the number-th curve."""
    return COLOURS[number % len(COLOURS)]


def line(number: int, covers: int = 0) -> str:
    """Line style of the number-th curve: changes when the colours start again, and with the number of curves that it lies on."""
    return LINES[(number // len(COLOURS) + covers) % len(LINES)]


CROWDED = 5  # entries from which a legend stands beside its axes


def legend(ax: Axes, title: str = "") -> None:
    """Name the curves: inside the axes where there are few, else beside them."""
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    crowded = len(ax.get_legend_handles_labels()[0]) > CROWDED
    names: dict[str, Any] = {"title": title, "title_fontsize": 8, "alignment": "left"} if title else {}
    ax.legend(frameon=False, fontsize=9, **names, **(beside if crowded else {"loc": "best"}))


def figure(columns: int = 1, *, width: float = 7.0, height: float = 4.2) -> tuple[Figure, Sequence[Axes]]:
    """A figure with a row of axes, outside any global state."""
    fig = Figure(figsize=(width * (1 if columns == 1 else 0.8 * columns), height), layout="constrained")
    axes = [fig.add_subplot(1, columns, i + 1) for i in range(columns)]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(True, color="#dfe5ea", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.tick_params(colors=INK, labelsize=9)
        for spine in ax.spines.values():
            spine.set_color("#9aa7b2")
    return fig, axes
