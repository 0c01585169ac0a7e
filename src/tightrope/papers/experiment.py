"""What every reproduction shares: sizes by scale, runs that resume, claims with verdicts by a stated test, files and a report."""

import importlib
import json
import math
import pathlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
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
from ..reports.curves import save_figure
from ..reports.page import Section, Table, figure_svg, inline_svg, write_page

T = TypeVar("T")
SCALES = ("smoke", "laptop", "paper")
VERDICTS = ("reproduced", "partly", "not reproduced")


@dataclass(frozen=True)
class Claim:
    """One statement of a paper beside what we measured.

    figure: key of FIGURES. claim: the statement. paper: the paper's number, as printed. ours and se: ours and its standard error.
    test: the rule that gave the verdict, in words. verdict: one of VERDICTS, computed. reason: why a miss is a miss.
    """

    figure: str
    claim: str
    paper: str | float
    ours: str | float
    se: float | None
    test: str
    verdict: str
    reason: str = ""

    def __post_init__(self) -> None:
        checks.choice("verdict", self.verdict, VERDICTS)


@dataclass
class Outcome:
    """What one figure's experiment returns; results holds each Result or Identification by name."""

    claims: list[Claim] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    plots: dict[str, Figure] = field(default_factory=dict)
    notes: str = ""


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

    def simulate(self, label: str, problem: Any, policies: Any, **options: Any) -> Result:
        """`tightrope.simulate` whose finished chunks are kept under out/runs/label and found again."""
        options = {"seed": self.seed, "workers": self.workers, "engine": self.engine, "progress": self.progress(label)} | options
        return simulate(problem, policies, out=self.out / "runs" / label, **options)

    def identify(self, label: str, problem: Any, policies: Any, **options: Any) -> Identification:
        """`tightrope.identify` whose finished chunks are kept under out/runs/label and found again."""
        options = {"seed": self.seed, "workers": self.workers, "engine": self.engine, "progress": self.progress(label)} | options
        return identify(problem, policies, out=self.out / "runs" / label, **options)


def below(difference: float, se: float, margin: float = 4.0) -> str:
    """ "reproduced" if a paired difference is below zero by `margin` standard errors, "partly" if it is below zero at all."""
    if difference < -margin * se:
        return "reproduced"
    return "partly" if difference < 0 else "not reproduced"


def near(ours: float, se: float, target: float, relative: float, margin: float = 4.0) -> str:
    """ "reproduced" within `relative` of the target, "partly" if the difference is within `margin` standard errors of that."""
    gap = abs(ours - target) - relative * abs(target)
    if gap <= 0:
        return "reproduced"
    return "partly" if math.isfinite(se) and gap <= margin * se else "not reproduced"


def papers() -> dict[str, Any]:
    """The reproduction packages by name."""
    here = importlib.import_module("tightrope.papers")
    return {
        found.name: importlib.import_module(f"tightrope.papers.{found.name}")
        for found in pkgutil.iter_modules(here.__path__)
        if found.ispkg
    }


def find_paper(name: str) -> Any:
    """A reproduction package; an unknown name is refused with the known ones."""
    known = papers()
    if name not in known:
        raise ValueError(f"paper = {name!r} is not one of {', '.join(known)}.")
    return known[name]


def reproduce(paper: str, figures: Iterable[str] | None, run: Run) -> dict[str, Outcome]:
    """Run the figures of a paper (None: all), write everything under run.out, return the outcomes by figure.

    A figure whose data are missing is said so in the report and left out.
    """
    package = find_paper(paper)
    checks.choice("scale", run.scale, SCALES)
    chosen = list(figures) if figures is not None else list(package.FIGURES)
    for name in chosen:
        if name not in package.FIGURES:
            raise ValueError(f"figure = {name!r} is not one of {', '.join(package.FIGURES)}.")
    outcomes: dict[str, Outcome] = {}
    for name in chosen:
        try:
            outcomes[name] = package.FIGURES[name](run)
        except DataNotFound as missing:
            outcomes[name] = Outcome(notes=f"Not run: {missing}")
        _save(name, outcomes[name], run)
        _report(package, outcomes, run)
    return outcomes


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

    rows = [
        [claim.claim, number(claim.paper), number(claim.ours) + (f" ± {claim.se:.2g}" if claim.se is not None else ""), claim.verdict,
         claim.test + (f" {claim.reason}" if claim.reason else "")]
        for claim in claims
    ]  # fmt: skip
    return Table(["claim", "paper", "ours", "verdict", "test and remarks"], rows, verdict_column=3)


def report_again(folder: pathlib.Path) -> dict[str, Outcome]:
    """Write folder/report.html again from the claims, tables and figures that `reproduce` saved there; return the outcomes."""
    found = {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/claims.json")}
    package = next((item for item in papers().values() if found.keys() <= item.FIGURES.keys()), None)
    if package is None:
        raise ValueError(f"folder = {str(folder)!r} holds claims of {', '.join(sorted(found))}, which no paper has; run it again.")
    outcomes: dict[str, Outcome] = {}
    pictures: dict[str, list[tuple[str, str]]] = {}
    for name in (item for item in package.FIGURES if item in found):
        tables = {path.stem: pd.read_parquet(path) for path in sorted((folder / name).glob("*.parquet"))}
        outcomes[name] = Outcome([Claim(**claim) for claim in found[name]["claims"]], tables=tables, notes=found[name]["notes"])
        pictures[name] = [(inline_svg(path.read_text()), path.stem) for path in sorted((folder / name).glob("*.svg"))]
    last = found[next(reversed(outcomes))]
    made = {"command": last["command"], "seed": last["seed"]} | last["versions"]
    _write_page(package, outcomes, pictures, last["scale"], made, folder)
    return outcomes


def _report(package: Any, outcomes: dict[str, Outcome], run: Run) -> None:
    pictures = {name: [(figure_svg(plot), label) for label, plot in outcome.plots.items()] for name, outcome in outcomes.items()}
    made = {"command": provenance.command(), "seed": run.seed} | provenance.versions()
    _write_page(package, outcomes, pictures, run.scale, made, run.out)


def _write_page(
    package: Any, outcomes: dict[str, Outcome], pictures: dict[str, list[tuple[str, str]]], scale: str, made: dict[str, Any],
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
    write_page(folder / "report.html", package.TITLE, lead, sections, made)
