"""`warm`: compile what is usually played, so that its first use does not take seconds."""

import importlib.util
import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from .options import Quiet, console

if TYPE_CHECKING:
    from ..core.types import Arguments

THREE = [{"id": name} for name in ("first", "second", "third")]
ROWS = [{"id": name, "features": [0.5, share]} for name, share in (("first", 0.0), ("second", 0.25), ("third", 0.5))]
SAFE: "Arguments" = {"baseline": "first", "baseline_mean": 0.5, "alpha": 0.1, "guarantee": {"sigma": 0.5}}
EXPERIMENTS: "dict[str, Arguments]" = {  # of a service: kinds that differ in what is compiled
    "independent arms": {"policy": "UCB", "arms": THREE},
    "Thompson sampling": {"policy": "BetaThompson", "arms": THREE},
    "a guarantee": {"policy": "BetaThompson", "arms": THREE} | SAFE,
    "features of arms": {"policy": "LinUCB", "arms": ROWS},
    "features of visitors": {"policy": "LinTS", "arms": THREE, "dimension": 2},
    "features and a guarantee": {"policy": "LinUCB", "arms": ROWS} | SAFE,
}


class Job(NamedTuple):
    """Something to play for a moment."""

    kind: str  # "session", "simulation" or "experiment"
    name: str


def warm(
    only: Annotated[str, typer.Option(help="Only what contains this in its name, such as LinUCB.")] = "",
    workers: Annotated[int | None, typer.Option(min=1, help="Processes that compile; default one for each core.")] = None,
    quiet: Quiet = False,
) -> None:
    """Compile the kernels of every family, for sessions, simulations and the service, and keep them in the cache.

    Kernels belong to a processor and to the versions of tightrope and Numba: run it where they will be used, such as in an image's build.
    """
    selection = [job for job in jobs() if only.lower() in f"{job.kind} {job.name}".lower()]
    if not selection:
        from ..core import checks

        raise ValueError(f"only = {only!r} is in the name of nothing that is compiled.{checks.hint(only, [job.name for job in jobs()])}")
    started, context = time.perf_counter(), multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers or os.cpu_count() or 1, len(selection)), mp_context=context)
    try:
        running = {pool.submit(seconds_of, job): job for job in selection}
        for number, done in enumerate(as_completed(running), start=1):
            job, seconds = running[done], done.result()
            if not quiet:
                console.print(f"{number:3d} of {len(selection)}  {seconds:5.1f} s  {job.kind}: {job.name}", soft_wrap=True)
    finally:
        pool.shutdown(cancel_futures=True)
    if not quiet:
        console.print(f"{len(selection)} compiled, or found in the cache, in {time.perf_counter() - started:.0f} s.")


def jobs() -> Iterator[Job]:
    """All that can be compiled ahead, the usual first. Those of the service where its parts are installed."""
    from ..core.verbs import describe
    from ..session.latency import cases as decisions
    from ..simulation.benchmark import cases as simulations

    if importlib.util.find_spec("sqlalchemy") is not None:
        yield from (Job("experiment", name) for name in EXPERIMENTS)
    yield from (Job("session", case.name) for case in decisions())
    kernels = set()
    for name, policy, place, problem in simulations():
        arms = describe(problem)
        kernel = (name, type(problem), arms.dimension < arms.number)  # regressions of features, or of arms
        if arms.oracle is None and type(policy).TRAITS.compiled and kernel not in kernels:  # rounds of sets are Python
            kernels.add(kernel)
            yield Job("simulation", f"{name} on {place}")


def seconds_of(job: Job) -> float:
    """Play it for a moment, in a process of its own."""
    started = time.perf_counter()
    {"session": play_session, "simulation": play_simulation, "experiment": rehearse_experiment}[job.kind](job.name)
    return time.perf_counter() - started


def play_session(name: str) -> None:
    """Decide and reward."""
    from ..session.latency import cases, measure

    measure(next(case for case in cases() if case.name == name), seconds=0.0)


def play_simulation(name: str) -> None:
    """A few rounds at compiled speed."""
    from ..simulation.benchmark import cases
    from ..simulation.identify import identify
    from ..simulation.simulate import simulate

    policy, problem = next((policy, problem) for called, policy, place, problem in cases() if f"{called} on {place}" == name)
    if type(policy).TRAITS.stops:
        identify(problem, policy, replications=1, max_rounds=50, workers=1)
    else:
        simulate(problem, policy, horizon=20, workers=1)


def rehearse_experiment(name: str) -> None:
    """Play what a service plays before it says that an experiment was created."""
    from ..service.domain.spec import ExperimentSpec
    from ..service.runtime.settings import Settings
    from ..service.runtime.warm_up import warm_up

    warm_up(ExperimentSpec.model_validate({"name": "warm", "rewards": [0.0, 1.0]} | EXPERIMENTS[name]), Settings())
