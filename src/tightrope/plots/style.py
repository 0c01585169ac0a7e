"""Colours, axes and legends that all figures share; figures as panels of a page in its theme;
sentences on numbers."""

import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import matplotlib as mpl
import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from ..core.files import rounded_number, standard_error, with_error
from ..core.types import Arguments, JsonObject

# Distinguishable with the common colour deficiencies and in grey.
COLOURS = (
    "#0b6e99",
    "#d1495b",
    "#2a9d6f",
    "#e08e0b",
    "#6a4c93",
    "#5c5c5c",
    "#00a6d6",
    "#9c3848",
    "#7a9e1f",
    "#b07aa1",
)
DARK = (
    "#56b9e6",
    "#f2798a",
    "#57cfa0",
    "#f2ad42",
    "#b79be0",
    "#b4b4b4",
    "#3fd0fa",
    "#e08a98",
    "#b0d64f",
    "#d9a9cb",
)  # on dark paper
LINES = ("-", "--", "-.", ":")
INK, SOFT, AXIS, GRID = (
    "#22303c",
    "#808a93",
    "#9aa7b2",
    "#dfe5ea",
)  # text, secondary text, frames, grids
CROWDED_ENTRIES = 5  # entries of a legend inside axes that stand in one column
ROW_INCHES = 0.2  # inches of a row of a legend below them
LEGEND_COLUMNS = 3  # of it, by seven inches of width
WIDEST = 13.5  # inches of panels side by side, 1,300 pixels of a page; more of them wrap


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
        """Line style of a name, which tells apart names of one colour; covers: number of curves
        that this one lies on."""
        return line(self.take([name])._places[name], covers)


class Drawing(Figure):
    """A figure made here, which grows by its legend. bare: its inches of height without one. named:
    the curves in it."""

    bare: float
    named: dict[str, Any]


def colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def line(number: int, covers: int = 0) -> str:
    """Line style of the number-th curve: changes when the colours start again, and with the number
    of curves that it lies on."""
    return LINES[(number // len(COLOURS) + covers) % len(LINES)]


def legend(ax: Axes, title: str = "") -> None:
    """Name the curves in rows below the figure, which grows by them; the panels of a figure have
    one legend.

    Axes of somebody else's figure keep their size, and their legend is inside.
    """
    names: Arguments = {"title": title, "title_fontsize": 8, "alignment": "left"} if title else {}
    handles, labels = ax.get_legend_handles_labels()
    drawing = ax.get_figure(root=True)
    if not isinstance(drawing, Drawing):
        columns = 1 + (len(labels) > CROWDED_ENTRIES)
        ax.legend(frameon=False, fontsize=10 - columns, loc="best", ncols=columns, **names)
        return
    drawing.named |= dict(zip(labels, handles, strict=True))
    for old in tuple(drawing.legends):
        old.remove()
    columns = max(1, min(len(drawing.named), round(LEGEND_COLUMNS * drawing.get_figwidth() / 7.0)))
    rows = -(-len(drawing.named) // columns) + bool(title)
    drawing.set_figheight(drawing.bare + ROW_INCHES * rows + 0.1)
    drawing.legend(
        list(drawing.named.values()),
        list(drawing.named),
        frameon=False,
        fontsize=9,
        loc="outside lower left",
        ncols=columns,
        **names,
    )


def whole_numbers(ax: Axes) -> None:
    """Ticks of the horizontal axis at whole numbers only, such as arms."""
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def figure(
    columns: int = 1,
    *,
    rows: int = 1,
    width: float = 7.0,
    height: float = 4.2,
    ratios: Mapping[str, Sequence[float]] | None = None,
) -> tuple[Drawing, Sequence[Axes]]:
    """A figure with axes in rows, read like text, outside any global state; a row that is wider
    than WIDEST wraps. width, height: inches of one panel, of all rows as they were given."""
    beside = min(columns, max(1, int(WIDEST / (0.8 * width))))
    lines = -(-columns // beside)
    fig = Drawing(
        figsize=(width * (1 if beside == 1 else 0.8 * beside), height * lines), layout="constrained"
    )
    fig.named, fig.bare = {}, height * lines
    grid = fig.add_gridspec(rows * lines, beside, **dict(ratios or {}))
    axes = [
        fig.add_subplot(grid[row * lines + column // beside, column % beside])
        for row in range(rows)
        for column in range(columns)
    ]
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


# Figures on a page: a panel for every pair of axes, so that narrow screens stack them; colours of
# the page's theme; names of the curves as text that wraps; values where a pointer rests.


POINTS = 72.0  # of an inch
# CSS pixels for each point of a figure, at most: of a whole one, and of a panel on a page
LARGEST, LARGEST_PANEL = 1.7, 2.4
MARGIN = 3.0  # points around a panel

# What figures are drawn with, and the variable of the page that says how it looks in its theme.
THEME = {INK: "ink", SOFT: "soft", AXIS: "axis", GRID: "grid", "#000000": "ink"}
THEME |= {colour: f"c{number}" for number, colour in enumerate(COLOURS)}
DASHES = {"-": "none", "--": "6 3", "-.": "8 3 2 3", ":": "2 3"}


@dataclass(frozen=True)
class LegendEntry:
    """A line of a legend: a name, its colour and its line style; empty: a filled square."""

    name: str
    colour: str
    line: str = "-"


@dataclass(frozen=True)
class Picture:
    """Panels (SVG text) that stand side by side where there is room, the names of their curves, and
    a caption below."""

    panels: Sequence[str]
    caption: str = ""
    entries: Sequence[LegendEntry] = ()
    note: str = ""  # beside the names, such as what bands are

    def record(self) -> JsonObject:
        return asdict(self)

    @classmethod
    def of(cls, record: JsonObject) -> "Picture":
        return cls(**record | {"entries": [LegendEntry(**entry) for entry in record["entries"]]})


def picture(fig: Figure, caption: str = "") -> Picture:
    entries, note = _take_legends(fig)
    fig.set_figheight(getattr(fig, "bare", fig.get_figheight()))
    fig.draw_without_rendering()
    fig.set_layout_engine("none")  # panels keep their places while the others are hidden
    height = float(fig.get_size_inches()[1])
    panels = []
    for group in _groups(fig):
        for ax in fig.axes:
            ax.set_visible(ax in group)
        box = Bbox.union([_tight(ax) for ax in group])
        panels.append(_cropped_svg(svg_text(fig), box, height * POINTS))
    return Picture(panels, caption, entries, note)


def whole(svg: str, caption: str = "") -> Picture:
    return Picture([inline_svg(svg)], caption)


def figure_svg(fig: Figure) -> str:
    """A figure as one SVG that brings its own colours, for pages that have none, such as a
    notebook's."""
    return inline_svg(svg_text(fig, transparent=False))


def inline_svg(text: str) -> str:
    """An SVG file as a part of a page: without its header, as wide as the page, but not so wide
    that its letters outgrow the text."""
    text = text[text.index("<svg") :]
    wide = re.search(r'<svg[^>]*? width="([\d.]+)pt"', text)
    most = "" if wide is None else f' style="max-width: {LARGEST * float(wide[1]):.0f}px"'
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', rf"\1{most}", text, count=1)
    return re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)


def theme_colour(colour: str) -> str:
    name = THEME.get(colour)
    return f"var(--{name}, {colour})" if name is not None else colour


def unique_ids(svg: str, number: int) -> str:
    """Matplotlib reuses ids between figures; on one page they must differ."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="f{number}-\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#f{number}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#f{number}-\1)", svg)


# Legends ------------------------------------------------------------------------------------------


def _take_legends(fig: Figure) -> tuple[list[LegendEntry], str]:
    legends = [
        *fig.legends,
        *(legend for ax in fig.axes if (legend := ax.get_legend()) is not None),
    ]
    curves = {
        name: handle
        for ax in reversed(fig.axes)
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    entries: dict[str, LegendEntry] = {}
    for legend in legends:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            name = text.get_text()
            entries.setdefault(name, _entry(name, handle, curves.get(name)))
    note = next((title for legend in legends if (title := legend.get_title().get_text())), "")
    for legend in legends:
        legend.remove()
    return list(entries.values()), note


def _lines(handle: object) -> list[Line2D]:
    return [
        part
        for part in (handle, *getattr(handle, "get_children", list)())
        if isinstance(part, Line2D)
    ]


def _entry(name: str, handle: object, curve: object) -> LegendEntry:
    """An entry from what stands in the legend; that of a curve with error bars is a bar there, and
    its line is the curve's own."""
    lines = _lines(handle) or _lines(curve)
    if lines:
        drawn = str(lines[0].get_linestyle())
        return LegendEntry(
            name,
            to_hex(lines[0].get_color()),
            drawn if drawn in DASHES else "" if drawn.lower() == "none" else "-",
        )
    for getter in ("get_facecolor", "get_edgecolor", "get_color"):
        colours = (
            np.atleast_2d(getattr(handle, getter)())
            if hasattr(handle, getter)
            else np.zeros((0, 4))
        )
        if colours.dtype.kind == "f" and colours.size >= 3:
            return LegendEntry(name, to_hex(colours[0]), "" if getter == "get_facecolor" else "-")
    return LegendEntry(name, INK, "")


# Panels -------------------------------------------------------------------------------------------


def _groups(fig: Figure) -> list[list[Axes]]:
    """Axes that belong together: those in one cell of a grid, with the colour bars and twins that
    stand in none of their own."""
    groups: dict[tuple[int, ...], list[Axes]] = {}
    for ax in fig.axes:
        cell = ax.get_subplotspec()
        if cell is None and groups:
            next(reversed(groups.values())).append(ax)
            continue
        key = (
            ()
            if cell is None
            else (cell.rowspan.start, cell.rowspan.stop, cell.colspan.start, cell.colspan.stop)
        )
        groups.setdefault(key, []).append(ax)
    return list(groups.values())


def _tight(ax: Axes) -> Bbox:
    box = ax.get_tightbbox()
    assert box is not None
    return box.transformed(
        ax.get_figure(root=True).dpi_scale_trans.inverted(),  # type: ignore[union-attr]
    )


def svg_text(fig: Figure, transparent: bool = True) -> str:
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "tightrope", "svg.fonttype": "path"}):
        fig.savefig(buffer, format="svg", metadata={"Date": None}, transparent=transparent)
    return buffer.getvalue().decode()


def _cropped_svg(svg: str, box: Bbox, height: float) -> str:
    x, y = box.x0 * POINTS - MARGIN, height - box.y1 * POINTS - MARGIN
    w, h = box.width * POINTS + 2 * MARGIN, box.height * POINTS + 2 * MARGIN
    # Colours by the variables of the page, each with itself where a page has none.
    svg = re.sub(r"#[0-9a-f]{6}\b", lambda match: theme_colour(match[0]), svg[svg.index("<svg") :])
    head = (
        f'<svg viewBox="{x:.1f} {y:.1f} {w:.1f} {h:.1f}" '
        f'style="max-width: {LARGEST_PANEL * w:.0f}px" role="img"'
    )
    end = svg.index(">")
    plain = re.sub(r' (width|height|viewBox)="[^"]*"', "", svg[:end])
    return plain.replace("<svg", head, 1) + svg[end:]


# Sentences on numbers that are true whatever these are: a difference counts where chance would
# hardly make it.


ERROR = 0.01  # chance of any wrong order in one sentence, shared among its comparisons


def margin(replications: int, comparisons: int = 1) -> float:
    """How many standard errors a mean difference must have: Student's t, the error shared among the
    comparisons."""
    if replications < 2:
        return math.inf
    return float(scipy.special.stdtrit(replications - 1, 1.0 - 0.5 * ERROR / max(comparisons, 1)))


def differ(first: np.ndarray, second: np.ndarray, comparisons: int = 1) -> bool:
    gap = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if gap.size < 2:
        return False
    return bool(abs(float(gap.mean())) > margin(gap.size, comparisons) * float(standard_error(gap)))


def mean(values: np.ndarray, *, sign: bool = False) -> str:
    return with_error(
        float(np.mean(values)),
        float(standard_error(np.asarray(values, dtype=np.float64))),
        sign=sign,
    )


def listed_words(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def lowest(
    cost: Mapping[str, np.ndarray], what: str, *, least: str = "lowest", below: str = "below"
) -> str:
    """Who has the lowest mean of what, and by how much; or that no difference is shown. cost[name]:
    (replications,), paired.

    least, below: the words for it, such as "highest" and "above" where the costs are gains with a
    minus.
    """
    sign = 1.0 if below == "below" else -1.0
    names = sorted(cost, key=lambda name: float(cost[name].mean()))
    best, n = names[0], cost[names[0]].size
    shown = {name: mean(sign * cost[name]) for name in names}
    if len(names) == 1:
        return f"{best} has a {what} of {shown[best]}."
    if n < 2:
        return (
            f"In a single replication {best} has the {least} {what}, {shown[best]}; one "
            "replication shows no difference."
        )
    level = [name for name in names[1:] if not differ(cost[name], cost[best], len(names) - 1)]
    if level:
        alike = listed_words([f"{name} ({shown[name]})" for name in [best, *level]])
        if len(level) == len(names) - 1:
            return f"No difference in {what} is shown among {alike}."
        others = "others have more" if below == "below" else "others have less"
        return f"No difference is shown among {alike}, which have the {least} {what}; all {others}."
    second = names[1]
    gap = cost[second] - cost[best]
    by = with_error(float(gap.mean()), float(standard_error(gap)))
    return (
        f"{best} has the {least} {what}, {shown[best]}: {by} {below} {second}, the next ({n} "
        "paired replications)."
    )


def share(count: int, total: int) -> str:
    return (
        f"{count:,} of {total:,} "
        f"({rounded_number(100.0 * count / total, 1.0 if total < 1000 else 0.1)}%)"
    )


# Shares of the arms that were played: a strip for each policy.


MOST_ARMS = 60  # shown one by one


class Played(Protocol):
    """Pulls by policy, and of how many rounds: a result of any kind."""

    @property
    def policies(self) -> Sequence[str]: ...
    @property
    def pulls(self) -> Mapping[str, np.ndarray]: ...  # name -> (replications, K)
    @property
    def rounds(
        self,
    ) -> (
        np.ndarray | Mapping[str, np.ndarray]
    ): ...  # (n,) checkpoints of all, or name -> (replications,)


def shares(result: Played, name: str) -> np.ndarray:
    """(K,) share of the rounds in which each arm was played, mean over replications; of sets they
    add up to the size of a set."""
    rounds = (
        result.rounds[name][:, None]
        if isinstance(result.rounds, Mapping)
        else float(result.rounds[-1])
    )
    return np.asarray((result.pulls[name] / rounds).mean(axis=0))


def shares_figure(result: Played, palette: Palette | None = None, width: float = 7.0) -> Figure:
    """A strip per policy in its colour: the fuller the colour, the more of its rounds had the
    arm."""
    names = result.policies
    palette = Palette(names) if palette is None else palette
    parts = np.stack([shares(result, name) for name in names])
    many = parts.shape[1] > MOST_ARMS
    if many:
        parts = -np.sort(-parts, axis=1)[:, :MOST_ARMS]
    fig, (ax,) = figure(width=width, height=0.8 + 0.42 * len(names))
    most = max(float(parts.max()), 1e-12)
    for row, name in enumerate(names):
        for arm, part in enumerate(parts[row].tolist()):
            ax.add_patch(
                Rectangle(
                    (arm - 0.5, row - 0.42),
                    1.0,
                    0.84,
                    color=palette.colour(name),
                    alpha=part / most,
                    linewidth=0,
                )
            )
    ax.grid(False)
    ax.set_xlim(-0.5, parts.shape[1] - 0.5)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel(f"the {MOST_ARMS} most played arms" if many else "arm")
    whole_numbers(ax)
    return fig


def shares_caption(result: Played) -> str:
    most = max(float(shares(result, name).max()) for name in result.policies)
    size = max(float(shares(result, name).sum()) for name in result.policies)
    sets = f" A round plays a set of up to {size:.3g} arms." if size > 1.0 + 1e-9 else ""
    said = "Share of rounds in which each arm was played, mean over replications."
    return f"{said} The fullest colour is {100 * most:.3g}% of the rounds.{sets}"
