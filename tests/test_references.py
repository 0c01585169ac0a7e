"""`tightrope cite`: every policy has its papers, each of which its file names; entries are
well-formed BibTeX."""

import pathlib
import re
import sys

import pytest
from typer.testing import CliRunner

import tightrope as tr
from tightrope.cli.application import app
from tightrope.core.registry import entries, named_policies

OURS = {
    name: item
    for name, item in named_policies()
    if item.__module__.startswith("tightrope.policies.")
}


def plain(text: str) -> str:
    """Without the accents of BibTeX."""
    return re.sub(r"\{\\.(\w)\}|[{}]", r"\1", text)


def field(entry: str, name: str) -> str:
    return plain(re.search(rf"^  {name} = \{{(.+)\}},?$", entry, flags=re.MULTILINE)[1])


def test_every_policy_is_cited_with_papers_that_its_file_names():
    assert entries().keys() == OURS.keys()
    for name, item in OURS.items():
        words = (
            f"{sys.modules[item.__module__].__doc__} {item.TRAITS.paper} "
            f"{'' if item.TRAITS.base is None else item.__doc__}"
        )
        for entry in entries()[name]:
            first = field(entry, "author").split(",")[0]
            assert first in words, (name, first)
            assert re.search(rf"{first}.{{0,90}}?{field(entry, 'year')}", words, flags=re.DOTALL), (
                name,
                first,
                field(entry, "year"),
            )


def test_entries_are_whole():
    all_entries = {entry for own in entries().values() for entry in own}
    keys = [re.match(r"@\w+\{([a-z0-9]+),\n", entry)[1] for entry in all_entries]
    assert len(set(keys)) == len(all_entries)
    for entry in all_entries:
        assert entry.count("{") == entry.count("}")
        assert all(
            re.fullmatch(r"  [a-z]+ = \{.+\},?", line) for line in entry.splitlines()[1:-1]
        ), entry
        assert [line.endswith(",") for line in entry.splitlines()[1:-1]] == [True] * (
            entry.count("\n") - 2
        ) + [False]


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["LinGapE"], ["xu2018fully"]),
        (["UCB", "CUCB", "UCB"], ["auer2002finite", "wu2016conservative"]),
        ([], []),
    ],
)
def test_cite_prints_papers_once_and_the_library(names, keys):
    done = CliRunner().invoke(app, ["cite", *names])
    assert done.exit_code == 0
    assert re.findall(r"^@\w+\{(\w+),", done.stdout, flags=re.MULTILINE) == [*keys, "tightrope"]
    assert f"version = {{{tr.__version__}}}" in done.stdout
    licence = (pathlib.Path(__file__).parent.parent / "LICENSE").read_text()
    assert (
        re.findall(r"year = \{(\d+)\}", done.stdout)[-1] in licence
        and done.stdout.count("year = ") == len(keys) + 1
    )


def test_cite_refuses_a_name_that_no_policy_has():
    done = CliRunner().invoke(app, ["cite", "LinGape"])
    assert isinstance(done.exception, ValueError)
    assert "LinGapE" in str(done.exception)
