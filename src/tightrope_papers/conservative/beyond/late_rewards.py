"""Late rewards: every policy of the family under every delay, how often its true budget is broken. Not in the paper."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tightrope import policies, problems
from tightrope.core.policy import Delay, Monitor, Policy, Problem
from tightrope.core.types import Arguments
from tightrope.results.results import Result
from tightrope.simulation.delays import Batched, ByReward, Fixed, Geometric
from tightrope.simulation.monitors import Budget
from tightrope.solvers import oracles

from ...experiment import Players, Run, generator, unit_vector
from ...scoring import OURS, Row, most, never, row_of
from ..measures import final
from ..settings import ALPHA, LINEAR, PRINTED_BOUNDS, bernoulli_models, budget_monitor, ranked_baseline, spread_model, variant, with_record

BERNOULLI = {"sigma": 0.5}
DELAYS: dict[str, Delay] = {
    "Fixed(10)": Fixed(10), "Fixed(100)": Fixed(100), "Fixed(1000)": Fixed(1000), "Geometric(200)": Geometric(200),
    "Batched(500)": Batched(500), "ByReward(50, 1000)": ByReward(50, 1000),
}  # fmt: skip
BIASED = "ByReward(50, 1000)"  # when a reward arrives depends on what it is
PERIOD = 100  # of CUCB2T
ALPHAS = {"Bernoulli": ALPHA, "linear": 0.2, "contextual": 0.3, "sets": 0.1}  # at which 5,000 rounds leave room to explore


def linear_models(count: int, seed: int) -> Sequence[Problem]:
    """K = 12, d = 20, means uniform on [0, 1], noise 0.1."""
    rng = generator(seed, 3)
    return [spread_model(rng, 12, 20) for _ in range(count)]


def set_models(count: int, seed: int) -> Sequence[Problem]:
    """Sets of 3 of N = 20 arms, d = 4, positive unit features, noise 0.1."""
    models = []
    for number in range(count):
        rng = generator(seed, 4, number)
        X, theta = np.abs(rng.standard_normal((20, 4))), np.abs(rng.standard_normal(4))
        X /= np.linalg.norm(X, axis=1)[:, None]
        models.append(problems.SemiBandit(X, theta / np.linalg.norm(theta), oracles.TopK(3), noise=0.1))
    return models


def good_set(problem: problems.SemiBandit) -> Arguments:
    """A set close to the best as baseline, with its total mean."""
    arms = np.argsort(-problem.means, kind="stable")[[0, 2, 3]]
    return {"baseline": arms, "baseline_mean": float(problem.means[arms].sum())}


def safe(inner: Policy, arguments: Callable[..., Arguments], problem: Problem, **parameters: Any) -> Policy:
    return policies.Safe(inner, **arguments(problem), **PRINTED_BOUNDS, **parameters)


def set_budget(problem: problems.SemiBandit) -> Budget:
    return Budget(good_set(problem)["baseline"], alpha=ALPHAS["sets"])


class DelayWorld(NamedTuple):
    """Problems, the policies that are at home there, and who watches each."""

    problems: Problem | Sequence[Problem]
    policies: Players
    monitors: Mapping[str, Monitor | Callable[..., Monitor]]
    horizon: int
    runs: int  # of every policy under every delay


def worlds(run: Run, rule: str) -> dict[str, DelayWorld]:
    """All policies of the family under one rule for open decisions; sets know "nothing" only."""
    models, rounds = run.at(smoke=2, laptop=50, paper=100), run.at(smoke=400, laptop=4000, paper=5000)
    runs = run.at(smoke=4, laptop=100, paper=1000)

    def of(make: Callable[..., Policy], *arguments: object, **parameters: object) -> Callable[..., Policy]:
        return with_record(partial(make, *arguments, **parameters), f"{arguments} with {parameters}")

    theirs: dict[str, object] = {"alpha": ALPHAS["Bernoulli"], "open": rule} | BERNOULLI
    linear: dict[str, object] = {"alpha": ALPHAS["linear"], "open": rule} | LINEAR
    changing_arms: Arguments = {"alpha": ALPHAS["contextual"], "open": rule} | LINEAR
    fourth = partial(ranked_baseline, rank=4)
    arms = {
        "CUCB2": of(variant, "CUCB2", 4, **theirs),
        "CUCB": of(variant, "CUCB", 4, **theirs),
        "CUCB2T": of(variant, "CUCB2T", 4, checkpoint=PERIOD, **theirs),
        "Safe(BetaThompson)": of(safe, policies.BetaThompson(), fourth, **theirs),
    }
    lines = {
        "CLUCB2": of(variant, "CLUCB2", 4, **linear),
        "Safe(LinTS)": of(safe, policies.LinTS(width="theorem", noise=0.1, lam=0.5), fourth, **linear),
    }
    changing = problems.ContextualSpread(unit_vector(generator(run.seed, 5), 4), arms=8, noise=0.1)
    contextual = {"contextual CLUCB2": policies.CLUCB2(**changing_arms, **PRINTED_BOUNDS)}
    watching = {name: budget_monitor(4, ALPHAS["Bernoulli"], PERIOD if name == "CUCB2T" else 1) for name in arms}
    delay_worlds = {
        "Bernoulli": DelayWorld(bernoulli_models(models, run.seed), arms, watching, rounds, runs),
        "linear": DelayWorld(
            linear_models(models, run.seed), lines, dict.fromkeys(lines, budget_monitor(4, ALPHAS["linear"])), rounds, runs
        ),
        "contextual": DelayWorld(changing, contextual, dict.fromkeys(contextual, Budget(alpha=ALPHAS["contextual"])), rounds, runs),
    }
    if rule == "nothing":
        sets = {"Safe(C2UCB)": of(safe, policies.C2UCB(alpha=2.0), good_set, alpha=ALPHAS["sets"], **LINEAR)}
        watching_sets = dict.fromkeys(sets, with_record(set_budget, "budget beside the good set"))
        set_rounds = run.at(smoke=100, laptop=1500, paper=1500)
        set_runs = run.at(smoke=4, laptop=50, paper=1000)  # of plain Python: 50 under six delays show any chance from 1 %
        delay_worlds["sets"] = DelayWorld(set_models(models, run.seed), sets, watching_sets, set_rounds, set_runs)
    return delay_worlds


class DelayCell(NamedTuple):
    """One policy under one delay and rule."""

    rule: str
    policy: str
    delay: str
    broken: np.ndarray  # (runs,) whether the budget was broken
    lowest: float
    regret: float
    explored: float  # share of rounds that were not the baseline's


def cells_of(result: Result, rule: str, delay: str) -> list[DelayCell]:
    cells = []
    for name in result.policies:
        watched = result.watched[name]
        events = watched["events"][:, -1]
        explored = float((events.sum(axis=1) - events[:, 2]).mean() / result.rounds[-1])
        broken = watched["violations"][:, 0] > 0
        cells.append(DelayCell(rule, name, delay, broken, float(watched["minimum"].min()), float(final(result, name).mean()), explored))
    return cells


def data(run: Run) -> list[DelayCell]:
    """The cells of all simulations. Linear rewards are taken in by order of decision where the delay depends on them."""
    cells = []
    for rule, (delay, late) in itertools.product(("nothing", "lower"), DELAYS.items()):
        for name, world in worlds(run, rule).items():
            if run.scale == "smoke" and name not in ("Bernoulli", "sets"):
                continue  # each kind of rounds takes its time to compile
            in_order = delay == BIASED and name != "Bernoulli" and rule == "nothing"
            result = run.simulate(
                f"late-{rule}-{name}-{delay}", world.problems, world.policies, horizon=world.horizon, replications=world.runs,
                monitor=world.monitors, checkpoints=[world.horizon], delay=late, apply="in order" if in_order else "on arrival",
            )  # fmt: skip
            cells += cells_of(result, rule, delay)
    return cells


def score(cells: list[DelayCell]) -> list[Row]:
    """The promise of each rule where its assumption holds, and the counter-example."""
    rows = []
    fair = {"nothing": [cell for cell in cells if cell.rule == "nothing"]}
    fair["lower"] = [cell for cell in cells if cell.rule == "lower" and cell.delay != BIASED]
    for rule, part in fair.items():
        broken, total = sum(int(cell.broken.sum()) for cell in part), sum(cell.broken.size for cell in part)
        where = "any delay" if rule == "nothing" else "delays that do not depend on the reward"
        text = f"open = '{rule}' keeps the promise under {where}"
        rows.append(row_of(OURS, text, "not in the paper", f"{broken} of {total} runs", never(broken, total)))
    biased = next(cell for cell in cells if (cell.rule, cell.policy, cell.delay) == ("lower", "CUCB2", BIASED))
    text = f"open = 'lower' breaks it under {BIASED} (CUCB2)"
    count, total = int(biased.broken.sum()), biased.broken.size
    return [*rows, row_of(OURS, text, "not in the paper", f"{count} of {total} runs", most(count, total))]


def tables(cells: list[DelayCell]) -> dict[str, pd.DataFrame]:
    rows = [
        {"open": cell.rule, "policy": cell.policy, "delay": cell.delay, "runs": cell.broken.size, "runs that break the budget":
         int(cell.broken.sum()), "lowest budget where verified": cell.lowest, "regret": cell.regret, "share explored": cell.explored}
        for cell in cells
    ]  # fmt: skip
    return {"cells": pd.DataFrame(rows)}


def notes(cells: list[DelayCell]) -> str:
    return (
        "Bernoulli arms as in Figure 3 with sigma 1/2; K = 12, d = 20 with alpha 0.2; 8 new arms each round, d = 4, alpha 0.3; sets of 3 "
        "of 20, d = 4, alpha 0.1. Where the delay depends on the reward linear policies take rewards in by order of decision."
    )
