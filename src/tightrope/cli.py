"""The command line."""

import json
import pathlib
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from . import __version__, papers
from .extras import MissingExtra
from .registry import load_module, registered
from .service import commands as service

if TYPE_CHECKING:
    from .engine.results import Identification, Result
    from .papers.experiment import Outcome
    from .reports import page

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
                  help="Structured bandits: simulate, reproduce, report.")  # fmt: skip
console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)  # tables in logs and pipes keep their columns
errors = Console(stderr=True, highlight=False)
INTERRUPTED = 130  # exit code of a command that Ctrl-C ended
PLAIN_SECONDS = 10.0  # between lines of progress where there is no terminal

Out = Annotated[pathlib.Path, typer.Option(help="Folder for results and the report.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random streams.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Threads or processes; default all cores. Results do not depend on it.")]
Engine = Annotated[
    str, typer.Option(help="threads; processes where rounds are Python (sets of arms); dask or ray. Results do not depend on it.")
]
Address = Annotated[str | None, typer.Option(help="Of a running Dask scheduler or Ray cluster; default: --workers processes here.")]
Data = Annotated[str | None, typer.Option(help="Folder of the data sets; then $TIGHTROPE_DATA, ./data, the user's cache.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


def _import(modules: list[str] | None) -> list[str] | None:
    for module in modules or ():
        load_module(module)
    return modules


Import = Annotated[list[str] | None, typer.Option(
    "--import", callback=_import, help="A module or .py file with policies and problems of your own; again for more.")]  # fmt: skip


def main() -> None:
    """Entry point: errors are one line on stderr and exit code 2; Ctrl-C exits with 130."""
    try:
        code = app(standalone_mode=False)  # typer returns the code of an exit or of Ctrl-C instead of raising
    except (ValueError, OSError, MissingExtra) as error:
        errors.print(f"error: {error}", style="red", soft_wrap=True)
        sys.exit(2)
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except (KeyboardInterrupt, typer.Abort):  # `Interrupted` is one
        code = INTERRUPTED
    except Exception as error:
        show = getattr(error, "show", None)  # click's own usage errors
        if show is None:
            raise
        show()
        sys.exit(getattr(error, "exit_code", 2))
    if code == INTERRUPTED:
        errors.print("Stopped.")
    sys.exit(code)


class Meter:
    """Progress bars on a terminal, plain lines elsewhere, nothing when quiet."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.terminal = quiet, errors.is_terminal
        self.bars = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[speed]}"), TimeElapsedColumn(), TimeRemainingColumn(),
            console=errors, transient=True,
        )  # fmt: skip

    def __enter__(self) -> "Meter":
        if self.terminal and not self.quiet:
            self.bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if self.terminal and not self.quiet:
            self.bars.stop()
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            errors.print("Finished chunks are kept: the same command goes on from there.")

    def __call__(self, label: str) -> Callable[[int, int], None] | None:
        """A callback for one simulation."""
        if self.quiet:
            return None
        started = time.monotonic()
        task = self.bars.add_task(label, total=None, speed="") if self.terminal else None
        spoken = started

        def advance(done: int, total: int) -> None:
            nonlocal spoken
            now = time.monotonic()
            speed = done / max(now - started, 1e-3)
            if task is not None:
                self.bars.update(task, completed=done, total=total, speed=f"{speed:,.0f} rounds/s")
            elif now - spoken > PLAIN_SECONDS or done == total:
                spoken = now
                errors.print(f"{label}: {done / total:.0%}, {speed:,.0f} rounds/s, {(total - done) / max(speed, 1e-9):.0f} s left")

        return advance


@app.command()
def demo(out: Out = pathlib.Path("runs/demo"), seed: Seed = 0, data: Data = None, workers: Workers = None, quiet: Quiet = False,
         horizon: Annotated[int, typer.Option(min=1)] = 10_000, users: Annotated[int, typer.Option(min=2)] = 100) -> None:  # fmt: skip
    """Compare classic and linear policies on Jester cold start and ten Bernoulli arms, and write a report."""
    from .papers.demo import run_demo

    with Meter(quiet) as meter:
        path = run_demo(out, seed=seed, data=data, workers=workers, horizon=horizon, users=users, say=errors.print, progress=meter)
    console.print(f"report: {path}")


@app.command()
def run(spec: Annotated[pathlib.Path, typer.Argument(help="YAML: problem, policies, horizon, replications or until, seed.")],
        out: Out = pathlib.Path("runs/run"), workers: Workers = None, engine: Engine = "threads",
        address: Address = None, quiet: Quiet = False, modules: Import = None) -> None:  # fmt: skip
    """Run an experiment described in a YAML file and write results and a report."""
    from .engine.simulate import simulate
    from .engine.spec import read_spec
    from .reports.results import write_report

    described, problem, policies = read_spec(spec)
    with Meter(quiet) as meter:
        many: dict[str, Any] = {"replications": described.replications} if described.until is None else {"until": described.until.rule()}
        result = simulate(problem, policies, horizon=described.horizon, seed=described.seed, **many,
                          workers=workers, engine=engine, address=address, out=out, progress=meter(described.title))  # fmt: skip
    path = write_report({described.title: result}, out / "report.html", title=described.title)
    _print_summary(result)
    console.print(f"report: {path}")


@app.command()
def report(folder: Annotated[pathlib.Path, typer.Argument(help="A folder that a run wrote.")]) -> None:
    """Write report.html again from what `run`, `demo` or `reproduce` saved, and print the final table."""
    from .engine.results import load
    from .papers.every import RECORD, reports_again
    from .papers.experiment import ROWS, report_again
    from .reports.results import write_report

    if (folder / RECORD).exists():
        console.print(f"report: {reports_again(folder)}")
        return
    if next(folder.glob(f"*/{ROWS}"), None) is not None:
        _print_rows(*report_again(folder))
        console.print(f"report: {folder / 'report.html'}")
        return
    inside = [] if (folder / "result.json").exists() else sorted(path.parent for path in folder.glob("*/result.json"))
    results = {path.name: load(path) for path in inside} or {folder.name: load(folder)}
    written = write_report(results, folder / "report.html", title=f"tightrope: {folder.name}")
    for name, result in results.items():
        if inside:
            console.print(name)
        _print_summary(result)
    console.print(f"report: {written}")


@app.command()
def query(
    folder: Annotated[pathlib.Path, typer.Argument(help="A folder that run, simulate, identify or reproduce wrote.")],
    sql: Annotated[str, typer.Argument(help="One SELECT over results, settings, regret, runs, pulls and verdicts.")],
    out: Annotated[pathlib.Path | None, typer.Option(help="Write all rows to this .csv or .parquet file instead of printing.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="The most rows that are printed.")] = 50,
) -> None:
    """Ask saved results, finished or not, in SQL (needs the extra `query`)."""
    from . import files
    from .engine.query import query as ask

    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise ValueError(f"out = {str(out)!r} has no ending among .csv, .parquet.")
    found = ask(folder, sql)
    if out is not None:
        with files.atomically(out) as file:
            found.to_csv(file, index=False) if out.suffix == ".csv" else found.to_parquet(file)
        console.print(f"{len(found):,} rows: {out}", soft_wrap=True)
        return
    table = Table(*map(str, found.columns))
    for row in found.head(rows).itertuples(index=False):
        table.add_row(*(f"{value:.6g}" if isinstance(value, float) else str(value) for value in row))
    console.print(table)
    if len(found) > rows:
        console.print(f"{rows:,} of {len(found):,} rows; --rows shows more, --out writes all of them.")


def _print_summary(result: "Result | Identification") -> None:
    from .reports.results import TABLES

    summary = TABLES[result.kind](result)
    table = Table(*summary.headers, title=summary.caption, title_justify="left")
    for row in summary.rows:
        table.add_row(*row)
    console.print(table)


@app.command()
def policies(name: Annotated[str | None, typer.Argument(help="One policy, with its parameters.")] = None, modules: Import = None) -> None:
    """List the policies with one line each and their papers, or show one with its parameters."""
    from .registry import find

    if name is not None:
        item = find(name)
        console.print(f"{item.__name__}: {item.__doc__}\n", soft_wrap=True)
        defaults = getattr(item, "defaults", {})
        for parameter, field in item.FIELDS.items():
            default = "required" if field.required and parameter not in defaults else repr(defaults.get(parameter, field.default))
            console.print(f"  {parameter} = {default}   {field.words}", soft_wrap=True, markup=False)
        console.print(f"\nplays {', '.join(item.TRAITS.accepts)} · {item.TRAITS.paper}", soft_wrap=True)
        return
    table = Table("policy", "what it does", "plays", "paper")
    for label, item in registered():
        table.add_row(label, (item.__doc__ or "").strip().splitlines()[0], ", ".join(item.TRAITS.accepts), item.TRAITS.paper)
    console.print(table)


@app.command()
def bench(
    baseline: Annotated[pathlib.Path, typer.Option(help="JSON file to compare with.")] = pathlib.Path("benchmarks/baseline.json"),
    save: Annotated[bool, typer.Option("--save", help="Write this run to the baseline file.")] = False,
    only: Annotated[str, typer.Option(help="Only policies whose name contains this.")] = "",
    check: Annotated[bool, typer.Option("--check", help="A fixed list of 20 kernels; fail where one has become slow.")] = False,
    modules: Import = None,
) -> None:
    """Rounds per second and core of every policy as a multiple of a hand-fused loop, beside the baseline's."""
    from . import files
    from .engine.benchmark import AGAIN, LEAST, SAVED, better, cases, checked_cases, measure
    from .engine.provenance import versions

    stored: dict[str, Any] = json.loads(baseline.read_text()) if baseline.exists() else {}
    before = stored.setdefault("checked" if check else "relative", {})
    every = ((f"{name} on {place}", policy, problem, None) for name, policy, place, problem in cases(only))
    console.print("The yardstick is a hand-fused UCB loop with K = 10, measured beside each.")
    console.print(f"{'rounds/s':>12} {'µs/round':>9} {'x yardstick':>11} {'x baseline':>10}  policy and problem")
    kept: dict[str, float] = dict(before)
    slow = []
    for key, policy, problem, rounds in checked_cases(only) if check else every:
        got = measure(policy, problem, rounds)
        for _ in range(SAVED - 1 if check and save else AGAIN if check else 0):
            if save or got.relative < LEAST * before.get(key, 0.0):
                got = better(got, measure(policy, problem, rounds))
        ratio = got.relative / before[key] if key in before else None
        beside = "new" if ratio is None else f"{ratio:.2f}"
        kept[key] = got.relative
        line = f"{got.rounds_per_second:12,.0f} {got.microseconds:9.3g} {got.relative:11.3g} {beside:>10}"
        console.print(f"{line}  {key}", soft_wrap=True, highlight=False)
        if check and not save and (ratio is None or ratio < LEAST):
            slow.append(f"{key} ({beside})")
        if save:
            files.write_json(
                baseline, stored | {"checked" if check else "relative": kept, "yardstick": got.yardstick, "versions": versions()}
            )
    if save:
        console.print(f"baseline: {baseline}")
    if slow:
        errors.print(f"Below {LEAST:g} of the baseline: {'; '.join(slow)}.", style="red", soft_wrap=True)
        raise typer.Exit(1)


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help=f"One of {', '.join(papers.names())}; or all.")],
    figure: Annotated[list[str] | None, typer.Option(help="A figure or table; again for more. Default all.")] = None,
    scale: Annotated[str, typer.Option(help="smoke (seconds), laptop (minutes) or paper (full size).")] = "laptop",
    out: Annotated[pathlib.Path | None, typer.Option(help="Folder; default runs/PAPER-SCALE.")] = None,
    seed: Seed = 0, data: Data = None, workers: Workers = None,
    engine: Annotated[str | None, typer.Option(
        help="threads, processes, dask or ray; default threads, and processes for long runs in Python. Results are the same.")] = None,
    address: Address = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Run a paper's experiments, or those of all: figures, results with provenance, and claims with verdicts. Resumes."""
    from .papers.experiment import Run, reproduce

    folder = out or pathlib.Path("runs") / f"{paper}-{scale}"
    if paper == "all" and figure:
        raise ValueError(f"figure = {figure[0]!r} is of one paper, but paper = 'all'; name the paper, or leave the figure out.")
    with Meter(quiet) as meter:
        run = Run(scale, folder, seed=seed, data=data, workers=workers, engine=engine, address=address, progress=meter)
        if paper == "all":
            from .papers.every import reproduce_all

            page = reproduce_all(run, lambda line: console.print(line, soft_wrap=True))
            console.print(f"report: {page}")
            return
        outcomes = reproduce(paper, figure or None, run)
    _print_rows(paper, outcomes)
    console.print(f"report: {folder / 'report.html'}")


def _print_rows(paper: str, outcomes: "Mapping[str, Outcome]") -> None:
    from .papers.experiment import sentence, standing
    from .papers.register import counts
    from .papers.scoring import OURS

    table = Table("figure", "claim", "what is compared", "paper", "ours", "verdict")
    for name, outcome in outcomes.items():
        if outcome.notes:
            console.print(f"{name}: {outcome.notes}", soft_wrap=True)
        for row in outcome.rows:
            ours = row.ours if isinstance(row.ours, str) else f"{row.ours:.4g}"
            ours += f" ± {row.se:.2g}" if row.se is not None else ""
            key = row.key if row.key != OURS else "ours, not counted"
            table.add_row(name, key, row.text, str(row.paper), ours, row.verdict)
    console.print(table)
    console.print(sentence(counts(standing(paper, outcomes))))


@app.command()
def evaluate(
    log: Annotated[pathlib.Path, typer.Argument(
        help="A .parquet, .csv, .dsjson or .jsonl file, a row for each arm that was played; a folder of Parquet files; a saved session.")],
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
    baseline: Annotated[str | None, typer.Option(
        help="What it would replace: logged, an arm, or none. [default: logged; none with --method]")] = None,
    method: Annotated[str | None, typer.Option(help="How a policy that learns is judged: replay or simulate.")] = None,
    alpha: Annotated[float, typer.Option(help="Error of the intervals and of the verdict.")] = 0.05,
    k: Annotated[float, typer.Option(help="Lower bound -k of the sequence's scores.")] = 1.0,
    clip: Annotated[float, typer.Option(help="Weights above it are cut by clipped-ips and left to the model by switch-dr.")] = 10.0,
    bootstraps: Annotated[int, typer.Option(help="Fitted worlds of --method simulate.")] = 200,
    out: Out = pathlib.Path("runs/evaluate"), seed: Seed = 0, modules: Import = None,
) -> None:  # fmt: skip
    """What a policy would have earned on a log, with bounds that hold however often one looks, and whether to promote it.

    Several policies are compared: which of them cannot be the best, and which may be promoted.
    """
    from . import files
    from .engine.provenance import command, versions
    from .inference import reading
    from .inference.comparison import compare
    from .inference.evaluation import evaluate as judge
    from .registry import is_policy, label
    from .reports.inference import comparison_table, summary_table, write_comparison, write_evaluation

    bounds = _numbers("rewards", rewards)
    if len(bounds) != 2:
        raise ValueError(f"rewards = {rewards!r} must be two numbers, the lowest and the highest reward, such as 0,1.")
    columns = reading.Columns(arm_column, reward, propensity, features, logger, eligible, probabilities, time, slot, round)
    found, target = reading.read(log, columns, arms=arms, rewards=(bounds[0], bounds[1]), floor=floor)
    judged = reading.read_policies(policy or (), arm or (), probabilities, target, found)
    name, one = next(iter(judged.items()))
    learns = next((each for each in judged.values() if is_policy(each)), None)
    if learns is not None and (method is None or len(judged) > 1):
        raise ValueError(
            f"{label(learns)} learns while it plays. Judge it by itself, with --method replay (logs whose arms were drawn uniformly) or "
            "--method simulate (a fitted model), or give a saved session, which is judged at its present state."
        )
    against = baseline or ("none" if method is not None else "logged")
    beside = None if against == "none" else reading.arm_of(against, found)
    options: dict[str, Any] = {"estimator": estimator, "alpha": alpha, "k": k, "clip": clip}
    made = {"command": command(), "log": str(log), "baseline": against, "seed": seed, "k": k} | versions()
    if len(judged) > 1:
        if beside is None or method is not None:
            raise ValueError("several policies are compared with a baseline and without --method; judge them one by one instead.")
        both = compare(found, judged, baseline=beside, **options)
        _print_table(comparison_table(both))
        console.print(both.conclusion, soft_wrap=True, markup=False)
        files.write_json(out / "comparison.json", both.record() | {"made": made})
        page = write_comparison(both, out / "report.html", made)
    else:
        result = judge(found, one, baseline=beside, method=method, bootstraps=bootstraps, seed=seed, **options)  # type: ignore[arg-type]
        result = replace(result, policy=name)
        _print_table(summary_table(result))
        for note in result.notes:
            console.print(note, soft_wrap=True, markup=False)
        files.write_json(out / "evaluation.json", result.record() | {"made": made})
        page = write_evaluation(result, out / "report.html", made)
    console.print(f"report: {page}")


def _print_table(table: "page.Table") -> None:
    shown = Table(*table.headers)
    for row in table.rows:
        shown.add_row(*row)
    console.print(shown)


@app.command()
def bound(
    means: Annotated[str, typer.Argument(help="Means of the arms, separated by commas.")],
    lipschitz: Annotated[float, typer.Option(help="Lipschitz constant L > 0.")],
    points: Annotated[str | None, typer.Option(help="Positions, separated by commas; default evenly spaced on [0, 1].")] = None,
    horizon: Annotated[int, typer.Option(min=2, help="Rounds T to show the bound for.")] = 100_000,
    out: Annotated[pathlib.Path | None, typer.Option(help="Also draw means and rates to this SVG, PNG or PDF file.")] = None,
) -> None:
    """The least regret C ln T that Lipschitz arms of these means allow, and how often each arm must be explored."""
    from .reports.bound import bound_report
    from .reports.curves import save_figure

    theta = _numbers("means", means)
    positions = _numbers("points", points) if points is not None else [k / max(len(theta) - 1, 1) for k in range(len(theta))]
    found = bound_report(theta, points=positions, lipschitz=lipschitz, horizon=horizon)
    console.print(found.text, markup=False, soft_wrap=True)
    if out is not None:
        console.print(f"figure: {save_figure(found.figure, out)}")


service.register(app)


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} = {text!r} is not a list of numbers separated by commas, such as 0.3,0.5,0.4.") from None


def _version(wanted: bool) -> None:
    if wanted:
        console.print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Structured bandits: simulate, reproduce, report."""


if __name__ == "__main__":
    main()
