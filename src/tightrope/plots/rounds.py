"""Rounds of identifications: every run, and the mean of each policy."""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..core import checks
from ..numerics.statistics import standard_error
from . import style
from .curves import chosen_policies, one_target, save_figure
from .digits import with_error

MOST_NAMED = 200  # runs of a policy that say their rounds on a page


class StoppedRuns(Protocol):
    """Rounds by policy, and whether the arm that was named is right and certified: an identification, or anything like it."""

    @property
    def policies(self) -> Sequence[str]: ...
    @property
    def rounds(self) -> Mapping[str, np.ndarray]: ...  # name -> (replications,)
    @property
    def correct(self) -> Mapping[str, np.ndarray]: ...
    @property
    def stopped(self) -> Mapping[str, np.ndarray]: ...


def rounds_figure(
    result: StoppedRuns,
    *,
    title: str = "",
    width: float = 7.0,
    height: float | None = None,
    band: float = 2.0,
    policies: Sequence[str] | None = None,
    palette: style.Palette | None = None,
) -> Figure:
    """A line of dots per policy, one a run, on a logarithmic axis, with the mean and `band` standard errors."""
    names = chosen_policies(policies, result.policies)
    fig, (ax,) = style.figure(
        width=checks.real("width", width, above=0.0, most=100.0),
        height=1.2 + 0.5 * len(names) if height is None else checks.real("height", height, above=0.0, most=100.0),
    )
    draw_rounds(ax, result, names, band, palette)
    if title:
        ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def draw_rounds(
    ax: Axes, result: StoppedRuns, names: Sequence[str], band: float = 2.0, palette: style.Palette | None = None
) -> None:  # fmt: skip
    checks.real("band", band, least=0.0)
    palette = style.Palette(result.policies) if palette is None else palette
    for number, name in enumerate(names):
        rounds, colour = result.rounds[name], palette.colour(name)
        fine = result.correct[name] & result.stopped[name]
        height = number + 0.25 * np.linspace(-1.0, 1.0, rounds.size)[np.argsort(np.arange(rounds.size) * 7919 % rounds.size)]
        ax.plot(rounds[fine], height[fine], ".", color=colour, alpha=0.5, markersize=4)
        ax.plot(rounds[~fine], height[~fine], "x", color=colour, alpha=0.8, markersize=5)
        error = band * float(standard_error(rounds)) if rounds.size > 1 else 0.0
        ax.errorbar(rounds.mean(), number, xerr=error, fmt="D", color=style.INK, markersize=5, capsize=4, zorder=5)
        shown = np.arange(rounds.size)[:MOST_NAMED]
        words = ["" if good else ", wrong or not certified" for good in fine[shown].tolist()]
        texts = [f"{name}, run {i}: {int(rounds[i]):,} rounds{word}" for i, word in zip(shown.tolist(), words, strict=True)]
        middle = f"{name}: {with_error(float(rounds.mean()), float(standard_error(rounds)))} rounds on average"
        style.hover(ax, [*rounds[shown], rounds.mean()], [*height[shown], number], [*texts, middle])
    ax.set_xscale("log")
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("rounds", color=style.INK)


def plot_rounds(
    result: StoppedRuns, path: str | pathlib.Path | None, ax: Axes | None, width: float, height: float | None, *, band: float,
    policies: Sequence[str] | None, title: str = "",
) -> pathlib.Path | Axes:  # fmt: skip
    """The picture in a file, in axes, or in new axes of pyplot where neither is given."""
    target = one_target(path, ax, width, height or 1.0 + 0.5 * len(result.policies))
    if isinstance(target, Axes):
        draw_rounds(target, result, chosen_policies(policies, result.policies), band)
        if title:
            target.set_title(title, color=style.INK, fontsize=11, loc="left")
        return target
    return save_figure(rounds_figure(result, title=title, width=width, height=height, band=band, policies=policies), target)
