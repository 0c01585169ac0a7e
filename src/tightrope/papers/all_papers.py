"""All papers in one call: a folder for each, what it is expected to take, and a front page that counts claims by verdict.

`costs.json`, written by benchmarks/costs.py from folders that `reproduce` made, has the core-seconds of every figure as they were measured.
A figure's time on another machine is that time by the ratio of the two yardsticks (a hand-fused UCB loop, rounds per second and core),
shared by the workers.
"""

import contextlib
import functools
import json
import math
import multiprocessing
import os
import pathlib
import signal
import urllib.parse
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from typing import NamedTuple

import markupsafe

from ..core import checks, files
from ..core.types import JsonObject
from ..pages.page import Section, Table, write_page
from ..simulation.benchmark import yardstick_speed
from ..simulation.runs import provenance
from ..simulation.runs.executors.pools import end_with_driver, interrupts_ignored, one_thread_of_algebra
from ..simulation.runs.progress import silent
from . import names
from .experiment import (
    SCALES,
    FigureOutcome,
    Run,
    as_shown,
    claim_standings,
    figure_records,
    figures,
    find_paper,
    paper_workers,
    records_of,
    reproduce,
    rewrite_report,
    sentence,
    time_taken,
)
from .register import STANDINGS, counts
from .scoring import Row

COLUMNS_OF_VERDICTS = STANDINGS
COSTS_FILE = pathlib.Path(__file__).with_name("costs.json")
RECORD = "all.json"
TITLE = "Structured bandits: the papers' claims, run again"
Say = Callable[[str], None]


def reproduce_all(run: Run, say: Say = lambda line: None) -> pathlib.Path:
    """Run every figure of every paper under run.out, each paper in a folder of its name, and write run.out/index.html.

    Papers run beside each other where their runs are in threads (see `reproduced`); a script needs `if __name__ == "__main__":` around
    the call then, unless workers = 1. run: as for `reproduce`. say: is told the expected time before anything runs, and each paper.
    What the folder holds of an earlier call is found again; the front page is written after each paper. Returns its path. Raises
    ValueError where the folder holds another scale or seed.
    """
    checks.choice("scale", run.scale, SCALES)
    record, wanted = run.out / RECORD, {"scale": run.scale, "seed": run.seed}
    if record.exists() and (recorded := json.loads(record.read_text())) != wanted:  # one front page would sum them up as if they were one
        content = f"scale {recorded['scale']!r} with seed {recorded['seed']}"
        raise ValueError(f"out = {str(run.out)!r} holds all papers at {content}; choose another folder or remove it.")
    files.write_json(record, wanted)
    for line in plan(run):
        say(line)
    longest_first = sorted(names(), key=lambda paper: known_seconds(paper, run), reverse=True)  # so that none is left alone in the end
    own_workers = run.engine not in (None, "threads")
    try:
        for _ in (one_by_one if own_workers or run.workers == 1 else reproduce_beside_each_other)(longest_first, run, say):
            front_page(run)
    finally:
        page = front_page(run)
    return page


def one_by_one(papers: Sequence[str], run: Run, say: Say) -> Iterator[str]:
    """Papers one after the other: engines with workers of their own, or a single worker."""
    with paper_workers(run) as shared:
        for paper in papers:
            say(f"{paper}: {find_paper(paper).TITLE}")
            reproduce(paper, None, replace(shared, out=run.out / paper))
            yield paper


def reproduce_beside_each_other(papers: Sequence[str], run: Run, say: Say) -> Iterator[str]:
    """Reproduce papers under run.out, each in a process of its own, as many at a time as there are workers; yields each when it is done.

    While one paper compiles, which is the work of one core, another one plays. An executor's pool would not do: it neither says whose
    process died nor ends one in the middle of a figure. say: is told each paper that begins and each figure that is there. Raises what a
    paper raises, and ChildProcessError where its process ends by itself. However this ends, so do the processes; what they have finished
    stays.
    """
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    waiting, running = list(papers), dict[connection.Connection, tuple[str, BaseProcess]]()
    try:
        while waiting or running:
            while waiting and len(running) < (run.workers or os.cpu_count() or 1):
                paper = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(
                    target=_work, args=(paper, replace(run, out=run.out / paper, progress=silent), sender)
                )
                with one_thread_of_algebra(), interrupts_ignored():
                    process.start()
                sender.close()
                running[receiver] = paper, process
                say(f"{paper}: {find_paper(paper).TITLE}")
            arrived = connection.wait(list(running))
            for ready in [receiver for receiver in running if receiver in arrived]:
                paper, process = running[ready]
                try:
                    message = ready.recv()
                except EOFError:
                    words = f"the process of paper {paper!r} ended before it was done (memory?); the same command goes on from there."
                    raise ChildProcessError(words) from None
                if isinstance(message, str):
                    say(f"  {paper} {message}")
                    continue
                if message is not None:
                    raise message
                process.join()
                del running[ready]
                yield paper
    finally:
        for end in ("terminate", "join"):
            for _, process in running.values():
                getattr(process, end)()


def _work(paper: str, run: Run, sender: connection.Connection) -> None:
    """A process: all figures of a paper, one after the other. Sends each figure's name, then None, or the exception that ended it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the driver, which ends this process
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    end_with_driver()
    with contextlib.suppress(KeyboardInterrupt):
        try:
            for figure in figures(paper):
                reproduce(paper, [figure], run)
                sender.send(figure)
            sender.send(None)
        except Exception as error:  # whatever it is, the driver raises it
            sender.send(error)


# What it takes ---------------------------------------------------------------------------------------------------------


@functools.cache
def stored_costs() -> JsonObject:
    """costs.json: the yardstick, and core-seconds by scale and figure."""
    return dict(json.loads(COSTS_FILE.read_text()))


@functools.cache
def slowness() -> float:
    """Time of the yardstick on a core here over that on the machine of the measurements, the best of a few tries."""
    yardstick_speed()  # compiles
    return float(stored_costs()["yardstick"] / max(yardstick_speed() for _ in range(5)))


def expected_seconds(paper: str, run: Run) -> dict[str, float]:
    """Seconds that every figure of a paper is expected to take here; nan where nobody has measured it."""
    known, share = stored_costs()["core seconds"][run.scale], slowness() / (run.workers or os.cpu_count() or 1)
    return {figure: known.get(f"{paper} {figure}", math.nan) * share for figure in figures(paper)}


def known_seconds(paper: str, run: Run) -> float:
    """Seconds that a paper is expected to take, without the figures that nobody has measured."""
    return sum(seconds for seconds in expected_seconds(paper, run).values() if not math.isnan(seconds))


def in_words(seconds: float) -> str:
    """A time as people say it."""
    if math.isnan(seconds):
        return "not known"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def sum_in_words(seconds: Iterable[float]) -> str:
    """The sum of some figures' times in words."""
    times = list(seconds)
    known = [time for time in times if not math.isnan(time)]
    unknown = len(times) - len(known)
    if not unknown:
        return in_words(sum(known))
    return f"{in_words(sum(known)) + ' and ' if known else ''}{unknown} figure{'s' if unknown > 1 else ''} whose time is not known"


def plan(run: Run) -> list[str]:
    """The expected time in words: in all, at paper scale by figure, else by paper."""
    costs = {paper: expected_seconds(paper, run).values() for paper in names()}
    total = sum_in_words(seconds for each in costs.values() for seconds in each)
    lines = [f"Scale {run.scale!r} takes about {total} on this machine; what the folder holds already is not played again."]
    for paper, seconds in costs.items():
        lines.append(f"  {paper}: {sum_in_words(seconds)}")
        lines += hours(paper, run) if run.scale == "paper" else ()
    return lines


def hours(paper: str, run: Run, chosen: Collection[str] | None = None) -> list[str]:
    """The expected time of a paper's figures (default: all) in words, a line each."""
    return [
        f"  {paper} {figure}: {'not known' if math.isnan(seconds) else f'{seconds / 3600:.2f} h'}"
        for figure, seconds in expected_seconds(paper, run).items()
        if chosen is None or figure in chosen
    ]


# What there is ---------------------------------------------------------------------------------------------------------


class PaperState(NamedTuple):
    """The content of a paper's folder. counts: of its claims by verdict. seconds: of all cores, for its figures."""

    title: str
    counts: Mapping[str, int]
    seconds: float
    figures: Mapping[str, str]  # name -> "12 rows in 3 s", "not run: ..." or "not yet"


def state_of(paper: str, run: Run) -> PaperState:
    """The state of a paper's folder."""
    folder = run.out / paper
    records = records_of(run, folder)
    outcomes = {name: FigureOutcome([Row(**row) for row in one["rows"]], notes=one["notes"]) for name, one in records.items()}
    states = dict.fromkeys(figures(paper), "not yet")
    for name in states.keys() & outcomes.keys():
        states[name] = f"{len(outcomes[name].rows)} rows in {in_words(time_taken(folder / name).get('seconds', math.nan))}"
        if not outcomes[name].rows and outcomes[name].notes.startswith("Not run: "):
            states[name] = outcomes[name].notes
    seconds = sum(time_taken(folder / name).get("core seconds", 0.0) for name in records)
    return PaperState(find_paper(paper).TITLE, counts(claim_standings(paper, as_shown(outcomes, run.scale))), seconds, states)


def verdicts(run: Run) -> JsonObject:
    """The papers' claims by verdict, for other programs."""
    return {"scale": run.scale, "claims": {paper: dict(state_of(paper, run).counts) for paper in names()}}


def front_page(run: Run, title: str | None = None, path: pathlib.Path | None = None) -> pathlib.Path:
    """Write run.out/index.html (or path) from what the folder holds."""
    path = path or run.out / "index.html"
    states = {paper: state_of(paper, run) for paper in names()}
    total = {key: sum(one.counts[key] for one in states.values()) for key in next(iter(states.values())).counts}

    def link(paper: str, words: str) -> str:
        """A link to the paper's page where there is one."""
        page = run.out / paper / "report.html"
        if not page.exists():
            return words
        place = pathlib.Path(os.path.relpath(page.resolve(), path.parent.resolve())).as_posix()
        return markupsafe.Markup('<a href="{}">{}</a>').format(urllib.parse.quote(place), words)

    def row(words: str, number_of: Mapping[str, int], seconds: float) -> list[str]:
        time = in_words(seconds).replace(" ", "\N{NO-BREAK SPACE}") if seconds else "–"
        return [words, *(str(number_of[key]) for key in ("all", *COLUMNS_OF_VERDICTS)), time]

    rows = [row(link(paper, one.title), one.counts, one.seconds) for paper, one in states.items()]
    rows.append(row("all papers", total, sum(one.seconds for one in states.values())))
    detail = [[link(paper, paper), name, state] for paper, one in states.items() for name, state in one.figures.items()]
    missing = sum(state == "not yet" for *_, state in detail)
    lead = f"{sentence(total)} Scale “{run.scale}”. Every verdict comes from a stated test, none from a reader's eye."
    if run.scale == "smoke":
        lead += " This scale only checks that the experiments run, so nothing is judged."
    if missing:
        lead += f" {missing} of {len(detail)} figures are not there yet: the same command goes on from here."
    note = "The worst row decides about a claim, of those that count; a paper's page has every row with its test."
    note += " Core time is that of all cores together."
    columns = ["paper", "claims", *COLUMNS_OF_VERDICTS, "core time"]
    sections = [
        Section("Papers", note, [], [Table(columns, rows, aligned=False, stacked=True)]),
        Section("Figures and tables", "", [], [Table(["paper", "figure", "what there is"], detail, aligned=False)]),
    ]
    origin: dict[str, object] = {"command": provenance.command(), "seed": run.seed}
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
