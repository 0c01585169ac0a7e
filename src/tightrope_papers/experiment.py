"""The parts that all reproductions share: finding the papers and their figures, sizes by scale,
runs that resume, files and a report, of one paper or of all.

A paper is a package `X` with a TITLE. A figure or table of it is a module `X/figN.py` with the
functions

    data(run)     play or find the runs, and return all that the others need score(data)   rows (a
    list, or one after the other), each judged by a rule of `scoring` and referring to a claim of
    `X/claims.yaml` tables(data), plot(data), notes   where there are any: tables and pictures by
    name, a paragraph or what makes it of the data

A module with a function `data` is a figure; one that redraws its runs or shares its cases stands
beside it (`fig1_data`, `fig1_score`), as the figures of a
paper that is one module do. Its name on the command line has hyphens instead of underscores.
"""

import contextlib
import importlib
import json
import math
import os
import pathlib
import pkgutil
import textwrap
import time
import urllib.parse
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import markupsafe
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Identification, Result, identify, simulate
from tightrope.core import checks, files
from tightrope.extend import Arguments, JsonObject, Policy, Problem, with_error
from tightrope.pages import Chip, Section, Table, write_page
from tightrope.plots.figures import save_figure
from tightrope.plots.style import Palette, Picture, picture
from tightrope.problems.data import DataNotFound
from tightrope.simulation import store
from tightrope.simulation.executors import shared_workers
from tightrope.simulation.loops import NotInLanes, as_worlds
from tightrope.simulation.run import Meters, silent

from . import names
from .scoring import (
    OURS,
    STANDINGS,
    VERDICTS,
    Claim,
    ClaimStanding,
    Register,
    Row,
    counts,
    ours_in_words,
    read_register,
    standings,
)

T = TypeVar("T")
Say = Callable[[str], None]
Players = Mapping[
    str, Policy | Callable[..., Policy]
]  # policies by name, or functions of the problem that make them
SCALES = ("smoke", "laptop", "paper")
ROWS = "rows.json"  # the file of a figure's judged rows
TIME = "time.json"  # and of how long it took
THREADS = (None, "threads")  # engines
PICTURES = "pictures.json"  # its pictures as pages show them
HOW_CLAIMS_STAND = (
    "The worst row decides about a claim, of the rows in the primary reading of their figures; "
    "rows of ours and in other readings are shown and not counted. The rows stand with their "
    "figures."
)
CHIP_LETTERS = 130  # of a claim's words
MANY_ROUNDS = (
    50_000  # of Python in one run from which processes gain more than it costs to send them the run
)


@dataclass
class FigureOutcome:
    """The result of one figure's experiment. missing: which data it lacks, if it could not run."""

    rows: list[Row] = field(default_factory=list)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    plots: dict[str, Figure] = field(default_factory=dict)
    notes: str = ""
    missing: str = ""


@dataclass
class Run:
    """Scale, folder and seed of a reproduction. engine: None: threads, and processes for long runs
    in Python. say: is told which runs another engine plays, since this one cannot."""

    scale: str
    out: pathlib.Path
    seed: int = 0
    data: str | None = None
    workers: int | None = None
    engine: str | None = None
    address: str | None = None
    progress: Meters = silent
    say: Say = lambda line: None

    def at(self, *, smoke: T, laptop: T, paper: T) -> T:
        return {"smoke": smoke, "laptop": laptop, "paper": paper}[self.scale]

    def _played(
        self,
        play: Callable[..., T],
        label: str,
        problem: Problem | Sequence[Problem],
        policies: Players,
        rounds: int,
        options: Arguments,
    ) -> T:
        usual = (
            "threads"
            if rounds < MANY_ROUNDS
            or getattr(type(as_worlds(problem)[0].problem), "COMPILED", True)
            else "processes"
        )
        options = {
            "seed": self.seed,
            "workers": self.workers,
            "address": self.address,
            "out": self.out / "runs" / label,
        } | options
        try:
            return play(problem, policies, **{"engine": self.engine or usual} | options)
        except NotInLanes as reason:
            self.say(f"{label} is played by processors: {reason}")
            return play(problem, policies, **options | {"engine": usual})

    def simulate(
        self, label: str, problem: Problem | Sequence[Problem], policies: Players, **options: Any
    ) -> Result:
        """`tightrope.simulate`; what is finished is kept under out/runs/label and found again by
        the same call."""
        rounds = len(policies) * options.get("replications", 1) * options["horizon"]
        return self._played(
            simulate,
            label,
            problem,
            policies,
            rounds,
            {"progress": self.progress(label)} | options,
        )

    def identify(
        self, label: str, problem: Problem | Sequence[Problem], policies: Players, **options: Any
    ) -> Identification:
        """`tightrope.identify`; what is finished is kept under out/runs/label and found again by
        the same call."""
        return self._played(
            identify,
            label,
            problem,
            policies,
            0,
            {"progress": self.progress(label, options.get("budget") is not None)} | options,
        )


def find_paper(name: str) -> ModuleType:
    checks.choice("paper", name, tuple(names()))
    return importlib.import_module(f"tightrope_papers.{name}")


def register_of(paper: str) -> Register:
    return read_register(pathlib.Path(find_paper(paper).__path__[0], "claims.yaml"))


def claims_of(paper: str) -> dict[str, Claim]:
    return register_of(paper).claims


def figures(paper: str) -> dict[str, ModuleType]:
    package = find_paper(paper)
    known: dict[str, ModuleType] = {}
    inner = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    for module in (package, *(importlib.import_module(info.name) for info in inner)):
        for start in [
            name.removesuffix("data")
            for name in vars(module)
            if name == "data" or name.endswith("_data")
        ]:
            if hasattr(module, f"{start}score"):
                known[start.rstrip("_") or module.__name__.rpartition(".")[2]] = (
                    _part(module, start) if start else module
                )
    return {name.replace("_", "-"): known[name] for name in sorted(known)}


def _part(module: ModuleType, start: str) -> ModuleType:
    """A figure whose functions stand in the module of another, with its name before theirs:
    `fig1_data`, `fig1_score`."""
    part = ModuleType(f"{module.__name__}.{start.rstrip('_')}", module.__doc__)
    own = {
        name.removeprefix(start): value
        for name, value in vars(module).items()
        if name.startswith(start)
    }
    vars(part).update(own, __file__=module.__file__)
    return part


def reproduce(paper: str, chosen: Iterable[str] | None, run: Run) -> dict[str, FigureOutcome]:
    """Run the figures of a paper (None: all), write everything under run.out, return the outcomes
    by figure.

    A figure whose data are missing is said so in the report and left out.
    """
    known = figures(paper)
    checks.choice("scale", run.scale, SCALES)
    selection = list(chosen) if chosen is not None else list(known)
    for name in selection:
        checks.choice("figure", name, tuple(known))
    outcomes: dict[str, FigureOutcome] = {}
    with paper_workers(run) as run:
        for name in selection:
            started, worked = (
                time.monotonic(),
                sum(os.times()[:4]),
            )  # of this process and those that it has ended
            with figure_workers(run) as own:
                outcomes[name] = run_figure(name, known[name], own)
            _save(name, outcomes[name], run)
            _keep_time(
                run.out / name, run, time.monotonic() - started, sum(os.times()[:4]) - worked
            )
            _report(paper, run)
    return outcomes


@contextlib.contextmanager
def figure_workers(run: Run) -> Iterator[Run]:
    with shared_workers(run.engine or "threads", run.workers, run.address) as address:
        yield run if address == run.address else replace(run, address=address, workers=None)


def paper_workers(run: Run) -> contextlib.AbstractContextManager[Run]:
    """`holding` for several figures. The few processes beside threads end with each figure instead,
    so that their time is the figure's."""
    return contextlib.nullcontext(run) if run.engine in THREADS else figure_workers(run)


def _keep_time(folder: pathlib.Path, run: Run, seconds: float, worked: float) -> None:
    """The longest call counts: a later one finds most of the work done."""
    same = {"scale": run.scale, "seed": run.seed, "source": store.versions()["source"]}
    workers = run.workers or os.cpu_count() or 1
    if run.engine not in THREADS:  # workers that live on, or on other machines
        worked = seconds * workers
    took = {"seconds": round(seconds, 1), "core seconds": round(worked, 1)}
    before = time_taken(folder)
    if before.items() >= same.items():
        took = {name: max(value, before.get(name, 0.0)) for name, value in took.items()}
    files.write_json(folder / TIME, same | took | {"workers": workers})


def time_taken(folder: pathlib.Path) -> JsonObject:
    """The record of how long a figure took: seconds, core seconds, workers, scale, seed; empty
    where nothing is.

    Figures may run beside each other, so that it is the core seconds of all that add up to those of
    the whole.
    """
    try:
        record: JsonObject = json.loads((folder / TIME).read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return record


def run_figure(name: str, module: ModuleType, run: Run) -> FigureOutcome:
    def of(part: str, data: object, nothing: T) -> T:
        return getattr(module, part)(data) if hasattr(module, part) else nothing

    try:
        data = module.data(run)
    except DataNotFound as error:
        return FigureOutcome(notes=f"Not run: {error}", missing=str(error))
    rows = [replace(row, figure=name) for row in module.score(data)]
    notes = getattr(module, "notes", "")
    return FigureOutcome(
        rows,
        of("tables", data, {}),
        of("plot", data, {}),
        notes if isinstance(notes, str) else notes(data),
    )


def _save(name: str, outcome: FigureOutcome, run: Run) -> None:
    folder = run.out / name
    for label, table in outcome.tables.items():
        with files.atomically(folder / f"{label}.parquet") as file:
            table.to_parquet(file)
        files.write_text(folder / f"{label}.csv", table.to_csv(index=False))
    for label, plot in outcome.plots.items():
        save_figure(plot, folder / f"{label}.svg")
        save_figure(plot, folder / f"{label}.png")
    # The last use of the figures: their legends are taken out.
    shown = {label: picture(plot, label).record() for label, plot in outcome.plots.items()}
    files.write_json(folder / PICTURES, shown)
    files.write_json(
        folder / ROWS,
        {
            "rows": [asdict(row) for row in outcome.rows],
            "notes": outcome.notes,
            "tables": list(outcome.tables),
            "scale": run.scale,
            "seed": run.seed,
            "versions": store.versions(),
            "command": store.command(),
        },
    )


def rows_table(rows: list[Row]) -> Table:
    cells = []
    for row in rows:
        paper = row.paper if isinstance(row.paper, str) else f"{row.paper:.4g}"
        ours = ours_in_words(row)
        if not isinstance(row.ours, str) and row.se not in (None, math.inf):
            ours = with_error(float(row.ours), row.se)
        remark = row.remark if row.verdict != "reproduced" else ""
        words = " ".join(part for part in (f"{row.test}.", row.reason, remark) if part)
        key = row.key if row.key != OURS else "ours, not counted"
        if row.reading:
            key = f"{row.key or 'ours'}, reading “{row.reading}”, not counted"
        cells.append([row.verdict, key, row.text, paper, ours, words])
    headers = ["verdict", "claim", "what is compared", "paper", "ours", "test and remarks"]
    return Table(headers, cells, verdict_column=0, aligned=False, stacked=True)


def as_shown(outcomes: Mapping[str, FigureOutcome], scale: str) -> dict[str, FigureOutcome]:
    """Outcomes as people see them: the smallest scale only shows that experiments run, so that
    nothing it finds is a verdict."""
    if scale != "smoke":
        return dict(outcomes)
    return {
        name: replace(
            outcome,
            rows=[replace(row, verdict="not judged", reason="", remark="") for row in outcome.rows],
        )
        for name, outcome in outcomes.items()
    }


def claim_standings(paper: str, outcomes: Mapping[str, FigureOutcome]) -> list[ClaimStanding]:
    return standings(
        claims_of(paper),
        (row for outcome in outcomes.values() for row in outcome.rows),
        register_of(paper).readings,
    )


def claims_frame(claims: Iterable[ClaimStanding]) -> pd.DataFrame:
    """One line for each claim of a paper: where it stands, its words and number, the verdict and
    the figures whose rows judge it."""
    return pd.DataFrame(
        [
            {
                "claim": claim.key,
                "where": claim.where,
                "the paper's words": claim.words,
                "number": claim.number,
                "kind": claim.kind,
                "verdict": verdict,
                "rows": len(rows),
                "figures": ", ".join(dict.fromkeys(row.figure for row in rows)),
                "why": why,
            }
            for claim, verdict, rows, why in claims
        ]
    )


def claims_table(frame: pd.DataFrame) -> Table:
    """`claims_frame` for a page: the verdict first, where narrow screens show it, and claims as
    places to link to."""
    order = ["verdict", "claim", "the paper's words", "number", "where", "figures", "why"]
    table = Table.of(frame[order], most_rows=len(frame), verdict_column=0)
    place = markupsafe.Markup('<a id="{}"></a>{}')
    rows = [
        [verdict, place.format(f"claim-{key}", key), *rest] for verdict, key, *rest in table.rows
    ]
    return replace(table, rows=rows, aligned=False, stacked=True)


def chips(claims: Iterable[ClaimStanding], figure: str) -> list[Chip]:
    """The claims that a figure's counted rows judge, each with where it stands and a link to its
    words."""
    return [
        Chip(one.verdict, shortened(one.claim.words), f"claim-{one.claim.key}")
        for one in claims
        if any(row.figure == figure and not row.reading for row in one.rows)
    ]


def shortened(words: str) -> str:
    return textwrap.shorten(words, CHIP_LETTERS, placeholder=" …")


def sentence(number_of: Mapping[str, int]) -> str:
    verdicts = ", ".join(
        f"{number} {name}"
        for name, number in number_of.items()
        if name not in ("all", "judged") and number
    )
    return f"{number_of['judged']} of {number_of['all']} claims are judged: {verdicts}."


def verdict_sentence(rows: list[Row]) -> str:
    """The verdicts of a figure's rows in a sentence; empty where nothing is judged."""
    judged = [
        row.verdict
        for row in rows
        if row.key != OURS and not row.reading and row.verdict in VERDICTS
    ]
    if not judged:
        return ""
    return (
        f"Of {len(judged)} comparisons with the paper: "
        f"{', '.join(f'{judged.count(one)} {one}' for one in VERDICTS if one in judged)}."
    )


def rewrite_report(
    folder: pathlib.Path, title: str | None = None, path: pathlib.Path | None = None
) -> tuple[str, dict[str, FigureOutcome]]:
    """Write folder/report.html (or path) again from what `reproduce` saved there; return the paper
    and the outcomes as they are shown."""
    records = figure_records(folder)
    paper = paper_of(folder, records)
    last = records[[name for name in figures(paper) if name in records][-1]]
    origin = {"command": last["command"], "seed": last["seed"]} | last["versions"]
    return paper, _write_report(paper, folder, records, last["scale"], origin, title, path)


def paper_of(folder: pathlib.Path, records: Mapping[str, JsonObject]) -> str:
    """The paper whose figures were saved in a folder. Raises ValueError where no paper has them."""
    keys = {row["key"] for record in records.values() for row in record["rows"]} - {
        OURS
    }  # papers share names of figures, but not claims
    paper = next(
        (
            name
            for name in names()
            if records.keys() <= figures(name).keys() and keys <= claims_of(name).keys()
        ),
        None,
    )
    if paper is None:
        raise ValueError(
            f"folder = {str(folder)!r} holds rows of {', '.join(sorted(records))}, which no paper "
            "has; run it again."
        )
    return paper


def figure_records(folder: pathlib.Path) -> dict[str, JsonObject]:
    return {path.parent.name: json.loads(path.read_text()) for path in folder.glob(f"*/{ROWS}")}


def saved_outcomes(
    paper: str, folder: pathlib.Path, records: Mapping[str, JsonObject], scale: str
) -> dict[str, FigureOutcome]:
    return as_shown(
        {
            name: FigureOutcome(
                [Row(**row) for row in records[name]["rows"]],
                {
                    label: pd.read_parquet(folder / name / f"{label}.parquet")
                    for label in records[name]["tables"]
                },
                notes=records[name]["notes"],
            )
            for name in figures(paper)
            if name in records
        },
        scale,
    )


def records_of(run: Run, folder: pathlib.Path) -> dict[str, JsonObject]:
    """The `figure_records` of a folder with the scale and the seed of a run; rows of others would
    be mixed with its own."""
    return {
        name: one
        for name, one in figure_records(folder).items()
        if (one["scale"], one["seed"]) == (run.scale, run.seed)
    }


def _report(paper: str, run: Run) -> None:
    """The page of all figures that the folder has at this scale and seed, also from earlier
    calls."""
    origin = {"command": store.command(), "seed": run.seed} | store.versions()
    _write_report(paper, run.out, records_of(run, run.out), run.scale, origin)


def _write_report(
    paper: str,
    folder: pathlib.Path,
    records: Mapping[str, JsonObject],
    scale: str,
    origin: Mapping[str, object],
    title: str | None = None,
    path: pathlib.Path | None = None,
) -> dict[str, FigureOutcome]:
    outcomes = saved_outcomes(paper, folder, records, scale)
    claims = claim_standings(paper, outcomes)
    frame = claims_frame(claims)
    files.write_text(folder / "claims.csv", frame.to_csv(index=False))
    summary = sentence(counts(claims))
    pictures = {
        name: list(map(Picture.of, json.loads((folder / name / PICTURES).read_text()).values()))
        for name in outcomes
    }
    sections = []
    for name in sorted(outcomes, key=lambda one: not pictures[one]):  # pictures first
        outcome = outcomes[name]
        tables = [rows_table(outcome.rows)] if outcome.rows else []
        tables += [Table.of(table, caption=label) for label, table in outcome.tables.items()]
        text = " ".join(part for part in (verdict_sentence(outcome.rows), outcome.notes) if part)
        sections.append(Section(name, text, pictures[name], tables, chips=chips(claims, name)))
    sections.append(Section("Claims", HOW_CLAIMS_STAND, [], [claims_table(frame)], summary=summary))
    lead = (
        f"{summary} Reproduction at scale “{scale}”. Every verdict comes from the stated test, "
        "none from a reader's eye."
    )
    if scale == "smoke":
        lead += " This scale only checks that the experiments run, so nothing is judged."
    write_page(
        path or folder / "report.html", title or find_paper(paper).TITLE, lead, sections, origin
    )
    return outcomes


# The order of each paper's policies, so that a name has the same colour in all figures of its page;
# names that are not here come after.


NAMES: dict[str, tuple[str, ...]] = {
    "conservative": (
        "UCB",
        "CUCB-Or",
        "CUCB",
        "CUCB-L",
        "CUCB-M",
        "CUCB-S",
        "CUCB2",
        "LinUCB",
        "CLUCB",
        "CLUCB2",
        "CLUCB-Or",
        "CLUCB-L",
        "CLUCB-M",
        "CLUCB-S",
        "CLUCB2, literal",
        "CLUCB2, sub-Gaussian",
        "CLUCB-S, clipped",
        "CLUCB-S, literal",
        "CLUCB2T 5 %",
        "CLUCB2T 10 %",
        "CLUCB2T 12 %",
    ),
    "lingape": (
        "LinGapE, ε = 0",
        "LinGapE, ε = gap/2",
        "LinGapE, ε = gap/2, by ratio",
        "XY-oracle, K in its bound",
    ),
    "lipschitz": (
        "CKL-UCB",
        "TrackCKLUCB",
        "OSLB",
        "KL-UCB",
        "UCB1",
        "UCB, sqrt(ln n / 2t)",
        "HOO",
        "Zooming",
    ),
    "semibandits": (
        "greedy",
        "CombLinUCB",
        "CombLinTS",
        "C2UCB",
        "PC2UCB",
        "round-wise TS",
        "arm-wise TS",
    ),
}


def palette(paper: str) -> Palette:
    return Palette(NAMES[paper])


# Draws that the worlds of several papers are made of.


def generator(seed: int, *key: int) -> np.random.Generator:
    """Random numbers for the worlds of a figure; key: tells them apart from those of other figures
    with the same seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def unit_vector(rng: np.random.Generator, d: int) -> np.ndarray:
    vector = rng.standard_normal(d)
    return np.asarray(vector / np.linalg.norm(vector))


# All papers in one call: a folder for each, what it took where it was measured, and a front page
# that counts claims by verdict.


# the core seconds of every figure, by benchmarks/costs.py from folders that `reproduce` made
COSTS_FILE = pathlib.Path(__file__).with_name("costs.json")
RECORD = "all.json"
FRONT_TITLE = "Structured bandits: the papers' claims, run again"


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
        path, title or FRONT_TITLE, lead, sections, origin | store.versions() | store.machine()
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
