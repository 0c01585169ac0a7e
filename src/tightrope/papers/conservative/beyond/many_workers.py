"""Many workers: one promise, kept by workers that tell a ledger what they did only now and then, and that may die.

Not in the paper, where one learner knows everything at once. A worker holds a copy of what is known and a lease: so many decisions that
explore. It plays the arm with the largest upper bound while its lease lasts, and the baseline otherwise. `policies/conservative/leases.py`
says how much may be leased.
"""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ....compiled.kernels import jit, lean
from ....core.streams import NOISE, stream
from ....core.types import Arguments
from ....plots import style
from ....policies.conservative.independent import pull_radius
from ....policies.conservative.leases import lease_room
from ...experiment import Run
from ...scoring import OURS, Row, above, below, estimate, never, paired_mean, ratio, row_of, share
from ..measures import final
from ..settings import ALPHA, DELTA, bernoulli_models, ranked_baseline, told_baseline

RANK, SIGMA = 4, 0.5
WORKERS, EVERY = (1, 4, 16, 64), (10, 100, 1000, 5000)
SPREAD = 4.0  # a lease is asked for as many decisions as a worker may get before its next exchange: Poisson deviations above the mean
DELAY_ROUNDS = 200  # rounds after which a reward comes in the runs with late rewards
DEATH_RATE, UNREAD_ROUNDS = 0.01, 5000  # chance that a worker dies between two exchanges; decisions after which its log is read
LOGS = 4096  # of dead workers that can wait to be read; more of them die in no run
MULTIPLES = (1, 2, 4, 8)  # on the axis of regret
CHARGED, FREE = range(2)  # leases out are charged, or are not, which breaks the promise


class WorldDraws(NamedTuple):
    """All that is random, so that rules meet the same world."""

    worker: np.ndarray  # (n,) who gets the request
    noise: np.ndarray  # (n,) uniform; the reward is 1 below the arm's mean
    death: np.ndarray  # (n,) uniform; at an exchange in this round the worker has died since the last one


class Totals(NamedTuple):
    """Decisions and what they taught, a row each: by the ledger's account, by a worker since its last exchange, by a log not read yet."""

    pulls: np.ndarray  # (rows, K)
    sums: np.ndarray  # (rows, K) rewards
    counts: np.ndarray  # (rows, 3) exploring decisions, their rewards, rounds of the baseline
    lease: np.ndarray  # (rows,) decisions that may have been made under it; in the ledger's row those of all leases out


EXPLORED, REWARDS, CONSERVED = range(3)


def new_totals(rows: int, K: int) -> Totals:
    """Nothing yet."""
    return Totals(np.zeros((rows, K)), np.zeros((rows, K)), np.zeros((rows, 3)), np.zeros(rows))


@lean
def move(source, i, target, j):  # type: ignore[no-untyped-def]
    """Add what row i of a table has decided and learned to row j of another, and empty it."""
    for table, other in ((source.pulls, target.pulls), (source.sums, target.sums), (source.counts, target.counts)):
        for k in range(table.shape[1]):
            other[j, k] += table[i, k]
            table[i, k] = 0.0


@lean
def report(source, i, ledger):  # type: ignore[no-untyped-def]
    """The ledger hears what a row has done; its lease has ended."""
    move(source, i, ledger, 0)
    ledger.lease[0] -= source.lease[i]
    source.lease[i] = 0.0


@jit
def leased_run(  # type: ignore[no-untyped-def]
    means, baseline, alpha, delta, sigma, every, late, dies, unread, charged, draws, copies, own, ledger, logs, due, ends, history
):  # fmt: skip
    """Play all rounds. history: (n, 2) <- regret and true budget after each.

    every: decisions of all workers between two exchanges of each, which are spread over them. copies: what each worker knew of all arms
    at its last exchange. own: what it did since. ledger: one row. logs, due: a ring of those of workers that died, and the round from
    which each can be read; ends: how many were read and how many there were.
    """
    n, N = draws.worker.shape[0], copies.pulls.shape[0]
    arms, explores, left = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_), np.zeros(N)
    best, mu, charge = means.max(), means[baseline], (1.0 - alpha) * means[baseline]
    regret, budget, expected = 0.0, 0.0, every / N
    asked = math.ceil(expected + SPREAD * math.sqrt(expected))
    for t in range(n):
        while ends[0] < ends[1] and due[ends[0] % due.shape[0]] <= t:  # the log that waits longest is read
            report(logs, ends[0] % due.shape[0], ledger)
            ends[0] += 1
        for v in range(N):
            if (t + (v * every) // N) % every == 0:
                exchange(v, t, draws.death[t] < dies, unread, own, logs, due, ends, ledger, copies)
                counts = ledger.counts[0]
                owed = counts[CONSERVED] * mu - charge * (counts[CONSERVED] + counts[EXPLORED])
                out = ledger.lease[0] if charged != FREE else 0.0
                left[v] = lease_room(counts[REWARDS], counts[EXPLORED], owed, out, charge, sigma, delta, True, asked)
                own.lease[v] = left[v]
                ledger.lease[0] += left[v]
        w = draws.worker[t]
        arm = promising(w, baseline, mu, sigma, delta, copies, own)
        if arm != baseline and left[w] <= 0.0:
            arm = baseline
        arms[t], explores[t] = arm, arm != baseline
        left[w] -= explores[t]
        own.counts[w, EXPLORED if explores[t] else CONSERVED] += 1.0
        if t >= late:  # a reward comes in, to the worker that decided
            arm, whose = arms[t - late], draws.worker[t - late]
            reward = 1.0 if draws.noise[t - late] < means[arm] else 0.0
            own.pulls[whose, arm] += 1.0
            own.sums[whose, arm] += reward
            if explores[t - late]:
                own.counts[whose, REWARDS] += reward
        arm = arms[t]
        regret += best - means[arm]
        budget += means[arm] - charge
        history[t, 0], history[t, 1] = regret, budget


@lean
def exchange(v, t, died, unread, own, logs, due, ends, ledger, copies):  # type: ignore[no-untyped-def]
    """A worker tells the ledger what it did and copies what is known; or one in its place does, and its own log is read later."""
    if died and ends[1] - ends[0] < due.shape[0]:
        place = ends[1] % due.shape[0]
        due[place] = t + unread
        ends[1] += 1
        move(own, v, logs, place)
        logs.lease[place] = own.lease[v]  # which stays out until then
        own.lease[v] = 0.0
    else:
        report(own, v, ledger)
    for k in range(copies.pulls.shape[1]):
        copies.pulls[v, k], copies.sums[v, k] = ledger.pulls[0, k], ledger.sums[0, k]


@lean
def promising(w, baseline, mu, sigma, delta, copies, own):  # type: ignore[no-untyped-def]
    """The arm with the largest upper bound by what a worker knows; that of the baseline is its mean."""
    best, top, K = baseline, mu, copies.pulls.shape[1]
    for k in range(K):
        if k != baseline:
            pulls = copies.pulls[w, k] + own.pulls[w, k]
            upper = math.inf
            if pulls > 0.0:
                upper = (copies.sums[w, k] + own.sums[w, k]) / pulls + pull_radius(sigma, delta, K, pulls)
            if upper > top:
                best, top = k, upper
    return best


def draw(rounds: int, workers: int, seed: int, number: int) -> WorldDraws:
    """One world's draws."""
    rng = stream(seed, number, NOISE)
    noise = rng.random(rounds)
    return WorldDraws(rng.integers(0, workers, rounds), noise, rng.random(rounds))


def play(
    means: np.ndarray, baseline: int, draws: WorldDraws, every: int, workers: int, *, late: int = 0, dies: float = 0.0,
    charged: int = CHARGED,
) -> np.ndarray:  # fmt: skip
    """(n, 2) regret and true budget after each round."""
    n, K = draws.worker.size, means.size
    copies, own, ledger, logs = (new_totals(rows, K) for rows in (workers, workers, 1, LOGS))
    history = np.empty((n, 2))
    leased_run(
        means, baseline, ALPHA, DELTA, SIGMA, every, late, dies, UNREAD_ROUNDS, charged, draws, copies, own, ledger, logs,
        np.zeros(LOGS, dtype=np.int64), np.zeros(2, dtype=np.int64), history,
    )  # fmt: skip
    return history


class WorkerCase(NamedTuple):
    """A kind of exchange, the number of workers and the decisions between exchanges."""

    kind: str
    workers: int
    every: int


KINDS: dict[str, Arguments] = {
    "at once": {},
    "late": {"late": DELAY_ROUNDS},
    "workers die": {"dies": DEATH_RATE},
    "leases out are free": {"charged": FREE},
    "a budget each": {},
}  # fmt: skip
SOUND = ("at once", "late", "workers die", "a budget each")


class WorkerRuns(NamedTuple):
    """By case the regret and the lowest budget of every model, and CUCB2's, which is one worker that knows everything at once."""

    regret: dict[WorkerCase, np.ndarray]
    lowest: dict[WorkerCase, np.ndarray]
    alone: np.ndarray
    horizon: int


def data(run: Run) -> WorkerRuns:
    """Every kind with every number of workers and every exchange; a budget for each worker by itself."""
    horizon = run.at(smoke=4000, laptop=100_000, paper=100_000)
    number = run.at(smoke=3, laptop=20, paper=100)
    models = bernoulli_models(number, run.seed)
    alone = run.simulate("alone", models, {"CUCB2": told_baseline("CUCB2", RANK, sigma=SIGMA)}, horizon=horizon, replications=number)
    cases = [WorkerCase(kind, N, every) for kind in KINDS for N in WORKERS for every in (EVERY if kind != "a budget each" else (1,))]
    runs = WorkerRuns({}, {}, final(alone, "CUCB2"), horizon)
    for case in cases:
        regret, lowest = np.zeros(number), np.zeros(number)
        for i, model in enumerate(models):
            regret[i], lowest[i] = play_case(model.means, ranked_baseline(model, RANK)["baseline"], case, horizon, run.seed, i)
        runs.regret[case], runs.lowest[case] = regret, lowest
    return runs


def play_case(means: np.ndarray, baseline: int, case: WorkerCase, horizon: int, seed: int, number: int) -> tuple[float, float]:
    """Regret and lowest true budget of one run."""
    if case.kind != "a budget each":
        history = play(means, baseline, draw(horizon, case.workers, seed, number), case.every, case.workers, **KINDS[case.kind])
        return float(history[-1, 0]), float(history[:, 1].min())
    each = horizon // case.workers
    parts = [play(means, baseline, draw(each, 1, seed, number * max(WORKERS) + w), 1, 1) for w in range(case.workers)]
    return sum(float(part[-1, 0]) for part in parts), min(float(part[:, 1].min()) for part in parts)


def broken_runs(runs: WorkerRuns, kind: str) -> np.ndarray:
    """(runs,) whether each run of a kind breaks the promise."""
    return np.concatenate([lowest < -1e-9 for case, lowest in runs.lowest.items() if case.kind == kind])


def score(runs: WorkerRuns) -> list[Row]:
    """Runs that break the promise, and the regret of rare exchanges."""
    rows = []
    for kind in SOUND:
        broken = broken_runs(runs, kind)
        rows.append(row_of(OURS, f"{kind}: no run breaks the promise", "not in the paper", f"{int(broken.sum())} of {broken.size} runs",
                           never(int(broken.sum()), broken.size)))  # fmt: skip
    free = broken_runs(runs, "leases out are free")
    count, total = int(free.sum()), free.size
    text = "leases that are not charged while they are out break it"
    rows.append(row_of(OURS, text, "not in the paper", f"{count} of {total} runs", above(share(count, total))))
    for every in EVERY[1:3]:
        many = ratio(runs.regret[WorkerCase("at once", 64, every)], runs.regret[WorkerCase("at once", 1, every)])
        text = f"64 workers that exchange every {every:,} decisions have less than twice the regret of one that does"
        rows.append(row_of(OURS, text, "not in the paper", many, below(many, 2.0)))
    for N in WORKERS[1:]:
        difference = paired_mean(runs.regret[WorkerCase("at once", N, 1000)], runs.regret[WorkerCase("a budget each", N, 1)])
        text = f"{N} workers with leases, every 1,000 decisions, have less regret than {N} with a budget each"
        rows.append(row_of(OURS, text, "not in the paper", difference, below(difference)))
    return rows


def tables(runs: WorkerRuns) -> dict[str, pd.DataFrame]:
    """Regret with standard errors, and runs that break the promise, of every case."""
    rows = [{"kind": "one worker, CUCB2", "workers": 1, "every": 1} | statistics_of(runs.alone, None)]
    rows += [case._asdict() | statistics_of(regret, runs.lowest[case]) for case, regret in runs.regret.items()]
    return {"workers": pd.DataFrame(rows)}


def statistics_of(regret: np.ndarray, lowest: np.ndarray | None) -> dict[str, float]:
    """Columns of a table for the runs of one case."""
    mean = estimate(regret)
    columns = {"regret": round(mean.value, 1), "±": round(mean.se, 1), "runs": regret.size}
    return columns | (
        {} if lowest is None else {"break the promise": int((lowest < -1e-9).sum()), "lowest budget": round(float(lowest.min()), 2)}
    )


def plot(runs: WorkerRuns) -> dict[str, Figure]:
    """Regret as a multiple of one worker's against how often workers exchange."""
    kinds = [kind for kind in SOUND if kind != "a budget each"]
    fig, axes = style.figure(len(kinds), height=3.8)
    for ax, kind in zip(axes, kinds, strict=True):
        for place, N in enumerate(WORKERS):
            many = [ratio(runs.regret[WorkerCase(kind, N, every)], runs.alone) for every in EVERY]
            values, errors = np.array([one.value for one in many]), np.array([one.se for one in many])
            ax.plot(EVERY, values, "o-", color=style.colour(place), label=f"{N} worker{'s' if N > 1 else ''}", markersize=4)
            ax.fill_between(EVERY, values - errors, values + errors, color=style.colour(place), alpha=0.15, linewidth=0)
        ax.axhline(1.0, color=style.INK, linewidth=0.8)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(EVERY, [f"{every:,}" for every in EVERY])
        ax.set_yticks(MULTIPLES, [str(multiple) for multiple in MULTIPLES])
        ax.minorticks_off()
        ax.set_title({"late": f"rewards {DELAY_ROUNDS} late"}.get(kind, kind), fontsize=10, color=style.INK)
        ax.set_xlabel("decisions between exchanges", color=style.INK)
    axes[0].set_ylabel("regret, as a multiple of one worker's", color=style.INK)
    axes[0].legend(frameon=False, fontsize=9, loc="upper left")
    return {"many-workers": fig}


def notes(runs: WorkerRuns) -> str:
    """Sizes."""
    return (
        f"K = 10 Bernoulli arms, {runs.alone.size} models, n = {runs.horizon:,}, baseline the {RANK}th best arm, alpha {ALPHA}, "
        f"delta {DELTA}, sigma {SIGMA}. Requests go to workers at random. Decisions between exchanges are those of all workers together. "
        f"A worker that dies (chance {DEATH_RATE:.0%} between two exchanges) is replaced at once; its log is read "
        f"{UNREAD_ROUNDS:,} decisions later, and its lease is charged until then."
    )
