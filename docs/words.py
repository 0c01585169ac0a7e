"""Counts the words that were written by hand for the site, by chapter: `python docs/words.py`.

Code, pages that the build makes and records of decisions (docs/adr) are left out. Sections of
docs/mathematics and the files that a page includes count.
"""

import json
import pathlib
import re
from collections import Counter

DOCS = pathlib.Path(__file__).resolve().parent
MADE = re.compile(r"policies/|reference/(api|command-line|specs)|results/(claims|explorer)")
CODE = re.compile(r"^( *)(```|~~~).*?^\1\2|^---\n.*?^---\n|<[^>]+>|\]\([^)]*\)", re.M | re.S)
INCLUDED = re.compile(r"```\{include\} (\S+)")


def words(path: pathlib.Path) -> int:
    """The words of a page and of what it includes. path: its file. Returns how many."""
    text = path.read_text()
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    own = len(re.findall(r"[^\W\d_][\w'’-]*", CODE.sub(" ", text)))
    return own + sum(words(path.parent / name) for name in INCLUDED.findall(text))


def chapters() -> Counter[str]:
    """How many words each chapter has. Returns them by folder, pages on top under their names."""
    found: Counter[str] = Counter()
    for path in sorted([*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]):
        name = path.relative_to(DOCS)
        if name.parts[0] not in ("_build", "adr") and not MADE.match(name.as_posix()):
            found[name.parts[0]] += words(path)
    return found


if __name__ == "__main__":
    for chapter, number in chapters().most_common():
        print(f"{number:7,}  {chapter}")
    print(f"{chapters().total():7,}  all")
