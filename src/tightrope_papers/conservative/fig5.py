"""Figure 5: Jester, a new user, with checkpoints. Figure 8 draws the same runs; `other_scalings`
has other scales of the factors."""

import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Result, problems
from tightrope.plots import style
from tightrope.plots.figures import PAIRED_LEGEND, draw_bands, line_styles, regret_figure

from ..experiment import Run, palette
from ..scoring import (
    OURS,
    Row,
    below,
    estimate,
    every,
    everywhere_above,
    in_reading,
    judged,
    paired_mean,
    rare,
    row_of,
)
from .measures import (
    DELTA,
    BoundConstants,
    allowance,
    budget_monitor,
    clucb2t_plays,
    clucb2t_regret,
    even_checkpoints,
    final,
    granted_rounds,
    lower,
    parallel,
    ranked_baseline,
    recovery_round,
    reduced_by_more,
    relative,
    rounds_from_which_longer_periods_help,
    safety,
    summary,
    told_baseline,
    unconstrained,
)

RANK = 10
ALPHA = 0.01
SHARES = (5, 10, 12)
SIZES = "Noise 0.1, lambda 0.5, alpha = delta = 0.01, baseline: the user's 10th best of 40 jokes."
# A factorisation fixes features and users only up to scale, and with lambda = 0.5 the scale decides
# how much is regularised.
SCALING = "filled"  # means fill [0, 1] for every user


class JesterRuns(NamedTuple):
    """The runs of one scaling, how many users they go round, and what the bounds of Theorem 2
    depend on."""

    result: Result
    users: int
    world: BoundConstants


def cold_start(run: Run, users: int, scaling: str) -> list[problems.Linear]:
    """One problem per user; "filled": means fill [0, 1]; "unit users": ||theta|| <= 1, "unit
    features": ||x|| <= 1."""
    if scaling == SCALING:
        return problems.data.jester(
            users, rank=35, noise=0.1, seed=run.seed, data=run.data, means="filled"
        )
    worlds = problems.data.jester(users, rank=35, noise=0.1, seed=run.seed, data=run.data)
    longest = (
        max(float(np.linalg.norm(p.theta)) for p in worlds) if scaling == "unit users" else 1.0
    )
    return [problems.Linear(p.features * longest, p.theta / longest, noise=0.1) for p in worlds]


def play(run: Run, scaling: str) -> JesterRuns:
    """LinUCB, CLUCB, CLUCB2 and CLUCB2T with T = 5, 10, 12 % of n."""
    users, runs = run.at(smoke=(2, 1), laptop=(50, 1), paper=(100, 10))
    horizon = run.at(smoke=1000, laptop=10**5, paper=10**5)
    worlds = cold_start(run, users, scaling)
    B = max(float(np.linalg.norm(p.theta)) for p in worlds)
    D = max(float(np.linalg.norm(p.features, axis=1).max()) for p in worlds)
    common: dict[str, object] = {"sigma": 0.1, "lam": 0.5, "alpha": ALPHA}
    common |= {"norms": "own"} if scaling == SCALING else {"theta_bound": B, "arm_bound": D}

    players = {
        "LinUCB": told_baseline("CLUCB", RANK, unconstrained, **common),
        "CLUCB": told_baseline("CLUCB", RANK, **common),
        "CLUCB, clipped": told_baseline("CLUCB", RANK, **common, clip="joint"),
        "CLUCB2": told_baseline("CLUCB2", RANK, **common),
        "CLUCB2, literal": told_baseline("CLUCB2", RANK, **common, clip="paper"),
        "CLUCB2, sub-Gaussian": told_baseline("CLUCB2", RANK, **common, martingale="subgaussian"),
    }
    monitors = {name: budget_monitor(RANK, ALPHA) for name in players}
    for share in SHARES:
        name, T = f"CLUCB2T {share} %", share * horizon // 100
        players[name] = told_baseline("CLUCB2T", RANK, **common, checkpoint=T)
        monitors[name] = budget_monitor(RANK, ALPHA, T)
    result = run.simulate(
        f"jester-{scaling.replace(' ', '-')}",
        worlds,
        players,
        horizon=horizon,
        replications=users * runs,
        checkpoints=even_checkpoints(horizon),
        monitor=monitors,
    )
    floor = min(ranked_baseline(problem, RANK)["baseline_mean"] for problem in worlds)
    world = BoundConstants(35, ALPHA, DELTA, 0.1, 0.5, floor, B=B, D=D)
    return JesterRuns(result, users, world)


def data(run: Run) -> JesterRuns:
    return play(run, SCALING)


def score(runs: JesterRuns) -> list[Row]:
    return score_scaling(SCALING, runs.result)


def score_scaling(scaling: str, result: Result) -> list[Row]:
    why = (
        f"Factors scaled to {scaling}; the paper gives neither their scale nor the bound of "
        "||theta||. Each period grants its leeway at once: it goes to arms with wide intervals, "
        "the baseline repays it; CLUCB2 plays safe good arms meanwhile."
    )

    def order(key: str, text: str, better: str, worse: str) -> Row:
        return lower(
            key, f"{text} ({scaling})", final(result, better), final(result, worse), remark=why
        )

    half = f"'s regret is less than half of CLUCB's ({scaling})"
    rows = [
        reduced_by_more(key, name + half, 50, relative(result, name, "CLUCB"), remark=why)
        for key, name in (
            ("jester-half", "CLUCB2"),
            (OURS, "CLUCB2, literal"),
            (OURS, "CLUCB2, sub-Gaussian"),
        )
    ]
    rows.append(order("jester-best", "CLUCB2 has less regret than CLUCB", "CLUCB2", "CLUCB"))
    sparsest, first = f"CLUCB2T {SHARES[-1]} %", f"CLUCB2T {SHARES[0]} %"
    rows += [
        order("jester-sparser", f"{name} has less regret than {rival}", name, rival)
        for name, rival in ((first, "CLUCB2"), (sparsest, first))
    ]
    return rows


def theorem_2(scalings: dict[str, JesterRuns]) -> list[Row]:
    over = more = total = horizon = 0
    regret, plays = 0.0, 0.0
    for result, _, world in scalings.values():
        horizon = int(result.rounds[-1])
        for share in SHARES:
            name, T = f"CLUCB2T {share} %", share * horizon // 100
            regret, plays = clucb2t_regret(world, horizon, T), clucb2t_plays(world, T)
            over += int((final(result, name) > regret).sum())
            more += int((result.watched[name]["events"][:, -1, 1:3].sum(axis=1) > plays).sum())
            total += result.replications
    world = next(iter(scalings.values())).world
    first = rounds_from_which_longer_periods_help(world) / granted_rounds(
        world, 1.0
    )  # the T from which T~ >= C_b
    curve = [clucb2t_plays(world, first * 2.0**k) for k in range(12)]
    falling = [after <= before for before, after in itertools.pairwise(curve)] + [curve[-1] == 0.0]
    above_bound = "runs of CLUCB2T above " + allowance("the bound of Theorem 2", regret, horizon)
    off_arm = "runs of CLUCB2T off the optimistic arm more often than " + allowance(
        "Lemma 3 allows", plays, horizon
    )
    return [
        row_of(
            OURS,
            above_bound,
            f"at most {DELTA:g}",
            f"{over} of {total}",
            rare(over, total, DELTA),
        ),
        row_of(
            OURS,
            f"Lemma 3's bound falls with T from T~ = C_b on (T = {first:.3g}) and becomes 0",
            "falls to 0",
            f"{sum(falling)} of {len(falling)} steps",
            every(falling),
        ),
        row_of(
            OURS,
            off_arm,
            f"at most {DELTA:g}",
            f"{more} of {total}",
            rare(more, total, DELTA),
        ),
    ]


def tables(runs: JesterRuns) -> dict[str, pd.DataFrame]:
    return {"policies": summary(runs.result, runs.users, "CLUCB", {})}


def plot(runs: JesterRuns) -> dict[str, Figure]:
    return {"regret": regret_figure(runs.result, paired=True, palette=palette("conservative"))}


notes = SIZES + (
    " Users are drawn from all 19,181; theta is the user's row of left singular vectors, and the "
    "jokes' features are moved and scaled for each user so that the means of rank 35 fill [0, 1]."
)


# Figure 8: budgets on Jester, at the beginning and to the end, of the runs of Figure 5.


fig8_data = data


def fig8_score(runs: JesterRuns) -> list[Row]:
    result = runs.result
    final = {name: watched["budget"][:, -1] for name, watched in result.watched.items()}
    lead = {
        name: paired_mean(final["LinUCB"], budget)
        for name, budget in final.items()
        if name != "LinUCB"
    }
    nearest = min(lead, key=lambda name: lead[name].value)
    early = [
        judged(
            "early-budget-with-checkpoints",
            f"the lowest budget of CLUCB2T {share} %, between checkpoints",
            "negative",
            estimate(result.watched[f"CLUCB2T {share} %"]["lowest"][:, 0]),
            below,
        )
        for share in SHARES
    ]
    return [
        *early,
        row_of(
            "jester-linucb-highest-budget",
            f"LinUCB ends with the highest budget (least lead: over {nearest})",
            "highest",
            lead[nearest],
            everywhere_above(list(lead.values())),
        ),
        *safety(result, "LinUCB"),
        parallel(result),
    ]


def fig8_plot(runs: JesterRuns) -> dict[str, Figure]:
    result = runs.result
    fig, axes = style.figure(2)
    looks = palette("conservative")
    lines = line_styles([{name: result.watched[name]["budget"] for name in result.policies}], looks)
    for ax, last in zip(
        axes, (recovery_round(result, "LinUCB"), int(result.rounds[-1])), strict=True
    ):
        columns = slice(0, max(2, int(np.searchsorted(result.rounds, last, side="right"))))
        curves = {name: result.watched[name]["budget"][:, columns] for name in result.policies}
        draw_bands(ax, result.rounds[columns], curves, paired=True, lines=lines, palette=looks)
        ax.axhline(0.0, color=style.INK, linewidth=0.8)
        ax.set_xlabel("round")
    axes[0].set_ylabel("true budget")
    style.legend(axes[1], PAIRED_LEGEND)
    return {"fig8": fig}


# Figure 5 in other readings: users whose means lie in [0, 1], with factors scaled to unit users or
# to unit features.


# A factorisation fixes features and users only up to scale, and with lambda = 0.5 the scale decides
# how much is regularised.
SCALINGS = ("unit users", "unit features")
Data = dict[str, JesterRuns]


def other_scalings_data(run: Run) -> Data:
    return {scaling: play(run, scaling) for scaling in SCALINGS}


def other_scalings_score(runs: Data) -> list[Row]:
    rows = [
        row
        for scaling, one in runs.items()
        for row in in_reading(scaling, score_scaling(scaling, one.result))
    ]
    return rows + theorem_2(runs)


def other_scalings_tables(runs: Data) -> dict[str, pd.DataFrame]:
    return {scaling: summary(one.result, one.users, "CLUCB", {}) for scaling, one in runs.items()}


def other_scalings_plot(runs: Data) -> dict[str, Figure]:
    return {
        scaling: regret_figure(
            one.result, title=scaling, paired=True, palette=palette("conservative")
        )
        for scaling, one in runs.items()
    }


other_scalings_notes = (
    SIZES + " Users are drawn from those of 19,181 whose rank-35 means lie in [0, 1]."
)
