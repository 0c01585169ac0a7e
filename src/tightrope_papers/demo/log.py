"""(f) What would it have earned: a policy judged on the log of another."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from tightrope.evaluation.evaluate import evaluate
from tightrope.evaluation.results import Evaluation
from tightrope.logs import Log, from_frame
from tightrope.numerics.statistics import interval, standard_error, with_error
from tightrope.pages.page import Section, evaluation_summary, support_of
from tightrope.plots.figures import sequence_figure
from tightrope.plots.style import picture
from tightrope.problems.data import DataNotFound, open_bandit

from .setting import DemoSetting

CAMPAIGN: Final = "men"
ITEMS, ROWS = 12, 10_000  # of the twin


class JudgedLog(NamedTuple):
    """A log, a policy that did not make it, what is known of that policy's value (with its standard error), and where they come from."""

    log: Log
    policy: Mapping[int, float] | np.ndarray
    name: str
    known: tuple[float, float]
    how: str
    source: str


def section(setting: DemoSetting) -> Section:
    case = find_case(setting)
    evaluation = replace(evaluate(case.log, case.policy, estimator="dr", baseline="logged"), policy=case.name)
    pictures = [
        picture(
            sequence_figure(evaluation, palette=setting.palette),
            f"Bounds on its mean value in all rounds so far; all of them hold at once with probability {1 - evaluation.alpha:.4g}.",
        ),
        picture(support_of(evaluation, setting.palette), "Share of the log and share under the policy, by arm."),
    ]
    text = f"{case.source} The bounds hold however often one looks, and allow for rare rounds of large weight that have not come yet."
    return Section(
        "What would it have earned: a log, judged", text, pictures, [evaluation_summary(evaluation)], summary=sentence(evaluation, case)
    )


def find_case(setting: DemoSetting) -> JudgedLog:
    """Open Bandit: a uniform log, and what Thompson sampling showed on the same days; or a twin of them."""
    try:
        uniform, thompson = open_bandit(CAMPAIGN, "random", data=setting.data), open_bandit(CAMPAIGN, "bts", data=setting.data)
    except DataNotFound as error:
        return twin(setting, setting.report_missing(error))
    earned = thompson.log["reward"]
    log = from_frame(uniform.log, slot="slot", time="time", arms=uniform.arms)
    source = (
        f"Open Bandit, {CAMPAIGN}'s fashion: {earned.size:,} impressions that a uniform policy logged, clicks as rewards. Judged is "
        "Thompson sampling by its mean probabilities; its own log of the same days tells what it earned."
    )
    known = float(earned.mean()), float(standard_error(earned))
    return JudgedLog(log, dict(enumerate(thompson.shares)), "Thompson sampling", known, "its own log of the same days says", source)


def twin(setting: DemoSetting, source: str) -> JudgedLog:
    """A uniform log of items with few clicks, and a policy that prefers the better ones."""
    rng = np.random.default_rng(np.random.SeedSequence(setting.seed, spawn_key=(ITEMS,)))
    rates = rng.uniform(0.02, 0.10, ITEMS)
    chances = np.exp(40.0 * rates) / np.exp(40.0 * rates).sum()
    arm = rng.integers(0, ITEMS, ROWS)
    table = {"arm": arm, "reward": (rng.random(ROWS) < rates[arm]) * 1.0, "propensity": np.full(ROWS, 1.0 / ITEMS)}
    log = from_frame(table, arms=ITEMS, floor=1.0 / ITEMS)
    return JudgedLog(log, chances, "a policy that prefers good items", (float(chances @ rates), 0.0), "the truth of this twin is", source)


def sentence(evaluation: Evaluation, case: JudgedLog) -> str:
    low, high = evaluation.interval
    value, se = case.known
    inside = "inside" if low <= value <= high else "outside"
    return (
        f"On {evaluation.n:,} rows of another policy's log, {case.name} would have earned "
        f"{with_error(evaluation.value, evaluation.se)} a round, and with probability {1 - evaluation.alpha:.4g} between "
        f"{interval(low, high)[1:-1].replace(', ', ' and ')}; {case.how} {with_error(value, se)}, which is {inside} these bounds. "
        f"Verdict against the logger: {evaluation.verdict}."
    )
