"""CombUCB1: optimism for sets of arms that have nothing in common but the set.

When to use it: the same arms every round, no features that say how they are alike, any oracle,
rewards of a set that may depend on each other. ESCB has the better bound where they are
independent; CombKLUCB learns faster where they are mostly 0, as clicks are. On a cascade it is
CascadeUCB1.
Bound: O(k N ln T / gap) and O(sqrt(k N T ln T)) for sets of at most k of N arms with rewards in [0,
1]; both are tight up to constants and logarithms.
Source: Gai, Krishnamachari, Jain 2012 (LLR: alpha = k + 1); Kveton, Wen, Ashkan, Szepesvari 2015,
Algorithm 1, alpha = 3/2; on cascades Kveton, Szepesvari, Wen, Ashkan 2015, Algorithm 1.
Deviations: arms without a reward come first in the same call of the oracle, not in rounds of their
own, so that a mask cannot hold them up. ln t counts this round too.
Per round: O(N) and the oracle.
"""

import math
from typing import Literal

import numpy as np

from ...core.fields import Given, choice, real
from ...core.policy import policy
from ...numerics.counts import means, per_pull
from .sets import IndexPolicy, Scoring, unseen_first


@policy(
    "sets of lasting arms",
    paper="Kveton, Wen, Ashkan, Szepesvari 2015; Gai, Krishnamachari, Jain 2012; Kveton, "
    "Szepesvari, Wen, Ashkan 2015",
    compiled=False,
    examples=(
        {},
        {"alpha": 0.5, "ties": "random"},
    ),
)
class CombUCB1(IndexPolicy):
    """Optimism for sets of arms without features: mean + sigma sqrt(alpha ln t / pulls).

    Parameters
    ----------
    alpha : number in (0, inf), default 1.5
        Width of the interval, > 0.
    sigma : number in (0, inf), default 1.0
        Scale of the rewards, 1 for rewards in [0, 1].
    ties : 'index' or 'random', default 'index'
        Equal scores go to the lowest index, or to one at random.
    """

    alpha: float = real(default=1.5, above=0)
    sigma: float = real(default=1.0, above=0)
    ties: Given[Literal["index", "random"], int] = choice("index", "random", default="index")

    def _scoring(self, state, context, rng):
        counts = state.counts
        width = np.sqrt(
            per_pull(self.alpha * self.sigma**2 * math.log(counts.rounds[0] + 1.0), counts)
        )
        mean = means(counts)
        return Scoring(mean, width, unseen_first(state, mean + width))
