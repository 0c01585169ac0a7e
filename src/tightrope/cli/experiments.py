"""`demo`, `run` and `report`: experiments and the pages they leave."""

import pathlib
from typing import Annotated

import typer

from .options import Address, Data, Engine, Import, Json, Meter, Out, Quiet, Seed, Workers, console, errors, print_json, print_summary
from .reproduce import print_rows


def demo(
    out: Out = pathlib.Path("runs/demo"), seed: Seed = 0, data: Data = None, workers: Workers = None, quiet: Quiet = False
) -> None:  # fmt: skip
    """Show what the library is for in one page: safe, stopping, learned, sets, prices, logs. Real data where they are found."""
    from ..demo.page import run_demo

    with Meter(quiet) as meter:
        report = run_demo(out, seed=seed, data=data, workers=workers, say=_say_missing, progress=meter)
    for section in report.sections:
        console.print(f"{section.title}\n  {section.summary}", soft_wrap=True, markup=False)
    console.print(f"report: {report.page}", soft_wrap=True)


def _say_missing(words: str) -> None:
    errors.print(words, soft_wrap=True, markup=False)


def run(
    spec: Annotated[pathlib.Path, typer.Argument(help="YAML: problem, policies, horizon or mode: identify, replications or until, seed.")],
    out: Annotated[pathlib.Path | None, typer.Option(help="Folder for results and the report. [default: runs/NAME OF THE SPEC]")] = None,
    workers: Workers = None, engine: Engine = "threads", address: Address = None, quiet: Quiet = False, modules: Import = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Run an experiment described in a YAML file and write results and a report."""
    from ..pages.results import write_report
    from ..results.results import Identification, Result
    from ..simulation.identify import identify
    from ..simulation.simulate import simulate
    from ..simulation.spec import read_spec

    described, problem, policies = read_spec(spec)
    folder = out or pathlib.Path("runs") / spec.stem
    result: Result | Identification
    with Meter(quiet) as meter:
        play = {"seed": described.seed, "workers": workers, "engine": engine, "address": address, "out": folder}
        options = (
            described.options() | play | {"progress": meter(described.title, described.mode != "identify" or described.budget is not None)}
        )
        result = identify(problem, policies, **options) if described.mode == "identify" else simulate(problem, policies, **options)
    path = write_report({described.title: result}, folder / "report.html", title=described.title)
    if as_json:
        print_json({"kind": result.kind, "folder": str(folder), "report": str(path), "summary": [vars(row) for row in result.summary()]})
        return
    print_summary(result)
    console.print(f"report: {path}", soft_wrap=True)


def report(
    folders: Annotated[list[pathlib.Path], typer.Argument(metavar="DIR...", help="Folders that commands wrote; several are compared.")],
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None,
    out: Annotated[
        pathlib.Path | None, typer.Option(help="The page. [default: report.html in the folder; of several, runs/compared.html]")
    ] = None,
) -> None:  # fmt: skip
    """Write the page of folders again, from what demo, run, reproduce, evaluate or Result.save left there, and print what it says.

    Several folders of simulations or identifications are compared on one page.
    """
    from .pages import page_again

    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"DIR = {str(folder)!r} is not a folder; give one that a command of tightrope wrote.")
    page = page_again(folders, title, out, _say_missing)
    for name, result in page.results.items():
        if len(page.results) > 1:
            console.print(name)
        print_summary(result)
    if page.paper is not None:
        print_rows(*page.paper)
    for line in page.lines:
        console.print(line, soft_wrap=True, markup=False)
    console.print(f"report: {page.path}", soft_wrap=True)
