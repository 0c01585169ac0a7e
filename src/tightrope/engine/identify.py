"""`identify`: policies that stop when they know the best arm."""

import pathlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import checks
from ..matching import check_question
from ..registry import described
from ..rng import PROBLEM, stream
from ..verbs import arms, evidence, mean, observe, recommend, stopped
from . import provenance
from .loops import new_log, until_stop
from .runner import Interrupted, Parts, Progress, Slices, as_policies, as_problems, loop_for, prepare, run_blocks


@dataclass(frozen=True)
class Identification:
    """What every policy named, and at what cost; arrays have one entry per replication.

    arm[name], rounds[name], stopped[name] (False: max_rounds or the budget ran out, the arm is not certified),
    correct[name] (the arm's mean is within the policy's epsilon of the best), pulls[name] (replications, K), gap_bound[name] (with
    probability 1 - delta the arm is at most that much worse than the best), error[name] (estimated probability that it is worse by
    more than epsilon): what a fixed budget has to say about its best guess.
    """

    arm: dict[str, np.ndarray]
    rounds: dict[str, np.ndarray]
    pulls: dict[str, np.ndarray]
    correct: dict[str, np.ndarray]
    stopped: dict[str, np.ndarray]
    gap_bound: dict[str, np.ndarray]
    error: dict[str, np.ndarray]
    settings: dict[str, Any] = field(default_factory=dict)

    def frame(self) -> Any:
        """One row per policy and replication, as a pandas DataFrame."""
        import pandas as pd

        columns = ("arm", "rounds", "stopped", "correct", "gap_bound", "error")
        tables = [
            pd.DataFrame({"policy": name, "replication": np.arange(arm.size)} | {key: getattr(self, key)[name] for key in columns})
            for name, arm in self.arm.items()
        ]
        return pd.concat(tables, ignore_index=True)


def identify(
    problem: Any,
    policies: Mapping[str, Any] | Any,
    *,
    replications: int = 1,
    seed: int = 0,
    max_rounds: int = 10**7,
    budget: int | None = None,
    workers: int | None = None,
    out: str | pathlib.Path | None = None,
    progress: Progress | None = None,
) -> Identification:
    """Let every policy sample until it has its answer.

    problem and policies: as for `simulate`; the policies must be able to stop. max_rounds: where to give up (the arm is then
    not certified). budget: a fixed number of rounds instead: no stopping before, `stopped` tells whether it could have.
    workers, seed, out, progress: as for `simulate`. Returns an `Identification`.
    """
    problems = as_problems(problem)
    chosen = as_policies(policies, problems)
    for name, item in chosen.items():
        instance = item[0]
        if not type(instance).TRAITS.stops:
            raise ValueError(f"policies[{name!r}] = {type(instance).__name__} never stops; use simulate, or an identification policy.")
        check_question(instance, arms(problems[0]))
    replications = checks.integer("replications", replications, least=1)
    seed = checks.integer("seed", seed, least=0)
    max_rounds = checks.integer("max_rounds", max_rounds, least=1)
    limit = max_rounds if budget is None else checks.integer("budget", budget, least=1)
    settings = {
        "policies": {name: provenance.record(item.function, item.items, described) for name, item in chosen.items()},
        "problem": provenance.problem_record(problems),
        "seed": seed, "max_rounds": max_rounds, "budget": budget, "replications": replications, "versions": provenance.versions(),
    }  # fmt: skip
    parts = Parts(pathlib.Path(out) / "parts", settings) if out is not None else None
    stop, lock, done = threading.Event(), threading.Lock(), [0]
    found: dict[str, dict[int, dict[str, np.ndarray]]] = {name: {} for name in chosen}

    def advance(rounds: int) -> None:
        if progress is not None:
            with lock:
                done[0] += rounds
                progress(done[0], len(chosen) * replications * limit)

    def one(name: str, number: int, replication: int, slices: Slices) -> None:
        label = f"{number:03d}-{replication:06d}"
        row = parts.read(label) if parts is not None else None
        if row is None:
            problem = problems[replication % len(problems)]
            row = _one(problem, chosen[name][replication], seed, replication, limit, budget is not None, slices)
            if parts is not None:
                parts.write(label, row)
        found[name][replication] = row

    tasks = []
    for number, name in enumerate(chosen):
        slices = Slices(stop, advance)
        tasks += [lambda n=name, k=number, r=r, s=slices: one(n, k, r, s) for r in range(replications)]
    complete = run_blocks(tasks, workers, stop)
    common = sorted(set.intersection(*(set(item) for item in found.values())))
    settings |= {"replications": len(common), "command": provenance.command()}

    def column(key: str) -> dict[str, np.ndarray]:
        return {name: np.array([found[name][r][key] for r in common]) for name in found}

    names = ("arm", "rounds", "pulls", "correct", "stopped", "gap_bound", "error")
    result = Identification(**{key: column(key) for key in names}, settings=settings)
    if not complete:
        raise Interrupted(result if common else None)
    return result


def _one(problem: Any, policy: Any, seed: int, replication: int, limit: int, fixed_budget: bool, slices: Slices) -> dict[str, np.ndarray]:
    run = prepare(policy, problem, seed, replication, limit if fixed_budget else None)
    log = new_log(np.zeros(0, dtype=np.int64), run.arms.number)
    play_rounds = loop_for(until_stop, run.policy, run.problem)
    played = 0

    def loop(first: int, last: int) -> int:
        nonlocal played
        run.state, played = play_rounds(run.policy, run.state, run.problem, log, first, last, not fixed_budget, *run.streams)
        return int(played)

    slices.run(loop, limit)
    arm = int(recommend(run.policy, run.state))
    support = evidence(run.policy, run.state)
    context = observe(run.problem, 0, stream(seed, replication, PROBLEM))
    truth = np.array([mean(run.problem, context, k) for k in range(run.arms.number)])
    return {
        "arm": np.array(arm), "rounds": np.array(played), "pulls": log.pulls, "stopped": np.array(bool(stopped(run.policy, run.state))),
        "gap_bound": np.array(support["gap_bound"]), "error": np.array(support["error"]),
        "correct": np.array(bool(truth[arm] >= truth.max() - getattr(run.policy, "epsilon", 0.0) - 1e-12)),
    }  # fmt: skip
