"""Figure 3 (top) in other readings: intervals of Wu et al. as the index, and the baseline's known mean or its own interval."""

import math

import numpy as np
from matplotlib.figure import Figure

from ..experiment import Run
from ..scoring import OURS, Estimate, Row, below, everywhere_above, in_reading, paired_mean, row_of
from .fig3_mab import RANK, SLACK_SHARE, BernoulliRuns, distance_left, sizes
from .fig3_mab import tables as tables  # every policy at the horizon, as there
from .measures import by_model, even_checkpoints, extreme_models, final, lower, panels, reduced_by_more, reduction, relative
from .settings import SIGMA, bernoulli_models, budget_monitor, line_up, told_baseline

# The baseline's index in the two-step argmax: its known mean (Wu et al.), or its own UCB (Kazerouni et al.).
READINGS = {"known mean": "", "own UCB": ", own UCB"}
DRAWN_POLICIES = ("UCB", "CUCB-Or", "CUCB", "CUCB-L", "CUCB-M", "CUCB-S", "CUCB2", "CUCB, own UCB")


def data(run: Run) -> BernoulliRuns:
    models, runs = run.at(smoke=(2, 2), laptop=(10, 2), paper=(70, 40))
    horizon = run.at(smoke=3000, laptop=10**6, paper=10**6)
    players = line_up("CUCB", "CUCB2", RANK, "UCB", sigma=SIGMA)
    for name, more in {"CUCB-Or": {"bound": "oracle"}, "CUCB": {}, "CUCB-L": {"selection": "largest-lower"},
                       "CUCB-M": {"bound": "martingale"}}.items():  # fmt: skip
        players[f"{name}, own UCB"] = told_baseline("CUCB", RANK, sigma=SIGMA, baseline_index="ucb", **more)
    result = run.simulate(
        "fig3-mab", bernoulli_models(models, run.seed), players, horizon=horizon, replications=models * runs,
        checkpoints=even_checkpoints(horizon), monitor=budget_monitor(RANK),
    )  # fmt: skip
    return BernoulliRuns(result, models, extreme_models(result, "CUCB2", "CUCB", models))


def score(runs: BernoulliRuns) -> list[Row]:
    """The gain of each improvement, alone and together, for both indices of the baseline."""
    return [row for reading in READINGS for row in in_reading(reading, score_reading(runs, reading))] + in_reading(
        next(iter(READINGS)), both(runs)
    )


def score_reading(runs: BernoulliRuns, reading: str) -> list[Row]:
    result, models, suffix = runs.result, runs.models, READINGS[reading]
    plain, oracle = f"CUCB{suffix}", f"CUCB-Or{suffix}"
    few = "The worst of other models, with other runs; the paper gives no width for MAB arms and no noise scale (sigma = 1 here)."
    chosen: dict[str, int | None] = {"average": None} | extreme_models(result, "CUCB2", plain, models)
    names = {"CUCB-M": f"CUCB-M{suffix}", "CUCB-S": "CUCB-S", "CUCB2": "CUCB2"}
    gained = {
        (name, label): relative(result, full, plain, model, models) for name, full in names.items() for label, model in chosen.items()
    }
    where = f"(baseline's index: {reading})"
    rows = []
    for name, key, paper in (("CUCB-M", "mab-m", 43), ("CUCB-S", "mab-s", 12)):
        rows.append(reduction(key, f"{name} lowers CUCB's regret, worst model {where}", paper, gained[name, "worst"], remark=few))
    text = f"CUCB2 lowers CUCB's regret by more than 51 %, worst model {where}"
    rows.append(reduced_by_more("mab-cucb2-half", text, 51, gained["CUCB2", "worst"], remark=few))
    for name, paper in (("CUCB-M", 43), ("CUCB-S", 12), ("CUCB2", 51)):
        for label in ("average", "best"):
            text = f"{name} lowers CUCB's regret, {label} model {where}"
            rows.append(reduction(OURS, text, paper, gained[name, label], remark="The paper's numbers are of the worst model."))
    worst = chosen["worst"]

    def on_worst(name: str) -> np.ndarray:
        return final(result, name, worst, models)

    text = f"CUCB-S has less regret than CUCB-L, worst model {where}"
    rows.append(lower("mab-s-below-l", text, on_worst("CUCB-S"), on_worst(f"CUCB-L{suffix}"), remark=few))
    farther = distance_left(on_worst("CUCB2"), on_worst(plain), on_worst(oracle))
    text = f"CUCB2 is less than half as far from CUCB-Or as CUCB, worst model {where} (regret)"
    rows.append(row_of("mab-cucb2-near-oracle", text, "much closer", farther, below(farther), remark=few))
    rows.append(lower(OURS, f"CUCB-Or has less regret than CUCB2, worst model {where}", on_worst(oracle), on_worst("CUCB2"), remark=few))

    better = by_model(result, "CUCB2", plain, models)
    share = f"{sum(one.value > 0 for one in better) / models:.0%} of models"
    text = f"CUCB2 has less regret than CUCB on every model {where}"
    rows.append(row_of("mab-every-model", text, "every model", share, everywhere_above(better)))
    if not suffix:  # the constrained selection is compared with the two-step one at the index that it names, the known mean
        never = [Estimate(one.value + SLACK_SHARE, one.se) for one in by_model(result, "CUCB-S", plain, models)]
        worst_gain = min(one.value for one in never) - SLACK_SHARE
        text = f"CUCB-S is on no model more than {SLACK_SHARE:.0%} worse than CUCB {where} (its least gain)"
        rows.append(row_of("selection-never-worse", text, "never worse", f"{worst_gain:+.1%}", everywhere_above(never)))
    best, middle, least = (Estimate(1 - gained["CUCB2", label].value, gained["CUCB2", label].se) for label in ("best", "average", "worst"))
    skew = Estimate(best.value + least.value - 2 * middle.value, math.hypot(best.se, least.se, 2 * middle.se))
    text = f"CUCB2's gain on the average model is nearer to the best than to the worst {where} (best + worst - 2 average)"
    rows.append(row_of("mab-best-near-average", text, "very similar", skew, below(skew)))
    return rows


def both(runs: BernoulliRuns) -> list[Row]:
    """The cost of safety: every conservative algorithm against UCB."""
    result = runs.result
    free = final(result, "UCB")
    costs = [paired_mean(final(result, name), free) for name in result.policies if name != "UCB"]
    cheaper = [name for name, cost in zip((n for n in result.policies if n != "UCB"), costs, strict=True) if cost.value < 0]
    text = "every conservative algorithm has more regret than UCB"
    ours = f"below UCB: {', '.join(cheaper)}" if cheaper else "all above"
    return [row_of("safety-costs", text, "all above", ours, everywhere_above(costs))]


def plot(runs: BernoulliRuns) -> dict[str, Figure]:
    return {"regret": panels(runs.result, runs.models, runs.picked, "regret", title="cumulative pseudo-regret", names=DRAWN_POLICIES)}


def notes(runs: BernoulliRuns) -> str:
    return sizes(runs.result, runs.models) + (
        f" sigma {SIGMA:g}. UCB is the same index without the constraint. “own UCB” gives the baseline its own "
        "UCB in the two-step argmax, as Kazerouni et al. do; the others use its known mean, as Wu et al. do."
    )
