"""Pages whose examples need other libraries run as well."""

import importlib
import pathlib
import re

import pytest

import test_docs

PAGES = [
    page for page in (test_docs.ROOT / "docs").rglob("*.md") if "<!-- needs" in page.read_text()
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: pathlib.Path, tmp_path):
    for module in re.search("<!-- needs (.*?) -->", page.read_text())[1].split():
        pytest.importorskip(module)
        if module == "numba_cuda" and not importlib.import_module("numba.cuda").is_available():
            pytest.skip("no GPU is here")
    test_docs.run_examples(page, tmp_path)
