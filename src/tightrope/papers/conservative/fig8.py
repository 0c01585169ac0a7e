"""Figure 8: budgets on Jester, at the beginning and to the end, of the runs of Figure 5."""

import numpy as np
from matplotlib.figure import Figure

from ...plots import style
from ...plots.curves import PAIRED_LEGEND, draw_bands, line_styles
from ..colours import palette
from ..scoring import Row, below, estimate, everywhere_above, paired_mean, row_of
from . import fig5
from .measures import budgets, parallel, recovery_round

data = fig5.data


def score(runs: fig5.JesterRuns) -> list[Row]:
    """Runs that break the constraint, and when; the order and the slopes of the budgets; LinUCB's lead."""
    result = runs.result
    final = {name: watched["budget"][:, -1] for name, watched in result.watched.items()}
    lead = {name: paired_mean(final["LinUCB"], budget) for name, budget in final.items() if name != "LinUCB"}
    nearest = min(lead, key=lambda name: lead[name].value)
    early = []
    for share in fig5.SHARES:
        name = f"CLUCB2T {share} %"
        lowest = estimate(result.watched[name]["lowest"][:, 0])
        text = f"the lowest budget of {name}, between checkpoints"
        early.append(row_of("early-budget-with-checkpoints", text, "negative", lowest, below(lowest)))
    text = f"LinUCB ends with the highest budget (least lead: over {nearest})"
    return [
        *early,
        row_of("jester-linucb-highest-budget", text, "highest", lead[nearest], everywhere_above(list(lead.values()))),
        *budgets(result, "LinUCB"),
        parallel(result),
    ]


def plot(runs: fig5.JesterRuns) -> dict[str, Figure]:
    result = runs.result
    fig, axes = style.figure(2)
    looks = palette("conservative")
    lines = line_styles([{name: result.watched[name]["budget"] for name in result.policies}], looks)
    for ax, last in zip(axes, (recovery_round(result, "LinUCB"), int(result.rounds[-1])), strict=True):
        columns = slice(0, max(2, int(np.searchsorted(result.rounds, last, side="right"))))
        curves = {name: result.watched[name]["budget"][:, columns] for name in result.policies}
        draw_bands(ax, result.rounds[columns], curves, paired=True, lines=lines, palette=looks)
        ax.axhline(0.0, color=style.INK, linewidth=0.8)
        ax.set_xlabel("round", color=style.INK)
    axes[0].set_ylabel("true budget", color=style.INK)
    style.legend(axes[1], PAIRED_LEGEND)
    return {"fig8": fig}
