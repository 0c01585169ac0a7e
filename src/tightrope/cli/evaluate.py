"""`evaluate`: what a policy would have earned on a log."""

import pathlib
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, cast

import typer

from .options import Import, Json, Out, Seed, console, numbers, print_json, print_table

if TYPE_CHECKING:
    from ..core.policy import Policy
    from ..core.types import Arguments
    from ..evaluation.targets import Judged


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
    from ..evaluation.compare import compare
    from ..evaluation.evaluate import evaluate as judge
    from ..evaluation.learners import evaluate_learner
    from ..pages.evaluation import comparison_table, summary_table, write_comparison, write_evaluation
    from ..simulation.runs.provenance import command, versions
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
                print_table(summary_table(result))
                for note in result.notes:
                    console.print(note, soft_wrap=True, markup=False)
            files.write_json(out / "evaluation.json", record | {"made": origin})
            page = write_evaluation(result, out / "report.html", origin)
        if as_json:
            print_json(record | {"report": str(page)})
            return
        console.print(f"report: {page}")
