"""Instances, training and the monitor that the figures share."""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from tightrope import TrainedBeta, train_softucb
from tightrope.extend import PROBLEM, Monitor, integer, jit, monitor, stream
from tightrope.policies.softucb import inverse_temperature
from tightrope.problems import Linear

from ..experiment import unit_vector

ARMS = 50
SIGMAS = {"0.1": 0.1, "sqrt(0.1)": math.sqrt(0.1), "0.5": 0.5}  # the paper does not say which
OFFLINE_ETA, ONLINE_ETA, ONLINE_STEP = 0.003, 4.0, 0.02
SMALL_ETA, LARGE_ETA = 0.0003, 0.05  # offline: a tenth and seventeen times of the one above
STARTS = (0.1, 1.0, 3.26, 6.0)  # of beta: what converges ends at one place from all of them
ROUNDING = 1e-9


def synthetic(seed: int, number: int, d: int, noise: float) -> Linear:
    """50 arms uniform in [-1, 1]^d, normalised; theta a random unit vector."""
    rng = stream(seed, number, PROBLEM)
    X = rng.uniform(-1.0, 1.0, size=(ARMS, d))
    return Linear(X / np.linalg.norm(X, axis=1, keepdims=True), unit_vector(rng, d), noise=noise)


def train(
    problem: Linear,
    horizon: int,
    trajectories: int,
    seed: int,
    eta: float = OFFLINE_ETA,
    **options: Any,
) -> TrainedBeta:
    """Offline training on noise that no evaluation meets; a divergence is counted by whoever asked,
    not warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return train_softucb(
            problem, horizon, trajectories, eta=eta, seed=1_000_000 + seed, **options
        )


@monitor
class WatchBeta(Monitor):
    def begin(self, arms, n_checkpoints):
        return BetaTally(np.zeros(n_checkpoints))

    @jit
    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        if checkpoint >= 0:
            tally.beta[checkpoint] = state.beta[0]


class BetaTally(NamedTuple):
    beta: np.ndarray  # (n,)


@monitor
class WatchElimination(Monitor):
    """Monitor: how Lemmas 1 and 2 and the constraint of Eq 10 fare in every round of a SoftUCB.
    order: 1 compares all pairs of arms."""

    order: int = integer(default=1)

    def begin(self, arms, n_checkpoints):
        return EliminationTally(*(np.zeros(1) for _ in EliminationTally._fields))

    @jit
    def watch(self, tally, policy, state, problem, context, action, t, checkpoint):
        means, mean, width, weight, beta = (
            problem.means,
            state.model.mean,
            state.width,
            state.weight,
            state.beta[0],
        )
        K, leader, best, total = means.shape[0], 0, 0, 0.0
        for k in range(K):
            total += weight[k]
            if mean[k] - beta * width[k] > mean[leader] - beta * width[leader]:
                leader = k
            if means[k] > means[best]:
                best = k
        # S as Eqs 6 and 7 have it, and not as upper minus lower bound, which is how the policy
        # finds it
        slack = np.empty(K)
        for k in range(K):
            slack[k] = beta * (width[k] + width[leader]) - (mean[leader] - mean[k])
        eliminated, outside = 0.0, False
        for k in range(K):
            if slack[k] < -ROUNDING:
                eliminated += weight[k] / total
            outside |= abs(means[k] - mean[k]) > beta * width[k] + ROUNDING
        disorder = False
        for i in range(K if self.order == 1 else 0):
            for j in range(K):
                if slack[i] >= slack[j] and slack[j] >= 0.0:
                    upper_i, upper_j = mean[i] + beta * width[i], mean[j] + beta * width[j]
                    disorder |= upper_i < upper_j - ROUNDING
                    disorder |= weight[i] < weight[j] * (1.0 - ROUNDING)
        tally.most[0] = max(tally.most[0], eliminated)
        tally.over[0] += eliminated > 1.0 - policy.mass + ROUNDING
        tally.outside[0] += outside
        tally.lost[0] += slack[best] < -ROUNDING
        tally.lost_inside[0] += slack[best] < -ROUNDING and not outside
        tally.disorder[0] += disorder
        gamma = state.gamma[0]
        if policy.timing == 1:
            gamma = inverse_temperature(policy, state, context, slack.max())
        if gamma > 0.0:
            for means_used, into in ((means, tally.score), (mean, tally.estimated)):
                reward, exponent, product = 0.0, 0.0, 0.0
                for k in range(K):
                    p, phi = weight[k] / total, gamma * (width[k] + width[leader])
                    reward += p * means_used[k]
                    exponent += p * phi
                    product += p * means_used[k] * phi
                into[0] += product - reward * exponent


class EliminationTally(NamedTuple):
    """Sums over rounds; each (1,). most: the largest probability of L in a round."""

    over: np.ndarray  # rounds with p(L) > 1 - mass
    most: np.ndarray
    lost: np.ndarray  # rounds with the best arm in L
    outside: (
        np.ndarray
    )  # rounds with an arm whose estimate is further from its mean than beta ||x||
    lost_inside: np.ndarray  # rounds with the best arm in L and no arm outside
    disorder: np.ndarray  # rounds with S_i >= S_j >= 0, but a lower upper bound or probability of i
    score: np.ndarray  # sum of A_t of Eq 12, with the true means
    estimated: np.ndarray  # the same of Eq 13, with the estimated ones
