"""(d) Sets: every round, films go out as promotions to many users, at most one to each."""

import time
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from tightrope import policies, problems
from tightrope.pages.page import Section, Table
from tightrope.plots import style
from tightrope.plots.figures import draw_bands
from tightrope.plots.style import picture
from tightrope.problems.data import DataNotFound, find, movielens, ratings_file
from tightrope.results.results import Result
from tightrope.simulation.monitors import SetValue
from tightrope.simulation.simulate import simulate
from tightrope.solvers import oracles

from .setting import DemoSetting

QUICK_FILES = (
    "ml-1m/ratings.dat",
    "ml-1m.zip",
    "movielens/ml1m_implicit.npz",
    "ml-100k/u.data",
    "ml-100k.zip",
    "movielens/ml100k_stars.npz",
)
USERS, PROMOTIONS, RANK = 20_000, 10, 10
ROUNDS, TRIALS = 12, 10
USER_SHARE = 0.1  # of the users who hear of something in a round


class PromotionTrials(NamedTuple):
    """The trials, where they come from and how many users there are."""

    trials: list[problems.Promotions]
    source: str
    users: int


def section(setting: DemoSetting) -> Section:
    world = promotion_trials(setting)
    rounds = setting.of(ROUNDS, least=3)
    players = {"greedy": policies.CombGreedy(), "C2UCB": policies.C2UCB(alpha=0.3), "CombTS": policies.CombTS(randomization="arm", v=0.3)}
    result = simulate(
        world.trials, players, horizon=rounds, replications=len(world.trials), checkpoints=np.arange(1, rounds + 1), monitor=SetValue(),
        **setting.play(setting.folder("sets", world.source)),
    )  # fmt: skip
    caption = "What the sets of a round brought on average so far, as a share of the best possible; bands of 2 standard errors."
    text = f"{world.source} Policies see the answers of the users they wrote to, and nothing of the others."
    return Section(
        f"Sets: {PROMOTIONS} promotions, {world.users:,} users", text, [picture(draw(result, setting.palette), caption)], [table(result)],
        summary=sentence(result, world, timed_assignment(setting.seed)),
    )  # fmt: skip


def promotion_trials(setting: DemoSetting) -> PromotionTrials:
    """MovieLens with other films held out in each trial, or a synthetic twin of it."""
    trials = setting.of(TRIALS, least=2)
    try:
        path = find(QUICK_FILES, setting.data) or ratings_file(setting.data)
        data_sets = [
            movielens(path, promotions=PROMOTIONS, rank=RANK, power=0.0, scaling="raw", seed=setting.seed + i) for i in range(trials)
        ]
    except DataNotFound as error:
        return twin(trials, setting, setting.report_missing(error))
    users = data_sets[0].features.shape[0]
    k = max(1, int(USER_SHARE * users) // PROMOTIONS)
    source = (
        f"MovieLens: a round shows all {users:,} users, {PROMOTIONS} films that were held out are the promotions, each goes to {k} users, "
        f"and a user's rating of the film is the reward (1 or 0 where a file tells only who rated what). {trials} trials hold out other "
        "films."
    )
    return PromotionTrials([problems.Promotions(one.features, one.rewards, k) for one in data_sets], source, users)


def twin(trials: int, setting: DemoSetting, source: str) -> PromotionTrials:
    rng = np.random.default_rng(np.random.SeedSequence(setting.seed, spawn_key=(USERS,)))
    users = setting.of(USERS, least=500)
    k = int(USER_SHARE * users) // PROMOTIONS
    instances = []
    for _ in range(trials):
        features = np.column_stack([rng.normal(size=(users, RANK)) / np.sqrt(RANK), np.ones(users)])
        taste = np.column_stack([rng.normal(size=(PROMOTIONS, RANK)), rng.uniform(-1.0, 0.0, PROMOTIONS)])
        chance = 1.0 / (1.0 + np.exp(-features @ taste.T))
        instances.append(problems.Promotions(features, (rng.random(chance.shape) < chance) * 1.0, k))
    return PromotionTrials(instances, source, users)


def timed_assignment(seed: int) -> str:
    """The time of one assignment at 20,000 users, and whether it is proved optimal."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(PROMOTIONS,)))
    oracle = oracles.Promotions(promotions=PROMOTIONS, k=200)
    oracle(rng.normal(size=(2_500, PROMOTIONS)))  # compiles it
    scores = rng.normal(size=(USERS, PROMOTIONS))
    began = time.perf_counter()
    assignment = oracle.solve(scores)
    took = 1000.0 * (time.perf_counter() - began)
    gap = assignment.bound - assignment.value
    proved = "proved to be the best" if gap <= 1e-9 * abs(assignment.bound) else f"within {gap:.2g} of the best"
    return f"An assignment of {USERS:,} users takes {took:.0f} ms and is {proved}."


def shares(result: Result) -> dict[str, np.ndarray]:
    """(trials, rounds) value so far as a share of the best possible, which is value and regret together."""
    return {name: watched["value"] / (watched["value"] + result.regret[name]) for name, watched in result.watched.items()}


def sentence(result: Result, world: PromotionTrials, assigned: str) -> str:
    last = {name: -100.0 * part[:, -1] for name, part in shares(result).items()}
    what = f"share of the best possible in {int(result.rounds[-1])} rounds, in %"
    return f"{style.lowest(last, what, least='highest', below='above')} {assigned}"


def table(result: Result) -> Table:
    rows = [
        [name, style.mean(result.watched[name]["value"][:, -1]), f"{style.mean(100.0 * part[:, -1])} %"]
        for name, part in shares(result).items()
    ]
    return Table(["policy", "brought in all", "of the best possible"], rows, f"{result.replications} trials, ± one standard error.")


def draw(result: Result, palette: style.Palette) -> Figure:
    fig, (ax,) = style.figure(width=6.4, height=3.6)
    draw_bands(ax, result.rounds, {name: 100.0 * part for name, part in shares(result).items()}, palette=palette)
    ax.set_xlabel("round")
    ax.set_ylabel("% of the best possible")
    style.whole_numbers(ax)
    style.legend(ax)
    return fig
