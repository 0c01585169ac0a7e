"""How long figures take: core-seconds as they were measured, brought to this machine's speed.

`costs.json` is written by benchmarks/costs.py from folders that `reproduce` made. A figure's time on another machine is that time by the
ratio of the two yardsticks (a hand-fused UCB loop, rounds per second and core), shared by the workers.
"""

import functools
import json
import math
import os
import pathlib
from typing import Any, NamedTuple

from ..engine.benchmark import yardstick_speed
from .experiment import Run, figures

PATH = pathlib.Path(__file__).with_name("costs.json")


class Cost(NamedTuple):
    """Seconds that a figure is expected to take here, and whether that was measured at its scale (else estimated)."""

    paper: str
    figure: str
    seconds: float
    measured: bool


@functools.cache
def _stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(PATH.read_text())
    return found


@functools.cache
def slowness() -> float:
    """How many times as long as on the machine of the measurements a core takes here, from the best of a few tries."""
    yardstick_speed()  # compiles
    return float(_stored()["yardstick"] / max(yardstick_speed() for _ in range(5)))


def expected(paper: str, run: Run) -> list[Cost]:
    """The cost of every figure of a paper; nan seconds where nobody has measured or estimated it."""
    known = _stored()["core seconds"]
    found = []
    for figure in figures(paper):
        cost = known.get(run.scale, {}).get(f"{paper} {figure}")
        measured = cost is not None
        if cost is None:
            cost = _stored()["estimated at paper scale"].get(f"{paper} {figure}", math.nan) if run.scale == "paper" else math.nan
        found.append(Cost(paper, figure, cost * slowness() / (run.workers or os.cpu_count() or 1), measured))
    return found


def whole(paper: str, run: Run) -> tuple[float, int]:
    """Seconds that a paper is expected to take, and for how many figures nothing is known and counted."""
    known = [cost.seconds for cost in expected(paper, run) if not math.isnan(cost.seconds)]
    together = _stored()["core seconds"].get(run.scale, {}).get(paper)  # of papers whose figures nobody has timed alone
    if not known and together is not None:
        return together * slowness() / (run.workers or os.cpu_count() or 1), 0
    return sum(known), len(figures(paper)) - len(known)


def in_words(seconds: float) -> str:
    """A time as people say it."""
    if math.isnan(seconds):
        return "not known"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
