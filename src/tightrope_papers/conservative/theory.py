"""The martingale bound beside the width that it replaces: does it hold, how much smaller is it, and what follows for the bound on plays."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from tightrope.compiled.kernels import jit, lean
from tightrope.core.fields import real
from tightrope.core.policy import Monitor, monitor
from tightrope.core.streams import NOISE, POLICY, PROBLEM, stream
from tightrope.core.verbs import Context, commit, describe, init, mean, play, select, update
from tightrope.policies.conservative.ledger import martingale_radius, value_of
from tightrope.results.results import Result

from ..experiment import Run
from ..scoring import Estimate, Row, above, estimate, every, near, quotient, rare, row_of
from .settings import ALPHA, DELTA, LINEAR, linear_models, ranked_baseline, spread_model, told_baseline, variant

RANK = 6
DIMENSIONS = (25, 100)
WORLDS = ((1, 0.2), (5, 0.2), (25, 0.5), (100, 0.5), (100, 0.9))  # d and mu_l at which the two bounds on plays are compared
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
    """Compare the rewards of the rounds before this one with their means, then enter this round's mean."""
    psi = martingale_radius(monitor.sigma, monitor.delta, tally.explored[0], True)
    tally.worst[0] = max(tally.worst[0], abs(value_of(ledger.rewards) - tally.means[0]) / psi)
    if ledger.explored > tally.explored[0]:
        tally.explored[0] = ledger.explored
        tally.means[0] += earned


class MartingaleRuns(NamedTuple):
    """Runs watched, and beta ||z|| / psi by dimension and rounds of exploration."""

    watched: Result
    widths: pd.DataFrame


def data(run: Run) -> MartingaleRuns:
    """CLUCB2 on the linear models of Figure 3; the two widths along some of its runs."""
    models, runs = run.at(smoke=(2, 2), laptop=(70, 8), paper=(70, 40))
    horizon = run.at(smoke=500, laptop=5_000, paper=20_000)
    players = {"CLUCB2": told_baseline("CLUCB2", RANK, **LINEAR)}
    watched = run.simulate(
        "martingale", linear_models(models, run.seed, "spread"), players, horizon=horizon, replications=models * runs,
        monitor=WatchMartingale(LINEAR["sigma"], DELTA),
    )  # fmt: skip
    last, count = run.at(smoke=(64, 2), laptop=(1024, 10), paper=(4096, 40))
    widths = [row for d in DIMENSIONS for number in range(count) for row in widths_along(d, run.seed, number, last)]
    return MartingaleRuns(watched, pd.DataFrame(widths))


def widths_along(d: int, seed: int, number: int, last: int) -> list[dict[str, float]]:
    """beta ||z||_{V^-1} and psi after 1, 2, 4, ... rounds of exploration of one run of CLUCB2 in d dimensions."""
    problem = spread_model(stream(seed, number, PROBLEM), 30, d)
    policy, baseline = variant("CLUCB2", RANK, problem, **LINEAR), ranked_baseline(problem, RANK)["baseline"]
    state, noise, own, context = init(policy, describe(problem)), stream(seed, number, NOISE), stream(seed, number, POLICY), Context()
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
            rows.append({"d": d, "run": number, "explored": m, "width": width, "psi": psi, "ratio": width / psi})
    return rows


def beta(d: int, m: int) -> float:
    """The radius of Eq 4 with B = D = 1."""
    sigma, lam = LINEAR["sigma"], LINEAR["lam"]
    return sigma * math.sqrt(d * math.log((1 + (1 + m) / lam) / DELTA)) + math.sqrt(lam)


def plays(d: int, mu_l: float) -> float:
    """The factor by which the bound on plays after Theorem 1 is below CLUCB's 114 d^2 c_1^2 / (alpha mu_l)^2."""
    sigma, rate = LINEAR["sigma"], ALPHA * mu_l
    c = sigma + math.sqrt(LINEAR["lam"])
    ours = 10 * (sigma + d * c) / math.sqrt(rate) + 32 * (sigma + d * c) ** 2 / rate
    return 114 * d**2 * c**2 / rate / ours


def score(runs: MartingaleRuns) -> list[Row]:
    """The bound holds, is below the width at every time, by a factor that grows like sqrt(d), and halves the bound on plays."""
    worst = runs.watched.watched["CLUCB2"]["worst"][:, 0]
    out = int((worst > 1).sum())
    last = runs.widths["explored"].max()
    factors = {d: estimate(part["ratio"]) for d, part in runs.widths[runs.widths["explored"] == last].groupby("d")}
    least = least_place(runs.widths)
    gained = quotient(factors[DIMENSIONS[1]], factors[DIMENSIONS[0]])
    root = math.sqrt(DIMENSIONS[1] / DIMENSIONS[0])
    times = {world: plays(*world) for world in WORLDS}
    text = f"runs of CLUCB2 whose sum of rewards leaves psi at some round (largest ratio {worst.max():.2f})"
    below = f"beta ||z|| is larger than psi at every time (least ratio of the means by dimension and rounds: {least[0]})"
    order = f"the ratio after {last} rounds grows by sqrt({DIMENSIONS[1]}/{DIMENSIONS[0]}) from d = {DIMENSIONS[0]} to {DIMENSIONS[1]}"
    half = "the bound on the baseline's rounds is below half of CLUCB's (d and mu_l: " + ", ".join(map(str, times)) + ")"
    return [
        row_of("martingale-bound", text, f"at most {DELTA:g}", f"{out} of {worst.size}", rare(out, worst.size, DELTA)),
        row_of("psi-below-width", below, "larger", least[1], above(least[1], 1.0)),
        row_of("psi-below-width", order, f"{root:g}", gained, near(gained, root, ORDER_SHARE)),
        row_of("plays-bound-half", half, "at least 2 times", ", ".join(f"{value:.2f}" for value in times.values()),
               every([value >= 2 for value in times.values()])),
    ]  # fmt: skip


def least_place(widths: pd.DataFrame) -> tuple[str, Estimate]:
    """The place of the smallest mean ratio of the two widths, and that ratio."""
    ratios = {place: estimate(part["ratio"]) for place, part in widths.groupby(["d", "explored"])}
    d, explored = min(ratios, key=lambda place: ratios[place].value)
    return f"d = {d}, {explored} rounds", ratios[d, explored]


def tables(runs: MartingaleRuns) -> dict[str, pd.DataFrame]:
    return {"widths": runs.widths.groupby(["d", "explored"], as_index=False)[["width", "psi", "ratio"]].mean()}


def notes(runs: MartingaleRuns) -> str:
    replications, horizon = runs.watched.replications, runs.watched.rounds[-1]
    return f"{replications} runs of {horizon} rounds on the models of Figure 3 (bottom); widths along runs of CLUCB2 with 30 arms."
