"""The main job: classic and linear policies on real ratings and on a ten-armed Bernoulli bandit."""

import pathlib
from collections.abc import Callable

import numpy as np

from .. import policies, problems
from ..engine.results import Result
from ..engine.runner import Progress
from ..engine.simulate import simulate
from ..problems.data import DataNotFound
from ..registry import Policy
from ..reports.results import write_report

HORIZON = 10_000
USERS = 100
NOISE = 0.1
PRIOR_LAM = NOISE**2  # a standard normal prior on theta
THETA_BOUND = 6.5  # no user's vector is longer


def jester_policies() -> dict[str, Policy]:
    """Policies told the noise of the ratings, except UCB1, which knows only that rewards lie in [0, 1]."""
    p = policies
    return {
        "UCB1": p.UCB(),
        "KL-UCB": p.KLUCB(divergence="gaussian", sigma=NOISE),
        "LinUCB": p.LinUCB(noise=NOISE, lam=PRIOR_LAM, theta_bound=THETA_BOUND),
        "LinTS": p.LinTS(noise=NOISE, lam=PRIOR_LAM, scale=NOISE),
        "ε-greedy": p.LinEpsilonGreedy(lam=PRIOR_LAM),
    }


def bernoulli_policies() -> dict[str, Policy]:
    """The same line-up without features: the linear policies see indicator features."""
    p = policies
    return {
        "UCB1": p.UCB(),
        "KL-UCB": p.KLUCB(),
        "Thompson": p.BetaThompson(),
        "LinUCB": p.LinUCB(noise=0.5),
        "LinTS": p.LinTS(noise=0.5, scale=0.5),
        "ε-greedy": p.EpsilonGreedy(),
    }


def run_demo(
    out: pathlib.Path, *, seed: int = 0, data: str | None = None, workers: int | None = None,
    horizon: int = HORIZON, users: int = USERS, say: Callable[[str], None] = print,
    progress: Callable[[str], Progress | None] = lambda label: None,
) -> pathlib.Path:  # fmt: skip
    """Run both parts and write out/report.html; without the Jester data say so and do the Bernoulli part."""
    results: dict[str, Result] = {}
    texts: dict[str, str] = {}
    try:
        cold_start = problems.data.jester(users, noise=NOISE, data=data)
    except DataNotFound as missing:
        say(f"Jester part left out: {missing}")
        texts["Ten Bernoulli arms"] = f"The Jester part was left out: {missing} "
    else:
        name = "Jester: which of 40 jokes does a new user like best?"
        texts[name] = (
            f"{users} users drawn from 15,211: of the 19,181 who rated all 40 jokes, those whose means lie in [0, 1] in the rank-35 "
            f"factorisation that gives the features. Gaussian noise {NOISE}. LinUCB uses Eq 5's width with its guarantee, LinTS the "
            "plain posterior without one. "
            "Pull shares average over users with different favourites."
        )
        results[name] = simulate(
            cold_start,
            jester_policies(),
            horizon=horizon,
            replications=users,
            seed=seed,
            workers=workers,
            out=out / "jester",
            progress=progress("Jester"),
        )
    means = np.linspace(0.25, 0.75, 10)
    bernoulli = problems.Linear(np.eye(10), means, rewards="bernoulli")
    name = "Ten Bernoulli arms"
    texts[name] = (
        texts.get(name, "")
        + "Means evenly spaced from 0.25 to 0.75. The linear policies see ten unit vectors, so they have no structure to gain from."
    )
    results[name] = simulate(
        bernoulli,
        bernoulli_policies(),
        horizon=horizon,
        replications=users,
        seed=seed,
        workers=workers,
        out=out / "bernoulli",
        progress=progress("Bernoulli"),
    )
    lead = "Every policy meets the same users and the same noise, so differences are paired. Regret is what was lost in expectation."
    return write_report(results, out / "report.html", title="tightrope: structured bandits on real ratings", lead=lead, texts=texts)
