"""Links both ways between the reference and the other pages.

Code such as `tr.simulate` in a sentence leads to the page of that function, and that page lists
those that use it.
"""

import pathlib
import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

DOCS = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("tutorials", "how-to", "service", "explanation", "gallery")
NAME = re.compile(r"\btr\.((?:\w+\.)*\w+)")
NAMED = re.compile(r"(?:(?:tr|tightrope)\.((?:\w+\.)*\w+)|([A-Z]\w*(?:\.[a-z]\w*)?))(?:\(.*\))?")
MOST = 8  # pages that a page of the reference lists: more is a list that nobody reads


def pages_by_name() -> dict[str, list[str]]:
    """Pages that use a public name or what belongs to it, by the full name; pages without their
    ending."""
    using: dict[str, list[str]] = {}
    for folder in FOLDERS:
        for page in sorted((DOCS / folder).glob("*.md")):
            written = {tuple(name.split(".")) for name in NAME.findall(page.read_text())}
            owners = {
                ".".join(["tightrope", *name[:end]])
                for name in written
                for end in range(1, len(name) + 1)
            }
            for owner in owners:
                using.setdefault(owner, []).append(
                    page.relative_to(DOCS).with_suffix("").as_posix()
                )
    return {name: pages[:MOST] for name, pages in using.items()}


def is_inside_a_link(node: nodes.Node) -> bool:
    """Also in a part of the link's text, and in a title, which is the link of lists of contents."""
    above = node.parent
    while above is not None and not isinstance(
        above, nodes.reference | nodes.title | addnodes.pending_xref
    ):
        above = above.parent
    return above is not None


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Turn the first code on a page that may be a public name into a reference to it; what is none
    stays code, without a warning.

    Names of classes count without `tr.`, too, and names of functions with it.
    """
    done = set()
    for literal in list(doctree.findall(nodes.literal)):
        match = NAMED.fullmatch(literal.astext())
        if match is None or is_inside_a_link(literal):
            continue
        name = match[1] or match[2]
        if name in done:
            continue
        done.add(name)
        link = addnodes.pending_xref(
            "",
            refdomain="py",
            reftype="obj",
            reftarget=f"tightrope.{name}",
            refdoc=app.env.docname,
            refwarn=False,
        )
        literal.replace_self(link)
        link += literal


def is_left_out(
    app: Sphinx, what: str, name: str, item: Any, skip: bool, options: Any
) -> bool | None:
    """Fields of named tuples say only which number they have; the class's own section explains
    them."""
    return (
        True
        if (getattr(item, "__doc__", None) or "").startswith("Alias for field number")
        else None
    )


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the two steps."""
    app.connect("doctree-read", link_names)
    app.connect("autodoc-skip-member", is_left_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
