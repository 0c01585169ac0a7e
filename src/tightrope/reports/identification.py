"""What a report says of an identification: rounds of every run, and how often the right arm was named and certified."""

import pathlib
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..engine.results import Identification
from ..numerics.statistics import standard_error
from . import style
from .curves import save_figure
from .page import Section, Table, figure_svg
from .simulation import cost_cells, shares_figure


def identification_section(title: str, result: Identification, *, text: str = "") -> Section:
    """Rounds, table and pull shares of one result."""
    figures = [
        (figure_svg(rounds_figure(result)), "Rounds of every run, mean ± 2 standard errors; crosses: a wrong arm or none certified."),
        (figure_svg(shares_figure(result)), "Share of rounds in which each arm was played, mean over replications (darker: more)."),
    ]
    return Section(title, text, figures, [summary_table(result)])


def summary_table(result: Identification) -> Table:
    """Rounds ± standard error, the paired difference to the fewest, and shares of runs that were right and certified."""
    shares = {name: [f"{result.correct[name].mean():.4g}", f"{result.stopped[name].mean():.4g}"] for name in result.policies}
    n = result.replications
    return Table(
        ["policy", "rounds", "minus fewest, paired", "median", "largest", "right", "certified"],
        [cost_cells(row) + shares[row.policy] for row in result.summary()],
        f"{n} replication{'s' if n != 1 else ''}; ± one standard error.",
    )


def rounds_figure(result: Identification, *, title: str = "") -> Figure:
    """A line of dots per policy, one a run, on a logarithmic axis, with the mean and two standard errors."""
    fig, (ax,) = style.figure(height=1.2 + 0.5 * len(result.policies))
    for number, name in enumerate(result.policies):
        rounds, colour = result.rounds[name], style.colour(number)
        fine = result.correct[name] & result.stopped[name]
        height = number + 0.25 * np.linspace(-1.0, 1.0, rounds.size)[np.argsort(np.arange(rounds.size) * 7919 % rounds.size)]
        ax.plot(rounds[fine], height[fine], ".", color=colour, alpha=0.5, markersize=4)
        ax.plot(rounds[~fine], height[~fine], "x", color=colour, alpha=0.8, markersize=5)
        error = 2.0 * float(standard_error(rounds)) if rounds.size > 1 else 0.0
        ax.errorbar(rounds.mean(), number, xerr=error, fmt="D", color=style.INK, markersize=5, capsize=4, zorder=5)
    ax.set_xscale("log")
    ax.set_yticks(range(len(result.policies)), result.policies)
    ax.invert_yaxis()
    ax.set_xlabel("rounds", color=style.INK)
    if title:
        ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def save_rounds(result: Identification, path: pathlib.Path, **options: Any) -> pathlib.Path:
    """`rounds_figure` to a file."""
    return save_figure(rounds_figure(result, **options), path)
