"""Writes src/tightrope_papers/costs.json, from which `reproduce` says how long it will take.

`python benchmarks/costs.py FOLDER...` reads the times of all figures in folders of `tightrope
reproduce` (of a paper or of all) and keeps those that were stored and are not in them. Run the
figures on a machine that does nothing else, and this on the same one.
"""

import json
import pathlib
import sys

from tightrope_papers import names
from tightrope_papers.experiment import COSTS_FILE, figure_records, figures, paper_of, time_taken


def main() -> None:
    """Read, merge, write."""
    stored = (
        json.loads(COSTS_FILE.read_text())
        if COSTS_FILE.exists()
        else {"core seconds": {"smoke": {}, "laptop": {}, "paper": {}}}
    )
    for root in map(pathlib.Path, sys.argv[1:]):
        for folder in (root, *sorted(path for path in root.iterdir() if path.is_dir())):
            saved = figure_records(folder)
            for figure in saved:
                if took := time_taken(folder / figure):
                    stored["core seconds"][took["scale"]][f"{paper_of(folder, saved)} {figure}"] = (
                        took["core seconds"]
                    )
    there = sorted(f"{paper} {figure}" for paper in names() for figure in figures(paper))
    stored["core seconds"] = {
        scale: {key: known[key] for key in there if key in known}
        for scale, known in stored["core seconds"].items()
    }
    COSTS_FILE.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
