"""`demo`, `run` and `report`: experiments and the pages they leave."""

import pathlib
from typing import Annotated

import typer

from .reproduce import print_rows
from .shared import Address, Data, Engine, Import, Json, Meter, Out, Quiet, Seed, Workers, console, errors, print_json, print_summary


def demo(out: Out = pathlib.Path("runs/demo"), seed: Seed = 0, data: Data = None, workers: Workers = None, quiet: Quiet = False,
         horizon: Annotated[int, typer.Option(min=1)] = 10_000, users: Annotated[int, typer.Option(min=2)] = 100) -> None:  # fmt: skip
    """Compare classic and linear policies on Jester cold start and ten Bernoulli arms, and write a report."""
    from ..papers.demo import run_demo

    with Meter(quiet) as meter:
        path = run_demo(out, seed=seed, data=data, workers=workers, horizon=horizon, users=users, say=errors.print, progress=meter)
    console.print(f"report: {path}")


def run(
    spec: Annotated[pathlib.Path, typer.Argument(help="YAML: problem, policies, horizon or mode: identify, replications or until, seed.")],
    out: Annotated[pathlib.Path | None, typer.Option(help="Folder for results and the report. [default: runs/NAME OF THE SPEC]")] = None,
    workers: Workers = None, engine: Engine = "threads", address: Address = None, quiet: Quiet = False, modules: Import = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Run an experiment described in a YAML file and write results and a report."""
    from ..engine.identify import identify
    from ..engine.results import Identification, Result
    from ..engine.simulate import simulate
    from ..engine.spec import read_spec
    from ..reports.results import write_report

    described, problem, policies = read_spec(spec)
    folder = out or pathlib.Path("runs") / spec.stem
    result: Result | Identification
    with Meter(quiet) as meter:
        play = {"seed": described.seed, "workers": workers, "engine": engine, "address": address, "out": folder}
        options = described.options() | play | {"progress": meter(described.title)}
        result = identify(problem, policies, **options) if described.mode == "identify" else simulate(problem, policies, **options)
    path = write_report({described.title: result}, folder / "report.html", title=described.title)
    if as_json:
        print_json({"kind": result.kind, "folder": str(folder), "report": str(path), "summary": [vars(row) for row in result.summary()]})
        return
    print_summary(result)
    console.print(f"report: {path}", soft_wrap=True)


def report(folder: Annotated[pathlib.Path, typer.Argument(help="A folder that a run wrote.")]) -> None:
    """Write report.html again from what `run`, `demo` or `reproduce` saved, and print the final table."""
    from ..engine.results import load
    from ..papers.every import RECORD, reports_again
    from ..papers.experiment import ROWS, report_again
    from ..reports.results import write_report

    if (folder / RECORD).exists():
        console.print(f"report: {reports_again(folder)}")
        return
    if next(folder.glob(f"*/{ROWS}"), None) is not None:
        print_rows(*report_again(folder))
        console.print(f"report: {folder / 'report.html'}")
        return
    inside = [] if (folder / "result.json").exists() else sorted(path.parent for path in folder.glob("*/result.json"))
    results = {path.name: load(path) for path in inside} or {folder.name: load(folder)}
    written = write_report(results, folder / "report.html", title=f"tightrope: {folder.name}")
    for name, result in results.items():
        if inside:
            console.print(name)
        print_summary(result)
    console.print(f"report: {written}")
