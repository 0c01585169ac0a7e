"""Open Graph tags: title, first sentence and picture of a page, which messengers and search engines
show beside a link to it."""

import html
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

LONGEST = 200  # characters of a description, which all that show it cut
PICTURE = "_images/board-1280-light.png"


def add_tags(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Put the tags into the head of a page. The address and the picture need `html_baseurl`, since
    they must be absolute."""
    tags = {
        "og:site_name": app.config.project,
        "og:type": "article",
        "og:title": re.sub(r"<[^>]+>", "", context.get("title", "")),
    }
    paragraph = None if doctree is None else next(doctree.findall(nodes.paragraph), None)
    if paragraph is not None:
        text = " ".join(paragraph.astext().split())
        short = text if len(text) <= LONGEST else text[: LONGEST - 1].rsplit(" ", 1)[0] + "…"
        tags |= {"og:description": short, "description": short}
    if app.config.html_baseurl:
        base = app.config.html_baseurl.rstrip("/")
        tags |= {"og:url": f"{base}/{page}.html", "og:image": f"{base}/{PICTURE}"}
    made = (
        f"<meta "
        f'{"property" if name.startswith("og:") else "name"}="{name}" '
        f'content="{html.escape(html.unescape(value))}" />'
        for name, value in tags.items()
    )
    context["metatags"] = "\n".join([context.get("metatags", ""), *made])


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the step."""
    app.connect("html-page-context", add_tags)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
