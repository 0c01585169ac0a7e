"""TrackAndStop: sample arms in the proportions that are optimal for the means estimated so far.

When to use it: variants that share no features, where the fewest samples are worth a costlier
round; it tunes the leader's share, which top-two rules fix.
Guarantee: mean of the named arm >= best mean - epsilon with probability >= 1 - delta, for
threshold="proven" and rewards in [0, 1] ("bernoulli") or noise that is sub-Gaussian with scale
`noise` ("gaussian"). For epsilon = 0 and a single best arm samples / ln(1 / delta) approaches the
least possible, T*, as delta falls (Theorem 14).
Source: Garivier, Kaufmann 2016, "Optimal best arm identification with fixed confidence": D-tracking
(Eq 6), Chernoff's stop (Eq 7), proportions (Theorem 5).
Deviations: proportions are computed anew when the number of samples has grown by plan_growth; where
estimates tie for the best, those arms share all samples; Z and the proportions with epsilon, where
optimality is not claimed.
Usually O(K) a round; new proportions take about 40 bisections, each with K roots for Bernoulli
rewards.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Extended, real
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import Counts, count_reward, first_unpulled, new_counts, one_hot
from .sampling import chernoff_evidence, chernoff_report, fewest_pulls, fill_shares
from .stopping import Answer, Chernoff, answer_without_data, decide_by_chernoff


@policy(
    "arms",
    paper="Garivier, Kaufmann 2016",
    stops=True,
    examples=(
        {"epsilon": 0.1, "delta": 0.1},
        {"delta": 0.1, "rewards": "gaussian", "noise": 0.5, "threshold": "heuristic"},
    ),
)
class TrackAndStop(Chernoff):
    """Track the proportions of samples that would be optimal if the estimates were the truth; stop
    when the data exclude all rivals.

    Parameters
    ----------
    epsilon : number in [0, inf), default 0.0
        How much worse than the best the named arm may be.
    delta : number in (0, 1), default 0.05
        Probability of a worse one.
    rewards : 'bernoulli' or 'gaussian', default 'bernoulli'
        Their family.
    noise : number in (0, inf), default 1.0
        Standard deviation of Gaussian rewards.
    threshold : 'proven' or 'heuristic', default 'proven'
        Of the stop, proven, or the smaller heuristic of the literature.
    plan_growth : number in [0, inf), default 0.02
        Compute the proportions anew after so much growth of the number of samples; 0 = always.
    """

    plan_growth: float = real(default=0.02, least=0)

    class State(NamedTuple):
        counts: Counts
        shares: Extended  # (K,) proportions that are tracked
        # (1,) with information, required, and `next_plan`, the round when new proportions are due
        answer: Answer

    def init(self, arms):
        return self.State(
            new_counts(arms.number), np.zeros(arms.number), answer_without_data(next_plan=0.0)
        )

    @jit
    def select(self, state, context, rng):
        pulls, K = state.counts.pulls, state.counts.pulls.shape[0]
        arm = fewest_pulls(pulls, context.eligible)
        if (
            pulls[arm] > 0.0 and pulls[arm] >= math.sqrt(state.counts.rounds[0]) - 0.5 * K
        ):  # nothing has to be explored
            arm = -1
            for k in range(K):
                if allowed(context.eligible, k) and (
                    arm < 0 or behind(state, k) > behind(state, arm)
                ):
                    arm = k
        return arm

    @jit
    def update(self, state, context, action, reward):
        counts, answer = state.counts, state.answer[0]
        count_reward(counts, action, reward)
        if counts.rounds[0] >= counts.pulls.shape[0] and first_unpulled(counts.pulls, None) < 0:
            decide_by_chernoff(self, state)
            if counts.rounds[0] >= answer["next_plan"] and not answer["broken"]:
                fill_shares(
                    self, counts.scores, answer["leader"], 0.0, state.shares
                )  # `decide` left the means there
                answer["next_plan"] = counts.rounds[0] * (1.0 + self.plan_growth)
        return state

    def evidence(self, state):
        return chernoff_evidence(self, state, state.shares)

    def explain(self, state, context, rng):
        index = state.counts.rounds[0] * state.shares - state.counts.pulls
        probability = one_hot(self.select(state, context, rng), index.size)
        return (
            chernoff_report(self, state, index, probability)
            | self.evidence(state)
            | {"shares": state.shares.copy()}
        )


@lean
def behind(state, k):
    """How many samples arm k lacks of its share."""
    return state.counts.rounds[0] * state.shares[k] - state.counts.pulls[k]
