"""`simulate`: policies against a problem over a fixed horizon."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..core.delay import Delay
from ..core.matching import ORDERS
from ..core.monitor import Monitor
from ..core.policy import Policy, label
from ..core.problem import Problem
from ..core.registry import policy_to_spec
from ..core.types import JsonObject
from ..core.verbs import begin, describe, lower_bound
from ..results.results import Result
from . import stopping
from .arguments import PerProblem, as_monitors, as_policies, as_problems, as_rounds, first_round
from .delays import as_delay
from .pending_rewards import check_room, new_pending
from .replication import Interrupted, Progress, Slices, prepare, to_horizon
from .runs import provenance
from .runs.executors import Engine, shared_workers
from .runs.orchestrator import Outcome, run_experiment
from .runs.plan import Rows
from .runs.progress import showing

ROUNDING = 1e-9  # of the largest mean, each round


def geometric_checkpoints(horizon: int, count: int = 60) -> np.ndarray:
    """About `count` rounds spread evenly on a log scale, the horizon among them."""
    return np.unique(np.round(np.geomspace(1, horizon, min(count, horizon))).astype(np.int64))


@dataclass(frozen=True)
class FixedHorizon:
    """The experiment of `simulate`."""

    problems: Sequence[Problem]
    policies: dict[str, PerProblem[Policy]]
    monitors: dict[str, PerProblem[Monitor]]
    horizon: int
    checkpoints: np.ndarray
    seed: int
    delay: Delay | None = None
    in_order: bool = False
    kind = "simulation"

    @property
    def rounds(self) -> int:
        return self.horizon

    @property
    def period(self) -> int:
        return len(self.problems)

    def names(self) -> list[str]:
        return list(self.policies)

    def common(self) -> JsonObject:
        late = {"delay": None if self.delay is None else repr(self.delay), "apply": ORDERS[self.in_order]}
        return {"horizon": self.horizon, "checkpoints": self.checkpoints.tolist(), "seed": self.seed} | late

    def content(self, name: str, replication: int) -> dict[str, object]:
        policy, problem, monitor = self._parts(name, replication)
        return {"problem": problem, "policy": policy, "monitor": monitor, "delay": self.delay}

    def _parts(self, name: str, replication: int) -> tuple[Policy, Problem, Monitor]:
        return self.policies[name][replication], self.problems[replication % len(self.problems)], self.monitors[name][replication]

    def label(self, name: str, replication: int) -> str:
        return label(self.policies[name][replication])

    def replicate(self, name: str, replication: int, slices: Slices) -> Rows:
        policy, problem, monitor = self._parts(name, replication)
        run = prepare(policy, problem, self.seed, replication, self.horizon)
        pending = None
        if self.delay is not None:
            pending = new_pending(self.delay, self.in_order, self.horizon, problem)
        log, tally, play = to_horizon(run, monitor, self.checkpoints, pending)
        slices.run(play, self.horizon)
        _check_regret(log.regret, self.checkpoints, name, problem)
        return {"regret": log.regret, "pulls": log.pulls.astype(np.int64)} | {
            f"watched.{field}": array for field, array in tally._asdict().items() if array.size
        }


def _check_regret(regret: np.ndarray, rounds: np.ndarray, name: str, problem: Problem) -> None:
    """Refuse regret that no problem can have; rounding may carry it a little below 0, the more the larger rewards are."""
    largest = np.abs(getattr(problem, "means", 0.0)).max(initial=1.0)
    wrong = np.flatnonzero(~np.isfinite(regret) | (regret < -ROUNDING * largest * rounds))
    if wrong.size:
        raise ValueError(
            f"regret of {name!r} is {regret[wrong[0]]:.6g} after {rounds[wrong[0]]} rounds, but must be a finite number from 0: "
            f"{type(problem).__name__} measures it against what is not the best. An oracle must answer with the set of largest total "
            "score, and a problem's regret must be that of its best action."
        )


def simulate(
    problem: Problem | Sequence[Problem],
    policies: Mapping[str, Policy | Callable[..., Policy]] | Sequence[Policy] | Policy,
    *,
    horizon: int,
    replications: int | None = None,
    seed: int = 0,
    checkpoints: ArrayLike | None = None,
    monitor: Mapping[str, Monitor | Callable[..., Monitor] | None] | Monitor | Callable[..., Monitor] | None = None,
    delay: Delay | None = None,
    apply: Literal["on arrival", "in order"] = "on arrival",
    workers: int | None = None,
    engine: Engine = "threads",
    address: str | None = None,
    out: str | pathlib.Path | None = None,
    progress: Progress | bool | None = None,
    until: stopping.Ranking | None = None,
) -> Result:
    """Play every policy against the same contexts and noise and return regret at checkpoints.

    Parameters
    ----------
    problem : Problem or sequence of Problem
        Of one class where there are several: replication r plays problems[r % len].
    policies : Policy, list of Policy, or dict of name to Policy or function
        A function takes the problem and returns a policy. Policies without a name are called after their classes.
    horizon : int >= 1
        T, rounds.
    replications : int >= 1
        Default 1.
    seed : int >= 0
        Streams depend only on it and on the replication.
    checkpoints : increasing ints in 1..T
        Rounds; default about 60 on a log scale.
    monitor : Monitor, function of the problem, or dict by policy
        Records more than regret, as `Budget` does.
    delay : Delay
        When rewards are learned, see `tr.delays`; None: in their own round. Those open at T are dropped; regret counts when decided.
    apply : "on arrival" or "in order"
        In order of decisions, a reward is held back until all earlier ones are in.
    workers : int
        Threads or processes, default all cores. Results depend neither on it nor on engine and address.
    engine : "threads", "processes", "dask", "ray" or Executor
        Processes are for rounds that are Python, as with sets of arms.
    address : str
        Of a running Dask scheduler or Ray cluster; None: workers are started here.
    out : path
        A folder that chunks and the result are written to; the same call finds them again.
    progress : bool or function of (rounds done, rounds in all)
        True: a bar, or lines in a log.
    until : Ranking
        In place of replications: as many as the order of the policies takes, see `tr.stopping`.

    Returns
    -------
    Result

    Raises
    ------
    ValueError
        Where an argument is out of its range, or a policy does not fit the problem.
    Interrupted
        On Ctrl-C, with the finished replications as `result`.

    Examples
    --------
    >>> import tightrope as tr
    >>> result = tr.simulate(tr.problems.Bernoulli([0.3, 0.6]), tr.UCB(), horizon=100, replications=2)
    >>> result.regret["UCB"].shape == (2, result.rounds.size)
    True
    """
    problems = as_problems(problem)
    horizon = as_rounds("horizon", horizon)
    chosen = as_policies(policies, problems, horizon)
    if until is not None and replications is not None:
        raise ValueError(
            f"replications = {checks.show(replications)} and until were both given; until finds their number, so leave one out."
        )
    count = checks.integer("replications", 1 if replications is None else replications, least=1) if until is None else _most(until, chosen)
    seed = checks.seed(seed)
    rounds = geometric_checkpoints(horizon) if checkpoints is None else _checkpoints(checkpoints, horizon)
    late, in_order = as_delay(delay), checks.choice("apply", apply, ORDERS) == 1
    experiment = FixedHorizon(problems, chosen, as_monitors(monitor, list(chosen), problems), horizon, rounds, seed, late, in_order)
    if late is not None:
        check_room(late, in_order, horizon, first_round(problems[0]))
    checks.fits_in_memory("replications" if until is None else "until: most", count, _bytes_left(experiment))
    settings = {
        "policies": {name: provenance.record(item.function, item.items, policy_to_spec) for name, item in chosen.items()},
        "problem": provenance.problem_record(problems),
        "horizon": horizon,
        "replications": count,
        "seed": seed,
        "rounds": rounds.tolist(),
        "delay": None if late is None else repr(late),
        "apply": apply,
        "monitor": {name: provenance.record(item.function, item.items, repr) for name, item in experiment.monitors.items()},
        "versions": provenance.versions(),
    }
    with showing(progress, "simulate", known=until is None) as advance:
        if until is None:
            outcome = run_experiment(experiment, count, engine=engine, address=address, workers=workers, out=out, progress=advance)
        else:
            with shared_workers(engine, workers, address) as cluster:  # its groups are runs one after the other
                left = workers if cluster == address else None  # a cluster that was started has its size
                play = functools.partial(run_experiment, experiment, engine=engine, address=cluster, workers=left, out=out)
                outcome, settings["until"] = _until_ranked(until, experiment, play, advance)
    settings |= {"command": provenance.command(), "lower_bound": _mean_bound(problems), "replications": len(outcome.common)}
    result = _result_of(rounds, outcome, settings) if outcome.common else None
    if result is None or not outcome.complete:
        raise Interrupted(result)
    if out is not None:
        result.save(out)
    return result


def _most(until: object, policies: Mapping[str, PerProblem[Policy]]) -> int:
    if not isinstance(until, stopping.Ranking):
        raise ValueError(f"until = {checks.show(until)} is not a rule; pass stopping.Ranking(alpha=0.05, least=10, most=1000).")
    if len(policies) < 2:
        raise ValueError("until ranks policies, but there is one; give at least two, or replications.")
    return until.most


def _until_ranked(
    until: stopping.Ranking, experiment: FixedHorizon, play: Callable[..., Outcome], progress: Progress | None
) -> tuple[Outcome, JsonObject | None]:
    """Replications in groups until their order is certain, and what the settings say of it; None after an interruption."""
    scale, outcome = until.scale(experiment.problems, int(experiment.checkpoints[-1])), Outcome({})
    each = len(experiment.policies) * experiment.horizon
    begin = 0
    for end in until.looks(experiment.period):
        offset = begin * each

        def advance(done: int, total: int, offset: int = offset) -> None:
            assert progress is not None
            progress(offset + done, until.most * each)

        outcome.take(play(end, begin=begin, progress=None if progress is None else advance))
        if not outcome.complete:
            return outcome, None
        cost = {name: np.array([rows[r]["regret"][-1] for r in outcome.common]) for name, rows in outcome.rows.items()}
        ranking = stopping.judged(cost, scale, until.alpha, experiment.period)
        if not ranking.undecided:
            break
        begin = end
    if progress is not None:
        progress(end * each, end * each)
    return outcome, stopping.record(until, scale, end, ranking)


def _mean_bound(problems: Sequence[Problem]) -> list[float] | None:
    bounds = [lower_bound(problem) for problem in problems]
    return None if None in bounds else [float(part) for part in np.mean(bounds, axis=0)]


def _checkpoints(checkpoints: ArrayLike, horizon: int) -> np.ndarray:
    rounds = checks.vector("checkpoints", checkpoints, least=1, most=horizon)
    if (np.diff(rounds) <= 0).any() or (rounds != np.round(rounds)).any():
        raise ValueError(f"checkpoints = {checks.show(rounds)} must be increasing whole rounds from 1 to {horizon}.")
    return rounds.astype(np.int64)


def _bytes_left(experiment: FixedHorizon) -> int:
    total, description = 0, describe(experiment.problems[0])
    for name in experiment.policies:
        tally = begin(experiment.monitors[name][0], description, experiment.checkpoints.size)
        total += 8 * (experiment.checkpoints.size + description.number) + sum(array.nbytes for array in tally)
    return total


def _result_of(rounds: np.ndarray, outcome: Outcome, settings: JsonObject) -> Result:
    regret, pulls, watched = {}, {}, {}
    for name, rows in outcome.rows.items():
        table = {key: np.stack([rows[r][key] for r in outcome.common]) for key in rows[outcome.common[0]]}
        regret[name], pulls[name] = table.pop("regret"), table.pop("pulls")
        watched[name] = {key.removeprefix("watched."): array for key, array in table.items()}
    return Result(rounds=rounds, regret=regret, pulls=pulls, watched=watched, settings=settings)
