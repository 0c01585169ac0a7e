"""Figure 1: the price of the confidence bound in CUCB: UCB, CUCB and CUCB with the true condition, on the runs of Figure 3 (top)."""

from matplotlib.figure import Figure

from ...reports.curves import regret_figure
from ..scoring import Row, at_most, judged
from . import fig3_mab
from .measures import final, lower, relative

data = fig3_mab.data


def score(found: fig3_mab.Data) -> list[Row]:
    """The exact condition costs little, its estimate much."""
    result = found.result
    ours = relative(result, "CUCB-Or", "UCB")
    same = at_most(abs(ours.value - 1), 0.2, partly=0.5)
    remark = "Judged by the ratio's distance to 1; UCB here is the same index without the constraint, and the paper gives no number."
    exact, plain = final(result, "CUCB-Or"), final(result, "CUCB")
    return [
        lower("CUCB with the exact condition has a much lower regret than CUCB", "much lower", exact, plain),
        judged("CUCB with the exact condition has almost the regret of UCB", "almost the same", ours, same, remark=remark),
    ]


def plot(found: fig3_mab.Data) -> dict[str, Figure]:
    """Regret of the three."""
    return {"fig1": regret_figure(found.result, policies=["UCB", "CUCB", "CUCB-Or"])}
