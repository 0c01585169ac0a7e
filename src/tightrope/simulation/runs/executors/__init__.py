"""Where chunks are computed. The numbers are the same everywhere.

An executor is made for one recipe and then takes chunk numbers; what comes back is a chunk's rows, or None where the worker left
them in the store. Dask and Ray are imported when one of them is asked for.
"""

import contextlib
import os
from collections.abc import Iterator

from ....core import checks
from .recipe import Advance, Executor, Recipe

__all__ = ["ENGINES", "Advance", "Executor", "Recipe", "executor", "held"]

ENGINES = ("threads", "processes", "dask", "ray")
CLUSTERS = ("dask", "ray")  # engines that may be on other machines


def executor(engine: str, recipe: Recipe, workers: int | None, address: str | None, advance: Advance) -> Executor:
    """The executor of that name. workers: default all cores. address: of a running cluster; None: one of `workers` is started here."""
    count = checked(engine, workers, address)
    if engine == "threads":
        from .threads import Threads

        return Threads(recipe, count, advance)
    if engine == "processes":
        from .processes import Processes

        return Processes(recipe, count, advance)
    from .remote import Remote

    return Remote(engine, recipe, count, address, advance)


def checked(engine: str, workers: int | None, address: str | None) -> int:
    """How many workers these arguments ask for; ValueError where they do not fit together."""
    checks.choice("engine", engine, ENGINES)
    if address is not None and engine not in CLUSTERS:
        raise ValueError(f"address = {address!r} is of a cluster, but engine = {engine!r} works on this machine; use 'dask' or 'ray'.")
    if address is not None and workers is not None:
        raise ValueError(f"workers = {workers} has no meaning with address = {address!r}: a running cluster has its own; leave it out.")
    return checks.integer("workers", workers, least=1) if workers is not None else os.cpu_count() or 1


@contextlib.contextmanager
def held(engine: str, workers: int | None, address: str | None) -> Iterator[str | None]:
    """Workers for many runs: the address of their cluster, and they end with this context. An address that is given stays.

    Where runs are in threads the processes are held as well, for those that ask for them; none starts before it is needed.
    """
    count = checked(engine, workers, address)
    if engine in CLUSTERS and address is None:
        from .remote import started

        with started(engine, count) as found:
            yield found
        return
    from . import processes

    with processes.held(count):
        yield address
