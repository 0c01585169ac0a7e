"""Alternative checkpoint schemes: a least gap, and a gap that is random with a known distribution. The paper tells no experiment."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tightrope.core.policy import Policy
from tightrope.core.streams import PROBLEM, stream
from tightrope.results.results import Result

from ..experiment import Run
from ..scoring import OURS, Row, rare, row_of
from .settings import ALPHA, DELTA, SIGMA, Instance, bernoulli_models, guard, told_baseline, variant, with_record

RANK = 4
LEAST_GAP, LARGEST_GAP = 100, 1_000  # the gap between checkpoints is uniform on these
LOWER_QUANTILE, UPPER_QUANTILE = (
    int(np.ceil(LEAST_GAP + (LARGEST_GAP - LEAST_GAP) * DELTA / 2)),
    int(LARGEST_GAP - (LARGEST_GAP - LEAST_GAP) * DELTA / 2),
)  # its quantiles


class RandomGapRuns(NamedTuple):
    """Runs with many random gaps, verified at each; and runs that are verified once, after one random gap."""

    many: Result
    once: Result


def data(run: Run) -> RandomGapRuns:
    """CUCB2T told the least gap; and told a quantile of the only gap."""
    models, runs = run.at(smoke=(4, 1), laptop=(400, 3), paper=(400, 20))
    horizon = run.at(smoke=1500, laptop=10_000, paper=10_000)
    worlds = bernoulli_models(models, run.seed)
    listed, first = {}, {}
    for number, problem in enumerate(worlds):
        rng = stream(run.seed, number, PROBLEM)
        rounds = np.cumsum(rng.integers(LEAST_GAP, LARGEST_GAP + 1, size=horizon // LEAST_GAP + 1))
        listed[key(problem)], first[key(problem)] = rounds[rounds <= horizon].tolist(), [int(rounds[0])]

    def irregular(problem: Instance) -> Policy:
        return variant("CUCB2T", RANK, problem, sigma=SIGMA, checkpoint=listed[key(problem)], min_gap=LEAST_GAP)

    # Told a quantile q of the gap, the policy counts on q rounds before anyone looks, and from then on takes every round for the last.
    quantiles = {
        "upper": told_baseline("CUCB2T", RANK, sigma=SIGMA, checkpoint=range(UPPER_QUANTILE, horizon + 1)),
        "lower": told_baseline("CUCB2T", RANK, sigma=SIGMA, checkpoint=range(LOWER_QUANTILE, horizon + 1)),
    }
    many = run.simulate(
        "gaps", worlds, {"least gap": with_record(irregular, f"CUCB2T of rank {RANK} told the least gap")}, horizon=horizon,
        replications=models * runs, checkpoints=[horizon],
        monitor=with_record(lambda problem: guard(RANK, ALPHA, listed[key(problem)], problem), "budget at random checkpoints"),
    )  # fmt: skip
    once = run.simulate(
        "one-gap", worlds, quantiles, horizon=horizon,
        replications=models * runs, checkpoints=[horizon],
        monitor=with_record(lambda problem: guard(RANK, ALPHA, first[key(problem)], problem), "budget at the first random checkpoint"),
    )  # fmt: skip
    return RandomGapRuns(many, once)


def key(problem: Instance) -> bytes:
    return problem.means.tobytes()


def score(runs: RandomGapRuns) -> list[Row]:
    rows = []
    for name, result, quote, where, limit in (
        ("least gap", runs.many, "checkpoints-least-gap", f"told that gaps are at least {LEAST_GAP}", DELTA),
        ("upper", runs.once, "checkpoints-random-gap", f"told the 1 - delta/2 quantile of the gap, {UPPER_QUANTILE}, as printed", DELTA),
        ("lower", runs.once, OURS, f"told the delta/2 quantile of the gap, {LOWER_QUANTILE}", DELTA),
    ):
        broken = result.watched[name]["violations"][:, 0] > 0
        text = f"runs of CUCB2T that break the constraint at a checkpoint, {where}"
        remark = "Exploration counts on rounds that a shorter gap does not leave; the other quantile keeps the promise."
        rows.append(row_of(quote, text, f"at most {limit:g}", f"{broken.sum()} of {broken.size}",
                           rare(int(broken.sum()), broken.size, limit), remark=remark))  # fmt: skip
    return rows


def tables(runs: RandomGapRuns) -> dict[str, pd.DataFrame]:
    rows = [
        {
            "told": name, "runs": result.replications, "runs that break it": int((result.watched[name]["violations"] > 0).sum()),
            "lowest budget at a checkpoint": float(result.watched[name]["minimum"].min()),
            "regret": float(result.regret[name][:, -1].mean()),
        }
        for result in runs for name in result.policies
    ]  # fmt: skip
    return {"schemes": pd.DataFrame(rows)}


def notes(runs: RandomGapRuns) -> str:
    return (
        f"Gaps between checkpoints are uniform on {LEAST_GAP} to {LARGEST_GAP} rounds; {runs.many.replications} runs of "
        f"{runs.many.rounds[-1]} rounds, K = 10 Bernoulli arms, baseline: 4th best, alpha {ALPHA:g}, delta {DELTA:g}."
    )
