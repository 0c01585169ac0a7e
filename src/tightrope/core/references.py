"""Who is to be cited: the papers of the policies and the library itself, as BibTeX."""

import functools
import re
from importlib import resources

POLICIES = re.compile(r"^% Policies: (?P<names>[^\n]+)\n(?P<entry>@\w+\{.+?^\}$)", flags=re.MULTILINE | re.DOTALL)


@functools.cache
def entries() -> dict[str, tuple[str, ...]]:
    """BibTeX entries of every policy of the package, its own source first."""
    references: dict[str, tuple[str, ...]] = {}
    for match in POLICIES.finditer(resources.files(__package__).joinpath("references.bib").read_text()):
        for name in match["names"].split(", "):
            references[name] = (*references.get(name, ()), match["entry"])
    return references


YEAR = 2026  # of this version: BibTeX styles warn of an entry without one


def library(version: str) -> str:
    return (
        f"@software{{tightrope,\n  author = {{{{the tightrope authors}}}},\n  title = {{tightrope: structured bandits for Python}},\n"
        f"  year = {{{YEAR}}},\n  version = {{{version}}}\n}}"
    )
