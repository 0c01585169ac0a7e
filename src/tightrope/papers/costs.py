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

from ..simulation.benchmark import yardstick_speed
from .experiment import Run, figures

PATH = pathlib.Path(__file__).with_name("costs.json")


class Cost(NamedTuple):
    """Seconds that a figure is expected to take here; nan where nobody has measured it."""

    paper: str
    figure: str
    seconds: float


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
    """The cost of every figure of a paper."""
    known, share = _stored()["core seconds"][run.scale], slowness() / (run.workers or os.cpu_count() or 1)
    return [Cost(paper, figure, known.get(f"{paper} {figure}", math.nan) * share) for figure in figures(paper)]


def whole(paper: str, run: Run) -> tuple[float, int]:
    """Seconds that a paper is expected to take, and for how many figures nothing is known and counted."""
    known = [cost.seconds for cost in expected(paper, run) if not math.isnan(cost.seconds)]
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
