"""Pictures of paired comparisons: the differences with their intervals, and the performance profile."""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from matplotlib.figure import Figure

from . import style
from .curves import save_figure


class Difference(Protocol):
    """A pair of policies, what the first costs more than the second, and its interval."""

    @property
    def first(self) -> str: ...
    @property
    def second(self) -> str: ...
    @property
    def difference(self) -> float: ...
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def decided(self) -> bool: ...


class Differences(Protocol):
    """Paired differences, and on several problems the performance profile."""

    @property
    def pairs(self) -> Sequence[Difference]: ...
    @property
    def problems(self) -> int: ...
    @property
    def cost(self) -> str: ...
    @property
    def profile(self) -> Mapping[str, np.ndarray]: ...
    @property
    def ratios(self) -> np.ndarray: ...


def comparison_figure(comparison: Differences, *, title: str = "", palette: style.Palette | None = None) -> Figure:
    """A line per pair with its interval, grey where it is undecided; beside it the profile where there are several problems."""
    fig, axes = style.figure(2 if comparison.problems > 1 else 1, height=1.3 + 0.36 * max(len(comparison.pairs), 4))
    ax = axes[0]
    for number, pair in enumerate(comparison.pairs):
        colour = style.COLOURS[0] if pair.decided else style.SOFT
        if np.isfinite([pair.lower, pair.upper]).all():
            ax.plot([pair.lower, pair.upper], [number, number], color=colour, linewidth=2)
        else:  # too few replications: anything is possible
            ax.axhline(number, color=colour, linewidth=2)
        ax.plot([pair.difference], [number], "D", color=colour, markersize=5)
    ax.axvline(0.0, color=style.INK, linewidth=0.8)
    ax.set_yticks(range(len(comparison.pairs)), [f"{pair.first} - {pair.second}" for pair in comparison.pairs])
    ax.invert_yaxis()
    ax.set_xlabel(f"difference of {comparison.cost}", color=style.INK)
    if comparison.problems > 1:
        palette = style.Palette(comparison.profile) if palette is None else palette
        for name, share in comparison.profile.items():
            end = [*comparison.ratios, 1.05 * comparison.ratios[-1]]
            axes[1].step(end, [*share, share[-1]], where="post", color=palette.colour(name), linestyle=palette.line(name), label=name)
        axes[1].set_xlabel(f"times the lowest {comparison.cost} of the problem", color=style.INK)
        axes[1].set_ylabel("share of problems", color=style.INK)
        axes[1].set_ylim(0.0, 1.02)
        style.legend(axes[1])
    if title:
        ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def save_comparison(comparison: Differences, path: pathlib.Path, *, title: str = "") -> pathlib.Path:
    return save_figure(comparison_figure(comparison, title=title), path)
