"""Arms in [0, 1]: a grid and CKL-UCB against HOO and Zooming, with the grid's own share of the regret."""

from typing import Any

import numpy as np
import pandas as pd

from ... import problems
from ...engine.results import Result
from ...policies.lipschitz._intervals import discretize
from ..experiment import Outcome, Run
from .settings import P, Shape, order, panels, shapes, summary

SHIFT = 0.0363  # peaks lie between the points of every grid used
FINE = 513  # arms that HOO and Zooming choose among
REASON = "The regret is dominated by the grid's own share where the peak lies far from its points."


def targets() -> dict[str, Shape]:
    """The four shapes with peaks off the grid, and a wavy one."""
    return shapes(SHIFT) | {"waves": lambda x: (np.sin(13 * x) * np.sin(27 * x) + 1) / 2}


def bounds(shape: Shape) -> tuple[float, float]:
    """The peak and the Lipschitz constant of a shape, on 2e6 even points (the constant rounded up by 1e-6)."""
    x = np.linspace(0.0, 1.0, 2_000_001)
    y = shape(x)
    return float(y.max()), float(np.abs(np.diff(y)).max() * 2e6 * (1 + 1e-6))


def on_grid(shape: Shape, points: np.ndarray) -> Any:
    """A problem whose regret is measured against the peak of the shape."""
    peak, L = bounds(shape)
    return problems.Lipschitz(points, shape(points), lipschitz=L, best=peak)


def continuous(run: Run) -> Outcome:
    """Five shapes; regret against the peak of the function."""
    horizon, runs = run.at(smoke=1000, laptop=30_000, paper=100_000), run.at(smoke=3, laptop=20, paper=50)
    outcome, rows = Outcome(), []
    grid, fine = discretize(horizon), np.linspace(0.0, 1.0, FINE)
    for name, shape in targets().items():
        coarse, dense = on_grid(shape, grid), on_grid(shape, fine)
        L = coarse.lipschitz
        chosen = {"CKL-UCB": P.CKLUCB(lipschitz=L), "TrackCKLUCB": P.TrackCKLUCB(lipschitz=L), "KL-UCB": P.KLUCB()}
        found = run.simulate(f"grid-{name}", coarse, chosen, horizon=horizon, replications=runs)
        rivals = {"HOO": P.HOO(nu=L), "Zooming": P.Zooming(lipschitz=L)}
        other = run.simulate(f"line-{name}", dense, rivals, horizon=horizon, replications=runs)
        result = joined(found, other)
        outcome.results[name] = result
        outcome.claims += [order("continuous", name, result, "CKL-UCB", worse, reason=REASON) for worse in rivals]
        table = summary(result)
        table.insert(0, "shape", name)
        share = horizon * (coarse.best - coarse.means.max())
        table["of which the grid's share"] = [share] * 3 + [horizon * (dense.best - dense.means.max())] * 2
        rows.append(table)
    outcome.tables["regret against the peak"] = pd.concat(rows, ignore_index=True)
    outcome.plots["continuous"] = panels(outcome.results)
    outcome.notes = (
        f"{runs} runs of {horizon} rounds, {grid.size} points from discretize; HOO and Zooming choose among {FINE} points. "
        "Runs are paired by their noise. Most of the gain comes from the grid itself: see KL-UCB on it."
    )
    return outcome


def joined(first: Result, second: Result) -> Result:
    """Two results of the same rounds and seeds as one."""
    return Result(first.rounds, first.regret | second.regret, first.pulls | second.pulls, first.watched | second.watched, first.settings)
