"""Instances, line-ups and the measures that all figures of this paper share."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tightrope import Result, lipschitz_lower_bound, policies, problems
from tightrope.extend import standard_error
from tightrope.plots import style
from tightrope.plots.figures import bound_curve, bound_left_out, draw_regret

from ..experiment import palette
from ..scoring import OURS, Estimate, Row, below, estimate, judged, near, paired_mean, row_of

Shape = Callable[[np.ndarray], np.ndarray]
P = policies
LOGLOG = 3.0  # weight of ln ln n in f(n) of every index: the constant of KL-UCB's theorem
ALIKE_SHARE = 0.3  # a growth within this share of C(theta) is like it
UNRELATED_CONSTANT = 1e6  # a constant with which arms tell nothing about each other
HEIGHT_IN_MEDIANS = 1.3  # of a picture, in medians of the final means: what lies above is marked


def shapes(shift: float = 0.0) -> dict[str, Shape]:
    """The four shapes of the mean on [0, 1]; shift moves their peaks off a grid."""
    return {
        "triangle": lambda x: 0.8 - 0.5 * np.abs(x - 0.5 + shift),
        "steep": lambda x: 0.9 - 1.6 * np.abs(x - 0.5 + shift),
        "quadratic": lambda x: 0.9 - 2.4 * (x - 0.5 + shift) ** 2,
        "two peaks": lambda x: np.maximum(
            0.3, np.maximum(0.85 - np.abs(x - 0.25 + shift), 0.75 - np.abs(x - 0.75 + shift))
        ),
    }


def instance(name: str, K: int) -> problems.Lipschitz:
    points = np.linspace(0.0, 1.0, K)
    means = shapes()[name](points)
    return problems.Lipschitz(
        points, means, lipschitz=float(np.abs(np.diff(means) / np.diff(points)).max())
    )


def constant(problem: problems.Lipschitz, lipschitz: float | None = None) -> float:
    """C(theta) of a problem; with another L, what that L would make of it."""
    return lipschitz_lower_bound(
        problem.means, distances=problem.distances, lipschitz=lipschitz or problem.lipschitz
    ).value


def summary(result: Result, bound: float | None = None) -> pd.DataFrame:
    rows = []
    for name in result.policies:
        final = result.regret[name][:, -1]
        grown, se = growth(result, name)
        rows.append(
            {
                "policy": name,
                "runs": final.size,
                "mean": final.mean(),
                "s.e.": float(standard_error(final)),
                "median": np.median(final),
                "maximum": final.max(),
                "growth per ln T": grown,
                "s.e. of growth": se,
            }
            | (
                {}
                if bound is None
                else {"C(theta)": bound, "C(theta) ln T": bound * np.log(result.rounds[-1])}
            )
        )
    return pd.DataFrame(rows)


def growth(result: Result, name: str) -> Estimate:
    """(R(T) - R(T / 10)) / ln 10, from the nearest checkpoint."""
    return estimate(growths(result, name))


def growths(result: Result, name: str, decade: float = 10.0) -> np.ndarray:
    row = int(np.argmin(np.abs(result.rounds - result.rounds[-1] / decade)))
    return (result.regret[name][:, -1] - result.regret[name][:, row]) / np.log(
        result.rounds[-1] / result.rounds[row]
    )


def growth_below(result: Result, name: str, other: str) -> Estimate:
    return paired_mean(growths(result, name), growths(result, other))


def difference(result: Result, better: str, worse: str) -> Estimate:
    return paired_mean(result.regret[better][:, -1], result.regret[worse][:, -1])


def order(
    key: str,
    where: str,
    result: Result,
    better: str,
    worse: str,
    *,
    paper: str = "below",
    remark: str = "",
) -> Row:
    return judged(
        key,
        f"{where}: {better} has less regret than {worse} (difference)",
        paper,
        difference(result, better, worse),
        below,
        remark=remark,
    )


def growth_of_cklucb(where: str, grown: Estimate, slower: Estimate, bound: float) -> list[Row]:
    return [
        row_of(
            OURS,
            f"{where}: CKL-UCB grows like C(theta) ln T, C = {bound:.3g}",
            f"near {bound:.3g}",
            grown,
            near(grown, bound, ALIKE_SHARE),
        ),
        row_of(
            "ckl-finite-time",
            f"{where}: CKL-UCB grows more slowly than KL-UCB, blind to the structure (difference)",
            "below 0",
            slower,
            below(slower),
        ),
    ]


def join_results(first: Result, second: Result) -> Result:
    """Two results of the same rounds and seeds as one; replications may differ."""
    return Result(
        first.rounds,
        first.regret | second.regret,
        first.pulls | second.pulls,
        first.watched | second.watched,
        first.settings,
    )


def panels(results: dict[str, Result], names: list[str] | None = None) -> Figure:
    """Regret against ln T, one panel a problem, with its lower bound as a grey line; what leaves a
    panel is marked and named."""
    fig, axes = style.figure(len(results))
    for ax, (name, result) in zip(axes, results.items(), strict=True):
        labels = names or result.policies
        bound = (
            bound_curve(result) if bound_left_out(result) else None
        )  # what the paper is about is drawn, and marked where it leaves
        draw_regret(
            ax,
            result,
            log_rounds=True,
            policies=labels,
            legend=False,
            palette=palette("lipschitz"),
            references=bound,
        )
        for number, line in enumerate(
            ax.get_lines()[: len(labels)]
        ):  # curves of like policies lie on each other
            line.set(linestyle=style.LINES[number % len(style.LINES)])
        top = HEIGHT_IN_MEDIANS * float(
            np.median([result.regret[policy][:, -1].mean() for policy in labels])
        )
        ax.set_ylim(0.0, top)
        mark_leaving(ax, top)
        ax.set_title(name, color=style.INK, fontsize=10, loc="left")
        if ax is axes[-1]:
            style.legend(ax)
    return fig


def mark_leaving(ax: Axes, top: float) -> None:
    leaving = [line for line in ax.get_lines() if np.max(line.get_ydata()) > top]
    for number, line in enumerate(leaving):
        x, y, colour = np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), line.get_color()
        ax.plot(
            x[np.argmax(y > top)],
            top,
            marker="^",
            color=colour,
            markersize=8,
            clip_on=False,
            zorder=6,
            label="_",
        )
        ax.text(
            0.03,
            0.97 - 0.07 * number,
            f"▲ {line.get_label()}: {y[-1]:.0f} at the end",
            transform=ax.transAxes,
            color=colour,
            fontsize=8,
            va="top",
        )
