"""Papers beside each other, each in a process of its own: while one compiles, which is the work of one core, another one plays."""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from multiprocessing import connection
from typing import Any

from ..simulation.runs.executors.pools import end_with_driver, interrupts_ignored, one_thread_of_algebra
from ..simulation.runs.progress import silent
from .experiment import Run, figures, find_paper, reproduce

Say = Callable[[str], None]


def reproduced(papers: Sequence[str], run: Run, say: Say) -> Iterator[str]:
    """Reproduce papers under run.out, as many at a time as there are workers; yields each when it is finished.

    say: is told each paper that begins and each figure that is there. Raises what a paper raises, and ChildProcessError where its process
    ends by itself. However this ends, so do the processes; what they have finished stays.
    """
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    waiting, going = list(papers), dict[Any, tuple[str, Any]]()
    try:
        while waiting or going:
            while waiting and len(going) < (run.workers or os.cpu_count() or 1):
                paper = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(paper, replace(run, out=run.out / paper, progress=silent), sender))
                with one_thread_of_algebra(), interrupts_ignored():
                    process.start()
                sender.close()
                going[receiver] = paper, process
                say(f"{paper}: {find_paper(paper).TITLE}")
            for ready in connection.wait(list(going)):
                paper, process = going[ready]
                message = _received(ready, paper)
                if isinstance(message, str):
                    say(f"  {paper} {message}")
                    continue
                process.join()
                del going[ready]
                if message is not None:
                    raise message
                yield paper
    finally:
        for _, process in going.values():
            process.terminate()
        for _, process in going.values():
            process.join()


def _received(receiver: Any, paper: str) -> str | Exception | None:
    """A figure that is finished, None at the end, or what went wrong."""
    try:
        message: str | Exception | None = receiver.recv()
    except EOFError:
        message = ChildProcessError(
            f"the process of paper {paper!r} ended before it was done (memory?); the same command goes on from there."
        )
    return message


def _work(paper: str, run: Run, sender: Any) -> None:
    """A process: all figures of a paper, one after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the driver, which ends this process
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    end_with_driver()
    with contextlib.suppress(KeyboardInterrupt):
        try:
            for figure in figures(paper):
                reproduce(paper, [figure], run)
                sender.send(figure)
            sender.send(None)
        except Exception as error:  # whatever it is, the driver raises it
            sender.send(error)
