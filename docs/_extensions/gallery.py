"""The gallery's pictures are made while the docs are built: every page's Python blocks run, and
`{made}` shows a file that they wrote."""

import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

MADE = "_build/gallery"  # below docs


def made_by(page: pathlib.Path, folder: pathlib.Path) -> None:
    """Run the blocks of a page in a folder."""
    code = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SphinxError(f"the example of {page.name} failed: {done.stderr[-1500:]}")


def make_all(app: Sphinx) -> None:
    """Run every page whose pictures are not there or older than the page."""
    source = pathlib.Path(app.srcdir)
    folder = source / MADE
    folder.mkdir(parents=True, exist_ok=True)

    def is_old(page: pathlib.Path) -> bool:
        pictures = [folder / name for name in re.findall(r"\{made\} (\S+)", page.read_text())]
        return any(
            not picture.exists() or picture.stat().st_mtime < page.stat().st_mtime
            for picture in pictures
        )

    pages = [page for page in sorted((source / "gallery").glob("*.md")) if is_old(page)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda page: made_by(page, folder), pages))


class Made(SphinxDirective):
    """`{made} FILE` with a description of the picture as its text."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The picture."""
        picture = nodes.image(
            uri=f"/{MADE}/{self.arguments[0]}", alt=" ".join(self.content), classes=["made"]
        )
        picture.source, picture.line = self.get_source_info()
        return [picture]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directive, and make the pictures before anything is read."""
    app.add_directive("made", Made)
    app.connect("builder-inited", make_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
