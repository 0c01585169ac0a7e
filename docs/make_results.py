"""Takes the rows of `tightrope reproduce` into docs/results/rows and writes docs/results/*.md: `make_results.py [FOLDER...]`.

One page for each paper, with every claim and every row, one with their counts, and one of what was run at paper scale. A figure's rows
are replaced by those of the same or a larger scale, so that a run at laptop scale leaves what is known at paper scale. Numbers only;
nothing of the data sets.
"""

import json
import math
import pathlib
import sys
from typing import Any

from tightrope.papers import all_papers, names
from tightrope.papers.experiment import (
    ROWS,
    SCALES,
    FigureOutcome,
    claim_standings,
    figure_records,
    figures,
    find_paper,
    paper_of,
    rows_table,
    sentence,
)
from tightrope.papers.register import counts
from tightrope.papers.scoring import Row

PAGES = pathlib.Path(__file__).parent / "results"
KEPT = PAGES / "rows"  # PAPER/FIGURE.json, as `tightrope reproduce` wrote it
COLUMNS = ("judged", "reproduced", "partly", "undecided", "not reproduced", "not judged", "no program can show it")


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
    order = [name for name in figures(paper) if name in saved]
    outcomes = {name: FigureOutcome([Row(**row) for row in saved[name]["rows"]], notes=saved[name]["notes"]) for name in order}
    stand = claim_standings(paper, outcomes)
    total = counts(stand)
    lines = [f"# {find_paper(paper).TITLE}", ""]
    lines += [sentence(total) + " A claim has the worst verdict of its rows, which stand below.", "", "## Claims", ""]
    rows = []
    for claim, verdict, own in stand:
        where = ", ".join(dict.fromkeys(row.figure for row in own)) or claim.not_shown
        rows.append((f"`{claim.key}`", claim.where, claim.words, claim.number, verdict, where))
    lines += table(("claim", "where", "the paper's words", "number", "verdict", "judged by"), rows)
    for name in order:
        lines += [f"## {name}", "", provenance(paper, name, saved[name]), "", outcomes[name].notes, ""]
        if outcomes[name].rows:
            judged = rows_table(outcomes[name].rows)
            lines += table(judged.headers, judged.rows)
    write(f"claims-{paper}.md", lines)
    return total


def paper_scale(saved: dict[str, dict[str, Any]]) -> None:
    """Write what was run at paper scale and how long every figure takes there, as src/tightrope/papers/costs.json has it."""
    stored = json.loads(all_papers.COSTS_FILE.read_text())
    took, rows = stored["core seconds"]["paper"], []
    for paper in names():
        for name in figures(paper):
            run = saved[paper][name]["scale"] == "paper"
            rows.append((paper, name, "yes" if run else "no", all_papers.in_words(took.get(f"{paper} {name}", math.nan))))
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
    missing = [f"{paper} {name}" for paper in names() for name in figures(paper) if name not in saved[paper]]
    if missing:
        sys.exit(f"no rows of {', '.join(missing)} yet; give a folder of `tightrope reproduce all` as well.")
    totals = {paper: page(paper, rows) for paper, rows in saved.items()}
    whole = {name: sum(total[name] for total in totals.values()) for name in ("all", *COLUMNS)}
    rows = [(f"[{paper}](claims-{paper}.md)", total["all"], *(total[name] for name in COLUMNS)) for paper, total in totals.items()]
    rows.append(("all", whole["all"], *(whole[name] for name in COLUMNS)))
    lines = ["# Claims of the papers, judged", "", sentence(whole), ""]
    lines += ["Each page lists every claim, the rows that judge it, the test of each row, and the command that makes it. Figures are at"]
    lines += ["laptop scale or, where that was run, at [paper scale](paper-scale.md).", ""]
    lines += table(("paper", "claims", *COLUMNS), rows)
    write("claims.md", lines)
    paper_scale(saved)


if __name__ == "__main__":
    main()
