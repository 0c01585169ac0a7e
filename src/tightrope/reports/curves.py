"""Regret curves with bands, and reference curves such as a lower bound."""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from .. import files
from ..engine.results import Result
from ..numerics.statistics import standard_error
from . import style

References = Mapping[str, tuple[ArrayLike, ArrayLike]]  # label -> (rounds, values) of a curve
FORMATS = ("svg", "png", "pdf")


def regret_figure(
    result: Result,
    *,
    title: str = "",
    log_rounds: bool = False,
    references: References | None = None,
    policies: Sequence[str] | None = None,
) -> Figure:
    """Mean cumulative regret of every policy with a band of two standard errors, and the problem's lower bound if it has one.

    references: label -> (rounds, values), drawn as dashed grey lines too. log_rounds: logarithmic axis of rounds.
    """
    fig, (ax,) = style.figure()
    draw_regret(ax, result, log_rounds=log_rounds, references=references, policies=policies)
    if title:
        ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def draw_regret(
    ax: Axes, result: Result, *, log_rounds: bool = False, references: References | None = None, policies: Sequence[str] | None = None,
    legend: bool = True,
) -> None:  # fmt: skip
    """Draw the curves of `regret_figure` into given axes."""
    names = list(policies or result.policies)
    draw_bands(ax, result.rounds, {name: result.regret[name] for name in names})
    for number, (label, (rounds, values)) in enumerate((bound_curve(result) | dict(references or {})).items()):
        ax.plot(rounds, values, color="#808a93", linestyle=style.LINES[1 + number % 3], linewidth=1.4, label=label, zorder=5)
    if log_rounds:
        ax.set_xscale("log")
    else:
        ax.set_xlim(left=0)
    ax.set_xlabel("round", color=style.INK)
    ax.set_ylabel("cumulative pseudo-regret", color=style.INK)
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    if legend:
        style.legend(ax)


def bound_curve(result: Result) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The lower bound C ln T (plus what the arms themselves lose against the best of a continuum) that the result carries."""
    if result.settings.get("lower_bound") is None:
        return {}
    constant, loss = result.settings["lower_bound"]
    label = "C(θ) ln T" + (" + the grid's share" if loss > 0.0 else "")
    return {label: (result.rounds, constant * np.log(result.rounds) + loss * result.rounds)}


def draw_bands(ax: Axes, rounds: np.ndarray, curves: Mapping[str, np.ndarray], first: int = 0) -> None:
    """Mean curves with bands of two standard errors; curves[name] is (replications, n). first: number of the first one's colour."""
    for number, (name, curve) in enumerate(curves.items(), first):
        mean = curve.mean(axis=0)
        ax.plot(rounds, mean, color=style.colour(number), linestyle=style.line(number), linewidth=1.8, label=name)
        if curve.shape[0] > 1:
            error = 2 * standard_error(curve)
            ax.fill_between(rounds, mean - error, mean + error, color=style.colour(number), alpha=0.15, linewidth=0)


def save_figure(fig: Figure, path: pathlib.Path) -> pathlib.Path:
    """Write a figure whole or not at all; the ending decides the format. Equal input gives equal bytes."""
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise ValueError(f"path = {str(path)!r} has no ending among {', '.join('.' + name for name in FORMATS)}.")
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "tightrope"}), files.atomically(path) as file:
        fig.savefig(file, format=kind, dpi=150, metadata=metadata)
    return path


def save_regret(result: Result, path: pathlib.Path, **options: Any) -> pathlib.Path:
    """`regret_figure` to a file."""
    return save_figure(regret_figure(result, **options), path)
