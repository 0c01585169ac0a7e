"""Rounds per second and core of every policy as a multiple of a hand-fused loop, beside a
baseline's: `make bench`, `make bench-check`.

`python benchmarks/speed.py --only KLUCB` measures policies by name, with `--import FILE` also those
of a file of yours. `--check` takes a fixed list of 20 kernels and fails where one has become slow;
`--save` stores what was measured.
"""

import argparse
import contextlib
import json
import math
import pathlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tightrope import problems
from tightrope.compiled.kernels import jit
from tightrope.core import checks, files
from tightrope.core.policy import Policy, Problem, accepts, label
from tightrope.core.registry import check_fit, examples, load_module, offers, policy_from_spec
from tightrope.core.verbs import describe
from tightrope.simulation.loops import World, prepare, to_horizon
from tightrope.simulation.monitors import NoMonitor
from tightrope.simulation.store import machine, versions
from tightrope.solvers.oracles import TopK

SECONDS = 0.02  # of CPU time per run
YARDSTICK_ROUNDS = 400_000  # about as long
RUNS = 20
MORE_TRIES = 4  # times that a kernel which looks slow is measured again
SAVED = 3  # measurements behind a stored one
LEAST = 0.8  # of its stored multiple of the yardstick that a checked kernel must reach
# What `make bench-check` measures, and over how many rounds (about 0.02 s): every family; short
# rounds, where an allocation would show, and long ones, where a solver would.
CHECKED: tuple[tuple[str, dict[str, object], str, int], ...] = (
    ("UCB", {}, "Bernoulli K=10", 400_000),
    ("KLUCB", {}, "Bernoulli K=10", 20_000),
    ("BetaThompson", {}, "Bernoulli K=10", 100_000),
    ("EpsilonGreedy", {}, "Bernoulli K=10", 300_000),
    (
        "CUCB2",
        {"baseline": 0, "baseline_mean": 0.4, "alpha": 0.3, "sigma": 0.2, "martingale": "freedman"},
        "Bernoulli K=10",
        400_000,
    ),
    (
        "CUCB2",
        {"baseline": 0, "baseline_mean": 0.4, "alpha": 0.3, "sigma": 0.2, "martingale": "freedman"},
        "Bernoulli K=17",
        400_000,
    ),
    ("CLUCB2", {"baseline": 0, "baseline_mean": 0.4, "sigma": 0.2}, "Linear K=50 d=10", 40_000),
    (
        "Safe",
        {"inner": {"policy": "UCB"}, "baseline": 0, "baseline_mean": 0.4},
        "Bernoulli K=10",
        300_000,
    ),
    ("LinUCB", {}, "Linear K=30 d=100", 25_000),
    ("LinUCB", {}, "Contextual K=10 d=10", 25_000),
    ("LinTS", {}, "Linear K=50 d=10", 16_000),
    ("LinEpsilonGreedy", {}, "Linear K=30 d=100", 25_000),
    ("SoftUCB", {}, "Linear K=50 d=10", 25_000),
    ("LinGapE", {"epsilon": 0.1}, "Linear K=40 d=36", 20_000),
    ("UGapE", {"epsilon": 0.1}, "Bernoulli K=10", 150_000),
    ("RAGE", {"epsilon": 0.1}, "Linear K=6 d=5", 80_000),
    ("CKLUCB", {"lipschitz": 1.0}, "Lipschitz K=17", 150_000),
    ("OSLB", {"lipschitz": 1.0}, "Lipschitz K=17", 30_000),
    ("HOO", {"nu": 1.0}, "Lipschitz K=46", 30_000),
    ("PC2UCB", {}, "Sets N=20,000 k=200", 4),
)


class Measurement(NamedTuple):
    """The speed of a policy on a problem."""

    rounds_per_second: float
    microseconds: float  # per round
    relative: float  # speed as a multiple of the yardstick's
    yardstick: float  # its rounds per second, in between


def standard_problems() -> dict[str, tuple[Problem, bool | None]]:
    """Name -> (problem, for policies that stop: True, that never stop: False, both: None)."""
    rng = np.random.default_rng(0)

    def sphere(*shape: int) -> np.ndarray:
        rows = rng.normal(size=shape)
        return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))

    def triangle(K: int) -> problems.Lipschitz:
        points = np.linspace(0, 1, K)
        return problems.Lipschitz(
            points=points, means=0.8 - 0.5 * np.abs(points - 0.5), lipschitz=0.5
        )

    def catalogue(N: int) -> problems.SemiBandit:
        return problems.SemiBandit(sphere(N, 51), sphere(51), TopK(200), noise=0.5)

    return {
        "Bernoulli K=10": (problems.Bernoulli(np.linspace(0.25, 0.75, 10)), None),
        "Bernoulli K=17": (problems.Bernoulli(triangle(17).means), None),
        "Linear K=30 d=100": (problems.Linear(sphere(30, 100), sphere(100), noise=0.1), False),
        "Linear K=50 d=10": (problems.Linear(sphere(50, 10), sphere(10), noise=0.1), False),
        "Linear K=6 d=5": (problems.Linear(sphere(6, 5), sphere(5), noise=1.0), True),
        "Linear K=40 d=36": (problems.Linear(sphere(40, 36), sphere(36), noise=1.0), True),
        "Contextual K=10 d=10": (problems.ContextualLinear(sphere(10), arms=10, noise=0.1), None),
        "Lipschitz K=17": (triangle(17), None),
        "Lipschitz K=46": (triangle(46), None),
        "Sets N=20,000 k=200": (catalogue(20_000), None),
        "Sets N=200,000 k=200": (catalogue(200_000), None),
        "Promotions N=20,000 k=200": (
            problems.Promotions(sphere(20_000, 51), rng.integers(0, 6, (20_000, 10)), k=200),
            None,
        ),
    }


def click_problems() -> dict[str, tuple[Problem, bool | None]]:
    """The same for policies that take rewards in [0, 1] only, where no standard problem pays
    such."""
    rng = np.random.default_rng(1)
    rows = rng.random((50, 10))
    rows /= rows.sum(axis=1, keepdims=True)  # with theta in [0, 1] all means are in [0, 1]
    chosen = problems.SemiBandit(rows, rng.random(10), TopK(5), rewards="bernoulli")
    return {
        "Clicks K=50 d=10": (problems.Linear(rows, rng.random(10), rewards="bernoulli"), False),
        "Clicks N=50 k=5": (chosen, None),
    }


def cases(only: str = "") -> Iterator[tuple[str, Policy, str, Problem]]:
    """Every policy whose label contains `only`, on the standard problems whose structure it uses
    and whose rewards it takes."""
    standard, clicks = standard_problems(), click_problems()
    for policy in examples().values():
        if only.lower() in label(policy).lower():
            for name, problem in places(policy, standard) or places(policy, clicks):
                yield label(policy), policy, name, problem


def places(
    policy: Policy, among: dict[str, tuple[Problem, bool | None]]
) -> list[tuple[str, Problem]]:
    """The problems that fit a policy."""
    fitting = []
    for name, (problem, stops) in among.items():
        arms = describe(problem)
        structure = set(offers(arms)) - {"arms"} or {"arms"}
        if structure & set(accepts(policy)) and stops in (None, bool(type(policy).TRAITS.stops)):
            with contextlib.suppress(ValueError):  # rewards that it does not take
                check_fit(policy, arms)
                fitting.append((name, problem))
    return fitting


@jit
def _yardstick(rounds, rng):
    """A hand-fused loop: ten running means, one log, ten square roots and a uniform a round."""
    pulls, sums = np.ones(10), np.zeros(10)
    for t in range(rounds):
        log_t, best, top = math.log(t + 2.0), 0, -math.inf
        for k in range(10):
            value = sums[k] / pulls[k] + math.sqrt(2.0 * log_t / pulls[k])
            if value > top:
                best, top = k, value
        pulls[best] += 1.0
        sums[best] += 1.0 if rng.random() < 0.05 * best else 0.0
    return sums.sum()


def yardstick_speed() -> float:
    """Rounds per CPU second of the hand-fused loop, once."""
    return _speed_of(
        lambda: _yardstick(YARDSTICK_ROUNDS, np.random.default_rng(0)), YARDSTICK_ROUNDS
    )


def _speed_of(run: Callable[[], object], rounds: int) -> float:
    started = time.process_time()
    run()
    return rounds / max(time.process_time() - started, 1e-9)


def measure(policy: Policy, problem: Problem, rounds: int | None = None) -> Measurement:
    """The best of RUNS short runs beside the best of as many of the yardstick between them, after a
    warm-up.

    rounds: of a run; default what takes about SECONDS. Of many short runs in turn the best is what
    other programs disturb least.
    """
    _yardstick(10, np.random.default_rng(0))
    horizon = _horizon(policy, problem) if rounds is None else rounds
    _speed(policy, problem, horizon)
    pairs = [(yardstick_speed(), _speed(policy, problem, horizon)) for _ in range(RUNS)]
    yardstick, speed = (max(column) for column in zip(*pairs, strict=True))
    return Measurement(speed, 1e6 / speed, speed / yardstick, yardstick)


def better(first: Measurement, second: Measurement) -> Measurement:
    """Two measurements of the same as one."""
    speed, yardstick = (
        max(first.rounds_per_second, second.rounds_per_second),
        max(first.yardstick, second.yardstick),
    )
    return Measurement(speed, 1e6 / speed, speed / yardstick, yardstick)


def _horizon(policy: Policy, problem: Problem) -> int:
    horizon = 64
    speed = _speed(policy, problem, horizon)
    while horizon / speed < SECONDS / 4 and horizon < 50_000_000:
        horizon = min(max(int(speed * SECONDS / 2), 4 * horizon), 50 * horizon)
        speed = _speed(policy, problem, horizon)
    return max(int(speed * SECONDS), 4)


def _speed(policy: Policy, problem: Problem, horizon: int) -> float:
    run = prepare(policy, World(problem), 0, 0, horizon)
    _, _, play = to_horizon(run, NoMonitor(), np.array([horizon]))
    play(0, 1)  # compiles
    return _speed_of(lambda: play(1, horizon), horizon - 1)


def checked_cases(only: str = "") -> Iterator[tuple[str, Policy, Problem, int]]:
    """Key, policy, problem and rounds of every kernel of `CHECKED` whose key contains `only`."""
    standard = standard_problems()
    for name, parameters, problem, rounds in CHECKED:
        key = f"{name} on {problem}"
        if only.lower() in key.lower():
            yield key, policy_from_spec({"policy": name} | parameters), standard[problem][0], rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--baseline",
        type=pathlib.Path,
        default=pathlib.Path("benchmarks/baseline.json"),
        help="JSON file to compare with",
    )
    parser.add_argument("--save", action="store_true", help="write this run to the baseline file")
    parser.add_argument("--only", default="", help="only policies whose name contains this")
    parser.add_argument(
        "--check",
        action="store_true",
        help="a fixed list of 20 kernels; fail where one has become slow",
    )
    parser.add_argument(
        "--import",
        dest="modules",
        action="append",
        default=[],
        help="a module or .py file with policies of your own",
    )
    options = parser.parse_args()
    for module in options.modules:
        load_module(module)
    slow = compare(options.baseline, options.save, options.only, options.check)
    if slow:
        sys.exit(f"Below {LEAST:g} of the baseline: {'; '.join(slow)}.")


def compare(baseline: pathlib.Path, save: bool, only: str, check: bool) -> list[str]:
    """Measure, print, store where asked for. Returns the checked kernels that have become slow or
    are not stored."""
    processor = machine()["cpu"]
    stored = json.loads(baseline.read_text()) if baseline.exists() else {}
    ours = stored.setdefault("checked" if check else "relative", {}).setdefault(processor, {})
    before: dict[str, float] = ours.get("multiples", {})

    def cases_of(only: str) -> list[tuple[str, Policy, Problem, int | None]]:
        if check:
            return list(checked_cases(only))
        return [
            (f"{name} on {place}", policy, problem, None)
            for name, policy, place, problem in cases(only)
        ]

    selection = cases_of(only)
    if not selection:
        names = sorted({type(policy).__name__ for _, policy, _, _ in cases_of("")})
        sys.exit(
            f"only = {only!r} is in the name of nothing that is measured.{checks.hint(only, names)}"
        )
    print("The yardstick is a hand-fused UCB loop with K = 10, measured beside each.")
    print(
        f"{'rounds/s':>12} {'µs/round':>9} {'x yardstick':>11} {'x baseline':>10}  policy and "
        "problem",
        flush=True,
    )
    measured: dict[str, Measurement] = {}

    def look(key: str, policy: Policy, problem: Problem, rounds: int | None) -> None:
        got = measure(policy, problem, rounds)
        measured[key] = got = better(measured[key], got) if key in measured else got
        ratio = "new" if key not in before else f"{got.relative / before[key]:.2f}"
        print(
            f"{got.rounds_per_second:12,.0f} {got.microseconds:9.3g} {got.relative:11.3g} "
            f"{ratio:>10}  {key}",
            flush=True,
        )
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
            print(
                "Once more:" if save else "Once more, now that what disturbed them may have ended:"
            )
        for case in repeats:
            look(*case)
    if save:
        print(f"baseline: {baseline}")
    elif check and not before:
        print(
            f"{baseline} has no multiples of this kind of processor ({processor}), and those of "
            "another say nothing here. make bench-check AGAINST=COMMIT compares with a commit; "
            "--save stores these.",
            file=sys.stderr,
        )
    elif check:
        slow = [
            f"{key} ({got.relative / before[key]:.2f})"
            for key, got in measured.items()
            if is_slow(key)
        ]
        return slow + [f"{key} (new)" for key in measured if key not in before]
    return []


if __name__ == "__main__":
    main()
