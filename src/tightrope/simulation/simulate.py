"""`simulate`: policies against a problem over a fixed horizon."""

from __future__ import annotations

import functools
import math
import pathlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks, files
from ..core.files import standard_error
from ..core.policy import Delay, Monitor, Policy, Problem, label
from ..core.registry import ORDERS, check_question, policy_to_spec
from ..core.streams import PROBLEM, stream
from ..core.types import JsonObject, State, Tally
from ..core.verbs import (
    begin,
    evidence,
    lower_bound,
    mean,
    observe,
    private,
    recommend,
    stopped,
    tolerance,
)
from ..policies.identification.lingape import LinGapE
from ..policies.identification.ugape import UGapE
from ..problems import Bernoulli, Linear
from ..results import ANSWERS, Identification, Result
from . import stopping, store
from .delays import Late, as_delay
from .executors import Engine, shared_workers
from .lanes import LaneRefused, Layout, lane
from .loops import (
    AtOnce,
    Interrupted,
    Pending,
    PendingRewards,
    PerProblem,
    Progress,
    Replication,
    RunLog,
    Slices,
    World,
    as_monitors,
    as_policies,
    as_rounds,
    as_worlds,
    check_room,
    fixed_horizon,
    new_log,
    new_pending,
    prepare,
    to_horizon,
    to_stop,
    until_stop,
)
from .run import Outcome, run_experiment, showing
from .store import Rows, stacked

R = TypeVar("R", Result, Identification)
ROUNDING = 1e-9  # of the largest mean, each round


def geometric_checkpoints(horizon: int, count: int = 60) -> np.ndarray:
    """About `count` rounds spread evenly on a log scale, the horizon among them."""
    return np.unique(np.round(np.geomspace(1, horizon, min(count, horizon))).astype(np.int64))


@dataclass(frozen=True)
class OnWorlds:
    """What the experiments of `simulate` and `identify` share: policies, each on worlds in turn."""

    worlds: Sequence[World]
    policies: dict[str, PerProblem[Policy]]
    rounds: int  # where a replication ends, or (identify) at the latest
    seed: int

    @property
    def period(self) -> int:
        return len(self.worlds)

    def names(self) -> list[str]:
        return list(self.policies)

    def content(self, name: str, replication: int) -> dict[str, object]:
        return {
            "problem": self.worlds[replication % self.period].problem,
            "policy": self.policies[name][replication],
        }

    def label(self, name: str, replication: int) -> str:
        return label(self.policies[name][replication])


@dataclass(frozen=True, kw_only=True)
class FixedHorizon(OnWorlds):
    monitors: dict[str, PerProblem[Monitor]]
    checkpoints: np.ndarray
    delay: Late | None
    in_order: bool
    kind = "simulation"

    def common(self) -> JsonObject:
        late = {
            "delay": None if self.delay is None else repr(self.delay),
            "apply": ORDERS[self.in_order],
        }
        return {
            "horizon": self.rounds,
            "checkpoints": self.checkpoints.tolist(),
            "seed": self.seed,
        } | late

    def content(self, name: str, replication: int) -> dict[str, object]:
        return super().content(name, replication) | {
            "monitor": self.monitors[name][replication],
            "delay": self.delay,
        }

    def replicate(self, name: str, replication: int, slices: Slices) -> Rows:
        policy, world = self.policies[name][replication], self.worlds[replication % self.period]
        run = prepare(policy, world, self.seed, replication, self.rounds, self.delay is not None)
        monitor = self.monitors[name][replication]
        log, tally, play = to_horizon(run, monitor, self.checkpoints, self._pending(world))
        slices.run(play, self.rounds)
        return self._rows(name, world.problem, log, tally)

    def _pending(self, world: World) -> Pending:
        if self.delay is None:
            return AtOnce()
        return new_pending(self.delay, self.in_order, self.rounds, world)

    def _rows(self, name: str, problem: Problem, log: RunLog, tally: Tally) -> Rows:
        _check_regret(log.regret, self.checkpoints, name, problem)
        return {"regret": log.regret, "pulls": log.pulls.astype(np.int64)} | {
            f"watched.{field}": array for field, array in tally._asdict().items() if array.size
        }

    def layout(self, name: str) -> Layout:
        runs = []
        for r, world in enumerate(self.worlds):
            policy, monitor = self.policies[name][r], self.monitors[name][r]
            run = prepare(policy, world, self.seed, r, self.rounds)
            tally = begin(monitor, run.arms, self.checkpoints.size)
            log = new_log(self.checkpoints, run.arms.number)
            runs.append((policy, run.state, run.problem, self._pending(world), monitor, tally, log))
        return Layout(fixed_horizon, runs, WRITTEN)

    def rows_of_lanes(
        self,
        name: str,
        replications: range,
        layout: Layout,
        reached: np.ndarray,
        arrays: Sequence[np.ndarray],
    ) -> Rows:
        pending, tally, log = (layout.part(k, arrays) for k in (3, 5, 6))
        if isinstance(pending, PendingRewards) and (lost := pending.counts["lost"][0]).any():
            raise LaneRefused(lost.argmax())
        regret = log.regret.T.copy()
        for i in np.flatnonzero((regret.min(axis=1) < 0.0) | ~np.isfinite(regret[:, -1])):
            world = self.worlds[replications[i] % self.period]
            _check_regret(regret[i], self.checkpoints, name, world.problem)
        return {"regret": regret, "pulls": log.pulls.T.astype(np.int64)} | {
            f"watched.{field}": np.moveaxis(array, -1, 0).copy()
            for field, array in tally._asdict().items()
            if array.size
        }


# What lanes write of policy, state, problem, pending rewards, monitor, tally and log.
WRITTEN = (
    False,
    True,
    False,
    lambda field: field not in ("delay", "in_order", "unused"),
    False,
    True,
    lambda field: field != "rounds",
)


def _check_regret(regret: np.ndarray, rounds: np.ndarray, name: str, problem: Problem) -> None:
    """Refuse regret that no problem can have; rounding may carry it a little below 0, the more the
    larger rewards are."""
    if regret.min() >= 0.0 and math.isfinite(regret[-1]):
        return
    largest = np.abs(getattr(problem, "means", 0.0)).max(initial=1.0)
    wrong = np.flatnonzero(~np.isfinite(regret) | (regret < -ROUNDING * largest * rounds))
    if wrong.size:
        raise ValueError(
            f"regret of {name!r} is {regret[wrong[0]]:.6g} after {rounds[wrong[0]]} rounds, but "
            f"must be a finite number from 0: {type(problem).__name__} measures it against what "
            "is not the best. An oracle must answer with the set of largest total score, and a "
            "problem's regret must be that of its best action."
        )


def simulate(
    problem: Problem | Sequence[Problem],
    policies: Mapping[str, Policy | Callable[..., Policy]] | Sequence[Policy] | Policy,
    *,
    horizon: int,
    replications: int | None = None,
    seed: int = 0,
    checkpoints: ArrayLike | None = None,
    monitor: Mapping[str, Monitor | Callable[..., Monitor] | None]
    | Monitor
    | Callable[..., Monitor]
    | None = None,
    delay: Delay | dict[str, Delay] | None = None,
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
        A function takes the problem and returns a policy. Policies without a name are called after
        their classes.
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
    delay : Delay, or dict of Delay
        When rewards are learned, see `tr.delays`; None: in their own round. Of several metrics a
        dict says it by name, `{"revenue": Fixed(2000)}`. Those open at T are
        dropped; regret counts when decided.
    apply : "on arrival" or "in order"
        In order of decisions, a reward is held back until all earlier ones are in.
    workers : int
        Threads or processes, default all cores. Results depend neither on it nor on engine and
        address.
    engine : "threads", "processes", "dask", "ray", "cuda" or Executor
        Processes are for rounds that are Python, as with sets of arms; "cuda" is a GPU.
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
    >>> problem = tr.problems.Bernoulli([0.3, 0.6])
    >>> result = tr.simulate(problem, tr.UCB(), horizon=100, replications=2)
    >>> result.regret["UCB"].shape == (2, result.rounds.size)
    True
    """
    worlds = as_worlds(problem)
    horizon = as_rounds("horizon", horizon)
    chosen = as_policies(policies, worlds, horizon)
    if until is not None and replications is not None:
        raise ValueError(
            f"replications = {checks.show(replications)} and until were both given; until finds "
            "their number, so leave one out."
        )
    count = (
        checks.integer("replications", 1 if replications is None else replications, least=1)
        if until is None
        else _most(until, chosen)
    )
    seed = checks.seed(seed)
    rounds = (
        geometric_checkpoints(horizon)
        if checkpoints is None
        else _checkpoints(checkpoints, horizon)
    )
    late = as_delay(delay, worlds[0].arms.metrics or ())
    in_order = checks.choice("apply", apply, ORDERS) == 1
    experiment = FixedHorizon(
        worlds=worlds,
        policies=chosen,
        rounds=horizon,
        seed=seed,
        monitors=as_monitors(monitor, list(chosen), worlds),
        checkpoints=rounds,
        delay=late,
        in_order=in_order,
    )
    if late is not None:
        check_room(late, in_order, horizon, worlds[0].first_round)
    checks.fits_in_memory(
        "replications" if until is None else "until: most", count, _bytes_left(experiment)
    )
    settings = _settings(worlds, chosen, seed) | {
        "horizon": horizon,
        "rounds": rounds.tolist(),
        "delay": None if late is None else repr(late),
        "apply": apply,
        "monitor": {
            name: store.record(item.function, item.items, repr)
            for name, item in experiment.monitors.items()
        },
        "lower_bound": _mean_bound(worlds),
    }
    with showing(progress, "simulate", known=until is None) as advance:
        if until is None:
            outcome = run_experiment(
                experiment,
                count,
                engine=engine,
                address=address,
                workers=workers,
                out=out,
                progress=advance,
            )
        else:
            with shared_workers(
                engine, workers, address
            ) as cluster:  # its groups are runs one after the other
                left = (
                    workers if cluster == address else None
                )  # a cluster that was started has its size
                play = functools.partial(
                    run_experiment,
                    experiment,
                    engine=engine,
                    address=cluster,
                    workers=left,
                    out=out,
                )
                outcome, settings["until"] = _until_ranked(until, experiment, play, advance)
    return _kept(_result_of(rounds, outcome.tables(), settings), outcome, out)


def _settings(
    worlds: Sequence[World], policies: dict[str, PerProblem[Policy]], seed: int
) -> JsonObject:
    return {
        "policies": {
            name: store.record(item.function, item.items, policy_to_spec)
            for name, item in policies.items()
        },
        "problem": {
            "kind": type(worlds[0].problem).__name__,
            "count": len(worlds),
            "digest": store.digest_or_none([world.problem for world in worlds]),
        },
        "seed": seed,
        "versions": store.versions(),
        "command": store.command(),
    }


def _kept(result: R | None, outcome: Outcome, out: str | pathlib.Path | None) -> R:
    if result is None or not outcome.complete:
        raise Interrupted(result)
    if out is not None:
        result.save(out)
    return result


def _most(until: object, policies: Mapping[str, PerProblem[Policy]]) -> int:
    if not isinstance(until, stopping.Ranking):
        raise ValueError(
            f"until = {checks.show(until)} is not a rule; pass stopping.Ranking(alpha=0.05, "
            "least=10, most=1000)."
        )
    if len(policies) < 2:
        raise ValueError(
            "until ranks policies, but there is one; give at least two, or replications."
        )
    return until.most


def _until_ranked(
    until: stopping.Ranking,
    experiment: FixedHorizon,
    play: Callable[..., Outcome],
    progress: Progress | None,
) -> tuple[Outcome, JsonObject | None]:
    """Replications in groups until their order is certain, and what the settings say of it; None
    after an interruption."""
    scale, outcome = (
        until.scale(
            [world.problem for world in experiment.worlds], int(experiment.checkpoints[-1])
        ),
        Outcome({}),
    )
    each = len(experiment.policies) * experiment.rounds
    begin = 0
    for end in until.looks(experiment.period):
        offset = begin * each

        def advance(done: int, total: int, offset: int = offset) -> None:
            assert progress is not None
            progress(offset + done, until.most * each)

        outcome.take(play(end, begin=begin, progress=None if progress is None else advance))
        if not outcome.complete:
            return outcome, None
        cost = {name: rows["regret"][:, -1] for name, rows in outcome.tables().items()}
        ranking = stopping.judged(cost, scale, until.alpha, experiment.period)
        if not ranking.undecided:
            break
        begin = end
    if progress is not None:
        progress(end * each, end * each)
    return outcome, stopping.record(until, scale, end, ranking)


def _mean_bound(worlds: Sequence[World]) -> list[float] | None:
    bounds = [lower_bound(world.problem) for world in worlds]
    return None if None in bounds else [float(part) for part in np.mean(bounds, axis=0)]


def _checkpoints(checkpoints: ArrayLike, horizon: int) -> np.ndarray:
    rounds = checks.vector("checkpoints", checkpoints, least=1, most=horizon)
    if (np.diff(rounds) <= 0).any() or (rounds != np.round(rounds)).any():
        raise ValueError(
            f"checkpoints = {checks.show(rounds)} must be increasing whole rounds from 1 to "
            f"{horizon}."
        )
    return rounds.astype(np.int64)


def _bytes_left(experiment: FixedHorizon) -> int:
    total, description = 0, experiment.worlds[0].arms
    for name in experiment.policies:
        tally = begin(experiment.monitors[name][0], description, experiment.checkpoints.size)
        total += 8 * (experiment.checkpoints.size + description.number) + sum(
            array.nbytes for array in tally
        )
    return total


def _result_of(rounds: np.ndarray, tables: dict[str, Rows], settings: JsonObject) -> Result | None:
    if not tables:
        return None
    watched = {
        name: {
            key.removeprefix("watched."): array
            for key, array in rows.items()
            if key.startswith("watched.")
        }
        for name, rows in tables.items()
    }
    regret = {name: rows["regret"] for name, rows in tables.items()}
    pulls = {name: rows["pulls"] for name, rows in tables.items()}
    settings["replications"] = len(next(iter(regret.values())))
    return Result(rounds=rounds, regret=regret, pulls=pulls, watched=watched, settings=settings)


# `identify`: policies that stop when they know the best arm.


IDENTIFY_ROUNDING = 1e-12  # means this close to the best are the best


@dataclass(frozen=True)
class UntilStop(OnWorlds):
    may_stop: bool  # False: a fixed budget, used up
    kind = "identification"

    def common(self) -> dict[str, object]:
        return {"max_rounds" if self.may_stop else "budget": self.rounds, "seed": self.seed}

    def replicate(self, name: str, replication: int, slices: Slices) -> Rows:
        run = self._prepared(name, replication)
        log, play = to_stop(run, self.may_stop)
        played = slices.run(play, self.rounds)
        return self._rows(name, replication, run.problem, run.state, log.pulls, played)

    def _prepared(self, name: str, replication: int) -> Replication:
        return prepare(
            self.policies[name][replication],
            self.worlds[replication % self.period],
            self.seed,
            replication,
            None if self.may_stop else self.rounds,
        )

    def _rows(
        self,
        name: str,
        replication: int,
        problem: Problem,
        state: State,
        pulls: np.ndarray,
        played: int,
    ) -> Rows:
        policy = self.policies[name][replication]
        arm, support = int(recommend(policy, state)), evidence(policy, state)
        context = observe(problem, 0, stream(self.seed, replication, PROBLEM))
        truth = np.array([mean(problem, context, k) for k in range(pulls.size)])
        return {
            "arm": np.array(arm),
            "rounds": np.array(played),
            "pulls": pulls.astype(np.int64),
            "stopped": np.array(bool(stopped(policy, state))),
            "gap_bound": np.array(support["gap_bound"]),
            "error": np.array(support["error"]),
            "correct": np.array(
                bool(truth[arm] >= truth.max() - tolerance(policy) - IDENTIFY_ROUNDING)
            ),
        }

    def layout(self, name: str) -> Layout:
        runs = []
        for r, world in enumerate(self.worlds):
            run = self._prepared(name, r)
            log = new_log(np.zeros(0, dtype=np.int64), world.arms.number)
            runs.append((run.policy, run.state, run.problem, log, self.may_stop))
        return Layout(until_stop, runs, (False, True, False, WRITTEN[-1], False))

    def rows_of_lanes(
        self,
        name: str,
        replications: range,
        layout: Layout,
        reached: np.ndarray,
        arrays: Sequence[np.ndarray],
    ) -> Rows:
        states, log = layout.part(1, arrays), layout.part(3, arrays)
        rows = []
        for i, r in enumerate(replications):
            problem = private(self.worlds[r % self.period].problem)
            rows.append(
                self._rows(name, r, problem, lane(states, i), log.pulls[:, i], int(reached[i]))
            )
        return stacked(rows)


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
        A fixed number of rounds instead: no stopping before, and `stopped` tells whether it could
        have.

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
    >>> policy = tr.UGapE(epsilon=0.2, delta=0.1, noise=0.5)
    >>> answer = tr.identify(tr.problems.Bernoulli([0.1, 0.9]), policy)
    >>> int(answer.arm["UGapE"][0])
    1
    """
    worlds = as_worlds(problem)
    chosen = as_policies(policies, worlds, None)
    for name, item in chosen.items():
        instance = item[0]
        if not type(instance).TRAITS.stops:
            raise ValueError(
                f"policies[{name!r}] = {type(instance).__name__} never stops; use simulate, or an "
                "identification policy."
            )
        check_question(instance, worlds[0].arms)
    replications = checks.integer("replications", replications, least=1)
    seed = checks.seed(seed)
    max_rounds = as_rounds("max_rounds", max_rounds)
    limit = max_rounds if budget is None else as_rounds("budget", budget)
    checks.fits_in_memory(
        "replications",
        replications,
        8 * len(chosen) * (worlds[0].arms.number + len(ANSWERS)),
    )
    settings = _settings(worlds, chosen, seed) | {
        "max_rounds": max_rounds,
        "budget": budget,
        "by plan": [name for name, item in chosen.items() if type(item[0]).TRAITS.stops == "plan"],
    }
    experiment = UntilStop(worlds, chosen, limit, seed, budget is None)
    with showing(progress, "identify", known=budget is not None) as advance:
        outcome = run_experiment(
            experiment,
            replications,
            engine=engine,
            address=address,
            workers=workers,
            out=out,
            progress=advance,
        )
    return _kept(_identification_of(outcome.tables(), settings), outcome, out)


def _identification_of(tables: dict[str, Rows], settings: JsonObject) -> Identification | None:
    if not tables:
        return None
    columns = {
        key: {name: rows[key] for name, rows in tables.items()} for key in (*ANSWERS, "pulls")
    }
    settings["replications"] = len(next(iter(columns["pulls"].values())))
    return Identification(**columns, settings=settings)


# `plan`: how many samples a test will take, by simulation, beside tests of fixed size; and which of
# them to choose.


LEAST_VARIANCE = 5.0  # of an arm's number of successes, from which it is taken as normal
NO_TEXTBOOK = "none: n p (1 - p) is below 5"
LINEAR = 1e-9  # how far means may be from a linear function of the features


@dataclass(frozen=True, repr=False)
class Plan:
    """The cost of a test in samples of all arms together.

    Attributes
    ----------
    samples, se : dict of name to float
        Mean over simulated tests, in samples, and its standard error, by policy.
    most : dict of name to int
        The largest number of samples of a simulated test.
    certified : dict of name to float
        Share of the tests that ended with their certificate, in [0, 1].
    fixed : int
        Samples of a test of fixed size whose answer is worse than the best by more than epsilon
        with probability at most delta, whatever the means are (Hoeffding), as the policies promise.
    textbook : int or None
        The same by the normal approximation with the variances of the planned means; None where it
        would not hold: where n p (1 - p) is below 5 for an arm of mean p with n samples.
    baseline_first : int or None
        Rounds of the baseline that pay beforehand for any test by UCB of at most max_rounds, so
        that it is never more than a share alpha behind the baseline but for delta, and is never
        checked (the reduction of Yang et al. 2022, BudgetFirst); `Safe`, which checks every round,
        needs far fewer. None without alpha.
    advice : str
        What to do, in sentences.
    simulated : Identification
        The simulated tests.
    """

    samples: dict[str, float]
    se: dict[str, float]
    most: dict[str, int]
    certified: dict[str, float]
    fixed: int
    textbook: int | None
    baseline_first: int | None
    advice: str
    simulated: Identification

    def _rows(self) -> list[list[object]]:
        simulated: list[list[object]] = [
            [
                name,
                f"{self.samples[name]:,.0f} ± {self.se[name]:,.0f}",
                f"{self.most[name]:,}",
                f"{self.certified[name]:.0%}",
            ]
            for name in self.samples
        ]
        textbook = NO_TEXTBOOK if self.textbook is None else f"{self.textbook:,}"
        rows: list[list[object]] = [
            *simulated,
            ["fixed size, any means", f"{self.fixed:,}", "", ""],
            ["fixed size, textbook", textbook, "", ""],
        ]
        if self.baseline_first is not None:
            rows.append(["baseline first, unchecked after", f"{self.baseline_first:,}", "", ""])
        return rows

    def __repr__(self) -> str:
        return f"<Plan: {'; '.join(f'{row[0]} {row[1]}' for row in self._rows())}>"

    def _repr_html_(self) -> str:
        return files.table(
            "Samples of a test",
            ["test", "samples", "largest", "certified"],
            self._rows(),
            self.advice,
        )


def plan(
    means: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.05,
    arms: ArrayLike | None = None,
    alpha: float | None = None,
    baseline: int = 0,
    policies: Mapping[str, Policy] | None = None,
    replications: int = 20,
    seed: int = 0,
    max_rounds: int = 10**6,
    workers: int | None = None,
) -> Plan:
    """How many samples tests take that stop when they know the best arm, beside tests of fixed
    size, if the means are as supposed.

    Plan with means that are close as well: tests that stop gain where arms differ by much more than
    epsilon and lose where all are near each other.

    Parameters
    ----------
    means : (K,) array in [0, 1], K >= 2
        Supposed means of rewards 0 or 1.
    epsilon : float in (0, 1)
        How much worse than the best the named arm may be, in units of reward.
    delta : float in (0, 1)
        Probability with which it may be worse than that.
    arms : (K, d) array
        Features of which the means are a linear function.
    alpha : float in (0, 1)
        How far a test may fall behind a baseline, as a share of its reward: asks for
        `Plan.baseline_first`.
    baseline : int in [0, K)
        With alpha: the arm of today, of a mean above 0.
    policies : dict of name to Policy
        That stop; default UGapE, with features LinGapE.
    replications, seed, max_rounds, workers : int
        As for `identify`.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        Where an argument is out of its range, or the means are no linear function of the arms.

    Examples
    --------
    >>> import tightrope as tr
    >>> plan = tr.plan([0.1, 0.9], epsilon=0.3, replications=2)
    >>> plan.samples["UGapE"] < plan.fixed
    True
    """
    supposed = checks.vector("means", means, least=0.0, most=1.0)
    if supposed.size < 2:
        raise ValueError("means has one entry; a test compares two or more arms.")
    epsilon = checks.real("epsilon", epsilon, above=0.0, below=1.0)
    delta = checks.real("delta", delta, above=0.0, below=1.0)
    first = None if alpha is None else baseline_rounds(supposed, alpha, baseline, delta, max_rounds)
    problem: Problem = Bernoulli(supposed)
    usual: dict[str, Policy] = {"UGapE": UGapE(epsilon=epsilon, delta=delta, noise=0.5)}
    if arms is not None:
        theta, problem = _linear(arms, supposed)
        bound = float(np.linalg.norm(theta)) or 1.0
        usual = {"LinGapE": LinGapE(epsilon=epsilon, delta=delta, noise=0.5, theta_bound=bound)}
    chosen = dict(policies) if policies is not None else usual
    simulated = identify(
        problem,
        chosen,
        replications=replications,
        seed=seed,
        max_rounds=max_rounds,
        workers=workers,
    )
    samples = {name: float(rounds.mean()) for name, rounds in simulated.rounds.items()}
    fixed, textbook = fixed_size(supposed, epsilon, delta)
    certified = {name: float(simulated.stopped[name].mean()) for name in samples}
    return Plan(
        samples,
        {
            name: float(standard_error(rounds)) if rounds.size > 1 else math.nan
            for name, rounds in simulated.rounds.items()
        },
        {name: int(rounds.max()) for name, rounds in simulated.rounds.items()},
        certified,
        fixed,
        textbook,
        first,
        _advice(samples, certified, fixed, textbook),
        simulated,
    )


def fixed_size(means: np.ndarray, epsilon: float, delta: float) -> tuple[int, int | None]:
    """Samples of all arms together after which the arm of the highest sample mean is within epsilon
    of the best, but for delta.

    A union over the K - 1 arms that might look better: by Hoeffding's inequality for rewards in [0,
    1], and by the normal approximation with the variances of the means; None where these are too
    small for it.
    """
    K = means.size
    hoeffding = math.ceil(math.log((K - 1) / delta) / epsilon**2)
    spread = np.sort(means * (1.0 - means))[-2:].sum()  # variance of a difference, at most
    z = NormalDist().inv_cdf(1.0 - min(delta / (K - 1), 0.5))
    normal = math.ceil(z * z * float(spread) / epsilon**2)
    holds = normal * float((means * (1.0 - means)).min()) >= LEAST_VARIANCE
    return K * hoeffding, K * normal if holds else None


def baseline_rounds(means: np.ndarray, alpha: float, baseline: int, delta: float, most: int) -> int:
    """max_n (U(n) - n alpha mu_b) / (alpha mu_b) over n <= most, with UCB's regret of at most U(n)
    = K + 4 sigma sqrt(2 K n ln(K n^3 / delta)) and sigma = 1/2, concave in n."""
    from scipy.optimize import minimize_scalar

    K, place = means.size, checks.integer("baseline", baseline, least=0, most=means.size - 1)
    a_round = checks.real("alpha", alpha, above=0.0, below=1.0) * float(means[place])
    if a_round == 0.0:
        raise ValueError(
            f"means[{place}] = 0 is the baseline's, of which no share may be lost; leave alpha "
            "out, or give a baseline of a mean above 0."
        )

    def earned(n: float) -> float:  # less what may be lost
        log = math.log(K) + 3.0 * math.log(n) - math.log(delta)
        return n * a_round - K - 2.0 * math.sqrt(2.0 * K * n * log)

    at = minimize_scalar(earned, bounds=(1, most), method="bounded").x
    return math.ceil(-min(earned(at), earned(most)) / a_round)


def _linear(arms: ArrayLike, means: np.ndarray) -> tuple[np.ndarray, Problem]:
    X = checks.matrix("arms", arms, shape=(means.size, None))
    theta = np.linalg.lstsq(X, means)[0]
    off = float(np.abs(X @ theta - means).max())
    if off > LINEAR:
        raise ValueError(
            "means are not a linear function of arms: the nearest one misses them by up to "
            f"{off:.3g}; leave arms out, or add features."
        )
    return theta, Linear(arms=X, theta=theta, rewards="bernoulli")


def _advice(
    samples: dict[str, float], certified: dict[str, float], fixed: int, textbook: int | None
) -> str:
    best = min(samples, key=lambda name: (certified[name] < 1.0, samples[name]))
    normal = (
        "none by the normal approximation, which does not hold for so rare an outcome: n p (1 - "
        "p) is below 5"
    )
    if textbook is not None:
        normal = f"{textbook:,} by the normal approximation"
    cost = f"{best} takes {samples[best]:,.0f} samples on average"
    if certified[best] < 1.0:
        return (
            f"{cost} and is not certified by max_rounds in {1 - certified[best]:.0%} of the "
            f"tests. Choose a test of fixed size ({fixed:,} samples for any means; {normal}), or "
            "a larger epsilon."
        )
    if samples[best] <= (fixed if textbook is None else textbook):
        return (
            f"{cost}, fewer than a test of fixed size ({fixed:,} for any means; {normal}): choose "
            f"{best}."
        )
    if textbook is not None and samples[best] <= fixed:
        return (
            f"{cost}, fewer than a test of fixed size with the same promise for any means "
            f"({fixed:,}), but more than the textbook's {textbook:,}, which rely on the normal "
            "approximation and on one look at the end. If that is enough, the textbook's test is "
            f"the better choice; choose {best} to look at any time, or to be certain of the error."
        )
    return (
        f"{cost}; a test of fixed size needs {fixed:,} with the same error for any means "
        f"({normal}), with one look at the end. It is the better choice, unless you must look "
        "earlier or other means are likely, with larger differences."
    )
