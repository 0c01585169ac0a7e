"""Writes src/tightrope/papers/costs.json, from which `reproduce` says how long it will take.

`python benchmarks/costs.py FOLDER...` reads the times of all figures in folders of `tightrope reproduce` (of a paper or of all) and
keeps those that were stored and are not in them. Run the figures on a machine that does nothing else, and this on the same one.
"""

import json
import pathlib
import sys

from tightrope.engine.benchmark import yardstick_speed
from tightrope.papers import names
from tightrope.papers.costs import PATH
from tightrope.papers.experiment import TIME, figures, time_taken

# Core-seconds at paper scale of figures that nobody has timed alone: docs/results/paper-scale.md, a group's time in equal parts, the runs
# that figures share with the first of them.
ESTIMATED = {
    **dict.fromkeys((f"conservative {figure}" for figure in ("e2", "fig4", "checkpoints", "fig5", "fig8")), 480),
    **dict.fromkeys((f"conservative {figure}" for figure in ("fig3-linear", "fig7", "theory")), 400),
    "conservative fig1": 7000, "conservative fig3-mab": 100, "conservative fig6": 100, "conservative late-rewards": 7200,
    **dict.fromkeys((f"softucb {figure}" for figure in figures("softucb")), 400),
    "lipschitz discrete": 4200, "lipschitz slope": 840, "lipschitz theory": 720, "lipschitz continuous": 360, "lipschitz contextual": 120,
    **dict.fromkeys((f"lingape {figure}" for figure in ("table1", "fig2", "coverage", "theory")), 300),
    **dict.fromkeys((f"semibandits {figure}" for figure in ("fig1", "fig3", "theory")), 1200),
}  # fmt: skip


def paper_of(folder: pathlib.Path) -> str | None:
    """The paper whose figures a folder holds."""
    found = {path.parent.name for path in folder.glob(f"*/{TIME}")}
    return next((paper for paper in names() if found and found <= figures(paper).keys()), None)


def main() -> None:
    """Read, merge, write."""
    stored = json.loads(PATH.read_text()) if PATH.exists() else {"core seconds": {"smoke": {}, "laptop": {}, "paper": {}}}
    speed = max(yardstick_speed() for _ in range(20))
    scale = speed / stored.get("yardstick", speed)  # seconds that were measured elsewhere become those of this machine
    for known in stored["core seconds"].values():
        known.update({key: round(seconds / scale, 1) for key, seconds in known.items()})
    for given in map(pathlib.Path, sys.argv[1:]):
        for folder in (given, *sorted(path for path in given.iterdir() if path.is_dir())):
            paper = paper_of(folder)
            for path in folder.glob(f"*/{TIME}") if paper is not None else ():
                took = time_taken(path.parent)
                stored["core seconds"][took["scale"]][f"{paper} {path.parent.name}"] = took["core seconds"]
    stored["core seconds"] = {name: dict(sorted(known.items())) for name, known in stored["core seconds"].items()}
    PATH.write_text(
        json.dumps({"yardstick": round(speed), "estimated at paper scale": ESTIMATED, "core seconds": stored["core seconds"]}, indent=1)
        + "\n"
    )


if __name__ == "__main__":
    main()
