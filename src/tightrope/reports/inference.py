"""Pictures of what a log says of a policy: its confidence sequence over time."""

import pathlib
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..inference.comparison import Comparison
from ..inference.evaluation import Evaluation
from . import style
from .curves import save_figure


def sequence_figure(evaluation: Evaluation, *, title: str = "", log_rounds: bool = True) -> Figure:
    """The confidence sequence of one policy and its estimate. log_rounds: logarithmic axis of rounds."""
    fig, (ax,) = style.figure()
    draw_sequences(ax, {evaluation.policy or "policy": evaluation}, log_rounds=log_rounds)
    if title:
        ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def comparison_figure(comparison: Comparison, *, title: str = "", log_rounds: bool = True) -> Figure:
    """The confidence sequences of all policies and of the baseline."""
    fig, (ax,) = style.figure()
    draw_sequences(ax, {**comparison.evaluations, "(baseline)": comparison.baseline}, log_rounds=log_rounds)
    if title:
        ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def draw_sequences(ax: Axes, evaluations: Mapping[str, Evaluation], *, log_rounds: bool = True) -> None:
    """Bands of the sequences, and each estimate as a point with its interval at the last round."""
    for number, (name, e) in enumerate(evaluations.items()):
        colour, line = style.colour(number), style.line(number)
        if e.sequence is not None:
            ax.fill_between(e.sequence.t, e.sequence.lower, e.sequence.upper, color=colour, alpha=0.15, linewidth=0, step="post")
            ax.step(e.sequence.t, e.sequence.lower, where="post", color=colour, linestyle=line, linewidth=1.2)
            ax.step(e.sequence.t, e.sequence.upper, where="post", color=colour, linestyle=line, linewidth=1.2, label=name)
        low, high = e.interval
        ax.errorbar(
            e.rounds, e.value, yerr=[[max(e.value - low, 0.0)], [max(high - e.value, 0.0)]], fmt="D", color=colour, markersize=5, capsize=4,
            label=name if e.sequence is None else None,
        )  # fmt: skip
    if log_rounds:
        ax.set_xscale("log")
    ax.set_xlabel("round", color=style.INK)
    ax.set_ylabel("value per round", color=style.INK)
    style.legend(ax)


def save_sequence(evaluation: Evaluation, path: pathlib.Path, **options: Any) -> pathlib.Path:
    """`sequence_figure` to a file."""
    return save_figure(sequence_figure(evaluation, **options), path)


def save_comparison(comparison: Comparison, path: pathlib.Path, **options: Any) -> pathlib.Path:
    """`comparison_figure` to a file."""
    return save_figure(comparison_figure(comparison, **options), path)
