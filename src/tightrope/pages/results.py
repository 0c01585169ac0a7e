"""A page for saved results of any kind."""

import json
import pathlib
from collections.abc import Callable, Mapping

from ..plots import style
from ..results.results import Identification, Result
from . import simulation
from .page import Section, Table, write_page

SECTIONS: dict[str, Callable[..., Section]] = {
    "simulation": simulation.simulation_section,
    "identification": simulation.identification_section,
}
TABLES: dict[str, Callable[..., Table]] = {
    "simulation": simulation.summary_table,
    "identification": simulation.identification_table,
}


def provenance_of(result: Result | Identification) -> dict[str, object]:
    settings = result.settings
    run = {key: settings[key] for key in ("command", "seed", "horizon", "max_rounds", "budget", "replications") if key in settings}
    return run | {f"policy {name}": _short(item) for name, item in settings.get("policies", {}).items()} | settings.get("versions", {})


def _short(record: Mapping[str, object]) -> str:
    inside = ", ".join(f"{key}={value}" for key, value in record.items() if key != "policy")
    return f"{record.get('policy')}({inside})"


def write_report(
    results: Mapping[str, Result | Identification],
    path: pathlib.Path,
    *,
    title: str = "tightrope report",
    lead: str = "",
    texts: Mapping[str, str] | None = None,
) -> pathlib.Path:
    """One self-contained page for several results. A policy's name has one colour in all of them."""
    palette = style.Palette(name for result in results.values() for name in result.policies)
    headings = {name: "Result" if len(results) == 1 and name == title else name for name in results}  # no title twice
    sections = [
        SECTIONS[result.kind](headings[name], result, text=(texts or {}).get(name, ""), palette=palette) for name, result in results.items()
    ]
    provenance: dict[str, object] = {}
    for name, result in results.items():
        of_result = provenance_of(result)
        provenance |= {
            key if len(results) == 1 or key in result.settings.get("versions", {}) or key == "command" else f"{name}: {key}": value
            for key, value in of_result.items()
        }
    return write_page(path, title, lead, sections, provenance)


def join_same_questions(results: Mapping[str, Result | Identification]) -> dict[str, Result | Identification]:
    """Simulations of the same question as one result, by a name for it; policies that differ under one name are told apart by their folder.

    The same question: problems, rounds, seed and delay. Such replications are paired. Questions that stand alone are left out.
    """
    groups: dict[str, dict[str, Result]] = {}
    for label, result in results.items():
        if isinstance(result, Result):
            question = {key: result.settings.get(key) for key in ("problem", "rounds", "seed", "delay", "apply")}
            groups.setdefault(json.dumps(question, sort_keys=True, default=str), {})[label] = result
    comparisons: dict[str, Result | Identification] = {}
    for group in groups.values():
        if len(group) > 1:
            comparisons[f"Compared: {', '.join(group)}"] = join_runs(group)
    return comparisons


def join_runs(group: Mapping[str, Result]) -> Result:
    least = min(result.replications for result in group.values())
    described: dict[str, list[object]] = {}
    for result in group.values():
        for name in result.policies:
            described.setdefault(name, []).append(result.settings.get("policies", {}).get(name))
    regret, pulls, policies = {}, {}, {}
    for label, result in group.items():
        for name in result.policies:
            same = all(one == described[name][0] for one in described[name])
            shown = name if same else f"{name} ({label})"
            regret[shown], pulls[shown] = result.regret[name][:least], result.pulls[name][:least]
            policies[shown] = result.settings.get("policies", {}).get(name, {})
    first = next(iter(group.values()))
    return Result(first.rounds, regret, pulls, {}, first.settings | {"policies": policies, "replications": least, "until": None})
