"""(a) Safe: a shop at real conversion rates, and a promise that it sells hardly less than its known offer would have sold."""

from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.figure import Figure

from tightrope import policies, problems
from tightrope.core.policy import Policy
from tightrope.pages.page import Section, Table
from tightrope.plots import style
from tightrope.plots.figures import save_figure
from tightrope.plots.style import picture
from tightrope.results.results import Result
from tightrope.simulation.delays import Fixed
from tightrope.simulation.simulate import simulate

from ..conservative.settings import budget_monitor, ranked_baseline
from .setting import DemoSetting

ALPHA, DELTA, RANK = 0.05, 0.05, 4
ARMS, LEAST_RATE, MOST_RATE = 10, 0.03, 0.07  # offers, and the shares of visitors they sell to
SALE_DELAY = 1000  # visitors behind which a sale is known
VISITORS, SHOPS = 100_000, 40
REWARD_DELAYS = {"sales known at once": 0, f"known {SALE_DELAY:,} visitors later": SALE_DELAY}
UNCONSTRAINED = "BetaThompson"
PICTURE = "safe.svg"  # also a file of its own
TOLERANCE = 1e-6


def section(setting: DemoSetting) -> Section:
    shops = new_shops(setting.of(SHOPS, least=6), setting.seed)
    results = {name: play(setting, shops, f"safe, {name}", late) for name, late in REWARD_DELAYS.items()}
    behind = {name: shops_behind(result) for name, result in results.items()}
    save_figure(draw(results, setting.palette), setting.out / PICTURE)
    caption = (
        f"Above: by how many sales a shop is ahead of {1 - ALPHA:.0%} of what its known offer would have sold, mean, shaded down "
        "to the worst-off twentieth. Below: share of shops that are behind at that visitor. Both axes of visitors are logarithmic."
    )
    visitors = int(next(iter(results.values())).rounds[-1])
    alone = visitors * np.mean([problem.means.max() - np.sort(problem.means)[-RANK] for problem in shops])
    text = (
        f"{len(shops)} synthetic shops. Each has {ARMS} offers that sell to {LEAST_RATE:.0%} to {MOST_RATE:.0%} of visitors and knows its "
        f"{RANK}th best. CUCB2 and Safe(BetaThompson) promise at least {1 - ALPHA:.0%} of its sales at every visitor, but for a chance "
        f"of {DELTA:.0%}. BetaThompson, Thompson sampling, promises nothing. Showing the known offer alone loses {alone:,.0f} of the "
        "sales that the best makes."
    )
    return Section(
        "Safe: explore without losing sales", text, [picture(draw(results, setting.palette), caption)], [table(results, behind)],
        summary=sentence(results, behind),
    )  # fmt: skip


def new_shops(count: int, seed: int) -> list[problems.Bernoulli]:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(40,)))
    return [problems.Bernoulli(rng.uniform(LEAST_RATE, MOST_RATE, ARMS)) for _ in range(count)]


def safe_thompson(problem: problems.Bernoulli) -> Policy:
    return policies.Safe(policies.BetaThompson(), **ranked_baseline(problem, RANK), alpha=ALPHA, delta=DELTA)


def cucb2(problem: problems.Bernoulli) -> Policy:
    """CUCB2 beside the known offer."""
    return policies.CUCB2(**ranked_baseline(problem, RANK), alpha=ALPHA, delta=DELTA)


PLAYERS: Mapping[str, Policy | Callable[[problems.Bernoulli], Policy]] = {
    UNCONSTRAINED: policies.BetaThompson(),
    "Safe(BetaThompson)": safe_thompson,
    "CUCB2": cucb2,
}


def play(setting: DemoSetting, shops: list[problems.Bernoulli], label: str, late: int) -> Result:
    """All policies in all shops. Also rewards at once go through the loop with delays, so that it is compiled once."""
    horizon = setting.of(VISITORS, least=3_000)
    checkpoints = np.unique(np.geomspace(1, horizon, 100).round())
    return simulate(
        shops, PLAYERS, horizon=horizon, replications=len(shops), checkpoints=checkpoints, monitor=budget_monitor(RANK, ALPHA),
        delay=Fixed(late), **setting.play(label),
    )  # fmt: skip


def shops_behind(result: Result) -> dict[str, np.ndarray]:
    """By policy, whether each shop was behind at some visitor."""
    return {name: np.asarray(watched["violations"][:, 0] > 0) for name, watched in result.watched.items()}


def sentence(results: Mapping[str, Result], behind: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    """Shops behind by policy, and the price of safety in regret."""
    parts = []
    for name, by_policy in behind.items():
        counts = []
        for policy, runs in by_policy.items():
            still = int((results[name].watched[policy]["budget"][:, -1] < -TOLERANCE).sum())
            counts.append(f"{policy} {int(runs.sum())}" + (f" (of which {still} still are at the end)" if still else ""))
        parts.append(f"with {name} {style.listed_words(counts)}")
    at_once = next(iter(results.values()))
    final = {name: curve[:, -1] for name, curve in at_once.regret.items()}
    more = [
        f"{name}'s by {style.mean(values - final[UNCONSTRAINED], sign=True)}" for name, values in final.items()
        if name != UNCONSTRAINED and style.differ(values, final[UNCONSTRAINED], len(final) - 1)
    ]  # fmt: skip
    price = f"regret differs from {UNCONSTRAINED}'s: {style.listed_words(more)}" if more else "no difference in regret is shown"
    return (
        f"Of {at_once.replications} shops, these many were at some time behind {1 - ALPHA:.0%} of what their known offer would "
        f"have sold: {'; '.join(parts)}. After {int(at_once.rounds[-1]):,} visitors {price}."
    )


def table(results: Mapping[str, Result], behind: Mapping[str, Mapping[str, np.ndarray]]) -> Table:
    """Shops behind, lowest budget and final regret of every policy."""
    rows = []
    for name, result in results.items():
        for policy, runs in behind[name].items():
            lowest = result.watched[policy]["lowest"][:, 0]
            rows.append([
                policy, name, style.share(int(runs.sum()), runs.size), f"{lowest.min():,.2f}",
                style.mean(result.regret[policy][:, -1]),
            ])  # fmt: skip
    columns = ["policy", "when sales are known", "shops behind at some time", "lowest budget of any shop", "final regret"]
    return Table(columns, rows, "± one standard error.", aligned=False)


def draw(results: Mapping[str, Result], palette: style.Palette) -> Figure:
    """Budgets above, shops behind below; a column for each delay."""
    fig, axes = style.figure(2, rows=2, width=5.4, height=6.0)
    for column, (name, result) in enumerate(results.items()):
        above, below = axes[column], axes[2 + column]
        for policy, watched in result.watched.items():
            budget, colour, line = watched["budget"], palette.colour(policy), palette.line(policy)
            mean, worst = budget.mean(axis=0), np.quantile(budget, 0.05, axis=0)
            above.plot(result.rounds, mean, color=colour, linestyle=line, label=policy)
            above.fill_between(result.rounds, worst, mean, color=colour, alpha=0.15, linewidth=0)
            share = 100.0 * (budget < -TOLERANCE).mean(axis=0)
            below.step(result.rounds, share, where="post", color=colour, linestyle=line, label=policy)
            points = list(zip(result.rounds, mean, worst, share, strict=True))[::3]
            texts = [f"{policy}: {a:.1f} on average, worst twentieth {b:.1f}, visitor {t:,}" for t, a, b, _ in points]
            style.hover(above, result.rounds[::3], mean[::3], texts)
            style.hover(
                below, result.rounds[::3], share[::3], [f"{policy}: {s:.0f}% of shops behind at visitor {t:,}" for t, *_, s in points]
            )
        above.axhline(0.0, color=style.INK, linewidth=0.8)
        above.set_yscale("symlog", linthresh=1.0)
        below.set_ylim(-3.0, 103.0)
        for ax in (above, below):
            ax.set_title(name, fontsize=10, loc="left", color=style.INK)
            ax.set_xscale("log")
            ax.set_xlabel("visitor")
            style.dress(ax)
        above.set_ylabel("budget, in sales")
        below.set_ylabel("shops behind, %")
    style.legend(axes[0])
    return fig
