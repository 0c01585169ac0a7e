"""`identify`: policies that stop when they know the best arm."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core import checks
from ..core.matching import check_question
from ..core.policy import Policy, label
from ..core.problem import Problem
from ..core.registry import policy_to_spec
from ..core.streams import PROBLEM, stream
from ..core.verbs import describe, evidence, mean, observe, recommend, stopped, tolerance
from ..results.results import ANSWERS, Identification
from .arguments import PerProblem, as_policies, as_problems, as_rounds
from .replication import Interrupted, Progress, Slices, prepare, to_stop
from .runs import provenance
from .runs.executors import Engine
from .runs.orchestrator import Outcome, run_experiment
from .runs.plan import Rows
from .runs.progress import showing

ROUNDING = 1e-12  # means this close to the best are the best


@dataclass(frozen=True)
class UntilStop:
    """The experiment of `identify`."""

    problems: Sequence[Problem]
    policies: dict[str, PerProblem[Policy]]
    rounds: int  # where a replication ends at the latest
    may_stop: bool  # False: a fixed budget, used up
    seed: int
    kind = "identification"

    @property
    def period(self) -> int:
        return len(self.problems)

    def names(self) -> list[str]:
        return list(self.policies)

    def common(self) -> dict[str, object]:
        return {"max_rounds" if self.may_stop else "budget": self.rounds, "seed": self.seed}

    def content(self, name: str, replication: int) -> dict[str, object]:
        return {"problem": self.problems[replication % self.period], "policy": self.policies[name][replication]}

    def label(self, name: str, replication: int) -> str:
        return label(self.policies[name][replication])

    def replicate(self, name: str, replication: int, slices: Slices) -> Rows:
        problem = self.problems[replication % self.period]
        run = prepare(self.policies[name][replication], problem, self.seed, replication, None if self.may_stop else self.rounds)
        log, play = to_stop(run, self.may_stop)
        played = slices.run(play, self.rounds)
        arm, support = int(recommend(run.policy, run.state)), evidence(run.policy, run.state)
        context = observe(run.problem, 0, stream(self.seed, replication, PROBLEM))
        truth = np.array([mean(run.problem, context, k) for k in range(run.arms.number)])
        return {
            "arm": np.array(arm), "rounds": np.array(played), "pulls": log.pulls.astype(np.int64),
            "stopped": np.array(bool(stopped(run.policy, run.state))),
            "gap_bound": np.array(support["gap_bound"]), "error": np.array(support["error"]),
            "correct": np.array(bool(truth[arm] >= truth.max() - tolerance(run.policy) - ROUNDING)),
        }  # fmt: skip


def identify(
    problem: Problem | Sequence[Problem],
    policies: Mapping[str, Policy | Callable[..., Policy]] | Sequence[Policy] | Policy,
    *,
    replications: int = 1,
    seed: int = 0,
    max_rounds: int = 10**7,
    budget: int | None = None,
    workers: int | None = None,
    engine: Engine = "threads",
    address: str | None = None,
    out: str | pathlib.Path | None = None,
    progress: Progress | bool | None = None,
) -> Identification:
    """Let every policy sample until it has its answer.

    Parameters
    ----------
    problem, policies, seed, workers, engine, address, out, progress
        As for `simulate`; the policies must be able to stop.
    replications : int >= 1
        Independent runs.
    max_rounds : int >= 1
        Rounds after which to give up; the arm is then not certified.
    budget : int >= 1
        A fixed number of rounds instead: no stopping before, and `stopped` tells whether it could have.

    Returns
    -------
    Identification

    Raises
    ------
    ValueError
        Where an argument is out of its range, or a policy never stops.
    Interrupted
        On Ctrl-C, with the finished replications as `result`.

    Examples
    --------
    >>> import tightrope as tr
    >>> answer = tr.identify(tr.problems.Bernoulli([0.1, 0.9]), tr.UGapE(epsilon=0.2, delta=0.1, noise=0.5))
    >>> int(answer.arm["UGapE"][0])
    1
    """
    problems = as_problems(problem)
    chosen = as_policies(policies, problems, None)
    for name, item in chosen.items():
        instance = item[0]
        if not type(instance).TRAITS.stops:
            raise ValueError(f"policies[{name!r}] = {type(instance).__name__} never stops; use simulate, or an identification policy.")
        check_question(instance, describe(problems[0]))
    replications = checks.integer("replications", replications, least=1)
    seed = checks.seed(seed)
    max_rounds = as_rounds("max_rounds", max_rounds)
    limit = max_rounds if budget is None else as_rounds("budget", budget)
    checks.fits_in_memory("replications", replications, 8 * len(chosen) * (describe(problems[0]).number + len(ANSWERS)))
    settings = {
        "policies": {name: provenance.record(item.function, item.items, policy_to_spec) for name, item in chosen.items()},
        "problem": provenance.problem_record(problems),
        "seed": seed, "max_rounds": max_rounds, "budget": budget, "versions": provenance.versions(),
    }  # fmt: skip
    experiment = UntilStop(problems, chosen, limit, budget is None, seed)
    with showing(progress, "identify", known=budget is not None) as advance:
        outcome = run_experiment(experiment, replications, engine=engine, address=address, workers=workers, out=out, progress=advance)
    settings |= {"replications": len(outcome.common), "command": provenance.command()}
    result = _result_of(outcome, settings) if outcome.common else None
    if result is None or not outcome.complete:
        raise Interrupted(result)
    if out is not None:
        result.save(out)
    return result


def _result_of(outcome: Outcome, settings: dict[str, object]) -> Identification:
    def column(key: str) -> dict[str, np.ndarray]:
        return {name: np.array([rows[r][key] for r in outcome.common]) for name, rows in outcome.rows.items()}

    return Identification(**{key: column(key) for key in (*ANSWERS, "pulls")}, settings=settings)
