"""What a report says of a simulation: regret curves, final regret with paired differences, pull shares."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..plots import sentences, style
from ..plots.curves import References, bound_curve, bound_left_out, regret_figure
from ..plots.digits import measured, rounded
from ..plots.pictures import picture
from ..results.results import Identification, Result
from ..results.saved import Row
from ..simulation.stopping import sentence
from .page import Section, Table

WIDTH, HEIGHT = 5.6, 3.6  # inches: letters can be read on a telephone
MOST_ARMS = 60  # shown one by one in the picture of pull shares


def simulation_section(
    title: str, result: Result, *, text: str = "", log_rounds: bool = False, references: References | None = None,
    palette: style.Palette | None = None,
) -> Section:  # fmt: skip
    """What was found, curves, pull shares and the table of one result. palette: colours by name; default: of this section alone."""
    palette = style.Palette(result.policies) if palette is None else palette
    caption = "Mean cumulative pseudo-regret"
    caption += f"; bands are ± 2 standard errors of {result.replications:,} replications." if result.replications > 1 else "."
    for label, (_, values) in bound_curve(result).items():
        if bound_left_out(result):
            caption += f" Not drawn, because it is far above all curves here: {label}; it is {values[-1]:,.0f} in the last round."
        else:
            caption += " Dashed grey: what no uniformly good policy falls below in the long run; at early rounds policies may."
    figures = [
        picture(regret_figure(result, log_rounds=log_rounds, references=references, palette=palette, width=WIDTH, height=HEIGHT), caption),
        picture(shares_figure(result, palette), shares_caption(result)),
    ]
    return Section(title, text, figures, [summary_table(result)], summary=found(result))


def found(result: Result) -> str:
    """The result in a sentence."""
    return sentences.lowest(
        {name: curve[:, -1] for name, curve in result.regret.items()}, f"regret after {int(result.rounds[-1]):,} rounds"
    )


def cost_cells(row: Row) -> list[str]:
    """Policy, mean, paired difference to the best, median and worst of a summary, to the digits that their standard errors set."""
    paired = "best" if row.difference == 0 and row.difference_se == 0 else measured(row.difference, row.difference_se, sign=True)
    return [row.policy, measured(row.mean, row.se), paired, rounded(row.median, row.se), rounded(row.worst, row.se)]


def summary_table(result: Result) -> Table:
    """Final regret ± standard error and the paired difference to the best policy."""
    rows = [cost_cells(row) for row in result.summary()]
    rounds, n = int(result.rounds[-1]), result.replications
    ranked = result.settings.get("until")
    order = f" {sentence(ranked)}" if ranked else ""
    errors = "± one standard error." if n > 1 else "one replication has no standard error."
    return Table(
        ["policy", "final regret", "minus best, paired", "median", "largest"], rows,
        f"After {rounds:,} rounds, {n} replication{'s' if n != 1 else ''}; {errors}{order}",
    )  # fmt: skip


def shares(result: Result | Identification, name: str) -> np.ndarray:
    """(K,) share of the rounds in which each arm was played, mean over replications; of sets they add up to the size of a set."""
    rounds = result.rounds[name][:, None] if isinstance(result, Identification) else float(result.rounds[-1])
    return np.asarray((result.pulls[name] / rounds).mean(axis=0))


def shares_figure(result: Result | Identification, palette: style.Palette | None = None) -> Figure:
    """A strip per policy in its colour: the fuller the colour, the more of its rounds had the arm."""
    names = result.policies
    palette = style.Palette(names) if palette is None else palette
    found = np.stack([shares(result, name) for name in names])
    many = found.shape[1] > MOST_ARMS
    if many:
        found = -np.sort(-found, axis=1)[:, :MOST_ARMS]
    fig, (ax,) = style.figure(width=WIDTH, height=0.8 + 0.42 * len(names))
    most = max(float(found.max()), 1e-12)
    for row, name in enumerate(names):
        for arm, part in enumerate(found[row].tolist()):
            ax.add_patch(Rectangle((arm - 0.5, row - 0.42), 1.0, 0.84, color=palette.colour(name), alpha=part / most, linewidth=0))
        which = "number {} of the most played arms" if many else "arm {}"
        texts = [f"{name}, {which.format(arm)}: {100 * part:.3g}% of the rounds" for arm, part in enumerate(found[row].tolist())]
        style.hover(ax, range(found.shape[1]), [row] * found.shape[1], texts)
    ax.grid(False)
    ax.set_xlim(-0.5, found.shape[1] - 0.5)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel(f"the {MOST_ARMS} most played arms" if many else "arm")
    style.whole_numbers(ax)
    return fig


def shares_caption(result: Result | Identification) -> str:
    """What the strips are, and what the fullest colour stands for."""
    most = max(float(shares(result, name).max()) for name in result.policies)
    size = max(float(shares(result, name).sum()) for name in result.policies)
    sets = f" A round plays a set of up to {size:.3g} arms." if size > 1.0 + 1e-9 else ""
    said = "Share of rounds in which each arm was played, mean over replications."
    return f"{said} The fullest colour is {100 * most:.3g}% of the rounds.{sets}"
