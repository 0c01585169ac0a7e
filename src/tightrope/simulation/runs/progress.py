"""The progress of a run while it plays."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from ...core import checks
from ..replication import Progress


class Meters(Protocol):
    """Makes what a run calls with its progress, under a label. known: whether all of the rounds will be played, or at most so many."""

    def __call__(self, label: str, known: bool = True) -> Progress | None:
        """The function to call with (done, total); None: none."""


def silent(label: str, known: bool = True) -> None:
    """Show no progress."""


@contextmanager
def showing(progress: Progress | bool | None, label: str, *, unit: str = "rounds", known: bool = True) -> Iterator[Progress | None]:
    """`progress` as a run calls it; True is a bar under the label, which tells at the end what was done. unit, known: as for `Meters`."""
    if progress is None or (isinstance(progress, (bool, np.bool_)) and not progress):
        yield None
    elif isinstance(progress, (bool, np.bool_)):
        from .bars import Bars  # Rich takes a while to load

        with Bars() as bars:
            bar = bars.run(label, known, unit)
            try:
                yield lambda done, most: bars.advance_to(bar, done, most)
            finally:
                bars.stop()
                bars.end(bar)
    elif callable(progress):
        yield progress
    else:
        raise ValueError(f"progress = {checks.show(progress)} is not True, False or a function of ({unit} done, {unit} in all).")
