"""(c) Learn the width: SoftUCB's confidence width from the trajectories of one past user, tried on new ones."""

import warnings

import numpy as np
from matplotlib.figure import Figure

from tightrope import policies, problems
from tightrope.pages.page import Section, result_summary
from tightrope.plots import style
from tightrope.plots.figures import draw_regret
from tightrope.plots.style import picture
from tightrope.problems.data import DataNotFound
from tightrope.results.results import Result
from tightrope.simulation.simulate import simulate
from tightrope.simulation.training import TrainedBeta, train_softucb

from ..softucb.comparison import unit_arms
from .setting import DemoSetting

ROUNDS, TRAJECTORIES, USERS = 1024, 30, 40
NOISE, DELTA = 0.25, 0.1  # one star of five
ETA = 0.003
NAME, RIVAL = "SoftUCB", "LinUCB"
Linear = problems.Linear


def section(setting: DemoSetting) -> Section:
    """Train on one user, play the others, judge, draw."""
    (past, *users), source = new_users(setting)
    horizon, trajectories = setting.of(ROUNDS, least=64), setting.of(TRAJECTORIES, least=6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a width that runs away is told by its status, which the page quotes
        trained = train_softucb(
            past, horizon, trajectories, eta=ETA, seed=setting.seed + 1, out=setting.runs / setting.folder("width, training", source)
        )  # fmt: skip
    bound = max(float(np.linalg.norm(problem.theta)) for problem in users)
    players = {
        NAME: policies.SoftUCB(beta=trained.beta),
        RIVAL: policies.LinUCB(width="theorem", noise=NOISE, delta=DELTA, theta_bound=bound),
    }
    result = simulate(users, players, horizon=horizon, replications=len(users), **setting.play(setting.folder("width", source)))
    caption = (
        f"Left: the width β after each of {len(trained.regret)} trajectories of the past user; dashed: the width that theory asks for. "
        f"Right: mean regret on {len(users)} new users, bands of 2 standard errors."
    )
    text = (
        f"{source} SoftUCB moves β by the gradient of its regret after every trajectory of {horizon:,} rounds, and is then used as it is. "
        f"Training {trained.status} The learned width has no guarantee: {RIVAL} keeps the one that theory asks for."
    )
    return Section(
        "Learn the width: confidence from data", text, [picture(draw(trained, result, setting.palette), caption)], [result_summary(result)],
        summary=sentence(trained, result),
    )  # fmt: skip


def new_users(setting: DemoSetting) -> tuple[list[Linear], str]:
    """A past user and new ones, with arms of norm 1 at most, and where they come from."""
    count = setting.of(USERS, least=5) + 1
    try:
        users = problems.data.movielens_stars(count, noise=NOISE, seed=setting.seed, data=setting.data)
        source = f"{count} users of MovieLens, 50 films; a reward has the noise of one star of five."
    except (DataNotFound, ValueError) as error:  # a release without stars is a ValueError
        users, source = twin(count, setting.seed), setting.report_missing(error)
    return [unit_arms(user) for user in users], source


def twin(count: int, seed: int, arms: int = 50, d: int = 10) -> list[Linear]:
    """Arms on the unit sphere, a theta of norm 1 for every user."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(arms,)))
    X = rng.uniform(-1.0, 1.0, size=(arms, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    thetas = rng.standard_normal((count, d))
    return [Linear(X, theta / np.linalg.norm(theta), noise=NOISE) for theta in thetas]


def sentence(trained: TrainedBeta, result: Result) -> str:
    final = {name: curve[:, -1] for name, curve in result.regret.items()}
    return (
        f"From one past user the width goes from {trained.path[0]:.3g} to {trained.beta:.3g}, where theory asks for {trained.theory:.3g}. "
        f"On {result.replications} new users: {style.lowest(final, f'regret after {int(result.rounds[-1]):,} rounds')}"
    )


def draw(trained: TrainedBeta, result: Result, palette: style.Palette) -> Figure:
    fig, (left, right) = style.figure(2, width=5.4, height=3.6)
    left.plot(trained.path, color=palette.colour(NAME), marker="o", markersize=2.5, label=NAME)
    left.axhline(trained.theory, color=palette.colour(RIVAL), linestyle="--")
    style.hover(left, range(trained.path.size), trained.path, [f"β = {b:.3f} after {n} trajectories" for n, b in enumerate(trained.path)])
    style.hover(left, [0], [trained.theory], [f"theory asks for {trained.theory:.3f}"])
    left.set_ylim(bottom=0.0)
    left.set_xlabel("trajectories of the past user")
    left.set_ylabel("width β")
    draw_regret(right, result, palette=palette)
    return fig
