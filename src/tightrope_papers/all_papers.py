"""All papers in one call: a folder for each, what it took where it was measured, and a front page
that counts claims by verdict.

`costs.json`, written by benchmarks/costs.py from folders that `reproduce` made, has the
core-seconds of every figure as they were measured.
"""

import json
import math
import os
import pathlib
import urllib.parse
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

import markupsafe

from tightrope.core import checks, files
from tightrope.extend import JsonObject
from tightrope.pages import Section, Table, write_page
from tightrope.simulation import store

from . import names
from .experiment import (
    SCALES,
    Run,
    claim_standings,
    figure_records,
    figures,
    find_paper,
    paper_workers,
    records_of,
    reproduce,
    rewrite_report,
    saved_outcomes,
    sentence,
    time_taken,
)
from .register import STANDINGS, counts

COSTS_FILE = pathlib.Path(__file__).with_name("costs.json")
RECORD = "all.json"
TITLE = "Structured bandits: the papers' claims, run again"
Say = Callable[[str], None]


def reproduce_all(run: Run, say: Say = lambda line: None) -> pathlib.Path:
    """Run every figure of every paper under run.out, each paper in a folder of its name, and write
    run.out/index.html.

    run: as for `reproduce`. say: is told each paper, and at paper scale how long its figures take.
    What the folder holds of an earlier call is found again; the front page is written after each
    paper. Returns its path. Raises ValueError where the folder holds another scale or seed.
    """
    checks.choice("scale", run.scale, SCALES)
    record, wanted = run.out / RECORD, {"scale": run.scale, "seed": run.seed}
    if (
        record.exists() and (recorded := json.loads(record.read_text())) != wanted
    ):  # one front page would sum them up as if they were one
        content = f"scale {recorded['scale']!r} with seed {recorded['seed']}"
        raise ValueError(
            f"out = {str(run.out)!r} holds all papers at {content}; choose another folder or "
            "remove it."
        )
    files.write_json(record, wanted)
    with paper_workers(run) as shared:
        for paper in names():
            say(f"{paper}: {find_paper(paper).TITLE}")
            for line in hours(paper, run.scale) if run.scale == "paper" else ():
                say(line)
            try:
                reproduce(paper, None, replace(shared, out=run.out / paper))
            finally:
                page = front_page(run)
    return page


def hours(paper: str, scale: str, chosen: Collection[str] | None = None) -> list[str]:
    """What a paper's figures (default: all) took where they were measured, in hours of one core, a
    line each."""
    known = json.loads(COSTS_FILE.read_text())["core seconds"][scale]
    return [
        f"  {paper} {figure}: "
        + (
            f"{known[key] / 3600:.2f} h of one core"
            if (key := f"{paper} {figure}") in known
            else "not known"
        )
        for figure in figures(paper)
        if chosen is None or figure in chosen
    ]


def in_words(seconds: float) -> str:
    if math.isnan(seconds):
        return "not known"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# What there is ------------------------------------------------------------------------------------


class PaperState(NamedTuple):
    """The content of a paper's folder. counts: of its claims by verdict. seconds: of all cores, for
    its figures."""

    counts: Mapping[str, int]
    seconds: float
    figures: Mapping[str, str]  # name -> "12 rows in 3 s", "not run: ..." or "not yet"


def state_of(paper: str, run: Run) -> PaperState:
    folder = run.out / paper
    outcomes = saved_outcomes(paper, folder, records_of(run, folder), run.scale)
    took = {name: time_taken(folder / name) for name in outcomes}
    states = dict.fromkeys(figures(paper), "not yet")
    for name, outcome in outcomes.items():
        spent = in_words(took[name].get("seconds", math.nan))
        states[name] = f"{len(outcome.rows)} rows in {spent}"
        if not outcome.rows and outcome.notes.startswith("Not run: "):
            states[name] = outcome.notes
    seconds = sum(one.get("core seconds", 0.0) for one in took.values())
    return PaperState(counts(claim_standings(paper, outcomes)), seconds, states)


def verdicts(run: Run) -> JsonObject:
    return {
        "scale": run.scale,
        "claims": {paper: dict(state_of(paper, run).counts) for paper in names()},
    }


def front_page(
    run: Run, title: str | None = None, path: pathlib.Path | None = None
) -> pathlib.Path:
    path = path or run.out / "index.html"
    states = {paper: state_of(paper, run) for paper in names()}
    total = {
        key: sum(one.counts[key] for one in states.values())
        for key in next(iter(states.values())).counts
    }

    def link(paper: str, words: str) -> str:
        page = run.out / paper / "report.html"
        if not page.exists():
            return words
        place = pathlib.Path(os.path.relpath(page.resolve(), path.parent.resolve())).as_posix()
        return markupsafe.Markup('<a href="{}">{}</a>').format(urllib.parse.quote(place), words)

    def row(words: str, number_of: Mapping[str, int], seconds: float) -> list[str]:
        time = in_words(seconds).replace(" ", "\N{NO-BREAK SPACE}") if seconds else "–"
        return [words, *(str(number_of[key]) for key in ("all", *STANDINGS)), time]

    rows = [
        row(link(paper, find_paper(paper).TITLE), one.counts, one.seconds)
        for paper, one in states.items()
    ]
    rows.append(row("all papers", total, sum(one.seconds for one in states.values())))
    detail = [
        [link(paper, paper), name, state]
        for paper, one in states.items()
        for name, state in one.figures.items()
    ]
    missing = sum(state == "not yet" for *_, state in detail)
    lead = (
        f"{sentence(total)} Scale “{run.scale}”. Every verdict comes from a stated test, none "
        "from a reader's eye."
    )
    if run.scale == "smoke":
        lead += " This scale only checks that the experiments run, so nothing is judged."
    if missing:
        lead += (
            f" {missing} of {len(detail)} figures are not there yet: the same command goes on "
            "from here."
        )
    columns = ["paper", "claims", *STANDINGS, "core time"]
    sections = [
        Section(
            "Papers",
            "The worst row decides about a claim, of those that count; a paper's page has every "
            "row with its test. Core time is that of all cores together.",
            [],
            [Table(columns, rows, aligned=False, stacked=True)],
        ),
        Section(
            "Figures and tables",
            "",
            [],
            [Table(["paper", "figure", "what there is"], detail, aligned=False)],
        ),
    ]
    origin: dict[str, object] = {"command": store.command(), "seed": run.seed}
    return write_page(
        path, title or TITLE, lead, sections, origin | store.versions() | store.machine()
    )


def rewrite_reports(
    folder: pathlib.Path, title: str | None = None, path: pathlib.Path | None = None
) -> pathlib.Path:
    """Write the pages of a folder of `reproduce_all` again, each paper's and the front page, whose
    path is returned.

    title: of the front page. path: where it is written, with links to the papers' pages, which stay
    in the folder.
    """
    record = json.loads((folder / RECORD).read_text())
    for paper in names():
        if figure_records(folder / paper):
            rewrite_report(folder / paper)
    return front_page(Run(record["scale"], folder, seed=record["seed"]), title, path)
