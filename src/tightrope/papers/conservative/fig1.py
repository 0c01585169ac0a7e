"""Figure 1: the price of the confidence bound in CUCB: UCB, CUCB and CUCB with the true condition, on the runs of Figure 3 (top)."""

from matplotlib.figure import Figure

from ...plots.curves import regret_figure
from ..colours import palette
from ..scoring import Row, near, row_of
from . import fig3_mab
from .measures import final, lower, relative

data = fig3_mab.data


def score(runs: fig3_mab.BernoulliRuns) -> list[Row]:
    """The exact condition costs little, its estimate much."""
    result = runs.result
    exact, plain = final(result, "CUCB-Or"), final(result, "CUCB")
    remark = "UCB here is the same index without the constraint; the paper gives no number for “almost the same”."
    text = "CUCB with the exact condition has almost the regret of UCB (ratio)"
    return [
        lower("fig1-cucb-above-oracle", "CUCB with the exact condition has less regret than CUCB", exact, plain, paper="much lower"),
        row_of("fig1-oracle-near-ucb", text, "almost the same", relative(result, "CUCB-Or", "UCB"),
               near(relative(result, "CUCB-Or", "UCB"), 1.0, 0.2), remark=remark),
    ]  # fmt: skip


def plot(runs: fig3_mab.BernoulliRuns) -> dict[str, Figure]:
    return {"fig1": regret_figure(runs.result, policies=["UCB", "CUCB", "CUCB-Or"], paired=True, palette=palette("conservative"))}
