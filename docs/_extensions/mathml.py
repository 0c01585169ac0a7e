"""Formulas as MathML, which browsers draw themselves: no script, no picture, and screen readers can
read it.

Not every system has a font with the measures of mathematics, without which roots and exponents are
misplaced. STIX Two Math lies in the package ziamath; the site brings it along.
"""

import pathlib
import re
from importlib import resources

from docutils import nodes
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

MARKS = re.compile(
    r"<mo(?: stretchy=\"false\")?>(?=&#x(?:02016|0007C|0005E|0007E);)"
)  # bars of norms, hats: as small as what they mark
NOT_UNDERSTOOD = re.compile(r"\\[A-Za-z]+|&(?!#x?\w+;|\w+;)")


def mathml(latex: str, display: str) -> str:
    """A formula as MathML. Raises SphinxError for a command that the converter does not know, which
    it would print as it stands."""
    made = convert(latex, display=display)
    unknown = NOT_UNDERSTOOD.search(made)
    if unknown:
        raise SphinxError(
            f"the formula {latex!r} has {unknown[0]!r}, which docs/_extensions/mathml.py cannot "
            "typeset; write it otherwise."
        )
    return MARKS.sub('<mo stretchy="false" lspace="0" rspace="0">', made)


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """A formula inside a sentence."""
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on a line of its own, which scrolls where the screen is narrow."""
    writer.body.append(
        f'<div class="formula" tabindex="0">{mathml(node.astext(), "block")}</div>\n'
    )
    raise nodes.SkipNode


def bring_font(app: Sphinx, error: Exception | None) -> None:
    """Write the font beside the style sheet that names it, compressed and otherwise as it is."""
    target = pathlib.Path(app.outdir) / "_static" / "STIXTwoMath.woff"
    if error is None and app.builder.format == "html" and not target.exists():
        with (
            resources.as_file(
                resources.files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"
            ) as source,
            TTFont(source) as font,
        ):
            font.flavor = "woff"
            font.save(target)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("build-finished", bring_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
