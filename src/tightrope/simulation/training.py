"""`train_softucb`: a width learned from whole trajectories, by gradient ascent."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from ..core import checks
from ..core.policy import Problem, label
from ..core.registry import check_fit
from ..core.verbs import describe
from ..numerics.counts import horizon_radius
from ..numerics.noise import bounded
from ..policies.softucb import SoftUCB, SoftUCBState, diverged
from .loops import Interrupted, Progress, Slices, World, as_rounds, prepare, to_horizon
from .monitors import NoMonitor
from .run import run_experiment, showing
from .store import Rows

MAKE: Any = SoftUCB  # a field's default makes it optional
# converged: the means of the last two sixths of the path differ by at most this share of beta, and
# the gradient turns
SETTLED_SHARE = 0.1
SCALES = {
    0: None,
    1: 0.5,
    2: 1.0,
}  # sub-Gaussian scale of 0/1 and -1/1 rewards; Gaussian ones bring their own


@dataclass(frozen=True)
class TrainedBeta:
    """The outcome of training.

    Attributes
    ----------
    beta : float
        The last width.
    path : (n + 1,) array
        Widths from beta0 on.
    regret : (n,) array
        Pseudo-regret of trajectory i, played with path[i].
    gradient : (n,) array
        Estimates g / T.
    theory : float
        The beta of Eq 5.
    status : str
        Begins with "converged", "moving", "unmoved", "diverged" or "interrupted" and says what to
        do. "converged" is of this start: another may lead elsewhere.

    References
    ----------
    Yang & Toni 2020, Eq 5 and 13.
    """

    beta: float
    path: np.ndarray
    regret: np.ndarray
    gradient: np.ndarray
    theory: float
    status: str

    def __repr__(self) -> str:
        return (
            f"<TrainedBeta: {self.beta:.4g} after {self.regret.size:,} trajectories; "
            f"{self.status.split(':')[0]}>"
        )


def train_softucb(
    problem: Problem,
    horizon: int,
    trajectories: int = 30,
    beta0: float = 1.0,
    step: float | Callable[[int], float] | None = None,
    eta: float = 0.003,
    seed: int = 0,
    *,
    policy: SoftUCB | None = None,
    out: str | pathlib.Path | None = None,
    progress: Progress | bool | None = None,
) -> TrainedBeta:
    """Learn SoftUCB's beta offline: play whole trajectories, move beta by the gradient after each.
    O(N T (K d + d^2)).

    beta <- max(beta_min, beta + step g / T), g = sum_t [A_t + eta sum_i w_it]; same arms and theta
    in every trajectory, fresh noise. Stops early, with a RuntimeWarning, where beta passes twice
    the beta of Eq 5.

    Parameters
    ----------
    problem : Problem
        With fixed features, such as problems.Linear: a simulator, or a model fitted to past data.
    horizon : int >= 1
        T, rounds of each trajectory.
    trajectories : int >= 1
        N.
    beta0 : float >= 0
        Where beta starts.
    step : float, or function of the trajectory's number from 0
        Default 4 / (1 + n / 20).
    eta : float >= 0
        Weight of the widths; at T rounds it acts T times, so an online eta is about T times as
        large.
    seed : int >= 0
        Of the noise.
    policy : SoftUCB
        Whose other parameters are used; the default takes the noise of the problem.
    out : path
        A folder that trajectories are written to and found in again.
    progress : bool or function
        As for `simulate`, of all trajectories together.

    Returns
    -------
    TrainedBeta

    Raises
    ------
    ValueError
        Where an argument is out of its range.
    Interrupted
        On Ctrl-C, with what the trajectories so far gave as `result`.

    References
    ----------
    Yang & Toni 2020, Eq 5 and 13. Deviation: trajectory n steps by step / (1 + n / 20) times g / T,
    where the paper has a constant times g.
    """
    horizon = as_rounds("horizon", horizon)
    trajectories = checks.integer("trajectories", trajectories, least=1)
    checks.fits_in_memory("trajectories", trajectories, 3 * 8)
    beta0 = checks.real("beta0", beta0, least=0)
    seed = checks.seed(seed)
    if not describe.answers(problem):
        raise ValueError(
            f"problem = {checks.show(problem)} is not a problem; pass one such as "
            "problems.Linear(X, theta)."
        )
    if policy is None:
        noise = SCALES.get(getattr(problem, "rewards", 0))
        policy = MAKE(noise=getattr(problem, "noise", 1.0) if noise is None else noise)
    elif not isinstance(policy, SoftUCB):
        raise ValueError(
            f"policy = {checks.show(policy)} is not a SoftUCB; only its width is trained here."
        )
    # A step of 0 leaves beta where it is while the state sums up scores and widths.
    policy = policy._replace(
        online=True, step=0.0, eta=checks.real("eta", eta, least=0), horizon=horizon
    )
    description = describe(problem)
    check_fit(policy, description)
    theory = horizon_radius(
        bounded(policy.noise),
        policy.delta,
        description.dimension,
        horizon,
        policy.lam,
        policy.theta_bound,
    )
    beta = max(policy.beta_min, beta0)
    path: list[float] = [beta]
    regret: list[float] = []
    gradients: list[float] = []
    with showing(progress, "train_softucb") as advance:
        while len(regret) < trajectories and beta <= 2.0 * theory:
            n = len(regret)
            counted = None if advance is None else partial(_advance_all, advance, n, trajectories)
            played = run_experiment(
                Trajectory(problem, policy._replace(beta=beta), seed, n),
                1,
                workers=1,
                out=out,
                progress=counted,
            )
            if not played.complete:
                status = f"interrupted: after {n} of {trajectories} trajectories."
                raise Interrupted(
                    TrainedBeta(
                        beta, np.array(path), np.array(regret), np.array(gradients), theory, status
                    )
                )
            (rows,) = played.tables().values()
            gradient = float(rows["scores"][0]) + policy.eta * float(rows["widths"][0])
            beta = max(policy.beta_min, beta + _step(step, n) * gradient / horizon)
            regret.append(float(rows["regret"][0]))
            gradients.append(gradient / horizon)
            path.append(beta)
    message = _status(np.array(path), np.array(gradients), theory, policy)
    if message.startswith("diverged"):
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return TrainedBeta(beta, np.array(path), np.array(regret), np.array(gradients), theory, message)


def _advance_all(advance: Progress, before: int, trajectories: int, done: int, total: int) -> None:
    advance(before * total + done, trajectories * total)


@dataclass(frozen=True)
class Trajectory:
    """The experiment of one trajectory with a fixed beta: its regret, and the sums of A_t and of
    w_it that the gradient is made of."""

    problem: Problem
    policy: SoftUCB
    seed: int
    number: int
    kind = "training"
    period = 1

    @property
    def rounds(self) -> int:
        return int(self.policy.horizon)

    def names(self) -> list[str]:
        return [f"trajectory {self.number}"]

    def common(self) -> dict[str, object]:
        return {"horizon": self.rounds, "seed": self.seed}

    def content(self, name: str, replication: int) -> dict[str, object]:
        return {"problem": self.problem, "policy": self.policy, "trajectory": self.number}

    def label(self, name: str, replication: int) -> str:
        return label(self.policy)

    def replicate(self, name: str, replication: int, slices: Slices) -> Rows:
        run = prepare(self.policy, World(self.problem), self.seed, self.number, self.rounds)
        log, _, play = to_horizon(run, NoMonitor(), np.array([self.rounds]))
        slices.run(play, self.rounds)
        _, scores, widths = cast(SoftUCBState, run.state).sums
        return {"regret": log.regret[0], "scores": np.array(scores), "widths": np.array(widths)}


def _step(step: float | Callable[[int], float] | None, n: int) -> float:
    if step is None:
        return 4.0 / (1.0 + n / 20.0)
    return checks.real("step", step(n) if callable(step) else step, least=0)


def _status(path: np.ndarray, gradient: np.ndarray, theory: float, policy: SoftUCB) -> str:
    """Small steps make any path flat; where beta has settled, the gradient takes both signs, or
    pushes against beta_min."""
    beta = float(path[-1])
    if beta > 2.0 * theory:
        return diverged(beta, theory, policy.eta)
    half = max(1, (path.size - 1) // 6)
    late, before = path[-half:].mean(), path[-2 * half : -half].mean()
    drift, last = float((late - before) / beta), gradient[-2 * half :]
    floored = beta <= policy.beta_min and float(last.max()) <= 0.0
    if path.min() == path.max() and not floored:
        return (
            f"unmoved: beta is {beta:.3g} as at the start, so nothing says where it would settle; "
            "pass a larger step."
        )
    if abs(drift) > SETTLED_SHARE:
        return (
            f"moving: beta drifted by {drift:+.0%} over the last {2 * half} trajectories; play "
            "more of them, or shorten step."
        )
    if not floored and (last.min() >= 0.0 or last.max() <= 0.0):
        return (
            f"moving: beta drifted by {drift:+.0%} over the last {2 * half} trajectories, but the "
            "gradient never changed its sign in them; play more of them, or lengthen step."
        )
    return f"converged: beta drifted by {drift:+.0%} over the last {2 * half} trajectories."
