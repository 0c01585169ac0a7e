"""Figure 1: learning curves of beta and of the regret, offline and online, and what the gradient itself asks for."""

import numpy as np
import pandas as pd

from ... import policies as p
from ...reports import style
from ...reports.curves import draw_bands
from ..experiment import Claim, Outcome, Run, below
from .setting import MARGIN, ONLINE_ETA, ONLINE_STEP, SIGMAS, WatchBeta, estimate, synthetic, train

D, NOISE = 10, SIGMAS["0.5"]
SETTLED = 0.1
BETAS = (0.25, 0.5, 1.0, 2.0, 3.0)
LARGE_ETA = 0.05


def fig1(run: Run) -> Outcome:
    """Offline: 30 trajectories (paper: no number); online: one. d = 10, sigma = 0.5."""
    instances = run.at(smoke=3, laptop=40, paper=40)
    horizon, trajectories = run.at(smoke=(128, 12), laptop=(1024, 30), paper=(1024, 60))
    problems = [synthetic(run.seed, i, D, NOISE) for i in range(instances)]
    offline = [train(problem, horizon, trajectories, i) for i, problem in enumerate(problems)]
    path, regret = ragged([o.path for o in offline]), ragged([o.regret for o in offline])
    policy = p.REGISTRY["SoftUCB"](online=True, eta=ONLINE_ETA, step=ONLINE_STEP, noise=NOISE)
    checkpoints = np.unique(np.linspace(1, horizon, min(horizon, 64)).astype(int))
    online = run.simulate("fig1-online", problems, {"online": policy}, horizon=horizon, replications=instances, checkpoints=checkpoints,
                          monitor=WatchBeta())  # fmt: skip
    beta_online, regret_online = online.watched["online"]["beta"], online.regret["online"]
    gradients = gradient_of_reward(problems, horizon, run.at(smoke=2, laptop=5, paper=20))

    claims = [
        drift_claim("beta settles offline", path, "of the trajectories"),
        drift_claim("the regret of a trajectory settles offline", regret, "of the trajectories"),
        drift_claim("beta settles online", beta_online, "of the checkpoints"),
        rate_claim(checkpoints, regret_online),
        gradient_claim(gradients),
        divergence_claim([train(problem, horizon, trajectories, i, eta=LARGE_ETA).status for i, problem in enumerate(problems)]),
    ]  # fmt: skip
    return Outcome(
        claims, {"online": online}, {"gradient of the reward alone": gradients},
        {"offline": plot(path, np.arange(path.shape[1]), regret, np.arange(regret.shape[1]), "trajectory", "regret of the trajectory"),
         "online": plot(beta_online, checkpoints, regret_online, checkpoints, "round", "cumulative regret")},
        f"Means over {instances} instances, d = {D}, sigma = {NOISE:g}, T = {horizon}, bands of two standard errors.",
    )  # fmt: skip


def ragged(rows: list[np.ndarray]) -> np.ndarray:
    """Curves of equal length; one that stopped early (diverged) stays at its last value."""
    longest = max(row.size for row in rows)
    return np.stack([np.pad(row, (0, longest - row.size), mode="edge") for row in rows])


def drift_claim(text: str, curves: np.ndarray, unit: str) -> Claim:
    """Do the last sixth and the one before have the same mean, up to SETTLED?"""
    n = max(1, curves.shape[1] // 6)
    late, before = curves[:, -n:].mean(axis=1), curves[:, -2 * n : -n].mean(axis=1)
    drift = estimate((late - before) / before.mean())
    verdict = "reproduced" if abs(drift.mean) <= SETTLED else "not reproduced"
    test = f"mean drift between the last two sixths {unit} at most {SETTLED:.0%}"
    reason = "" if verdict == "reproduced" else "These runs end before the noise of single gradients has averaged out."
    return Claim("fig1", text, "converges", f"{drift.mean:+.1%} ± {drift.se:.1%}", None, test, verdict, reason)


def rate_claim(rounds: np.ndarray, curves: np.ndarray) -> Claim:
    """Is the regret per round of the last quarter below that of the first?"""
    quarter = int(np.searchsorted(rounds, rounds[-1] / 4))
    late = int(np.searchsorted(rounds, 3 * rounds[-1] / 4))
    first = curves[:, quarter] / rounds[quarter]
    last = (curves[:, -1] - curves[:, late]) / (rounds[-1] - rounds[late])
    difference = estimate(last - first)
    return Claim("fig1", "the regret settles online", "converges", f"{last.mean():.3g} a round at the end, {first.mean():.3g} at first",
                 None, f"regret per round of the last quarter below the first by {MARGIN:g} standard errors (paired)",
                 below(difference.mean, difference.se), "" if difference.mean < 0 else
                 "These runs end within the uniform first phase.")  # fmt: skip


def gradient_of_reward(problems: list, horizon: int, trajectories: int) -> pd.DataFrame:
    """sum_t A_t / T at fixed betas: where the reward alone (eta = 0) would push beta, and the regret there."""
    rows = []
    for beta in BETAS:
        found = [train(q, horizon, trajectories, i, eta=0.0, step=0.0, beta0=beta) for i, q in enumerate(problems)]
        slope, cost = estimate([f.gradient.mean() for f in found]), estimate([f.regret.mean() for f in found])
        rows.append({"beta": beta, "gradient": slope.mean, "gradient se": slope.se, "regret": cost.mean, "regret se": cost.se})
    return pd.DataFrame(rows)


def gradient_claim(table: pd.DataFrame) -> Claim:
    """Does the gradient of the reward change sign, so that ascent has a maximum to find?"""
    z = table["gradient"] / table["gradient se"]
    negative, positive = int((z < -MARGIN).sum()), int((z > MARGIN).sum())
    verdict = "reproduced" if negative and positive else "not reproduced"
    return Claim("fig1", "gradient ascent on the reward has an optimum in beta", "converges to a local optimum",
                 f"below 0 by {MARGIN:g} standard errors at {negative} of {len(z)} betas, above at {positive}",
                 None, "the gradient of the reward alone (eta = 0) has both signs on the grid of betas, each by 4 standard errors", verdict,
                 "The estimator ignores what playing an arm teaches: only eta keeps beta from falling, and so eta sets beta."
                 if verdict != "reproduced" else "")  # fmt: skip


def divergence_claim(statuses: list[str]) -> Claim:
    """How often does a large eta diverge?"""
    n, total = sum(status.startswith("diverged") for status in statuses), len(statuses)
    verdict = "reproduced" if n > total / 2 else "partly" if n else "not reproduced"
    return Claim("fig1", f"with a large eta ({LARGE_ETA:g}) gradient ascent fails to converge", "fails",
                 f"diverges in {n} of {total} instances", None, "in more than half of the instances; partly: in some", verdict,
                 "" if n else "At this T the widths do not outweigh the reward.")  # fmt: skip


def plot(beta: np.ndarray, x: np.ndarray, regret: np.ndarray, y: np.ndarray, unit: str, label: str):
    """Beta and regret side by side."""
    fig, (left, right) = style.figure(2)
    draw_bands(left, x, {"beta": beta})
    draw_bands(right, y, {label: regret})
    for ax, name in ((left, "beta"), (right, label)):
        ax.set_xlabel(unit)
        ax.set_ylabel(name)
        ax.set_ylim(bottom=0)
    return fig
