"""`evaluate`: what a policy would have earned on a log."""

import pathlib
from dataclasses import replace
from typing import Annotated, Any

import typer

from .shared import Import, Json, Out, Seed, console, numbers, print_json, print_table


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
    out: Out = pathlib.Path("runs/evaluate"), seed: Seed = 0, modules: Import = None, as_json: Json = False,
) -> None:  # fmt: skip
    """What a policy would have earned on a log, with bounds that hold however often one looks, and whether to promote it.

    Several policies are compared: which of them cannot be the best, and which may be promoted.
    """
    from .. import files
    from ..engine.provenance import command, versions
    from ..inference import reading
    from ..inference.comparison import compare
    from ..inference.evaluation import evaluate as judge
    from ..registry import is_policy, label
    from ..reports.inference import comparison_table, summary_table, write_comparison, write_evaluation

    bounds = numbers("rewards", rewards)
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
        told = both.record()
        if not as_json:
            print_table(comparison_table(both))
            console.print(both.conclusion, soft_wrap=True, markup=False)
        files.write_json(out / "comparison.json", told | {"made": made})
        page = write_comparison(both, out / "report.html", made)
    else:
        result = judge(found, one, baseline=beside, method=method, bootstraps=bootstraps, seed=seed, **options)  # type: ignore[arg-type]
        result = replace(result, policy=name)
        told = result.record()
        if not as_json:
            print_table(summary_table(result))
            for note in result.notes:
                console.print(note, soft_wrap=True, markup=False)
        files.write_json(out / "evaluation.json", told | {"made": made})
        page = write_evaluation(result, out / "report.html", made)
    if as_json:
        print_json(told | {"report": str(page)})
        return
    console.print(f"report: {page}")
