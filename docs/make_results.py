"""Takes the rows of `tightrope reproduce` into docs/results/rows and writes docs/results/*.md: `make_results.py [FOLDER...]`.

One page for each paper, with every claim and every row, one with their counts, one with the changes since the first reading, and one
of what was run at paper scale. A figure's rows are replaced by those of the same or a larger scale, so that a run at laptop scale leaves
what is known at paper scale. Numbers only; nothing of the data sets.
"""

import json
import math
import pathlib
import sys
from typing import Any

from tightrope.papers import all_papers, names
from tightrope.papers.experiment import (
    HOW_CLAIMS_STAND,
    ROWS,
    SCALES,
    FigureOutcome,
    claim_standings,
    figure_records,
    figures,
    find_paper,
    paper_of,
    readings_of,
    rows_table,
    sentence,
)
from tightrope.papers.register import STANDINGS, counts
from tightrope.papers.scoring import Row

PAGES = pathlib.Path(__file__).parent / "results"
KEPT = PAGES / "rows"  # PAPER/FIGURE.json, as `tightrope reproduce` wrote it
COLUMNS = ("judged", *STANDINGS)
BEFORE = "before.json"  # in KEPT: how claims stood at the first reading, when the worst row over all readings decided


def line(cells: Any) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def table(columns: Any, rows: Any) -> list[str]:
    """A Markdown table."""
    return [line(columns), line("---" for _ in columns), *map(line, rows), ""]


def taken_in(folders: list[pathlib.Path]) -> None:
    """Keep the rows of the folders' figures."""
    for folder in sorted({path.parent.parent for given in folders for path in given.rglob(ROWS)}):
        found = figure_records(folder)
        paper = paper_of(folder, found)
        for name, saved in found.items():
            kept = KEPT / paper / f"{name}.json"
            if kept.exists() and SCALES.index(json.loads(kept.read_text())["scale"]) > SCALES.index(saved["scale"]):
                continue
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text((folder / name / ROWS).read_text())


def known(paper: str) -> dict[str, Any]:
    """Rows of every figure of a paper."""
    return {path.stem: json.loads(path.read_text()) for path in sorted((KEPT / paper).glob("*.json"))}


def provenance(paper: str, name: str, saved: dict[str, Any]) -> str:
    """Where the rows of a figure come from."""
    versions = ", ".join(f"{package} {number}" for package, number in saved["versions"].items())
    return f"`tightrope reproduce {paper} --figure {name} --scale {saved['scale']} --seed {saved['seed']}`; {versions}."


def write(name: str, lines: list[str]) -> None:
    """A page of docs/results."""
    (PAGES / name).write_text("\n".join(lines).rstrip() + "\n")


def page(paper: str, saved: dict[str, Any]) -> dict[str, int]:
    """Write the page of a paper; the counts of its claims."""
    outcomes = outcomes_of(paper, saved)
    stand = claim_standings(paper, outcomes)
    total = counts(stand)
    lines = [f"# {find_paper(paper).TITLE}", ""]
    lines += [sentence(total) + f" {HOW_CLAIMS_STAND}", "", "## Claims", ""]
    rows = []
    for claim, verdict, own, why in stand:
        where = ", ".join(dict.fromkeys(row.figure for row in own))
        rows.append((verdict, f"`{claim.key}`", claim.words, claim.number, claim.where, where, why))
    lines += table(("verdict", "claim", "the paper's words", "number", "where", "judged by", "why"), rows)
    if readings_of(paper):
        lines += ["## Readings", "", "What the figures take for granted where the paper leaves something open.", ""]
        lines += table(("reading", "what", "figures", "source", "tried"),
                       [(one.name, one.words, ", ".join(one.figures), one.source, one.tried) for one in readings_of(paper)])  # fmt: skip
    if waiting := [name for name in figures(paper) if name not in saved]:
        lines += [f"Not run yet in the reading that counts: {', '.join(waiting)}.", ""]
    for name in outcomes:
        lines += [f"## {name}", "", provenance(paper, name, saved[name]), "", outcomes[name].notes, ""]
        if outcomes[name].rows:
            judged = rows_table(outcomes[name].rows)
            lines += table(judged.headers, judged.rows)
    write(f"claims-{paper}.md", lines)
    return total


def changes(saved: dict[str, dict[str, Any]]) -> None:
    """Write how every claim stood at the first reading and stands now, with the reason of every change."""
    before = json.loads((KEPT / BEFORE).read_text())
    now = {paper: {one.claim.key: one for one in claim_standings(paper, outcomes_of(paper, rows))} for paper, rows in saved.items()}
    lines = ["# Second reading of the claims", ""]
    lines += ["At the first reading a claim had the worst verdict over all readings of its figure and all rows, also rows of ours. Now one"]
    lines += ["reading of a figure counts, and only rows that restate the paper's words.", ""]
    for title, standing in (("First reading", before), ("Now", {p: {k: one.verdict for k, one in own.items()} for p, own in now.items()})):
        used = [name for name in ("reproduced", *STANDINGS[1:], "partly", "not reproduced")
                if any(name in own.values() for own in standing.values())]  # fmt: skip
        rows = [(paper, len(own), *(list(own.values()).count(name) for name in used)) for paper, own in standing.items()]
        rows.append(("all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])))
        lines += [f"## {title}", "", *table(("paper", "claims", *used), rows)]
    rows = [
        (paper, f"`{key}`", before[paper][key], one.verdict, one.why or "Only rows that restate the paper's words count, and they hold.")
        for paper, own in now.items()
        for key, one in own.items()
        if before[paper].get(key) != one.verdict
    ]
    lines += [f"## The {len(rows)} changes", "", *table(("paper", "claim", "first reading", "now", "why"), rows)]
    write("second-reading.md", lines)


def outcomes_of(paper: str, saved: dict[str, Any]) -> dict[str, FigureOutcome]:
    """The figures of a paper as they were kept, in order."""
    return {
        name: FigureOutcome([Row(**row) for row in saved[name]["rows"]], notes=saved[name]["notes"])
        for name in figures(paper)
        if name in saved
    }


def paper_scale(saved: dict[str, dict[str, Any]]) -> None:
    """Write what was run at paper scale and how long every figure takes there, as src/tightrope/papers/costs.json has it."""
    stored = json.loads(all_papers.COSTS_FILE.read_text())
    took, rows = stored["core seconds"]["paper"], []
    for paper in names():
        for name in figures(paper):
            scale = saved[paper][name]["scale"] if name in saved[paper] else "not at all yet"
            rows.append(
                (
                    paper,
                    name,
                    {"paper": "yes", "laptop": "no"}.get(scale, scale),
                    all_papers.in_words(took.get(f"{paper} {name}", math.nan)),
                )
            )
    lines = ["# Paper scale: what was run, and how long it took", ""]
    lines += ["`tightrope reproduce PAPER --figure FIGURE --scale paper` makes a figure at the size of its paper, and says its time first."]
    lines += ["[Claims](claims.md) take a figure's rows from paper scale where it was run. Times are of one core of an AMD EPYC that plays"]
    lines += [f"{stored['yardstick'] / 1e6:.1f} million rounds of a hand-written UCB a second; runs that figures share count for the first"]
    lines += [f"of them. All that is known adds up to {all_papers.in_words(sum(took.values()))} of one core.", ""]
    lines += table(("paper", "figure", "run", "core time"), rows)
    write("paper-scale.md", lines)


def main() -> None:
    """Write all pages."""
    taken_in([pathlib.Path(folder) for folder in sys.argv[1:]])
    saved = {paper: known(paper) for paper in names()}
    if nothing := [paper for paper in names() if not saved[paper]]:
        sys.exit(f"no rows of {', '.join(nothing)} yet; give a folder of `tightrope reproduce all` as well.")
    totals = {paper: page(paper, rows) for paper, rows in saved.items()}
    whole = {name: sum(total[name] for total in totals.values()) for name in ("all", *COLUMNS)}
    rows = [(f"[{paper}](claims-{paper}.md)", total["all"], *(total[name] for name in COLUMNS)) for paper, total in totals.items()]
    rows.append(("all", whole["all"], *(whole[name] for name in COLUMNS)))
    lines = ["# Claims of the papers, judged", "", sentence(whole), ""]
    lines += ["Each page lists every claim, the rows that judge it, the test of each row, and the command that makes it. Figures are at"]
    lines += ["laptop scale or, where that was run, at [paper scale](paper-scale.md).", ""]
    lines += table(("paper", "claims", *COLUMNS), rows)
    write("claims.md", lines)
    changes(saved)
    paper_scale(saved)


if __name__ == "__main__":
    main()
