"""What a report says of a simulation: regret curves, final regret with paired differences, pull shares."""

import numpy as np
from matplotlib.figure import Figure

from ..engine.results import Identification, Result
from ..engine.saved import Row
from ..engine.stopping import sentence
from . import style
from .curves import References, regret_figure
from .page import Section, Table, figure_svg

MOST_ARMS = 60  # shown one by one in the picture of pull shares


def simulation_section(
    title: str, result: Result, *, text: str = "", log_rounds: bool = False, references: References | None = None
) -> Section:
    """Curves, table and pull shares of one result."""
    figures = [
        (
            figure_svg(regret_figure(result, log_rounds=log_rounds, references=references)),
            "Mean cumulative pseudo-regret; bands are ± 2 standard errors.",
        ),
        (figure_svg(shares_figure(result)), "Share of rounds in which each arm was played, mean over replications (darker: more)."),
    ]
    return Section(title, text, figures, [summary_table(result)])


def cost_cells(row: Row) -> list[str]:
    """Policy, mean, paired difference to the best, median and worst of a summary."""
    paired = "best" if row.difference == 0 and row.difference_se == 0 else f"{row.difference:+.4g} ± {row.difference_se:.2g}"
    return [row.policy, f"{row.mean:.5g} ± {row.se:.2g}", paired, f"{row.median:.5g}", f"{row.worst:.5g}"]


def summary_table(result: Result) -> Table:
    """Final regret ± standard error and the paired difference to the best policy."""
    rows = [cost_cells(row) for row in result.summary()]
    rounds, n = int(result.rounds[-1]), result.replications
    ranked = result.settings.get("until")
    order = f" {sentence(ranked)}" if ranked else ""
    return Table(
        ["policy", "final regret", "minus best, paired", "median", "largest"], rows,
        f"After {rounds:,} rounds, {n} replication{'s' if n != 1 else ''}; ± one standard error.{order}",
    )  # fmt: skip


def shares_figure(result: Result | Identification) -> Figure:
    """A strip per policy: how its rounds are shared between the arms."""
    names = result.policies
    shares = np.stack([(result.pulls[name] / result.pulls[name].sum(axis=1, keepdims=True)).mean(axis=0) for name in names])
    if shares.shape[1] > MOST_ARMS:
        shares = -np.sort(-shares, axis=1)[:, :MOST_ARMS]
    fig, (ax,) = style.figure(height=0.8 + 0.42 * len(names))
    image = ax.imshow(shares, aspect="auto", cmap="Blues", vmin=0.0, vmax=max(float(shares.max()), 1e-12))
    ax.grid(False)
    ax.set_yticks(range(len(names)), names)
    ax.set_xlabel("arm" if result.pulls[names[0]].shape[1] <= MOST_ARMS else f"the {MOST_ARMS} most played arms")
    fig.colorbar(image, ax=ax, fraction=0.03, pad=0.02).ax.tick_params(labelsize=8)
    return fig
