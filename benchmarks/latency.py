"""Microseconds from `decide` to the end of `reward` of every family: `python benchmarks/latency.py
--busy --only LinTS`.

`--busy`: beside a busy process on each core, as on a shared machine. `--json`: for other programs.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tightrope import Session
from tightrope.core import checks
from tightrope.core.registry import find
from tightrope.core.types import Oracle
from tightrope.numerics.posterior import unit_rows
from tightrope.solvers.oracles import Partition, Promotions, TopK

WARM_UP, LEAST_DECISIONS, MOST_DECISIONS = (
    20,
    30,
    400,
)  # decisions before the clock starts, and those that are timed
SECONDS = 3.0  # of one case, as soon as LEAST_DECISIONS are timed


class Latency(NamedTuple):
    """Microseconds from `decide` to the end of `reward`."""

    median: float
    ninetieth: float  # nine of ten took no longer
    decisions: int


class Case(NamedTuple):
    """A session, and what one decision of it is shown."""

    name: str
    start: Callable[[], Session]
    shown: tuple[int, ...] | None = None  # the shape of new features in every round


def cases() -> list[Case]:
    """Every family, where it costs most: many arms, new features, posteriors, sets."""
    rng = np.random.default_rng(0)
    few, many, users = (unit_rows(rng, *shape) for shape in ((50, 20), (400, 40), (2000, 10)))
    for rows in (few, many, users):
        rows[:, 0] = np.abs(rows[:, 0])  # so that rewards of all arms can be positive
    kinds, points = np.arange(400) % 40, np.linspace(0.0, 1.0, 20)
    of = {
        name: find(name)
        for name in (
            "UCB",
            "KLUCB",
            "BetaThompson",
            "TopTwoThompson",
            "LinUCB",
            "LinTS",
            "LinMED",
            "SquareCB",
            "SoftUCB",
            "CLUCB2",
            "Safe",
            "CKLUCB",
            "LinGapE",
            "C2UCB",
            "PC2UCB",
            "CombTS",
            "CombLinTS",
            "CombUCB1",
        )
    }

    def sets(name: str, oracle: Oracle = TopK(5)) -> Callable[[], Session]:
        return lambda: Session(of[name](), many, oracle=oracle)

    return [
        Case("UCB, K = 50", lambda: Session(of["UCB"](), 50)),
        Case("KLUCB, K = 50", lambda: Session(of["KLUCB"](), 50)),
        Case("BetaThompson, K = 50", lambda: Session(of["BetaThompson"](), 50)),
        Case("TopTwoThompson, K = 50", lambda: Session(of["TopTwoThompson"](delta=0.1), 50)),
        Case("LinUCB, K = 50, d = 20", lambda: Session(of["LinUCB"](), few)),
        Case("LinMED, K = 50, d = 20", lambda: Session(of["LinMED"](), few)),
        Case("SquareCB, K = 50, d = 20", lambda: Session(of["SquareCB"](), few)),
        Case("SoftUCB, K = 50, d = 20", lambda: Session(of["SoftUCB"](), few)),
        Case("LinTS, K = 50, d = 20", lambda: Session(of["LinTS"](), few)),
        Case("LinTS, new features", lambda: Session(of["LinTS"](), 50, dimension=20), (50, 20)),
        Case(
            "LinTS, one context for all arms",
            lambda: Session(of["LinTS"](), 50, dimension=20),
            (20,),
        ),
        Case(
            "LinGapE, K = 50, d = 20", lambda: Session(of["LinGapE"](epsilon=0.01, delta=0.1), few)
        ),
        Case("CKLUCB, 20 points", lambda: Session(of["CKLUCB"](lipschitz=1.0), points=points)),
        Case(
            "CLUCB2, K = 50, d = 20",
            lambda: Session(of["CLUCB2"](baseline=0, baseline_mean=0.1, alpha=0.1), few),
        ),
        Case(
            "Safe(LinTS), K = 50, d = 20",
            lambda: Session(
                of["Safe"](of["LinTS"](), baseline=0, baseline_mean=0.1, alpha=0.9), few
            ),
        ),
        Case("CombUCB1, 5 of 400", sets("CombUCB1")),
        Case("C2UCB, 5 of 400, d = 40", sets("C2UCB")),
        Case("PC2UCB, 5 of 400, d = 40", sets("PC2UCB")),
        Case("CombTS, 5 of 400, d = 40", sets("CombTS")),
        Case("CombLinTS, 5 of 400, d = 40", sets("CombLinTS")),
        Case("CombTS, 5 of 400, one of each category", sets("CombTS", Partition(kinds, 1, 5))),
        Case(
            "CombTS, promotions for 2,000 users, 5 kinds",
            lambda: Session(of["CombTS"](), users, oracle=Promotions(5, 50)),
        ),
    ]


def measure(case: Case, seconds: float = SECONDS) -> Latency:
    """Time decisions, each rewarded at once, of a session that is warm."""
    session, rng = case.start(), np.random.default_rng(1)
    took: list[float] = []
    end = None
    for n in range(WARM_UP + MOST_DECISIONS):
        if n == WARM_UP:
            end = time.perf_counter() + seconds
        shown = None if case.shown is None else rng.random(case.shown)
        start = time.perf_counter()
        decision = session.decide(shown)
        value = (
            rng.random()
            if isinstance(decision.arm, int)
            else dict(
                zip(decision.arm.tolist(), rng.random(decision.arm.size).tolist(), strict=True)
            )
        )
        session.reward(decision.id, value)
        if end is not None:
            took.append(time.perf_counter() - start)
            if len(took) >= LEAST_DECISIONS and time.perf_counter() > end:
                break
    median, ninetieth = np.quantile(took, (0.5, 0.9)) * 1e6
    return Latency(float(median), float(ninetieth), len(took))


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    """One process for each core that does nothing but keep it busy, as neighbours on a shared
    machine do."""
    neighbours = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--busy", action="store_true", help="beside a busy process on each core")
    parser.add_argument(
        "--json", action="store_true", help="print JSON instead of a table, and nothing else"
    )
    options = parser.parse_args()
    every = cases()
    selection = [case for case in every if options.only in case.name]
    if not selection:
        names = [case.name for case in every]
        sys.exit(
            f"only = {options.only!r} is in the name of nothing that is "
            f"measured.{checks.hint(options.only, names)}"
        )
    if not options.json:
        print(
            f"{'median µs':>10} {'90 % µs':>10}  decide and "
            f"reward{', beside a busy process on each core' if options.busy else ''}"
        )
    rows = []
    for case in selection:
        measure(case, seconds=0.0)  # compiles what is not compiled
        with busy_cores() if options.busy else contextlib.nullcontext():
            got = measure(case)
        rows.append({"case": case.name, "busy": options.busy} | got._asdict())
        if not options.json:
            print(f"{got.median:10,.0f} {got.ninetieth:10,.0f}  {case.name}", flush=True)
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
