"""Objects in a notebook: a heading, a table, a note, as HTML."""

import html
from collections.abc import Sequence


def cell(value: object) -> str:
    """A number to four digits, anything else as text."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def table(title: str, headers: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> str:
    """HTML of a table under its title; without headers only the title. note: a sentence below. All text is escaped."""
    parts = [f"<p><b>{html.escape(title)}</b></p>"]
    if headers:
        head = "".join(f"<th>{html.escape(text)}</th>" for text in headers)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell(value))}</td>" for value in row) + "</tr>" for row in rows)
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    if note:
        parts.append(f"<p>{html.escape(note)}</p>")
    return "".join(parts)
