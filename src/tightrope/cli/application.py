"""All commands: those of the library, and of packages that are found by the entry points of
`tightrope.commands`."""

import inspect
import json
import pathlib
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import typer
from rich.table import Table

from .. import __version__
from .options import (
    INTERRUPTED_CODE,
    Address,
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
    folder_pages,
    numbers,
    print_json,
    print_summary,
    print_table,
)

if TYPE_CHECKING:
    from ..core.policy import Policy
    from ..core.types import Arguments
    from ..evaluation.targets import Judged
    from ..results import Identification, Result

# `evaluate`: what a policy would have earned on a log.


def evaluate(
    log: Annotated[
        pathlib.Path,
        typer.Argument(
            help="A .parquet, .csv, .dsjson or .jsonl file, a row for each arm that was played; a "
            "folder of Parquet files; a saved session; a .journal."
        ),
    ],
    policy: Annotated[
        list[pathlib.Path] | None,
        typer.Option(
            help="YAML with policy: NAME, probabilities: [..] or {slot: [..]} or uniform, or arm: "
            "K; or a saved session. Several: compared."
        ),
    ] = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(
            help="Judge the policy that always plays this arm: its number or name. Several are "
            "compared."
        ),
    ] = None,
    probabilities: Annotated[
        str | None,
        typer.Option(
            help="Judge the policy whose probabilities are in the columns that begin so; an arm's "
            "number or name follows."
        ),
    ] = None,
    arm_column: Annotated[str, typer.Option(help="Column: the arm that was played.")] = "arm",
    reward: Annotated[str, typer.Option(help="Column: its reward.")] = "reward",
    propensity: Annotated[
        str | None,
        typer.Option(
            help="Column: the probability with which it was played; or a number. [default: "
            "propensity]"
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="Columns of the round's features, separated by commas; x* for several."),
    ] = None,
    logger: Annotated[
        str | None,
        typer.Option(help="How the columns of the logger's probabilities of all arms begin."),
    ] = None,
    eligible: Annotated[
        str | None, typer.Option(help="How the columns begin that say which arms could be played.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Column: the time; rows are taken in its order.")
    ] = None,
    slot: Annotated[
        str | None, typer.Option(help="Column: the position in which the arm was shown.")
    ] = None,
    round: Annotated[
        str | None, typer.Option(help="Column: the round, the same for all arms of a set.")
    ] = None,
    arms: Annotated[
        str | None,
        typer.Option(help="K, or all names separated by commas. [default: those in the log]"),
    ] = None,
    rewards: Annotated[str, typer.Option(help="Lowest and highest reward there can be.")] = "0,1",
    floor: Annotated[
        float | None, typer.Option(help="A probability that every eligible arm had at least.")
    ] = None,
    estimator: Annotated[
        str, typer.Option(help="ips, clipped-ips, snips, dm, dr, switch-dr or aipw.")
    ] = "dr",
    unit: Annotated[
        str | None,
        typer.Option(
            help="Column: what an arm was drawn for, such as the user, if it has many rows."
        ),
    ] = None,
    per: Annotated[
        str | None,
        typer.Option(
            help="Column: the denominator of a ratio, such as sessions; with --baseline none."
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="What it would replace: logged, an arm, or none. [default: logged; none with "
            "--method]"
        ),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="How a policy that learns is judged: replay or simulate.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="Error of the intervals and of the verdict.")] = 0.05,
    k: Annotated[float, typer.Option(help="Lower bound -k of the sequence's scores.")] = 1.0,
    clip: Annotated[
        float,
        typer.Option(
            help="Weights above it are cut by clipped-ips and left to the model by switch-dr."
        ),
    ] = 10.0,
    bootstraps: Annotated[int, typer.Option(help="Fitted worlds of --method simulate.")] = 200,
    out: Out = pathlib.Path("runs/evaluate"),
    seed: Seed = 0,
    modules: Import = None,
    as_json: Json = False,
) -> None:
    """Estimate the value of a policy from a log, with bounds that hold however often one looks, and
    whether to promote it.

    Several policies are compared: which of them cannot be the best, and which may be promoted.
    """
    from ..core import files
    from ..core.policy import is_policy, label
    from ..evaluation.evaluate import compare, evaluate as judge, evaluate_learner
    from ..pages import (
        comparison_table,
        evaluation_summary,
        write_comparison,
        write_evaluation,
    )
    from ..simulation.store import command, versions
    from . import inputs

    with inputs.words_of_command() as translate:
        bounds = numbers("rewards", rewards)
        if len(bounds) != 2:
            raise ValueError(
                f"rewards = {rewards!r} must be two numbers, the lowest and the highest reward, "
                "such as 0,1."
            )
        columns = inputs.ColumnWords(
            arm_column,
            reward,
            propensity,
            features,
            logger,
            eligible,
            probabilities,
            time,
            slot,
            round,
        )
        rows, target = inputs.read(
            log, columns, arms=arms, rewards=(bounds[0], bounds[1]), floor=floor
        )
        policies = inputs.read_policies(policy or (), arm or (), probabilities, target, rows)
        learner = next((each for each in policies.values() if is_policy(each)), None)
        if learner is not None and (method is None or len(policies) > 1):
            raise ValueError(
                f"{label(learner)} learns while it plays. Judge it by itself, with --method "
                "replay (logs whose arms were drawn uniformly) or --method simulate (a fitted "
                "model), or give a saved session, which is judged at its present state."
            )
        replaced = baseline or ("none" if method is not None or per is not None else "logged")
        against = None if replaced == "none" else inputs.arm_of(replaced, rows)
        options: Arguments = {"estimator": estimator, "alpha": alpha, "k": k, "clip": clip}
        origin = {
            "command": command(),
            "log": str(log),
            "baseline": replaced,
            "seed": seed,
            "k": k,
        } | versions()
        if len(policies) > 1:
            if against is None or method is not None:
                raise ValueError(
                    "several policies are compared with a baseline and without --method; judge "
                    "them one by one instead."
                )
            if per is not None:
                raise ValueError(
                    "--per gives a ratio, which has no verdict; judge the policies one by one, "
                    "with --baseline none."
                )
            comparison = compare(
                rows, cast("dict[str, Judged]", policies), baseline=against, unit=unit, **options
            )
            judged = {
                name: replace(each, notes=tuple(map(translate, each.notes)))
                for name, each in comparison.evaluations.items()
            }
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
                result = judge(
                    rows, cast("Judged", one), baseline=against, unit=unit, per=per, **options
                )
            elif unit is not None or per is not None:
                raise ValueError(
                    "--unit and --per are of policies at a fixed state; leave --method out."
                )
            elif against is not None:
                raise ValueError(
                    "--baseline was given, but --method judges a policy by itself; evaluate the "
                    "baseline in a run of its own."
                )
            else:
                options = {
                    "method": method,
                    "alpha": alpha,
                    "k": k,
                    "bootstraps": bootstraps,
                    "seed": seed,
                }
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


class RewrittenPage(NamedTuple):
    path: pathlib.Path
    results: "dict[str, Result | Identification]"
    lines: list[str]


def page_again(
    folders: Sequence[pathlib.Path], title: str | None, out: pathlib.Path | None
) -> RewrittenPage:
    """Write the page of one folder, or of several with results. Raises ValueError where one holds
    nothing."""
    if len(folders) > 1:
        return compared_pages(folders, title, out or COMPARISON_PAGE)
    (folder,) = folders
    path = out or folder / "report.html"
    for name in (EVALUATION, COMPARISON):
        if (folder / name).exists():
            return judged_again(folder / name, title, path)
    return pages_of(results_in(folder), title or f"tightrope: {folder.name}", path)


def judged_again(file: pathlib.Path, title: str | None, path: pathlib.Path) -> RewrittenPage:
    from ..evaluation.results import Comparison, Evaluation
    from ..pages import sentence, write_comparison, write_evaluation

    try:
        record = json.loads(file.read_text())
        if file.name == EVALUATION:
            one = Evaluation.from_record(record)
            return RewrittenPage(
                write_evaluation(one, path, record["made"], title or ""), {}, [sentence(one)]
            )
        several = Comparison.from_record(record)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{file} is damaged or of another version ({type(error).__name__}: {error}); evaluate "
            "the log again."
        ) from None
    return RewrittenPage(
        write_comparison(several, path, record["made"], title or ""), {}, [several.conclusion]
    )


def results_in(folder: pathlib.Path) -> "dict[str, Result | Identification]":
    """The results of a folder by name: its own, or those of the folders in it."""
    from ..results import load

    if (folder / "result.json").exists():
        return {folder.name: load(folder)}
    inside = sorted(path.parent for path in folder.glob("*/result.json"))
    if not inside:
        begun = (
            " It has parts of a run that was interrupted: the same command goes on from there."
            if any(folder.rglob("plan.json"))
            else ""
        )
        raise ValueError(
            f"path = {str(folder)!r} holds no results; give a folder that one of {KNOWN_COMMANDS} "
            f"wrote.{begun}"
        )
    return {path.name: load(path) for path in inside}


def pages_of(
    results: "dict[str, Result | Identification]", title: str, path: pathlib.Path
) -> RewrittenPage:
    from ..pages import write_report

    return RewrittenPage(write_report(results, path, title=title), results, [])


def compared_pages(
    folders: Sequence[pathlib.Path], title: str | None, path: pathlib.Path
) -> RewrittenPage:
    """One page of several folders: results of the same question together, then each by itself."""
    from ..pages import join_same_questions

    results: dict[str, Result | Identification] = {}
    for folder in folders:
        inside = results_in(folder)
        for name, result in inside.items():
            results[str(folder) if len(inside) == 1 else f"{folder}/{name}"] = result
    if len(results) < len(folders):
        raise ValueError(
            f"DIR: {', '.join(map(str, folders))} names a folder twice; a folder is compared with "
            "others."
        )
    return pages_of(
        join_same_questions(results) | results,
        title or f"tightrope: {', '.join(folder.name for folder in folders)}",
        path,
    )


def run(
    spec: Annotated[
        pathlib.Path,
        typer.Argument(
            help="YAML: problem, policies, horizon or mode: identify, replications or until, seed."
        ),
    ],
    out: Annotated[
        pathlib.Path | None,
        typer.Option(help="Folder for results and the report. [default: runs/NAME OF THE SPEC]"),
    ] = None,
    workers: Workers = None,
    engine: Engine = "threads",
    address: Address = None,
    quiet: Quiet = False,
    modules: Import = None,
    as_json: Json = False,
) -> None:
    """Run an experiment described in a YAML file and write results and a report."""
    from ..pages import write_report
    from ..results import Identification, Result
    from ..simulation.simulate import identify, simulate
    from .inputs import read_spec

    described, problem, policies = read_spec(spec)
    folder = out or pathlib.Path("runs") / spec.stem
    result: Result | Identification
    with Meter(quiet) as meter:
        play = {
            "seed": described.seed,
            "workers": workers,
            "engine": engine,
            "address": address,
            "out": folder,
        }
        options = (
            described.options()
            | play
            | {
                "progress": meter(
                    described.title, described.mode != "identify" or described.budget is not None
                )
            }
        )
        result = (
            identify(problem, policies, **options)
            if described.mode == "identify"
            else simulate(problem, policies, **options)
        )
    path = write_report({described.title: result}, folder / "report.html", title=described.title)
    if as_json:
        print_json(
            {
                "kind": result.kind,
                "folder": str(folder),
                "report": str(path),
                "summary": [vars(row) for row in result.summary()],
            }
        )
        return
    print_summary(result)
    console.print(f"report: {path}", soft_wrap=True)


def report(
    folders: Annotated[
        list[pathlib.Path],
        typer.Argument(metavar="DIR...", help="Folders that commands wrote; several are compared."),
    ],
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None,
    out: Annotated[
        pathlib.Path | None,
        typer.Option(
            help="The page. [default: report.html in the folder; of several, runs/compared.html]"
        ),
    ] = None,
) -> None:
    """Write the page of folders again, from what demo, run, reproduce, evaluate or Result.save left
    there, and print what it says.

    Several folders of simulations or identifications are compared on one page.
    """

    for folder in folders:
        if not folder.is_dir():
            raise ValueError(
                f"DIR = {str(folder)!r} is not a folder; give one that a command of tightrope "
                "wrote."
            )
    if len(folders) == 1:
        for folder_page in folder_pages:
            path = folder_page(folders[0], title, out)
            if path is not None:
                console.print(f"report: {path}", soft_wrap=True)
                return
    page = page_again(folders, title, out)
    for name, result in page.results.items():
        if len(page.results) > 1:
            console.print(name)
        print_summary(result)
    for line in page.lines:
        console.print(line, soft_wrap=True, markup=False)
    console.print(f"report: {page.path}", soft_wrap=True)


def names_of_policies(incomplete: str) -> list[str]:
    from ..core.registry import named_policies

    return [
        name for name, _ in named_policies() if name.casefold().startswith(incomplete.casefold())
    ]


def policies(
    name: Annotated[
        str | None,
        typer.Argument(autocompletion=names_of_policies, help="One policy, with its parameters."),
    ] = None,
    modules: Import = None,
) -> None:
    """List the policies with one line each and their papers, or show one with its parameters."""
    from ..core.registry import find, named_policies

    if name is not None:
        item = find(name)
        console.print(
            f"{item.__name__}: {inspect.cleandoc(item.__doc__ or '')}", soft_wrap=True, markup=False
        )
        console.print(
            f"\nplays {', '.join(item.TRAITS.accepts)} · {item.TRAITS.paper}", soft_wrap=True
        )
        return
    table = Table("policy", "what it does", "plays", "paper")
    for label, item in named_policies():
        table.add_row(
            label,
            (item.__doc__ or "").strip().splitlines()[0],
            ", ".join(item.TRAITS.accepts),
            item.TRAITS.paper,
        )
    console.print(table)


def cite(
    policies: Annotated[
        list[str] | None,
        typer.Argument(autocompletion=names_of_policies, help="Policies; none: the library alone."),
    ] = None,
    modules: Import = None,
) -> None:
    """Print BibTeX for the papers of policies, and for the library itself."""
    from ..core.registry import entries, find, library

    sources, shown = entries(), dict[str, None]()
    for name in policies or ():
        item = find(name)
        if name not in sources:
            errors.print(
                f"{name} has no entry here; its source is: {item.TRAITS.paper}.", soft_wrap=True
            )
        shown |= dict.fromkeys(sources.get(name, ()))
    typer.echo("\n\n".join([*shown, library(__version__)]))


# `bound`: the least regret of a Lipschitz problem, and the order of a conservative promise's cost.


def bound(
    means: Annotated[str, typer.Argument(help="Means of the arms, separated by commas.")],
    lipschitz: Annotated[
        float | None, typer.Option(help="Lipschitz constant L > 0; or --alpha.")
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(help="Positions, separated by commas; default evenly spaced on [0, 1]."),
    ] = None,
    horizon: Annotated[int, typer.Option(min=2, help="Rounds T to show the bound for.")] = 100_000,
    out: Annotated[
        pathlib.Path | None,
        typer.Option(help="Also draw means and rates to this SVG, PNG or PDF file."),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Share of the baseline's reward that a conservative policy may lose."),
    ] = None,
    baseline: Annotated[int, typer.Option(min=0, help="Number of the baseline, with --alpha.")] = 0,
    dimension: Annotated[
        int | None, typer.Option(help="Of arms with features, with --alpha; default unrelated.")
    ] = None,
) -> None:
    """The least regret C ln T that Lipschitz arms of these means allow, and how often each arm must
    be explored; with --alpha the order of what a conservative promise costs."""
    from ..plots.figures import bound_report, save_figure

    theta = numbers("means", means)
    if alpha is not None:
        console.print(promise_order(theta, alpha, baseline, dimension, horizon), soft_wrap=True)
    elif lipschitz is None:
        raise ValueError(
            "lipschitz is missing; give --lipschitz for arms on a line, or --alpha and --baseline "
            "for a conservative promise."
        )
    if lipschitz is None:
        return
    positions = (
        numbers("points", points)
        if points is not None
        else [k / max(len(theta) - 1, 1) for k in range(len(theta))]
    )
    report = bound_report(theta, points=positions, lipschitz=lipschitz, horizon=horizon)
    console.print(report.text, markup=False, soft_wrap=True)
    if out is not None:
        console.print(f"figure: {save_figure(report.figure, out)}")


def promise_order(
    means: list[float], alpha: float, baseline: int, dimension: int | None, horizon: int
) -> str:
    from ..solvers.programs import conservative_lower_bound

    if baseline >= len(means):
        raise ValueError(
            f"baseline = {baseline} is no number of an arm; give one from 0 to {len(means) - 1}."
        )
    found = conservative_lower_bound(
        "arms" if dimension is None else "linear",
        len(means) if dimension is None else dimension,
        alpha=alpha,
        baseline_mean=means[baseline],
        gap=max(means) - means[baseline],
        horizon=horizon,
    )
    return (
        f"Promise at alpha = {alpha:g}, unit noise: in the worst case exploring costs of the order "
        f"of {found.without:.3g} in T = {horizon} rounds, and needs of the order of "
        f"{found.rounds:.3g} rounds of the baseline before: {found.regret:.3g} in all. Orders are "
        "for comparison, of one alpha with another; a policy on these means may do better or worse."
    )


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Structured bandits: simulate, reproduce, report.",
)
for _command in (
    run,
    report,
    policies,
    cite,
    evaluate,
    bound,
):  # in the order of `tightrope --help`
    app.command()(_command)
for _point in entry_points(group="tightrope.commands"):
    _point.load()(app)


def run_command() -> int | None:
    try:
        # typer returns the code of an exit or of Ctrl-C instead of raising
        return cast("int | None", app(standalone_mode=False))
    except (ValueError, OSError) as error:
        errors.print(f"error: {error}", style="red", soft_wrap=True)
        return 2
    except typer.Exit as leave:
        return leave.exit_code
    except typer.Abort:
        return INTERRUPTED_CODE
    except Exception as error:
        show = getattr(error, "show", None)  # click's own usage errors
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", 2))


def _version(wanted: bool) -> None:
    if wanted:
        console.print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Structured bandits: simulate, reproduce, report."""
