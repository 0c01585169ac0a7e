"""Figure 3, top: Bernoulli arms, regret of the conservative algorithms and their ablations. Figures 1 and 6 draw the same runs.

`other_indices` has other readings of what is promising and of what the baseline's index is.
"""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...results.results import Result
from ..experiment import Run
from ..scoring import OURS, Estimate, Row, above, among_draws, below, everywhere_above, in_reading, paired_mean, row_of
from .measures import by_model, even_checkpoints, extreme_models, final, in_per_cent, lower, panels, relative, summary, worst_of_draws
from .settings import SIGMA, bernoulli_models, budget_monitor, line_up, told_baseline

RANK = 4
SCALE = 0.5  # of psi: rewards in [0, 1] are 1/2-sub-Gaussian
OTHER_SCALE = math.sqrt(0.5)
OTHER = "psi 1/sqrt 2"
SCALED = ("CUCB-M", "CUCB2")  # whose bound has the scale of psi
NUMBERS = {"CUCB-M": ("mab-m", 43.0), "CUCB-S": ("mab-s", 12.0), "CUCB2": ("mab-cucb2-half", 51.0)}  # the paper's, of its worst model
DRAWN_POLICIES = ("UCB", "CUCB-Or", "CUCB", "CUCB-L", "CUCB-M", "CUCB-S", "CUCB2")
SLACK_SHARE = 0.05  # "never worse" is read as: by no more than this share of CUCB's regret


class BernoulliRuns(NamedTuple):
    """The runs, how many models they go round, which of them the paper would show, and runs on others, with how many these are."""

    result: Result
    models: int
    picked: dict[str, int]
    others: tuple[Result, int] | None = None


def data(run: Run) -> BernoulliRuns:
    """All algorithms on the same models, and the improvements on others: how far the worst of a draw of models varies between draws."""
    models, runs = run.at(smoke=(2, 2), laptop=(70, 1), paper=(70, 14))
    more, repeats = run.at(smoke=(2, 2), laptop=(0, 0), paper=(140, 14))
    worlds = bernoulli_models(models + more, run.seed)
    horizon = run.at(smoke=3000, laptop=10**6, paper=10**6)
    common: dict[str, object] = {"sigma": SIGMA, "index": "rounds", "baseline_index": "ucb"}
    players = line_up("CUCB", "CUCB2", RANK, "UCB", martingale_sigma=SCALE, **common)
    players[f"CUCB-M, {OTHER}"] = told_baseline("CUCB", RANK, martingale_sigma=OTHER_SCALE, bound="martingale", **common)
    players[f"CUCB2, {OTHER}"] = told_baseline("CUCB2", RANK, martingale_sigma=OTHER_SCALE, **common)
    result = run.simulate(
        "fig3-mab-rounds", worlds[:models], players, horizon=horizon, replications=models * runs,
        checkpoints=even_checkpoints(horizon), monitor=budget_monitor(RANK),
    )  # fmt: skip
    others = None
    if more:
        drawn = {
            name: players[name] for name in ("CUCB", "CUCB-S", *(f"{one}{reading}" for one in SCALED for reading in ("", f", {OTHER}")))
        }
        others = run.simulate(
            "fig3-mab-other-models", worlds[models:], drawn, horizon=horizon, replications=more * repeats, checkpoints=[horizon]
        ), more  # fmt: skip
    return BernoulliRuns(result, models, extreme_models(result, "CUCB2", "CUCB", models), others)


def score(runs: BernoulliRuns) -> list[Row]:
    """The gain of each improvement, alone and together; what is said of every model; the cost of safety."""
    plain = {name: name for name in NUMBERS}
    other = plain | {name: f"{name}, {OTHER}" for name in SCALED}
    return [
        *numbers(runs, plain, "psi with 1/2"),
        *orders(runs, plain["CUCB2"], "psi with 1/2"),
        *every_model(runs),
        *costs(runs),
        *in_reading(OTHER, numbers(runs, other, "psi with 1/sqrt 2") + orders(runs, other["CUCB2"], "psi with 1/sqrt 2")),
    ]


def numbers(runs: BernoulliRuns, names: dict[str, str], where: str) -> list[Row]:
    """The paper's numbers beside the worst of 70 models over draws of 70, and those of our worst, average and best model."""
    result, models = runs.result, runs.models
    pools = [(result, models)] if runs.others is None else [(result, models), runs.others]
    worst_models = [(one, number, extreme_models(one, names["CUCB2"], "CUCB", number)["worst"]) for one, number in pools]
    gains = worst_of_draws(pools, list(names.values()), names["CUCB2"], "CUCB", models)
    chosen: dict[str, int | None] = {"average": None} | extreme_models(result, names["CUCB2"], "CUCB", models)
    rows = []
    for name, (key, paper) in NUMBERS.items():
        one_sided = name == "CUCB2"
        words = f"{'more than ' if one_sided else ''}{paper:g} %"
        low, high = np.quantile(gains[names[name]], (0.05, 0.95))
        text = f"{name} lowers CUCB's regret, worst model over draws of {models} ({where})"
        noise = max(in_per_cent(relative(one, names[name], "CUCB", worst, number)).se for one, number, worst in worst_models)
        judged = among_draws(gains[names[name]], paper, noise, at_least=one_sided)
        rows.append(row_of(key, text, words, f"{low:.0f} to {high:.0f} %", judged))
        for label, model in chosen.items():
            ours = in_per_cent(relative(result, names[name], "CUCB", model, models))
            rows.append(row_of(OURS, f"{name} lowers CUCB's regret, {label} model ({where})", words, ours, above(ours)))
    return rows


def orders(runs: BernoulliRuns, both: str, where: str) -> list[Row]:
    """The order of regret on the worst model; both: the name of CUCB2."""
    result, models = runs.result, runs.models
    worst = extreme_models(result, both, "CUCB", models)["worst"]
    few = "The worst of other models, with other runs."

    def on_worst(name: str) -> np.ndarray:
        return final(result, name, worst, models)

    rest = paired_mean(on_worst(both) - on_worst("CUCB-Or"), 0.5 * (on_worst("CUCB") - on_worst("CUCB-Or")))
    closer = f"CUCB2 is less than half as far above CUCB-Or as CUCB, worst model ({where}) (regret)"
    key = "mab-cucb2-near-oracle"
    return [
        lower("mab-s-below-l", f"CUCB-S has less regret than CUCB-L, worst model ({where})", on_worst("CUCB-S"), on_worst("CUCB-L"),
              remark=few),
        lower(key, f"CUCB-Or has less regret than CUCB2, worst model ({where})", on_worst("CUCB-Or"), on_worst(both), remark=few),
        row_of(key, closer, "much closer", rest, below(rest), remark=few),
    ]  # fmt: skip


def every_model(runs: BernoulliRuns) -> list[Row]:
    """The claims on all models, and on the worst, the average and the best one."""
    result, models = runs.result, runs.models
    better = by_model(result, "CUCB2", "CUCB", models)
    never = [Estimate(one.value + SLACK_SHARE, one.se) for one in by_model(result, "CUCB-S", "CUCB", models)]
    best, middle, least = (
        in_per_cent(relative(result, "CUCB2", "CUCB", model, models)) for model in (runs.picked["best"], None, runs.picked["worst"])
    )
    skew = Estimate(best.value + least.value - 2 * middle.value, math.hypot(best.se, least.se, 2 * middle.se))
    near_best = "CUCB2's gain on the average model is nearer to the best than to the worst (best + worst - 2 average, per cent)"
    all_models, no_worse = (
        "CUCB2 has less regret than CUCB on every model",
        f"CUCB-S is on no model more than {SLACK_SHARE:.0%} worse than CUCB",
    )
    return [
        row_of("mab-every-model", all_models, "every model", f"{sum(one.value > 0 for one in better)} of {models} models",
               everywhere_above(better)),
        row_of("selection-never-worse", f"{no_worse} (its least gain)", "never worse",
               f"{min(one.value for one in never) - SLACK_SHARE:+.1%}", everywhere_above(never)),
        row_of("mab-best-near-average", near_best, "very similar", skew, below(skew)),
    ]  # fmt: skip


def costs(runs: BernoulliRuns) -> list[Row]:
    """The cost of safety: every conservative algorithm against UCB; the oracle, which is told the means, apart."""
    free = final(runs.result, "UCB")
    names = [name for name in runs.result.policies if name not in ("UCB", "CUCB-Or")]
    paid = {name: paired_mean(final(runs.result, name), free) for name in (*names, "CUCB-Or")}
    cheaper = [name for name in names if paid[name].value < 0]
    text = "every conservative algorithm that is not told the means has more regret than UCB"
    return [
        row_of("safety-costs", text, "all above", f"below UCB: {', '.join(cheaper)}" if cheaper else "all above",
               everywhere_above([paid[name] for name in names])),
        row_of(OURS, "CUCB-Or has more regret than UCB (difference)", "above", paid["CUCB-Or"], above(paid["CUCB-Or"])),
    ]  # fmt: skip


def tables(runs: BernoulliRuns) -> dict[str, pd.DataFrame]:
    """Every policy at the horizon."""
    return {"policies": summary(runs.result, runs.models, "CUCB", runs.picked)}


def plot(runs: BernoulliRuns) -> dict[str, Figure]:
    """Regret of the worst, average and best model."""
    return {"regret": panels(runs.result, runs.models, runs.picked, "regret", title="cumulative pseudo-regret", names=DRAWN_POLICIES)}


def notes(runs: BernoulliRuns) -> str:
    """Sizes and settings."""
    others = "" if runs.others is None else f", and of {runs.others[1]} others, {runs.others[0].replications // runs.others[1]} runs each,"
    return sizes(runs.result, runs.models) + (
        " The index of every arm, the baseline's included, is mean + sqrt(ln t / n); lower bounds are those of Wu et al. with sigma = 1, "
        "psi has sigma = 1/2 (1/sqrt 2 beside it). UCB is the same index without the constraint. A number of the worst of 70 models is "
        f"compared with its 5 to 95 % range over draws of 70 of these{others} with replacement."
    )


def sizes(result: Result, models: int) -> str:
    """Numbers of models, runs and rounds."""
    return (
        f"{models} models, {result.replications // models} runs each, n = {result.rounds[-1]}, K = 10, baseline: 4th best arm, "
        "alpha 0.05, delta 0.01."
    )
