"""Instances, training and the monitor that the figures share."""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from ..._jit import jit
from ...engine.training import TrainedBeta, train_softucb
from ...problems.linear import Linear
from ...rng import PROBLEM, stream
from ...verbs import begin, watch

ARMS = 50
SIGMAS = {"0.1": 0.1, "sqrt(0.1)": math.sqrt(0.1), "0.5": 0.5}  # the paper does not say which
OFFLINE_ETA, ONLINE_ETA, ONLINE_STEP = 0.003, 4.0, 0.02


def synthetic(seed: int, number: int, d: int, noise: float) -> Linear:
    """50 arms uniform in [-1, 1]^d, normalised; theta a random unit vector."""
    rng = stream(seed, number, PROBLEM)
    X = rng.uniform(-1.0, 1.0, size=(ARMS, d))
    theta = rng.standard_normal(d)
    return Linear(X / np.linalg.norm(X, axis=1, keepdims=True), theta / np.linalg.norm(theta), noise=noise)


def train(problem: Linear, horizon: int, trajectories: int, seed: int, eta: float = OFFLINE_ETA, **options: Any) -> TrainedBeta:
    """Offline training on noise that no evaluation meets; a divergence is counted by whoever asked, not warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return train_softucb(problem, horizon, trajectories, eta=eta, seed=1_000_000 + seed, **options)


class WatchBeta(NamedTuple):
    """Monitor: beta at the checkpoints of an online SoftUCB."""

    unused: int = 0


class BetaTally(NamedTuple):
    beta: np.ndarray  # (n,)


@begin.register(WatchBeta)
def _begin_beta(monitor, arms, n_checkpoints):
    return BetaTally(np.zeros(n_checkpoints))


@watch.register(WatchBeta)
@jit
def _watch_beta(monitor, tally, policy, state, problem, context, action, t, checkpoint):
    if checkpoint >= 0:
        tally.beta[checkpoint] = state.beta[0]
