"""What guards on a second metric cost, and whether they hold: `python benchmarks/promises.py`.

Ten arms, thirty that are linear in five features, or ten whose guarded means differ in three
segments, which are 60, 30 and 10 % of the rounds; Thompson sampling, two-step, delta = .05; the
objective keeps a promise of alpha = .05 beside the guard. Regret is against the best mixture of
arms that keeps all promises on average, so what plays without a guard may have less than none. A
bound is false where the ledger's lower bound of what the learner earned, or an arm's, is above the
truth at any time. --runs 100: smaller tables.
"""

import argparse
import time
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

import tightrope as tr
from tightrope.extend import (
    Arms,
    Context,
    Monitor,
    Problem,
    event,
    integer,
    jit,
    matrix,
    metric_mean,
    monitor,
    problem,
    scratch,
    unchecked,
    vector,
)
from tightrope.policies.conservative.promises import COUNTS, METRIC, SCOPE, SENSE, asked, view

ARMS, DELTA, MOST = 10, 0.05, 64  # promises
METRICS = {"revenue": (0, 1), "guarded": (0, 1)}
SHARES = (0.6, 0.3, 0.1)  # of the rounds, by segment


@problem()
class Segments(Problem):
    """Revenue, and a guarded metric whose means differ by segment, which every round draws."""

    means: np.ndarray = vector()  # (K,) of the revenue
    guarded: np.ndarray = matrix()  # (S, K)
    reward: np.ndarray = scratch()  # (2,)

    @staticmethod
    def complete(stored):
        return stored | {"reward": np.zeros(2)}

    def describe(self):
        return Arms(self.means.size, rewards=(0.0, 1.0), metrics=tuple(METRICS))

    @jit
    def observe(self, t, rng):
        u, s = rng.random(), 0
        while s < len(SHARES) - 1 and u >= SHARES[s]:
            u, s = u - SHARES[s], s + 1
        return Context(None, None, None, None, s)

    @jit
    def play(self, context, action, rng):
        for m in range(2):
            self.reward[m] = 1.0 if rng.random() < metric_mean(self, context, action, m) else 0.0
        return self.reward

    @jit
    def metric_mean(self, context, arm, m):
        return self.means[arm] if m == 0 else self.guarded[context.segment, arm]


@monitor
class Truth(Monitor):
    """Counts, for a `Safe` with promises and over all rounds, budgets below zero and bounds above
    the truth."""

    # of the policy, which is wrapped where the problem is from outside
    places: np.ndarray = unchecked(kept=True)
    baseline: int = integer(least=0)

    def begin(self, arms, n_checkpoints):
        return TruthTally(*(np.zeros(MOST) for _ in range(5)), np.full(MOST, np.inf), np.zeros(2))

    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        count(self, tally, state, problem, context, action)
        tally.events[0] += 1.0
        tally.events[1] += event(policy, state, action) == 2


class TruthTally(NamedTuple):
    budget: np.ndarray  # (MOST,) by promise
    earned: np.ndarray  # (MOST,) expected values of the learner's decisions
    explored: np.ndarray  # (MOST,) how many the ledger counts
    broken: np.ndarray  # (MOST,) rounds with a budget below zero
    false: np.ndarray  # (MOST,) rounds with a bound above the truth
    lowest: np.ndarray  # (MOST,) budget
    events: np.ndarray  # (2,) rounds, and those that played the baseline


@jit
def count(truth, tally, state, problem, context, action):
    for p in range(truth.places.shape[0]):
        place = truth.places[p]
        if not place[COUNTS] or not asked(place, context):
            continue
        one = view(state.guarded, truth, context, p)
        m, sense, ledger = place[METRIC], place[SENSE], one.ledger[0]
        value = sense * metric_mean(problem, context, action, m)
        false = ledger.bound > tally.earned[p] + 1e-6
        for k in range(problem.means.shape[0]):
            if one.bounds.lower[k] > sense * metric_mean(problem, context, k, m) + 1e-9:
                false = True
        tally.false[p] += false
        if ledger.explored > tally.explored[p]:
            tally.earned[p] += value
            tally.explored[p] = ledger.explored
        usual = sense * metric_mean(problem, context, truth.baseline, m)
        tally.budget[p] += value - ledger.kappa * usual - ledger.omega
        tally.lowest[p] = min(tally.lowest[p], tally.budget[p])
        tally.broken[p] += tally.budget[p] < -1e-6


def world(run, form="independent", ends=(0.25, 0.75), baseline=None):
    """Means of ten arms; those of the guarded metric go with the objective's, against them, or on
    their own. The baseline is the fourth best, or has the mean that is asked for."""
    rng = np.random.default_rng([7, run])
    first, second = rng.uniform(0.25, 0.75, ARMS), rng.uniform(size=ARMS)
    weight = {"independent": 0.0, "positive": 0.8, "negative": -0.8}[form]
    second = 0.5 + weight * 2 * (first - 0.5) + np.sqrt(1 - weight**2) * (second - 0.5)
    second = ends[0] + (ends[1] - ends[0]) * np.clip(second, 0.0, 1.0)
    if baseline is not None:
        second[baseline_of(first)] = baseline
    return tr.problems.Metrics(
        revenue=tr.problems.Bernoulli(first), guarded=tr.problems.Bernoulli(second)
    )


def linear_world(run):
    """Means of thirty arms that are linear in five features, of both metrics."""
    rng = np.random.default_rng([8, run])
    rows = rng.uniform(size=(30, 5))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    thetas = [rng.dirichlet(np.full(5, 0.3)) for _ in METRICS]
    revenue, guarded = (theta * 0.8 / (rows @ theta).max() for theta in thetas)
    return tr.problems.Metrics(
        revenue=tr.problems.Linear(rows, revenue, rewards="bernoulli"),
        guarded=tr.problems.Linear(rows, guarded, rewards="bernoulli"),
    )


def baseline_of(means):
    return int(np.argsort(-means)[3])


def guarded(problem, *promises, inner=None, **more):
    b, table = baseline_of(problem.means), table_of(problem)
    return tr.Safe(
        inner or tr.BetaThompson(),
        baseline=b,
        delta=DELTA,
        baseline_mean=dict(zip(METRICS, table[:, :, b].tolist(), strict=True)),
        segments=table.shape[1],
        promises=[tr.Promise(alpha=0.05), *promises],
        **{"metrics": METRICS, "selection": "two-step", "martingale": "bernoulli"} | more,
    )


def table_of(problem):
    """(metrics, segments, arms) means."""
    if isinstance(problem, Segments):
        return np.array([np.tile(problem.means, (len(SHARES), 1)), problem.guarded])
    return problem.values[:, None, :]


def truth_of(policy):
    return Truth(places=policy.places, baseline=policy.baseline)


def best_mixture(problem, policy):
    """What the best mixture of arms in each segment earns a round that keeps every promise on
    average."""
    table, b, rows = table_of(problem), policy.baseline, []
    _, S, K = table.shape
    shares = np.array(SHARES if S > 1 else (1.0,))[:, None]
    for place, (_, kappa, omega, _) in zip(policy.places, policy.terms, strict=True):
        z = place[SENSE] * table[place[METRIC]]
        belongs = (place[SCOPE] < 0) | (np.arange(S)[:, None] == place[SCOPE])
        rows.append((belongs * shares * (kappa * z[:, [b]] + omega - z)).ravel())
    found = linprog(
        -(shares * table[0]).ravel(),
        np.array(rows),
        np.zeros(len(rows)),
        np.kron(np.eye(S), np.ones(K)),
        np.ones(S),
    )
    return -found.fun


def in_segments(run):
    rng = np.random.default_rng([9, run])
    means, guarded = rng.uniform(0.25, 0.75, ARMS), rng.uniform(0.25, 0.75, (len(SHARES), ARMS))
    return Segments(means=means, guarded=guarded)


def judge(worlds, promises, horizon, delay=None, **more):
    """(regret, its standard error, share of the baseline, runs that break a promise, runs with a
    false bound, the lowest budget, regret without the guards, runs that break them then)."""
    policies = [guarded(problem, *promises, **more) for problem in worlds]
    value = np.array([best_mixture(*pair) for pair in zip(worlds, policies, strict=True)])
    offset = horizon * (value - [problem.best for problem in worlds])
    given = {"horizon": horizon, "replications": len(worlds), "checkpoints": [horizon]}
    given |= {"delay": delay, "progress": False}
    safe = tr.simulate(
        worlds,
        {"safe": lambda problem: guarded(problem, *promises, **more)},
        monitor=lambda problem: truth_of(guarded(problem, *promises, **more)),
        **given,
    )
    free = tr.simulate(
        worlds,
        {"free": more.get("inner", tr.BetaThompson())},
        monitor=lambda problem: tr.Budget(
            baseline_of(problem.means), promises=guarded(problem, *promises, **more).promises
        ),
        **given,
    )
    watched, unwatched = safe.watched["safe"], free.watched["free"]
    regret = safe.regret["safe"][:, -1] + offset
    return (
        regret.mean(),
        regret.std() / np.sqrt(len(worlds)),
        (watched["events"][:, 1] / horizon).mean(),
        int((watched["broken"].sum(axis=1) > 0).sum()),
        int((watched["false"].sum(axis=1) > 0).sum()),
        watched["lowest"].min(),
        (free.regret["free"][:, -1] + offset).mean(),
        (unwatched["violations"].sum(axis=1) > 0).mean(),
    )


def tables(runs):
    """(table, row, worlds, promises, horizon, other arguments)."""
    least, most = (
        lambda alpha: tr.Promise("guarded", alpha=alpha),
        lambda alpha: tr.Promise("guarded", alpha=alpha, at_most=True),
    )
    for form in ("independent", "positive", "negative"):
        worlds = [world(run, form) for run in range(runs)]
        for sense, alphas in ((least, (0.01, 0.02, 0.05, 0.1)), (most, (0.01, 0.02, 0.05))):
            for alpha in alphas:
                for martingale in ("freedman", "bernoulli"):
                    row = f"{form}, {'least' if sense is least else 'most'}, {alpha}, {martingale}"
                    yield "alpha", row, worlds, [sense(alpha)], 10_000, {"martingale": martingale}
    worlds = [world(run) for run in range(runs)]
    late = tr.delays
    for row, sense, delay in (
        ("both 200 late", least, late.Fixed(200)),
        ("both 200 late, at most", most, late.Fixed(200)),
        ("revenue 2,000 late", least, {"revenue": late.Fixed(2000)}),
        ("guarded 1,000 late, at most", most, {"guarded": late.Fixed(1000)}),
        ("bad news last, at most", most, {"guarded": late.ByReward(1000, 50)}),
    ):
        yield "late", row, worlds, [sense(0.05)], 10_000, {"delay": delay}
    few = max(2, runs * 60 // 1000)
    for name, ends, usual, promises in (
        ("conversion 3-7 %", (0.03, 0.07), 0.05, (least(0.02), least(0.05))),
        ("complaints .5-4 %", (0.005, 0.04), 0.02, (most(0.1),)),
    ):
        worlds = [world(run, ends=ends, baseline=usual) for run in range(few)]
        for promise in promises:
            for martingale in ("freedman", "bernoulli"):
                row = f"{name}, {promise.alpha}, {martingale}"
                yield "rare", row, worlds, [promise], 100_000, {"martingale": martingale}

    worlds = [linear_world(run) for run in range(max(2, runs // 5))]
    linear = {"inner": tr.LinTS(), "theta_bound": 2.0}
    for row, sense, more in (
        ("least, .05, freedman", least, {"martingale": "freedman"}),
        ("least, .05, bernoulli", least, {}),
        ("most, .05, bernoulli", most, {}),
        ("revenue 200 late", least, {"delay": {"revenue": late.Fixed(200)}}),
    ):
        yield "linear", row, worlds, [sense(0.05)], 2000, linear | more

    worlds = [in_segments(run) for run in range(max(2, runs // 2))]
    each = [tr.Promise("guarded", alpha=0.05, segment=s) for s in range(len(SHARES))]
    for row, promises in (
        ("rarest segment", each[2:]),
        ("every segment", each),
        ("every segment, and all rounds", [*each, least(0.05)]),
    ):
        for martingale in ("freedman", "bernoulli"):
            more = {"martingale": martingale}
            yield "segments", f"{row}, {martingale}", worlds, promises, 10_000, more


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", help="rows whose name has this")
    asked = parser.parse_args()
    head = "| guard | regret | baseline | broken | false bounds | lowest | without | breaks |"
    table = None
    for name, row, worlds, promises, horizon, more in tables(asked.runs):
        if asked.only and asked.only not in f"{name}: {row}":
            continue
        if name != table:
            print(f"\n## {name}\n\n{head}\n{'| --- ' * 8}|", flush=True)
            table = name
        began = time.perf_counter()
        regret, error, share, broken, false, lowest, free, breaks = judge(
            worlds, promises, horizon, **more
        )
        print(
            f"| {row} | {regret:,.0f} +- {error:.0f} | {share:.2f} | {broken} of {len(worlds)} "
            f"| {false} | {lowest:.3f} | {free:,.0f} | {breaks:.0%} |",
            f"<!-- {time.perf_counter() - began:.0f} s -->",
            flush=True,
        )


if __name__ == "__main__":
    main()
