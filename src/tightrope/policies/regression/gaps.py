"""Inverse gap weighting: the parameters, the probabilities and the factor gamma that every policy of this family shares."""

import math
from typing import Literal

from ...compiled.kernels import lean
from ...core.fields import choice, flag, real
from ...core.types import Given
from ...core.verbs import Arms, allowed
from ...numerics.noise import bounded
from ...numerics.selection import argmax, count_eligible

SCALE = 6.0  # times sqrt(t) / noise
SCHEDULE, HORIZON = range(2)  # places of `growth`


class Gaps:
    """Parameters of inverse gap weighting (see `SquareCB`)."""

    gamma: Given[float | None, float] = real(default=None, least=0, none="from growth")
    noise: Given[float | None, float] = real(default=None, above=0, none="learned")
    growth: Given[Literal["schedule", "horizon"], int] = choice("schedule", "horizon", default="schedule")
    scale: float = real(default=SCALE, least=0)
    power: float = real(default=0.5, least=0)
    delta: float = real(default=0.05, above=0, below=1)
    shared: Given[bool | None, int] = flag(default=None, none="by what a round shows")


@lean
def horizon_gamma(arms, coefficients, rounds, delta):
    """sqrt(K T / (Reg + ln(2 / delta))), Reg = p ln(1 + T / p) for p coefficients (Foster, Rakhlin 2020, Theorem 1; their mu is K)."""
    learned = coefficients * math.log(1.0 + rounds / coefficients)
    return math.sqrt(arms * rounds / (learned + math.log(2.0 / delta)))


@lean
def current_gamma(policy, state, learned):
    """Gamma of this round: fixed since the start, or grown with the rewards taken in. learned: the scale of the noise by the residuals."""
    if not math.isnan(state.gamma):
        return state.gamma
    t = state.rounds[0] + 1.0
    if policy.growth == SCHEDULE:
        sigma = learned if math.isnan(policy.noise) else policy.noise
        return policy.scale * math.exp(policy.power * math.log(t)) / sigma
    return horizon_gamma(state.weight.shape[0], state.coefficients, t, policy.delta) / bounded(policy.noise)


def fixed_gamma(policy: Gaps, arms: Arms, coefficients: int) -> float:
    if math.isnan(policy.gamma) and policy.growth == HORIZON and arms.horizon is not None:
        return float(horizon_gamma(arms.number, coefficients, arms.horizon, policy.delta) / bounded(policy.noise))
    return float(policy.gamma)


@lean
def weigh(mean, eligible, gamma, weight):
    """Fill weight with every arm's probability: 1 / (n + gamma (best mean - mean)), n eligible arms; the best arm has the rest. O(K)."""
    best, number, rest = argmax(mean, eligible), count_eligible(mean.shape[0], eligible), 1.0
    for k in range(mean.shape[0]):
        weight[k] = 0.0
        if k != best and allowed(eligible, k):
            weight[k] = 1.0 / (number + gamma * (mean[best] - mean[k]))
            rest -= weight[k]
    weight[best] = rest
