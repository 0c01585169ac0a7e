"""Instances, line-ups and the measures that all figures of this paper share."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ... import policies, problems
from ...engine.results import Result
from ...numerics.statistics import standard_error
from ...reports import style
from ...reports.curves import draw_regret
from ...solvers.covering import lipschitz_lower_bound
from ..scoring import Row, Estimate, below, estimate, judged, paired

Shape = Callable[[np.ndarray], np.ndarray]
P = policies


def shapes(shift: float = 0.0) -> dict[str, Shape]:
    """The four shapes of the mean on [0, 1]; shift moves their peaks off a grid."""
    return {
        "triangle": lambda x: 0.8 - 0.5 * np.abs(x - 0.5 + shift),
        "steep": lambda x: 0.9 - 1.6 * np.abs(x - 0.5 + shift),
        "quadratic": lambda x: 0.9 - 2.4 * (x - 0.5 + shift) ** 2,
        "two peaks": lambda x: np.maximum(0.3, np.maximum(0.85 - np.abs(x - 0.25 + shift), 0.75 - np.abs(x - 0.75 + shift))),
    }


def tight_constant(points: np.ndarray, means: np.ndarray) -> float:
    """The least L that holds on these points."""
    return float(np.abs(np.diff(means) / np.diff(points)).max())


def instance(name: str, K: int) -> problems.Lipschitz:
    """One of the four shapes on K even points, with L tight on the grid."""
    points = np.linspace(0.0, 1.0, K)
    means = shapes()[name](points)
    return problems.Lipschitz(points, means, lipschitz=tight_constant(points, means))


def constant(problem: problems.Lipschitz, lipschitz: float | None = None) -> float:
    """C(theta) of a problem; with another L, what that L would make of it."""
    return lipschitz_lower_bound(problem.means, distances=problem.distances, lipschitz=lipschitz or problem.lipschitz).value


def summary(result: Result, bound: float | None = None) -> pd.DataFrame:
    """Mean, median and maximum at the horizon and the growth over the last decade of rounds."""
    rows = []
    for name in result.policies:
        final = result.regret[name][:, -1]
        grown, se = growth(result, name)
        rows.append({
            "policy": name, "mean": final.mean(), "s.e.": float(standard_error(final)), "median": np.median(final), "maximum": final.max(),
            "growth per ln T": grown, "s.e. of growth": se,
        } | ({} if bound is None else {"C(theta)": bound, "C(theta) ln T": bound * np.log(result.rounds[-1])}))  # fmt: skip
    return pd.DataFrame(rows)


def growth(result: Result, name: str, decade: float = 10.0) -> Estimate:
    """(R(T) - R(T / 10)) / ln 10, from the nearest checkpoint."""
    row = int(np.argmin(np.abs(result.rounds - result.rounds[-1] / decade)))
    return estimate((result.regret[name][:, -1] - result.regret[name][:, row]) / np.log(result.rounds[-1] / result.rounds[row]))


def difference(result: Result, better: str, worse: str) -> Estimate:
    """Paired difference of final regrets."""
    return paired(result.regret[better][:, -1], result.regret[worse][:, -1])


def order(where: str, result: Result, better: str, worse: str, *, paper: str = "below", remark: str = "") -> Row:
    """A claimed order of two policies, by their paired difference."""
    ours = difference(result, better, worse)
    return judged(f"{where}: {better} has less regret than {worse} (difference)", paper, ours, below(ours), remark=remark)


def joined(first: Result, second: Result) -> Result:
    """Two results of the same rounds and seeds as one."""
    return Result(first.rounds, first.regret | second.regret, first.pulls | second.pulls, first.watched | second.watched, first.settings)


def panels(results: dict[str, Result], names: list[str] | None = None) -> Figure:
    """Regret against ln T, one panel a problem, with its lower bound as a dashed line."""
    fig, axes = style.figure(len(results))
    for ax, (name, result) in zip(axes, results.items(), strict=True):
        shown = names or result.policies
        draw_regret(ax, result, log_rounds=True, policies=shown, legend=ax is axes[-1])
        tops = [result.regret[policy][:, -1].mean() for policy in shown]
        ax.set_ylim(0.0, 1.3 * float(np.median(tops)) if len(tops) > 1 else None)
        ax.set_title(name, color=style.INK, fontsize=10, loc="left")
    return fig
