"""Pictures for the dark theme: each one of results and of policies, and that of the promise, gets a
twin in the colours of dark paper."""

import pathlib
import re
from typing import TYPE_CHECKING

from tightrope.plots import style

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

MADE = "_build/dark"  # below docs
PLACES = ("results/figures", "images/policies", "images/safe.svg")
DARK_INKS = {
    style.INK: "#e6edf3",
    style.SOFT: "#9aa7b2",
    style.AXIS: "#5c6873",
    style.GRID: "#30383f",
    "#000000": "#e6edf3",
    "#ffffff": "#14181e",
}
TWIN_OF = dict(zip(style.COLOURS, style.DARK, strict=True)) | DARK_INKS


def darkened(svg: str) -> str:
    """A picture with the colours of figures replaced by those for dark paper."""
    return re.sub(r"#[0-9a-f]{6}\b", lambda match: TWIN_OF.get(match[0], match[0]), svg)


def add_twins(app: "Sphinx", doctree: "nodes.document") -> None:
    """Put the dark twin behind each picture; the theme shows one of them."""
    from docutils import nodes

    source = pathlib.Path(app.srcdir)
    page = source / app.env.docname
    for picture in list(doctree.findall(nodes.image)):
        path = (page.parent / picture["uri"]).resolve()
        if path.suffix != ".svg" or not any(
            path.is_relative_to(source / place) for place in PLACES
        ):
            continue
        twin = source / MADE / path.relative_to(source)
        twin.parent.mkdir(parents=True, exist_ok=True)
        twin.write_text(darkened(path.read_text()))
        dark = picture.copy()
        dark["uri"] = f"/{twin.relative_to(source).as_posix()}"
        picture["classes"] += ["only-light", "drawn"]
        dark["classes"] += ["only-dark", "drawn"]
        picture.parent.insert(picture.parent.index(picture) + 1, dark)


def setup(app: "Sphinx") -> "ExtensionMetadata":
    """Register the step, before Sphinx collects the pictures of the page."""
    app.connect("doctree-read", add_twins, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
