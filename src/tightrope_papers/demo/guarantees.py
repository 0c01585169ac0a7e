"""Sections whose subject is a promise: (a) safe exploration, (b) a test that stops, (f) a policy
judged on the log of another."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from tightrope import (
    Evaluation,
    Identification,
    Result,
    delays,
    evaluate,
    identify,
    policies,
    problems,
    simulate,
)
from tightrope.extend import Policy, interval, standard_error, with_error
from tightrope.logs import Log, from_frame
from tightrope.pages import Section, Table, evaluation_summary, support_of
from tightrope.plots import style
from tightrope.plots.figures import sequence_figure
from tightrope.plots.style import picture
from tightrope.problems.data import DataNotFound, open_bandit
from tightrope.simulation.simulate import fixed_size

from ..conservative.measures import budget_monitor, ranked_baseline
from .structures import DemoSetting

# (a) Safe: a shop at real conversion rates, and a promise that it sells hardly less than its known
# offer would have sold.


ALPHA, DELTA, RANK = 0.05, 0.05, 4
ARMS, LEAST_RATE, MOST_RATE = 10, 0.03, 0.07  # offers, and the shares of visitors they sell to
SALE_DELAY = 1000  # visitors behind which a sale is known
VISITORS, SHOPS = 100_000, 40
REWARD_DELAYS = {"sales known at once": 0, f"known {SALE_DELAY:,} visitors later": SALE_DELAY}
UNCONSTRAINED = "BetaThompson"
SAFE = "Safe(BetaThompson)"
TOLERANCE = 1e-6


def safe_section(setting: DemoSetting) -> Section:
    shops = new_shops(setting.of(SHOPS, least=6), setting.seed)
    results = {
        name: safe_play(setting, shops, f"safe, {name}", late)
        for name, late in REWARD_DELAYS.items()
    }
    behind = {name: shops_behind(result) for name, result in results.items()}
    at_once = next(iter(behind.values()))
    visitors = int(next(iter(results.values())).rounds[-1])
    alone = visitors * np.mean(
        [problem.means.max() - np.sort(problem.means)[-RANK] for problem in shops]
    )
    return Section(
        "Safe: explore without losing sales",
        f"{safe_sentence(results, behind)} "
        f"The {len(shops)} shops are synthetic. Each has {ARMS} offers that sell to "
        f"{LEAST_RATE:.0%} to {MOST_RATE:.0%} of visitors and knows its {RANK}th best. CUCB2 and "
        f"{SAFE} promise at least {1 - ALPHA:.0%} of its sales at every visitor, but for a chance "
        f"of {DELTA:.0%}. BetaThompson, Thompson sampling, promises nothing. Showing the known "
        f"offer alone loses {alone:,.0f} of the sales that the best makes.",
        [
            picture(
                safe_draw(results, setting.palette),
                f"Above: by how many sales a shop is ahead of {1 - ALPHA:.0%} of what its known "
                f"offer would have sold, mean of {len(shops)} shops, shaded down to the worst-off "
                "twentieth. Below: share of shops that are behind at that visitor. CUCB2 lies on "
                "Safe where only one of them is seen. Axes of visitors are logarithmic.",
            )
        ],
        [safe_table(results, behind)],
        summary=f"Of {len(shops)} shops, {SAFE} let {at_once[SAFE].sum()} fall behind "
        f"{1 - ALPHA:.0%} of the known offer's sales at some time, {UNCONSTRAINED} alone "
        f"{at_once[UNCONSTRAINED].sum()}.",
    )


def new_shops(count: int, seed: int) -> list[problems.Bernoulli]:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(40,)))
    return [problems.Bernoulli(rng.uniform(LEAST_RATE, MOST_RATE, ARMS)) for _ in range(count)]


def safe_thompson(problem: problems.Bernoulli) -> Policy:
    return policies.Safe(
        policies.BetaThompson(), **ranked_baseline(problem, RANK), alpha=ALPHA, delta=DELTA
    )


def cucb2(problem: problems.Bernoulli) -> Policy:
    return policies.CUCB2(**ranked_baseline(problem, RANK), alpha=ALPHA, delta=DELTA)


PLAYERS: Mapping[str, Policy | Callable[[problems.Bernoulli], Policy]] = {
    UNCONSTRAINED: policies.BetaThompson(),
    SAFE: safe_thompson,
    "CUCB2": cucb2,
}


def safe_play(
    setting: DemoSetting, shops: list[problems.Bernoulli], label: str, late: int
) -> Result:
    """All policies in all shops. Also rewards at once go through the loop with delays, so that it
    is compiled once."""
    horizon = setting.of(VISITORS, least=3_000)
    checkpoints = np.unique(np.geomspace(1, horizon, 100).round())
    return simulate(
        shops,
        PLAYERS,
        horizon=horizon,
        replications=len(shops),
        checkpoints=checkpoints,
        monitor=budget_monitor(RANK, ALPHA),
        delay=delays.Fixed(late),
        **setting.play(label),
    )


def shops_behind(result: Result) -> dict[str, np.ndarray]:
    return {
        name: np.asarray(watched["violations"][:, 0] > 0)
        for name, watched in result.watched.items()
    }


def safe_sentence(
    results: Mapping[str, Result], behind: Mapping[str, Mapping[str, np.ndarray]]
) -> str:
    parts = []
    for name, by_policy in behind.items():
        counts = []
        for policy, runs in by_policy.items():
            still = int((results[name].watched[policy]["budget"][:, -1] < -TOLERANCE).sum())
            counts.append(
                f"{policy} {int(runs.sum())}"
                + (f" (of which {still} still are at the end)" if still else "")
            )
        parts.append(f"with {name} {style.listed_words(counts)}")
    at_once = next(iter(results.values()))
    final = {name: curve[:, -1] for name, curve in at_once.regret.items()}
    more = [
        f"{name}'s by {style.mean(values - final[UNCONSTRAINED], sign=True)}"
        for name, values in final.items()
        if name != UNCONSTRAINED and style.differ(values, final[UNCONSTRAINED], len(final) - 1)
    ]
    price = (
        f"regret differs from {UNCONSTRAINED}'s: {style.listed_words(more)}"
        if more
        else "no difference in regret is shown"
    )
    return (
        f"Of {at_once.replications} shops, these many were at some time behind {1 - ALPHA:.0%} of "
        f"what their known offer would have sold: {'; '.join(parts)}. After "
        f"{int(at_once.rounds[-1]):,} visitors {price}."
    )


def safe_table(
    results: Mapping[str, Result], behind: Mapping[str, Mapping[str, np.ndarray]]
) -> Table:
    rows = []
    for name, result in results.items():
        for policy, runs in behind[name].items():
            lowest = result.watched[policy]["lowest"][:, 0]
            rows.append(
                [
                    policy,
                    name,
                    style.share(int(runs.sum()), runs.size),
                    f"{lowest.min():,.2f}",
                    style.mean(result.regret[policy][:, -1]),
                ]
            )
    columns = [
        "policy",
        "when sales are known",
        "shops behind at some time",
        "lowest budget of any shop",
        "final regret",
    ]
    return Table(columns, rows, "± one standard error.", aligned=False)


def safe_draw(results: Mapping[str, Result], palette: style.Palette) -> Figure:
    fig, axes = style.figure(2, rows=2, width=5.4, height=6.0)
    for column, (name, result) in enumerate(results.items()):
        above, below = axes[column], axes[2 + column]
        for policy, watched in result.watched.items():
            budget, colour, line = watched["budget"], palette.colour(policy), palette.line(policy)
            mean, worst = budget.mean(axis=0), np.quantile(budget, 0.05, axis=0)
            above.plot(result.rounds, mean, color=colour, linestyle=line, label=policy)
            above.fill_between(result.rounds, worst, mean, color=colour, alpha=0.15, linewidth=0)
            share = 100.0 * (budget < -TOLERANCE).mean(axis=0)
            below.step(
                result.rounds, share, where="post", color=colour, linestyle=line, label=policy
            )
        above.axhline(0.0, color=style.INK, linewidth=0.8)
        above.set_yscale("symlog", linthresh=1.0)
        below.set_ylim(-3.0, 103.0)
        for ax in (above, below):
            ax.set_title(name, fontsize=10, loc="left", color=style.INK)
            ax.set(xscale="log", xlabel="visitor")
            style.dress(ax)
        above.set_ylabel("budget, in sales")
        below.set_ylabel("shops behind, %")
    style.legend(axes[0])
    return fig


# (b) Stop: an A/B/n test of variants made of parts, which ends when the winner is known.


EPSILON, STOP_DELTA = 0.02, 0.05
VARIANTS = tuple(itertools.product(range(3), range(2), range(2)))  # headline, picture, button
FEATURES = np.array([[1.0, h == 1, h == 2, p, b] for h, p, b in VARIANTS])
EFFECTS = np.array([0.10, 0.02, 0.06, 0.05, 0.08])  # click rates; the parts add up
TESTS, LOOKS = 20, 16
NAME = "LinGapE"
NO_PROGRESS = {"progress": None}  # many short runs


def stop_section(setting: DemoSetting) -> Section:
    problem = problems.Linear(FEATURES, EFFECTS, rewards="bernoulli")
    rule = {NAME: policies.LinGapE(epsilon=EPSILON, delta=STOP_DELTA, noise=0.5, theta_bound=0.5)}
    tests = setting.of(TESTS, least=4)
    identification = identify(
        problem, rule, replications=tests, **setting.play("stop", known=False)
    )
    looks = np.unique(
        np.geomspace(
            500, max(float(identification.rounds[NAME].max()), 1000.0), setting.of(LOOKS, least=4)
        )
        .round()
        .astype(np.int64)
    )
    gaps = np.stack(
        [
            identify(
                problem,
                rule,
                replications=tests,
                budget=int(n),
                **(setting.play(f"stop, {n} visitors") | NO_PROGRESS),
            ).gap_bound[NAME]
            for n in looks
        ]
    )
    fixed, textbook = fixed_size(problem.means, EPSILON, STOP_DELTA)
    assert textbook is not None  # means near 1/2
    return Section(
        "Stop: an A/B/n test that ends when the winner is known",
        f"{stop_sentence(identification, fixed, textbook)} There is no public log of such a "
        "test, so this world is synthetic: three headlines, "
        "two pictures and two buttons make twelve variants with click rates that add up from "
        "their parts, and a visitor of one variant tells something about the others. The "
        f"guarantee: the named variant is within {EPSILON:g} of the best with probability "
        f"{1 - STOP_DELTA:.0%}, whatever the rates are. The textbook's length rests on the normal "
        "approximation with the true variances, and on one look at the end.",
        [
            picture(
                stop_draw(looks, gaps, identification, fixed, textbook, setting.palette),
                f"Bound B on what the named variant may be worse than the best, mean over {tests} "
                f"tests (shaded: all of them): the test ends where it falls to ε = {EPSILON:g}. "
                "Vertical lines: where tests of fixed length end.",
            )
        ],
        [stop_table(identification, fixed, textbook)],
        summary=f"{NAME} ends the test after {style.mean(identification.rounds[NAME])} visitors; "
        f"a test of fixed length with the same guarantee needs {fixed:,}.",
    )


def stop_sentence(identification: Identification, fixed: int, textbook: int) -> str:
    rounds, n = identification.rounds[NAME], identification.replications
    stopped = identification.stopped[NAME]
    right = (
        f"{int((identification.correct[NAME] & stopped).sum())} of {n} tests ended with a variant "
        "that is good enough"
    )
    return (
        f"{NAME} knows a winner after {style.mean(rounds)} visitors ({right}); a test of fixed "
        f"length with the same guarantee needs {fixed:,}, {against(rounds, fixed)}, and the "
        f"textbook's test, whose guarantee is weaker, {textbook:,}, {against(rounds, textbook)}."
    )


def against(rounds: np.ndarray, fixed: int) -> str:
    """A fixed length as a multiple of the mean, where they differ by more than chance."""
    error = style.margin(rounds.size, 2) * float(standard_error(rounds))
    if abs(fixed - rounds.mean()) <= error:
        return "no difference shown"
    times = fixed / float(rounds.mean())
    return f"{times:.1f} times as many" if times >= 1.0 else f"fewer: {times:.2f} times as many"


def stop_table(identification: Identification, fixed: int, textbook: int) -> Table:
    rounds = identification.rounds[NAME]
    rows = [
        [NAME, style.mean(rounds), f"{int(rounds.max()):,}", "at any time"],
        ["fixed length, any rates", f"{fixed:,}", f"{fixed:,}", "once, at the end"],
        ["fixed length, textbook", f"{textbook:,}", f"{textbook:,}", "once, at the end"],
    ]
    return Table(
        ["test", "visitors", "longest", "one may look"],
        rows,
        "± one standard error.",
        aligned=False,
    )


def stop_draw(
    looks: np.ndarray,
    gaps: np.ndarray,
    identification: Identification,
    fixed: int,
    textbook: int,
    palette: style.Palette,
) -> Figure:
    fig, (ax,) = style.figure(width=6.4, height=3.6)
    colour, mean = palette.colour(NAME), gaps.mean(axis=1)
    ax.plot(looks, mean, color=colour, marker="o", markersize=3, label=f"{NAME}: bound B")
    ax.fill_between(
        looks, gaps.min(axis=1), gaps.max(axis=1), color=colour, alpha=0.15, linewidth=0
    )
    ax.axhline(EPSILON, color=style.INK, linewidth=0.8)
    ax.text(looks[0], EPSILON, f" ε = {EPSILON:g}", va="bottom", fontsize=9, color=style.INK)
    stop = float(identification.rounds[NAME].mean())
    ax.axvline(stop, color=colour, linestyle="--", label=f"{NAME} stops, on average")
    ax.axvline(textbook, color=style.SOFT, linestyle=":", label="fixed length, textbook")
    ax.axvline(fixed, color=style.SOFT, linestyle="-.", label="fixed length, same guarantee")
    ax.set(xscale="log", yscale="log")
    ax.set_xlabel("visitors")
    ax.set_ylabel("B, in click rate")
    style.legend(ax)
    style.dress(ax)
    return fig


# (f) What would it have earned: a policy judged on the log of another.


CAMPAIGN: Final = "men"
ITEMS, ROWS = 12, 10_000  # of the twin


class JudgedLog(NamedTuple):
    log: Log
    policy: Mapping[int, float] | np.ndarray
    name: str
    known: tuple[float, float]
    how: str
    source: str


def log_section(setting: DemoSetting) -> Section:
    case = log_find_case(setting)
    evaluation = replace(
        evaluate(case.log, case.policy, estimator="dr", baseline="logged"), policy=case.name
    )
    pictures = [
        picture(
            sequence_figure(evaluation, palette=setting.palette),
            "Bounds on its mean value in all rounds so far; all of them hold at once with "
            f"probability {1 - evaluation.alpha:.4g}.",
        ),
        picture(
            support_of(evaluation, setting.palette),
            "Share of the log and share under the policy, by arm.",
        ),
    ]
    return Section(
        "What would it have earned: a log, judged",
        f"{log_sentence(evaluation, case)} {case.source} "
        "The bounds hold however often one looks, and allow for rare rounds of large weight that "
        "have not come yet.",
        pictures,
        [evaluation_summary(evaluation)],
        summary="Another policy's log says that this one would have earned between "
        f"{interval(*evaluation.interval)[1:-1].replace(', ', ' and ')} a round; it earned "
        f"{case.known[0]:.3g}.",
    )


def log_find_case(setting: DemoSetting) -> JudgedLog:
    try:
        uniform, thompson = (
            open_bandit(CAMPAIGN, "random", data=setting.data),
            open_bandit(CAMPAIGN, "bts", data=setting.data),
        )
    except DataNotFound as error:
        return log_twin(setting, setting.report_missing(error))
    earned = thompson.log["reward"]
    log = from_frame(uniform.log, slot="slot", time="time", arms=uniform.arms)
    known = float(earned.mean()), float(standard_error(earned))
    return JudgedLog(
        log,
        dict(enumerate(thompson.shares)),
        "Thompson sampling",
        known,
        "its own log of the same days says",
        f"Open Bandit, {CAMPAIGN}'s fashion: {earned.size:,} impressions that a uniform policy "
        "logged, clicks as rewards. Judged is Thompson sampling by its mean probabilities; its "
        "own log of the same days tells what it earned.",
    )


def log_twin(setting: DemoSetting, source: str) -> JudgedLog:
    rng = np.random.default_rng(np.random.SeedSequence(setting.seed, spawn_key=(ITEMS,)))
    rates = rng.uniform(0.02, 0.10, ITEMS)
    chances = np.exp(40.0 * rates) / np.exp(40.0 * rates).sum()
    arm = rng.integers(0, ITEMS, ROWS)
    table = {
        "arm": arm,
        "reward": (rng.random(ROWS) < rates[arm]) * 1.0,
        "propensity": np.full(ROWS, 1.0 / ITEMS),
    }
    log = from_frame(table, arms=ITEMS, floor=1.0 / ITEMS)
    return JudgedLog(
        log,
        chances,
        "a policy that prefers good items",
        (float(chances @ rates), 0.0),
        "the truth of this twin is",
        source,
    )


def log_sentence(evaluation: Evaluation, case: JudgedLog) -> str:
    low, high = evaluation.interval
    value, se = case.known
    inside = "inside" if low <= value <= high else "outside"
    return (
        f"On {evaluation.n:,} rows of another policy's log, {case.name} would have earned "
        f"{with_error(evaluation.value, evaluation.se)} a round, and with probability "
        f"{1 - evaluation.alpha:.4g} between {interval(low, high)[1:-1].replace(', ', ' and ')}; "
        f"{case.how} {with_error(value, se)}, which is {inside} these bounds. Verdict against the "
        f"logger: {evaluation.verdict}."
    )
