"""Uniform sampling with LinGapE's stop: what adaptive sampling has to beat.

When to use it: as the yardstick, or when traffic has to be split evenly anyway and only the end is
adaptive.
Guarantee: as LinGapE's, whose confidence bound (Xu, Honda, Sugiyama 2018, Eqs 3 and 8) holds for
any sampling rule.
The arm pulled least is next, ties to the lowest index. O(K d + d^2) a round.
"""

from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit
from ...core.policy import policy
from ...numerics.counts import one_hot
from .models import GapRidge, checked_features, coordinates, learn, new_gap_ridge
from .sampling import fewest_pulls
from .stopping import Answer, GapStop, decide_by_gaps, gap_evidence, gap_report, new_answer


@policy(
    "features",
    paper="Xu, Honda, Sugiyama 2018, Eqs 3 and 8",
    stops=True,
    examples=({"epsilon": 0.1, "delta": 0.1, "noise": 0.3},),
)
class Uniform(GapStop):
    """Round robin until LinGapE's bound closes.

    Parameters
    ----------
    epsilon : number in [0, inf), default 0.0
        As for LinGapE.
    delta : number in (0, 1), default 0.05
        As for LinGapE.
    lam : number in (0, inf), default 1.0
        As for LinGapE.
    noise : number in (0, inf), default 1.0
        As for LinGapE.
    theta_bound : number in [0, inf), default 1.0
        As for LinGapE.
    union : True or False, default True
        As for LinGapE.
    """

    class State(NamedTuple):
        model: GapRidge
        answer: Answer  # (1,)

    def init(self, arms):
        return self.State(
            new_gap_ridge(coordinates(checked_features(arms, self.epsilon, "Uniform"), self.lam)),
            new_answer(),
        )

    @jit
    def select(self, state, context, rng):
        return fewest_pulls(state.model.pulls, context.eligible)

    @jit
    def update(self, state, context, action, reward):
        learn(state.model, action, reward)
        if state.model.progress[0]["unpulled"] == 0.0:
            decide_by_gaps(self, state)
        return state

    def evidence(self, state):
        K = state.model.mean.size
        return gap_evidence(self, state, shares=np.full(K, 1.0 / K))

    def explain(self, state, context, rng):
        pulls = state.model.pulls
        return gap_report(
            self, state, -pulls, one_hot(self.select(state, context, rng), pulls.size)
        )
