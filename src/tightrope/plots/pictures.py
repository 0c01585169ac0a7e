"""Figures on a page: a panel for every pair of axes, so that narrow screens stack them; colours of the page's theme; names of the curves
as text that wraps; values where a pointer rests.
"""

import html
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TypedDict

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from . import style
from .digits import SIGNIFICANT_DIGITS

POINTS = 72.0  # of an inch
LARGEST = 1.7  # CSS pixels of a page for each point of a figure, at most
MOST_POINTS = 200  # of a curve that are named one by one
TARGET = 5.0  # radius, in points, of what a pointer must meet
MARGIN = 3.0  # points around a panel

# What figures are drawn with, and the variable of the page that says how it looks in its theme.
THEME = {style.INK: "ink", style.SOFT: "soft", style.AXIS: "axis", style.GRID: "grid", "#000000": "ink"}
THEME |= {colour: f"c{number}" for number, colour in enumerate(style.COLOURS)}
DASHES = {"-": "none", "--": "6 3", "-.": "8 3 2 3", ":": "2 3"}


@dataclass(frozen=True)
class LegendEntry:
    """A line of a legend: a name, its colour and its line style; empty: a filled square."""

    name: str
    colour: str
    line: str = "-"


class PictureRecord(TypedDict):
    """A `Picture` as JSON has it."""

    panels: list[str]
    caption: str
    entries: list[dict[str, str]]
    note: str


@dataclass(frozen=True)
class Picture:
    """Panels (SVG text) that stand side by side where there is room, the names of their curves, and a caption below."""

    panels: Sequence[str]
    caption: str = ""
    entries: Sequence[LegendEntry] = ()
    note: str = ""  # beside the names, such as what bands are

    def record(self) -> PictureRecord:
        return {
            "panels": list(self.panels), "caption": self.caption, "entries": [asdict(entry) for entry in self.entries], "note": self.note,
        }  # fmt: skip

    @classmethod
    def of(cls, record: PictureRecord) -> "Picture":
        return cls(record["panels"], record["caption"], [LegendEntry(**entry) for entry in record["entries"]], record["note"])


def picture(fig: Figure, caption: str = "") -> Picture:
    entries, note = _take_legends(fig)
    fig.draw_without_rendering()
    fig.set_layout_engine("none")  # panels keep their places while the others are hidden
    height = float(fig.get_size_inches()[1])
    hovers = {group[0]: list(_hovers(fig, group)) for group in _groups(fig)}
    panels = []
    for group in _groups(fig):
        for ax in fig.axes:
            ax.set_visible(ax in group)
        box = Bbox.union([_tight(ax) for ax in group])
        targets = [_target(x, height * POINTS - y, text) for x, y, text in hovers[group[0]]]
        panels.append(_cropped_svg(svg_text(fig), box, height * POINTS, targets))
    return Picture(panels, caption, entries, note)


def whole(svg: str, caption: str = "") -> Picture:
    return Picture([inline_svg(svg)], caption)


def figure_svg(fig: Figure) -> str:
    """A figure as one SVG that brings its own colours, for pages that have none, such as a notebook's."""
    return inline_svg(svg_text(fig, transparent=False))


def inline_svg(text: str) -> str:
    """An SVG file as a part of a page: without its header, as wide as the page, but not so wide that its letters outgrow the text."""
    text = text[text.index("<svg") :]
    wide = re.search(r'<svg[^>]*? width="([\d.]+)pt"', text)
    most = "" if wide is None else f' style="max-width: {LARGEST * float(wide[1]):.0f}px"'
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', rf"\1{most}", text, count=1)
    return re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)


def themed_svg(svg: str) -> str:
    """Colours of figures by the variables of the page, each with itself where a page has none."""
    return re.sub(r"#[0-9a-f]{6}\b", lambda match: theme_colour(match[0]), svg)


def theme_colour(colour: str) -> str:
    name = THEME.get(colour)
    return f"var(--{name}, {colour})" if name is not None else colour


def unique_ids(svg: str, number: int) -> str:
    """Matplotlib reuses ids between figures; on one page they must differ."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="f{number}-\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#f{number}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#f{number}-\1)", svg)


# Legends -----------------------------------------------------------------------------------------------------------------


def _take_legends(fig: Figure) -> tuple[list[LegendEntry], str]:
    legends = [*fig.legends, *(legend for ax in fig.axes if (legend := ax.get_legend()) is not None)]
    curves = {name: handle for ax in reversed(fig.axes) for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    entries: dict[str, LegendEntry] = {}
    for legend in legends:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            name = text.get_text()
            entries.setdefault(name, _entry(name, handle, curves.get(name)))
    note = next((title for legend in legends if (title := legend.get_title().get_text())), "")
    for legend in legends:
        _remove(fig, legend)
    return list(entries.values()), note


def _remove(fig: Figure, legend: Legend) -> None:
    if legend in fig.legends:
        fig.legends.remove(legend)
    else:
        legend.remove()


def _lines(handle: object) -> list[Line2D]:
    return [part for part in (handle, *getattr(handle, "get_children", list)()) if isinstance(part, Line2D)]


def _entry(name: str, handle: object, curve: object) -> LegendEntry:
    """An entry from what stands in the legend; that of a curve with error bars is a bar there, and its line is the curve's own."""
    lines = _lines(handle) or _lines(curve)
    if lines:
        drawn = str(lines[0].get_linestyle())
        return LegendEntry(name, to_hex(lines[0].get_color()), drawn if drawn in DASHES else "" if drawn.lower() == "none" else "-")
    for getter in ("get_facecolor", "get_edgecolor", "get_color"):
        colours = np.atleast_2d(getattr(handle, getter)()) if hasattr(handle, getter) else np.zeros((0, 4))
        if colours.dtype.kind == "f" and colours.size >= 3:
            return LegendEntry(name, to_hex(colours[0]), "" if getter == "get_facecolor" else "-")
    return LegendEntry(name, style.INK, "")


# Panels ------------------------------------------------------------------------------------------------------------------


def _groups(fig: Figure) -> list[list[Axes]]:
    """Axes that belong together: those in one cell of a grid, with the colour bars and twins that stand in none of their own."""
    groups: dict[tuple[int, ...], list[Axes]] = {}
    for ax in fig.axes:
        cell = ax.get_subplotspec()
        if cell is None and groups:
            next(reversed(groups.values())).append(ax)
            continue
        key = () if cell is None else (cell.rowspan.start, cell.rowspan.stop, cell.colspan.start, cell.colspan.stop)
        groups.setdefault(key, []).append(ax)
    return list(groups.values())


def _tight(ax: Axes) -> Bbox:
    box = ax.get_tightbbox()
    assert box is not None
    return box.transformed(ax.get_figure(root=True).dpi_scale_trans.inverted())  # type: ignore[union-attr]


def svg_text(fig: Figure, transparent: bool = True) -> str:
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "tightrope", "svg.fonttype": "path"}):
        fig.savefig(buffer, format="svg", metadata={"Date": None}, transparent=transparent)
    return buffer.getvalue().decode()


def _cropped_svg(svg: str, box: Bbox, height: float, more: Sequence[str]) -> str:
    """The part of a figure inside the box, as wide as its place; more: elements on top."""
    x, y = box.x0 * POINTS - MARGIN, height - box.y1 * POINTS - MARGIN
    w, h = box.width * POINTS + 2 * MARGIN, box.height * POINTS + 2 * MARGIN
    svg = themed_svg(svg[svg.index("<svg") :])
    head = f'<svg viewBox="{x:.1f} {y:.1f} {w:.1f} {h:.1f}" style="max-width: {LARGEST * w:.0f}px" role="img"'
    svg = _plain_head(svg).replace("<svg", head, 1)
    end = svg.rindex("</svg>")
    targets = f'<g class="points">{"".join(more)}</g>\n' if more else ""
    return svg[:end] + targets + svg[end:]


def _plain_head(svg: str) -> str:
    end = svg.index(">")
    head = re.sub(r' (width|height|viewBox)="[^"]*"', "", svg[:end])
    return head + svg[end:]


# Hovering ----------------------------------------------------------------------------------------------------------------


def _hovers(fig: Figure, axes: Sequence[Axes]) -> Iterator[tuple[float, float, str]]:
    """Places in points from the lower left corner, and what is said there; curves of which nothing is said name their values."""
    explicit = [each for each in fig.hovers if each.ax in axes] if isinstance(fig, style.Drawing) else []
    for each in explicit:
        yield from _placed_points(fig, each.ax, each.x, each.y, each.texts)
    if explicit:
        return
    for ax in axes:
        for line, name in _named_lines(ax):
            x, y = (np.asarray(part, dtype=np.float64) for part in (line.get_xdata(), line.get_ydata()))
            if x.size <= MOST_POINTS and line.get_transform() == ax.transData:
                yield from _placed_points(fig, ax, x, y, [f"{name}: {_number(b)} at {_number(a)}" for a, b in zip(x, y, strict=True)])


def _named_lines(ax: Axes) -> Iterator[tuple[Line2D, str]]:
    for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
        for part in _lines(handle):
            if np.size(part.get_xdata()) > 0:
                yield part, name
                break


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.{SIGNIFICANT_DIGITS - 1}g}"


def _placed_points(
    fig: Figure, ax: Axes, x: Iterable[float], y: Iterable[float], texts: Sequence[str]
) -> Iterator[tuple[float, float, str]]:
    places = ax.transData.transform(np.column_stack([np.asarray(list(x), dtype=np.float64), np.asarray(list(y), dtype=np.float64)]))
    inside = ax.get_window_extent()
    for (a, b), text in zip(places, texts, strict=True):
        if np.isfinite(a) and np.isfinite(b) and inside.x0 - 1 <= a <= inside.x1 + 1 and inside.y0 - 1 <= b <= inside.y1 + 1:
            yield a * POINTS / fig.dpi, b * POINTS / fig.dpi, text


def _target(x: float, y: float, text: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{TARGET:g}"><title>{html.escape(text)}</title></circle>'
