"""Rounds per second and core of every registered policy, with a yardstick measured in the same run."""

import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import problems
from .._jit import jit
from ..matching import accepts, offers
from ..registry import examples, label
from ..solvers.oracles import TopK
from ..verbs import arms, begin
from .loops import fixed_horizon, new_log
from .monitors import NoMonitor
from .runner import loop_for, prepare

SECONDS = 0.4  # of measured CPU time per run
RUNS = 3


class Measurement(NamedTuple):
    """One line of the benchmark."""

    policy: str
    problem: str
    rounds_per_second: float
    microseconds: float  # per round
    relative: float  # speed as a multiple of the yardstick's


def standard_problems() -> dict[str, tuple[Any, bool | None]]:
    """Name -> (problem, for policies that stop: True, that never stop: False, both: None)."""
    rng = np.random.default_rng(0)

    def sphere(*shape: int) -> np.ndarray:
        rows = rng.normal(size=shape)
        return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))

    def triangle(K: int) -> Any:
        points = np.linspace(0, 1, K)
        return problems.Lipschitz(points=points, means=0.8 - 0.5 * np.abs(points - 0.5), lipschitz=0.5)

    def catalogue(N: int) -> Any:
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
        "Promotions N=20,000 k=200": (problems.Promotions(sphere(20_000, 51), rng.integers(0, 6, (20_000, 10)), k=200), None),
    }


def cases(only: str = "") -> Iterator[tuple[str, Any, str, Any]]:
    """Every policy whose label contains `only`, on the standard problems whose structure it uses."""
    standard = standard_problems()
    for policy in examples().values():
        if only.lower() not in label(policy).lower():
            continue
        for name, (problem, stops) in standard.items():
            structure = set(offers(arms(problem))) - {"arms"} or {"arms"}
            if structure & set(accepts(policy)) and stops in (None, type(policy).TRAITS.stops):
                yield label(policy), policy, name, problem


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
    """Rounds per CPU second of the hand-fused loop."""
    _yardstick(10, np.random.default_rng(0))
    return max(_timed(lambda: _yardstick(2_000_000, np.random.default_rng(0)), 2_000_000) for _ in range(RUNS))


def _timed(run: Any, rounds: int) -> float:
    started = time.process_time()
    run()
    return rounds / max(time.process_time() - started, 1e-9)


def measure(name_of_policy: str, policy: Any, name: str, problem: Any, yardstick: float) -> Measurement:
    """Median speed over RUNS runs of about SECONDS each, after compilation and a warm-up."""
    horizon = 64
    speed = _speed(policy, problem, horizon)
    while horizon / speed < SECONDS / 4 and horizon < 50_000_000:
        horizon = min(max(int(speed * SECONDS / 2), 4 * horizon), 50 * horizon)
        speed = _speed(policy, problem, horizon)
    horizon = max(int(speed * SECONDS), 16)
    speed = float(np.median([_speed(policy, problem, horizon) for _ in range(RUNS)]))
    return Measurement(name_of_policy, name, speed, 1e6 / speed, speed / yardstick)


def _speed(policy: Any, problem: Any, horizon: int) -> float:
    run = prepare(policy, problem, 0, 0, horizon)
    log = new_log(np.array([horizon]), run.arms.number)
    monitor = NoMonitor()
    tally = begin(monitor, run.arms, 1)
    loop = loop_for(fixed_horizon, run.policy, run.problem)
    loop(run.policy, run.state, run.problem, monitor, tally, log, 0, 1, *run.streams)  # compiles
    return _timed(lambda: loop(run.policy, run.state, run.problem, monitor, tally, log, 1, horizon, *run.streams), horizon - 1)
