"""The example of the discussion on action selection: a second arm without variance, and Bernstein intervals with known variances.

No policy of the library is told the variance of every arm, so that the four algorithms are written out here, for all runs at once.
"""

from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from tightrope.core.streams import PROBLEM, stream
from tightrope.policies.conservative.guarantee import TOLERANCE
from tightrope.simulation.monitors import TOLERANCE as ROUNDING

from ..experiment import Run
from ..scoring import OURS, Row, above, below, estimate, paired_mean, rare, ratio, row_of
from .settings import ALPHA, DELTA

SECOND_ARM, BASELINE_ARM = 1, 2
LEADS = (0.1, 0.02)  # of arm 1 over arm 2, which the paper leaves open
MEANS = np.array([0.0, 0.6, 0.5, 0.1, 0.1])
SPREADS = np.array([0.38, 0.0, 0.1, 0.05, 0.05])  # an arm pays its mean more or less its spread; arms 4 and 5 are soon known to be bad
ALGORITHMS: dict[str, tuple[Literal["two-step", "constrained"], Literal["confidence", "martingale"]]] = {
    "CUCB": ("two-step", "confidence"), "CUCB-S": ("constrained", "confidence"), "CUCB-M": ("two-step", "martingale"),
    "CUCB2": ("constrained", "martingale"),
}  # fmt: skip
ALMOST_ALWAYS_SHARE, MOST_SHARE = 0.95, 0.5


class AlgorithmRuns(NamedTuple):
    """One algorithm on one instance; an entry for every run."""

    regret: np.ndarray
    events: np.ndarray  # (runs, 3) rounds with the optimistic arm, with another safe one (E2), and with the baseline
    second: np.ndarray  # rounds of E2 that play arm 2
    lowest: np.ndarray  # the lowest true budget


Data = dict[float, dict[str, AlgorithmRuns]]  # by lead of arm 1 and algorithm


def data(run: Run) -> Data:
    replications, horizon = run.at(smoke=5, laptop=200, paper=1000), run.at(smoke=1000, laptop=10_000, paper=20_000)
    runs: Data = {}
    for lead in LEADS:
        means = MEANS.copy()
        means[0] = MEANS[SECOND_ARM] + lead
        runs[lead] = {
            label: play(means, SPREADS, selection, bound, replications, horizon, stream(run.seed, 0, PROBLEM))
            for label, (selection, bound) in ALGORITHMS.items()
        }
    return runs


def play(
    means: np.ndarray, spreads: np.ndarray, selection: str, bound: str, runs: int, horizon: int, rng: np.random.Generator
) -> AlgorithmRuns:  # fmt: skip
    """Algorithm 1 for independent arms; an interval is spread (sqrt(2 l / s) + l / (3 s)) wide, l = ln(K s^3 / delta), after s pulls."""
    K, rows = means.size, np.arange(runs)
    pulls, sums, baseline_rounds = np.zeros((runs, K)), np.zeros((runs, K)), np.zeros(runs)
    regret, events, second = np.zeros(runs), np.zeros((runs, 3)), np.zeros(runs)
    budget, lowest = np.zeros(runs), np.full(runs, np.inf)
    for t in range(1, horizon + 1):
        signs = np.where(rng.random((runs, K)) < 0.5, -1.0, 1.0)
        upper, lower = intervals(pulls, sums, spreads)
        slack = baseline_rounds * means[BASELINE_ARM] - (1 - ALPHA) * t * means[BASELINE_ARM]
        safe = (least_earned(bound, pulls, sums, lower, spreads) + slack)[:, None] + lower >= -TOLERANCE
        safe[:, BASELINE_ARM] = False
        upper[:, BASELINE_ARM] = means[BASELINE_ARM]
        optimistic = upper.argmax(axis=1)
        if selection == "two-step":
            arm = np.where(safe[rows, optimistic], optimistic, BASELINE_ARM)
        else:
            best = np.where(safe, upper, -np.inf).argmax(axis=1)
            arm = np.where(safe[rows, best] & (upper[rows, best] >= means[BASELINE_ARM]), best, BASELINE_ARM)
        own, played = arm != BASELINE_ARM, rows[arm != BASELINE_ARM]
        pulls[played, arm[own]] += 1.0
        sums[played, arm[own]] += means[arm[own]] + spreads[arm[own]] * signs[played, arm[own]]
        baseline_rounds += ~own
        event = np.where(~own, 2, np.where(arm == optimistic, 0, 1))
        events[rows, event] += 1.0
        second += (event == 1) & (arm == SECOND_ARM)
        regret += means.max() - means[arm]
        budget += means[arm] - (1 - ALPHA) * means[BASELINE_ARM]
        lowest = np.minimum(lowest, budget)
    return AlgorithmRuns(regret, events, second, lowest)


def intervals(pulls: np.ndarray, sums: np.ndarray, spreads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Upper and lower bounds of all means by Bernstein's inequality; infinity and 0 for arms never pulled.

    A reward is its mean more or less the spread, which is the range of Bernstein's second term: an arm without variance is known after
    one pull.
    """
    s = np.maximum(pulls, 1.0)
    level = np.log(pulls.shape[1] * s**3 / DELTA)
    width = spreads * (np.sqrt(2.0 * level / s) + level / (3.0 * s))
    tried, mean = pulls > 0, sums / s
    return np.where(tried, mean + width, np.inf), np.where(tried, np.maximum(mean - width, 0.0), 0.0)


def least_earned(bound: str, pulls: np.ndarray, sums: np.ndarray, lower: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """Lower bound on the rewards of the learner's own rounds: Eq 4's sum of lower bounds, or Eq 5's with the variances that were played."""
    if bound == "confidence":
        return np.asarray((pulls * lower).sum(axis=1))
    level = np.log(3.0 * np.maximum(pulls.sum(axis=1), 1.0) ** 2 / DELTA)
    return np.asarray(sums.sum(axis=1) - np.sqrt(2.0 * (pulls * spreads**2).sum(axis=1) * level) - 2.0 / 3.0 * level)


def score(runs: Data) -> list[Row]:
    """Shares of the arms in E2, and the effect on regret."""
    rows = []
    for lead, here in runs.items():
        where = f"arm 1 leads by {lead:g}"
        share = ratio(here["CUCB2"].second, here["CUCB2"].events[:, 1])
        text = f"{where}: share of CUCB2's rounds of E2 that play arm 2"
        remark = "The others play arm 1, which is safe where it is not the optimistic one."
        rows.append(
            row_of("selection-example", text, "almost always", share, above(share, ALMOST_ALWAYS_SHARE, partly=MOST_SHARE), remark=remark)
        )
        for label, key in (("CUCB2", "selection-example"), ("CUCB-S", OURS)):
            gap = paired_mean(here[label].regret, here["CUCB"].regret)
            rows.append(row_of(key, f"{where}: {label} has less regret than CUCB (difference)", "below 0", gap, below(gap)))
        broken = sum(int((played.lowest < -ROUNDING).sum()) for played in here.values())
        total = sum(played.lowest.size for played in here.values())
        rows.append(row_of(OURS, f"{where}: runs that break the constraint, all four", f"at most {DELTA:g}", f"{broken} of {total}",
                           rare(broken, total, DELTA)))  # fmt: skip
    return rows


def tables(runs: Data) -> dict[str, pd.DataFrame]:
    rows = []
    for lead, here in runs.items():
        for label, played in here.items():
            regret, (own, other, baseline) = estimate(played.regret), played.events.mean(axis=0)
            rows.append({
                "lead of arm 1": lead, "algorithm": label, "regret": regret.value, "se": regret.se, "optimistic arm": own,
                "another safe arm (E2)": other, "of them arm 2": played.second.mean(), "baseline": baseline,
                "lowest budget": float(played.lowest.min()),
            })  # fmt: skip
    return {"example": pd.DataFrame(rows)}


def notes(runs: Data) -> str:
    replications = next(iter(next(iter(runs.values())).values())).regret.size
    return (
        f"{replications} runs. Arms 2 to 5 have means {', '.join(f'{mean:g}' for mean in MEANS[1:])}, arm 3 is the baseline; "
        f"rewards are the mean more or less {', '.join(f'{spread:g}' for spread in SPREADS)}. "
        f"The paper gives no numbers; all five variances are known to all four algorithms, also in "
        f"the martingale term. alpha {ALPHA:g}, delta {DELTA:g}."
    )
