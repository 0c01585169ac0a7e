"""Formulas as MathML, which browsers draw themselves: no script, no picture, no request, and screen readers can read it."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

NOT_UNDERSTOOD = re.compile(r"\\[A-Za-z]+|&(?!#x?\w+;|\w+;)")


def mathml(latex: str, display: str) -> str:
    """A formula as MathML. Raises SphinxError for a command that the converter does not know, which it would print as it stands."""
    made = convert(latex, display=display)
    unknown = NOT_UNDERSTOOD.search(made)
    if unknown:
        raise SphinxError(f"the formula {latex!r} has {unknown[0]!r}, which docs/_extensions/mathml.py cannot typeset; write it otherwise.")
    return made


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """A formula inside a sentence."""
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on a line of its own, which scrolls where the screen is narrow."""
    writer.body.append(f'<div class="formula" tabindex="0">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
