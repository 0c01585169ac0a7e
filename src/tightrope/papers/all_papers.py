"""All papers in one call: a folder for each, and a front page that counts claims by verdict."""

import json
import math
import os
import pathlib
import urllib.parse
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import markupsafe

from ..core import checks, files
from ..pages.page import Section, Table, write_page
from ..simulation.runs import provenance
from . import names
from .costs import expected, in_words, whole
from .experiment import (
    SCALES,
    Outcome,
    Run,
    figure_records,
    figures,
    find_paper,
    lasting,
    reproduce,
    rewrite_report,
    sentence,
    shown,
    standing,
    time_taken,
)
from .parallel import reproduced
from .register import NOT_SHOWN, WORST_FIRST, counts
from .scoring import NOT_JUDGED, Row

SHOWN = (*reversed(WORST_FIRST), NOT_JUDGED, NOT_SHOWN)
RECORD = "all.json"
TITLE = "Structured bandits: the papers' claims, run again"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Part:
    """What a folder holds of one paper. counts: of its claims by verdict. seconds: of all cores, for its figures."""

    title: str
    counts: Mapping[str, int]
    seconds: float
    figures: Mapping[str, str]  # name -> "12 rows", "not run: ..." or "not yet"


def reproduce_all(run: Run, say: Say = lambda line: None) -> pathlib.Path:
    """Run every figure of every paper under run.out, each paper in a folder of its name, and write run.out/index.html.

    Papers run beside each other where their runs are in threads (see `beside`); a script needs `if __name__ == "__main__":` around
    the call then, unless workers = 1. run: as for `reproduce`. say: is told the expected time before anything runs, and each paper.
    What the folder holds of an earlier call is found again; the front page is written after each paper. Returns its path. Raises
    ValueError where the folder holds another scale or seed.
    """
    checks.choice("scale", run.scale, SCALES)
    _claim_folder(run)
    for line in plan(run):
        say(line)
    alone = run.engine not in (None, "threads") or run.workers == 1
    try:
        for _ in (_in_turn if alone else reproduced)(_longest_first(run), run, say):
            front_page(run)
    finally:
        page = front_page(run)
    return page


def _in_turn(papers: Sequence[str], run: Run, say: Say) -> Iterator[str]:
    """One paper after the other: engines with workers of their own, or a single worker."""
    with lasting(run) as shared:
        for paper in papers:
            say(f"{paper}: {find_paper(paper).TITLE}")
            reproduce(paper, None, replace(shared, out=run.out / paper))
            yield paper


def _longest_first(run: Run) -> list[str]:
    """The papers, those that are expected to take longest first, so that none is left alone in the end."""
    return sorted(names(), key=lambda paper: whole(paper, run)[0], reverse=True)


def _claim_folder(run: Run) -> None:
    """Papers at different scales on one front page would be summed up as if they were one."""
    record, wanted = run.out / RECORD, {"scale": run.scale, "seed": run.seed}
    if record.exists() and (recorded := json.loads(record.read_text())) != wanted:
        content = f"scale {recorded['scale']!r} with seed {recorded['seed']}"
        raise ValueError(f"out = {str(run.out)!r} holds all papers at {content}; choose another folder or remove it.")
    files.write_json(record, wanted)


def plan(run: Run) -> list[str]:
    """The expected time in words: in all, at paper scale by figure, else by paper."""
    costs = {paper: whole(paper, run) for paper in names()}
    unknown = sum(number for _, number in costs.values())
    total = _expected(sum(seconds for seconds, _ in costs.values()), unknown)
    lines = [f"Scale {run.scale!r} takes about {total} on this machine; what the folder holds already is not played again."]
    for paper, (seconds, number) in costs.items():
        lines.append(f"  {paper}: {_expected(seconds, number)}")
        lines += hours(paper, run) if run.scale == "paper" else ()
    return lines


def hours(paper: str, run: Run, chosen: Collection[str] | None = None) -> list[str]:
    """The expected time of a paper's figures (default: all) in words, a line each."""
    lines = []
    for cost in expected(paper, run):
        if chosen is None or cost.figure in chosen:
            duration = "not known" if math.isnan(cost.seconds) else f"{cost.seconds / 3600:.2f} h"
            lines.append(f"  {paper} {cost.figure}: {duration}")
    return lines


def _expected(seconds: float, unknown: int) -> str:
    if not unknown:
        return in_words(seconds)
    return f"{in_words(seconds) + ' and ' if seconds else ''}{unknown} figure{'s' if unknown > 1 else ''} whose time is not known"


def part_of(paper: str, run: Run) -> Part:
    """What the folder holds of a paper."""
    folder = run.out / paper
    records = {name: one for name, one in figure_records(folder).items() if (one["scale"], one["seed"]) == (run.scale, run.seed)}
    outcomes = {name: Outcome([Row(**row) for row in one["rows"]], notes=one["notes"]) for name, one in records.items()}
    states = {}
    for name in figures(paper):
        if name not in outcomes:
            states[name] = "not yet"
        elif not outcomes[name].rows and outcomes[name].notes.startswith("Not run: "):
            states[name] = outcomes[name].notes
        else:
            states[name] = f"{len(outcomes[name].rows)} rows in {in_words(time_taken(folder / name).get('seconds', float('nan')))}"
    seconds = sum(time_taken(folder / name).get("core seconds", 0.0) for name in records)
    return Part(find_paper(paper).TITLE, counts(standing(paper, shown(outcomes, run.scale))), seconds, states)


def verdicts(run: Run) -> dict[str, Any]:
    """The papers' claims by verdict, for other programs."""
    return {"scale": run.scale, "claims": {paper: dict(part_of(paper, run).counts) for paper in names()}}


def front_page(run: Run, title: str | None = None, path: pathlib.Path | None = None) -> pathlib.Path:
    """Write run.out/index.html (or path) from what the folder holds."""
    path = path or run.out / "index.html"
    parts = {paper: part_of(paper, run) for paper in names()}
    total = {key: sum(part.counts[key] for part in parts.values()) for key in next(iter(parts.values())).counts}
    open_ = [f"{paper} {name}" for paper, part in parts.items() for name, state in part.figures.items() if state == "not yet"]
    rows = [[_link(run, path, paper, part.title), *_row(part.counts), _time(part.seconds)] for paper, part in parts.items()]
    rows.append(["all papers", *_row(total), _time(sum(part.seconds for part in parts.values()))])
    detail = [[_link(run, path, paper, paper), name, state] for paper, part in parts.items() for name, state in part.figures.items()]
    lead = f"{sentence(total)} Scale “{run.scale}”. Every verdict comes from a stated test, none from a reader's eye."
    if run.scale == "smoke":
        lead += " This scale only checks that the experiments run, so nothing is judged."
    if open_:
        lead += f" {len(open_)} of {len(detail)} figures are not there yet: the same command goes on from here."
    note = "A claim has the worst verdict of the rows that judge it; a paper's page has every row with its test."
    note += " Core time is that of all cores together."
    sections = [
        Section("Papers", note, [], [Table(["paper", "claims", *SHOWN, "core time"], rows, aligned=False, stacked=True)]),
        Section("Figures and tables", "", [], [Table(["paper", "figure", "what there is"], detail, aligned=False)]),
    ]
    origin: dict[str, Any] = {"command": provenance.command(), "seed": run.seed}
    return write_page(path, title or TITLE, lead, sections, origin | provenance.versions() | provenance.machine())


def rewrite_reports(folder: pathlib.Path, title: str | None = None, path: pathlib.Path | None = None) -> pathlib.Path:
    """Write the pages of a folder of `reproduce_all` again, each paper's and the front page, whose path is returned.

    title: of the front page. path: where it is written, with links to the papers' pages, which stay in the folder.
    """
    record = json.loads((folder / RECORD).read_text())
    for paper in names():
        if figure_records(folder / paper):
            rewrite_report(folder / paper)
    return front_page(Run(record["scale"], folder, seed=record["seed"]), title, path)


def _row(number_of: Mapping[str, int]) -> list[str]:
    return [str(number_of[key]) for key in ("all", *SHOWN)]


def _time(seconds: float) -> str:
    return in_words(seconds).replace(" ", "\N{NO-BREAK SPACE}") if seconds else "–"


def _link(run: Run, path: pathlib.Path, paper: str, words: str) -> str:
    """A link from the page at this path to the paper's page where there is one."""
    page = run.out / paper / "report.html"
    if not page.exists():
        return words
    place = pathlib.Path(os.path.relpath(page.resolve(), path.parent.resolve())).as_posix()
    return markupsafe.Markup('<a href="{}">{}</a>').format(urllib.parse.quote(place), words)
