"""What a run shows of itself with `progress=True`: a bar in a notebook and on a terminal, a line now and then elsewhere.

In notebooks Rich draws only where ipywidgets is installed; HTML that is displayed again needs nothing but the notebook.
"""

import html
import importlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...core import checks
from ..replication import Progress

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_SECONDS = 10.0  # between lines where nothing can be drawn over


class Pace:
    """How far a run is, in words, and whether it is time to say so again.

    every: seconds from one time to the next. known: whether all of the rounds will be played, or at most so many.
    """

    def __init__(self, every: float, unit: str = "rounds", known: bool = True) -> None:
        self.every, self.unit, self.known = every, unit, known
        self.started = self.spoken = time.monotonic()

    def due(self) -> bool:
        """Whether it is time; the next time is counted from here."""
        now = time.monotonic()
        if now - self.spoken < self.every:
            return False
        self.spoken = now
        return True

    def words(self, done: int, total: int) -> str:
        """The share that is done, the speed and the time left; of a number that is only the largest possible no share and no time."""
        if not self.known:
            return f"{done:,} {self.unit} of at most {total:,}, {self.speed(done)}"
        left = (total - done) * self._seconds() / max(done, 1)
        return f"{done / total:.0%}, {self.speed(done)}, {left:.0f} s left"

    def speed(self, done: int) -> str:
        """Rounds in a second so far."""
        return f"{done / self._seconds():,.0f} {self.unit}/s"

    def end(self, done: int) -> str:
        """What is said last."""
        return f"{done:,} {self.unit} in {self._seconds():.1f} s"

    def _seconds(self) -> float:
        return max(time.monotonic() - self.started, 1e-3)


class Meters(Protocol):
    """Makes what a run calls with its progress, under a label. known: as for `Pace`."""

    def __call__(self, label: str, known: bool = True) -> Progress | None:
        """What to call with (done, total); None: nothing."""


def silent(label: str, known: bool = True) -> None:
    """Show no progress."""


@contextmanager
def showing(progress: Progress | bool | None, label: str, *, unit: str = "rounds", known: bool = True) -> Iterator[Progress | None]:
    """`progress` as a run calls it; True is a bar under the label, which tells at the end what was done. unit, known: as for `Pace`."""
    if progress is None or (isinstance(progress, (bool, np.bool_)) and not progress):
        yield None
    elif isinstance(progress, (bool, np.bool_)):
        with _drawn(label, unit, known) as advance:
            yield advance
    elif callable(progress):
        yield progress
    else:
        raise ValueError(f"progress = {checks.show(progress)} is not True, False or a function of ({unit} done, {unit} in all).")


@contextmanager
def _drawn(label: str, unit: str, known: bool) -> Iterator[Progress]:
    bar = _bar()
    pace = Pace(bar.every, unit, known)
    share, done = 0.0, 0

    def advance(now: int, total: int) -> None:
        nonlocal share, done
        share, done = now / total, now
        if pace.due():
            bar.draw(share if known else None, f"{label}: {pace.words(now, total)}")

    try:
        yield advance
    finally:
        bar.end(share if known else 1.0, f"{label}: {pace.end(done)}")


# Where it is drawn -------------------------------------------------------------------------------------------------------


class Bar(Protocol):
    """Something that shows a share in [0, 1] (None: not known) and words."""

    every: float  # seconds between two calls of draw

    def draw(self, share: float | None, words: str) -> None:
        """Show these in place of the last ones."""

    def end(self, share: float, words: str) -> None:
        """Show these for good."""


class InNotebook:
    """A cell's output that is displayed again."""

    every = 0.25

    def __init__(self) -> None:
        self._handle: Any = importlib.import_module("IPython.display").display(_bundle(0.0, "starting"), raw=True, display_id=True)

    def draw(self, share: float | None, words: str) -> None:
        """Show these in place of the last ones."""
        self._handle.update(_bundle(share, words), raw=True)

    end = draw


class OnTerminal:
    """A line of standard error."""

    every = 0.1

    def __init__(self, console: "Console") -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self._bars = Bars(BarColumn(), TextColumn("{task.description}", markup=False), console=console, transient=True)
        self._task = self._bars.add_task("starting", total=None)
        self._bars.start()

    def draw(self, share: float | None, words: str) -> None:
        """Show these in place of the last ones."""
        self._bars.update(self._task, completed=share or 0.0, total=None if share is None else 1.0, description=words)

    def end(self, share: float, words: str) -> None:
        """Show these for good."""
        self._bars.stop()
        print(words, file=sys.stderr)


class InLines:
    """Lines of standard error, for logs."""

    every = PLAIN_SECONDS

    def draw(self, share: float | None, words: str) -> None:
        """A line more."""
        print(words, file=sys.stderr, flush=True)

    def end(self, share: float, words: str) -> None:
        """The last line."""
        self.draw(share, words)


def _bar() -> Bar:
    if in_notebook():
        return InNotebook()
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    return OnTerminal(console) if console.is_terminal else InLines()


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel; such a process has loaded IPython."""
    module = sys.modules.get("IPython")
    return module is not None and getattr(module.get_ipython(), "kernel", None) is not None


def _bundle(share: float | None, words: str) -> dict[str, str]:
    """HTML, and text for notebooks that have none."""
    value = "" if share is None else f' value="{share:.4f}"'
    return {"text/html": f'<label><progress max="1"{value}></progress> {html.escape(words)}</label>', "text/plain": words}
