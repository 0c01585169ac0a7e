"""What a report says of an identification: rounds of every run, and how often the right arm was named and certified."""

import pathlib
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..core import checks
from ..numerics.statistics import standard_error
from ..plots import sentences, style
from ..plots.curves import chosen, one_target, save_figure
from ..plots.digits import measured
from ..plots.pictures import picture
from ..results.results import Identification
from .page import Section, Table
from .simulation import WIDTH, cost_cells, shares_caption, shares_figure

MOST_NAMED = 200  # runs of a policy that say their rounds on a page


def identification_section(
    title: str, result: Identification, *, text: str = "", palette: style.Palette | None = None
) -> Section:  # fmt: skip
    """What was found, rounds, pull shares and the table of one result. palette: colours by name; default: of this section alone."""
    palette = style.Palette(result.policies) if palette is None else palette
    caption = "Rounds of every run, mean ± 2 standard errors; crosses: a wrong arm or none certified."
    figures = [
        picture(rounds_figure(result, palette=palette, width=WIDTH), caption),
        picture(shares_figure(result, palette), shares_caption(result)),
    ]
    return Section(title, text, figures, [summary_table(result)], summary=found(result))


def found(result: Identification) -> str:
    """The result in sentences: who needs fewest rounds, and who named right arms with their certificate."""
    n = result.replications
    answers = [
        f"{name} named a right arm in {int(result.correct[name].sum())} and certified it in {int(result.stopped[name].sum())}"
        for name in result.policies
    ]
    return f"{sentences.lowest(result.rounds, 'mean number of rounds')} Of {n} run{'s' if n != 1 else ''}, {sentences.listed(answers)}."


def summary_table(result: Identification) -> Table:
    """Rounds ± standard error, the paired difference to the fewest, and shares of runs that were right and certified."""
    shares = {name: [_share(result.correct[name]), _share(result.stopped[name])] for name in result.policies}
    n = result.replications
    return Table(
        ["policy", "rounds", "minus fewest, paired", "median", "largest", "right", "certified"],
        [cost_cells(row) + shares[row.policy] for row in result.summary()],
        f"{n} replication{'s' if n != 1 else ''}; ± one standard error.",
    )


def _share(happened: np.ndarray) -> str:
    """A share of the runs with its standard error, or the count where all runs agree and there is none."""
    if happened.all() or not happened.any() or happened.size < 2:
        return f"{happened.mean():.4g}"
    return measured(float(happened.mean()), float(standard_error(happened)))


def rounds_figure(
    result: Identification,
    *,
    title: str = "",
    width: float = 7.0,
    height: float | None = None,
    band: float = 2.0,
    policies: Sequence[str] | None = None,
    palette: style.Palette | None = None,
) -> Figure:
    """A line of dots per policy, one a run, on a logarithmic axis, with the mean and `band` standard errors."""
    names = chosen(policies, result.policies)
    fig, (ax,) = style.figure(
        width=checks.real("width", width, above=0.0, most=100.0),
        height=1.2 + 0.5 * len(names) if height is None else checks.real("height", height, above=0.0, most=100.0),
    )
    draw_rounds(ax, result, names, band, palette)
    if title:
        ax.set_title(title, color=style.INK, fontsize=11, loc="left")
    return fig


def draw_rounds(
    ax: Axes, result: Identification, names: Sequence[str], band: float = 2.0, palette: style.Palette | None = None
) -> None:  # fmt: skip
    """Draw `rounds_figure` into given axes."""
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
        middle = f"{name}: {measured(float(rounds.mean()), float(standard_error(rounds)))} rounds on average"
        style.hover(ax, [*rounds[shown], rounds.mean()], [*height[shown], number], [*texts, middle])
    ax.set_xscale("log")
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("rounds", color=style.INK)


def plot_rounds(
    result: Identification, path: str | pathlib.Path | None, ax: Axes | None, width: float, height: float | None, *, band: float,
    policies: Sequence[str] | None, title: str = "",
) -> pathlib.Path | Axes:  # fmt: skip
    """The picture in a file or in axes, exactly one of which is given."""
    target = one_target(path, ax)
    if isinstance(target, Axes):
        draw_rounds(target, result, chosen(policies, result.policies), band)
        if title:
            target.set_title(title, color=style.INK, fontsize=11, loc="left")
        return target
    return save_figure(rounds_figure(result, title=title, width=width, height=height, band=band, policies=policies), target)
