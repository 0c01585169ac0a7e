"""Replications in threads: cut into blocks, run in slices, the same bits whatever the number of workers."""

import json
import os
import pathlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import checks, files
from .._jit import python_of
from ..matching import check_fit, compiled
from ..registry import is_policy
from ..rng import NOISE, POLICY, PROBLEM, stream
from ..verbs import Arms, arms, init, private

SLICE_SECONDS = 0.1  # how long a compiled loop runs before it looks up: progress, interruption
FIRST_SLICE = 64

Progress = Callable[[int, int], None]


class Stopped(Exception):
    """Raised inside a worker after an interruption."""


class Interrupted(KeyboardInterrupt):
    """The run was stopped; `result` holds the replications that every policy had finished (None if there is none)."""

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted")
        self.result = result


class Slices:
    """Hands out loop ends so that one call lasts about SLICE_SECONDS; shared by the workers of one policy."""

    def __init__(self, stop: threading.Event, advance: Callable[[int], None]) -> None:
        self.size, self.stop, self.advance = FIRST_SLICE, stop, advance

    def run(self, loop: Callable[[int, int], int], rounds: int) -> None:
        """Call loop(first, last) -> rounds played until `rounds` are done or it plays fewer than asked."""
        first = 0
        while first < rounds:
            if self.stop.is_set():
                raise Stopped
            last = min(first + self.size, rounds)
            started = time.perf_counter()
            played = loop(first, last)
            elapsed = time.perf_counter() - started
            self.advance(played - first)
            if elapsed < SLICE_SECONDS / 2 and last - first == self.size:
                self.size *= 4 if elapsed < SLICE_SECONDS / 8 else 2
            elif elapsed > 2 * SLICE_SECONDS:
                self.size = max(FIRST_SLICE, self.size // 2)
            if played < last:
                return
            first = last


class Parts:
    """Finished blocks on disk, tied to the settings that made them."""

    def __init__(self, folder: pathlib.Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        record, wanted = folder / "settings.json", json.loads(json.dumps(settings, default=str))
        if record.exists():
            found = json.loads(record.read_text())
            changed = [key for key in wanted if found.get(key) != wanted[key]]
            if changed:
                raise ValueError(
                    f"out = {str(folder.parent)!r} holds a run with other {', '.join(changed)}; choose another folder or remove it."
                )
        else:
            files.write_json(record, settings)

    def read(self, label: str) -> dict[str, np.ndarray] | None:
        path = self.folder / f"{label}.npz"
        if not path.exists():
            return None
        try:
            return files.read_arrays(path)[1]
        except (ValueError, KeyError, OSError, EOFError) as error:
            raise ValueError(f"{path} cannot be read ({type(error).__name__}); remove it and run again.") from None

    def write(self, label: str, arrays: dict[str, np.ndarray]) -> None:
        files.write_arrays(self.folder / f"{label}.npz", {}, arrays)


@dataclass(frozen=True)
class PerProblem:
    """A policy or monitor for every problem, made once: the same for all, or what a function of the problem returned."""

    function: str | None  # its name; None: the same for all
    items: Sequence[Any]

    @staticmethod
    def of(given: Any, problems: Sequence[Any], known: Callable[[Any], bool]) -> "PerProblem":
        """`given` itself if it is `known`, else what it makes of each problem."""
        if known(given) or not callable(given):
            return PerProblem(None, [given])
        return PerProblem(getattr(given, "__qualname__", repr(given)), [given(problem) for problem in problems])

    def __getitem__(self, replication: int) -> Any:
        return self.items[replication % len(self.items)]


@dataclass
class Replication:
    """Everything one replication of one policy starts from."""

    policy: Any
    state: Any
    problem: Any
    arms: Arms
    streams: tuple[Any, Any, Any]  # problem, noise, policy


def prepare(policy: Any, problem: Any, seed: int, replication: int, horizon: int | None) -> Replication:
    """A fresh state, a private copy of the problem and the three streams."""
    described = arms(problem)._replace(horizon=horizon)
    return Replication(
        policy, init(policy, described), private(problem), described,
        (stream(seed, replication, PROBLEM), stream(seed, replication, NOISE), stream(seed, replication, POLICY)),
    )  # fmt: skip


def loop_for(loop: Any, policy: Any, problem: Any) -> Any:
    """The compiled loop, or the interpreted one where the policy or problem asks for it."""
    return loop if compiled(policy) and getattr(type(problem), "COMPILED", True) else python_of(loop)


def as_problems(problem: Any) -> Sequence[Any]:
    """One problem, or a list of them that replications go round."""
    problems = list(problem) if isinstance(problem, list | tuple) and not hasattr(problem, "_fields") else [problem]
    if not problems:
        raise ValueError("problem is an empty list; it needs at least one problem.")
    for item in problems:
        if not arms.answers(item):
            raise ValueError(f"problem = {checks.show(item)} is not a problem; pass one such as problems.Bernoulli([0.3, 0.6]).")
    if len({type(item) for item in problems}) > 1:
        raise ValueError("problem is a list of different kinds; all of them must be of one class.")
    numbers = {arms(item).number for item in problems}
    if len(numbers) > 1:
        raise ValueError(f"problem is a list with {min(numbers)} to {max(numbers)} arms; all of them must have as many.")
    return problems


def as_policies(policies: Any, problems: Sequence[Any]) -> dict[str, PerProblem]:
    """Names and policies, given or made by functions of the problem, checked against what the problems offer."""
    if is_policy(policies):
        policies = {type(policies).__name__: policies}
    if not isinstance(policies, Mapping) or not policies:
        raise ValueError(f"policies = {checks.show(policies)} is not a dict of names and policies such as {{'UCB': UCB()}}.")
    chosen = {}
    for name, given in policies.items():
        if not isinstance(name, str):
            raise ValueError(f"policies has the name {name!r}, but names must be text.")
        chosen[name] = PerProblem.of(given, problems, is_policy)
        for item, problem in zip(chosen[name].items, problems, strict=False):
            if not is_policy(item):
                what = checks.show(item)
                found = f"= {what}" if chosen[name].function is None else f"makes {what} of a problem, which"
                raise ValueError(f"policies[{name!r}] {found} is not a policy; pass an instance such as UCB().")
            check_fit(item, arms(problem))
    return chosen


def run_blocks(tasks: Iterable[Callable[[], None]], workers: int | None, stop: threading.Event) -> bool:
    """Run tasks in threads; True if all finished, False if the user interrupted. Errors of a task come out here."""
    count = checks.integer("workers", workers, least=1) if workers is not None else os.cpu_count() or 1
    pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix="tightrope")
    futures: set[Future[None]] = set()
    try:
        futures = {pool.submit(task) for task in tasks}
        pending = futures
        while pending:
            done, pending = wait(pending, timeout=0.1)
            for future in done:
                future.result()
        return True
    except KeyboardInterrupt:
        return False
    finally:
        stop.set()
        for future in futures:
            future.cancel()
        pool.shutdown(wait=True)
