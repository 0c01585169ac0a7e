"""Figure 4: the constraint verified at checkpoints only, regret of CUCB2T relative to UCB as a
function of T."""

import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Result
from tightrope.extend import PROBLEM, Policy, stream
from tightrope.plots import style

from ..experiment import Run
from ..scoring import (
    OURS,
    Estimate,
    Row,
    Rows,
    above,
    below,
    estimate,
    falls,
    in_reading,
    judged,
    paired_mean,
    rare,
    row_of,
)
from .measures import (
    ALPHA,
    DELTA,
    SIGMA,
    Instance,
    bernoulli_models,
    budget_monitor,
    final,
    guard,
    safety,
    told_baseline,
    unconstrained,
    variant,
    with_record,
)

RANK = 4
RANKS = (2, 4, 8)  # baselines, the stronger first


class CheckpointRuns(NamedTuple):
    """The runs, the values of T, and T = 1 and T = n beside baselines of other ranks."""

    result: Result
    lengths: list[int]
    ranks: dict[int, Result]

    def extra(self, T: int) -> np.ndarray:
        return final(self.result, f"T = {T}") - final(self.result, "UCB")


def data(run: Run) -> CheckpointRuns:
    horizon = run.at(smoke=2000, laptop=20_000, paper=20_000)
    models, runs = run.at(smoke=(2, 2), laptop=(20, 10), paper=(70, 40))
    lengths = np.unique(
        np.round(np.geomspace(1, horizon, run.at(smoke=4, laptop=15, paper=15))).astype(int)
    ).tolist()
    players = {
        f"T = {T}": told_baseline("CUCB2T", RANK, sigma=SIGMA, checkpoint=T) for T in lengths
    }
    players["UCB"] = told_baseline("CUCB", RANK, unconstrained, sigma=SIGMA)
    monitors = {f"T = {T}": budget_monitor(RANK, ALPHA, T) for T in lengths} | {
        "UCB": budget_monitor(RANK)
    }
    result = run.simulate(
        "fig4",
        bernoulli_models(models, run.seed),
        players,
        horizon=horizon,
        replications=models * runs,
        checkpoints=[horizon],
        monitor=monitors,
    )
    ends = {"T = 1": 1, "T = n": horizon}
    ranks = {
        rank: run.simulate(
            f"fig4-rank-{rank}",
            bernoulli_models(models, run.seed),
            {
                name: told_baseline("CUCB2T", rank, sigma=SIGMA, checkpoint=T)
                for name, T in ends.items()
            },
            horizon=horizon,
            replications=models * runs,
            checkpoints=[horizon],
        )
        for rank in RANKS
    }
    return CheckpointRuns(result, lengths, ranks)


def score(runs: CheckpointRuns) -> list[Row]:
    """The whole curve: does it fall, and what is left at T = n; what a better baseline leaves to
    gain; the promise of Theorem 2."""
    result, lengths = runs.result, runs.lengths
    extra = [runs.extra(T) for T in lengths]
    left = estimate(extra[-1])
    drop = paired_mean(extra[-1], extra[0])
    half = extra[: len(extra) // 2 + 1]
    part = paired_mean(half[-1], half[0])
    peak = lengths[int(np.argmax([one.mean() for one in extra]))]
    return [
        row_of(
            "fig4-falls",
            f"the difference to UCB falls with T over {len(lengths)} values from 1 to n (last "
            "minus first)",
            "decreases",
            drop,
            falls(steps(extra), drop),
        ),
        row_of(
            OURS,
            f"it falls from T = 1 to {lengths[len(half) - 1]}, too (last minus first; it is "
            f"highest at T = {peak})",
            "decreases",
            part,
            falls(steps(half), part),
        ),
        row_of(
            "fig4-end-differs",
            "at T = n the regret of CUCB2T is not UCB's",
            "different",
            left,
            above(Estimate(abs(left.value), left.se)),
        ),
        row_of(
            OURS,
            "at T = n the regret of CUCB2T is above UCB's, whose arms it discards to be safe",
            "above",
            left,
            above(left),
            remark="A period grants its leeway at once; discarding UCB's arm for a safe one can "
            "also lower the regret.",
        ),
        stronger_baseline(runs),
        *baseline_rounds(runs),
        *promise(runs),
        safety(result, "UCB")[0],
    ]


def steps(curve: list[np.ndarray]) -> list[Estimate]:
    return [paired_mean(after, before) for before, after in itertools.pairwise(curve)]


def stronger_baseline(runs: CheckpointRuns) -> Row:
    gained = [final(runs.ranks[rank], "T = 1") - final(runs.ranks[rank], "T = n") for rank in RANKS]
    less = paired_mean(gained[0], gained[-1])
    ours = (
        ", ".join(f"{one.mean():.4g}" for one in gained) + f" (ranks {', '.join(map(str, RANKS))})"
    )
    return row_of(
        "fig4-stronger-baseline",
        "the stronger the baseline the less T = n gains over T = 1 (regret)",
        "less",
        ours,
        falls(steps(gained[::-1]), less),
        se=less.se,
    )


def baseline_rounds(runs: CheckpointRuns) -> list[Row]:
    share = [
        runs.result.watched[f"T = {T}"]["events"][:, -1, 2] / runs.result.rounds[-1]
        for T in runs.lengths
    ]
    drop = paired_mean(share[-1], share[0])
    return [
        row_of(
            "longer-periods-fewer-baseline-rounds",
            f"the baseline is played less often as T grows over {len(share)} values (share of the "
            "rounds, last minus first)",
            "less often",
            drop,
            falls(steps(share), drop),
        )
    ]


def promise(runs: CheckpointRuns) -> list[Row]:
    watched = [runs.result.watched[f"T = {T}"] for T in runs.lengths]
    broken, total = (
        sum(int((one["violations"] > 0).sum()) for one in watched),
        sum(one["violations"].size for one in watched),
    )
    return [
        row_of(
            "thm2-safe",
            "runs of CUCB2T that break the constraint at a checkpoint, all T",
            f"at most {DELTA:g}",
            f"{broken} of {total}",
            rare(broken, total, DELTA),
        ),
        judged(
            "early-budget-with-checkpoints",
            "the lowest budget of CUCB2T with T = n, between checkpoints",
            "negative",
            estimate(watched[-1]["lowest"][:, 0]),
            below,
        ),
    ]


def tables(runs: CheckpointRuns) -> dict[str, pd.DataFrame]:
    rows = [
        {"T": T, "regret minus UCB's": e.value, "s.e.": e.se}
        for T in runs.lengths
        for e in (estimate(runs.extra(T)),)
    ]
    return {"difference": pd.DataFrame(rows)}


def plot(runs: CheckpointRuns) -> dict[str, Figure]:
    differences = [estimate(runs.extra(T)) for T in runs.lengths]
    fig, (ax,) = style.figure()
    ax.errorbar(
        runs.lengths,
        [e.value for e in differences],
        yerr=[2 * e.se for e in differences],
        color=style.colour(0),
        marker="o",
        capsize=3,
    )
    ax.axhline(0.0, color=style.INK, linewidth=0.8)
    ax.set(
        xscale="log",
        xlabel="rounds between checkpoints T",
        ylabel="regret of CUCB2T - regret of UCB",
    )
    return {"fig4": fig}


notes = "The paper draws this relation and gives no numbers."


# Alternative checkpoint schemes: a least gap, and a gap that is random with a known distribution.
# The paper tells no experiment.


LEAST_GAP, LARGEST_GAP = 100, 1_000  # the gap between checkpoints is uniform on these
LOWER_QUANTILE, UPPER_QUANTILE = (
    int(np.ceil(LEAST_GAP + (LARGEST_GAP - LEAST_GAP) * DELTA / 2)),
    int(LARGEST_GAP - (LARGEST_GAP - LEAST_GAP) * DELTA / 2),
)  # its quantiles


RandomGapRuns = tuple[
    Result, Result
]  # with many random gaps, verified at each; and verified once, after one random gap


def checkpoints_data(run: Run) -> RandomGapRuns:
    models, runs = run.at(smoke=(4, 1), laptop=(400, 3), paper=(400, 20))
    horizon = run.at(smoke=1500, laptop=10_000, paper=10_000)
    worlds = bernoulli_models(models, run.seed)
    listed, first = {}, {}
    for number, problem in enumerate(worlds):
        rng = stream(run.seed, number, PROBLEM)
        rounds = np.cumsum(rng.integers(LEAST_GAP, LARGEST_GAP + 1, size=horizon // LEAST_GAP + 1))
        listed[key(problem)], first[key(problem)] = (
            rounds[rounds <= horizon].tolist(),
            [int(rounds[0])],
        )

    def irregular(problem: Instance) -> Policy:
        return variant(
            "CUCB2T", RANK, problem, sigma=SIGMA, checkpoint=listed[key(problem)], min_gap=LEAST_GAP
        )

    # Told a quantile q of the gap, the policy counts on q rounds before anyone looks, and from then
    # on takes every round for the last.
    quantiles = {
        "upper": told_baseline(
            "CUCB2T", RANK, sigma=SIGMA, checkpoint=range(UPPER_QUANTILE, horizon + 1)
        ),
        "lower": told_baseline(
            "CUCB2T", RANK, sigma=SIGMA, checkpoint=range(LOWER_QUANTILE, horizon + 1)
        ),
    }
    many = run.simulate(
        "gaps",
        worlds,
        {"least gap": with_record(irregular, f"CUCB2T of rank {RANK} told the least gap")},
        horizon=horizon,
        replications=models * runs,
        checkpoints=[horizon],
        monitor=with_record(
            lambda problem: guard(RANK, ALPHA, listed[key(problem)], problem),
            "budget at random checkpoints",
        ),
    )
    once = run.simulate(
        "one-gap",
        worlds,
        quantiles,
        horizon=horizon,
        replications=models * runs,
        checkpoints=[horizon],
        monitor=with_record(
            lambda problem: guard(RANK, ALPHA, first[key(problem)], problem),
            "budget at the first random checkpoint",
        ),
    )
    return many, once


def key(problem: Instance) -> bytes:
    return problem.means.tobytes()


def checkpoints_score(runs: RandomGapRuns) -> Rows:
    for name, result, quote, where, limit in (
        (
            "least gap",
            runs[0],
            "checkpoints-least-gap",
            f"told that gaps are at least {LEAST_GAP}",
            DELTA,
        ),
        (
            "upper",
            runs[1],
            "checkpoints-random-gap",
            f"told the 1 - delta/2 quantile of the gap, {UPPER_QUANTILE}, as printed",
            DELTA,
        ),
        (
            "lower",
            runs[1],
            "checkpoints-random-gap",
            f"told {LOWER_QUANTILE}, which the gap exceeds with probability 1 - delta/2",
            DELTA,
        ),
    ):
        broken = result.watched[name]["violations"][:, 0] > 0
        row = row_of(
            quote,
            f"runs of CUCB2T that break the constraint at a checkpoint, {where}",
            f"at most {limit:g}",
            f"{broken.sum()} of {broken.size}",
            rare(int(broken.sum()), broken.size, limit),
            remark="Exploration counts on rounds that a shorter gap does not leave; the other "
            "quantile keeps the promise.",
        )
        yield from in_reading("as printed", [row]) if name == "upper" else [row]


def checkpoints_tables(runs: RandomGapRuns) -> dict[str, pd.DataFrame]:
    rows = [
        {
            "told": name,
            "runs": result.replications,
            "runs that break it": int((result.watched[name]["violations"] > 0).sum()),
            "lowest budget at a checkpoint": float(result.watched[name]["minimum"].min()),
            "regret": float(result.regret[name][:, -1].mean()),
        }
        for result in runs
        for name in result.policies
    ]
    return {"schemes": pd.DataFrame(rows)}


checkpoints_notes = (
    f"Gaps between checkpoints are uniform on {LEAST_GAP} to {LARGEST_GAP} rounds; K = 10 "
    f"Bernoulli arms, baseline: 4th best, alpha {ALPHA:g}, delta {DELTA:g}."
)
