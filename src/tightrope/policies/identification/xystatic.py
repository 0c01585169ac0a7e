"""XY-static allocation: shrink the widest difference of arms, whatever the rewards say.

When to use it: as the baseline of Xu, Honda, Sugiyama 2018, or when the sampling plan has to be
fixed in advance.
Guarantee: the named arm is the best with probability >= 1 - delta for noise bounded by `noise`
(constant = 2 sqrt(2)); for sub-Gaussian noise constant = sqrt(2) is enough.
Source: Soare, Lazaric, Munos 2014, Proposition 1 and section 4; Xu, Honda, Sugiyama 2018, Eqs 2 and
5.
Deviations: every arm is pulled once first instead of a ridge parameter; exact ties are broken at
random. `epsilon` > 0 stops as soon as the best is known up to epsilon.
O(K^3) a round at most, less where the search is cut short.
"""

from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit
from ...core.fields import Flag, real, scale_bound
from ...core.policy import policy
from ...numerics.counts import argmax
from .models import PairRidge, checked_features, coordinates, learn, new_pair_ridge
from .sampling import shrinking_probability, unpulled_or_shrinking
from .stopping import (
    NO_ESTIMATES,
    SQRT8,
    Answer,
    Certifying,
    compare_with_leader,
    forecast,
    new_answer,
    report,
    settle,
    static_radius,
    support,
)


@policy(
    "features",
    paper="Soare, Lazaric, Munos 2014",
    stops=True,
    examples=({"epsilon": 0.1, "delta": 0.1, "noise": 0.3},),
)
class XYStatic(Certifying):
    """Sample what most shrinks the widest of all differences; stop when the empirical best beats
    every other arm by more than the bound.

    Parameters
    ----------
    epsilon : number in [0, inf), default 0.0
        As for LinGapE.
    delta : number in (0, 1), default 0.05
        As for LinGapE.
    noise : number in (0, inf), default 1.0
        Scale of the rewards.
    constant : number in (0, inf), default 2.8284271247461903
        Of the bound, 2 sqrt(2) or sqrt(2).
    """

    noise: float = scale_bound(default=1.0, above=0)
    constant: float = real(default=SQRT8, above=0)

    class State(NamedTuple):
        model: PairRidge
        everyone: Flag  # (K,) bool, True
        answer: Answer  # (1,)

    def init(self, arms):
        start = coordinates(checked_features(arms, self.epsilon, "XYStatic"), 0.0)
        return self.State(
            new_pair_ridge(start), np.ones(len(start.features), dtype=np.bool_), new_answer()
        )

    @jit
    def select(self, state, context, rng):
        return unpulled_or_shrinking(state.model, state.everyone, context.eligible, rng)

    @jit
    def update(self, state, context, action, reward):
        model, answer = state.model, state.answer[0]
        learn(model, action, reward)
        if model.progress[0]["unpulled"] == 0.0:
            i = argmax(model.mean, None)
            C = static_radius(self, model.progress[0]["rounds"], model.mean.shape[0])
            checksum = compare_with_leader(answer, model.mean, model.pair_square[i], i, C)
            settle(answer, checksum, answer["bound"] < self.epsilon)
        return state

    def evidence(self, state):
        model, i, K = state.model, int(state.answer[0]["leader"]), state.model.mean.size
        if model.progress[0]["unpulled"] > 0:
            return NO_ESTIMATES
        return support(
            self,
            state,
            model.mean,
            model.pair_square[i],
            lambda: forecast(
                model,
                model.mean,
                i,
                self.epsilon,
                lambda log_det, pulls: static_radius(self, pulls.sum(), K),
                shares=model.pulls / model.pulls.sum(),
            ),
        )

    def propensity(self, state, context, action, rng):
        return float(
            shrinking_probability(state.model, state.everyone, context.eligible)[1][action]
        ), 0.0

    def explain(self, state, context, rng):
        model, answer = state.model, state.answer[0]
        index, probability = shrinking_probability(model, state.everyone, context.eligible)
        known = model.progress[0]["unpulled"] == 0
        return (
            report(model.mean, answer["radius"], np.diag(model.product), index, probability, known)
            | self.evidence(state)
            | {
                "leader": int(answer["leader"]),
                "challenger": int(answer["challenger"]),
                "radius": float(answer["radius"]),
            }
        )
