"""`bench`: speeds beside a yardstick, and what decisions cost."""

import contextlib
import json
import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Import, Json, console, errors, print_json

if TYPE_CHECKING:
    from ..core.policy import Policy
    from ..core.problem import Problem
    from ..core.types import JsonObject


def bench(
    baseline: Annotated[pathlib.Path, typer.Option(help="JSON file to compare with.")] = pathlib.Path("benchmarks/baseline.json"),
    save: Annotated[bool, typer.Option("--save", help="Write this run to the baseline file.")] = False,
    only: Annotated[str, typer.Option(help="Only policies whose name contains this.")] = "",
    check: Annotated[bool, typer.Option("--check", help="A fixed list of 20 kernels; fail where one has become slow.")] = False,
    decisions: Annotated[bool, typer.Option("--decisions", help="Microseconds of a decision and its reward, of every family.")] = False,
    busy: Annotated[bool, typer.Option("--busy", help="With --decisions: beside a busy process on each core.")] = False,
    modules: Import = None,
    as_json: Json = False,
) -> None:
    """Rounds per second and core of every policy as a multiple of a hand-fused loop, beside the baseline's."""
    if busy and not decisions:
        raise ValueError("busy measures decisions beside busy processes; give --decisions too.")
    if decisions:
        if check or save:
            raise ValueError("decisions are compared with nothing that is stored; leave --check and --save out.")
        bench_decisions(only, busy, as_json)
        return
    from ..core import checks, files
    from ..simulation.benchmark import LEAST, MORE_TRIES, SAVED, Measurement, better, cases, checked_cases, measure
    from ..simulation.runs.provenance import machine, versions

    processor = machine()["cpu"]
    stored: JsonObject = json.loads(baseline.read_text()) if baseline.exists() else {}
    ours = stored.setdefault("checked" if check else "relative", {}).setdefault(processor, {})
    before: dict[str, float] = ours.get("multiples", {})

    def cases_of(only: str) -> "list[tuple[str, Policy, Problem, int | None]]":
        if check:
            return list(checked_cases(only))
        return [(f"{name} on {place}", policy, problem, None) for name, policy, place, problem in cases(only)]

    selection = cases_of(only)
    if not selection:
        names = sorted({type(policy).__name__ for _, policy, _, _ in cases_of("")})
        raise ValueError(f"only = {only!r} is in the name of nothing that is measured.{checks.hint(only, names)}")
    say = (lambda *words, **options: None) if as_json else console.print
    say("The yardstick is a hand-fused UCB loop with K = 10, measured beside each.")
    say(f"{'rounds/s':>12} {'µs/round':>9} {'x yardstick':>11} {'x baseline':>10}  policy and problem")
    measured: dict[str, Measurement] = {}

    def look(key: str, policy: "Policy", problem: "Problem", rounds: int | None) -> None:
        got = measure(policy, problem, rounds)
        measured[key] = got = better(measured[key], got) if key in measured else got
        ratio = "new" if key not in before else f"{got.relative / before[key]:.2f}"
        line = f"{got.rounds_per_second:12,.0f} {got.microseconds:9.3g} {got.relative:11.3g} {ratio:>10}"
        say(f"{line}  {key}", soft_wrap=True, highlight=False)
        if save:
            multiples = before | {case: one.relative for case, one in measured.items()}
            ours.update(multiples=multiples, yardstick=got.yardstick, versions=versions())
            files.write_json(baseline, stored)

    def is_slow(key: str) -> bool:
        return key in before and measured[key].relative < LEAST * before[key]

    for case in selection:
        look(*case)
    for _ in range((SAVED - 1 if save else MORE_TRIES) if check else 0):
        repeats = [case for case in selection if save or is_slow(case[0])]
        if repeats:
            say("Once more, now that what disturbed them may have ended:" if not save else "Once more:")
        for case in repeats:
            look(*case)
    if save:
        say(f"baseline: {baseline}")
    if as_json:
        print_json([{"case": key, "baseline": before.get(key)} | got._asdict() for key, got in measured.items()])
    if check and not save and not before:
        errors.print(
            f"{baseline} has no multiples of this kind of processor ({processor}), and those of another say nothing here. "
            "make bench-check AGAINST=COMMIT compares with a commit; --save stores these.",
            style="yellow", soft_wrap=True,
        )  # fmt: skip
        return
    slow = [f"{key} ({got.relative / before[key]:.2f})" for key, got in measured.items() if is_slow(key)]
    slow += [f"{key} (new)" for key in measured if key not in before]
    if slow and check and not save:
        errors.print(f"Below {LEAST:g} of the baseline: {'; '.join(slow)}.", style="red", soft_wrap=True)
        raise typer.Exit(1)


def bench_decisions(only: str, busy: bool, as_json: bool) -> None:
    """Microseconds from `decide` to the end of `reward`, of those cases whose name contains `only`."""
    from ..core import checks
    from ..session.latency import busy_cores, cases, measure

    every = cases()
    selection = [case for case in every if only in case.name]
    if not selection:
        raise ValueError(f"only = {only!r} is in the name of nothing that is measured.{checks.hint(only, [case.name for case in every])}")
    if not as_json:
        console.print(f"{'median µs':>10} {'90 % µs':>10}  decide and reward{', beside a busy process on each core' if busy else ''}")
    rows: list[JsonObject] = []
    for case in selection:
        measure(case, seconds=0.0)  # compiles what is not compiled
        with busy_cores() if busy else contextlib.nullcontext():
            got = measure(case)
        rows.append({"case": case.name, "busy": busy} | got._asdict())
        if not as_json:
            console.print(f"{got.median:10,.0f} {got.ninetieth:10,.0f}  {case.name}", soft_wrap=True, highlight=False)
    if as_json:
        print_json(rows)
