"""The site builds without a warning, every link inside it leads somewhere, and no page fetches
anything from another host.

In a browser, axe finds no fault with a dozen pages, and none is wider than a telephone.
"""

import pathlib
import re
import subprocess
import sys

import pytest
from browser import AXE, COMMAND, Browser

ROOT = pathlib.Path(__file__).parents[2]
LOOKED_AT = (
    "index",
    "which-policy",
    "coming-from",
    "tutorials/first-steps",
    "how-to/index",
    "how-to/compare-policies",
    "policies/LinUCB",
    "reference/api/tightrope.simulate",
    "results/claims",
    "results/explorer",
    "service/launch",
    "gallery/index",
)
LINK = re.compile(r'<(\w+)[^>]*?\s(?:href|src)="([^"]+)"')
FETCHING = {"script", "link", "img", "iframe", "source", "use"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-j",
        "2",
        "-d",
        str(out / "trees"),
        "docs",
        str(out / "html"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and (out / "html" / "index.html").exists(), done.stderr[-3000:]
    return {
        page: page.read_text()
        for page in (out / "html").rglob("*.html")
        if "_static" not in page.parts
    }


def test_every_link_leads_somewhere(site):
    ids = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in site.items()}
    broken, seen = [], 0
    for page, text in site.items():
        for _, target in LINK.findall(text):
            if re.match(r"[a-z]+:|//", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path.split("?")[0]).resolve() if path else page
            seen += 1
            if not file.exists() or (anchor and file in ids and anchor not in ids[file]):
                broken.append(f"{page.name}: {target}")
    assert broken == []
    assert seen > 1000


def test_no_page_fetches_anything_from_another_host(site):
    fetched = {
        target
        for text in site.values()
        for tag, target in LINK.findall(text)
        if tag in FETCHING and re.match(r"https?:|//", target)
    }
    assert fetched == set()


def test_formulas_are_typeset(site):
    page = next(
        text for path, text in site.items() if path.parts[-2:] == ("policies", "LinGapE.html")
    )
    assert page.count("<math ") > 20
    assert "$" not in re.sub(r"<pre.*?</pre>|<script.*?</script>", "", page, flags=re.DOTALL)


@pytest.mark.skipif(COMMAND is None or AXE is None, reason="there is no Chromium or no axe here")
def test_axe_finds_no_fault_on_wide_and_narrow_screens_in_light_and_dark(site):
    by_name = {
        "/".join(page.with_suffix("").parts[page.parts.index("html") + 1 :]): page for page in site
    }
    found = []
    with Browser() as browser:
        for width in (1280, 390):
            for dark in (False, True):
                browser.size(width, dark=dark)
                for name in LOOKED_AT:
                    browser.open(by_name[name].as_uri())
                    browser.listen(0.5)  # until the theme has faded into its colours
                    place = f"{name}, {width} px, {'dark' if dark else 'light'}"
                    assert browser.run("document.documentElement.dataset.theme") == (
                        "dark" if dark else "light"
                    ), place
                    if browser.run("document.documentElement.scrollWidth") > width:
                        found.append(f"{place}: wider than the screen")
                    found += [f"{place}: {fault}" for fault in browser.violations()]
    assert found == []
