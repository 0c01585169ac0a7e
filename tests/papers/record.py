"""Writes verdicts.json, the verdicts of every figure at smoke scale, after a deliberate change of
them.

`PYTHONPATH=src python tests/papers/record.py [--add]`; --add: only of figures that are not in it.
"""

import json
import pathlib
import sys
import tempfile

from tightrope_papers import names
from tightrope_papers.experiment import Run, figures, reproduce

SEED = 1
PATH = pathlib.Path(__file__).with_name("verdicts.json")


def verdicts(outcome):
    """Claim and verdict by what is compared, in the order of the figure."""
    return {row.text: [row.key, row.verdict] for row in outcome.rows}


def main():
    """Run everything; all data sets must be there."""
    found = json.loads(PATH.read_text()) if "--add" in sys.argv else {}
    for paper in names():
        with tempfile.TemporaryDirectory() as folder:
            for figure in figures(paper):
                if f"{paper} {figure}" in found:
                    continue
                outcome = reproduce(paper, [figure], Run("smoke", pathlib.Path(folder), seed=SEED))[
                    figure
                ]
                if outcome.missing:
                    raise SystemExit(outcome.missing)
                found[f"{paper} {figure}"] = verdicts(outcome)
    PATH.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
