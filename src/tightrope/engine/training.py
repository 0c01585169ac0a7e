"""`train_softucb`: a width learned from whole trajectories, by gradient ascent."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import checks
from ..matching import check_fit
from ..numerics.radii import horizon_radius
from ..policies.softucb.softucb import SoftUCB, diverged
from ..verbs import arms, begin
from .loops import fixed_horizon, new_log
from .monitors import NoMonitor
from .runner import loop_for, prepare

MAKE: Any = SoftUCB  # a field's default makes it optional
SETTLED = 0.1  # converged: the means of the last two sixths of the path differ by at most this share of beta
SCALES = {0: None, 1: 0.5, 2: 1.0}  # sub-Gaussian scale of 0/1 and -1/1 rewards; Gaussian ones bring their own


@dataclass(frozen=True)
class TrainedBeta:
    """What training found.

    beta: the last width. path: (n + 1,) from beta0 on. regret: (n,) pseudo-regret of trajectory i, played with path[i].
    gradient: (n,) estimates g / T. theory: the beta of Eq 5. status: begins with "converged", "moving" or "diverged" and says
    what to do.
    """

    beta: float
    path: np.ndarray
    regret: np.ndarray
    gradient: np.ndarray
    theory: float
    status: str


def train_softucb(
    problem: Any,
    horizon: int,
    trajectories: int = 30,
    beta0: float = 1.0,
    step: float | Callable[[int], float] | None = None,
    eta: float = 0.003,
    seed: int = 0,
    *,
    policy: Any = None,
) -> TrainedBeta:
    """Learn SoftUCB's beta offline: play whole trajectories, move beta by the gradient after each (Yang & Toni 2020, Eq 13).

    beta <- max(beta_min, beta + step g / T), g = sum_t [A_t + eta sum_i w_it]; same arms and theta in every trajectory, fresh
    noise. problem: one with fixed features, such as problems.Linear (a simulator, or a model fitted to past data). horizon: T
    of each trajectory. trajectories: N >= 1. beta0: start, >= 0. step: a number, or a function of the trajectory 0, 1, ..;
    default 4 / (1 + n / 20). eta: weight of the widths, >= 0; at T rounds it acts T times, so an online eta is about T times
    as large. seed: >= 0. policy: a SoftUCB whose other parameters (lam, mass, timing, full_gradient, beta_min, and noise, delta,
    theta_bound for Eq 5) are used; the default takes the noise of the problem.

    Stops early, with a RuntimeWarning, where beta passes twice the beta of Eq 5. Returns a `TrainedBeta`. O(N T (K d + d^2)).
    """
    horizon = checks.integer("horizon", horizon, least=1)
    trajectories = checks.integer("trajectories", trajectories, least=1)
    beta0 = checks.real("beta0", beta0, least=0)
    seed = checks.integer("seed", seed, least=0)
    if not arms.answers(problem):
        raise ValueError(f"problem = {checks.show(problem)} is not a problem; pass one such as problems.Linear(X, theta).")
    if policy is None:
        noise = SCALES.get(getattr(problem, "rewards", 0))
        policy = MAKE(noise=getattr(problem, "noise", 1.0) if noise is None else noise)
    elif not isinstance(policy, SoftUCB):
        raise ValueError(f"policy = {checks.show(policy)} is not a SoftUCB; only its width is trained here.")
    # A step of 0 leaves beta where it is while the state sums up scores and widths.
    policy = policy._replace(online=True, step=0.0, eta=checks.real("eta", eta, least=0), horizon=horizon)
    told = arms(problem)
    check_fit(policy, told)
    theory = horizon_radius(policy.noise, policy.delta, told.dimension, horizon, policy.lam, policy.theta_bound)
    beta = max(policy.beta_min, beta0)
    path: list[float] = [beta]
    regret: list[float] = []
    gradients: list[float] = []
    while len(regret) < trajectories and beta <= 2.0 * theory:
        n = len(regret)
        cost, gradient = _trajectory(policy._replace(beta=beta), problem, seed, n, horizon)
        beta = max(policy.beta_min, beta + _step(step, n) * gradient / horizon)
        regret.append(cost)
        gradients.append(gradient / horizon)
        path.append(beta)
    message = _status(np.array(path), theory, policy.eta)
    if message.startswith("diverged"):
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return TrainedBeta(beta, np.array(path), np.array(regret), np.array(gradients), theory, message)


def _trajectory(policy: Any, problem: Any, seed: int, number: int, horizon: int) -> tuple[float, float]:
    """Regret and gradient sum_t [A_t + eta sum_i w_it] of one trajectory with a fixed beta."""
    run = prepare(policy, problem, seed, number, horizon)
    log = new_log(np.array([horizon]), run.arms.number)
    play_rounds = loop_for(fixed_horizon, run.policy, run.problem)
    state = play_rounds(run.policy, run.state, run.problem, NoMonitor(), begin(NoMonitor(), run.arms, 1), log, 0, horizon, *run.streams)
    _, scores, widths = state.sums
    return float(log.regret[0]), float(scores + policy.eta * widths)


def _step(step: Any, n: int) -> float:
    if step is None:
        return 4.0 / (1.0 + n / 20.0)
    return checks.real("step", step(n) if callable(step) else step, least=0)


def _status(path: np.ndarray, theory: float, eta: float) -> str:
    beta = float(path[-1])
    if beta > 2.0 * theory:
        return diverged(beta, theory, eta)
    half = max(1, (path.size - 1) // 6)
    late, before = path[-half:].mean(), path[-2 * half : -half].mean()
    drift = float((late - before) / beta)
    if abs(drift) <= SETTLED:
        return f"converged: beta drifted by {drift:+.0%} over the last {2 * half} trajectories."
    return f"moving: beta drifted by {drift:+.0%} over the last {2 * half} trajectories; play more of them, or shorten step."
