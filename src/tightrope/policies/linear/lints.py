"""LinTS: play the best arm of a theta drawn around the estimate.

When to use it: where linear optimism explores too little in ties, or feedback arrives late; `scale` near the noise is the usual
practice, the width with a proof (scale=None) explores far more.
Bound: O(d^(3/2) sqrt(T) log T) pseudo-regret for scale=None, with probability 1 - delta.
Source: Agrawal, Goyal 2013, Algorithm 1; v_t = noise sqrt(9 d ln(t / delta)), section 2.2, as in the experiments of Yang & Toni 2020.
Deviation: the ridge parameter is free (lam = 1 in the paper). shared=False keeps a theta for each arm; v_t is that of d dimensions.
forget < 1: draws with the covariance of Russac, Vernade, Cappe 2019 (two matrices), as Kim, Tewari 2020 (arXiv 1912.05695) have it.
Per round: O(K d + d^2) with fixed arms and d <= K, O(K^3) when K < d, O(K d^2) with new features or shared=False; forget < 1
adds O(d^3).
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import flag, optional_real, real
from ...core.kinds import Count, Scratch
from ...core.policy import Policy, policy
from ...core.types import Given
from ...numerics.counts import intervals
from ...numerics.growth import longer_ridge
from ...numerics.merging import merged_ridge
from ...numerics.posterior import chance_of_best
from ...numerics.ridge import Ridge, check_context, deviations, learn, new_model, predict, sample
from ...numerics.selection import argmax

DRAWS = 100_000  # of explain's Monte Carlo where no number is asked for: standard errors of at most 0.0016
CHUNK = 2_000_000  # entries of one batch of draws
AUDIT_DRAWS = 800  # of one propensity: standard errors below 0.01


@policy("features", "contexts", paper="Agrawal, Goyal 2013")
class LinTS(Policy):
    """Thompson sampling for linear rewards: theta ~ N(theta_hat, v^2 V^-1), one joint draw a round.

    lam: ridge parameter. noise, delta: of v_t = noise sqrt(9 d ln(t / delta)). scale: a fixed v instead.
    shared: one theta for all arms; False: one for each, learned from the arm's own rewards and drawn independently of the others.
    forget: what a reward's weight is multiplied by each round, in (0, 1], where theta drifts; 1: all count the same for ever.
    """

    lam: float = real(default=1.0, above=0)
    noise: float = real(default=1.0, least=0)
    delta: float = real(default=0.1, above=0, below=1)
    scale: Given[float | None, float] = optional_real(default=None, least=0, words="v_t of Agrawal and Goyal")
    shared: bool = flag(default=True)
    forget: float = real(default=1.0, above=0, most=1)

    class State(NamedTuple):
        model: Ridge
        rounds: Count  # (1,) rewards so far
        scores: Scratch  # (K,)

    def init(self, arms):
        return self.State(
            new_model(arms, self.lam, shared=self.shared, sampling=True, forget=self.forget), np.zeros(1), np.zeros(arms.number)
        )

    @jit
    def select(self, state, context, rng):
        predict(state.model, context)
        sample(state.model, current_scale(self, state), state.scores, rng)
        return argmax(state.scores, context.eligible)

    @jit
    def update(self, state, context, action, reward):
        learn(state.model, context, action, reward)
        state.rounds[0] += 1.0
        return state

    def propensity(self, state, context, action, rng):
        predict(state.model, context)
        root = current_scale(self, state) * deviations(state.model)
        return chance_of_best(state.model.mean, root, context.eligible, action, rng, AUDIT_DRAWS)

    def admit(self, state, context):
        check_context(state.model, context.features)

    def grow(self, state, arms):
        return self.State(longer_ridge(state.model, arms, self.lam, sampling=True), state.rounds, np.zeros(arms.number))

    def merge(self, first, second):
        return self.State(merged_ridge(first.model, second.model), first.rounds + second.rounds, np.zeros(first.scores.size))

    def explain(self, state, context, rng, draws=None):
        draws = DRAWS if draws is None else draws
        predict(state.model, context)
        scale, mean = current_scale(self, state), state.model.mean.copy()
        report = intervals(mean, scale * np.sqrt(state.model.square))
        probability = best_of_draws(mean, scale * deviations(state.model), context.eligible, rng, draws)
        error = np.sqrt(probability * (1.0 - probability) / draws)
        return report | {"index": mean, "probability": probability, "probability_se": error, "scale": scale}


@lean
def current_scale(policy, state):
    """v of this round."""
    if math.isnan(policy.scale):
        d = state.model.features.shape[1]
        return policy.noise * math.sqrt(9.0 * d * math.log((state.rounds[0] + 1.0) / policy.delta))
    return policy.scale


def best_of_draws(mean: np.ndarray, root: np.ndarray, eligible: np.ndarray | None, rng: np.random.Generator, draws: int) -> np.ndarray:
    """How often each arm is the best eligible one in so many draws of N(mean, root root')."""
    K, rank = root.shape
    closed = np.zeros(K) if eligible is None else np.where(eligible, 0.0, -np.inf)
    wins, left = np.zeros(K), draws
    while left:
        n = min(left, max(1, CHUNK // K))
        winners = (mean + closed + rng.standard_normal((n, rank)) @ root.T).argmax(axis=1)
        wins += np.bincount(winners, minlength=K)
        left -= n
    return wins / draws


def example():
    return [LinTS(), LinTS(scale=0.3), LinTS(scale=0.3, forget=0.98)]
