"""`simulate`: policies against a problem over a fixed horizon."""

import itertools
import pathlib
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import checks
from ..registry import described
from ..verbs import begin, lower_bound
from . import provenance
from .loops import fixed_horizon, new_log
from .monitors import NoMonitor
from .results import Result
from .runner import Interrupted, Parts, PerProblem, Progress, Slices, as_policies, as_problems, loop_for, prepare, run_blocks

MOST_BLOCKS = 40  # per policy: the grain of resuming and of sharing work


def geometric_checkpoints(horizon: int, count: int = 60) -> np.ndarray:
    """About `count` rounds spread evenly on a log scale, the horizon among them."""
    return np.unique(np.round(np.geomspace(1, horizon, min(count, horizon))).astype(np.int64))


def simulate(
    problem: Any,
    policies: Mapping[str, Any] | Any,
    *,
    horizon: int,
    replications: int = 1,
    seed: int = 0,
    checkpoints: Any = None,
    monitor: Any = None,
    workers: int | None = None,
    out: str | pathlib.Path | None = None,
    progress: Progress | None = None,
) -> Result:
    """Play every policy against the same contexts and noise and return regret at checkpoints.

    problem: a problem, or a list of problems of one class: replication r plays problems[r % len].
    policies: dict of name -> policy, or name -> function of the problem that returns one (for a baseline or an oracle that
    differs from problem to problem); a single policy is named after its class.
    horizon: T >= 1. replications: >= 1. seed: >= 0; streams depend only on seed and replication.
    checkpoints: increasing rounds in 1..T; default about 60 on a log scale. monitor: records more than regret (see monitors); like
    a policy it may be a function of the problem, and a dict gives every policy its own.
    workers: threads, default all cores; results do not depend on it. out: a folder that finished blocks are written to; the
    same call finds them again after an interruption. progress: called with (rounds done, rounds in all).

    Returns a `Result`. Raises ValueError on bad arguments, `Interrupted` (a KeyboardInterrupt) with `.result` on Ctrl-C.
    """
    problems = as_problems(problem)
    chosen = as_policies(policies, problems)
    horizon = checks.integer("horizon", horizon, least=1)
    replications = checks.integer("replications", replications, least=1)
    seed = checks.integer("seed", seed, least=0)
    rounds = geometric_checkpoints(horizon) if checkpoints is None else _checked(checkpoints, horizon)
    monitors = _as_monitors(monitor, chosen, problems)

    settings = {
        "policies": {name: provenance.record(item.function, item.items, described) for name, item in chosen.items()},
        "problem": provenance.problem_record(problems),
        "horizon": horizon,
        "replications": replications,
        "seed": seed,
        "rounds": rounds.tolist(),
        "monitor": {name: provenance.record(item.function, item.items, repr) for name, item in monitors.items()},
        "versions": provenance.versions(),
    }
    parts = Parts(pathlib.Path(out) / "parts", settings) if out is not None else None
    stop = threading.Event()
    finished: dict[str, dict[int, dict[str, np.ndarray]]] = {name: {} for name in chosen}
    meter = _Meter(progress, len(chosen) * replications * horizon)
    size = -(-replications // MOST_BLOCKS)

    def block(name: str, number: int, first: int, slices: Slices) -> None:
        last = min(first + size, replications)
        label = f"{number:03d}-{first:06d}-{last:06d}"
        rows = parts.read(label) if parts is not None else None
        if rows is None:
            collected = [
                _one(problems[r % len(problems)], chosen[name][r], monitors[name][r], horizon, rounds, seed, r, slices)
                for r in range(first, last)
            ]
            rows = {key: np.stack([one[key] for one in collected]) for key in collected[0]}
            if parts is not None:
                parts.write(label, rows)
        else:
            meter.advance((last - first) * horizon)
        for i in range(last - first):
            finished[name][first + i] = {key: array[i] for key, array in rows.items()}

    tasks = []
    for number, name in enumerate(chosen):
        slices = Slices(stop, meter.advance)
        for first in range(0, replications, size):
            tasks.append(lambda n=name, k=number, f=first, s=slices: block(n, k, f, s))
    complete = run_blocks(tasks, workers, stop)

    settings |= {"command": provenance.command(), "lower_bound": _mean_bound(problems)}
    if complete:
        result = _assemble(rounds, finished, range(replications), settings)
        if out is not None:
            result.save(out)
        return result
    common = sorted(set.intersection(*(set(done) for done in finished.values())))
    raise Interrupted(_assemble(rounds, finished, common, settings | {"replications": len(common)}) if common else None)


def _mean_bound(problems: Any) -> list[float] | None:
    """Mean (C, a) of the problems' lower bounds; None where they have none."""
    found = [lower_bound(problem) for problem in problems]
    return None if None in found else [float(part) for part in np.mean(found, axis=0)]


def _checked(checkpoints: Any, horizon: int) -> np.ndarray:
    given = checks.vector("checkpoints", checkpoints, least=1, most=horizon)
    if (np.diff(given) <= 0).any() or (given != np.round(given)).any():
        raise ValueError(f"checkpoints = {checks.show(given)} must be increasing whole rounds from 1 to {horizon}.")
    return given.astype(np.int64)


def _as_monitors(monitor: Any, chosen: Mapping[str, Any], problems: Any) -> dict[str, PerProblem]:
    """A monitor, given or made by a function of the problem, for every policy."""
    given = dict(monitor) if isinstance(monitor, Mapping) else dict.fromkeys(chosen, monitor)
    if given.keys() != chosen.keys():
        raise ValueError(f"monitor has {', '.join(given)}, but must have the names of the policies, {', '.join(chosen)}.")
    found = {name: PerProblem.of(NoMonitor() if item is None else item, problems, begin.answers) for name, item in given.items()}
    for item in itertools.chain.from_iterable(made.items for made in found.values()):
        if not begin.answers(item):
            raise ValueError(f"monitor = {checks.show(item)} is not a monitor; pass one such as Budget(baseline=0).")
    return found


def _one(
    problem: Any, policy: Any, monitor: Any, horizon: int, rounds: np.ndarray, seed: int, replication: int, slices: Slices
) -> dict[str, np.ndarray]:
    run = prepare(policy, problem, seed, replication, horizon)
    log = new_log(rounds, run.arms.number)
    tally = begin(monitor, run.arms, rounds.size)
    play_rounds = loop_for(fixed_horizon, run.policy, run.problem)

    def loop(first: int, last: int) -> int:
        run.state = play_rounds(run.policy, run.state, run.problem, monitor, tally, log, first, last, *run.streams)
        return last

    slices.run(loop, horizon)
    return {"regret": log.regret, "pulls": log.pulls} | {
        f"watched.{name}": getattr(tally, name) for name in tally._fields if getattr(tally, name).size
    }


def _assemble(rounds: np.ndarray, finished: dict[str, Any], replications: Any, settings: dict[str, Any]) -> Result:
    def stacked(name: str, key: str) -> np.ndarray:
        return np.stack([finished[name][r][key] for r in replications])

    def watched(name: str) -> dict[str, np.ndarray]:
        keys = next(iter(finished[name].values()))
        return {key.removeprefix("watched."): stacked(name, key) for key in keys if key.startswith("watched.")}

    return Result(
        rounds=rounds,
        regret={name: stacked(name, "regret") for name in finished},
        pulls={name: stacked(name, "pulls") for name in finished},
        watched={name: watched(name) for name in finished},
        settings=settings,
    )


class _Meter:
    """Counts rounds from all workers."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done, self.lock = progress, total, 0, threading.Lock()

    def advance(self, rounds: int) -> None:
        if self.progress is not None:
            with self.lock:
                self.done += rounds
                self.progress(self.done, self.total)
