"""TopTwoUCB: sample an optimistic leader and the rival that is hardest to tell from it.

When to use it: as TopTwoThompson, with no posterior and every propensity known at once: one of two
numbers.
Guarantee: mean of the named arm >= best mean - epsilon with probability >= 1 - delta, for
threshold="proven" and rewards in [0, 1] ("bernoulli") or noise that is sub-Gaussian with scale
`noise` ("gaussian"). As delta falls, samples approach the fewest possible among all rules that give
the best arm the share leader_share (for epsilon = 0, a best arm and no ties; Jourdan et al. 2022).
Source: Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022, "Top two algorithms revisited": UCB
leader, transportation-cost challenger;
stopping: Garivier, Kaufmann 2016.
Deviations: written from the idea of the paper with no copy of it at hand: the leader's index is
sup{q : pulls d(mean, q) <= ln n}, as KLUCB's with c = 0; of several rivals that cost nothing,
because they look better than the leader, the best is the challenger; Z with epsilon.
O(K) a round.
"""

import math

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.policy import policy
from ...core.verbs import allowed
from ...numerics.counts import next_untried, one_hot, upper_root
from .stopping import hardest_rival
from .top_two import TopTwo, chances


@policy(
    "arms",
    paper="Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022",
    stops=True,
    examples=(
        {"epsilon": 0.1, "delta": 0.1},
        {"delta": 0.1, "rewards": "gaussian", "noise": 0.5, "threshold": "heuristic"},
    ),
)
class TopTwoUCB(TopTwo):
    """Play the arm of the highest upper bound, and half of the time its hardest rival instead; stop
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
    leader_share : number in (0, 1), default 0.5
        How often the first of the two is played.
    """

    @jit
    def select(self, state, context, rng):
        counts, eligible = state.counts, context.eligible
        arm = next_untried(counts, eligible)
        if arm < 0:
            arm = optimistic(self, counts, eligible)
            if rng.random() >= self.leader_share:
                rival = hardest_rival(self, counts, arm, eligible)
                arm = rival if rival >= 0 else arm
        return arm

    def _index(self, counts):
        """(K,) upper bounds; infinite where never pulled."""
        return np.array(
            [
                upper_bound(self, counts, k) if counts.pulls[k] else math.inf
                for k in range(counts.pulls.size)
            ]
        )

    def _chances(self, counts, eligible):
        def leading():
            open_arms = np.where(
                True if eligible is None else eligible, self._index(counts), -math.inf
            )
            return one_hot(int(np.argmax(open_arms)), open_arms.size)

        return chances(self, counts, eligible, leading, 0)


@lean
def upper_bound(policy, counts, k):
    """sup{q : pulls d(mean, q) <= ln n} of one arm."""
    n = counts.pulls[k]
    return upper_root(
        policy.rewards, counts.sums[k] / n, math.log(counts.rounds[0]) / n, policy.noise
    )


@lean
def optimistic(policy, counts, eligible):
    best, top = -1, -math.inf
    for k in range(counts.pulls.shape[0]):
        if allowed(eligible, k):
            index = upper_bound(policy, counts, k)
            if index > top or best < 0:
                best, top = k, index
    return best
