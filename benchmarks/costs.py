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

# Core-seconds at paper scale of figures that were not run there: the laptop run's time by the ratio of rounds.
ESTIMATED = {"semibandits fig2": 4500, "semibandits table1": 15_000, "semibandits fig4": 100}


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
