"""Self-contained HTML pages: figures inline, no script, nothing fetched."""

import io
import pathlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import jinja2
import markupsafe
from matplotlib.figure import Figure

from .. import files

if TYPE_CHECKING:
    import pandas as pd


LARGEST = 1.7  # CSS pixels of a page for each point of a figure, at most


@dataclass(frozen=True)
class Table:
    """A table of ready strings; numbers align right unless `aligned` is False. verdict_column: a column to colour by its word.
    stacked: on narrow screens each row is a list of its cells with their headers. A cell may be markup (`markupsafe.Markup`).
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    verdict_column: int | None = None
    aligned: bool = True
    stacked: bool = False

    @classmethod
    def of(cls, frame: "pd.DataFrame", caption: str = "", most_rows: int = 60, verdict_column: int | None = None) -> "Table":
        """A table from a pandas DataFrame, numbers to four digits."""
        rows = [[_cell(value) for value in row] for row in frame.head(most_rows).itertuples(index=False)]
        more = f" (first {most_rows} of {len(frame)} rows)" if len(frame) > most_rows else ""
        return cls([str(column) for column in frame.columns], rows, caption + more, verdict_column)


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph, figures (SVG text, caption) and tables."""

    title: str
    text: str = ""
    figures: Sequence[tuple[str, str]] = field(default_factory=list)
    tables: Sequence[Table] = field(default_factory=list)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def figure_svg(fig: Figure) -> str:
    """A figure as inline SVG that scales with the page."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "tightrope", "svg.fonttype": "path"}):
        fig.savefig(buffer, format="svg", metadata={"Date": None})
    return inline_svg(buffer.getvalue().decode())


def inline_svg(text: str) -> str:
    """An SVG file as a part of a page: without its header, as wide as the page, but not so wide that its letters outgrow the text."""
    text = text[text.index("<svg") :]
    wide = re.search(r'<svg[^>]*? width="([\d.]+)pt"', text)
    most = "" if wide is None else f' style="max-width: {LARGEST * float(wide[1]):.0f}px"'
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', rf"\1{most}", text, count=1)
    return re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)


def _unique_ids(svg: str, number: int) -> str:
    """Matplotlib reuses ids between figures; on one page they must differ."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="f{number}-\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#f{number}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#f{number}-\1)", svg)


def render_page(title: str, lead: str, sections: Sequence[Section], provenance: Mapping[str, object]) -> str:
    """The page as text."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tightrope.reports"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    number = 0
    shown = []
    for section in sections:
        figures = []
        for svg, caption in section.figures:
            number += 1
            figures.append((markupsafe.Markup(_unique_ids(svg, number)), caption))
        shown.append({"title": section.title, "text": section.text, "figures": figures, "tables": section.tables})
    environment.filters["numeric"] = lambda text: bool(re.match(r"^[-+−±]?[\d.,]+", str(text)))
    environment.filters["slug"] = lambda text: re.sub(r"\W+", "-", str(text)).strip("-").lower()
    return environment.get_template("page.html.j2").render(title=title, lead=lead, sections=shown, provenance=provenance)


def write_page(path: pathlib.Path, title: str, lead: str, sections: Sequence[Section], provenance: Mapping[str, object]) -> pathlib.Path:
    """Write a page whole or not at all."""
    files.write_text(path, render_page(title, lead, sections, provenance))
    return path
