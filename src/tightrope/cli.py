"""The command line."""

import json
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from . import __version__
from .engine.runner import Interrupted
from .registry import load_module, registered

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
                  help="Structured bandits: simulate, reproduce, report.")  # fmt: skip
console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)  # tables in logs and pipes keep their columns
errors = Console(stderr=True, highlight=False)
PLAIN_SECONDS = 10.0  # between lines of progress where there is no terminal

Out = Annotated[pathlib.Path, typer.Option(help="Folder for results and the report.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random streams.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Threads; default all cores. Results do not depend on it.")]
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
        app(standalone_mode=False)
    except (ValueError, OSError) as error:
        errors.print(f"error: {error}", style="red", soft_wrap=True)
        sys.exit(2)
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except (Interrupted, KeyboardInterrupt, typer.Abort):
        errors.print("Stopped. Finished blocks are kept: the same command goes on from there.")
        sys.exit(130)
    except Exception as error:
        show = getattr(error, "show", None)  # click's own usage errors
        if show is None:
            raise
        show()
        sys.exit(getattr(error, "exit_code", 2))


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

    def __exit__(self, *exc: object) -> None:
        if self.terminal and not self.quiet:
            self.bars.stop()

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
def run(spec: Annotated[pathlib.Path, typer.Argument(help="YAML: problem, policies, horizon, replications, seed.")],
        out: Out = pathlib.Path("runs/run"), workers: Workers = None, quiet: Quiet = False,
        modules: Import = None) -> None:  # fmt: skip
    """Run an experiment described in a YAML file and write results and a report."""
    from .engine.simulate import simulate
    from .engine.spec import read_spec
    from .reports.simulation import write_report

    described, problem, policies = read_spec(spec)
    with Meter(quiet) as meter:
        result = simulate(problem, policies, horizon=described.horizon, replications=described.replications, seed=described.seed,
                          workers=workers, out=out, progress=meter(described.title))  # fmt: skip
    path = write_report({described.title: result}, out / "report.html", title=described.title)
    _print_summary(result)
    console.print(f"report: {path}")


@app.command()
def report(folder: Annotated[pathlib.Path, typer.Argument(help="A folder that a run wrote.")]) -> None:
    """Write report.html again from saved results, and print the final table."""
    from .engine.results import load
    from .reports.simulation import write_report

    result = load(folder)
    path = write_report({folder.name: result}, folder / "report.html", title=f"tightrope: {folder.name}")
    _print_summary(result)
    console.print(f"report: {path}")


def _print_summary(result: Any) -> None:
    from .reports.simulation import summary_table

    summary = summary_table(result)
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
    modules: Import = None,
) -> None:
    """Rounds per second and core of every policy, beside a hand-fused loop and the baseline."""
    from . import files
    from .engine.benchmark import cases, measure, yardstick_speed
    from .engine.provenance import versions

    before = json.loads(baseline.read_text())["relative"] if baseline.exists() else {}
    yardstick = yardstick_speed()
    console.print(f"yardstick (hand-fused UCB loop, K = 10): {yardstick / 1e6:.1f} M rounds/s and core")
    console.print(f"{'rounds/s':>12} {'µs/round':>9} {'x yardstick':>11} {'x baseline':>10}  policy, problem")
    kept: dict[str, float] = dict(before)
    for label, policy, name, problem in cases(only):
        got = measure(label, policy, name, problem, yardstick)
        key = f"{label} on {name}"
        ratio = f"{got.relative / before[key]:.2f}" if key in before else "new"
        kept[key] = got.relative
        line = f"{got.rounds_per_second:12,.0f} {got.microseconds:9.3g} {got.relative:11.3g} {ratio:>10}  {label}, {name}"
        console.print(line, soft_wrap=True, highlight=False)
        if save:
            files.write_json(baseline, {"relative": kept, "yardstick": yardstick, "versions": versions()})
    if save:
        console.print(f"baseline: {baseline}")


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="conservative, softucb, lingape, semibandits or lipschitz.")],
    figure: Annotated[list[str] | None, typer.Option(help="A figure or table; again for more. Default all.")] = None,
    scale: Annotated[str, typer.Option(help="smoke (seconds), laptop (minutes) or paper (full size).")] = "laptop",
    out: Annotated[pathlib.Path | None, typer.Option(help="Folder; default runs/PAPER-SCALE.")] = None,
    seed: Seed = 0, data: Data = None, workers: Workers = None, quiet: Quiet = False,
) -> None:  # fmt: skip
    """Run a paper's experiments: figures, results with provenance, and a table of claims with verdicts. Resumes."""
    from .papers.experiment import Run, reproduce

    folder = out or pathlib.Path("runs") / f"{paper}-{scale}"
    with Meter(quiet) as meter:
        outcomes = reproduce(paper, figure or None, Run(scale, folder, seed=seed, data=data, workers=workers, progress=meter))
    table = Table("figure", "claim", "paper", "ours", "verdict")
    for name, outcome in outcomes.items():
        if outcome.notes:
            console.print(f"{name}: {outcome.notes}", soft_wrap=True)
        for claim in outcome.claims:
            ours = claim.ours if isinstance(claim.ours, str) else f"{claim.ours:.4g}"
            ours += f" ± {claim.se:.2g}" if claim.se is not None else ""
            table.add_row(name, claim.claim, str(claim.paper), ours, claim.verdict)
    console.print(table)
    console.print(f"report: {folder / 'report.html'}")


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
