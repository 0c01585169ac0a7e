"""Tables that executed cells show scroll on a telephone: they have a place in the order of the tab
key, so that a keyboard reaches them."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata


def reach_tables(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Give every table of a cell's output its place."""
    for output in doctree.findall(nodes.raw):
        if output.get("format") == "html" and "<table" in output.astext():
            output.children = [
                nodes.Text(re.sub(r"<table\b", '<table tabindex="0"', output.astext()))
            ]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the step."""
    app.connect("doctree-resolved", reach_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
