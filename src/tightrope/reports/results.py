"""A page for saved results of any kind."""

import pathlib
from collections.abc import Callable, Mapping

from matplotlib.figure import Figure

from .. import notebook
from ..engine.results import Identification, Result
from . import curves, identification, simulation
from .page import Section, Table, figure_svg, write_page

SECTIONS: dict[str, Callable[..., Section]] = {
    "simulation": simulation.simulation_section,
    "identification": identification.identification_section,
}
TABLES: dict[str, Callable[..., Table]] = {
    "simulation": simulation.summary_table,
    "identification": identification.summary_table,
}


PICTURES: dict[str, Callable[..., Figure]] = {
    "simulation": curves.regret_figure,
    "identification": identification.rounds_figure,
}


def in_notebook(result: Result | Identification) -> str:
    """HTML of a result: its line, its table, its picture."""
    table = TABLES[result.kind](result)
    return notebook.table(repr(result).strip("<>"), table.headers, table.rows, table.caption) + figure_svg(PICTURES[result.kind](result))


def provenance_of(result: Result | Identification) -> dict[str, object]:
    """What the page says under "How this was made"."""
    settings = result.settings
    made = {key: settings[key] for key in ("command", "seed", "horizon", "max_rounds", "budget", "replications") if key in settings}
    return made | {f"policy {name}": _short(item) for name, item in settings.get("policies", {}).items()} | settings.get("versions", {})


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
    """One self-contained page for several results."""
    sections = [SECTIONS[result.kind](name, result, text=(texts or {}).get(name, "")) for name, result in results.items()]
    made: dict[str, object] = {}
    for name, result in results.items():
        found = provenance_of(result)
        made |= {
            key if len(results) == 1 or key in result.settings.get("versions", {}) or key == "command" else f"{name}: {key}": value
            for key, value in found.items()
        }
    return write_page(path, title, lead, sections, made)
