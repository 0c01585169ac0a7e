"""Every Python block in README and docs runs, each file's blocks in one namespace; pages that are
made are those of the source.

Pages with code cells are also run by the build of the site, where a cell that fails is an error;
the slowest are left to it.
"""

import ast
import os
import pathlib
import re
import subprocess
import sys

import make_reference
import make_results
import pytest
from words import chapters

from tiers import thorough

ROOT = pathlib.Path(__file__).parent.parent
DOCS = ROOT / "docs"
SMALL = ("mathematics", "gallery")  # many short pages, which run in one process each
# Python blocks and cells, also those that the site does not show; cells without input show a
# picture, which needs IPython.
CODE = re.compile(
    r"```(?:python|\{code-cell\} python)\n(?::tags: \[remove-cell\]\n)?((?!:).*?)```",
    flags=re.DOTALL,
)
MADE = ("policies", "_build")  # put together from mathematics, or by a build
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if CODE.search(page.read_text()) and "<!-- needs" not in page.read_text()
    if page.relative_to(ROOT).parts[1:2] not in {(folder,) for folder in (*SMALL, *MADE)}
]
EXECUTED = "file_format: mystnb"  # in the head of a page whose cells the build runs
SLOW = {  # run by the build only; their subjects have tests of their own
    f"docs/how-to/{name}.md"
    for name in (
        "choose-a-price",
        "compare-policies",
        "contexts-and-models",
        "evaluate-before-you-launch",
        "large-logs",
        "many-machines",
        "replace-an-ab-test",
        "roll-out-safely",
        "send-promotions",
        "write-a-policy",
        "write-a-problem",
    )
}
NAMES = {name: page for page in PAGES if (name := str(page.relative_to(ROOT))) not in SLOW}
sys.path.insert(0, str(DOCS))

EACH = """
import pathlib, re, sys, traceback
failed = []
for page in sys.argv[1:]:
    code = "\\n".join(re.findall(r"```python\\n(.*?)```", pathlib.Path(page).read_text(), flags=re.DOTALL))
    assert code, page
    try:
        exec(compile(code, page, "exec"), {"__name__": "__main__"})
    except Exception:
        failed.append(f"{page}: {traceback.format_exc(limit=-2)}")
sys.exit("\\n".join(failed) or 0)
"""


MARK = "-- the page shows what is printed between two of these --"


def run(tmp_path, *command, **more):
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env=os.environ | more,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def run_examples(page, tmp_path):
    """The Python blocks of a page, one after the other; a text block right below one is what that
    one prints."""
    script, shown = [], []
    for code, output in re.findall(
        CODE.pattern + r"(?:\n\n```text\n(.*?)```)?", page.read_text(), flags=re.DOTALL
    ):
        script.append(f"print({MARK!r})\n{code}\nprint({MARK!r})" if output else code)
        shown += [output] if output else []
    (tmp_path / "example.py").write_text("\n".join(script))
    assert run(tmp_path, "example.py").split(MARK + "\n")[1::2] == shown


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name, tmp_path):
    run_examples(NAMES[name], tmp_path)


def test_the_build_runs_what_is_left_to_it():
    assert {name for name in SLOW if EXECUTED not in (ROOT / name).read_text()} == set()


def test_executed_pages_show_no_asserts():
    """What is only checked stands in cells that the site leaves out."""
    shown = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in PAGES
        for cell in re.findall(
            r"```\{code-cell\} python\n((?!:).*?)```", page.read_text(), flags=re.DOTALL
        )
        for line in cell.splitlines()
        if line.strip().startswith("assert ")
    ]
    assert shown == []


def test_the_example_of_every_policy_runs(tmp_path):
    """Uncompiled: they are short, and compiling the pairs of policies and problems would take a
    minute."""
    run(
        tmp_path,
        "-c",
        EACH,
        *map(str, sorted((DOCS / "mathematics").glob("*.md"))),
        NUMBA_DISABLE_JIT="1",
    )


@thorough
def test_the_gallery_runs_and_makes_its_pictures(tmp_path):
    pages = [page for page in sorted((DOCS / "gallery").glob("*.md")) if page.stem != "index"]
    run(tmp_path, "-c", EACH, *map(str, pages))
    shown = set(
        re.findall(
            r"\{made\} (\S+)", "".join(page.read_text() for page in (DOCS / "gallery").glob("*.md"))
        )
    )
    assert (
        shown
        == {picture.name for picture in tmp_path.glob("*.svg")}
        == {f"{page.stem}.svg" for page in pages}
    )


def test_code_fits_into_a_column():
    """Lines of Python of at most 88 characters, which the site shows without scrolling."""
    long = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in (ROOT / "README.md", *DOCS.rglob("*.md"))
        for code in CODE.findall(page.read_text())
        for line in code.splitlines()
        if len(line) > 88
    ]
    assert long == []


def test_links_between_pages_lead_somewhere():
    made = {
        DOCS / name: text for name, text in (make_reference.pages() | make_results.pages()).items()
    }
    broken = []
    for page, text in (
        {page: page.read_text() for page in (*ROOT.glob("*.md"), *DOCS.rglob("*.md"))} | made
    ).items():
        for target in re.findall(r"\]\(([^)#]+)", text):
            place = pathlib.Path(os.path.normpath(page.parent / target))
            if not target.startswith("http") and place not in made and not place.exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def test_the_index_of_how_tos_says_what_their_pages_say():
    """Title, minutes and what one has at the end stand on the page and in its row."""
    index = (DOCS / "how-to" / "index.md").read_text()
    for page in {*DOCS.glob("how-to/*.md"), *DOCS.glob("service/*.md")} - {
        DOCS / "how-to" / "index.md",
        DOCS / "service" / "index.md",
    }:
        title, minutes, end = re.search(
            r"^# (.+)\n\n\*(\d+) minutes\. At the end you have (.+)\.\*$",
            page.read_text(),
            flags=re.MULTILINE,
        ).groups()
        assert (
            f"| [{title}]({os.path.relpath(page, DOCS / 'how-to')}) | {minutes} | {end} |" in index
        ), page.name


def test_the_interface_names_every_policy():
    written, made = (
        ast.dump(ast.parse(text))
        for text in (make_reference.INTERFACE.read_text(), make_reference.interface())
    )
    assert written == made, "run `python docs/make_reference.py`"


def test_the_map_leads_to_every_policy():
    from policy_pages import ours

    assert set(
        re.findall(
            r"\(policies/(\w+)\.md\)",
            (DOCS / "which-policy.md").read_text().split("## All policies")[1].split("\n## ")[0],
        )
    ) == set(ours())


def test_at_most_sixty_thousand_words_are_written_by_hand():
    assert 30_000 < chapters().total() <= 60_000


def test_every_policy_has_what_its_page_needs():
    from policy_pages import COST, fragments, head, ours

    for name, item in ours().items():
        if item.TRAITS.base is not None:
            continue  # the paragraph of a preset is its docstring
        doc = " ".join(item.__doc__.split())
        shared = ours()["Safe"].FIELDS.keys() - {"baseline_mean"} if name == "SafePromises" else ()
        for parameter, field in (
            item.FIELDS.items() if name != "Safe" else ()
        ):  # whose others are those of Conservative
            if parameter in shared:
                continue
            default = "" if field.required else f", default {field.default!r}"
            assert f" {parameter} : {field.words}{default} " in doc, (name, parameter)
        needed, own = list(fragments(name))[:3], list(fragments(name))[3:]
        assert needed == ["What it computes", "What is known", "Example"], name
        assert set(own) <= {"Ends by itself", "Late rewards"}, (
            name
        )  # where it differs from its family
        assert {"When to use it", "Source", "Cost"} <= head(item).keys() or name in (
            "Uniform",
            "XYOracle",
        ), (name, head(item).keys())
        assert COST.search(sys.modules[item.__module__].__doc__), name
    assert {page.stem for page in (DOCS / "mathematics").glob("*.md")} == {
        name for name, item in ours().items() if item.TRAITS.base is None
    }


@pytest.mark.lab("sphinx", "latex2mathml")
def test_formulas_that_cannot_be_typeset_are_refused():
    sys.path.insert(0, str(DOCS / "_extensions"))
    from mathml import mathml
    from sphinx.errors import SphinxError

    assert "<msqrt>" in mathml(r"\sqrt{\frac{\alpha \, \ln n}{N_k}}", "inline")
    with pytest.raises(SphinxError, match="nonsense"):
        mathml(r"\nonsense{x}", "inline")
    for page in (DOCS / "mathematics").glob("*.md"):
        for display in re.findall(r"\$\$(.+?)\$\$", page.read_text(), flags=re.DOTALL):
            mathml(display, "block")


def test_every_policy_has_a_picture_beside_its_peers():
    from make_curves import PICTURES, WORLDS, place_of
    from policy_pages import ours

    drawn = {name for name in ours() if place_of(name) is not None}
    assert len(drawn) > 45
    assert {picture.stem for picture in PICTURES.glob("*.svg")} == drawn
    for name in drawn:
        names = {name, *WORLDS[place_of(name)].peers}
        assert names <= set(
            re.findall(r">([^<>]+)</text>", (PICTURES / f"{name}.svg").read_text())
        ), name


def figure_of(page, pattern):
    """The groups of the first place of a page that matches."""
    return re.findall(pattern, (DOCS / "results" / f"{page}.md").read_text(), re.M)[0]


def test_figures_in_the_readme_are_those_of_the_pages_behind_them():
    judged, claims = figure_of("claims", r"^(\d+) of (\d+) claims are judged")
    ours, numpy = (
        float(figure_of("peers", rf"^\| {name} [\d.]+ \| UCB \| ([\d.]+) \|"))
        for name in ("tightrope", "NumPy by hand")
    )
    gpu = float(figure_of("gpu", r"^\| UCB, 10 Bernoulli arms \|.*? ([\d.]+e\d+) \|"))
    durable = figure_of("service", r"^\| durable decisions [^|]+\| [\d,]+/s \| ([\d,]+)/s \|")
    shops, floor, safe, plain = re.findall(
        r"<desc>(\d+) shops, .+ Below (\d+ %) at some time: (\d+) with Safe, (\d+) without.</desc>",
        (DOCS / "images" / "safe.svg").read_text(),
    )[0]
    first, _ = (ROOT / "README.md").read_text().split("\n## Where to go next\n")
    figures = (
        f"of {claims} claims in the papers we implement, [{judged} are judged",
        f"takes {ours:.1g} µs, as a loop in C does; [NumPy by hand takes {numpy:.2g}]",
        f"A prototype on one GPU played [{gpu / 1e9:.3g} billion a second]",
        f"[{durable} durable decisions a second]",
        f"{'none' if safe == '0' else safe} of the {shops} shops in the picture ever fell below the "
        f"floor; without `Safe`, {'all ' * (plain == shops)}{plain} did",
        f"the floor of {floor}",
    )
    assert (first.count("\n") <= 40, [figure for figure in figures if figure not in first]) == (
        True,
        [],
    )
