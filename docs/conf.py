"""The site: `make docs` writes it to docs/_build/html, with warnings as errors. Pages fetch nothing
from other hosts."""

import hashlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "_extensions"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import make_reference
import make_results
from public_names import pages_by_name

import tightrope

HERE = pathlib.Path(__file__).resolve().parent

# Pages that are made: of policies, commands, specs and stored rows. A file that is as it should be
# keeps its time.
for name, text in (make_reference.pages() | make_results.pages()).items():
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)

# Modules of other rooms, which autodoc imports by the names that users write.
for name in ("delays", "oracles", "stopping"):
    sys.modules[f"tightrope.{name}"] = getattr(tightrope, name)

project = "tightrope"
copyright = "2026, the tightrope authors"
version = release = tightrope.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "mathml",
    "gallery",
    "dark_pictures",
    "public_names",
    "scrolling_tables",
    "cards",
]
smartquotes = False  # values such as 'confidence' are copied from the pages
exclude_patterns = [
    "_build",
    "_templates",
    "mathematics",
    "adr",
    "results/stories",
]  # mathematics and stories: parts of pages that are made; adr: for those who read the source

# The reference: docs/reference/interface.md names what is public; Sphinx makes a page for each, in
# docs/reference/api.
templates_path = ["_templates"]
default_role = (
    "py:obj"  # docstrings write code as Markdown does; what is a public name becomes a link
)
autosummary_context = {"pages": pages_by_name()}  # that use a name
autodoc_typehints = "none"  # the sections of a docstring say more than the types of the signature
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False  # the page of a class has its methods already

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = False
html_math_renderer = "mathml"

# Pages with code cells run while the site is built. What they showed is kept for these sources of
# the package and these cells.
sources = b"".join(
    path.read_bytes() for path in sorted(pathlib.Path(tightrope.__file__).parent.rglob("*.py"))
)
nb_execution_mode = "cache"
nb_execution_cache_path = str(
    HERE / "_build" / "executed" / hashlib.sha256(sources).hexdigest()[:16]
)
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 240  # seconds a cell may take, most of it compilation

html_theme = "pydata_sphinx_theme"
html_title = "tightrope"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "../src/tightrope_service/static/icon.svg"
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {
    "index": [],
    "coming-from": [],
    "install": [],
    "which-policy": [],
    "changelog": [],
    "glossary": [],
}
html_theme_options = {
    "logo": {"text": "tightrope"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
