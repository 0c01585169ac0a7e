"""Open decisions: the budget over time with 1, 10, 100 and 1,000 decisions that await their reward, by the old rule and by ours.

Not in the paper, whose rewards come at once. The old rule enters a round into the ledger when its reward arrives; it is the paper's
without delay, and what anyone would run who takes the paper's algorithm as it is into a service.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tightrope.compiled.kernels import jit
from tightrope.core.policy import Policy, inner_policy, policy
from tightrope.core.types import State
from tightrope.core.verbs import Arms, commit, event, init, select, update
from tightrope.plots import style
from tightrope.results.results import Result
from tightrope.simulation.delays import Fixed

from ...experiment import Run
from ...scoring import OURS, Row, below, most, never, paired_mean, row_of
from ..measures import final
from ..settings import Instance, bernoulli_models, budget_monitor, told_baseline, variant, with_record

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
        return update(self.inner, commit(self.inner, state, context, action), context, action, reward)

    @jit
    def event(self, state, action):  # type: ignore[no-untyped-def]
        return event(self.inner, state, action)


class OpenDecisionRuns(NamedTuple):
    """Runs by number of open decisions."""

    results: dict[int, Result]

    def broken_runs(self, rule: str, number: int) -> np.ndarray:
        """(runs,) whether each run broke the budget."""
        return np.asarray(self.results[number].watched[rule]["violations"][:, 0] > 0)


def old_rule(problem: Instance) -> Policy:
    """CUCB2 whose ledger takes in a decision together with its reward."""
    return CountedOnArrival(inner=variant("CUCB2", RANK, problem, sigma=SIGMA))


def data(run: Run) -> OpenDecisionRuns:
    """CUCB2 by the three rules, with rewards that come so many rounds late that as many decisions are open."""
    horizon = run.at(smoke=6000, laptop=100_000, paper=100_000)
    models = run.at(smoke=4, laptop=100, paper=100)
    players = {"old rule": with_record(old_rule, f"CUCB2 of rank {RANK} by the old rule")}
    players |= {rule: told_baseline("CUCB2", RANK, sigma=SIGMA, open=rule) for rule in RULES[1:]}
    results = {
        number: run.simulate(
            f"open-{number}", bernoulli_models(models, run.seed), players, horizon=horizon, replications=models,
            monitor=budget_monitor(RANK), delay=Fixed(number - 1),
        )
        for number in OPEN_COUNTS
    }  # fmt: skip
    return OpenDecisionRuns(results)


def score(runs: OpenDecisionRuns) -> list[Row]:
    """Runs that break the promise by number of open decisions, and the regret of caution."""
    rows = []
    for number in OPEN_COUNTS[2:]:
        broken = runs.broken_runs("old rule", number)
        text = f"with {number:,} open decisions the old rule breaks the budget"
        rows.append(row_of(OURS, text, "not in the paper", f"{broken.mean():.0%} of runs", most(int(broken.sum()), broken.size)))
    for rule in RULES[1:]:
        broken = np.concatenate([runs.broken_runs(rule, number) for number in OPEN_COUNTS])
        count, total = int(broken.sum()), broken.size
        rows.append(row_of(OURS, f"open = '{rule}' never does", "not in the paper", f"{count} of {total} runs", never(count, total)))
    same = [np.array_equal(runs.results[1].regret[rule], runs.results[1].regret["nothing"]) for rule in RULES]
    differing = same.count(False)
    text = "one at a time all rules are the same"
    rows.append(row_of(OURS, text, "not in the paper", f"{differing} rules differ", never(differing, len(RULES))))
    difference = paired_mean(final(runs.results[1000], "lower"), final(runs.results[1000], "nothing"))
    text = "crediting lower bounds costs less than crediting nothing, 1,000 open"
    return [*rows, row_of(OURS, text, "not in the paper", difference, below(difference))]


def tables(runs: OpenDecisionRuns) -> dict[str, pd.DataFrame]:
    """Runs that break the budget, lowest budget and regret."""
    rows = []
    for number, result in runs.results.items():
        for rule in RULES:
            rows.append({
                "open": number, "rule": rule, "runs that break the budget": f"{runs.broken_runs(rule, number).mean():.0%}",
                "lowest budget": float(result.watched[rule]["lowest"].min()), "regret": float(final(result, rule).mean()),
            })  # fmt: skip
    return {"rules": pd.DataFrame(rows)}


def plot(runs: OpenDecisionRuns) -> dict[str, Figure]:
    """The lowest and the mean budget of all runs against time."""
    fig, axes = style.figure(len(OPEN_COUNTS), height=3.8)
    for ax, (number, result) in zip(axes, runs.results.items(), strict=True):
        for place, rule in enumerate(RULES):
            budget = result.watched[rule]["budget"]
            ax.plot(result.rounds, budget.mean(axis=0), color=style.colour(place), label=rule)
            ax.fill_between(result.rounds, budget.min(axis=0), budget.mean(axis=0), color=style.colour(place), alpha=0.15, linewidth=0)
        ax.axhline(0.0, color=style.INK, linewidth=0.8)
        ax.set_xscale("log")
        ax.set_yscale("symlog", linthresh=1.0)
        ax.set_title(f"{number:,} open" if number > 1 else "one at a time", fontsize=10, color=style.INK)
        ax.set_xlabel("round", color=style.INK)
    axes[0].set_ylabel("true budget: mean, shaded to the lowest run", color=style.INK)
    axes[0].legend(frameon=False, fontsize=9, loc="upper left")
    return {"open-decisions": fig}


def notes(runs: OpenDecisionRuns) -> str:
    result = runs.results[1]
    return (
        f"K = 10 Bernoulli arms, {result.replications} models, n = {int(result.rounds[-1]):,}, baseline the 4th best arm, alpha 0.05, "
        f"delta 0.01, sigma 1/2. A reward is so many rounds late that the given number of decisions is open."
    )
