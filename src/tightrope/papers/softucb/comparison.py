"""Figure 2's four parts have one shape: SoftUCB, offline and online, against linear baselines on some cases."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ... import policies as p
from ...engine.results import Result
from ...problems.linear import Linear
from ...reports.curves import regret_figure
from ..experiment import Run
from ..scoring import Row, Estimate, below, estimate, judged, paired
from .settings import OFFLINE_ETA, ONLINE_ETA, ONLINE_STEP, train

OURS = ("SoftUCB offline", "SoftUCB online")
RIVALS = ("LinUCB, Eq 5", "LinTS, v_t", "LinTS, v = 1", "ε-greedy")
SAME = "LinUCB, learned beta"
RANK, STARS_NOISE = 10, 0.25  # of the rating data: features, and noise of one star of five
RATINGS = (
    f" Features: rank-{RANK} factorisation of ratings scaled to [0, 1], the longest arm of norm 1; noise {STARS_NOISE:g}; LinUCB knows "
    "||theta||. The paper's construction is not in its text."
)


class Case(NamedTuple):
    """The runs of one case, the learned betas and how many of them diverged."""

    where: str
    slug: str
    result: Result
    learned: Estimate
    diverged: int


class Data(NamedTuple):
    """All cases of a figure and the number of trajectories of offline training."""

    cases: list[Case]
    trajectories: int


def compare(run: Run, figure: str, cases: dict[str, list[Linear]], horizon: int, trajectories: int) -> Data:
    """All policies on all problems of every case, one replication each."""
    return Data([compare_one(run, figure, where, problems, horizon, trajectories) for where, problems in cases.items()], trajectories)


def compare_one(run: Run, figure: str, where: str, problems: list[Linear], horizon: int, trajectories: int) -> Case:
    """All policies on the problems of one case."""
    policies, noise = p.REGISTRY, problems[0].noise
    trained = {q.theta.tobytes(): train(q, horizon, trajectories, i) for i, q in enumerate(problems)}
    betas = {key: found.beta for key, found in trained.items()}
    bounds = {q.theta.tobytes(): float(np.linalg.norm(q.theta)) for q in problems}
    slug = "-".join([figure, *"".join(c for c in where if c.isalnum() or c in ". ").split()])
    result = run.simulate(slug, problems, {
        "SoftUCB offline": lambda q: policies["SoftUCB"](beta=betas[q.theta.tobytes()]),
        "SoftUCB online": policies["SoftUCB"](online=True, eta=ONLINE_ETA, step=ONLINE_STEP, noise=noise),
        "LinUCB, Eq 5": lambda q: policies["LinUCB"](noise=noise, theta_bound=bounds[q.theta.tobytes()]),
        SAME: lambda q: policies["LinUCB"](beta=betas[q.theta.tobytes()]),
        "LinTS, v_t": policies["LinTS"](noise=noise),
        "LinTS, v = 1": policies["LinTS"](scale=1.0),
        "LinTS, v = sigma": policies["LinTS"](scale=noise),
        "ε-greedy": policies["LinEpsilonGreedy"](epsilon=0.05),
    }, horizon=horizon, replications=len(problems))  # fmt: skip
    diverged = sum(found.status.startswith("diverged") for found in trained.values())
    return Case(where, slug, result, estimate(list(betas.values())), diverged)


def claims(case: Case) -> list[Row]:
    """Both forms of SoftUCB against every rival of the paper, and against the same width without the softmax."""
    final = {name: curve[:, -1] for name, curve in case.result.regret.items()}

    def order(text: str, better: str, worse: str, remark: str) -> Row:
        gap = paired(final[better], final[worse])
        ours = f"{final[better].mean():.1f} against {final[worse].mean():.1f}"
        return judged(f"{text}, {case.where}", "below", ours, below(gap), se=gap.se, remark=remark)

    found = [order(f"{name} below {rival}", name, rival, "SoftUCB begins with a uniform phase.") for name in OURS for rival in RIVALS]
    text = "soft elimination itself lowers regret: SoftUCB below LinUCB at the learned beta"
    return [*found, order(text, "SoftUCB offline", SAME, "Here the gain over Eq 5 is that of a smaller beta; LinUCB has it too.")]


def score(found: Data) -> list[Row]:
    """The claims of every case."""
    return [claim for case in found.cases for claim in claims(case)]


def tables(found: Data) -> dict[str, pd.DataFrame]:
    """Regret at T of every policy."""
    return {
        case.where: pd.DataFrame([
            {"policy": row.policy, "regret": row.mean, "se": row.se, "median": row.median, "worst": row.worst}
            for row in case.result.summary()
        ])
        for case in found.cases
    }  # fmt: skip


def plot(found: Data) -> dict[str, Figure]:
    """Regret of every policy, a picture for every case."""
    return {
        case.slug: regret_figure(
            case.result,
            title=f"{case.where}: learned beta {case.learned.value:.2f} ± {case.learned.se:.2f}, "
            f"diverged {case.diverged} of {case.result.replications}",
        )
        for case in found.cases
    }


def notes(found: Data) -> str:
    """Sizes and settings."""
    result = found.cases[0].result
    return (
        f"{result.replications} instances, T = {result.rounds[-1]}, every policy meets the same noise. Offline: {found.trajectories} "
        f"trajectories, eta = {OFFLINE_ETA:g}; online: eta = {ONLINE_ETA:g}, step = {ONLINE_STEP:g}, from beta = 1. Below beta = 0.7 "
        "regret has a heavy tail: compare medians too. LinTS at v = sigma and LinUCB at the learned beta are not in the paper."
    )


def unit_arms(problem: Linear) -> Linear:
    """The same means with the longest arm of norm 1, as in the synthetic data."""
    longest = float(np.linalg.norm(problem.features, axis=1).max())
    return Linear(problem.features / longest, problem.theta * longest, noise=problem.noise)
