"""What drivers with workers in other processes need."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from multiprocessing import connection

from .recipe import Recipe

THREADS_OF_ALGEBRA = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")  # libraries read them when they are loaded


def pickled(engine: str, recipe: Recipe) -> bytes:
    """The recipe as bytes; ValueError where a part of it has no name that another process could find."""
    try:
        return pickle.dumps(recipe)
    except Exception as error:
        raise ValueError(
            f"engine = {engine!r} sends the experiment to other processes, but a part of it cannot be sent ({error}); "
            "define its functions and classes in a module, or use engine = 'threads'."
        ) from None


@contextlib.contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Processes that are started in here do not hear Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def one_thread_of_algebra() -> Iterator[None]:
    """Processes that are started in here compute linear algebra in one thread each; what the user has set stays.

    Where every core has a process, the threads of one product wait for each other: small products took ten times as long.
    """
    added = [name for name in THREADS_OF_ALGEBRA if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def end_with_driver() -> None:
    """Called in a process: it ends as soon as the one that started it is gone, because a killed driver asks for nothing any more."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    threading.Thread(target=_end_with, args=(driver.sentinel,), daemon=True).start()


def _end_with(driver: int) -> None:
    connection.wait([driver])
    os._exit(1)
