"""What every reproduction shares: finding the papers and their figures, sizes by scale, runs that resume, files and a report.

A paper is a package `papers/X` with a TITLE. A figure or table of it is a module `papers/X/figN.py` with the functions

    data(run)     play or find the runs, and return all that the others need
    score(data)   the paper's claims, judged by the rules of `papers.scoring`
    tables(data), plot(data), notes(data)   where there are any: tables and pictures by name, a paragraph

A module with a function `data` is a figure. Its name on the command line has hyphens instead of underscores.
"""

import importlib
import json
import pathlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import ModuleType
from typing import Any, TypeVar

import pandas as pd
from matplotlib.figure import Figure

from .. import checks, files
from ..engine import provenance
from ..engine.identify import identify
from ..engine.results import Identification, Result
from ..engine.runner import Progress
from ..engine.simulate import simulate
from ..problems.data import DataNotFound
from ..registry import Policy, Problem
from ..reports.curves import save_figure
from ..reports.page import Section, Table, figure_svg, inline_svg, write_page
from . import names
from .scoring import Claim

T = TypeVar("T")
SCALES = ("smoke", "laptop", "paper")


@dataclass
class Outcome:
    """What one figure's experiment found. missing: which data it lacks, if it could not run."""

    claims: list[Claim] = field(default_factory=list)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    plots: dict[str, Figure] = field(default_factory=dict)
    notes: str = ""
    missing: str = ""


@dataclass
class Run:
    """How large, where to, from which seed."""

    scale: str
    out: pathlib.Path
    seed: int = 0
    data: str | None = None
    workers: int | None = None
    engine: str = "threads"
    progress: Callable[[str], Progress | None] = lambda label: None

    def at(self, *, smoke: T, laptop: T, paper: T) -> T:
        """The value for this run's scale."""
        return {"smoke": smoke, "laptop": laptop, "paper": paper}[self.scale]

    def simulate(
        self, label: str, problem: Problem | Sequence[Problem], policies: Mapping[str, Policy | Callable[..., Policy]], **options: Any
    ) -> Result:
        """`tightrope.simulate`; what is finished is kept under out/runs/label and found again by the same call."""
        options = {"seed": self.seed, "workers": self.workers, "engine": self.engine, "progress": self.progress(label)} | options
        return simulate(problem, policies, out=self.out / "runs" / label, **options)

    def identify(
        self, label: str, problem: Problem | Sequence[Problem], policies: Mapping[str, Policy | Callable[..., Policy]], **options: Any
    ) -> Identification:
        """`tightrope.identify`; what is finished is kept under out/runs/label and found again by the same call."""
        options = {"seed": self.seed, "workers": self.workers, "engine": self.engine, "progress": self.progress(label)} | options
        return identify(problem, policies, out=self.out / "runs" / label, **options)


def find_paper(name: str) -> ModuleType:
    """The package of a paper; an unknown one is refused with the known ones."""
    checks.choice("paper", name, tuple(names()))
    return importlib.import_module(f"tightrope.papers.{name}")


def figures(paper: str) -> dict[str, ModuleType]:
    """The figures and tables of a paper by name."""
    package = find_paper(paper)
    modules = {
        found.name.replace("_", "-"): importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
    }
    return {name: module for name, module in modules.items() if hasattr(module, "data")}


def reproduce(paper: str, chosen: Iterable[str] | None, run: Run) -> dict[str, Outcome]:
    """Run the figures of a paper (None: all), write everything under run.out, return the outcomes by figure.

    A figure whose data are missing is said so in the report and left out.
    """
    known = figures(paper)
    checks.choice("scale", run.scale, SCALES)
    wanted = list(chosen) if chosen is not None else list(known)
    for name in wanted:
        checks.choice("figure", name, tuple(known))
    outcomes: dict[str, Outcome] = {}
    for name in wanted:
        outcomes[name] = run_figure(name, known[name], run)
        _save(name, outcomes[name], run)
        _report(paper, outcomes, run)
    return outcomes


def run_figure(name: str, module: ModuleType, run: Run) -> Outcome:
    """The data of one figure, its claims judged, its tables and pictures."""

    def shown(part: str, data: object, nothing: T) -> T:
        return getattr(module, part)(data) if hasattr(module, part) else nothing

    try:
        data = module.data(run)
    except DataNotFound as error:
        return Outcome(notes=f"Not run: {error}", missing=str(error))
    claims = [replace(claim, figure=name) for claim in module.score(data)]
    return Outcome(claims, shown("tables", data, {}), shown("plot", data, {}), shown("notes", data, ""))


def _save(name: str, outcome: Outcome, run: Run) -> None:
    folder = run.out / name
    for label, table in outcome.tables.items():
        with files.atomically(folder / f"{label}.parquet") as file:
            table.to_parquet(file)
        files.write_text(folder / f"{label}.csv", table.to_csv(index=False))
    for label, plot in outcome.plots.items():
        save_figure(plot, folder / f"{label}.svg")
        save_figure(plot, folder / f"{label}.png")
    files.write_json(
        folder / "claims.json",
        {"claims": [asdict(claim) for claim in outcome.claims], "notes": outcome.notes, "scale": run.scale, "seed": run.seed,
         "versions": provenance.versions(), "command": provenance.command()},
    )  # fmt: skip


def claims_table(claims: list[Claim]) -> Table:
    """The claims as a table for a page."""

    def number(value: str | float) -> str:
        return value if isinstance(value, str) else f"{value:.4g}"

    rows = []
    for claim in claims:
        ours = number(claim.ours) + (f" ± {claim.se:.2g}" if claim.se is not None else "")
        remark = claim.remark if claim.verdict != "reproduced" else ""
        words = " ".join(part for part in (f"{claim.test}.", claim.reason, remark) if part)
        rows.append([claim.claim, number(claim.paper), ours, claim.verdict, words])
    return Table(["claim", "paper", "ours", "verdict", "test and remarks"], rows, verdict_column=3)


def report_again(folder: pathlib.Path) -> dict[str, Outcome]:
    """Write folder/report.html again from the claims, tables and figures that `reproduce` saved there; return the outcomes."""
    found = {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/claims.json")}
    paper = next((name for name in names() if found.keys() <= figures(name).keys()), None)
    if paper is None:
        raise ValueError(f"folder = {str(folder)!r} holds claims of {', '.join(sorted(found))}, which no paper has; run it again.")
    outcomes: dict[str, Outcome] = {}
    pictures: dict[str, list[tuple[str, str]]] = {}
    for name in (item for item in figures(paper) if item in found):
        tables = {path.stem: pd.read_parquet(path) for path in sorted((folder / name).glob("*.parquet"))}
        outcomes[name] = Outcome([Claim(**claim) for claim in found[name]["claims"]], tables=tables, notes=found[name]["notes"])
        pictures[name] = [(inline_svg(path.read_text()), path.stem) for path in sorted((folder / name).glob("*.svg"))]
    last = found[next(reversed(outcomes))]
    made = {"command": last["command"], "seed": last["seed"]} | last["versions"]
    _write_page(find_paper(paper).TITLE, outcomes, pictures, last["scale"], made, folder)
    return outcomes


def _report(paper: str, outcomes: dict[str, Outcome], run: Run) -> None:
    pictures = {name: [(figure_svg(plot), label) for label, plot in outcome.plots.items()] for name, outcome in outcomes.items()}
    made = {"command": provenance.command(), "seed": run.seed} | provenance.versions()
    _write_page(find_paper(paper).TITLE, outcomes, pictures, run.scale, made, run.out)


def _write_page(
    title: str, outcomes: dict[str, Outcome], pictures: dict[str, list[tuple[str, str]]], scale: str, made: Mapping[str, object],
    folder: pathlib.Path,
) -> None:  # fmt: skip
    sections = []
    for name, outcome in outcomes.items():
        tables = [claims_table(outcome.claims)] if outcome.claims else []
        tables += [Table.of(table, caption=label) for label, table in outcome.tables.items()]
        sections.append(Section(name, outcome.notes, pictures[name], tables))
    lead = f"Reproduction at scale “{scale}”. Every verdict comes from the stated test, none from a reader's eye."
    if scale == "smoke":
        lead += " This scale only checks that the experiments run; its verdicts mean nothing."
    write_page(folder / "report.html", title, lead, sections, made)
