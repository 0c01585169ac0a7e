"""Self-contained HTML pages: figures inline, no script, nothing fetched."""

import pathlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import jinja2
import markupsafe

from ..core import files
from ..plots import style
from ..plots.pictures import DASHES, THEME, Picture, theme_colour, unique_ids

if TYPE_CHECKING:
    import pandas as pd


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


class Chip(NamedTuple):
    """A verdict in a word on something in a line; target: the place on the page that says why."""

    verdict: str
    words: str
    target: str


@dataclass(frozen=True)
class Section:
    """A heading, what was found in a sentence, figures with chips beside them, a paragraph and tables, in this order."""

    title: str
    text: str = ""
    figures: Sequence[Picture] = field(default_factory=list)
    tables: Sequence[Table] = field(default_factory=list)
    summary: str = ""
    chips: Sequence[Chip] = ()

    @property
    def slug(self) -> str:
        return slug(self.title)


def slug(text: object) -> str:
    return re.sub(r"\W+", "-", str(text)).strip("-").lower()


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def theme(colours: Sequence[str], ink: str, soft: str, axis: str, grid: str) -> str:
    named = {"ink": ink, "soft": soft, "axis": axis, "grid": grid}
    named |= {THEME[key]: value for key, value in zip(style.COLOURS, colours, strict=True)}
    return " ".join(f"--{name}: {value};" for name, value in named.items())


LIGHT = theme(style.COLOURS, style.INK, "#5d6b78", style.AXIS, style.GRID)
DARK = theme(style.DARK, "#e3e9ee", "#9fb0bd", "#6d7f8d", "#33414c")


def render_page(title: str, lead: str, sections: Sequence[Section], provenance: Mapping[str, object]) -> str:
    """The page as text. The sentences of its sections stand on top of it, linked, where there are several, and else their names."""
    environment = jinja2.Environment(loader=jinja2.PackageLoader("tightrope.pages"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    number = 0
    shown = []
    for section in sections:
        figures = []
        for each in section.figures:
            panels = []
            for svg in each.panels:
                number += 1
                panels.append(markupsafe.Markup(unique_ids(svg, number)))
            entries = [(entry.name, theme_colour(entry.colour), DASHES.get(entry.line, "")) for entry in each.entries]
            figures.append({"panels": panels, "caption": each.caption, "entries": entries, "note": each.note})
        shown.append({"slug": section.slug, "title": section.title, "text": section.text, "figures": figures, "tables": section.tables,
                      "summary": section.summary, "chips": section.chips})  # fmt: skip
    summaries = [(section.slug, section.title, section.summary) for section in sections if section.summary]
    environment.filters["numeric"] = lambda text: bool(re.match(r"^[-+−±]?[\d.,]+", str(text)))
    environment.filters["slug"] = slug
    return environment.get_template("page.html.j2").render(
        title=title, lead=lead, sections=shown, provenance=provenance, summaries=summaries, light=LIGHT, dark=DARK
    )


def write_page(path: pathlib.Path, title: str, lead: str, sections: Sequence[Section], provenance: Mapping[str, object]) -> pathlib.Path:
    files.write_text(path, render_page(title, lead, sections, provenance))
    return path
