"""Commands that run something: simulations, evaluations, reproductions, pages."""

import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.table import Table

import tightrope_papers

from .options import (
    Address,
    Data,
    Engine,
    Import,
    Json,
    Meter,
    Out,
    Quiet,
    Seed,
    Workers,
    console,
    errors,
    numbers,
    print_json,
    print_summary,
    print_table,
)

if TYPE_CHECKING:
    from tightrope_papers.experiment import FigureOutcome

    from ..core.policy import Policy
    from ..core.types import Arguments
    from ..evaluation.targets import Judged
    from ..results.results import Identification, Result

# evaluate: `evaluate`: what a policy would have earned on a log.


def evaluate(
    log: Annotated[pathlib.Path, typer.Argument(
        help="A .parquet, .csv, .dsjson or .jsonl file, a row for each arm that was played; a folder of Parquet files; a saved session; "
        "a .journal.")],
    policy: Annotated[list[pathlib.Path] | None, typer.Option(
        help="YAML with policy: NAME, probabilities: [..] or {slot: [..]} or uniform, or arm: K; or a saved session. Several: compared.")
    ] = None,
    arm: Annotated[list[str] | None, typer.Option(
        help="Judge the policy that always plays this arm: its number or name. Several are compared.")] = None,
    probabilities: Annotated[str | None, typer.Option(
        help="Judge the policy whose probabilities are in the columns that begin so; an arm's number or name follows.")] = None,
    arm_column: Annotated[str, typer.Option(help="Column: the arm that was played.")] = "arm",
    reward: Annotated[str, typer.Option(help="Column: its reward.")] = "reward",
    propensity: Annotated[str | None, typer.Option(
        help="Column: the probability with which it was played; or a number. [default: propensity]")] = None,
    features: Annotated[str | None, typer.Option(help="Columns of the round's features, separated by commas; x* for several.")] = None,
    logger: Annotated[str | None, typer.Option(help="How the columns of the logger's probabilities of all arms begin.")] = None,
    eligible: Annotated[str | None, typer.Option(help="How the columns begin that say which arms could be played.")] = None,
    time: Annotated[str | None, typer.Option(help="Column: the time; rows are taken in its order.")] = None,
    slot: Annotated[str | None, typer.Option(help="Column: the position in which the arm was shown.")] = None,
    round: Annotated[str | None, typer.Option(help="Column: the round, the same for all arms of a set.")] = None,
    arms: Annotated[str | None, typer.Option(help="K, or all names separated by commas. [default: those in the log]")] = None,
    rewards: Annotated[str, typer.Option(help="Lowest and highest reward there can be.")] = "0,1",
    floor: Annotated[float | None, typer.Option(help="A probability that every eligible arm had at least.")] = None,
    estimator: Annotated[str, typer.Option(help="ips, clipped-ips, snips, dm, dr, switch-dr or aipw.")] = "dr",
    unit: Annotated[str | None, typer.Option(help="Column: what an arm was drawn for, such as the user, if it has many rows.")] = None,
    per: Annotated[str | None, typer.Option(help="Column: the denominator of a ratio, such as sessions; with --baseline none.")] = None,
    baseline: Annotated[str | None, typer.Option(
        help="What it would replace: logged, an arm, or none. [default: logged; none with --method]")] = None,
    method: Annotated[str | None, typer.Option(help="How a policy that learns is judged: replay or simulate.")] = None,
    alpha: Annotated[float, typer.Option(help="Error of the intervals and of the verdict.")] = 0.05,
    k: Annotated[float, typer.Option(help="Lower bound -k of the sequence's scores.")] = 1.0,
    clip: Annotated[float, typer.Option(help="Weights above it are cut by clipped-ips and left to the model by switch-dr.")] = 10.0,
    bootstraps: Annotated[int, typer.Option(help="Fitted worlds of --method simulate.")] = 200,
    out: Out = pathlib.Path("runs/evaluate"), seed: Seed = 0, modules: Import = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Estimate the value of a policy from a log, with bounds that hold however often one looks, and whether to promote it.

    Several policies are compared: which of them cannot be the best, and which may be promoted.
    """
    from ..core import files
    from ..core.policy import is_policy, label
    from ..evaluation.evaluate import compare, evaluate_learner
    from ..evaluation.evaluate import evaluate as judge
    from ..pages.page import comparison_table, evaluation_summary, write_comparison, write_evaluation
    from ..simulation.store import command, versions
    from . import log_files

    with log_files.words_of_command() as translate:
        bounds = numbers("rewards", rewards)
        if len(bounds) != 2:
            raise ValueError(f"rewards = {rewards!r} must be two numbers, the lowest and the highest reward, such as 0,1.")
        columns = log_files.ColumnWords(arm_column, reward, propensity, features, logger, eligible, probabilities, time, slot, round)
        rows, target = log_files.read(log, columns, arms=arms, rewards=(bounds[0], bounds[1]), floor=floor)
        policies = log_files.read_policies(policy or (), arm or (), probabilities, target, rows)
        learner = next((each for each in policies.values() if is_policy(each)), None)
        if learner is not None and (method is None or len(policies) > 1):
            raise ValueError(
                f"{label(learner)} learns while it plays. Judge it by itself, with --method replay (logs whose arms were drawn uniformly) "
                "or --method simulate (a fitted model), or give a saved session, which is judged at its present state."
            )
        replaced = baseline or ("none" if method is not None or per is not None else "logged")
        against = None if replaced == "none" else log_files.arm_of(replaced, rows)
        options: Arguments = {"estimator": estimator, "alpha": alpha, "k": k, "clip": clip}
        origin = {"command": command(), "log": str(log), "baseline": replaced, "seed": seed, "k": k} | versions()
        if len(policies) > 1:
            if against is None or method is not None:
                raise ValueError("several policies are compared with a baseline and without --method; judge them one by one instead.")
            if per is not None:
                raise ValueError("--per gives a ratio, which has no verdict; judge the policies one by one, with --baseline none.")
            comparison = compare(rows, cast("dict[str, Judged]", policies), baseline=against, unit=unit, **options)
            judged = {name: replace(each, notes=tuple(map(translate, each.notes))) for name, each in comparison.evaluations.items()}
            comparison = replace(comparison, evaluations=judged)
            record = comparison.record()
            if not as_json:
                print_table(comparison_table(comparison))
                console.print(comparison.conclusion, soft_wrap=True, markup=False)
            files.write_json(out / "comparison.json", record | {"made": origin})
            page = write_comparison(comparison, out / "report.html", origin)
        else:
            name, one = next(iter(policies.items()))
            if method is None:
                result = judge(rows, cast("Judged", one), baseline=against, unit=unit, per=per, **options)
            elif unit is not None or per is not None:
                raise ValueError("--unit and --per are of policies at a fixed state; leave --method out.")
            elif against is not None:
                raise ValueError("--baseline was given, but --method judges a policy by itself; evaluate the baseline in a run of its own.")
            else:
                options = {"method": method, "alpha": alpha, "k": k, "bootstraps": bootstraps, "seed": seed}
                result = evaluate_learner(rows, cast("Policy", one), **options)
            result = replace(result, policy=name, notes=tuple(map(translate, result.notes)))
            record = result.record()
            if not as_json:
                print_table(evaluation_summary(result))
                for note in result.notes:
                    console.print(note, soft_wrap=True, markup=False)
            files.write_json(out / "evaluation.json", record | {"made": origin})
            page = write_evaluation(result, out / "report.html", origin)
        if as_json:
            print_json(record | {"report": str(page)})
            return
        console.print(f"report: {page}")


# Pages of folders that commands wrote, made again; and pages that compare several of them.


COMPARISON_PAGE = pathlib.Path("runs/compared.html")
EVALUATION, COMPARISON = "evaluation.json", "comparison.json"
KNOWN_COMMANDS = "run, demo, reproduce and evaluate, and Result.save"


@dataclass
class RewrittenPage:
    """A page, and what is to be said of it: results, the rows of a paper, or lines."""

    path: pathlib.Path
    results: "dict[str, Result | Identification]" = field(default_factory=dict)
    paper: "tuple[str, dict[str, FigureOutcome]] | None" = None
    lines: list[str] = field(default_factory=list)


def page_again(folders: Sequence[pathlib.Path], title: str | None, out: pathlib.Path | None, say: Callable[[str], None]) -> RewrittenPage:
    """Write the page of one folder, whatever command filled it, or of several with results. Raises ValueError where one holds nothing."""
    if len(folders) > 1:
        return compared_pages(folders, title, out or COMPARISON_PAGE)
    (folder,) = folders
    return one_page(folder, title, out or folder / "report.html", out is not None, say)


def one_page(folder: pathlib.Path, title: str | None, path: pathlib.Path, elsewhere: bool, say: Callable[[str], None]) -> RewrittenPage:
    """The page of one folder."""
    from tightrope_papers.all_papers import RECORD, rewrite_reports
    from tightrope_papers.demo.page import RECORD as DEMO
    from tightrope_papers.demo.page import demo_again
    from tightrope_papers.experiment import ROWS, rewrite_report

    if (folder / RECORD).exists():
        return RewrittenPage(rewrite_reports(folder, title, path if elsewhere else None))
    if (folder / DEMO).exists():
        demo = demo_again(json.loads((folder / DEMO).read_text()), folder, title=title, path=path, say=say)
        return RewrittenPage(demo.page, lines=[f"{section.title}\n  {section.summary}" for section in demo.sections])
    if next(folder.glob(f"*/{ROWS}"), None) is not None:
        return RewrittenPage(path, paper=rewrite_report(folder, title, path))
    for name in (EVALUATION, COMPARISON):
        if (folder / name).exists():
            return judged_again(folder / name, title, path)
    return pages_of(results_in(folder), title or f"tightrope: {folder.name}", path)


def judged_again(file: pathlib.Path, title: str | None, path: pathlib.Path) -> RewrittenPage:
    """The page of `tightrope evaluate`."""
    from ..evaluation.results import Comparison, Evaluation
    from ..pages.page import sentence, write_comparison, write_evaluation

    try:
        record = json.loads(file.read_text())
        if file.name == EVALUATION:
            one = Evaluation.from_record(record)
            return RewrittenPage(write_evaluation(one, path, record["made"], title or ""), lines=[sentence(one)])
        several = Comparison.from_record(record)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is damaged or of another version ({type(error).__name__}: {error}); evaluate the log again.") from None
    return RewrittenPage(write_comparison(several, path, record["made"], title or ""), lines=[several.conclusion])


def results_in(folder: pathlib.Path) -> "dict[str, Result | Identification]":
    """The results of a folder by name: its own, or those of the folders in it."""
    from ..results.results import load

    if (folder / "result.json").exists():
        return {folder.name: load(folder)}
    inside = sorted(path.parent for path in folder.glob("*/result.json"))
    if not inside:
        begun = (
            " It has parts of a run that was interrupted: the same command goes on from there." if any(folder.rglob("plan.json")) else ""
        )
        raise ValueError(f"path = {str(folder)!r} holds no results; give a folder that one of {KNOWN_COMMANDS} wrote.{begun}")
    return {path.name: load(path) for path in inside}


def pages_of(results: "dict[str, Result | Identification]", title: str, path: pathlib.Path) -> RewrittenPage:
    """A page of results."""
    from ..pages.page import write_report

    return RewrittenPage(write_report(results, path, title=title), results)


def compared_pages(folders: Sequence[pathlib.Path], title: str | None, path: pathlib.Path) -> RewrittenPage:
    """One page of several folders: results of the same question together, then each by itself."""
    from ..pages.page import join_same_questions

    results: dict[str, Result | Identification] = {}
    for folder in folders:
        inside = results_in(folder)
        for name, result in inside.items():
            label = str(folder) if len(inside) == 1 else f"{folder}/{name}"
            results[label] = result
    if len(results) < len(folders):
        raise ValueError(f"DIR: {', '.join(map(str, folders))} names a folder twice; a folder is compared with others.")
    return pages_of(join_same_questions(results) | results, title or f"tightrope: {', '.join(folder.name for folder in folders)}", path)


# `reproduce`: the papers' experiments.


def _papers(incomplete: str) -> list[str]:
    return [name for name in (*tightrope_papers.names(), "all") if name.startswith(incomplete)]


def reproduce(
    paper: Annotated[str, typer.Argument(autocompletion=_papers, help=f"One of {', '.join(tightrope_papers.names())}; or all.")],
    figure: Annotated[list[str] | None, typer.Option(help="A figure or table; again for more; list: their names. Default all.")] = None,
    scale: Annotated[str, typer.Option(help="smoke (seconds), laptop (minutes) or paper (full size).")] = "laptop",
    out: Annotated[pathlib.Path | None, typer.Option(help="Folder; default runs/PAPER-SCALE.")] = None,
    seed: Seed = 0, data: Data = None, workers: Workers = None,
    engine: Annotated[str | None, typer.Option(
        help="threads, processes, dask or ray; default threads, and processes for long runs in Python. Results are the same.")] = None,
    address: Address = None, quiet: Quiet = False, as_json: Json = False,
) -> None:  # fmt: skip
    """Run a paper's experiments, or those of all: figures, results with provenance, and claims with verdicts. Resumes."""
    from tightrope_papers.experiment import Run, as_shown, figures, reproduce

    if figure == ["list"]:
        chosen = [name for name in tightrope_papers.names() if paper in (name, "all")]
        for name in chosen or [paper]:  # an unknown one is refused
            console.print(f"{name}: {', '.join(figures(name))}", soft_wrap=True)
        return
    folder = out or pathlib.Path("runs") / f"{paper}-{scale}"
    if paper == "all" and figure:
        raise ValueError(f"figure = {figure[0]!r} is of one paper, but paper = 'all'; name the paper, or leave the figure out.")
    say = partial((errors if as_json else console).print, soft_wrap=True)
    with Meter(quiet) as meter:
        run = Run(scale, folder, seed=seed, data=data, workers=workers, engine=engine, address=address, progress=meter)
        if paper == "all":
            from tightrope_papers.all_papers import reproduce_all, verdicts

            page = reproduce_all(run, say)
            if as_json:
                print_json({"report": str(page)} | verdicts(run))
            else:
                console.print(f"report: {page}")
            return
        if scale == "paper" and paper in tightrope_papers.names():
            from tightrope_papers.all_papers import hours

            say("What takes how long (what the folder holds already is not played again):")
            for line in hours(paper, run, figure or None):
                say(line)
        outcomes = as_shown(reproduce(paper, figure or None, run), scale)
    if as_json:
        rows = [vars(row) for outcome in outcomes.values() for row in outcome.rows]
        notes = {name: outcome.notes for name, outcome in outcomes.items()}
        print_json({"paper": paper, "scale": scale, "report": str(folder / "report.html"), "rows": rows, "notes": notes})
        return
    print_rows(paper, outcomes)
    console.print(f"report: {folder / 'report.html'}")


def print_rows(paper: str, outcomes: "Mapping[str, FigureOutcome]") -> None:
    """The comparison with the paper, row by row, and its sum."""
    from tightrope_papers.experiment import claim_standings, sentence
    from tightrope_papers.register import counts
    from tightrope_papers.scoring import OURS, ours_in_words

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
    out: Out = pathlib.Path("runs/demo"), seed: Seed = 0, data: Data = None, workers: Workers = None, quiet: Quiet = False
) -> None:  # fmt: skip
    """Show what the library is for in one page: safe, stopping, learned, sets, prices, logs. Real data where they are found."""
    from tightrope_papers.demo.page import run_demo

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
    from ..pages.page import write_report
    from ..results.results import Identification, Result
    from ..simulation.simulate import identify, simulate
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
