"""Figure 3, bottom: linear rewards and fixed arms, for both readings of the draw of features. Figure 7 draws the same runs."""

from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ...results.results import Result
from ..experiment import Run
from ..scoring import OURS, Estimate, Row, above, near, paired_mean, rare, row_of
from .bounds import BoundConstants, allowance, clucb2_plays, clucb2_regret
from .measures import even_checkpoints, extreme_models, final, lower, panels, reduction, relative, safety, summary
from .settings import ALPHA, DELTA, DRAWS, LINEAR, budget_monitor, line_up, linear_models, ranked_baseline, told_baseline

RANK = 6
MATCH_SHARE = 0.1  # two regrets match if they differ by no more than this share


class LinearRuns(NamedTuple):
    """The runs of one draw, how many models they go round, which of them the paper would show, and the least mean of a baseline."""

    result: Result
    models: int
    picked: dict[str, int]
    floor: float


def play(run: Run, draw: str) -> LinearRuns:
    """All algorithms of the figure, and the literal, sub-Gaussian and clipped forms."""
    models, runs = run.at(smoke=(2, 2), laptop=(35, 4), paper=(70, 40))
    horizon = run.at(smoke=600, laptop=20_000, paper=20_000)
    chosen = line_up("CLUCB", "CLUCB2", RANK, "LinUCB", **LINEAR)
    chosen["CLUCB2, literal"] = told_baseline("CLUCB2", RANK, **LINEAR, clip="paper")
    chosen["CLUCB2, sub-Gaussian"] = told_baseline("CLUCB2", RANK, **LINEAR, martingale="subgaussian")
    chosen["CLUCB-S, clipped"] = told_baseline("CLUCB", RANK, **LINEAR, selection="constrained", clip="both")
    drawn = linear_models(models, run.seed, draw)
    result = run.simulate(
        f"fig3-linear-{draw}", drawn, chosen, horizon=horizon, replications=models * runs,
        checkpoints=even_checkpoints(horizon), monitor=budget_monitor(RANK),
    )  # fmt: skip
    floor = min(ranked_baseline(problem, RANK)["baseline_mean"] for problem in drawn)
    return LinearRuns(result, models, extreme_models(result, "CLUCB2", "CLUCB", models), floor)


def data(run: Run) -> dict[str, LinearRuns]:
    """The runs of both draws."""
    return {draw: play(run, draw) for draw in DRAWS}


def score(found: dict[str, LinearRuns]) -> list[Row]:
    """CLUCB2 and constrained selection against CLUCB, on the worst model and on average; the promise and the bounds of Theorem 1."""
    rows = []
    for draw, one in found.items():
        rows += score_draw(draw, one)
        rows += safety(one.result, "LinUCB", f" ({draw})")
    return rows + theorem_1(found)


def score_draw(draw: str, found: LinearRuns) -> list[Row]:
    """The figure's claims, for one reading of the draw of features."""
    result, models, worst = found.result, found.models, found.picked["worst"]
    other = f"Draw “{draw}”; the paper does not say how features are drawn so that means lie in [0, 1]."
    joint = other + " Eq 4's joint minimum admits arms that point away from all that was played."

    def on_worst(name: str, rival: str) -> Estimate:
        return relative(result, name, rival, worst, models)

    rows = [
        reduction(key, f"{name} lowers CLUCB's regret, worst model ({draw})", 38, on_worst(name, "CLUCB"), remark=remark)
        for key, name, remark in (
            ("linear-improvement", "CLUCB-S", joint), ("linear-improvement", "CLUCB2", other), (OURS, "CLUCB-S, clipped", other),
        )
    ]  # fmt: skip
    for rival in ("CLUCB2", "CLUCB-Or"):
        ours = on_worst("CLUCB-S", rival)
        text = f"CLUCB-S matches {rival}, worst model ({draw}) (ratio)"
        rows.append(row_of("linear-s-matches", text, "matches", ours, near(ours, 1.0, MATCH_SHARE), remark=joint))
    for name in ("CLUCB-M", "CLUCB-S", "CLUCB2"):
        text = f"{name} has less regret than CLUCB, average over models ({draw})"
        rows.append(lower("linear-average", text, final(result, name), final(result, "CLUCB"), remark=other))
    half = paired_mean(final(result, "CLUCB"), 0.5 * final(result, "CLUCB2"))
    text = f"as printed: CLUCB has at least half of CLUCB2's regret ({draw})"
    return [
        *rows,
        row_of("plays-bound-half", text, "at least half", half, above(half), remark="A weaker statement than the one before it."),
    ]


def theorem_1(found: dict[str, LinearRuns]) -> list[Row]:
    """How many runs of CLUCB2 break the constraint, and how many exceed the bounds of Theorem 1 and Lemma 1."""
    broken = over = more = total = horizon = 0
    world = BoundConstants(100, ALPHA, DELTA, **LINEAR, mu_l=min(one.floor for one in found.values()))
    for one in found.values():
        seen, horizon = one.result.watched["CLUCB2"], int(one.result.rounds[-1])
        broken += int((seen["violations"] > 0).sum())
        over += int((final(one.result, "CLUCB2") > clucb2_regret(world, horizon)).sum())
        more += int((seen["events"][:, -1, 1:3].sum(axis=1) > clucb2_plays(world)).sum())
        total += one.result.replications
    above_bound = "runs of CLUCB2 above " + allowance("the bound of Theorem 1", clucb2_regret(world, horizon), horizon)
    off_arm = "runs of CLUCB2 off the optimistic arm more often than " + allowance("Lemma 1 allows", clucb2_plays(world), horizon)
    return [
        row_of(key, f"{text}, both draws", f"at most {DELTA:g}", f"{count} of {total}", rare(count, total, DELTA))
        for key, text, count in (
            ("thm1-safe", "runs of CLUCB2 that break the constraint", broken),
            ("thm1-regret", above_bound, over),
            ("lemma1-plays", off_arm, more),
        )
    ]


def tables(found: dict[str, LinearRuns]) -> dict[str, pd.DataFrame]:
    """Every policy at the horizon."""
    return {draw: summary(one.result, one.models, "CLUCB", one.picked) for draw, one in found.items()}


def plot(found: dict[str, LinearRuns]) -> dict[str, Figure]:
    """Regret of the worst, average and best model."""
    return {draw: panels(one.result, one.models, one.picked, "regret", title="cumulative pseudo-regret") for draw, one in found.items()}


def notes(found: dict[str, LinearRuns]) -> str:
    """Sizes and settings."""
    result, models, *_ = next(iter(found.values()))
    return (
        f"{models} models, {result.replications // models} runs each, n = {result.rounds[-1]}, K = 30, d = 100, noise 0.1, lambda 0.5, "
        "baseline: 6th best arm. “spread”: unit vectors with means uniform on [0, 1]; “ball”: uniform in the unit ball, given a mean "
        ">= 0. CLUCB2 clips both lower bounds at 0; “literal” clips the arm's only (Eq 7)."
    )
