"""One replication: what it starts from, and how its rounds are played in slices that can be interrupted."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np

from ..compiled.kernels import python_of
from ..core.monitor import Monitor
from ..core.policy import Policy, compiled
from ..core.problem import Problem
from ..core.streams import DELAY, NOISE, POLICY, PROBLEM, stream
from ..core.types import State, Tally
from ..core.verbs import Arms, admit, begin, describe, init, private
from .arguments import first_round
from .checked import BrokenContract, checked, foreign_within, sentence
from .loops import RunLog, fixed_horizon, new_log, until_stop
from .pending_rewards import AtOnce, Pending, PendingRewards

F = TypeVar("F", bound=Callable[..., object])

SLICE_SECONDS = 0.1  # how long a compiled loop runs before it looks up: progress, interruption
FIRST_SLICE = 64

Progress = Callable[[int, int], None]
Play = Callable[[int, int], int]  # (first, last) -> the round after the last one played


class Stopped(Exception):
    """Raised inside a worker after an interruption."""


class Interrupted(KeyboardInterrupt):
    """The run was stopped.

    Attributes
    ----------
    result : Result, Identification, TrainedBeta or None
        The replications that every policy had finished; None if there is none.
    """

    def __init__(self, result: object) -> None:
        super().__init__("interrupted")
        self.result = result


class Slices:
    """Hands out loop ends so that one call lasts about SLICE_SECONDS; shared by the workers of one policy."""

    def __init__(self, stopping: Callable[[], bool], advance: Callable[[int], None]) -> None:
        self.size, self.stopping, self.advance = FIRST_SLICE, stopping, advance

    def run(self, play: Play, rounds: int) -> int:
        """Call play until `rounds` are done or it plays fewer than asked; returns how many were played."""
        first = 0
        while first < rounds:
            if self.stopping():
                raise Stopped
            last = min(first + self.size, rounds)
            started = time.perf_counter()
            played = play(first, last)
            elapsed = time.perf_counter() - started
            self.advance(played - first)
            if elapsed < SLICE_SECONDS / 2 and last - first == self.size:
                self.size *= 4 if elapsed < SLICE_SECONDS / 8 else 2
            elif elapsed > 2 * SLICE_SECONDS:
                self.size = max(FIRST_SLICE, self.size // 2)
            first = played
            if played < last:
                break
        return first


@dataclass
class Replication:
    """Everything one replication of one policy starts from; `state` is the current one."""

    policy: Policy
    state: State
    problem: Problem
    arms: Arms
    streams: tuple[np.random.Generator, np.random.Generator, np.random.Generator]  # problem, noise, policy
    late: np.random.Generator  # stream of the delays


def prepare(policy: Policy, problem: Problem, seed: int, replication: int, horizon: int | None) -> Replication:
    """A fresh state, a private copy of the problem and the streams."""
    world = private(problem)
    described = describe(world)._replace(horizon=horizon)
    own = described
    if foreign_within(policy) is not None:  # which may write into arrays that replications share
        own = described._replace(**{name: value.copy() for name, value in described._asdict().items() if isinstance(value, np.ndarray)})
    state = init(policy, own)
    if type(policy).TRAITS.stops and admit.answers(policy):
        admit(policy, state, first_round(problem))
    return Replication(
        policy, state, world, described,
        (stream(seed, replication, PROBLEM), stream(seed, replication, NOISE), stream(seed, replication, POLICY)),
        stream(seed, replication, DELAY),
    )  # fmt: skip


def loop_for(loop: F, policy: Policy, problem: Problem, pending: Pending | None = None) -> F:
    """The compiled loop, or the interpreted one where the policy, the problem or the pending rewards ask for it."""
    fits = compiled(policy) and all(getattr(type(item), "COMPILED", True) for item in (problem, pending))
    return loop if fits else cast(F, python_of(loop))


def to_horizon(run: Replication, monitor: Monitor, rounds: np.ndarray, pending: Pending | None = None) -> tuple[RunLog, Tally, Play]:
    """The log, the monitor's tally and the function that plays rounds of a fixed horizon; pending: the rewards that are
    awaited, by default none."""
    pending = AtOnce() if pending is None else pending
    log, tally = new_log(rounds, run.arms.number), begin(monitor, run.arms, rounds.size)
    policy, problem = checked(run.policy, run.problem, run.arms)
    loop = loop_for(fixed_horizon, run.policy, run.problem, pending)

    def play(first: int, last: int) -> int:
        try:
            run.state = loop(policy, run.state, problem, pending, monitor, tally, log, first, last, *run.streams, run.late)
        except BrokenContract as broken:
            raise ValueError(sentence(broken, run.policy, run.problem, run.arms)) from None
        if isinstance(pending, PendingRewards) and pending.counts[0]["lost"]:
            raise RuntimeError(f"delay had more than {pending.heap.size} rewards open at once, its `longest`; run it with another seed.")
        return last

    return log, tally, play


def to_stop(run: Replication, may_stop: bool) -> tuple[RunLog, Play]:
    """The log and the function that plays rounds until the policy has its answer."""
    log = new_log(np.zeros(0, dtype=np.int64), run.arms.number)
    policy, problem = checked(run.policy, run.problem, run.arms)
    loop = loop_for(until_stop, run.policy, run.problem)

    def play(first: int, last: int) -> int:
        try:
            run.state, played = loop(policy, run.state, problem, log, first, last, may_stop, *run.streams)
        except BrokenContract as broken:
            raise ValueError(sentence(broken, run.policy, run.problem, run.arms)) from None
        return int(played)

    return log, play
