"""Commands: `demo`, `reproduce`, and the pages of what they left in a folder."""

import json
import pathlib
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from tightrope.cli.options import (
    Address,
    Data,
    Json,
    Meter,
    Out,
    Quiet,
    Seed,
    Workers,
    console,
    errors,
    folder_pages,
    print_json,
)

from . import names

if TYPE_CHECKING:
    from .experiment import FigureOutcome


def register(app: typer.Typer) -> None:
    app.command()(demo)
    app.command()(reproduce)
    folder_pages.append(page_again)


def _papers(incomplete: str) -> list[str]:
    return [name for name in (*names(), "all") if name.startswith(incomplete)]


def reproduce(
    paper: Annotated[
        str, typer.Argument(autocompletion=_papers, help=f"One of {', '.join(names())}; or all.")
    ],
    figure: Annotated[
        list[str] | None,
        typer.Option(help="A figure or table; again for more; list: their names. Default all."),
    ] = None,
    scale: Annotated[
        str, typer.Option(help="smoke (seconds), laptop (minutes) or paper (full size).")
    ] = "laptop",
    out: Annotated[
        pathlib.Path | None, typer.Option(help="Folder; default runs/PAPER-SCALE.")
    ] = None,
    seed: Seed = 0,
    data: Data = None,
    workers: Workers = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="threads, processes, dask, ray or cuda; default threads, and processes for long "
            "runs in Python. Results are the same."
        ),
    ] = None,
    address: Address = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a paper's experiments, or those of all: figures, results with provenance, and claims with
    verdicts. Resumes."""
    from .experiment import Run, as_shown, figures, reproduce

    if figure == ["list"]:
        chosen = [name for name in names() if paper in (name, "all")]
        for name in chosen or [paper]:  # an unknown one is refused
            console.print(f"{name}: {', '.join(figures(name))}", soft_wrap=True)
        return
    folder = out or pathlib.Path("runs") / f"{paper}-{scale}"
    if paper == "all" and figure:
        raise ValueError(
            f"figure = {figure[0]!r} is of one paper, but paper = 'all'; name the paper, or leave "
            "the figure out."
        )
    say = partial((errors if as_json else console).print, soft_wrap=True)
    with Meter(quiet) as meter:
        run = Run(
            scale,
            folder,
            seed=seed,
            data=data,
            workers=workers,
            engine=engine,
            address=address,
            progress=meter,
            say=say,
        )
        if paper == "all":
            from .experiment import reproduce_all, verdicts

            page = reproduce_all(run, say)
            if as_json:
                print_json({"report": str(page)} | verdicts(run))
            else:
                console.print(f"report: {page}")
            return
        if scale == "paper" and paper in names():
            from .experiment import hours

            say("What takes how long (what the folder holds already is not played again):")
            for line in hours(paper, scale, figure or None):
                say(line)
        outcomes = as_shown(reproduce(paper, figure or None, run), scale)
    if as_json:
        rows = [vars(row) for outcome in outcomes.values() for row in outcome.rows]
        notes = {name: outcome.notes for name, outcome in outcomes.items()}
        print_json(
            {
                "paper": paper,
                "scale": scale,
                "report": str(folder / "report.html"),
                "rows": rows,
                "notes": notes,
            }
        )
        return
    print_rows(paper, outcomes)
    console.print(f"report: {folder / 'report.html'}")


def print_rows(paper: str, outcomes: "Mapping[str, FigureOutcome]") -> None:
    """The comparison with the paper, row by row, and its sum."""
    from .experiment import claim_standings, sentence
    from .scoring import OURS, counts, ours_in_words

    table = Table("figure", "claim", "what is compared", "paper", "ours", "verdict")
    for name, outcome in outcomes.items():
        if outcome.notes:
            console.print(f"{name}: {outcome.notes}", soft_wrap=True)
        for row in outcome.rows:
            key = row.key if row.key != OURS else "ours, not counted"
            table.add_row(name, key, row.text, str(row.paper), ours_in_words(row), row.verdict)
    console.print(table)
    console.print(sentence(counts(claim_standings(paper, outcomes))))


def demo(
    out: Out = pathlib.Path("runs/demo"),
    seed: Seed = 0,
    data: Data = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Show what the library is for in one page: safe, stopping, learned, sets, prices, logs. Real
    data where they are found."""
    from .demo import run_demo

    with Meter(quiet) as meter:
        report = run_demo(out, seed=seed, data=data, workers=workers, say=_say, progress=meter)
    for section in report.sections:
        console.print(f"{section.title}\n  {section.summary}", soft_wrap=True, markup=False)
    console.print(f"report: {report.page}", soft_wrap=True)


def _say(words: str) -> None:
    errors.print(words, soft_wrap=True, markup=False)


def page_again(
    folder: pathlib.Path, title: str | None, out: pathlib.Path | None
) -> pathlib.Path | None:
    """The page of a folder of these commands, written again."""
    from .demo import RECORD as DEMO, run_demo
    from .experiment import RECORD, ROWS, rewrite_report, rewrite_reports

    path = out or folder / "report.html"
    if (folder / RECORD).exists():
        return rewrite_reports(folder, title, out)
    if (folder / DEMO).exists():
        record = json.loads((folder / DEMO).read_text())
        settings = {name: record[name] for name in ("seed", "data", "size")}
        shown = run_demo(folder, title=title, path=path, say=_say, **settings)
        for section in shown.sections:
            console.print(f"{section.title}\n  {section.summary}", soft_wrap=True, markup=False)
        return shown.page
    if next(folder.glob(f"*/{ROWS}"), None) is not None:
        print_rows(*rewrite_report(folder, title, path))
        return path
    return None
