"""LinUCB: optimism when the mean is linear in the arm's features.

When to use it: many arms that share features, also with new features every round; with shared=False a few arms that are all shown one
context (a user, a request) and differ in what it means for them.
Bound: O(d sqrt(T) log T) pseudo-regret with probability 1 - delta.
Source: Abbasi-Yadkori, Pal, Szepesvari 2011 (radius="determinant"); Yang & Toni 2020, Eq 5 (radius="horizon"); Li, Chu, Langford,
Schapire 2010, Algorithm 1 (shared=False, with beta as its alpha); Russac, Vernade,
Cappe 2019, arXiv 1909.09146 (forget: theta may drift; two matrices).
Deviation: where no horizon is known, as in a service, radius="horizon" falls back to the anytime "determinant". With
shared=False either radius holds for all arms at once (delta / K each; the largest determinant).
Per round: O(min(K^2, K d + d^2)) with fixed arms, O(K d^2) with new features, shared=False or
forget < 1, which adds O(d^3).
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import choice, flag, optional_real, real
from ...core.kinds import Extended, Scratch
from ...core.policy import Policy, policy
from ...core.types import Given
from ...numerics.counts import intervals
from ...numerics.growth import longer_ridge
from ...numerics.merging import merged_ridge
from ...numerics.radii import determinant_radius, horizon_radius
from ...numerics.ridge import Ridge, check_context, learn, new_model, predict, regressions, remembered
from ...numerics.selection import argmax, one_hot


@policy("features", "contexts", paper="Abbasi-Yadkori, Pal, Szepesvari 2011; Yang & Toni 2020, Eq 5")
class LinUCB(Policy):
    """Optimism for linear rewards: x'theta_hat + beta ||x||_{V^-1}.

    lam: ridge parameter. delta: probability that the confidence set fails. noise: sub-Gaussian scale of the rewards.
    theta_bound: bound on ||theta||. beta: a fixed width instead. radius: where beta comes from otherwise.
    shared: one theta for all arms; False: one for each, learned from the arm's own rewards.
    forget: what a reward's weight is multiplied by each round, in (0, 1], where theta drifts; 1: all count the same for ever.
    """

    lam: float = real(default=1.0, above=0)
    delta: float = real(default=0.1, above=0, below=1)
    noise: float = real(default=1.0, least=0)
    theta_bound: float = real(default=1.0, least=0)
    beta: Given[float | None, float] = optional_real(default=None, least=0, words="from radius")
    radius: Given[Literal["horizon", "determinant"], int] = choice("horizon", "determinant", default="horizon")
    shared: bool = flag(default=True)
    forget: float = real(default=1.0, above=0, most=1)

    class State(NamedTuple):
        model: Ridge
        beta: Extended  # (1,) fixed radius; NaN: from the determinant
        scores: Scratch  # (K,)

    def init(self, arms):
        model, beta = new_model(arms, self.lam, shared=self.shared, forget=self.forget), self.beta
        if math.isnan(beta) and self.radius == 0 and arms.horizon is not None:
            delta, rounds = self.delta / regressions(model), remembered(arms.horizon, self.forget)
            beta = horizon_radius(self.noise, delta, arms.dimension, rounds, self.lam, self.theta_bound)
        return self.State(model, np.array([beta]), np.zeros(arms.number))

    @jit
    def select(self, state, context, rng):
        predict(state.model, context)
        beta = current_beta(self, state)
        for k in range(state.scores.shape[0]):
            state.scores[k] = state.model.mean[k] + beta * math.sqrt(state.model.square[k])
        return argmax(state.scores, context.eligible)

    @jit
    def update(self, state, context, action, reward):
        learn(state.model, context, action, reward)
        return state

    def admit(self, state, context):
        check_context(state.model, context.features)

    def grow(self, state, arms):
        return self.State(longer_ridge(state.model, arms, self.lam), state.beta, np.zeros(arms.number))

    def merge(self, first, second):
        return self.State(merged_ridge(first.model, second.model), first.beta.copy(), np.zeros(first.scores.size))

    def explain(self, state, context, rng):
        predict(state.model, context)
        beta = current_beta(self, state)
        report = intervals(state.model.mean.copy(), beta * np.sqrt(state.model.square))
        probability = one_hot(argmax(report["upper"], context.eligible), state.scores.size)
        return report | {"index": report["upper"], "probability": probability, "beta": beta}


@lean
def current_beta(policy, state):
    """The radius of this round."""
    if math.isnan(state.beta[0]):
        return determinant_radius(policy.noise, policy.delta, state.model.log_det[0], policy.lam, policy.theta_bound)
    return state.beta[0]


def example():
    return [LinUCB(), LinUCB(shared=False)]
