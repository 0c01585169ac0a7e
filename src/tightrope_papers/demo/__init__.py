"""The mission in one page: six sections in turn, and the page that puts them together."""

import pathlib
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tightrope.core import files
from tightrope.pages import Section, write_page
from tightrope.simulation import store
from tightrope.simulation.run import Meters, silent

from . import guarantees, structures
from .structures import DemoSetting

RECORD = "demo.json"  # what the page can be made from again
SECTIONS: Mapping[str, Callable[[DemoSetting], Section]] = {
    "safe": guarantees.safe_section,
    "stop": guarantees.stop_section,
    "width": structures.width_section,
    "sets": structures.sets_section,
    "price": structures.price_section,
    "log": guarantees.log_section,
}
TITLE = "tightrope: structured bandits in six parts"
LEAD = "What the library is for. Every sentence of a result is computed from the runs of this page."


class Demo(NamedTuple):
    page: pathlib.Path
    sections: list[Section]


def run_demo(
    out: pathlib.Path,
    *,
    seed: int = 0,
    data: str | None = None,
    workers: int | None = None,
    size: float = 1.0,
    title: str | None = None,
    path: pathlib.Path | None = None,
    say: Callable[[str], None] = print,
    progress: Meters = silent,
) -> Demo:
    """Run all sections, keeping what is finished in folders under out, and write the page, path or
    out/report.html.

    data: folder of the data sets. size: share of the full numbers of rounds and replications, in
    (0, 1]. say: is told which data are missing; a labelled synthetic twin stands in for them.
    """
    setting = DemoSetting(out, seed, data, workers, size, say, progress)
    sections, seconds = [], {}
    for name, section in SECTIONS.items():
        began = time.monotonic()
        sections.append(section(setting))
        seconds[name] = time.monotonic() - began
    took = ", ".join(f"{name} {spent:.1f} s" for name, spent in seconds.items())
    origin = {
        "command": store.command(),
        "seed": seed,
        "time": f"{sum(seconds.values()):.0f} s: {took}",
    } | store.versions()
    page = write_page(path or out / "report.html", title or TITLE, LEAD, sections, origin)
    files.write_json(
        out / RECORD, {"seed": seed, "data": data, "size": size, "versions": store.versions()}
    )
    return Demo(page, sections)
