"""Beyond the paper, whose rewards come at once: late rewards and open decisions."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope import Budget, Result, delays, oracles, policies, problems
from tightrope.extend import (
    Arguments,
    Arms,
    Delay,
    Monitor,
    Policy,
    Problem,
    State,
    commit,
    event,
    init,
    inner_policy,
    jit,
    policy,
    select,
    update,
)
from tightrope.plots import style

from ..experiment import Players, Run, generator, unit_vector
from ..scoring import OURS, Rows, below, judged, most, never, paired_mean, row_of
from .measures import final
from .settings import (
    ALPHA,
    LINEAR,
    PRINTED_BOUNDS,
    Instance,
    bernoulli_models,
    budget_monitor,
    ranked_baseline,
    spread_model,
    told_baseline,
    variant,
    with_record,
)

# Late rewards: every policy of the family under every delay, how often its true budget is broken.
# Not in the paper.


BERNOULLI = {"sigma": 0.5}
DELAYS: dict[str, Delay] = {
    "Fixed(10)": delays.Fixed(10),
    "Fixed(100)": delays.Fixed(100),
    "Fixed(1000)": delays.Fixed(1000),
    "Geometric(200)": delays.Geometric(200),
    "Batched(500)": delays.Batched(500),
    "ByReward(50, 1000)": delays.ByReward(50, 1000),
}
BIASED = "ByReward(50, 1000)"  # when a reward arrives depends on what it is
PERIOD = 100  # of CUCB2T
ALPHAS = {
    "Bernoulli": ALPHA,
    "linear": 0.2,
    "contextual": 0.3,
    "sets": 0.1,
}  # at which 5,000 rounds leave room to explore


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
        models.append(
            problems.SemiBandit(X, theta / np.linalg.norm(theta), oracles.TopK(3), noise=0.1)
        )
    return models


def good_set(problem: problems.SemiBandit) -> Arguments:
    """A set close to the best as baseline, with its total mean."""
    arms = np.argsort(-problem.means, kind="stable")[[0, 2, 3]]
    return {"baseline": arms, "baseline_mean": float(problem.means[arms].sum())}


def safe(
    inner: Policy, arguments: Callable[..., Arguments], problem: Problem, **parameters: Any
) -> Policy:
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
    models, rounds = (
        run.at(smoke=2, laptop=50, paper=100),
        run.at(smoke=400, laptop=4000, paper=5000),
    )
    runs = run.at(smoke=4, laptop=100, paper=1000)

    def of(
        make: Callable[..., Policy], *arguments: object, **parameters: object
    ) -> Callable[..., Policy]:
        return with_record(
            partial(make, *arguments, **parameters), f"{arguments} with {parameters}"
        )

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
        "Safe(LinTS)": of(
            safe, policies.LinTS(width="theorem", noise=0.1, lam=0.5), fourth, **linear
        ),
    }
    changing = problems.ContextualSpread(unit_vector(generator(run.seed, 5), 4), arms=8, noise=0.1)
    contextual = {"contextual CLUCB2": policies.CLUCB2(**changing_arms, **PRINTED_BOUNDS)}
    watching = {
        name: budget_monitor(4, ALPHAS["Bernoulli"], PERIOD if name == "CUCB2T" else 1)
        for name in arms
    }
    delay_worlds = {
        "Bernoulli": DelayWorld(bernoulli_models(models, run.seed), arms, watching, rounds, runs),
        "linear": DelayWorld(
            linear_models(models, run.seed),
            lines,
            dict.fromkeys(lines, budget_monitor(4, ALPHAS["linear"])),
            rounds,
            runs,
        ),
        "contextual": DelayWorld(
            changing,
            contextual,
            dict.fromkeys(contextual, Budget(alpha=ALPHAS["contextual"])),
            rounds,
            runs,
        ),
    }
    if rule == "nothing":
        sets = {
            "Safe(C2UCB)": of(
                safe, policies.C2UCB(alpha=2.0), good_set, alpha=ALPHAS["sets"], **LINEAR
            )
        }
        watching_sets = dict.fromkeys(sets, with_record(set_budget, "budget beside the good set"))
        set_rounds = run.at(smoke=100, laptop=1500, paper=1500)
        set_runs = run.at(
            smoke=4, laptop=50, paper=1000
        )  # of plain Python: 50 under six delays show any chance from 1 %
        delay_worlds["sets"] = DelayWorld(
            set_models(models, run.seed), sets, watching_sets, set_rounds, set_runs
        )
    return delay_worlds


class DelayCell(NamedTuple):
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
        cells.append(
            DelayCell(
                rule,
                name,
                delay,
                broken,
                float(watched["minimum"].min()),
                float(final(result, name).mean()),
                explored,
            )
        )
    return cells


def late_rewards_data(run: Run) -> list[DelayCell]:
    cells = []
    for rule, (delay, late) in itertools.product(("nothing", "lower"), DELAYS.items()):
        for name, world in worlds(run, rule).items():
            if run.scale == "smoke" and name not in ("Bernoulli", "sets"):
                continue  # each kind of rounds takes its time to compile
            in_order = delay == BIASED and name != "Bernoulli" and rule == "nothing"
            result = run.simulate(
                f"late-{rule}-{name}-{delay}",
                world.problems,
                world.policies,
                horizon=world.horizon,
                replications=world.runs,
                monitor=world.monitors,
                checkpoints=[world.horizon],
                delay=late,
                apply="in order" if in_order else "on arrival",
            )
            cells += cells_of(result, rule, delay)
    return cells


def late_rewards_score(cells: list[DelayCell]) -> Rows:
    fair = {"nothing": [cell for cell in cells if cell.rule == "nothing"]}
    fair["lower"] = [cell for cell in cells if cell.rule == "lower" and cell.delay != BIASED]
    for rule, part in fair.items():
        broken, total = (
            sum(int(cell.broken.sum()) for cell in part),
            sum(cell.broken.size for cell in part),
        )
        where = "any delay" if rule == "nothing" else "delays that do not depend on the reward"
        text = f"open = '{rule}' keeps the promise under {where}"
        yield row_of(
            OURS, text, "not in the paper", f"{broken} of {total} runs", never(broken, total)
        )
    biased = next(
        cell for cell in cells if (cell.rule, cell.policy, cell.delay) == ("lower", "CUCB2", BIASED)
    )
    text = f"open = 'lower' breaks it under {BIASED} (CUCB2)"
    count, total = int(biased.broken.sum()), biased.broken.size
    yield row_of(OURS, text, "not in the paper", f"{count} of {total} runs", most(count, total))


def late_rewards_tables(cells: list[DelayCell]) -> dict[str, pd.DataFrame]:
    rows = [
        {
            "open": cell.rule,
            "policy": cell.policy,
            "delay": cell.delay,
            "runs": cell.broken.size,
            "runs that break the budget": int(cell.broken.sum()),
            "lowest budget where verified": cell.lowest,
            "regret": cell.regret,
            "share explored": cell.explored,
        }
        for cell in cells
    ]
    return {"cells": pd.DataFrame(rows)}


late_rewards_notes = (
    "Bernoulli arms as in Figure 3 with sigma 1/2; K = 12, d = 20 with alpha 0.2; 8 new arms each "
    "round, d = 4, alpha 0.3; sets of 3 of 20, d = 4, alpha 0.1. Where the delay depends on the "
    "reward linear policies take rewards in by order of decision."
)


# Open decisions: the budget over time with 1, 10, 100 and 1,000 decisions that await their reward,
# by the old rule and by ours.


RANK, SIGMA = 4, 0.5
OPEN_COUNTS = (1, 10, 100, 1000)
RULES = ("old rule", "nothing", "lower")


@policy("arms", paper="Garcelon, Ghavamzadeh, Lazaric, Pirotta 2020", public=False)
class CountedOnArrival(Policy):
    """A conservative policy whose ledger takes in a decision together with its reward."""

    inner: Policy = inner_policy()

    def init(self, arms: Arms) -> State:
        return init(self.inner, arms)

    @jit
    def select(self, state, context, rng):  # type: ignore[no-untyped-def]
        return select(self.inner, state, context, rng)

    @jit
    def update(self, state, context, action, reward):  # type: ignore[no-untyped-def]
        return update(
            self.inner, commit(self.inner, state, context, action), context, action, reward
        )

    @jit
    def event(self, state, action):  # type: ignore[no-untyped-def]
        return event(self.inner, state, action)


OpenDecisionRuns = dict[int, Result]  # by number of open decisions


def broken_runs(result: Result, rule: str) -> np.ndarray:
    return np.asarray(result.watched[rule]["violations"][:, 0] > 0)


def old_rule(problem: Instance) -> Policy:
    return CountedOnArrival(inner=variant("CUCB2", RANK, problem, sigma=SIGMA))


def open_decisions_data(run: Run) -> OpenDecisionRuns:
    horizon = run.at(smoke=6000, laptop=100_000, paper=100_000)
    models = run.at(smoke=4, laptop=100, paper=100)
    players = {"old rule": with_record(old_rule, f"CUCB2 of rank {RANK} by the old rule")}
    players |= {rule: told_baseline("CUCB2", RANK, sigma=SIGMA, open=rule) for rule in RULES[1:]}
    return {
        number: run.simulate(
            f"open-{number}",
            bernoulli_models(models, run.seed),
            players,
            horizon=horizon,
            replications=models,
            monitor=budget_monitor(RANK),
            delay=delays.Fixed(number - 1),
        )
        for number in OPEN_COUNTS
    }


def open_decisions_score(runs: OpenDecisionRuns) -> Rows:
    for number in OPEN_COUNTS[2:]:
        broken = broken_runs(runs[number], "old rule")
        text = f"with {number:,} open decisions the old rule breaks the budget"
        yield row_of(
            OURS,
            text,
            "not in the paper",
            f"{broken.mean():.0%} of runs",
            most(int(broken.sum()), broken.size),
        )
    for rule in RULES[1:]:
        broken = np.concatenate([broken_runs(runs[number], rule) for number in OPEN_COUNTS])
        count, total = int(broken.sum()), broken.size
        yield row_of(
            OURS,
            f"open = '{rule}' never does",
            "not in the paper",
            f"{count} of {total} runs",
            never(count, total),
        )
    same = [np.array_equal(runs[1].regret[rule], runs[1].regret["nothing"]) for rule in RULES]
    differing = same.count(False)
    text = "one at a time all rules are the same"
    yield row_of(
        OURS, text, "not in the paper", f"{differing} rules differ", never(differing, len(RULES))
    )
    text = "crediting lower bounds costs less than crediting nothing, 1,000 open"
    yield judged(
        OURS,
        text,
        "not in the paper",
        paired_mean(final(runs[1000], "lower"), final(runs[1000], "nothing")),
        below,
    )


def open_decisions_tables(runs: OpenDecisionRuns) -> dict[str, pd.DataFrame]:
    rows = [
        {
            "open": number,
            "rule": rule,
            "runs that break the budget": f"{broken_runs(runs[number], rule).mean():.0%}",
            "lowest budget": float(result.watched[rule]["lowest"].min()),
            "regret": float(final(result, rule).mean()),
        }
        for number, result in runs.items()
        for rule in RULES
    ]
    return {"rules": pd.DataFrame(rows)}


def open_decisions_plot(runs: OpenDecisionRuns) -> dict[str, Figure]:
    fig, axes = style.figure(len(OPEN_COUNTS), height=3.8)
    for ax, (number, result) in zip(axes, runs.items(), strict=True):
        for place, rule in enumerate(RULES):
            budget = result.watched[rule]["budget"]
            ax.plot(result.rounds, budget.mean(axis=0), color=style.colour(place), label=rule)
            ax.fill_between(
                result.rounds,
                budget.min(axis=0),
                budget.mean(axis=0),
                color=style.colour(place),
                alpha=0.15,
                linewidth=0,
            )
        ax.axhline(0.0, color=style.INK, linewidth=0.8)
        ax.set_xscale("log")
        ax.set_yscale("symlog", linthresh=1.0)
        ax.set_title(
            f"{number:,} open" if number > 1 else "one at a time", fontsize=10, color=style.INK
        )
        ax.set_xlabel("round")
    axes[0].set_ylabel("true budget: mean, shaded to the lowest run")
    axes[0].legend(frameon=False, fontsize=9, loc="upper left")
    return {"open-decisions": fig}


open_decisions_notes = (
    "K = 10 Bernoulli arms, baseline the 4th best arm, alpha 0.05, delta 0.01, sigma 1/2. A "
    "reward is so many rounds late that the given number of decisions is open."
)
