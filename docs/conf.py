"""The site: `make docs` writes it to docs/_build/html, with warnings as errors. Pages fetch nothing from other hosts."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "_extensions"))

import tightrope

project = "tightrope"
copyright = "2026, the tightrope authors"
version = release = tightrope.__version__
extensions = ["myst_parser", "mathml", "gallery", "dark_pictures"]
smartquotes = False  # values such as 'confidence' are copied from the pages
exclude_patterns = ["_build", "mathematics"]  # sections of docs/policies, which `make reference` puts together

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = False
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "tightrope"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "../src/tightrope/service/board/static/icon.svg"
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": [], "coming-from": [], "install": [], "which-policy": [], "changelog": [], "glossary": []}
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
