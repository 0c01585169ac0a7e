"""Figure 3, top: Bernoulli arms, regret of the conservative algorithms and their ablations. Figures
1 and 6 draw the same runs.

`other_indices` has other readings of what is promising and of what the baseline's index is.
"""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Result
from tightrope.plots.figures import regret_figure

from ..experiment import Run, palette
from ..scoring import (
    OURS,
    Estimate,
    Row,
    Rows,
    above,
    below,
    everywhere_above,
    in_reading,
    judged,
    near,
    paired_mean,
    row_of,
)
from .measures import (
    SIGMA,
    ModelRuns,
    bernoulli_models,
    budget_monitor,
    budget_panels,
    by_model,
    even_checkpoints,
    extreme_models,
    final,
    in_per_cent,
    line_up,
    lower,
    panels,
    parallel,
    reduced_by_more,
    reduced_in_draws,
    reduction,
    relative,
    safety,
    summary,
    told_baseline,
    worst_models_of_draws,
)

RANK = 4
SCALE = 0.5  # of psi: rewards in [0, 1] are 1/2-sub-Gaussian
OTHER_SCALE = math.sqrt(0.5)
OTHER = "psi 1/sqrt 2"
SCALED = ("CUCB-M", "CUCB2")  # whose bound has the scale of psi
NUMBERS = {
    "CUCB-M": ("mab-m", 43.0),
    "CUCB-S": ("mab-s", 12.0),
    "CUCB2": ("mab-cucb2-half", 51.0),
}  # the paper's, of its worst model
DRAWN_POLICIES = ("UCB", "CUCB-Or", "CUCB", "CUCB-L", "CUCB-M", "CUCB-S", "CUCB2")
SIZES = "K = 10, baseline: 4th best arm, alpha 0.05, delta 0.01."
FEW = "The worst of other models, with other runs."
SLACK_SHARE = 0.05  # "never worse" is read as: by no more than this share of CUCB's regret


def data(run: Run) -> ModelRuns:
    """All algorithms on the same models; then what decides, without curves: the extreme models
    again, and more models."""
    models, runs = run.at(smoke=(2, 2), laptop=(70, 1), paper=(70, 14))
    more, repeats, of_extremes = run.at(smoke=(4, 2, 2), laptop=(0, 0, 0), paper=(210, 40, 1000))
    worlds = bernoulli_models(max(models, more), run.seed)
    horizon = run.at(smoke=3000, laptop=10**6, paper=10**6)
    common: dict[str, object] = {"sigma": SIGMA, "index": "rounds", "baseline_index": "ucb"}
    players = line_up("CUCB", "CUCB2", RANK, "UCB", martingale_sigma=SCALE, **common)
    papers = dict(players)
    players[f"CUCB-M, {OTHER}"] = told_baseline(
        "CUCB", RANK, martingale_sigma=OTHER_SCALE, bound="martingale", **common
    )
    players[f"CUCB2, {OTHER}"] = told_baseline(
        "CUCB2", RANK, martingale_sigma=OTHER_SCALE, **common
    )
    result = run.simulate(
        "fig3-mab-rounds",
        worlds[:models],
        players,
        horizon=horizon,
        replications=models * runs,
        checkpoints=even_checkpoints(horizon),
        monitor=budget_monitor(RANK),
    )
    picked = extreme_models(result, "CUCB2", "CUCB", models)
    if not more:
        return ModelRuns(result, models, picked)
    extremes = [worlds[picked[label]] for label in ("worst", "best")]
    shown = run.simulate(
        "fig3-mab-extremes",
        extremes,
        papers,
        horizon=horizon,
        replications=len(extremes) * of_extremes,
        checkpoints=[horizon],
    )
    improved = {
        name: players[name] for name in ("CUCB", *NUMBERS, *(f"{one}, {OTHER}" for one in SCALED))
    }
    pool = run.simulate(
        "fig3-mab-pool",
        worlds,
        improved,
        horizon=horizon,
        replications=more * repeats,
        checkpoints=[horizon],
    )
    return ModelRuns(result, models, picked, shown, (pool, more))


def score(runs: ModelRuns) -> list[Row]:
    plain = {name: name for name in NUMBERS}
    other = plain | {name: f"{name}, {OTHER}" for name in SCALED}
    result, models = runs.result, runs.models
    shown, which, number = runs.on_extremes()
    worst = extreme_models(result, other["CUCB2"], "CUCB", models)["worst"]
    return [
        *numbers(runs, plain, "psi with 1/2"),
        *orders(
            lambda name: final(shown, name, which["worst"], number), plain["CUCB2"], "psi with 1/2"
        ),
        *every_model(runs),
        safety_costs(
            runs.result,
            "UCB",
            "CUCB-Or",
            text="every conservative algorithm that is not told the means has more regret than UCB",
        ),
        judged(
            OURS,
            "CUCB-Or has more regret than UCB (difference)",
            "above",
            paired_mean(final(result, "CUCB-Or"), final(result, "UCB")),
            above,
        ),
        *in_reading(
            OTHER,
            [
                *numbers(runs, other, "psi with 1/sqrt 2"),
                *orders(
                    lambda name: final(result, name, worst, models),
                    other["CUCB2"],
                    "psi with 1/sqrt 2",
                ),
            ],
        ),
    ]


def numbers(runs: ModelRuns, names: dict[str, str], where: str) -> Rows:
    """The paper's numbers beside the worst of 70 models over draws of 70, and those of our worst,
    average and best model."""
    result, models = runs.result, runs.models
    pool, more = runs.on_most_models()
    worst = worst_models_of_draws(pool, names["CUCB2"], "CUCB", more, models)
    chosen: dict[str, int | None] = {"average": None} | extreme_models(
        result, names["CUCB2"], "CUCB", models
    )
    for name, (key, paper) in NUMBERS.items():
        one_sided = name == "CUCB2"
        words = f"{'more than ' if one_sided else ''}{paper:g} %"
        yield reduced_in_draws(
            key,
            f"{name} lowers CUCB's regret, worst model over draws of {models} ({where})",
            words,
            paper,
            pool,
            names[name],
            "CUCB",
            more,
            worst,
            at_least=one_sided,
        )
        for label, model in chosen.items():
            yield judged(
                OURS,
                f"{name} lowers CUCB's regret, {label} model ({where})",
                words,
                in_per_cent(relative(result, names[name], "CUCB", model, models)),
                above,
            )


def orders(
    on_worst: Callable[[str], np.ndarray], both: str, where: str, few: str = FEW
) -> list[Row]:
    """The order of regret on the worst model. on_worst: the regrets of an algorithm there; both:
    the name of CUCB2."""
    return [
        lower(
            "mab-s-below-l",
            f"CUCB-S has less regret than CUCB-L, worst model ({where})",
            on_worst("CUCB-S"),
            on_worst("CUCB-L"),
            remark=few,
        ),
        judged(
            "mab-cucb2-near-oracle",
            f"CUCB2 is less than half as far from CUCB-Or as CUCB, worst model ({where}) (regret)",
            "much closer",
            distance_left(on_worst(both), on_worst("CUCB"), on_worst("CUCB-Or")),
            below,
            remark=few,
        ),
        lower(
            OURS,
            f"CUCB-Or has less regret than CUCB2, worst model ({where})",
            on_worst("CUCB-Or"),
            on_worst(both),
            remark=few,
        ),
    ]


def distance_left(both: np.ndarray, plain: np.ndarray, oracle: np.ndarray) -> Estimate:
    """How much farther from the oracle CUCB2 is than half of CUCB's distance, on whichever side of
    it."""
    gap, half = both - oracle, 0.5 * (plain - oracle)
    return max(paired_mean(gap, half), paired_mean(-gap, half))


def every_model(runs: ModelRuns) -> list[Row]:
    pool, models = runs.on_most_models()
    shown, which, number = runs.on_extremes()
    best, least = (
        in_per_cent(relative(shown, "CUCB2", "CUCB", which[label], number))
        for label in ("best", "worst")
    )
    return [
        better_on_every_model(pool, "CUCB", models),
        never_worse(pool, "CUCB", models),
        nearer_to_best(
            "(best + worst - 2 average, per cent)",
            best,
            in_per_cent(relative(runs.result, "CUCB2", "CUCB")),
            least,
        ),
    ]


def better_on_every_model(result: Result, plain: str, models: int, where: str = "") -> Row:
    better = by_model(result, "CUCB2", plain, models)
    return row_of(
        "mab-every-model",
        f"CUCB2 has less regret than CUCB on every model{where}",
        "every model",
        f"{sum(one.value > 0 for one in better)} of {models} models",
        everywhere_above(better),
    )


def never_worse(result: Result, plain: str, models: int, where: str = "") -> Row:
    gained = by_model(result, "CUCB-S", plain, models)
    return row_of(
        "selection-never-worse",
        f"CUCB-S is on no model more than {SLACK_SHARE:.0%} worse than CUCB{where} (its least "
        "gain)",
        "never worse",
        f"{min(one.value for one in gained):+.1%}",
        everywhere_above([Estimate(one.value + SLACK_SHARE, one.se) for one in gained]),
    )


def nearer_to_best(where: str, best: Estimate, middle: Estimate, least: Estimate) -> Row:
    """Whether the gain on the average model is nearer to that on the best than to the worst's."""
    return judged(
        "mab-best-near-average",
        f"CUCB2's gain on the average model is nearer to the best than to the worst {where}",
        "very similar",
        Estimate(
            best.value + least.value - 2 * middle.value,
            math.hypot(best.se, least.se, 2 * middle.se),
        ),
        below,
    )


def safety_costs(result: Result, *apart: str, text: str) -> Row:
    paid = {
        name: paired_mean(final(result, name), final(result, "UCB"))
        for name in result.policies
        if name not in apart
    }
    cheaper = [name for name, cost in paid.items() if cost.value < 0]
    ours = f"below UCB: {', '.join(cheaper)}" if cheaper else "all above"
    return row_of("safety-costs", text, "all above", ours, everywhere_above(list(paid.values())))


def tables(runs: ModelRuns) -> dict[str, pd.DataFrame]:
    return {"policies": summary(runs.result, runs.models, "CUCB", runs.picked)}


def plot(runs: ModelRuns) -> dict[str, Figure]:
    return {
        "regret": panels(
            runs.result,
            runs.models,
            runs.picked,
            "regret",
            title="cumulative pseudo-regret",
            names=DRAWN_POLICIES,
        )
    }


notes = SIZES + (
    " The index of every arm, the baseline's included, is mean + sqrt(ln t / n); lower bounds are "
    "those of Wu et al. with sigma = 1, psi has sigma = 1/2 (1/sqrt 2 beside it). UCB is the same "
    "index without the constraint. A number of the worst of 70 models is compared with its 5 to "
    "95 % range over draws of 70, with replacement. At paper scale what is said of every model "
    "and of draws of models is judged on more models, and orders on the worst model, and how the "
    "worst and the best compare, on more runs of each."
)


# Figure 1: the price of the confidence bound in CUCB: UCB, CUCB and CUCB with the true condition,
# on the runs of Figure 3 (top).


fig1_data = data


def fig1_score(runs: ModelRuns) -> list[Row]:
    result = runs.result
    exact, plain = final(result, "CUCB-Or"), final(result, "CUCB")
    return [
        lower(
            "fig1-cucb-above-oracle",
            "CUCB with the exact condition has less regret than CUCB",
            exact,
            plain,
            paper="much lower",
        ),
        row_of(
            "fig1-oracle-near-ucb",
            "CUCB with the exact condition has almost the regret of UCB (ratio)",
            "almost the same",
            relative(result, "CUCB-Or", "UCB"),
            near(relative(result, "CUCB-Or", "UCB"), 1.0, 0.2),
            remark="UCB here is the same index without the constraint; the paper gives no number "
            "for “almost the same”.",
        ),
    ]


def fig1_plot(runs: ModelRuns) -> dict[str, Figure]:
    return {
        "fig1": regret_figure(
            runs.result,
            policies=["UCB", "CUCB", "CUCB-Or"],
            paired=True,
            palette=palette("conservative"),
        )
    }


# Figure 6: budgets on Bernoulli arms, to the end and at the beginning, of the runs of Figure 3
# (top).


fig6_data = data


def fig6_score(runs: ModelRuns) -> list[Row]:
    return [*safety(runs.result, "UCB"), parallel(runs.result)]


def fig6_plot(runs: ModelRuns) -> dict[str, Figure]:
    return budget_panels(runs.result, runs.models, runs.picked, "UCB", DRAWN_POLICIES)


# Figure 3 (top) in other readings: intervals of Wu et al. as the index, and the baseline's known
# mean or its own interval.


# The baseline's index in the two-step argmax: its known mean (Wu et al.), or its own UCB (Kazerouni
# et al.).
READINGS = {"known mean": "", "own UCB": ", own UCB"}
OTHER_DRAWN_POLICIES = (
    "UCB",
    "CUCB-Or",
    "CUCB",
    "CUCB-L",
    "CUCB-M",
    "CUCB-S",
    "CUCB2",
    "CUCB, own UCB",
)


def other_indices_data(run: Run) -> ModelRuns:
    models, runs = run.at(smoke=(2, 2), laptop=(10, 2), paper=(70, 40))
    horizon = run.at(smoke=3000, laptop=10**6, paper=10**6)
    players = line_up("CUCB", "CUCB2", RANK, "UCB", sigma=SIGMA)
    for name, more in {
        "CUCB-Or": {"bound": "oracle"},
        "CUCB": {},
        "CUCB-L": {"selection": "largest-lower"},
        "CUCB-M": {"bound": "martingale"},
    }.items():
        players[f"{name}, own UCB"] = told_baseline(
            "CUCB", RANK, sigma=SIGMA, baseline_index="ucb", **more
        )
    result = run.simulate(
        "fig3-mab",
        bernoulli_models(models, run.seed),
        players,
        horizon=horizon,
        replications=models * runs,
        checkpoints=even_checkpoints(horizon),
        monitor=budget_monitor(RANK),
    )
    return ModelRuns(result, models, extreme_models(result, "CUCB2", "CUCB", models))


other_indices_tables = tables


def other_indices_score(runs: ModelRuns) -> Rows:
    for reading in READINGS:
        yield from in_reading(reading, score_reading(runs, reading))
    costs = safety_costs(
        runs.result, "UCB", text="every conservative algorithm has more regret than UCB"
    )
    yield from in_reading(next(iter(READINGS)), [costs])


def score_reading(runs: ModelRuns, reading: str) -> Rows:
    result, models, suffix = runs.result, runs.models, READINGS[reading]
    plain = f"CUCB{suffix}"
    few = f"{FEW[:-1]}; the paper gives no width for MAB arms and no noise scale (sigma = 1 here)."
    chosen: dict[str, int | None] = {"average": None} | extreme_models(
        result, "CUCB2", plain, models
    )
    names = {"CUCB-M": f"CUCB-M{suffix}", "CUCB-S": "CUCB-S", "CUCB2": "CUCB2"}
    gained = {
        (name, label): relative(result, full, plain, model, models)
        for name, full in names.items()
        for label, model in chosen.items()
    }
    where = f"(baseline's index: {reading})"
    for name in ("CUCB-M", "CUCB-S"):
        key, paper = NUMBERS[name]
        yield reduction(
            key,
            f"{name} lowers CUCB's regret, worst model {where}",
            paper,
            gained[name, "worst"],
            remark=few,
        )
    yield reduced_by_more(
        "mab-cucb2-half",
        f"CUCB2 lowers CUCB's regret by more than 51 %, worst model {where}",
        51,
        gained["CUCB2", "worst"],
        remark=few,
    )
    for name, (_, paper) in NUMBERS.items():
        for label in ("average", "best"):
            yield reduction(
                OURS,
                f"{name} lowers CUCB's regret, {label} model {where}",
                paper,
                gained[name, label],
                remark="The paper's numbers are of the worst model.",
            )

    def on_worst(name: str) -> np.ndarray:
        return final(result, names.get(name, f"{name}{suffix}"), chosen["worst"], models)

    yield from orders(on_worst, "CUCB2", where.strip("()"), few)
    yield better_on_every_model(result, plain, models, f" {where}")
    # the constrained selection is compared with the two-step one at the index that it names, the
    # known mean
    if not suffix:
        yield never_worse(result, plain, models, f" {where}")
    yield nearer_to_best(
        f"{where} (best + worst - 2 average)",
        *(
            Estimate(1 - gained["CUCB2", label].value, gained["CUCB2", label].se)
            for label in ("best", "average", "worst")
        ),
    )


def other_indices_plot(runs: ModelRuns) -> dict[str, Figure]:
    return {
        "regret": panels(
            runs.result,
            runs.models,
            runs.picked,
            "regret",
            title="cumulative pseudo-regret",
            names=OTHER_DRAWN_POLICIES,
        )
    }


other_indices_notes = SIZES + (
    f" sigma {SIGMA:g}. UCB is the same index without the constraint. “own UCB” gives the "
    "baseline its own UCB in the two-step argmax, as Kazerouni et al. do; the others use its "
    "known mean, as Wu et al. do."
)
