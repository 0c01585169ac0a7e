"""CombKLUCB: optimism for sets of plain arms by the divergence of Bernoulli rewards.

When to use it: as CombUCB1, with rewards in [0, 1] that are mostly near 0 or 1, such as clicks. On
a cascade it is CascadeKL-UCB.
Bound: on a cascade of the k most attractive of N arms, O(ln T), to which each other arm adds about
its gap over its divergence from the k-th best, and O~(sqrt(N T)) whatever the gaps, where
CombUCB1's can grow as sqrt(k N T). With other oracles no bound is known to us.
Source: Kveton, Szepesvari, Wen, Ashkan 2015, Algorithm 1 with the index sup{q : pulls I(mean, q) <=
ln t + c ln ln t}, c = 3; the bound whatever the gaps is by Vial, Sanghavi, Shakkottai, Srikant
2022.
Deviations: any oracle, not the k largest only. Arms without a reward come first in the same call of
the oracle.
Per round: O(N) and the oracle.
"""

import math
from typing import Literal

import numpy as np

from ...compiled.kernels import lean
from ...core.fields import Given, choice, real
from ...core.policy import policy
from ...numerics.counts import bernoulli_upper, exploration, means
from .sets import IndexPolicy, Scoring, unseen_first


@policy(
    "sets of lasting arms",
    paper="Kveton, Szepesvari, Wen, Ashkan 2015, Algorithm 1; Vial, Sanghavi, Shakkottai, Srikant "
    "2022",
    compiled=False,
    rewards=(0.0, 1.0),
)
class CombKLUCB(IndexPolicy):
    """Optimism for sets of arms without features: sup{q : pulls I(mean, q) <= ln t + c ln ln t},
    for rewards in [0, 1].

    Parameters
    ----------
    c : number in [0, inf), default 3.0
        Weight of ln ln t, >= 0; the proof needs 3.
    ties : 'index' or 'random', default 'index'
        Equal scores go to the lowest index, or to one at random.
    """

    c: float = real(default=3.0, least=0)
    ties: Given[Literal["index", "random"], int] = choice("index", "random", default="index")

    def _scoring(self, state, context, rng):
        mean, upper = means(state.counts), upper_of(self, state.counts, state.counts.sums)
        return Scoring(
            mean, np.where(np.isnan(mean), np.inf, upper - mean), unseen_first(state, upper)
        )

    def explain(self, state, context, rng, draws=None):
        """The lower bounds of the means are what the same interval says of 1 - reward."""
        losses = state.counts.pulls - state.counts.sums
        return IndexPolicy.explain(self, state, context, rng, draws) | {
            "lower": 1.0 - upper_of(self, state.counts, losses)
        }


@lean
def upper_bounds(pulls, sums, level, upper):
    """upper[k] <- the largest q that pulls I(mean, q) <= level admits; infinite without a
    reward."""
    for k in range(pulls.shape[0]):
        upper[k] = (
            bernoulli_upper(sums[k] / pulls[k], level / pulls[k]) if pulls[k] > 0.0 else math.inf
        )


def upper_of(policy, counts, sums):
    """(N,) upper bounds of the means sums / pulls."""
    upper = np.zeros(sums.size)
    upper_bounds(counts.pulls, sums, exploration(counts.rounds[0] + 1.0, policy.c), upper)
    return upper
