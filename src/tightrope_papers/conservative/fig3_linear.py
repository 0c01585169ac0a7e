"""Figure 3, bottom: linear rewards and fixed arms. Figure 7 draws the same runs; `other_draws`
draws features in other ways."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Result, problems
from tightrope.extend import Policy

from ..experiment import Run
from ..scoring import (
    OURS,
    Estimate,
    Row,
    Rows,
    above,
    estimate,
    gain,
    in_reading,
    judged,
    near,
    paired_mean,
    rare,
    row_of,
)
from .measures import (
    ALPHA,
    DELTA,
    DRAW,
    LINEAR,
    OTHER_DRAWS,
    BoundConstants,
    Instance,
    ModelRuns,
    allowance,
    budget_monitor,
    budget_panels,
    clucb2_plays,
    clucb2_regret,
    even_checkpoints,
    extreme_models,
    final,
    line_up,
    linear_models,
    lower,
    lower_in_draws,
    panels,
    ranked_baseline,
    reduced_in_draws,
    reduction,
    relative,
    safety,
    summary,
    told_baseline,
    worst_models_of_draws,
)

RANK = 6
IMPROVEMENT = 38.0  # per cent, of the paper's worst model
SIZES = "K = 30, d = 100, noise 0.1, lambda 0.5, baseline: 6th best arm."
MATCH_SHARE = 0.1  # two regrets match if they differ by no more than this share


def line_of(draw: str) -> Mapping[str, Callable[[Instance], Policy]]:
    """All algorithms of the figure, and other forms of CLUCB-S and CLUCB2.

    "shifted": Eq 4 is clipped at 0 as a whole, and the radius knows the norms of the vectors. The
    other draws take Eq 4 as printed and 1 for all norms.
    """
    common = LINEAR | ({"norms": "own"} if draw == DRAW else {})
    players = line_up(
        "CLUCB", "CLUCB2", RANK, "LinUCB", **common, **({"clip": "joint"} if draw == DRAW else {})
    )
    players["CLUCB2"] = told_baseline("CLUCB2", RANK, **common)
    players["CLUCB2, literal"] = told_baseline("CLUCB2", RANK, **common, clip="paper")
    players["CLUCB2, sub-Gaussian"] = told_baseline(
        "CLUCB2", RANK, **common, martingale="subgaussian"
    )
    other, clip = ("CLUCB-S, literal", "paper") if draw == DRAW else ("CLUCB-S, clipped", "both")
    players[other] = told_baseline("CLUCB", RANK, **common, selection="constrained", clip=clip)
    return players


def play(run: Run, draw: str) -> ModelRuns:
    models, runs = run.at(smoke=(2, 2), laptop=(35, 4), paper=(70, 120))
    horizon = run.at(smoke=600, laptop=20_000, paper=20_000)
    players = line_of(draw)
    worlds = linear_models(models, run.seed, draw)
    result = run.simulate(
        f"fig3-linear-{draw}",
        worlds,
        players,
        horizon=horizon,
        replications=models * runs,
        checkpoints=even_checkpoints(horizon),
        monitor=budget_monitor(RANK),
    )
    picked = extreme_models(result, "CLUCB2", "CLUCB", models)
    return ModelRuns(result, models, picked, world=constants(worlds, draw))


def constants(worlds: list[problems.Linear], draw: str) -> BoundConstants:
    floor = min(ranked_baseline(problem, RANK)["baseline_mean"] for problem in worlds)
    if draw != DRAW:
        return BoundConstants(100, ALPHA, DELTA, **LINEAR, mu_l=floor)
    B = max(float(np.linalg.norm(problem.theta)) for problem in worlds)
    D = max(float(np.linalg.norm(problem.features, axis=1).max()) for problem in worlds)
    return BoundConstants(100, ALPHA, DELTA, **LINEAR, mu_l=floor, B=B, D=D)


def data(run: Run) -> ModelRuns:
    runs = play(run, DRAW)
    more, repeats = run.at(smoke=(4, 2), laptop=(0, 0), paper=(700, 12))
    if not more:
        return runs
    horizon = int(runs.result.rounds[-1])
    players = {
        name: policy
        for name, policy in line_of(DRAW).items()
        if name in ("CLUCB", "CLUCB-Or", "CLUCB-S", "CLUCB2")
    }
    pool = run.simulate(
        "fig3-linear-pool",
        linear_models(more, run.seed, DRAW),
        players,
        horizon=horizon,
        replications=more * repeats,
        checkpoints=[horizon],
    )
    return runs._replace(pool=(pool, more))


def score(runs: ModelRuns) -> list[Row]:
    return [
        *score_draw(DRAW, runs),
        *score_models_chosen_by(runs, "CLUCB-M"),
        *safety(runs.result, "LinUCB", f" ({DRAW})"),
        *theorem_1({DRAW: runs}),
    ]


def score_models_chosen_by(runs: ModelRuns, improved: str) -> list[Row]:
    result, models = runs.result, runs.models
    worst = extreme_models(result, improved, "CLUCB", models)["worst"]
    return [
        reduction(
            OURS,
            f"{name} lowers CLUCB's regret, worst model for {improved}",
            IMPROVEMENT,
            relative(result, name, "CLUCB", worst, models),
        )
        for name in ("CLUCB-S", "CLUCB2")
    ]


def score_draw(draw: str, runs: ModelRuns) -> Rows:
    result, models, worst = runs.result, runs.models, runs.picked["worst"]
    other = (
        f"Draw “{draw}”; the paper does not say how features are drawn so that means lie in [0, 1]."
    )
    joint = other + " Eq 4's joint minimum admits arms that point away from all that was played."

    def on_worst(name: str, rival: str) -> Estimate:
        return relative(result, name, rival, worst, models)

    forms = (
        (OURS, name, other)
        for name in ("CLUCB-S, clipped", "CLUCB-S, literal")
        if name in result.policies
    )
    key = OURS if draw == DRAW else "linear-improvement"  # there the draws of models are judged
    yield from [
        reduction(
            whose,
            f"{name} lowers CLUCB's regret, worst model ({draw})",
            IMPROVEMENT,
            on_worst(name, "CLUCB"),
            remark=remark,
        )
        for whose, name, remark in ((key, "CLUCB-S", joint), (key, "CLUCB2", other), *forms)
    ]
    if draw == DRAW:
        yield from improvement(runs)
    for rival in ("CLUCB2", "CLUCB-Or"):
        text = f"CLUCB-S matches {rival}, worst model ({draw}) (ratio)"
        yield judged(
            "linear-s-matches",
            text,
            "matches",
            on_worst("CLUCB-S", rival),
            near,
            1.0,
            MATCH_SHARE,
            remark=joint,
        )
    for name in ("CLUCB-M", "CLUCB-S", "CLUCB2"):
        text = f"{name} has less regret than CLUCB, average over models ({draw})"
        yield lower(
            "linear-average", text, final(result, name), final(result, "CLUCB"), remark=other
        )
    text = f"as printed: CLUCB has at least half of CLUCB2's regret ({draw})"
    yield judged(
        "plays-bound-half",
        text,
        "at least half",
        paired_mean(final(result, "CLUCB"), 0.5 * final(result, "CLUCB2")),
        above,
        remark="A weaker statement than the one before it.",
    )


def improvement(runs: ModelRuns) -> list[Row]:
    pool, models = runs.on_most_models()
    worst = worst_models_of_draws(pool, "CLUCB2", "CLUCB", models, runs.models)
    return [
        reduced_in_draws(
            "linear-improvement",
            f"{name} lowers CLUCB's regret, worst model over draws of {runs.models} ({DRAW})",
            f"{IMPROVEMENT:g} %",
            IMPROVEMENT,
            pool,
            name,
            "CLUCB",
            models,
            worst,
        )
        for name in ("CLUCB-S", "CLUCB2")
    ]


def theorem_1(draws: Mapping[str, ModelRuns]) -> list[Row]:
    broken = over = more = total = 0
    regret = plays = horizon = 0.0
    for one in draws.values():
        assert one.world is not None
        watched, horizon = one.result.watched["CLUCB2"], float(one.result.rounds[-1])
        regret, plays = clucb2_regret(one.world, int(horizon)), clucb2_plays(one.world)
        broken += int((watched["violations"] > 0).sum())
        over += int((final(one.result, "CLUCB2") > regret).sum())
        more += int((watched["events"][:, -1, 1:3].sum(axis=1) > plays).sum())
        total += one.result.replications
    above_bound = "runs of CLUCB2 above " + allowance(
        "the bound of Theorem 1", regret, int(horizon)
    )
    off_arm = "runs of CLUCB2 off the optimistic arm more often than " + allowance(
        "Lemma 1 allows", plays, int(horizon)
    )
    return [
        row_of(
            key,
            f"{text} ({', '.join(draws)})",
            f"at most {DELTA:g}",
            f"{count} of {total}",
            rare(count, total, DELTA),
        )
        for key, text, count in (
            ("thm1-safe", "runs of CLUCB2 that break the constraint", broken),
            (OURS, above_bound, over),
            (OURS, off_arm, more),
        )
    ]


def tables(runs: ModelRuns) -> dict[str, pd.DataFrame]:
    return {"policies": summary(runs.result, runs.models, "CLUCB", runs.picked)}


def plot(runs: ModelRuns) -> dict[str, Figure]:
    return {
        "regret": panels(
            runs.result, runs.models, runs.picked, "regret", title="cumulative pseudo-regret"
        )
    }


notes = SIZES + (
    " Features are Gaussian, those with a negative mean drawn again, their norms shortened by "
    "factors uniform on [.5, 1]; then the worst arm is moved to 0 and all are scaled so that "
    "means fill [0, 1]. Eq 4 is clipped at 0 as a whole; beta uses the largest norm and "
    "||theta||. CLUCB2 clips both of its lower bounds; “literal” as Eq 4 and 7 are printed. At "
    "paper scale what is said of draws of models is judged on more models."
)


# Figure 7: budgets with linear rewards, to the end and at the beginning, of the runs of Figure 3
# (bottom).


fig7_data = data


def fig7_score(runs: ModelRuns) -> Rows:
    result, models, worst = runs.result, runs.models, runs.picked["worst"]
    oracle = final(result, "CLUCB-Or", worst, models)
    pool, more = runs.on_most_models()
    drawn = worst_models_of_draws(pool, "CLUCB2", "CLUCB", more, models)
    for name in ("CLUCB-S", "CLUCB2"):
        text = f"{name} has less regret than CLUCB-Or, worst model"
        yield lower_in_draws(
            "linear-s-beats-oracle",
            f"worst model over draws of {models}: {name} has less regret than CLUCB-Or (ratio)",
            pool,
            name,
            "CLUCB-Or",
            more,
            drawn,
        )
        yield lower(OURS, text, final(result, name, worst, models), oracle)
    yield from martingale_alone(runs)


def martingale_alone(runs: ModelRuns, where: str = "") -> Rows:
    """CLUCB-M on the worst model, where it should gain nothing, and on average."""
    result, worst = runs.result, runs.picked["worst"]
    yield judged(
        "linear-m-on-average-only",
        f"CLUCB-M's regret is CLUCB's, worst model (ratio){where}",
        "no significant improvement",
        relative(result, "CLUCB-M", "CLUCB", worst, runs.models),
        near,
        1.0,
        MATCH_SHARE,
    )
    yield lower(
        "linear-m-on-average-only",
        f"CLUCB-M has less regret than CLUCB, average over models{where}",
        final(result, "CLUCB-M"),
        final(result, "CLUCB"),
    )


def fig7_plot(runs: ModelRuns) -> dict[str, Figure]:
    return budget_panels(runs.result, runs.models, runs.picked, "LinUCB")


# Share of rounds in which a safe arm other than the UCB arm and the baseline is played (event E2)
# in the first 5,000 rounds.


E2_RANK = 3
FORMS: dict[str, dict[str, str]] = {
    "default": {},
    "literal": {"clip": "paper"},
    "sub-Gaussian": {"martingale": "subgaussian"},
}
SELECTION_ALONE = "CLUCB-S"
PAPER_SHARE, PAPER_ERROR = 38.7, 9.0  # per cent


SafeArmRuns = tuple[dict[str, Result], int]  # by draw, and how many models they go round


def play_e2(run: Run, draws: tuple[str, ...]) -> SafeArmRuns:
    models, runs = run.at(smoke=(2, 2), laptop=(70, 4), paper=(70, 40))
    horizon = run.at(smoke=500, laptop=5000, paper=5000)
    results = {}
    for draw in draws:
        common = LINEAR | ({"norms": "own"} if draw == DRAW else {})
        players = {
            label: told_baseline("CLUCB2", E2_RANK, **common, **more)
            for label, more in FORMS.items()
        }
        if draw == DRAW:
            players[SELECTION_ALONE] = told_baseline(
                "CLUCB", E2_RANK, **common, selection="constrained", clip="joint"
            )
        results[draw] = run.simulate(
            f"e2-{draw}",
            linear_models(models, run.seed, draw),
            players,
            horizon=horizon,
            replications=models * runs,
            checkpoints=even_checkpoints(horizon),
            monitor=budget_monitor(E2_RANK),
        )
    return results, models


def e2_data(run: Run) -> SafeArmRuns:
    return play_e2(run, (DRAW,))


def e2_score(runs: SafeArmRuns) -> Rows:
    """The share of such rounds, averaged over models: of CLUCB2, the algorithm that the event is
    defined for."""
    for draw, result in runs[0].items():
        horizon = int(result.rounds[-1])
        for label in result.policies:
            by_run = 100 * result.watched[label]["events"][:, -1, 1] / horizon
            key = "e2-share" if label in ("default", SELECTION_ALONE) else OURS
            row = judged(
                key,
                f"share of E2 rounds in the first {horizon}, 3rd best arm as baseline ({draw}, "
                f"{label})",
                f"{PAPER_SHARE:g} % ± {PAPER_ERROR:g} %",
                estimate(np.array([by_run[m :: runs[1]].mean() for m in range(runs[1])])),
                gain,
                PAPER_SHARE,
                PAPER_ERROR,
                remark="The share depends on how features are drawn, which the paper leaves open.",
            )
            yield from in_reading("E2 of CLUCB-S", [row]) if label == SELECTION_ALONE else [row]


# Figure 3 (bottom) and the share of E2 in other readings of how linear models are drawn, with Eq 4
# as printed.


OtherDraws = tuple[
    dict[str, ModelRuns], SafeArmRuns
]  # the runs of Figure 3 by draw, and those of the share of E2


def other_draws_data(run: Run) -> OtherDraws:
    return {draw: play(run, draw) for draw in OTHER_DRAWS}, play_e2(run, OTHER_DRAWS)


def other_draws_score(runs: OtherDraws) -> Rows:
    for draw, one in runs[0].items():
        yield from in_reading(
            draw,
            [
                *score_draw(draw, one),
                *martingale_alone(one, f" of “{draw}”"),
                *safety(one.result, "LinUCB", f" ({draw})"),
            ],
        )
        yield from in_reading(draw, e2_score(({draw: runs[1][0][draw]}, runs[1][1])))
    yield from theorem_1(runs[0])


def other_draws_tables(runs: OtherDraws) -> dict[str, pd.DataFrame]:
    return {
        draw: summary(one.result, one.models, "CLUCB", one.picked) for draw, one in runs[0].items()
    }


def other_draws_plot(runs: OtherDraws) -> dict[str, Figure]:
    return {
        draw: panels(one.result, one.models, one.picked, "regret", title="cumulative pseudo-regret")
        for draw, one in runs[0].items()
    }


other_draws_notes = SIZES + (
    " “spread”: unit vectors with means uniform on [0, 1]; “ball”: uniform in the unit ball, "
    "given a mean >= 0."
)
