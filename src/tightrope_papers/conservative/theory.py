"""The martingale bound beside the width that it replaces: does it hold, how much smaller is it, and
what follows for the bound on plays."""

import math
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from tightrope import Context, Result
from tightrope.extend import (
    NOISE,
    POLICY,
    PROBLEM,
    Monitor,
    commit,
    describe,
    init,
    jit,
    lean,
    mean,
    monitor,
    play,
    real,
    select,
    stream,
    update,
)
from tightrope.policies.conservative.guarantee import TOLERANCE
from tightrope.policies.conservative.ledger import martingale_radius, value_of
from tightrope.simulation.monitors import TOLERANCE as ROUNDING

from ..experiment import Run
from ..scoring import (
    OURS,
    Row,
    Rows,
    above,
    below,
    estimate,
    every,
    judged,
    near,
    paired_mean,
    quotient,
    rare,
    ratio,
    row_of,
)
from .measures import (
    ALPHA,
    DELTA,
    LINEAR,
    linear_models,
    ranked_baseline,
    spread_model,
    told_baseline,
    variant,
)

RANK = 6
DIMENSIONS = (25, 100)
WORLDS = (
    (1, 0.2),
    (5, 0.2),
    (25, 0.5),
    (100, 0.5),
    (100, 0.9),
)  # d and mu_l at which the two bounds on plays are compared
ORDER_SHARE = 0.25


@monitor
class WatchMartingale(Monitor):
    """Monitor: the largest |sum_D r - mu| / psi of a run that decides one round at a time."""

    sigma: float = real(above=0)
    delta: float = real(above=0, below=1)

    def begin(self, arms, n_checkpoints):
        return MartingaleTally(np.zeros(1), np.zeros(1), np.zeros(1))

    @jit
    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        note_deviation(self, tally, state.ledger[0], mean(problem, context, action))


class MartingaleTally(NamedTuple):
    worst: np.ndarray  # (1,)
    means: np.ndarray  # (1,) sum_D mu so far
    explored: np.ndarray  # (1,) |D| so far


@lean
def note_deviation(monitor, tally, ledger, earned):
    """Compare the rewards of the rounds before this one with their means, then enter this round's
    mean."""
    psi = martingale_radius(monitor.sigma, monitor.delta, tally.explored[0], True)
    tally.worst[0] = max(tally.worst[0], abs(value_of(ledger.rewards) - tally.means[0]) / psi)
    if ledger.explored > tally.explored[0]:
        tally.explored[0] = ledger.explored
        tally.means[0] += earned


MartingaleRuns = tuple[
    Result, pd.DataFrame
]  # watched; and beta ||z|| / psi by dimension and rounds of exploration


def data(run: Run) -> MartingaleRuns:
    models, runs = run.at(smoke=(2, 2), laptop=(70, 8), paper=(70, 40))
    horizon = run.at(smoke=500, laptop=5_000, paper=20_000)
    players = {"CLUCB2": told_baseline("CLUCB2", RANK, **LINEAR)}
    watched = run.simulate(
        "martingale",
        linear_models(models, run.seed, "spread"),
        players,
        horizon=horizon,
        replications=models * runs,
        monitor=WatchMartingale(LINEAR["sigma"], DELTA),
    )
    last, count = run.at(smoke=(64, 2), laptop=(1024, 10), paper=(4096, 40))
    widths = [
        row
        for d in DIMENSIONS
        for number in range(count)
        for row in widths_along(d, run.seed, number, last)
    ]
    return watched, pd.DataFrame(widths)


def widths_along(d: int, seed: int, number: int, last: int) -> list[dict[str, float]]:
    """beta ||z||_{V^-1} and psi after 1, 2, 4, ... rounds of exploration of one run of CLUCB2 in d
    dimensions."""
    problem = spread_model(stream(seed, number, PROBLEM), 30, d)
    policy, baseline = (
        variant("CLUCB2", RANK, problem, **LINEAR),
        ranked_baseline(problem, RANK)["baseline"],
    )
    state, noise, own, context = (
        init(policy, describe(problem)),
        stream(seed, number, NOISE),
        stream(seed, number, POLICY),
        Context(),
    )
    V, z, m, rows = LINEAR["lam"] * np.eye(d), np.zeros(d), 0, []
    while m < last:
        arm = select(policy, state, context, own)
        state = commit(policy, state, context, arm)
        state = update(policy, state, context, arm, play(problem, context, arm, noise))
        if arm == baseline:
            continue
        x = problem.features[arm]
        V, z, m = V + np.outer(x, x), z + x, m + 1
        if m & (m - 1) == 0:
            width = beta(d, m) * math.sqrt(float(z @ np.linalg.solve(V, z)))
            psi = float(martingale_radius(LINEAR["sigma"], DELTA, float(m), True))
            rows.append(
                {
                    "d": d,
                    "run": number,
                    "explored": m,
                    "width": width,
                    "psi": psi,
                    "ratio": width / psi,
                }
            )
    return rows


def beta(d: int, m: int) -> float:
    """The radius of Eq 4 with B = D = 1."""
    sigma, lam = LINEAR["sigma"], LINEAR["lam"]
    return sigma * math.sqrt(d * math.log((1 + (1 + m) / lam) / DELTA)) + math.sqrt(lam)


def plays(d: int, mu_l: float) -> float:
    """The factor by which the bound on plays after Theorem 1 is below CLUCB's 114 d^2 c_1^2 /
    (alpha mu_l)^2."""
    sigma, rate = LINEAR["sigma"], ALPHA * mu_l
    c = sigma + math.sqrt(LINEAR["lam"])
    ours = 10 * (sigma + d * c) / math.sqrt(rate) + 32 * (sigma + d * c) ** 2 / rate
    return 114 * d**2 * c**2 / rate / ours


def score(runs: MartingaleRuns) -> list[Row]:
    """The bound holds, is below the width by a factor that grows like sqrt(d), and
    halves the bound on plays."""
    watched, widths = runs
    worst = watched.watched["CLUCB2"]["worst"][:, 0]
    out = int((worst > 1).sum())
    last = widths["explored"].max()
    factors = {
        d: estimate(part["ratio"]) for d, part in widths[widths["explored"] == last].groupby("d")
    }
    root = math.sqrt(DIMENSIONS[1] / DIMENSIONS[0])
    times = {world: plays(*world) for world in WORLDS}
    half = (
        "the bound on the baseline's rounds is below half of CLUCB's (d and mu_l: "
        + ", ".join(map(str, times))
        + ")"
    )
    return [
        row_of(
            "martingale-bound",
            "runs of CLUCB2 whose sum of rewards leaves psi at some round (largest ratio "
            f"{worst.max():.2f})",
            f"at most {DELTA:g}",
            f"{out} of {worst.size}",
            rare(out, worst.size, DELTA),
        ),
        judged(
            "psi-below-width",
            f"the ratio after {last} rounds grows by sqrt({DIMENSIONS[1]}/{DIMENSIONS[0]}) from d "
            f"= {DIMENSIONS[0]} to {DIMENSIONS[1]}",
            f"{root:g}",
            quotient(factors[DIMENSIONS[1]], factors[DIMENSIONS[0]]),
            near,
            root,
            ORDER_SHARE,
        ),
        row_of(
            "plays-bound-half",
            half,
            "at least 2 times",
            ", ".join(f"{value:.2f}" for value in times.values()),
            every([value >= 2 for value in times.values()]),
        ),
    ]


def tables(runs: MartingaleRuns) -> dict[str, pd.DataFrame]:
    return {
        "widths": runs[1]
        .groupby(["d", "explored"], as_index=False)[["width", "psi", "ratio"]]
        .mean()
    }


notes = "Runs are on the models of Figure 3 (bottom); widths along runs of CLUCB2 with 30 arms."


# The example of the discussion on action selection: a second arm without variance, and Bernstein
# intervals with known variances.


SECOND_ARM, BASELINE_ARM = 1, 2
LEADS = (0.1, 0.02)  # of arm 1 over arm 2, which the paper leaves open
MEANS = np.array([0.0, 0.6, 0.5, 0.1, 0.1])
SPREADS = np.array(
    [0.38, 0.0, 0.1, 0.05, 0.05]
)  # an arm pays its mean more or less its spread; arms 4 and 5 are soon known to be bad
ALGORITHMS: dict[
    str, tuple[Literal["two-step", "constrained"], Literal["confidence", "martingale"]]
] = {
    "CUCB": ("two-step", "confidence"),
    "CUCB-S": ("constrained", "confidence"),
    "CUCB-M": ("two-step", "martingale"),
    "CUCB2": ("constrained", "martingale"),
}
ALMOST_ALWAYS_SHARE, MOST_SHARE = 0.95, 0.5


class AlgorithmRuns(NamedTuple):
    regret: np.ndarray
    events: (
        np.ndarray
    )  # (runs, 3) rounds with the optimistic arm, with another safe one (E2), and with the baseline
    second: np.ndarray  # rounds of E2 that play arm 2
    lowest: np.ndarray  # the lowest true budget


Data = dict[float, dict[str, AlgorithmRuns]]  # by lead of arm 1 and algorithm


def example_data(run: Run) -> Data:
    replications, horizon = (
        run.at(smoke=5, laptop=200, paper=1000),
        run.at(smoke=1000, laptop=10_000, paper=20_000),
    )
    runs: Data = {}
    for lead in LEADS:
        means = MEANS.copy()
        means[0] = MEANS[SECOND_ARM] + lead
        runs[lead] = {
            label: play_example(
                means,
                SPREADS,
                selection,
                bound,
                replications,
                horizon,
                stream(run.seed, 0, PROBLEM),
            )
            for label, (selection, bound) in ALGORITHMS.items()
        }
    return runs


def play_example(
    means: np.ndarray,
    spreads: np.ndarray,
    selection: str,
    bound: str,
    runs: int,
    horizon: int,
    rng: np.random.Generator,
) -> AlgorithmRuns:
    """Algorithm 1 for independent arms; an interval is spread (sqrt(2 l / s) + l / (3 s)) wide, l =
    ln(K s^3 / delta), after s pulls."""
    K, rows = means.size, np.arange(runs)
    pulls, sums, baseline_rounds = np.zeros((runs, K)), np.zeros((runs, K)), np.zeros(runs)
    regret, events, second = np.zeros(runs), np.zeros((runs, 3)), np.zeros(runs)
    budget, lowest = np.zeros(runs), np.full(runs, np.inf)
    for t in range(1, horizon + 1):
        signs = np.where(rng.random((runs, K)) < 0.5, -1.0, 1.0)
        upper, lower = intervals(pulls, sums, spreads)
        slack = baseline_rounds * means[BASELINE_ARM] - (1 - ALPHA) * t * means[BASELINE_ARM]
        safe = (least_earned(bound, pulls, sums, lower, spreads) + slack)[
            :, None
        ] + lower >= -TOLERANCE
        safe[:, BASELINE_ARM] = False
        upper[:, BASELINE_ARM] = means[BASELINE_ARM]
        optimistic = upper.argmax(axis=1)
        if selection == "two-step":
            arm = np.where(safe[rows, optimistic], optimistic, BASELINE_ARM)
        else:
            best = np.where(safe, upper, -np.inf).argmax(axis=1)
            arm = np.where(
                safe[rows, best] & (upper[rows, best] >= means[BASELINE_ARM]), best, BASELINE_ARM
            )
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


def intervals(
    pulls: np.ndarray, sums: np.ndarray, spreads: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Upper and lower bounds of all means by Bernstein's inequality; infinity and 0 for arms never
    pulled.

    A reward is its mean more or less the spread, which is the range of Bernstein's second term: an
    arm without variance is known after one pull.
    """
    s = np.maximum(pulls, 1.0)
    level = np.log(pulls.shape[1] * s**3 / DELTA)
    width = spreads * (np.sqrt(2.0 * level / s) + level / (3.0 * s))
    tried, mean = pulls > 0, sums / s
    return np.where(tried, mean + width, np.inf), np.where(
        tried, np.maximum(mean - width, 0.0), 0.0
    )


def least_earned(
    bound: str, pulls: np.ndarray, sums: np.ndarray, lower: np.ndarray, spreads: np.ndarray
) -> np.ndarray:
    """Lower bound on the rewards of the learner's own rounds: Eq 4's sum of lower bounds, or Eq 5's
    with the variances that were played."""
    if bound == "confidence":
        return np.asarray((pulls * lower).sum(axis=1))
    level = np.log(3.0 * np.maximum(pulls.sum(axis=1), 1.0) ** 2 / DELTA)
    return np.asarray(
        sums.sum(axis=1)
        - np.sqrt(2.0 * (pulls * spreads**2).sum(axis=1) * level)
        - 2.0 / 3.0 * level
    )


def example_score(runs: Data) -> Rows:
    for lead, here in runs.items():
        where = f"arm 1 leads by {lead:g}"
        yield judged(
            "selection-example",
            f"{where}: share of CUCB2's rounds of E2 that play arm 2",
            "almost always",
            ratio(here["CUCB2"].second, here["CUCB2"].events[:, 1]),
            above,
            ALMOST_ALWAYS_SHARE,
            partly=MOST_SHARE,
            remark="The others play arm 1, which is safe where it is not the optimistic one.",
        )
        for label, key in (("CUCB2", "selection-example"), ("CUCB-S", OURS)):
            yield judged(
                key,
                f"{where}: {label} has less regret than CUCB (difference)",
                "below 0",
                paired_mean(here[label].regret, here["CUCB"].regret),
                below,
            )
        broken = sum(int((played.lowest < -ROUNDING).sum()) for played in here.values())
        total = sum(played.lowest.size for played in here.values())
        yield row_of(
            OURS,
            f"{where}: runs that break the constraint, all four",
            f"at most {DELTA:g}",
            f"{broken} of {total}",
            rare(broken, total, DELTA),
        )


def example_tables(runs: Data) -> dict[str, pd.DataFrame]:
    rows = []
    for lead, here in runs.items():
        for label, played in here.items():
            regret, (own, other, baseline) = estimate(played.regret), played.events.mean(axis=0)
            rows.append(
                {
                    "lead of arm 1": lead,
                    "algorithm": label,
                    "regret": regret.value,
                    "se": regret.se,
                    "optimistic arm": own,
                    "another safe arm (E2)": other,
                    "of them arm 2": played.second.mean(),
                    "baseline": baseline,
                    "lowest budget": float(played.lowest.min()),
                }
            )
    return {"example": pd.DataFrame(rows)}


example_notes = (
    f"Arms 2 to 5 have means {', '.join(f'{mean:g}' for mean in MEANS[1:])}, arm 3 is the "
    "baseline; rewards are the mean more or less "
    f"{', '.join(f'{spread:g}' for spread in SPREADS)}. The paper gives no numbers; all five "
    f"variances are known to all four algorithms, also in the martingale term. alpha {ALPHA:g}, "
    f"delta {DELTA:g}."
)
