"""Colours and small drawing habits shared by all figures."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..core.types import Arguments

# Distinguishable with the common colour deficiencies and in grey.
COLOURS = ("#0b6e99", "#d1495b", "#2a9d6f", "#e08e0b", "#6a4c93", "#5c5c5c", "#00a6d6", "#9c3848", "#7a9e1f", "#b07aa1")
DARK = ("#56b9e6", "#f2798a", "#57cfa0", "#f2ad42", "#b79be0", "#b4b4b4", "#3fd0fa", "#e08a98", "#b0d64f", "#d9a9cb")  # on dark paper
LINES = ("-", "--", "-.", ":")
INK, SOFT, AXIS, GRID = "#22303c", "#808a93", "#9aa7b2", "#dfe5ea"  # text, secondary text, frames, grids
CROWDED_ENTRIES = 5  # entries from which a legend stands below its axes
ROW_INCHES = 0.2  # inches of a row of such a legend
LEGEND_COLUMNS = 3  # of it, by seven inches of width


class Palette:
    """A colour and a line style for every name, the same in all figures that use the palette.

    names: known from the start; others follow in the order in which they are asked for.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._places: dict[str, int] = {}
        self.take(names)

    def take(self, names: Iterable[str]) -> "Palette":
        for name in names:
            self._places.setdefault(name, len(self._places))
        return self

    def colour(self, name: str) -> str:
        return colour(self.take([name])._places[name])

    def line(self, name: str, covers: int = 0) -> str:
        """Line style of a name, which tells apart names of one colour; covers: number of curves that this one lies on."""
        return line(self.take([name])._places[name], covers)


class Hover(NamedTuple):
    """Texts for the points of a curve, shown where a pointer rests on them. x, y: in data coordinates of `ax`."""

    ax: Axes
    x: Sequence[float]
    y: Sequence[float]
    texts: Sequence[str]


class Drawing(Figure):
    """A figure that knows what to say of its points on a page."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.hovers: list[Hover] = []


def hover(ax: Axes, x: Iterable[float], y: Iterable[float], texts: Sequence[str]) -> None:
    """Say these texts of these points on a page; files have no pointer and leave them out."""
    drawing = ax.get_figure(root=True)
    if isinstance(drawing, Drawing):
        drawing.hovers.append(Hover(ax, [float(value) for value in x], [float(value) for value in y], texts))


def colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def line(number: int, covers: int = 0) -> str:
    """Line style of the number-th curve: changes when the colours start again, and with the number of curves that it lies on."""
    return LINES[(number // len(COLOURS) + covers) % len(LINES)]


def legend(ax: Axes, title: str = "") -> None:
    """Name the curves: inside the axes where there are few, else in rows below the figure, which grows by them.

    Axes of somebody else's figure keep their size, and their legend is inside.
    """
    names: Arguments = {"title": title, "title_fontsize": 8, "alignment": "left"} if title else {}
    handles, labels = ax.get_legend_handles_labels()
    drawing = ax.get_figure(root=True)
    if len(labels) <= CROWDED_ENTRIES or not isinstance(drawing, Drawing):
        columns = 1 if len(labels) <= CROWDED_ENTRIES else 2
        ax.legend(frameon=False, fontsize=9 if columns == 1 else 8, loc="best", ncols=columns, **names)
        return
    width, height = drawing.get_size_inches()
    columns = max(1, min(len(labels), round(LEGEND_COLUMNS * width / 7.0)))
    rows = -(-len(labels) // columns) + bool(title)
    drawing.set_size_inches(width, height + ROW_INCHES * rows + 0.1)
    drawing.legend(handles, labels, frameon=False, fontsize=9, loc="outside lower left", ncols=columns, **names)


def whole_numbers(ax: Axes) -> None:
    """Ticks of the horizontal axis at whole numbers only, such as arms."""
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def figure(
    columns: int = 1, *, rows: int = 1, width: float = 7.0, height: float = 4.2, ratios: Mapping[str, Sequence[float]] | None = None
) -> tuple[Drawing, Sequence[Axes]]:
    """A figure with axes in rows, read like text, outside any global state. width, height: inches of one panel, of all rows."""
    fig = Drawing(figsize=(width * (1 if columns == 1 else 0.8 * columns), height), layout="constrained")
    grid = fig.add_gridspec(rows, columns, **dict(ratios or {}))
    axes = [fig.add_subplot(grid[row, column]) for row in range(rows) for column in range(columns)]
    for ax in axes:
        dress(ax)
    return fig, axes


def dress(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(which="both", colors=INK, labelsize=9)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set_color(INK)
    for spine in ax.spines.values():
        spine.set_color(AXIS)
