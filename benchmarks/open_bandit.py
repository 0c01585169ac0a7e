"""Writes docs/results/open-bandit.md: each policy of the Open Bandit Dataset judged on the other's
log, with verdicts. Numbers only.

python benchmarks/open_bandit.py [folder of the data]
"""

import pathlib
import sys
from collections import Counter

from tightrope.simulation.store import versions
from tightrope_papers.experiment import Run, run_figure
from tightrope_papers.openbandit import values

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results" / "open-bandit.md"


def table(headers, rows):
    """A table in Markdown."""
    yield f"| {' | '.join(headers)} |"
    yield f"|{' --- |' * len(headers)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def page(data=None):
    """The text of the page."""
    run = Run("paper", pathlib.Path("runs/open-bandit"), data=data)
    cases = values.data(run)
    outcome = run_figure("values", values, run)
    package_versions = versions()
    packages = ", ".join(
        f"{name} {package_versions[name]}" for name in ("python", "numpy", "numba", "scipy")
    )
    lines = [
        "# Open Bandit: each policy judged on the other's log",
        "",
        f"Made by `python benchmarks/open_bandit.py` ({packages}, source "
        f"{package_versions['source'][:12]}).",
        "The same with pictures: `tightrope reproduce openbandit`. The data are not in this "
        "repository.",
        "",
        outcome.notes,
        "",
        "## Overlap, bounds and gate",
        "",
        "Bounds hold at all times at once, with probability 0.95, whatever the logger learned. "
        "The gate compares with the logger.",
        "",
    ]
    rows = []
    for c in cases:
        low, high = c.evaluation.interval
        bounds = [
            f"{c.evaluation.ess:,.0f}",
            f"{c.evaluation.max_weight:.1f}",
            f"[{low:.4f}, {high:.4f}]",
        ]
        rows.append(
            [
                c.campaign,
                c.direction,
                *bounds,
                f"{c.own.value:.4f} ± {c.own.se:.4f}",
                c.evaluation.verdict,
            ]
        )
    headers = [
        "campaign",
        "log to policy",
        "effective sample size",
        "largest weight",
        "bounds",
        "policy's own mean",
        "verdict of `evaluate`",
    ]
    lines += [*table(headers, rows), "## Estimates", ""]
    lines += [
        "Clicks per impression, ± one standard error; in units of 0.001. Refused cases are shown "
        "and not judged.",
        "",
    ]
    names = list(dict.fromkeys(name for c in cases for name in c.evaluation.estimates))
    shown = [
        [
            c.campaign,
            c.direction,
            *(cell(c.evaluation.estimates.get(name)) for name in names),
            cell(c.own),
        ]
        for c in cases
    ]
    lines += table(["campaign", "log to policy", *names, "own mean"], shown)
    counted = Counter(row.verdict for row in outcome.rows)
    words = ", ".join(f"{number} {verdict}" for verdict, number in counted.items())
    lines.append(
        f"{len(outcome.rows)} comparisons: {words}; each with its test in "
        "[claims-openbandit.md](claims-openbandit.md)."
    )
    return "\n".join(lines) + "\n"


def cell(estimate):
    """A value in thousandths."""
    return "-" if estimate is None else f"{1e3 * estimate.value:.2f} ± {1e3 * estimate.se:.2f}"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(*sys.argv[1:]))
    print(PAGE.read_text())
