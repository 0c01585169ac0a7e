"""Figure 7: budgets with linear rewards, to the end and at the beginning, of the runs of Figure 3 (bottom)."""

from matplotlib.figure import Figure

from ..scoring import OURS, Row, near, row_of
from . import fig3_linear
from .measures import budget_order, budget_panels, final, lower, lower_in_draws, relative, worst_models_of_draws

data = fig3_linear.data


def score(runs: fig3_linear.LinearRuns) -> list[Row]:
    """The worst model beside the oracle and the martingale bound; the order of the final budgets. Safety is judged in Figure 3."""
    result, models, worst = runs.result, runs.models, runs.picked["worst"]
    oracle = final(result, "CLUCB-Or", worst, models)
    martingale = relative(result, "CLUCB-M", "CLUCB", worst, models)
    average = "CLUCB-M has less regret than CLUCB, average over models"
    same = "CLUCB-M's regret is CLUCB's, worst model (ratio)"
    pool, more = runs.on_most_models()
    drawn = worst_models_of_draws(pool, "CLUCB2", "CLUCB", more, models)
    rows = []
    for name in ("CLUCB-S", "CLUCB2"):
        text = f"{name} has less regret than CLUCB-Or, worst model"
        over = f"worst model over draws of {models}: {name} has less regret than CLUCB-Or (ratio)"
        rows.append(lower_in_draws("linear-s-beats-oracle", over, pool, name, "CLUCB-Or", more, drawn))
        rows.append(lower(OURS, text, final(result, name, worst, models), oracle))
    return [
        *rows,
        row_of("linear-m-on-average-only", same, "no significant improvement", martingale, near(martingale, 1.0, fig3_linear.MATCH_SHARE)),
        lower("linear-m-on-average-only", average, final(result, "CLUCB-M"), final(result, "CLUCB")),
        budget_order(result),
    ]


def plot(runs: fig3_linear.LinearRuns) -> dict[str, Figure]:
    return budget_panels(runs.result, runs.models, runs.picked, "LinUCB")
