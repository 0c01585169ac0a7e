"""LinMED: sample every arm with a probability in closed form that falls with the evidence against
it.

When to use it: linear rewards where logs are to be evaluated later. Every choice has an exact
propensity, unlike LinTS, and no parameter trades regret for exploration, unlike epsilon-greedy; the
natural rival of SoftUCB.
Bound: O(d sqrt(T) log T) pseudo-regret, and O(d^2 log^2(T) / gap) up to log log T (Balagopalan, Jun
2024).
Source: Balagopalan, Jun 2024, "Minimum empirical divergence for sub-Gaussian linear bandits", arXiv
2411.00229: p_k ~ q_k f_k with f_k = exp(-gap_k^2 / (beta ||x_best - x_k||^2_{V^-1})), beta the
squared radius of the confidence set, and q a mixture of the empirically best arm, of a G-optimal
design over the arms sqrt(f_k) x_k, and of the uniform distribution.
Deviations: written from the idea of the paper with no copy of it at hand, so the defaults of best,
design and delta are ours to answer for and no table of it was compared. The design is approximate,
within twice its least value. Ties of the best estimate go to the lowest index.
Per round: that of LinUCB, plus O(K d), and where K > 2 d O(K d^2) for each step of the design.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Count, Given, Scratch, Stored, real
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import (
    argmax,
    count_eligible,
    determinant_radius,
    fill_proportions,
    intervals,
)
from ...numerics.linalg import cholesky, solve_lower
from ...numerics.posterior import categorical
from ...numerics.ridge import ALIKE, Ridge, check_context, correlate, learn, new_ridge, predict
from ...numerics.states import longer_ridge, merged_ridge
from ..bases import KnowsChances

ENOUGH = 2.0  # times d: the largest ||x||^2 that a design may leave in its own information
STEPS = 8  # times d, at most
FLOOR = 1e-6  # of the information, along directions that hardly any weight is on


@policy("features", "contexts", paper="Balagopalan, Jun 2024")
class LinMED(KnowsChances):
    """Minimum empirical divergence for linear rewards: p_k in proportion to q_k exp(-gap_k^2 /
    (beta ||x_best - x_k||^2_{V^-1})).

    Parameters
    ----------
    lam : number in (0, inf), default 1.0
        Ridge parameter.
    noise : number in (0, inf), default 1.0
        Sub-Gaussian scale of the rewards.
    theta_bound : number in [0, inf), default 1.0
        Bound on ||theta||.
    delta : number in (0, 1), or None (1 / (t + 1)), default None
        Probability that the confidence set behind beta fails; None: 1 / (t + 1).
    best : number in [0, 1), default 0.9
        Weight in q of the empirically best arm.
    design : number in (0, 1], default 0.05
        Weight in q of the optimal design; best and design are at most 1 together, and the rest is
        uniform.
    """

    lam: float = real(default=1.0, above=0)
    noise: float = real(default=1.0, above=0)
    theta_bound: float = real(default=1.0, least=0)
    delta: Given[float | None, float] = real(default=None, above=0, below=1, none="1 / (t + 1)")
    best: float = real(default=0.9, least=0, below=1)
    design: float = real(default=0.05, above=0, most=1)

    class State(NamedTuple):
        model: Ridge
        rounds: Count  # (1,) rewards so far
        design: Scratch  # (K,)
        share: Scratch  # (K,) f
        weight: Scratch  # (K,) q f
        information: Scratch  # (d, d)
        factor: Scratch  # (d, d)
        row: Scratch  # (d,)

    @staticmethod
    def complete(stored: Stored) -> Stored:
        if stored["best"] + stored["design"] > 1.0:
            shares = f"best = {stored['best']:g} and design = {stored['design']:g}"
            raise ValueError(
                f"{shares} are {stored['best'] + stored['design']:g} together, but must be at "
                "most 1."
            )
        return stored

    def init(self, arms):
        K, d = arms.number, arms.dimension
        if arms.common and K > 1:
            raise ValueError(
                ALIKE.format("LinMED keeps one regression for all arms").replace(
                    "take shared=False", "take SquareCB(shared=False)"
                )
            )
        scratch = np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)
        return self.State(
            new_ridge(arms, self.lam), np.zeros(1), np.zeros(K), np.zeros(K), np.zeros(K), *scratch
        )

    @jit
    def select(self, state, context, rng):
        total = fill_weights(self, state, context)
        return categorical(state.weight, total, rng)

    @jit
    def update(self, state, context, action, reward):
        learn(state.model, context, action, reward, math.inf)
        state.rounds[0] += 1.0
        return state

    @jit
    def chances(self, state, context, out):
        total = fill_weights(self, state, context)
        fill_proportions(state.weight, total, out)
        return True

    def admit(self, state, context):
        check_context(state.model, context.features)

    def grow(self, state, arms):
        return self.init(arms)._replace(
            model=longer_ridge(state.model, arms, self.lam), rounds=state.rounds
        )

    def merge(self, first, second):
        return first._replace(
            model=merged_ridge(first.model, second.model), rounds=first.rounds + second.rounds
        )

    def explain(self, state, context, rng):
        total = fill_weights(self, state, context)
        radius = float(current_radius(self, state))
        report = intervals(state.model.mean.copy(), radius * np.sqrt(state.model.square))
        return report | {
            "index": state.share,
            "probability": state.weight / total,
            "design": state.design,
            "beta": radius * radius,
        }


@lean
def current_radius(policy, state):
    delta = 1.0 / (state.rounds[0] + 2.0) if math.isnan(policy.delta) else policy.delta
    return determinant_radius(
        policy.noise, delta, state.model.log_det[0], policy.lam, policy.theta_bound
    )


@lean
def fill_shares(policy, state, context):
    """Fill share with f, the likelihood of every eligible arm to be the best; returns the
    empirically best one."""
    mean, square, share = state.model.mean, state.model.square, state.share
    radius, best = current_radius(policy, state), argmax(state.model.mean, context.eligible)
    correlate(state.model, best, share)
    for k in range(share.shape[0]):
        apart, gap = square[best] + square[k] - 2.0 * share[k], mean[best] - mean[k]
        if not allowed(context.eligible, k):
            share[k] = 0.0
        elif k == best or gap == 0.0:
            share[k] = 1.0
        else:
            share[k] = math.exp(-gap * gap / (radius * radius * apart)) if apart > 0.0 else 0.0
    return best


@lean
def fill_weights(policy, state, context):
    """Fill weight with the probabilities before normalisation and return their sum."""
    predict(state.model, context)
    best = fill_shares(policy, state, context)
    fill_design(
        state.model.features, state.share, state.design, state.information, state.factor, state.row
    )
    uniform = (1.0 - policy.best - policy.design) / count_eligible(
        state.share.shape[0], context.eligible
    )
    total = 0.0
    for k in range(state.share.shape[0]):
        q = policy.design * state.design[k] + uniform + (policy.best if k == best else 0.0)
        state.weight[k] = q * state.share[k]
        total += state.weight[k]
    return total


@lean
def fill_design(features, share, design, information, factor, row):
    """Fill design (K,) with weights in whose information every sqrt(share_k) x_k has a squared norm
    of at most ENOUGH d.

    From weights in proportion to the shares, by steps of Frank and Wolfe towards the arm that is
    seen least; information and factor are (d, d) scratch, row (d,). O(K d^2) a step. With K <=
    ENOUGH d the uniform design does it, whatever the arms are: the part q_k x_k x_k' of the
    information alone leaves at most 1 / q_k = K.
    """
    K, d = features.shape
    total = 0.0
    for k in range(K):
        total += share[k]
    for k in range(K):
        design[k] = 1.0 / K if ENOUGH * d >= K else share[k] / total
    if ENOUGH * d >= K:
        return
    for _ in range(STEPS * d):
        fill_information(features, share, design, information)
        cholesky(information, factor)
        worst, most = 0, -math.inf
        for k in range(K):
            square = 0.0
            if share[k] > 0.0:
                for i in range(d):
                    row[i] = features[k, i]
                solve_lower(factor, row)
                for i in range(d):
                    square += row[i] * row[i]
            if share[k] * square > most:
                worst, most = k, share[k] * square
        if most <= ENOUGH * d:
            return
        length = (most / d - 1.0) / (most - 1.0)
        for k in range(K):
            design[k] *= 1.0 - length
        design[worst] += length


@lean
def fill_information(features, share, design, information):
    """sum_k design_k share_k x_k x_k', and a floor under every direction that keeps it definite.
    O(K d^2 / 2)."""
    K, d = features.shape
    for i in range(d):
        for j in range(i + 1):
            information[i, j] = 0.0
    longest = 0.0
    for k in range(K):
        weight, square = design[k] * share[k], 0.0
        for i in range(d):
            square += features[k, i] * features[k, i]
        longest = max(longest, share[k] * square)
        if weight > 0.0:
            for i in range(d):
                for j in range(i + 1):
                    information[i, j] += weight * features[k, i] * features[k, j]
    for i in range(d):
        information[i, i] += FLOOR * longest if longest > 0.0 else 1.0
        for j in range(i):
            information[j, i] = information[i, j]
