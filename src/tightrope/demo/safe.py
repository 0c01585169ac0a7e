"""(a) Safe: a new user of Jester, and a promise that nobody earns much less than a known joke would have given."""

from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.figure import Figure

from .. import policies, problems
from ..core.policy import Policy
from ..core.types import Arguments
from ..pages.page import Section, Table
from ..papers.conservative.settings import budget_monitor, ranked_baseline
from ..plots import sentences, style
from ..plots.curves import save_figure
from ..plots.pictures import picture
from ..problems.data import DataNotFound
from ..results.results import Result
from ..simulation.delays import Fixed
from ..simulation.simulate import simulate
from .setting import DemoSetting

ALPHA, DELTA, RANK = 0.05, 0.01, 10
NOISE = 0.1
LAM = NOISE**2  # a standard normal prior on theta
OPEN_DECISIONS = 200
ROUNDS, USERS = 4000, 100
REWARD_DELAYS = {"rewards at once": 0, f"{OPEN_DECISIONS} decisions open": OPEN_DECISIONS - 1}  # by how many rounds rewards are late
UNCONSTRAINED = "LinUCB"
PICTURE = "safe.svg"  # also a file of its own
TOLERANCE = 1e-6
Linear = problems.Linear


def section(setting: DemoSetting) -> Section:
    """The section: exploration under a guarantee."""
    users, source = new_users(setting)
    results = {name: play(setting, users, setting.folder(f"safe, {name}", source), late) for name, late in REWARD_DELAYS.items()}
    harmed = {name: users_behind(result) for name, result in results.items()}
    save_figure(draw(results, setting.palette), setting.out / PICTURE)
    caption = (
        f"Above: what a user's rewards are ahead of {1 - ALPHA:.0%} of the known joke's, mean over users, shaded down to the worst-off "
        "twentieth. Below: share of users who are behind in that round. Both axes of rounds are logarithmic."
    )
    text = (
        f"{source} The known joke is a user's {RANK}th best of {users[0].means.size}. CLUCB2 and Safe(LinTS) promise each user at least "
        f"{1 - ALPHA:.0%} of its rewards at every round, but for a chance of {DELTA:.0%}. LinTS inside Safe has no promise of its own."
    )
    return Section(
        "Safe: explore without harming anyone", text, [picture(draw(results, setting.palette), caption)], [table(results, harmed)],
        summary=sentence(results, harmed),
    )  # fmt: skip


def new_users(setting: DemoSetting) -> tuple[list[Linear], str]:
    """A problem for each user, and where they come from."""
    count = setting.of(USERS, least=6)
    try:
        users = problems.data.jester(count, noise=NOISE, seed=setting.seed, data=setting.data)
        return users, f"{count} users drawn from the Jester ratings, rewards with Gaussian noise {NOISE}."
    except DataNotFound as error:
        return twin(count, setting.seed), setting.report_missing(error)


def twin(count: int, seed: int, jokes: int = 40, tastes: int = 8) -> list[Linear]:
    """Users of few tastes around a joke's popularity; those whose means leave [0, 1] are drawn again."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(40,)))
    features = np.column_stack([np.ones(jokes), rng.normal(size=(jokes, tastes)) / np.sqrt(tastes)])
    users: list[Linear] = []
    while len(users) < count:
        theta = np.concatenate([[0.5], 0.15 * rng.normal(size=tastes)])
        means = features @ theta
        if means.min() >= 0.0 and means.max() <= 1.0:
            users.append(Linear(features, theta, noise=NOISE))
    return users


def line_up(users: list[Linear]) -> Mapping[str, Policy | Callable[[Linear], Policy]]:
    """All of them are told the noise and the same bounds; the safe ones the known joke's mean."""
    longest = max(float(np.linalg.norm(problem.theta)) for problem in users)
    bounds: Arguments = {"theta_bound": longest, "lam": LAM}
    arm_bound = float(np.linalg.norm(users[0].features, axis=1).max())

    promise = bounds | {"arm_bound": arm_bound, "alpha": ALPHA, "delta": DELTA, "sigma": NOISE}
    inner = policies.LinTS(lam=LAM, scale=NOISE)

    def clucb2(problem: Linear) -> Policy:
        return policies.CLUCB2(**ranked_baseline(problem, RANK), **promise)

    def safe_lints(problem: Linear) -> Policy:
        return policies.Safe(inner=inner, **ranked_baseline(problem, RANK), **promise)

    return {UNCONSTRAINED: policies.LinUCB(width="theorem", noise=NOISE, **bounds), "CLUCB2": clucb2, "Safe(LinTS)": safe_lints}


def play(setting: DemoSetting, users: list[Linear], label: str, late: int) -> Result:
    """All policies on all users. Also rewards at once go through the loop with delays, so that it is compiled once."""
    horizon = setting.of(ROUNDS, least=300)
    checkpoints = np.unique(np.geomspace(1, horizon, 100).round())
    return simulate(
        users, line_up(users), horizon=horizon, replications=len(users), checkpoints=checkpoints, monitor=budget_monitor(RANK, ALPHA),
        delay=Fixed(late), **setting.play(label),
    )  # fmt: skip


def users_behind(result: Result) -> dict[str, np.ndarray]:
    """By policy, whether each user was behind in some round."""
    return {name: np.asarray(watched["violations"][:, 0] > 0) for name, watched in result.watched.items()}


def sentence(results: Mapping[str, Result], harmed: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    """Users harmed by each policy, and the price of safety in regret."""
    parts = []
    for name, by_policy in harmed.items():
        counts = []
        for policy, runs in by_policy.items():
            still = int((results[name].watched[policy]["budget"][:, -1] < -TOLERANCE).sum())
            counts.append(f"{policy} {int(runs.sum())}" + (f" (of whom {still} still are at the end)" if still else ""))
        parts.append(f"with {name} {sentences.listed_words(counts)}")
    at_once = next(iter(results.values()))
    final = {name: curve[:, -1] for name, curve in at_once.regret.items()}
    more = [
        f"{name}'s by {sentences.mean(values - final[UNCONSTRAINED], sign=True)}" for name, values in final.items()
        if name != UNCONSTRAINED and sentences.differ(values, final[UNCONSTRAINED], len(final) - 1)
    ]  # fmt: skip
    price = f"regret differs from {UNCONSTRAINED}'s: {sentences.listed_words(more)}" if more else "no difference in regret is shown"
    return (
        f"Of {at_once.replications} new users, these many were at some time behind {1 - ALPHA:.0%} of what a joke already known would "
        f"have given: {'; '.join(parts)}. After {int(at_once.rounds[-1]):,} rounds {price}."
    )


def table(results: Mapping[str, Result], harmed: Mapping[str, Mapping[str, np.ndarray]]) -> Table:
    """Users harmed, lowest budget and final regret of every policy."""
    rows = []
    for name, result in results.items():
        for policy, runs in harmed[name].items():
            lowest = result.watched[policy]["lowest"][:, 0]
            rows.append([
                policy, name, sentences.share(int(runs.sum()), runs.size), f"{lowest.min():,.2f}",
                sentences.mean(result.regret[policy][:, -1]),
            ])  # fmt: skip
    columns = ["policy", "when rewards come", "users behind at some time", "lowest budget of any user", "final regret"]
    return Table(columns, rows, "± one standard error.", aligned=False)


def draw(results: Mapping[str, Result], palette: style.Palette) -> Figure:
    """Budgets above, users harmed below; a column for each delay."""
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
            texts = [f"{policy}: {a:.1f} on average, worst twentieth {b:.1f}, round {t:,}" for t, a, b, _ in points]
            style.hover(above, result.rounds[::3], mean[::3], texts)
            style.hover(
                below, result.rounds[::3], share[::3], [f"{policy}: {s:.0f}% of users behind in round {t:,}" for t, *_, s in points]
            )
        above.axhline(0.0, color=style.INK, linewidth=0.8)
        above.set_yscale("symlog", linthresh=1.0)
        below.set_ylim(-3.0, 103.0)
        for ax in (above, below):
            ax.set_title(name, fontsize=10, loc="left", color=style.INK)
            ax.set_xscale("log")
            ax.set_xlabel("round")
            style.dress(ax)
        above.set_ylabel("budget, in rewards")
        below.set_ylabel("users behind, %")
    style.legend(axes[0])
    return fig
