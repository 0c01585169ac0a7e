"""The setting of the demo, and sections whose subject is a structure: (c) a learned width
of a linear model, (d) sets, (e) prices on a curve."""

import pathlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from tightrope import (
    LowerBound,
    Result,
    TrainedBeta,
    lipschitz_lower_bound,
    oracles,
    policies,
    problems,
    simulate,
    train_softucb,
)
from tightrope.extend import Arguments, SetValue
from tightrope.pages import Section, Table, result_summary
from tightrope.plots import style
from tightrope.plots.figures import draw_bands, draw_regret
from tightrope.plots.style import Palette, picture, shares
from tightrope.problems.data import DataNotFound, find, movielens, ratings_file
from tightrope.simulation.run import Meters, silent
from tightrope.simulation.store import CODE, digest

from ..softucb.comparison import unit_arms

TWIN = "Synthetic twin, because the data are not here:"


@dataclass(frozen=True)
class DemoSetting:
    """Settings of the demo. size: share of the full numbers of rounds and replications, in (0,
    1]."""

    out: pathlib.Path
    seed: int = 0
    data: str | None = None
    workers: int | None = None
    size: float = 1.0
    say: Callable[[str], None] = print
    progress: Meters = silent
    palette: Palette = field(default_factory=Palette)

    def of(self, number: int, least: int) -> int:
        return max(least, round(number * self.size))

    @property
    def runs(self) -> pathlib.Path:
        """The folder of runs: those of each version of the sources by themselves, so that a new one
        plays anew."""
        return self.out / "runs" / digest(CODE)[:8]

    def play(self, label: str, known: bool = True) -> Arguments:
        """Arguments of a simulation whose finished parts are kept and found again. known: its
        number of rounds."""
        return {
            "seed": self.seed,
            "workers": self.workers,
            "out": self.runs / label,
            "progress": self.progress(label, known),
        }

    @staticmethod
    def folder(label: str, source: str) -> str:
        """The folder of a section's runs: those of a synthetic twin lie beside those of the data,
        which may come later."""
        return f"{label}, twin" if source.startswith(TWIN) else label

    def report_missing(self, error: Exception) -> str:
        """Say that data are missing; returns what the page says of it."""
        self.say(str(error))
        return f"{TWIN} {error}"


# (c) Learn the width: SoftUCB's confidence width from the trajectories of one past user, tried on
# new ones.


ROUNDS, TRAJECTORIES, USERS = 1024, 30, 40
NOISE, WIDTH_DELTA = 0.25, 0.1  # one star of five
ETA = 0.003
NAME, RIVAL = "SoftUCB", "LinUCB"
Linear = problems.Linear


def width_section(setting: DemoSetting) -> Section:
    (past, *users), source = new_users(setting)
    horizon, trajectories = setting.of(ROUNDS, least=64), setting.of(TRAJECTORIES, least=6)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", RuntimeWarning
        )  # a width that runs away is told by its status, which the page quotes
        trained = train_softucb(
            past,
            horizon,
            trajectories,
            eta=ETA,
            seed=setting.seed + 1,
            out=setting.runs / setting.folder("width, training", source),
        )
    bound = max(float(np.linalg.norm(problem.theta)) for problem in users)
    players = {
        NAME: policies.SoftUCB(beta=trained.beta),
        RIVAL: policies.LinUCB(width="theorem", noise=NOISE, delta=WIDTH_DELTA, theta_bound=bound),
    }
    result = simulate(
        users,
        players,
        horizon=horizon,
        replications=len(users),
        **setting.play(setting.folder("width", source)),
    )
    cost = {name: style.mean(curve[:, -1]) for name, curve in result.regret.items()}
    return Section(
        "Learn the width: confidence from data",
        f"{width_sentence(trained, result)} {source} "
        f"SoftUCB moves β by the gradient of its regret after every trajectory of "
        f"{horizon:,} rounds, and is then used as it is. Training {trained.status} The learned "
        f"width has no guarantee: {RIVAL} keeps the one that theory asks for.",
        [
            picture(
                width_draw(trained, result, setting.palette),
                f"Left: the width β after each of {len(trained.regret)} trajectories of the past "
                f"user; dashed: the width that theory asks for. Right: mean regret on {len(users)} "
                "new users, bands of 2 standard errors.",
            )
        ],
        [result_summary(result)],
        summary=f"The width that {NAME} learned from one user costs new users {cost[NAME]}; the "
        f"width that theory asks for costs them {cost[RIVAL]}.",
    )


def new_users(setting: DemoSetting) -> tuple[list[Linear], str]:
    count = setting.of(USERS, least=5) + 1
    try:
        users = problems.data.movielens_stars(
            count, noise=NOISE, seed=setting.seed, data=setting.data
        )
        source = (
            f"{count} users of MovieLens, 50 films; a reward has the noise of one star of five."
        )
    except (DataNotFound, ValueError) as error:  # a release without stars is a ValueError
        users, source = width_twin(count, setting.seed), setting.report_missing(error)
    return [unit_arms(user) for user in users], source


def width_twin(count: int, seed: int, arms: int = 50, d: int = 10) -> list[Linear]:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(arms,)))
    X = rng.uniform(-1.0, 1.0, size=(arms, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    thetas = rng.standard_normal((count, d))
    return [Linear(X, theta / np.linalg.norm(theta), noise=NOISE) for theta in thetas]


def width_sentence(trained: TrainedBeta, result: Result) -> str:
    final = {name: curve[:, -1] for name, curve in result.regret.items()}
    return (
        f"From one past user the width goes from {trained.path[0]:.3g} to {trained.beta:.3g}, "
        f"where theory asks for {trained.theory:.3g}. On {result.replications} new users: "
        f"{style.lowest(final, f'regret after {int(result.rounds[-1]):,} rounds')}"
    )


def width_draw(trained: TrainedBeta, result: Result, palette: style.Palette) -> Figure:
    fig, (left, right) = style.figure(2, width=5.4, height=3.6)
    left.plot(trained.path, color=palette.colour(NAME), marker="o", markersize=2.5, label=NAME)
    left.axhline(trained.theory, color=palette.colour(RIVAL), linestyle="--")
    left.set_ylim(bottom=0.0)
    left.set(xlabel="trajectories of the past user", ylabel="width β")
    draw_regret(right, result, palette=palette)
    return fig


# (d) Sets: every round, films go out as promotions to many users, at most one to each.


QUICK_FILES = (
    "ml-1m/ratings.dat",
    "ml-1m.zip",
    "movielens/ml1m_implicit.npz",
    "ml-100k/u.data",
    "ml-100k.zip",
    "movielens/ml100k_stars.npz",
)
SETS_USERS, PROMOTIONS, RANK = 20_000, 10, 10
SETS_ROUNDS, TRIALS = 12, 10
USER_SHARE = 0.1  # of the users who hear of something in a round


class PromotionTrials(NamedTuple):
    trials: list[problems.Promotions]
    source: str
    users: int


def sets_section(setting: DemoSetting) -> Section:
    world = promotion_trials(setting)
    rounds = setting.of(SETS_ROUNDS, least=3)
    players = {
        "greedy": policies.CombGreedy(),
        "C2UCB": policies.C2UCB(alpha=0.3),
        "CombTS": policies.CombTS(randomization="arm", v=0.3),
    }
    result = simulate(
        world.trials,
        players,
        horizon=rounds,
        replications=len(world.trials),
        checkpoints=np.arange(1, rounds + 1),
        monitor=SetValue(),
        **setting.play(setting.folder("sets", world.source)),
    )
    ends = {name: float(part[:, -1].mean()) for name, part in sets_shares(result).items()}
    best = max(ends, key=ends.__getitem__)
    return Section(
        f"Sets: {PROMOTIONS} promotions, {world.users:,} users",
        f"{sets_sentence(result, world, timed_assignment(setting.seed))} {world.source} "
        "Policies see the answers of the users they wrote to, and nothing of the "
        "others.",
        [
            picture(
                sets_draw(result, setting.palette),
                "What the sets of a round brought on average so far, as a share of the best "
                f"possible; mean of {len(world.trials)} trials, bands of 2 standard errors.",
            )
        ],
        [sets_table(result)],
        summary=f"{best} brings in {100.0 * ends[best]:.3g} % of what the best possible sets "
        "would, and learns only from the users that it wrote to.",
    )


def promotion_trials(setting: DemoSetting) -> PromotionTrials:
    trials = setting.of(TRIALS, least=2)
    try:
        path = find(QUICK_FILES, setting.data) or ratings_file(setting.data)
        data_sets = [
            movielens(
                path,
                promotions=PROMOTIONS,
                rank=RANK,
                power=0.0,
                scaling="raw",
                seed=setting.seed + i,
            )
            for i in range(trials)
        ]
    except DataNotFound as error:
        return sets_twin(trials, setting, setting.report_missing(error))
    users = data_sets[0].features.shape[0]
    k = max(1, int(USER_SHARE * users) // PROMOTIONS)
    return PromotionTrials(
        [problems.Promotions(one.features, one.rewards, k) for one in data_sets],
        f"MovieLens: a round shows all {users:,} users, {PROMOTIONS} films that were held out are "
        f"the promotions, each goes to {k} users, and a user's rating of the film is the reward "
        f"(1 or 0 where a file tells only who rated what). {trials} trials hold out other films.",
        users,
    )


def sets_twin(trials: int, setting: DemoSetting, source: str) -> PromotionTrials:
    rng = np.random.default_rng(np.random.SeedSequence(setting.seed, spawn_key=(SETS_USERS,)))
    users = setting.of(SETS_USERS, least=500)
    k = int(USER_SHARE * users) // PROMOTIONS
    instances = []
    for _ in range(trials):
        features = np.column_stack([rng.normal(size=(users, RANK)) / np.sqrt(RANK), np.ones(users)])
        taste = np.column_stack(
            [rng.normal(size=(PROMOTIONS, RANK)), rng.uniform(-1.0, 0.0, PROMOTIONS)]
        )
        chance = 1.0 / (1.0 + np.exp(-features @ taste.T))
        instances.append(
            problems.Promotions(features, (rng.random(chance.shape) < chance) * 1.0, k)
        )
    return PromotionTrials(instances, source, users)


def timed_assignment(seed: int) -> str:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(PROMOTIONS,)))
    oracle = oracles.Promotions(promotions=PROMOTIONS, k=200)
    oracle(rng.normal(size=(2_500, PROMOTIONS)))  # compiles it
    scores = rng.normal(size=(SETS_USERS, PROMOTIONS))
    began = time.perf_counter()
    assignment = oracle.solve(scores)
    took = 1000.0 * (time.perf_counter() - began)
    gap = assignment.bound - assignment.value
    proved = (
        "proved to be the best"
        if gap <= 1e-9 * abs(assignment.bound)
        else f"within {gap:.2g} of the best"
    )
    return f"An assignment of {SETS_USERS:,} users takes {took:.0f} ms and is {proved}."


def sets_shares(result: Result) -> dict[str, np.ndarray]:
    """(trials, rounds) value so far as a share of the best possible, which is value and regret
    together."""
    return {
        name: watched["value"] / (watched["value"] + result.regret[name])
        for name, watched in result.watched.items()
    }


def sets_sentence(result: Result, world: PromotionTrials, assigned: str) -> str:
    last = {name: -100.0 * part[:, -1] for name, part in sets_shares(result).items()}
    what = f"share of the best possible in {int(result.rounds[-1])} rounds, in %"
    return f"{style.lowest(last, what, least='highest', below='above')} {assigned}"


def sets_table(result: Result) -> Table:
    rows = [
        [
            name,
            style.mean(result.watched[name]["value"][:, -1]),
            f"{style.mean(100.0 * part[:, -1])} %",
        ]
        for name, part in sets_shares(result).items()
    ]
    return Table(
        ["policy", "brought in all", "of the best possible"],
        rows,
        f"{result.replications} trials, ± one standard error.",
    )


def sets_draw(result: Result, palette: style.Palette) -> Figure:
    fig, (ax,) = style.figure(width=6.4, height=3.6)
    draw_bands(
        ax,
        result.rounds,
        {name: 100.0 * part for name, part in sets_shares(result).items()},
        palette=palette,
    )
    ax.set(xlabel="round", ylabel="% of the best possible")
    style.whole_numbers(ax)
    style.legend(ax)
    return fig


# (e) Price: neighbouring prices earn about the same, and a bound on the slope spares visitors.


PRICES = np.linspace(20.0, 100.0, 17)
SLOPE = 0.014  # told: of revenue by price, as shares of the highest price
VISITORS, SHOPS = 20_000, 40


def demand(prices: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp((prices - 55.0) / 9.0)))


def price_section(setting: DemoSetting) -> Section:
    revenue = PRICES * demand(PRICES) / PRICES[-1]
    problem = problems.Lipschitz(points=PRICES, means=revenue, lipschitz=SLOPE)
    players = {"CKL-UCB": policies.CKLUCB(lipschitz=SLOPE), "KL-UCB": policies.KLUCB()}
    horizon = setting.of(VISITORS, least=500)
    result = simulate(
        problem,
        players,
        horizon=horizon,
        replications=setting.of(SHOPS, least=6),
        **setting.play("price"),
    )
    bound = lipschitz_lower_bound(revenue, points=PRICES, lipschitz=SLOPE)
    caption = (
        "Left: revenue per visitor (line, right scale) and the share of visitors who see each "
        f"price (bars). Right: mean regret of {result.replications} runs, bands of 2 standard "
        "errors."
        + (
            " The lower bound is for the long run: policies may be below it at early rounds."
            if bound.value > 0
            else ""
        )
    )
    return Section(
        "Price: a curve that is not too steep",
        f"{price_sentence(result, bound)} There is no public log of a price test, so this shop is "
        "synthetic: a product has one "
        "of 17 prices, and fewer buy at higher ones. CKL-UCB is told that revenue changes by at "
        f"most {SLOPE:g} of the highest price per unit of price; KL-UCB treats prices as "
        "unrelated.",
        [picture(price_draw(result, revenue, setting.palette), caption)],
        [result_summary(result)],
        summary="Told how steep revenue can be, CKL-UCB loses "
        f"{style.mean(result.regret['CKL-UCB'][:, -1])} of revenue in {horizon:,} visitors; "
        f"KL-UCB loses {style.mean(result.regret['KL-UCB'][:, -1])}.",
    )


def price_sentence(result: Result, bound: LowerBound) -> str:
    visitors = int(result.rounds[-1])
    least = bound.value * float(np.log(visitors))
    lost = result.regret["CKL-UCB"][:, -1]
    side = "above" if lost.mean() > least else "below"
    lowest = style.lowest(
        {name: curve[:, -1] for name, curve in result.regret.items()},
        f"regret after {visitors:,} visitors",
    )
    return (
        f"{lowest} In the long run no policy that is good everywhere loses less than "
        f"{bound.value:.3g} ln T, here {least:,.0f}; CKL-UCB is {side} that asymptotic bound "
        f"after {visitors:,} visitors."
    )


def price_draw(result: Result, revenue: np.ndarray, palette: style.Palette) -> Figure:
    fig, (left, right) = style.figure(2, width=5.4, height=3.6)
    step = float(PRICES[1] - PRICES[0]) / (len(result.policies) + 1)
    for number, name in enumerate(result.policies):
        part, places = (
            100.0 * shares(result, name),
            PRICES + step * (number - 0.5 * (len(result.policies) - 1)),
        )
        left.bar(places, part, width=step, color=palette.colour(name), label=name)
    left.set(xlabel="price", ylabel="% of visitors who see it")
    other = left.twinx()
    other.plot(
        PRICES, revenue, color=style.INK, marker="o", markersize=3, label="revenue per visitor"
    )
    other.set_ylabel("revenue per visitor")
    other.set_ylim(bottom=0.0)
    style.dress(other)
    other.grid(False)
    style.legend(other)
    draw_regret(right, result, palette=palette)
    return fig
