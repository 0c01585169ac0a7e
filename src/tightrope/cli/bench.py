"""`bench`: speeds beside a yardstick."""

import json
import pathlib
from typing import Annotated, Any

import typer

from .. import checks
from ..registry import registered
from .shared import Import, Json, console, errors, print_json


def bench(
    baseline: Annotated[pathlib.Path, typer.Option(help="JSON file to compare with.")] = pathlib.Path("benchmarks/baseline.json"),
    save: Annotated[bool, typer.Option("--save", help="Write this run to the baseline file.")] = False,
    only: Annotated[str, typer.Option(help="Only policies whose name contains this.")] = "",
    check: Annotated[bool, typer.Option("--check", help="A fixed list of 20 kernels; fail where one has become slow.")] = False,
    modules: Import = None,
    as_json: Json = False,
) -> None:
    """Rounds per second and core of every policy as a multiple of a hand-fused loop, beside the baseline's."""
    from .. import files
    from ..engine.benchmark import AGAIN, LEAST, SAVED, better, cases, checked_cases, measure
    from ..engine.provenance import versions

    stored: dict[str, Any] = json.loads(baseline.read_text()) if baseline.exists() else {}
    before = stored.setdefault("checked" if check else "relative", {})
    every = ((f"{name} on {place}", policy, problem, None) for name, policy, place, problem in cases(only))
    chosen = list(checked_cases(only) if check else every)
    if not chosen:
        names = sorted({item.__name__ for _, item in registered()})
        raise ValueError(f"only = {only!r} is in no policy's name, so nothing would be measured.{checks.hint(only, names)}")
    say = (lambda *words, **options: None) if as_json else console.print
    say("The yardstick is a hand-fused UCB loop with K = 10, measured beside each.")
    say(f"{'rounds/s':>12} {'µs/round':>9} {'x yardstick':>11} {'x baseline':>10}  policy and problem")
    kept: dict[str, float] = dict(before)
    slow, measured = [], []
    for key, policy, problem, rounds in chosen:
        got = measure(policy, problem, rounds)
        for _ in range(SAVED - 1 if check and save else AGAIN if check else 0):
            if save or got.relative < LEAST * before.get(key, 0.0):
                got = better(got, measure(policy, problem, rounds))
        ratio = got.relative / before[key] if key in before else None
        beside = "new" if ratio is None else f"{ratio:.2f}"
        kept[key] = got.relative
        line = f"{got.rounds_per_second:12,.0f} {got.microseconds:9.3g} {got.relative:11.3g} {beside:>10}"
        say(f"{line}  {key}", soft_wrap=True, highlight=False)
        measured.append({"case": key, "baseline": before.get(key)} | got._asdict())
        if check and not save and (ratio is None or ratio < LEAST):
            slow.append(f"{key} ({beside})")
        if save:
            files.write_json(
                baseline, stored | {"checked" if check else "relative": kept, "yardstick": got.yardstick, "versions": versions()}
            )
    if save:
        say(f"baseline: {baseline}")
    if as_json:
        print_json(measured)
    if slow:
        errors.print(f"Below {LEAST:g} of the baseline: {'; '.join(slow)}.", style="red", soft_wrap=True)
        raise typer.Exit(1)
