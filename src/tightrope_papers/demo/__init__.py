"""The mission in one page: six sections, and `page` that puts them together."""

import pathlib
from collections.abc import Callable
from dataclasses import dataclass, field

from tightrope.extend import Arguments
from tightrope.plots.style import Palette
from tightrope.simulation.run import Meters, silent
from tightrope.simulation.store import CODE, digest

TWIN = "Synthetic twin, because the data are not here:"


@dataclass(frozen=True)
class DemoSetting:
    """Settings of the demo. size: share of the full numbers of rounds and replications, in (0,
    1]."""

    out: pathlib.Path
    seed: int = 0
    data: str | None = None
    workers: int | None = None
    size: float = 1.0
    say: Callable[[str], None] = print
    progress: Meters = silent
    palette: Palette = field(default_factory=Palette)

    def of(self, number: int, least: int) -> int:
        return max(least, round(number * self.size))

    @property
    def runs(self) -> pathlib.Path:
        """The folder of runs: those of each version of the sources by themselves, so that a new one
        plays anew."""
        return self.out / "runs" / digest(CODE)[:8]

    def play(self, label: str, known: bool = True) -> Arguments:
        """Arguments of a simulation whose finished parts are kept and found again. known: its
        number of rounds."""
        return {
            "seed": self.seed,
            "workers": self.workers,
            "out": self.runs / label,
            "progress": self.progress(label, known),
        }

    @staticmethod
    def folder(label: str, source: str) -> str:
        """The folder of a section's runs: those of a synthetic twin lie beside those of the data,
        which may come later."""
        return f"{label}, twin" if source.startswith(TWIN) else label

    def report_missing(self, error: Exception) -> str:
        """Say that data are missing; returns what the page says of it."""
        self.say(str(error))
        return f"{TWIN} {error}"
